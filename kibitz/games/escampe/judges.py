"""How searches judge positions of Escampe, and in which order they try moves."""

from __future__ import annotations

import numpy as np

from ...game import rule
from ...open_rules import Bare, Features, Judge, OpenRules, Past
from .board import (
    BAND,
    BAND_KEY,
    BLACK,
    BLACK_KEY,
    BOARD,
    CELLS,
    DISTANCE,
    END,
    MOVE,
    NOWHERE,
    ON_BAND,
    PASS,
    PLACE,
    START,
    STARTS_OF,
    WHITE,
    count,
    ends,
    lowest,
)
from .opening import book, plans
from .rules import ALL_PLACED, arrival_band, count_actions, count_moves, key, pieces, taken_back

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


# Features: what a small network sums up ----------------------------------------------------------

KINDS = 4  # my paladins, my unicorn, the other side's paladins, its unicorn
BANDS = KINDS * CELLS  # the first of four features: the required band
NUM_FEATURES = BANDS + 4
MOST_FEATURES = ALL_PLACED + 1


@rule
def kind_of(side, is_unicorn, seat):
    return (0 if side == seat else 2) + (1 if is_unicorn else 0)


@rule
def present(s, seat, out):
    n = 0
    for side in range(2):
        paladins = int(s.paladins[side])
        while paladins:
            out[n] = CELLS * kind_of(side, False, seat) + lowest(paladins)
            paladins &= paladins - 1
            n += 1
        if s.unicorn[side] != NOWHERE:
            out[n] = CELLS * kind_of(side, True, seat) + int(s.unicorn[side])
            n += 1
    out[n] = BANDS + int(s.band)
    return n + 1


@rule
def changes(s, action, seat, out):
    """A move: its piece comes and goes, the unicorn that is taken goes, the band changes."""
    n, side = 0, int(s.mover)
    if s.placed < ALL_PLACED:
        first = CELLS * kind_of(side, s.unicorn[side] == NOWHERE, seat)
        out[0] = first + action - PLACE + 1
        return 1
    if action != PASS:
        cell, end = int(START[action]), int(END[action])
        first = CELLS * kind_of(side, s.unicorn[side] == cell, seat) + 1
        out[0] = -(first + cell)
        out[1] = first + end
        n = 2
        if s.unicorn[1 - side] == end:
            out[n] = -(CELLS * kind_of(1 - side, True, seat) + end + 1)
            n += 1
    band = arrival_band(action)
    if band != s.band:
        out[n] = -(BANDS + int(s.band) + 1)
        out[n + 1] = BANDS + band + 1
        n += 2
    return n


# Positions without their history -----------------------------------------------------------------


def strip(s, bare):
    for name in ("paladins", "hash", "unicorn", "mover", "band", "placed"):
        bare[name] = s[name]
    bare.first_band = s.band


def past(s):
    keys, hashed = [], s.hash
    white, black = int(s.unicorn[WHITE]), int(s.unicorn[BLACK])
    for ply in range(int(s.ply) - 1, -1, -1):
        hashed, white, black = taken_back(s, ply, np.uint64(hashed), white, black)
        keys.append(hashed)
    return Past(np.array(keys, np.uint64), len(s.moves) - int(s.ply))


OPEN_RULES = OpenRules(
    key=key,
    urges=urges,
    count=count_actions,
    decisive=decisive,
    skip=skip,
    features=Features(NUM_FEATURES, MOST_FEATURES, present, changes),
    judges={"linear": Judge(linear)},
    book=book,
    plans=plans,
    bare=Bare({"adjudication": False}, strip, past),
)
