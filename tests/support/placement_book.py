"""Find placements for Black that leave White few replies with a forced win, and write them down.

    python tests/support/placement_book.py > kibitz/games/escampe/book.py

Whoever places second and moves first has the better of it: most placements of Black allow White to
force a win within nine plies with nearly half of its own. The book keeps the placements that allow
the fewest. They are found in two rounds: many placements against few replies, then the best of them
against many.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from kibitz.chance import below, stream
from kibitz.games import load
from kibitz.games.escampe.placements import BLACK_PLACEMENTS, WHITE_PLACEMENTS
from kibitz.games.escampe.rules import place_numbered
from kibitz.search.deepening import AlphaBeta, Limits
from kibitz.search.judging import NOBODY

PLIES, SEED = 9, 2027
FIRST, SECOND, KEPT = (1500, 30), (120, 400), 24  # placements and replies; how many are kept
EXACT = ("reductions", "extensions", "aspiration")

HEAD = '''"""Black's book: placements that leave White few replies with a win within nine plies.

Found by tests/support/placement_book.py; numbers as in placements.py, the best first. White's reply
is not in a book: whoever plays it searches among many.
"""

import numpy as np

'''


def share_lost(thinker: AlphaBeta, black: int, replies: Sequence[int]) -> float:
    """Of how many replies by White it can force a win."""
    game, won = thinker.game, 0
    for white in replies:
        s = game.fresh()
        place_numbered(s, black * WHITE_PLACEMENTS + white)
        mate = thinker.search(s, Limits(depth=PLIES - 1)).mate_in
        won += mate is not None and mate > 0
    return won / len(replies)


def main() -> None:
    game, rng = load("escampe", preset="rules"), stream(SEED, "table")
    thinker = AlphaBeta(game, NOBODY, slots=1 << 14, without=EXACT)
    kept = sorted({int(below(rng, BLACK_PLACEMENTS)) for _ in range(FIRST[0])})
    shares: list[float] = []
    for (_, replies), most in ((FIRST, SECOND[0]), (SECOND, KEPT)):
        tried = [int(below(rng, WHITE_PLACEMENTS)) for _ in range(replies)]
        shares = [share_lost(thinker, black, tried) for black in kept]
        print(f"mean {np.mean(shares):.3f}, best {min(shares):.3f}", file=sys.stderr, flush=True)
        order = np.argsort(shares, kind="stable")[:most]
        kept, shares = [kept[i] for i in order], [shares[i] for i in order]
    numbers = ", ".join(map(str, kept))
    print(f"{HEAD}BLACK_BOOK = np.array([{numbers}], np.int64)")


if __name__ == "__main__":
    main()
