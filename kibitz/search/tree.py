"""Search trees as arrays: nodes, edges, which edge is chosen, what is backed up. It knows no game.

A node has a name of 64 bits, and an edge a label. What they stand for is up to whoever walks: in
`walk` what the searching seat knows and what everybody sees of an action. A walk lists the actions
of the node at hand in the tree's record (`acts`, `labels`, `legal`), asks a selection rule which of
them to take, and in the end puts a value by seat into the record and backs it up.

An action that was illegal when its node was made can be legal under another deal, so edges are a
chained list and count how often they could have been chosen. Values are sums by seat and nothing is
negated: two seats, teams and four players are one path.

Chance is rolled by the walk or, if it is spread, has nodes of its own. Their edges are outcomes,
each visited about as often as it is likely, and what is backed up from there is the expectation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..chance import STREAM, UNIT, below, bits, mix
from ..compiled import kernel, rule
from ..devices import Array, Device
from .gumbel import log_prior, value_weight

DEPTH = 96  # decisions a simulation may go down before its position is evaluated as it is
NO_EDGE = -1
NEVER = -1e9  # the noise of what is no action
OUTCOME = -1  # in place of how often an edge was available: it is an outcome of chance
WAITS, ENDED = 1, 0  # t.pending: the leaf is to be evaluated, or the game was over

NODE = np.dtype(
    (
        np.record,
        [
            ("name", np.uint64),  # 0 marks a free slot
            ("edge", np.int32),  # the first of its edges
            ("visits", np.int32),
        ],
    )
)


def edge_dtype(seats: int) -> np.dtype[Any]:
    """One action at a node; the edges of a node are a chained list."""
    fields = [
        ("label", np.int32),
        ("next", np.int32),
        ("visits", np.int32),
        ("available", np.int32),  # how often it could have been chosen
        ("prior", np.float32),
        ("value", np.float32, (seats,)),  # sum over its visits
    ]
    return np.dtype((np.record, np.dtype(fields)))


def tree_dtype(seats: int, max_legal: int) -> np.dtype[Any]:
    """What one tree needs besides its nodes and edges."""
    fields = [
        ("root", np.uint64),  # its name
        ("seat", np.int64),  # who thinks
        ("width", np.int64),  # how many actions the root has
        ("edges", np.int64),  # how many are in use
        ("nodes", np.int64),
        ("simulations", np.int64),
        ("unstored", np.int64),  # leaves evaluated and not kept, for want of room
        ("depth", np.int64),  # of the simulation under way
        ("leaf", np.int64),  # its new node, or NO_EDGE
        ("leaf_seat", np.int64),  # who decides there
        ("pending", np.int64),
        ("legal", np.int64),  # how many actions the node at hand has
        ("value", np.float32, (seats,)),
        ("path", np.int32, (DEPTH,)),
        ("labels", np.int32, (max_legal,)),  # of the node at hand
        ("root_labels", np.int32, (max_legal,)),
        ("acts", np.int16, (max_legal,)),  # of the node at hand
        ("root_acts", np.int16, (max_legal,)),
    ]
    size = np.dtype(fields).itemsize
    apart = ("apart", np.uint8, (-size % 128 + 128,))  # two threads never write so close
    return np.dtype((np.record, np.dtype([*fields, apart])))


class Forest(NamedTuple):
    """The arrays of many trees, on one device."""

    trees: Array  # [trees]
    rngs: Array  # a chance stream for each [trees]
    nodes: Array  # [trees, slots]
    edges: Array  # [trees, edges]
    judged: Array  # what the evaluator said of a node, for the seat to move. float32 [trees, slots]


class Selection(NamedTuple):
    """The numbers that selection rules go by."""

    explore: float  # PUCT
    c_visit: float  # Gumbel search: what a value weighs against the policy
    c_scale: float
    noise: Array  # Gumbel search: by root action, its noise plus its logit [trees, max_legal]
    plan: Array  # Gumbel search: the visits that are due, see `gumbel.plan`; one row for PUCT alone
    root_values: Array  # Gumbel search: what the evaluator says of the root, for its seat [trees]
    gumbel_scale: float  # of the noise
    improved: int  # whether the improved policy decides inside the tree, not PUCT
    spread: int  # whether chance is spread over its outcomes, not rolled
    by_path: int  # whether nodes are named by the moves that lead there, not by what is known


def empty_forest(
    device: Device,
    size: int,
    seats: int,
    max_legal: int,
    simulations: int,
    edges_per_simulation: int,
) -> Forest:
    """Trees without nodes, with room for so many simulations. Streams come with the positions."""
    slots = 1 << max(4, math.ceil(math.log2(1.5 * (simulations + 1))))
    room = edges_per_simulation * simulations + 2 * max_legal
    return Forest(
        trees=device.empty(size, tree_dtype(seats, max_legal)),
        rngs=device.empty(size, STREAM),
        nodes=device.empty((size, slots), NODE),
        edges=device.empty((size, room), edge_dtype(seats)),
        judged=device.empty((size, slots), np.float32),
    )


# Nodes and edges -------------------------------------------------------------------------------


@rule
def slot_of(nodes, name):
    """Where the node of this name is, or the free slot where it belongs."""
    mask = nodes.shape[0] - 1
    i = np.int64(name & np.uint64(mask))
    while nodes[i].name != name and nodes[i].name != np.uint64(0):
        i = (i + 1) & mask
    return i


@rule
def step_name(name, label):
    """The name of what comes after a node, by path: by an action or an outcome of this label."""
    return mix(name, label + 1) | np.uint64(1)


@rule
def has_room(t, nodes, edges, count):
    """Whether a tree can take in one more node with so many edges."""
    return t.edges + count <= edges.shape[0] and 4 * t.nodes < 3 * nodes.shape[0]


@rule
def new_edge(t, edges, name, prior):
    i = t.edges
    t.edges = i + 1
    e = edges[i]
    e.label = name
    e.next = NO_EDGE
    e.visits = e.available = 0
    e.prior = prior
    for seat in range(e.value.shape[0]):
        e.value[seat] = 0.0
    return i


@rule
def expand(t, node, edges):
    """Edges for the actions at hand, one after another, with equal priors."""
    node.edge = t.edges
    node.visits = 0
    for j in range(t.legal):
        i = new_edge(t, edges, t.labels[j], 1.0 / t.legal)
        edges[i].next = i + 1 if j < t.legal - 1 else NO_EDGE


@rule
def find_edge(node, edges, name):
    """The node's edge of this label, or NO_EDGE."""
    i = np.int64(node.edge)
    while i != NO_EDGE and edges[i].label != name:
        i = np.int64(edges[i].next)
    return i


