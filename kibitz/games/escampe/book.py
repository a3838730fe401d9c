"""Black's book: placements that leave White the fewest replies with a forced win in nine plies.

Found by tests/support/placement_book.py; numbers as in placements.py, the best first. White's reply
is not in a book: whoever plays it searches among many.
"""

import numpy as np

BLACK_BOOK = np.array(
    [
        1,
        64,
        106,
        125,
        175,
        183,
        197,
        371,
        373,
        457,
        470,
        503,
        529,
        582,
        593,
        632,
        660,
        668,
        693,
        701,
        723,
        766,
        775,
        778,
    ],
    np.int64,
)
