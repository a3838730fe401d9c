"""What a network is to learn: scores of searches, squeezed into -1 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...game import GameError
from ...search.transpositions import PROVEN, WIN
from .rows import DataError, Rows

Floats = NDArray[np.float32]
SCALES = (1.0, 1e5)  # points; the best scale is looked for in between
POINTS = 200  # of the grid on which the search for it begins
STEPS = 40  # of golden section: the last interval is 1e-8 of the first


def search_scores(raw: NDArray[np.floating], scale: float) -> Floats:
    """Scores from -1 to 1 of what searches have found: 1 and -1 where the result is proven."""
    proven = np.abs(raw) > PROVEN
    return np.asarray(np.where(proven, np.sign(raw), np.tanh(raw / scale)), np.float32)


@dataclass(frozen=True)
class Labelling:
    """How rows become targets."""

    form: Literal["tanh", "legacy", "given"] = "tanh"
    """`tanh` of the search's score by a scale; `legacy`, that score by 100,000, which leaves
    little but proven or not; or the score that is `given` in the file."""
    scale: float | None = None
    """Points that are worth tanh 1; None: those that predict the results of the games best."""
    search_share: float = 1.0
    """Share of the search's score in a target; the rest is the result of the game."""

    def __post_init__(self) -> None:
        if self.form not in ("tanh", "legacy", "given"):
            raise GameError(f"form={self.form}: labels are tanh, legacy or given")
        if self.scale is not None and not self.scale > 0:
            raise GameError(f"scale={self.scale}: a scale is above 0")
        if not 0.0 <= self.search_share <= 1.0:
            raise GameError(f"search_share={self.search_share}: it is a share, from 0 to 1")

    def fitted_scale(self, rows: Rows) -> float:
        """The scale for these rows."""
        scale = result_scale(rows) if self.scale is None else self.scale
        if scale is None:
            raise DataError(
                "no scale can be fitted, because the scores of these positions do not predict the "
                "results of their games; give one"
            )
        return scale

    def targets(self, rows: Rows, scale: float) -> Floats:
        """What to learn for each row. Rows without a search keep the score in their file."""
        raw, given = rows.columns["raw_score"], rows.columns["score"]
        form = search_scores(raw, scale) if self.form == "tanh" else (raw / WIN).astype(np.float32)
        searched = given if self.form == "given" else np.where(np.isnan(raw), given, form)
        share = np.where(rows.decided, self.search_share, 1.0)
        mixed = share * searched + (1.0 - share) * rows.columns["result"]
        return np.asarray(mixed, np.float32)


def result_scale(rows: Rows) -> float | None:
    """The scale K for which tanh(raw / K) predicts results best, in mean square.

    Only unproven positions of games that have ended count. None if their scores predict nothing, as
    in games of mostly random moves: then the best K is without bound.
    """
    used = rows.predicts_results
    scale = best_scale(rows.columns["raw_score"][used], rows.columns["result"][used])
    return scale if SCALES[0] * 1.1 < scale < SCALES[1] / 1.1 else None


def best_scale(raw: NDArray[np.floating], wanted: NDArray[np.number]) -> float:
    """The scale K for which tanh(raw / K) is nearest to what is wanted, by least squares.

    Equal values are taken together, so that a step costs the same for any number of rows.
    """
    values, which, counts = np.unique(raw, return_inverse=True, return_counts=True)
    means = np.bincount(which, wanted) / counts

    def error(log_scale: float) -> float:
        return float(counts @ (np.tanh(values / math.exp(log_scale)) - means) ** 2)

    grid = [
        math.log(SCALES[0] * (SCALES[1] / SCALES[0]) ** (k / POINTS)) for k in range(POINTS + 1)
    ]
    best = min(range(POINTS + 1), key=lambda k: error(grid[k]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, POINTS)]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(STEPS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if error(left) < error(right) else (left, high)
    return math.exp((low + high) / 2)
