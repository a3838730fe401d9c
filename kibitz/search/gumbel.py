"""Gumbel search: which root actions to try how often, and the policy that comes out.

Danihelka et al., "Policy improvement by planning with Gumbel", 2022. A few actions are drawn
without replacement by Gumbel noise on the network's logits; their number is halved again and again
while the simulations left are spread over those that remain. It improves the policy with very few
simulations, where visit counts say little. Inside the tree PUCT decides, which copes with actions
that only some deals allow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..compiled import rule

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


@rule
def value_weight(most, c_visit, c_scale):
    """What a value weighs against a logit: the more, the more visits the root's favourite has."""
    return (c_visit + np.float64(most)) * c_scale


@rule
def mixed_value(visits, means, priors, width, root):
    """What an action without visits is worth: the mean of the root's value and of the visited ones.

    visits, means, priors: by action, of which there are `width`; root: what the evaluator says.
    """
    total, weight, known = 0, 0.0, 0.0
    for j in range(width):
        if visits[j] > 0:
            total += np.int64(visits[j])
            weight += priors[j]
            known += priors[j] * means[j]
    return (root + total * (known / max(weight, 1e-9))) / (1 + total)


@rule
def improve(visits, means, priors, width, root, weight, policy):
    """Write the policy to learn, the evaluator's policy tilted by the values; return its value.

    weight: of a value against a logit, see `value_weight`.
    """
    mixed, top, total, value = mixed_value(visits, means, priors, width, root), -1e300, 0.0, 0.0
    for j in range(width):
        policy[j] = log_prior(priors[j]) + weight * (means[j] if visits[j] > 0 else mixed)
        top = max(top, policy[j])
    for j in range(width):
        policy[j] = math.exp(policy[j] - top)
        total += policy[j]
    for j in range(width):
        policy[j] /= total
        value += policy[j] * (means[j] if visits[j] > 0 else mixed)
    return value


@rule
def log_prior(prior):
    return math.log(max(np.float64(prior), 1e-12))
