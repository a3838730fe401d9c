"""All placements of one edge, by number: 12 cells for the unicorn times 462 sets of paladins.

Black has two edges, so 2 * 5,544 placements, rows 1 and 2 first; White has the other edge.
"""

from __future__ import annotations

import math

import numpy as np

from ...game import rule

EDGE_CELLS = 12
PALADINS = 5
CHOOSE = np.array(
    [[math.comb(n, k) for k in range(PALADINS + 1)] for n in range(EDGE_CELLS + 1)], np.int64
)
PALADIN_SETS = math.comb(EDGE_CELLS - 1, PALADINS)  # 462
EDGE_PLACEMENTS = WHITE_PLACEMENTS = EDGE_CELLS * PALADIN_SETS
BLACK_PLACEMENTS = 2 * EDGE_PLACEMENTS


@rule
def placement(number, first):
    """The unicorn's cell and the set of paladins, on the edge whose first cell is `first`.

    Sets of paladins count in lexicographic order of the cells that the unicorn leaves free.
    """
    unicorn, rank = number // PALADIN_SETS, number % PALADIN_SETS
    paladins, left = 0, PALADINS
    for cell in range(EDGE_CELLS):
        if cell == unicorn or left == 0:
            continue
        higher = EDGE_CELLS - 1 - cell - (1 if unicorn > cell else 0)  # free cells beyond
        with_cell = CHOOSE[higher, left - 1]
        if rank < with_cell:
            paladins |= 1 << cell
            left -= 1
        else:
            rank -= with_cell
    return first + unicorn, paladins << first


def placement_number(unicorn: int, paladins: int, first: int) -> int:
    """The number of a placement on the edge whose first cell is `first`."""
    own, rank, left = unicorn - first, 0, PALADINS
    for cell in range(EDGE_CELLS):
        if cell == own or left == 0:
            continue
        if paladins >> first + cell & 1:
            left -= 1
        else:
            rank += int(CHOOSE[EDGE_CELLS - 1 - cell - (own > cell), left - 1])
    return own * PALADIN_SETS + rank