@rule
def edge_of(t, node, edges, name, hint, prior):
    """The node's edge of this label, made when first legal; NO_EDGE where there is no room."""
    if hint != NO_EDGE and edges[hint].label == name:
        return hint
    i, last = np.int64(node.edge), NO_EDGE
    while i != NO_EDGE:
        if edges[i].label == name:
            return i
        last = i
        i = np.int64(edges[i].next)
    if t.edges >= edges.shape[0]:
        t.unstored += 1
        return NO_EDGE
    i = new_edge(t, edges, name, prior)
    edges[last].next = i
    return i


@rule
def mean(e, seat):
    return np.float64(e.value[seat]) / np.float64(e.visits) if e.visits > 0 else 0.0


# Selection rules -------------------------------------------------------------------------------
# A rule takes an edge, which the path notes, and returns the action's index in the list it is from.


@rule
def puct(e, seat, explore):
    # No product feeds a sum: a fused multiply-add would make CPU and GPU differ in the last bit.
    bonus = np.float64(e.prior) * math.sqrt(np.float64(e.available))
    return mean(e, seat) + explore * bonus / (1.0 + np.float64(e.visits))


@rule
def take_by_puct(t, node, edges, seat, explore):
    """Of the actions at hand the best for the seat to move; NO_EDGE where none could be kept."""
    best, chosen, edge = -1e300, NO_EDGE, NO_EDGE
    hint, prior = np.int64(node.edge), 1.0 / t.legal
    for j in range(t.legal):
        i = edge_of(t, node, edges, t.labels[j], hint, prior)
        if i == NO_EDGE:
            hint = NO_EDGE
            continue
        e = edges[i]
        hint = np.int64(e.next)
        e.available += 1
        score = puct(e, seat, explore)
        if score > best:
            best, chosen, edge = score, j, i
    if chosen != NO_EDGE:
        take(t, node, edge)
    return chosen


@rule
def improved_logit(e, seat, weight, mixed):
    """An action's logit in the improved policy; `mixed` is the value of what was never tried."""
    return log_prior(e.prior) + weight * (mean(e, seat) if e.visits > 0 else mixed)


