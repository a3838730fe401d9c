"""Gumbel search: which root actions to try how often, and the policy that comes out.

Danihelka et al., "Policy improvement by planning with Gumbel", 2022. A few actions are drawn
without replacement by Gumbel noise on the network's logits; their number is halved again and again
while the simulations left are spread over those that remain. It improves the policy with very few
simulations, where visit counts say little. Inside the tree PUCT decides, which copes with actions
that only some deals allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]


def plan(considered: int, simulations: int) -> Counts:
    """[k, i]: with k root actions, the visits that the action of simulation i has so far.

    Without an action to consider nothing is planned, and PUCT decides at the root, too.
    """
    table = np.zeros((considered + 1, max(simulations, 1)), np.int32)
    for k in range(1, considered + 1):
        table[k] = _visits_due(k, simulations)
    return table


def _visits_due(considered: int, simulations: int) -> Counts:
    if considered == 1:
        return np.arange(max(simulations, 1), dtype=np.int32)
    rounds = int(np.ceil(np.log2(considered)))
    visits, left = [0] * considered, considered
    due: list[int] = []
    while len(due) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            due += visits[:left]
            for i in range(left):
                visits[i] += 1
        left = max(2, left // 2)
    return np.array(due[: max(simulations, 1)], np.int32)


def completed(visits: Counts, means: Floats, priors: Floats, root: Floats) -> Floats:
    """Action values with the unvisited filled in: by the mean of the root and the visited ones.

    visits, means, priors [trees, actions]; root: the evaluator's value of the root [trees].
    """
    seen = visits > 0
    weight = np.where(seen, priors, 0.0)
    known = (weight * means).sum(1) / np.maximum(weight.sum(1), 1e-9)
    total = visits.sum(1)
    mixed = (root + total * known) / (1 + total)
    return np.where(seen, means, mixed[:, None])


def improved(values: Floats, priors: Floats, legal: NDArray[np.bool_], weight: Floats) -> Floats:
    """The policy target: the network's policy, tilted by the completed values. [trees, actions]

    weight: of a value against a logit, see `value_weight` [trees, 1].
    """
    logits = np.where(legal, np.log(np.maximum(priors, 1e-12)) + weight * values, -np.inf)
    logits -= logits.max(1, keepdims=True)
    odds = np.exp(logits)
    return np.asarray(odds / odds.sum(1, keepdims=True))


def value_weight(visits: Counts, c_visit: float, c_scale: float) -> Floats:
    """What a value weighs against a logit: the more, the more the root was visited. [trees, 1]"""
    return np.asarray((c_visit + visits.max(1, keepdims=True)) * c_scale)
