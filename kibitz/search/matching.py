"""Regret matching: actions are played in proportion to their regrets.

All variants are one formula with different numbers. After a gain g (the value of the action minus
the value of the information set), a regret R becomes

    R <- (R + g) * (t^positive / (t^positive + 1))    where it is above 0
    R <- (R + g) * (t^negative / (t^negative + 1))    where it is below

at step t, and the strategy of step t counts t^averaging times in the average. A predictive variant
plays as if the last gain came once more: its weights are R + g instead of R.

Sources: Zinkevich et al. 2007 (CFR); Tammelin 2014 (CFR+); Brown and Sandholm 2019 (linear and
discounted CFR); Farina, Kroer and Sandholm 2021 (predictive CFR+).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..game import GameError, rule


@dataclass(frozen=True)
class Variant:
    """A variant of regret minimisation: the numbers of the formula."""

    name: str
    positive: float = inf
    """How slowly regrets above 0 are forgotten; infinity keeps them."""
    negative: float = inf
    """The same below 0; minus infinity forgets them at once."""
    averaging: float = 0.0
    """How much more the later strategies count."""
    predictive: bool = False
    """Whether the last gain is expected to come again."""


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("cfr"),
        Variant("cfr+", negative=-inf, averaging=1.0),
        Variant("linear", positive=1.0, negative=1.0, averaging=1.0),
        Variant("discounted", positive=1.5, negative=0.0, averaging=2.0),
        Variant("predictive", negative=-inf, averaging=2.0, predictive=True),
    )
}

STEP = np.dtype(
    (
        np.record,
        [
            ("above", np.float64),  # what is kept of a regret above 0
            ("below", np.float64),  # and of one below
            ("average", np.float64),  # how often this step's strategies count
            ("predictive", np.float64),  # 1 or 0
        ],
    )
)

Step: TypeAlias = NDArray[np.void]
"""The numbers of one step, for kernels. records [1]"""


def variant_named(name: str) -> Variant:
    """One of VARIANTS."""
    if name not in VARIANTS:
        raise GameError(f"there is no variant {name!r}; there are: {', '.join(VARIANTS)}")
    return VARIANTS[name]


def step_of(variant: Variant, t: int) -> Step:
    """The numbers of step t = 1, 2, ... for kernels. records [1]"""
    kept = (_kept(variant.positive, t), _kept(variant.negative, t))
    return np.array([(*kept, float(t) ** variant.averaging, float(variant.predictive))], STEP)


def _kept(power: float, t: int) -> float:
    """t^power / (t^power + 1), where infinity is infinity for t = 1 too."""
    if abs(power) == inf:
        return 1.0 if power > 0 else 0.0
    return 1 / (1 + float(t**-power))


@rule
def share(weight, total, choices):
    """The probability of an action: its part of the positive weights, or equal parts of nothing."""
    if total <= 0.0:
        return 1.0 / choices
    return weight / total if weight > 0.0 else 0.0


@rule
def moved(weight, last, gain, step):
    """An action's weight after it gained this much, and `last` the time before."""
    regret = weight - step.predictive * last + gain
    return regret * (step.above if regret > 0.0 else step.below) + step.predictive * gain