@rule
def take_by_improved_policy(t, node, edges, judged, seat, selection):
    """Of all actions of a node the one that lags behind the improved policy most.

    The node's edges are in the order of the actions at hand: nothing may be hidden. judged: what
    the evaluator said of the node, for the seat to move.
    """
    most, total, share, tried = 0, 0, 0.0, 0.0
    i = np.int64(node.edge)
    while i != NO_EDGE:
        e = edges[i]
        most = max(most, np.int64(e.visits))
        if e.visits > 0:
            total += np.int64(e.visits)
            share += np.float64(e.prior)
            tried += np.float64(e.prior) * mean(e, seat)
        i = np.int64(e.next)
    mixed = (np.float64(judged) + total * (tried / max(share, 1e-9))) / (1 + total)
    weight = value_weight(most, selection.c_visit, selection.c_scale)
    top, power = -1e300, 0.0
    for j in range(t.legal):
        top = max(top, improved_logit(edges[node.edge + j], seat, weight, mixed))
    for j in range(t.legal):
        power += math.exp(improved_logit(edges[node.edge + j], seat, weight, mixed) - top)
    best, chosen = -1e300, 0
    for j in range(t.legal):
        e = edges[node.edge + j]
        share = math.exp(improved_logit(e, seat, weight, mixed) - top) / power
        if share - e.visits / (1 + total) > best:
            best, chosen = share - e.visits / (1 + total), j
    take(t, node, node.edge + chosen)
    return chosen


@rule
def take(t, node, edge):
    t.path[t.depth] = edge
    t.depth += 1
    node.visits += 1


@rule
def take_by_draw(t, rng, node, edges):
    """One of the actions at hand, drawn: by the priors or, every other time, any of them.

    The node's name says which actions it has, so its edges are in their order.
    """
    chosen = below(rng, t.legal)
    if below(rng, 2) == 0:
        total, left, chosen = 0.0, uniform(rng), np.int64(-1)
        for j in range(t.legal):
            total += np.float64(edges[node.edge + j].prior)
        while left >= 0.0 and chosen < t.legal - 1:
            chosen += 1
            left -= np.float64(edges[node.edge + chosen].prior) / total
    take(t, node, node.edge + chosen)
    return chosen


@rule
def take_by_halving(t, nodes, edges, noise, selection):
    """Of the root's actions the one that sequential halving tries next.

    NO_EDGE without a plan (PUCT decides) and before there is a root.

    It is the best by noise, logit and value among those with the visits that are due. The root is
    the searching seat's own decision: it has the same actions under every deal, and its edges are
    in their order.
    """
    plan = selection.plan
    considered = min(t.width, plan.shape[0] - 1)
    if considered == 0:
        return NO_EDGE
    node = nodes[slot_of(nodes, t.root)]
    if node.name != t.root:
        return NO_EDGE
    due = plan[considered, min(t.simulations - 1, plan.shape[1] - 1)]
    most = 0
    for j in range(t.width):
        most = max(most, np.int64(edges[node.edge + j].visits))
    weight = value_weight(most, selection.c_visit, selection.c_scale)
    best, chosen = -1e300, 0
    for j in range(t.width):
        e = edges[node.edge + j]
        e.available += 1
        # Divided by the weight of the value, so that no product feeds a sum.
        score = np.float64(noise[j]) / weight + mean(e, t.seat) if e.visits == due else -1e30
        if score > best:
            best, chosen = score, j
    t.path[0], t.depth = node.edge + chosen, 1
    node.visits += 1
    return chosen


# Chance ----------------------------------------------------------------------------------------


@rule
def expand_chance(t, node, edges, odds):
    """An edge for every outcome, in their order."""
    node.edge = t.edges
    node.visits = 0
    for outcome in range(odds.shape[0]):
        i = new_edge(t, edges, outcome, odds[outcome])
        edges[i].available = OUTCOME
        edges[i].next = i + 1 if outcome < odds.shape[0] - 1 else NO_EDGE


@rule
def take_by_spread(t, node, edges):
    """The outcome that lags behind its odds most, this visit counted: rare ones wait."""
    total, best, chosen = np.int64(node.visits) + 1, -1e300, np.int64(NO_EDGE)
    i = np.int64(node.edge)
    while i != NO_EDGE:
        e = edges[i]
        lag = np.float64(e.prior) - np.float64(e.visits) / np.float64(total)
        if e.prior > 0.0 and lag > best:
            best, chosen = lag, i
        i = np.int64(e.next)
    take(t, node, chosen)
    return np.int64(edges[chosen].label)


