"""What a search remembers of positions, compiled: transpositions, and answers of a network.

An entry is a score, a depth, a bound, an action and an epoch in one number. What is stored beside
it is the exclusive or of the position's key and the entry, see `alphabeta.Shared`.
"""

from __future__ import annotations

import numpy as np

from ..compiled import rule

WIN, PROVEN, ENDLESS = 100_000, 90_000, 1 << 20  # scores
AT_MOST, AT_LEAST, EXACT = 1, 2, 3
SCORE_OFFSET = 1 << 19


@rule
def probe(table, hashed, epoch):
    """The entry of a position, or 0."""
    slot = np.int64(hashed & np.uint64(table.shape[0] - 1))
    for i in range(2):
        entry = np.int64(table[slot ^ i, 1])
        if table[slot ^ i, 0] ^ table[slot ^ i, 1] == hashed and entry_epoch(entry) == epoch:
            return entry
    return np.int64(0)


@rule
def entry_epoch(entry):
    return entry >> 46 & 0xFF


@rule
def entry_score(entry, ply):
    """Victories are stored by their distance from the entry's own position."""
    value = (entry & 0xFFFFF) - SCORE_OFFSET
    if value > PROVEN:
        return value - ply
    return value + ply if value < -PROVEN else value


@rule
def entry_depth(entry):
    return entry >> 20 & 0xFF


@rule
def entry_action(entry):
    return (entry >> 30 & 0xFFFF) - 1


@rule
def cuts(entry, f, ply):
    """Whether an entry answers what a frame asks."""
    bound, value = entry >> 28 & 3, entry_score(entry, ply)
    if bound == EXACT:
        return True
    return value >= f.beta if bound == AT_LEAST else value <= f.alpha


@rule
def keep(table, f, ply, epoch):
    """Store what a frame has found, in place of what was not searched as deep.

    Of two slots the first is for deep searches, the second for the latest.
    """
    value = f.best
    if value > PROVEN:
        value += ply
    elif value < -PROVEN:
        value -= ply
    bound = AT_LEAST if f.best >= f.beta else EXACT if f.best > f.floor else AT_MOST
    entry = (value + SCORE_OFFSET) | f.depth << 20 | bound << 28 | (f.action + 1) << 30
    entry |= epoch << 46
    slot = np.int64(f.key & np.uint64(table.shape[0] - 1)) & ~1
    deep = np.int64(table[slot, 1])
    own = table[slot, 0] ^ table[slot, 1] == f.key
    if not own and entry_epoch(deep) == epoch and entry_depth(deep) > f.depth:
        slot += 1
    table[slot, 1] = np.uint64(entry)
    table[slot, 0] = f.key ^ np.uint64(entry)


@rule
def remembered(values, hashed):
    """What a network has said of a position, or ENDLESS."""
    slot = np.int64(hashed & np.uint64(values.shape[0] - 1))
    value = values[slot, 1]
    return np.int64(value) - WIN if values[slot, 0] ^ value == hashed else ENDLESS
