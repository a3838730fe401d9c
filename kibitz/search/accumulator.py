"""A small integer network that follows a search move by move, as a judge for alpha-beta.

    features of a seat -> sum of their columns [width], kept up to date     both seats, same weights
    both sums, the mover's first -> clipped to [0, 1] [2 * width] -> [hidden] -> clipped -> value

An action changes a handful of features, so a note follows it with a handful of additions. All of it
is integers: sums count in 1/ONE, weights of the later layers in 1/UNIT.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import rule
from ..game import GameError, turn
from ..open_rules import Judge
from .judging import EVEN, changes, present, room_for_features

ONE = 255  # what the number 1 is in a sum and in an activation
UNIT = 1024  # and in a weight of the later layers
LARGEST = 32_767  # of 16 bits
MOST_COLUMN = LARGEST // 16  # more features than are present at a time cannot overflow a sum
MOST_BIAS = 1 << 30

Floats = NDArray[np.floating]


@rule
def begin(s, plan, note):
    """Sum the columns of all features."""
    listed = room_for_features(s)
    for seat in range(2):
        for i in range(note.sums.shape[1]):
            note.sums[seat, i] = plan.bias[i]
        count = present(s, seat, listed)
        for k in range(count):
            for i in range(note.sums.shape[1]):
                note.sums[seat, i] += plan.columns[listed[k], i]


@rule
def follow(s, action, plan, before, after):
    """Add and take away the columns of what an action changes."""
    listed = room_for_features(s)
    width = before.sums.shape[1]
    for seat in range(2):
        for i in range(width):
            after.sums[seat, i] = before.sums[seat, i]
        count = changes(s, action, seat, listed)
        for k in range(count):
            feature = abs(int(listed[k])) - 1
            if listed[k] > 0:
                for i in range(width):
                    after.sums[seat, i] += plan.columns[feature, i]
            else:
                for i in range(width):
                    after.sums[seat, i] -= plan.columns[feature, i]


@rule
def accumulated(s, plan, note):
    """The value of a position to the seat to move."""
    width, mover = note.sums.shape[1], turn(s)
    for i in range(width):
        note.clipped[i] = min(max(int(note.sums[mover, i]), 0), ONE)
        note.clipped[width + i] = min(max(int(note.sums[1 - mover, i]), 0), ONE)
    total = int(plan.last_bias)
    for h in range(plan.last.shape[0]):
        sum_ = np.int32(plan.hidden_bias[h])
        for i in range(2 * width):
            sum_ = np.int32(sum_ + np.int32(note.clipped[i]) * np.int32(plan.hidden[h, i]))
        total += min(max(int(sum_) // UNIT, 0), ONE) * int(plan.last[h])
    value = round(EVEN * math.tanh(total / (ONE * UNIT)))
    return min(max(value, 1 - EVEN), EVEN - 1)


# Weights ------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """A trained network, in floating point."""

    columns: Floats
    """[features, width]"""
    bias: Floats
    """[width]"""
    hidden: Floats
    """[hidden, 2 * width]: first for the sums of the seat to move"""
    hidden_bias: Floats
    """[hidden]"""
    last: Floats
    """[hidden]"""
    last_bias: float


def accumulator_judge(weights: Weights) -> Judge:
    """The judge of a network, in integers."""
    (features, width), hidden = weights.columns.shape, len(weights.last)
    plan = np.zeros(
        1,
        np.dtype(
            (
                np.record,
                [
                    ("last_bias", np.int64),
                    ("hidden_bias", np.int32, hidden),
                    ("columns", np.int16, (features, width)),
                    ("bias", np.int16, width),
                    ("hidden", np.int16, (hidden, 2 * width)),
                    ("last", np.int16, hidden),
                ],
            )
        ),
    )
    plan["columns"] = whole(weights.columns, ONE, MOST_COLUMN)
    plan["bias"] = whole(weights.bias, ONE, MOST_COLUMN)
    plan["hidden"] = whole(weights.hidden, UNIT, LARGEST)
    plan["last"] = whole(weights.last, UNIT, LARGEST)
    plan["hidden_bias"] = whole(weights.hidden_bias, ONE * UNIT, MOST_BIAS)
    plan["last_bias"] = whole(np.array(weights.last_bias), ONE * UNIT, MOST_BIAS)
    note = np.dtype((np.record, [("sums", np.int16, (2, width)), ("clipped", np.int16, 2 * width)]))
    return Judge(accumulated, plan[0], note, begin, follow)


def whole(numbers: Floats, scale: int, most: int) -> NDArray[np.int64]:
    """Numbers as integers, refused where they could make a sum overflow."""
    rounded = np.rint(np.asarray(numbers, np.float64) * scale)
    if not np.isfinite(rounded).all() or np.abs(rounded).max(initial=0) > most:
        raise GameError(f"weights beyond {most / scale:.0f} do not fit into a network of integers")
    return np.asarray(rounded, np.int64)
