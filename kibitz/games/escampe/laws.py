"""Which positions of Escampe are possible, and what is wrong with the others."""

from __future__ import annotations

from ...game import rule
from .board import (
    BAND_KEY,
    BLACK,
    BLACK_KEY,
    BOARD,
    CELLS,
    END,
    HIGH_EDGE,
    LOW_EDGE,
    NOWHERE,
    ON_BAND,
    PASS,
    PIECE_KEY,
    START,
    WHITE,
    count,
    ends,
    landing_cells,
    lowest,
    set_of,
)
from .options import FAIR
from .rules import (
    ALL_PLACED,
    PIECES,
    UNICORN_KEY,
    band_at,
    beyond,
    earlier,
    is_drawn,
    pieces,
    taken_back,
    to_come,
)

FLAWS = (
    "pieces are placed in the way that the options say",
    "White or Black is to move, the required band is 0 to 3, and counts are within their bounds",
    "each side has a unicorn and five paladins, each on a cell of its own; a unicorn is missing "
    "only if it was taken, and then its side would be to move",
    "fewer than twelve pieces are still being placed: Black's six on one edge, then White's on the "
    "other, the unicorn first and the paladins in ascending order",
    "the hash is that of the pieces, the side to move and the required band",
    "every move of the game was legal, and they lead to this position",
    "the game is drawn at the third occurrence of a position, after two passes in a row, or after "
    "max_plies, and at no other time",
)


@rule
def flaw(s, fresh):
    if s.placing != fresh.placing:
        return 1
    if numbers_are_flawed(s):
        return 2
    if pieces_are_flawed(s):
        return 3 if s.placed == ALL_PLACED else 4
    if s.placed < ALL_PLACED and placing_is_flawed(s):
        return 4
    if s.hash != hash_of(s):
        return 5
    if moves_are_flawed(s):
        return 6
    return 7 if draw_is_flawed(s) else 0


@rule
def numbers_are_flawed(s):
    if not (0 <= s.mover <= 1 and 0 <= s.band <= 3 and 0 <= s.first_band <= 3):
        return True
    if not (0 <= s.placed <= ALL_PLACED and 1 <= s.occurrences <= 3 and 0 <= s.drawn <= 1):
        return True
    most = s.moves.shape[0] if s.placed == ALL_PLACED and s.moves.shape[0] > 1 else 0
    return not 0 <= s.ply <= most


@rule
def pieces_are_flawed(s):
    found = 0
    for side in range(2):
        paladins, unicorn = int(s.paladins[side]), int(s.unicorn[side])
        if not (0 <= paladins <= BOARD and NOWHERE <= unicorn < CELLS):
            return True
        if found & (paladins | set_of(unicorn)) or paladins & set_of(unicorn):
            return True
        found |= paladins | set_of(unicorn)
        has = min(s.placed, PIECES) if side == BLACK else max(s.placed - PIECES, 0)
        if count(paladins) != max(has - 1, 0):
            return True
        taken = s.placed == ALL_PLACED and s.mover == side and s.band > 0
        if (unicorn == NOWHERE) != (has == 0) and not (unicorn == NOWHERE and taken):
            return True
    return False


@rule
def placing_is_flawed(s):
    if s.mover != (BLACK if s.placed < PIECES else WHITE) or s.band != 0:
        return True
    if s.placed == 0:
        return False
    black, white = pieces(s, BLACK), pieces(s, WHITE)
    low = black & ~LOW_EDGE == 0 and white & ~HIGH_EDGE == 0
    high = black & ~HIGH_EDGE == 0 and white & ~LOW_EDGE == 0
    if s.placing == FAIR or not (low or high):
        return True
    return s.unicorn[s.mover] != NOWHERE and count(beyond(s)) <= to_come(s)


@rule
def hash_of(s):
    """The hash of a position, anew."""
    hashed = BAND_KEY[s.band]
    if s.mover == BLACK:
        hashed ^= BLACK_KEY
    for side in range(2):
        paladins, unicorn = int(s.paladins[side]), int(s.unicorn[side])
        while paladins:
            hashed ^= PIECE_KEY[side, lowest(paladins)]
            paladins &= paladins - 1
        if unicorn != NOWHERE:
            hashed ^= PIECE_KEY[UNICORN_KEY + side, unicorn]
    return hashed


# The way to a position ---------------------------------------------------------------------------


@rule
def moves_are_flawed(s):
    """Take back move after move, and see whether each could be made."""
    for i in range(s.moves.shape[0]):
        if s.moves[i] > PASS or (i >= s.ply and s.moves[i] != 0):
            return True
    if s.moves.shape[0] == 1:
        return s.first_band != 0
    if s.band != band_at(s, int(s.ply)):
        return True
    mine, unicorn = int(s.paladins[1 - s.mover]), int(s.unicorn[1 - s.mover])
    theirs, prey = int(s.paladins[s.mover]), int(s.unicorn[s.mover])
    for ply in range(int(s.ply) - 1, -1, -1):
        action = int(s.moves[ply])
        if action != PASS:
            start, end = 1 << int(START[action]), int(END[action])
            if start & (mine | set_of(unicorn) | theirs | set_of(prey)):
                return True
            if unicorn == end:
                unicorn = int(START[action])
            elif mine >> end & 1:
                mine ^= start | 1 << end
                prey = end if prey == NOWHERE else prey
        if prey == NOWHERE or is_illegal(mine, unicorn, theirs, prey, band_at(s, ply), action):
            return True
        mine, unicorn, theirs, prey = theirs, prey, mine, unicorn
    return False


@rule
def is_illegal(mine, unicorn, theirs, prey, band, action):
    """Whether a side could not make this move, or had to make one instead of passing."""
    empty = BOARD & ~(mine | set_of(unicorn) | theirs | set_of(prey))
    if action == PASS:
        return landing_cells(mine, unicorn, band, empty, set_of(prey)) != 0
    cell, end = int(START[action]), int(END[action])
    if not (mine | set_of(unicorn)) & int(ON_BAND[band]) & set_of(cell):
        return True
    targets = empty if cell == unicorn else empty | set_of(prey)
    return not ends(cell, empty) & targets & set_of(end)


@rule
def draw_is_flawed(s):
    """Count all occurrences anew; no draw can have come before the last move."""
    hashed, white, black = s.hash, int(s.unicorn[WHITE]), int(s.unicorn[BLACK])
    now = 1 + earlier(s, int(s.ply), hashed, white, black)
    taken = white == NOWHERE or black == NOWHERE
    if s.occurrences != now or s.drawn != (0 if taken else is_drawn(s, int(s.ply), now)):
        return True
    if s.ply > 0 and taken:  # as if it had not been
        cell = int(END[s.moves[s.ply - 1]])
        hashed ^= PIECE_KEY[UNICORN_KEY + s.mover, cell]
        white, black = (cell, black) if s.mover == WHITE else (white, cell)
    for ply in range(int(s.ply) - 1, 0, -1):
        hashed, white, black = taken_back(s, ply, hashed, white, black)
        if is_drawn(s, ply, 1 + earlier(s, ply, hashed, white, black)):
            return True
    return False
