"""Several leaves of one tree at a time, so that a network answers them in one batch.

A walk to a leaf is put aside until the network has answered. Meanwhile each of its edges has one
more visit, worth what the edge is worth on average: the next walk tries something else, and no
value is invented (A. Liu et al., "Watch the Unobserved", 2020). These visits are taken back, the
last first, before the answers are backed up, so nothing of them remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import kernel
from .tree import DEPTH, mean


def walk_dtype(seats: int, max_legal: int) -> np.dtype[Any]:
    """A walk that waits for its answer: what a tree's record says of it, and values on its way."""
    fields = [
        ("depth", np.int64),
        ("leaf", np.int64),
        ("leaf_seat", np.int64),
        ("pending", np.int64),
        ("legal", np.int64),
        ("value", np.float32, (seats,)),
        ("path", np.int32, (DEPTH,)),
        ("values", np.float32, (DEPTH, seats)),  # of the edges of the path, as they were
        ("acts", np.int16, (max_legal,)),
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@kernel
def put_aside_all(first, end, step, forest, walks):
    """Keep the walk under way, and count it as a visit that changes no mean."""
    for b in range(first, end, step):
        t, edges, w = forest.trees[b], forest.edges[b], walks[b]
        w.depth, w.leaf, w.leaf_seat = t.depth, t.leaf, t.leaf_seat
        w.pending, w.legal = t.pending, t.legal
        for seat in range(t.value.shape[0]):
            w.value[seat] = t.value[seat]
        for j in range(t.legal):
            w.acts[j] = t.acts[j]
        for depth in range(t.depth):
            w.path[depth] = t.path[depth]
            e = edges[t.path[depth]]
            for seat in range(e.value.shape[0]):
                w.values[depth, seat] = e.value[seat]
                e.value[seat] += mean(e, seat)
            e.visits += 1
        t.simulations += 1


@kernel
def take_back_all(first, end, step, forest, walks):
    """Undo the visits of the walk that was put aside last."""
    for b in range(first, end, step):
        t, edges, w = forest.trees[b], forest.edges[b], walks[b]
        for depth in range(w.depth - 1, -1, -1):
            e = edges[w.path[depth]]
            for seat in range(e.value.shape[0]):
                e.value[seat] = w.values[depth, seat]
            e.visits -= 1
        t.simulations -= 1


@kernel
def resume_all(first, end, step, forest, walks):
    """Make a walk that was put aside the one under way again."""
    for b in range(first, end, step):
        t, w = forest.trees[b], walks[b]
        t.depth, t.leaf, t.leaf_seat = w.depth, w.leaf, w.leaf_seat
        t.pending, t.legal = w.pending, w.legal
        for seat in range(t.value.shape[0]):
            t.value[seat] = w.value[seat]
        for depth in range(w.depth):
            t.path[depth] = w.path[depth]
        for j in range(w.legal):
            t.acts[j] = w.acts[j]
