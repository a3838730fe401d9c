"""How searches judge positions of Escampe, and in which order they try moves."""

from __future__ import annotations

import numpy as np

from ...game import rule
from ...open_rules import Bare, Judge, OpenRules, Past
from .board import (
    BAND,
    BAND_KEY,
    BLACK,
    BLACK_KEY,
    BOARD,
    DISTANCE,
    END,
    MOVE,
    ON_BAND,
    PASS,
    STARTS_OF,
    WHITE,
    count,
    ends,
    lowest,
)
from .rules import ALL_PLACED, count_moves, earlier_keys, key, pieces

FIFTHS = 5  # judge `linear` counts in fifths of a point: means over five paladins are whole then
MOST = 9999


@rule
def linear(s, plan, note):
    """Distances, escapes and mobility, in fifths of a point."""
    if s.placed < ALL_PLACED:
        return 0
    mine, theirs = int(s.mover), 1 - int(s.mover)
    nearest, total = distances(s, mine)
    value = -10 * FIFTHS * nearest - 2 * total
    nearest, total = distances(s, theirs)
    value += 5 * FIFTHS * nearest + 5 * total
    value += FIFTHS * (50 * escapes(s, mine) - 30 * escapes(s, theirs))
    my_moves, their_moves = count_moves(s, mine, s.band), count_moves(s, theirs, s.band)
    value += 10 * FIFTHS * (my_moves - their_moves)
    if my_moves == 0:
        value -= 500 * FIFTHS
    if their_moves == 0:
        value += 100 * FIFTHS
    return min(max(value, -MOST), MOST)


@rule
def distances(s, side):
    """From a side's paladins to the enemy unicorn: the least, and the sum."""
    paladins, unicorn = int(s.paladins[side]), int(s.unicorn[1 - side])
    nearest, total = 10, 0
    while paladins:
        steps = int(DISTANCE[lowest(paladins), unicorn])
        paladins &= paladins - 1
        nearest = min(nearest, steps)
        total += steps
    return nearest, total


@rule
def escapes(s, side):
    """How many empty cells a unicorn reaches by its own band, whatever band is required."""
    empty = BOARD & ~(pieces(s, WHITE) | pieces(s, BLACK))
    return count(ends(int(s.unicorn[side]), empty) & empty)


@rule
def decisive(s):
    """A move that takes the unicorn, or -1."""
    if s.placed < ALL_PLACED:
        return -1
    side, prey = int(s.mover), int(s.unicorn[1 - s.mover])
    starts = int(s.paladins[side]) & int(ON_BAND[s.band]) & int(STARTS_OF[prey])
    if starts == 0:
        return -1
    empty = BOARD & ~(pieces(s, WHITE) | pieces(s, BLACK))
    while starts:
        cell = lowest(starts)
        if ends(cell, empty) >> prey & 1:
            return int(MOVE[cell, prey])
        starts &= starts - 1
    return -1


@rule
def urges(s, legal, n, out):
    """A band on which the opponent has few pieces leaves it few replies, and none is best."""
    enemies = pieces(s, 1 - s.mover)
    for i in range(n):
        if legal[i] < PASS:
            band = int(BAND[END[legal[i]]])
            out[i] = 32 * (6 - count(enemies & int(ON_BAND[band])))


@rule
def skip(s):
    s.hash ^= BAND_KEY[s.band] ^ BLACK_KEY
    s.band = 0
    s.mover = 1 - s.mover


# Positions without their history -----------------------------------------------------------------


def strip(s, bare):
    for name in ("paladins", "hash", "unicorn", "mover", "band", "placed"):
        bare[name] = s[name]
    bare.first_band = s.band


def past(s) -> Past:
    keys = np.zeros(len(s.moves), np.uint64)
    return Past(keys[: earlier_keys(s, keys)], len(s.moves) - int(s.ply))


OPEN_RULES = OpenRules(
    key=key,
    urges=urges,
    decisive=decisive,
    skip=skip,
    judges={"linear": Judge(linear)},
    bare=Bare({"adjudication": False}, strip, past),
)
