"""The board of Escampe: bands, steps, the 222 geometric moves, and sets of cells.

A cell is 6 * (row - 1) + column: A1 is 0, F6 is 35. A set of cells is an integer with a bit per
cell, always below 2^36, so that the interpreter, a CPU core and a GPU agree without a care for
overflow.
"""

from __future__ import annotations

import hashlib

import numpy as np

from ...game import rule

SIDE = 6
CELLS = SIDE * SIDE
NOWHERE = -1  # the cell of a unicorn that has been taken, or has not been placed yet
WHITE, BLACK = 0, 1

# fmt: off
BAND = np.array([
    1, 2, 2, 3, 1, 2,  # row 1, columns A to F
    3, 1, 3, 1, 3, 2,
    2, 3, 1, 2, 1, 3,
    2, 1, 3, 2, 3, 1,
    1, 3, 1, 3, 1, 2,
    3, 2, 2, 1, 3, 2,
], np.int8)
# fmt: on

BOARD = (1 << CELLS) - 1
LOW_EDGE = (1 << 2 * SIDE) - 1  # rows 1 and 2
HIGH_EDGE = LOW_EDGE << 4 * SIDE  # rows 5 and 6
COLUMN_A = sum(1 << SIDE * row for row in range(SIDE))
COLUMN_F = COLUMN_A << SIDE - 1
# The cells that a required band allows a piece to start from; with 0 all of them.
ON_BAND = np.array(
    [BOARD] + [sum(1 << c for c in range(CELLS) if BAND[c] == band) for band in (1, 2, 3)],
    np.int64,
)

# 2 is a primitive root of 37: the powers of two below 2^36 leave 36 different remainders.
CELL_OF_REMAINDER = np.zeros(37, np.int8)
for _cell in range(CELLS):
    CELL_OF_REMAINDER[(1 << _cell) % 37] = _cell


@rule
def set_of(cell):
    """The set of one cell; the empty set for NOWHERE."""
    return 0 if cell == NOWHERE else 1 << int(cell)


@rule
def lowest(cells):
    """The lowest cell of a set that is not empty."""
    return int(CELL_OF_REMAINDER[(cells & -cells) % 37])


@rule
def count(cells):
    """How many cells are in a set. Compilers know this loop: it becomes one instruction."""
    n = 0
    while cells:
        cells &= cells - 1
        n += 1
    return n


@rule
def around(cells):
    """All cells one step away from a cell of the set."""
    return (
        (cells & ~COLUMN_F) << 1 | (cells & ~COLUMN_A) >> 1 | cells << SIDE & BOARD | cells >> SIDE
    )


@rule
def ends(start, empty):
    """Where a piece on `start` can end: as many steps as its band has rings, over empty cells.

    The end itself may be anything but the start. No cell is visited twice.
    """
    bit = 1 << start
    empty &= ~bit
    first = around(bit)
    if BAND[start] == 1:
        return first
    first &= empty
    if BAND[start] == 2:
        return around(first) & ~bit
    found = 0
    while first:
        step = first & -first
        first ^= step
        # Three steps can lead next to the start, in a U, but not back to the first of them.
        found |= around(around(step) & empty) & ~step
    return found & ~bit


@rule
def landing_cells(paladins, unicorn, band, empty, prey):
    """Where moves of a side can end that start from the required band.

    prey: the set of the enemy unicorn's cell, on which paladins alone can end.
    """
    starts, found = paladins & int(ON_BAND[band]), 0
    while starts:
        found |= ends(lowest(starts), empty) & (empty | prey)
        starts &= starts - 1
    if unicorn != NOWHERE and int(ON_BAND[band]) >> unicorn & 1:
        found |= ends(unicorn, empty) & empty
    return found


# Moves by number ---------------------------------------------------------------------------------


def _walks(path: list[int], steps: int) -> set[int]:
    """Where self-avoiding walks of so many steps end that go on from `path` on an empty board."""
    if steps == 0:
        return {path[-1]}
    row, column = divmod(path[-1], SIDE)
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    cells = [SIDE * r + c for r, c in near if 0 <= r < SIDE and 0 <= c < SIDE]
    onward = (_walks([*path, cell], steps - 1) for cell in cells if cell not in path)
    return set().union(*onward)


# A move is its start and its end: the 222 pairs that the empty board allows, in ascending order.
PAIRS = [(start, end) for start in range(CELLS) for end in sorted(_walks([start], BAND[start]))]
PASS = len(PAIRS)
START, END = (np.array(cells, np.int8) for cells in zip(*PAIRS, strict=True))
MOVE = np.full((CELLS, CELLS), -1, np.int16)  # the number of a move, by start and end
MOVE[START, END] = np.arange(PASS)
# By end: the cells that a move to it can start from.
STARTS_OF = np.array([sum(1 << a for a, b in PAIRS if b == end) for end in range(CELLS)], np.int64)
PLACE = PASS + 1  # placing a piece on a cell is action PLACE + cell
NUM_ACTIONS = PLACE + CELLS
# No six cells have more ends together than the six that have the most.
MOST_MOVES = int(np.sort(np.bincount(START, minlength=CELLS))[-6:].sum())

_cells = np.arange(CELLS)
DISTANCE = (  # in steps, over anything
    np.abs(_cells[:, None] // SIDE - _cells // SIDE)
    + np.abs(_cells[:, None] % SIDE - _cells % SIDE)
).astype(np.int8)

# Hashing, after Zobrist: a position is the exclusive or of the keys of everything in it.
_words = np.frombuffer(hashlib.shake_128(b"Escampe").digest(8 * (4 * CELLS + 4)), "<u8")
PIECE_KEY = (
    _words[: 4 * CELLS].reshape(4, CELLS).copy()
)  # white, black paladin; white, black unicorn
BAND_KEY = np.concatenate([np.zeros(1, np.uint64), _words[4 * CELLS : 4 * CELLS + 3]])
BLACK_KEY = _words[-1]  # Black is to move
