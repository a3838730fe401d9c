"""What is read out of the roots of trees: visits, values, the policy to learn, what to play."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compiled import kernel
from ..devices import Array, Device
from .gumbel import improve, log_prior, value_weight
from .tree import NEVER, NO_EDGE, find_edge, mean, slot_of, uniform


class RootRows(NamedTuple):
    """What is read out of the roots: lists in the order of the legal actions, zeros behind them."""

    acts: Array  # int16 [trees, max_legal]
    counts: Array  # int64 [trees]
    visits: Array  # int32 [trees, max_legal]
    means: Array  # float64, for the seat that thinks [trees, max_legal]
    priors: Array  # float64 [trees, max_legal]
    simulations: Array  # int64 [trees]
    policy: Array  # what to learn from: visits, or the improved policy. float64 [trees, max_legal]
    value: Array  # of the root, for the seat that thinks. float64 [trees]
    best: Array  # the action to play. int64 [trees]


def empty_rows(device: Device, size: int, max_legal: int) -> RootRows:
    lists = size, max_legal
    return RootRows(
        acts=device.empty(lists, np.int16),
        counts=device.empty(size, np.int64),
        visits=device.empty(lists, np.int32),
        means=device.empty(lists, np.float64),
        priors=device.empty(lists, np.float64),
        simulations=device.empty(size, np.int64),
        policy=device.empty(lists, np.float64),
        value=device.empty(size, np.float64),
        best=device.empty(size, np.int64),
    )


@kernel
def read_roots_all(first, end, step, forest, rows):
    for b in range(first, end, step):
        t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
        rows.counts[b], rows.simulations[b] = t.width, t.simulations
        node = nodes[slot_of(nodes, t.root)]
        for j in range(rows.acts.shape[1]):
            rows.acts[b, j], rows.visits[b, j] = 0, 0
            rows.means[b, j], rows.priors[b, j], rows.policy[b, j] = 0.0, 0.0, 0.0
        for j in range(t.width):
            rows.acts[b, j], rows.priors[b, j] = t.root_acts[j], 1.0 / t.width
            if node.name == t.root:  # else the tree was full before its root was kept
                i = find_edge(node, edges, t.root_labels[j])
                if i != NO_EDGE:
                    e = edges[i]
                    rows.visits[b, j], rows.priors[b, j] = e.visits, e.prior
                    rows.means[b, j] = mean(e, t.seat)


@kernel
def decide_by_visits_all(first, end, step, rows):
    """Policy, value and best action of roots that PUCT searched, once they have been read."""
    for b in range(first, end, step):
        total, best, value = 0, 0, 0.0
        for j in range(rows.counts[b]):
            total += np.int64(rows.visits[b, j])
        for j in range(rows.counts[b]):
            # One simulation makes the root, no more.
            share = rows.visits[b, j] / total if total > 0 else rows.priors[b, j]
            rows.policy[b, j] = share
            value += share * rows.means[b, j]
            if share > rows.policy[b, best]:
                best = j
        rows.value[b], rows.best[b] = value, rows.acts[b, best]


@kernel
def decide_by_halving_all(first, end, step, rows, selection):
    """The same of Gumbel search: the improved policy, and the best of the last round of halving."""
    for b in range(first, end, step):
        most, best, highest = 0, 0, -1e300
        for j in range(rows.counts[b]):
            most = max(most, np.int64(rows.visits[b, j]))
        weight = value_weight(most, selection.c_visit, selection.c_scale)
        for j in range(rows.counts[b]):
            score = np.float64(selection.noise[b, j]) / weight + rows.means[b, j]
            if rows.visits[b, j] == most and score > highest:
                best, highest = j, score
        rows.best[b] = rows.acts[b, best]
        lists = rows.visits[b], rows.means[b], rows.priors[b]
        root = selection.root_values[b]
        rows.value[b] = improve(*lists, rows.counts[b], root, weight, rows.policy[b])


@kernel
def draw_noise_all(first, end, step, forest, selection):
    """Gumbel noise on the roots once they have priors, and their values so far.

    Logarithms differ in the last bit of 64 from machine to machine; 32 bits of them do not.
    """
    for b in range(first, end, step):
        t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
        selection.root_values[b] = t.value[t.seat]
        node = nodes[slot_of(nodes, t.root)]
        for j in range(selection.noise.shape[1]):
            noise = -math.log(-math.log(uniform(forest.rngs[b]))) * selection.gumbel_scale
            if j < t.width:
                selection.noise[b, j] = noise + log_prior(edges[node.edge + j].prior)
            else:
                selection.noise[b, j] = NEVER


@kernel
def write_priors_all(first, end, step, forest, priors):
    """Other priors for the root's actions."""
    for b in range(first, end, step):
        t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
        node = nodes[slot_of(nodes, t.root)]
        for j in range(t.width):
            edges[find_edge(node, edges, t.root_labels[j])].prior = priors[b, j]
