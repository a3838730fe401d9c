"""Parting positions for training from those for validation, by games."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..seeds import derived
from .rows import DataError, Rows


class Split(NamedTuple):
    """Row numbers: no game and no position is on both sides."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]
    dropped: int
    """Rows for training that were left out: other games have led to the same positions."""


def split(rows: Rows, share: float, seed: int) -> Split:
    """Hold a share of the games back for validation. Rows without a game are games of their own."""
    games = _games(rows)
    held = np.zeros(games.max(initial=-1) + 1, np.bool_)
    if len(held) < 2:
        raise DataError("positions of one game cannot be split: training needs two games or more")
    rng = np.random.Generator(np.random.Philox(derived(seed, "split", 0)))
    held[rng.permutation(len(held))[: max(1, round(share * len(held)))]] = True
    validation = held[games]
    _, names = np.unique(rows.positions(), return_inverse=True)
    seen = np.zeros(names.max() + 1, np.bool_)
    seen[names[validation]] = True
    training = ~validation & ~seen[names]
    dropped = int((~validation & seen[names]).sum())
    return Split(np.flatnonzero(training), np.flatnonzero(validation), dropped)


def _games(rows: Rows) -> NDArray[np.int64]:
    """The game of every row, numbered from 0 without a gap."""
    ids = rows.columns["game_id"]
    own = np.arange(len(ids)) + ids.max(initial=-1) + 1
    return np.asarray(np.unique(np.where(ids < 0, own, ids), return_inverse=True)[1], np.int64)
