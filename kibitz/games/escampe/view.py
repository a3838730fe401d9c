"""What networks see of Escampe: planes of cells for both sides, the seat's own side first.

The board is never turned or flipped. Its only symmetry is to exchange the colours together with the
side to move, and that changes no number of a view.
"""

from __future__ import annotations

from ...game import layout, rule
from .board import (
    BOARD,
    CELLS,
    COLUMN_A,
    NOWHERE,
    ON_BAND,
    SIDE,
    count,
    ends,
    landing_cells,
    lowest,
    set_of,
)
from .rules import ALL_PLACED, PIECES, pieces

PLANES = (16, SIDE, SIDE)  # rows 1 to 6, columns A to F
# Which plane has what, seen from a side ("mine"):
MY_PALADINS, MY_UNICORN, THEIR_PALADINS, THEIR_UNICORN = range(4)
BANDS = 4  # three planes: cells of band 1, 2 and 3
READY = 7  # mine on the required band
LANDING = 8  # three planes: landing cells of band 1, 2 and 3, empty ones or those in reach
IN_ROW, IN_COLUMN = 11, 13  # two planes each: the share of my and of their pieces
AROUND_UNICORN = 15  # their paladins, shifted so that my unicorn stands in the middle

MIDDLE = 2  # the row and the column that a unicorn is shifted to
MOST_ESCAPES = 16.0  # the largest number on this board is 14
ROW = (1 << SIDE) - 1

# The encoding banddper-16-empty: landing cells are the empty cells.
VIEW = layout(
    ("me", PLANES),
    ("opponent", PLANES),
    ("escapes", 2),  # cells that a unicorn could flee to, out of 16: mine, theirs
    ("forced_pass", 1),  # whether the side to move has no move
)
# The encoding banddper-16-reach: landing cells are those that a legal move would end on.
REACH_VIEW = layout(
    ("me_reach", PLANES),
    ("opponent_reach", PLANES),
    ("escapes", 2),
    ("forced_pass", 1),
)
# Features that change little from move to move, from both perspectives: my paladins, my unicorn,
# their paladins, their unicorn by cell, then the required band, 0 to 3, as one-hot.
FEATURES = 4 * CELLS + 4
PIECES_VIEW = layout(("features", (2, FEATURES)))


@rule
def observe(s, seat, view):
    empty = empty_cells(s)
    show_side(s, seat, empty, view.me)
    show_side(s, 1 - seat, empty, view.opponent)
    show_numbers(s, seat, view)


@rule
def observe_reach(s, seat, view):
    show_side(s, seat, in_reach(s, seat), view.me_reach)
    show_side(s, 1 - seat, in_reach(s, 1 - seat), view.opponent_reach)
    show_numbers(s, seat, view)


@rule
def observe_pieces(s, seat, view):
    for k in range(2):
        side = seat if k == 0 else 1 - seat
        for cell in range(CELLS):
            for kind in range(4):
                view.features[k, kind * CELLS + cell] = piece_cells(s, side, kind) >> cell & 1
        for band in range(4):
            view.features[k, 4 * CELLS + band] = 1 if s.band == band else 0


# Sets of cells -----------------------------------------------------------------------------------


@rule
def piece_cells(s, side, kind):
    """My paladins, my unicorn, their paladins or their unicorn, seen from a side."""
    owner = side if kind < THEIR_PALADINS else 1 - side
    return int(s.paladins[owner]) if kind % 2 == 0 else set_of(s.unicorn[owner])


@rule
def empty_cells(s):
    return BOARD & ~(pieces(s, 0) | pieces(s, 1))


@rule
def in_reach(s, side):
    """Where a legal move of a side would end, if it were to move under the same band."""
    paladins, unicorn = int(s.paladins[side]), int(s.unicorn[side])
    prey = set_of(s.unicorn[1 - side])
    return landing_cells(paladins, unicorn, int(s.band), empty_cells(s), prey)


@rule
def around_unicorn(s, side):
    """The enemy paladins, shifted as the unicorn is shifted to the middle; some fall off."""
    if s.unicorn[side] == NOWHERE:
        return 0
    down, right = MIDDLE - s.unicorn[side] // SIDE, MIDDLE - s.unicorn[side] % SIDE
    others, shifted = int(s.paladins[1 - side]), 0
    while others:
        cell = lowest(others)
        others &= others - 1
        row, column = cell // SIDE + down, cell % SIDE + right
        if 0 <= row < SIDE and 0 <= column < SIDE:
            shifted |= 1 << int(SIDE * row + column)
    return shifted


# Planes ------------------------------------------------------------------------------------------


@rule
def show_side(s, side, landing, planes):
    """The sixteen planes seen from a side."""
    mine = pieces(s, side)
    for kind in range(4):
        show(piece_cells(s, side, kind), planes[kind])
    for band in range(3):
        show(int(ON_BAND[band + 1]), planes[BANDS + band])
        show(landing & int(ON_BAND[band + 1]), planes[LANDING + band])
    show(mine & int(ON_BAND[s.band]), planes[READY])
    show_shares(mine, planes[IN_ROW], planes[IN_COLUMN])
    show_shares(pieces(s, 1 - side), planes[IN_ROW + 1], planes[IN_COLUMN + 1])
    show(around_unicorn(s, side), planes[AROUND_UNICORN])


@rule
def show(cells, plane):
    for row in range(SIDE):
        for column in range(SIDE):
            plane[row, column] = cells & 1
            cells >>= 1


@rule
def show_shares(cells, rows, columns):
    """How many of six pieces are in each row and in each column."""
    for i in range(SIDE):
        in_row = count(cells & ROW << SIDE * i) / PIECES
        in_column = count(cells & COLUMN_A << i) / PIECES
        for k in range(SIDE):
            rows[i, k] = in_row
            columns[k, i] = in_column


@rule
def show_numbers(s, seat, view):
    view.escapes[0] = escapes(s, seat) / MOST_ESCAPES
    view.escapes[1] = escapes(s, 1 - seat) / MOST_ESCAPES
    view.forced_pass[0] = must_pass(s)


@rule
def escapes(s, side):
    """How many empty cells a unicorn could reach, whatever band is required."""
    if s.unicorn[side] == NOWHERE:
        return 0
    empty = empty_cells(s)
    return count(ends(int(s.unicorn[side]), empty) & empty)


@rule
def must_pass(s):
    """Whether the side to move has no move; 0 while pieces are placed, and at the end."""
    if s.placed < ALL_PLACED or s.unicorn[0] == NOWHERE or s.unicorn[1] == NOWHERE:
        return 0
    return 1 if in_reach(s, int(s.mover)) == 0 else 0