@rule
def take_by_roll(rng, node, edges):
    """An outcome drawn by its odds, as `chance.pick` draws. It is no part of the path."""
    left, last = np.float64(np.int64(bits(rng))) * UNIT, np.int64(node.edge)
    i = last
    while i != NO_EDGE:
        e = edges[i]
        if e.prior > 0.0:
            last = i
            if left < np.float64(e.prior):
                break
            left -= np.float64(e.prior)
        i = np.int64(e.next)
    return np.int64(edges[last].label)


@rule
def expect(t, edges, first):
    """Put the expectation over the outcomes that were visited into the record.

    first: the edge of the first outcome.
    """
    for seat in range(t.value.shape[0]):
        odds, value = 0.0, 0.0
        i = first
        while i != NO_EDGE:
            e = edges[i]
            if e.visits > 0:
                odds += np.float64(e.prior)
                value += np.float64(e.prior) * mean(e, seat)
            i = np.int64(e.next)
        t.value[seat] = value / odds


# Leaves and backup -----------------------------------------------------------------------------


@rule
def keep_leaf(t, name, slot, nodes, edges):
    """Make the position at hand a node where there is room."""
    room = has_room(t, nodes, edges, t.legal)
    if room and t.depth < DEPTH and nodes[slot].name == np.uint64(0):
        nodes[slot].name = name
        t.nodes += 1
        t.leaf = slot
        expand(t, nodes[slot], edges)
    else:
        t.unstored += 1


@rule
def softmax(logits, acts, count):
    """The highest logit of a list of actions, and the sum of exponentials relative to it."""
    top, total = -1e30, 0.0
    for j in range(count):
        top = max(top, np.float64(logits[acts[j]]))
    for j in range(count):
        total += math.exp(np.float64(logits[acts[j]]) - top)
    return top, total


@rule
def prior_of(logit, top, total):
    """The probability of an action in 32 bits, as edges keep it. top, total: of its `softmax`."""
    return np.float32(math.exp(np.float64(logit) - top) / total)


@rule
def set_priors(t, node, edges, logits):
    """The softmax of the legal logits, once the node has been made."""
    top, total = softmax(logits, t.acts, t.legal)
    for j in range(t.legal):
        edges[node.edge + j].prior = prior_of(logits[t.acts[j]], top, total)


@rule
def back_up(t, edges):
    """Add the value in the record to the path, from its end to the root.

    An edge that leads to chance is worth the expectation there, whatever was sampled so far.
    """
    for depth in range(t.depth - 1, -1, -1):
        i = np.int64(t.path[depth])
        e = edges[i]
        e.visits += 1
        to_chance = depth + 1 < t.depth and edges[t.path[depth + 1]].available == OUTCOME
        for seat in range(e.value.shape[0]):
            if to_chance:
                e.value[seat] = t.value[seat] * np.float32(e.visits)
            else:
                e.value[seat] += t.value[seat]
        if e.available == OUTCOME:
            expect(t, edges, i - np.int64(e.label))
    t.simulations += 1


@rule
def judge_leaf(t, judged):
    """Remember the value of a new node for the seat to move there."""
    if t.leaf != NO_EDGE:
        judged[t.leaf] = t.value[t.leaf_seat]


# Kernels ---------------------------------------------------------------------------------------


@kernel
def clear_all(first, end, step, forest):
    for b in range(first, end, step):
        t = forest.trees[b]
        t.edges = t.nodes = t.simulations = t.unstored = 0
        for i in range(forest.nodes.shape[1]):
            forest.nodes[b, i].name = np.uint64(0)


@kernel
def backup_all(first, end, step, forest, logits, values):
    """Second half of a simulation with a network: what it said of the leaf.

    Priors from the legal logits, values by seat counted from the leaf's.
    """
    for b in range(first, end, step):
        t, edges = forest.trees[b], forest.edges[b]
        if t.pending == WAITS:
            if t.leaf != NO_EDGE:
                set_priors(t, forest.nodes[b, t.leaf], edges, logits[b])
            seats = t.value.shape[0]
            for k in range(seats):
                t.value[(t.leaf_seat + k) % seats] = values[b, k]
            judge_leaf(t, forest.judged[b])
        back_up(t, edges)


@rule
def uniform(rng):
    """A random number between 0 and 1, neither of which it can be."""
    return (np.float64(np.int64(bits(rng))) + 0.5) * UNIT


@kernel
def uniforms_all(first, end, step, rngs, out):
    """Random numbers between 0 and 1 from the trees' own streams, so that noise is theirs alone."""
    for b in range(first, end, step):
        for k in range(out.shape[1]):
            out[b, k] = uniform(rngs[b])
