"""Search trees as arrays: nodes, edges, which edge is chosen, what is backed up. It knows no game.

A node has a name of 64 bits, and an edge a label. What they stand for is up to whoever walks: in
`walk` what the searching seat knows and what everybody sees of an action. A walk lists the actions
of the node at hand in the tree's record (`acts`, `labels`, `legal`), asks a selection rule which of
them to take, and in the end puts a value by seat into the record and backs it up.

An action that was illegal when its node was made can be legal under another deal, so edges are a
chained list and count how often they could have been chosen. Values are sums by seat and nothing is
negated: two seats, teams and four players are one path.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..chance import STREAM, UNIT, below, bits
from ..compiled import kernel, rule
from ..devices import Array, Device
from .gumbel import improve, log_prior, value_weight

DEPTH = 96  # decisions a simulation may go down before its position is evaluated as it is
NO_EDGE = -1
NEVER = -1e9  # the noise of what is no action
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


class Selection(NamedTuple):
    """The numbers that selection rules go by."""

    explore: float  # PUCT
    c_visit: float  # Gumbel search: what a value weighs against the policy
    c_scale: float
    noise: Array  # Gumbel search: by root action, its noise plus its logit [trees, max_legal]
    plan: Array  # Gumbel search: the visits that are due, see `gumbel.plan`; one row for PUCT alone
    root_values: Array  # Gumbel search: what the evaluator says of the root, for its seat [trees]


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
    )


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
        t.path[t.depth] = edge
        t.depth += 1
        node.visits += 1
    return chosen


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
    t.path[t.depth] = node.edge + chosen
    t.depth += 1
    node.visits += 1
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


# Leaves and backup -----------------------------------------------------------------------------


@rule
def keep_leaf(t, name, slot, nodes, edges):
    """Make the position at hand a node where there is room."""
    room = t.edges + t.legal <= edges.shape[0] and 4 * t.nodes < 3 * nodes.shape[0]
    if room and t.depth < DEPTH and nodes[slot].name == np.uint64(0):
        nodes[slot].name = name
        t.nodes += 1
        t.leaf = slot
        expand(t, nodes[slot], edges)
    else:
        t.unstored += 1


@rule
def set_priors(t, node, edges, logits):
    """The softmax of the legal logits, once the node has been made."""
    top, total = -1e30, 0.0
    for j in range(t.legal):
        top = max(top, np.float64(logits[t.acts[j]]))
    for j in range(t.legal):
        total += math.exp(np.float64(logits[t.acts[j]]) - top)
    for j in range(t.legal):
        edges[node.edge + j].prior = math.exp(np.float64(logits[t.acts[j]]) - top) / total


@rule
def back_up(t, edges):
    for depth in range(t.depth):
        e = edges[t.path[depth]]
        e.visits += 1
        for seat in range(e.value.shape[0]):
            e.value[seat] += t.value[seat]
    t.simulations += 1


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
        back_up(t, edges)


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
            noise = -math.log(-math.log(uniform(forest.rngs[b])))
            if j < t.width:
                selection.noise[b, j] = noise + log_prior(edges[node.edge + j].prior)
            else:
                selection.noise[b, j] = NEVER


@rule
def uniform(rng):
    """A random number between 0 and 1, neither of which it can be."""
    return (np.float64(np.int64(bits(rng))) + 0.5) * UNIT


@kernel
def write_priors_all(first, end, step, forest, priors):
    """Other priors for the root's actions."""
    for b in range(first, end, step):
        t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
        node = nodes[slot_of(nodes, t.root)]
        for j in range(t.width):
            edges[find_edge(node, edges, t.root_labels[j])].prior = priors[b, j]


@kernel
def uniforms_all(first, end, step, rngs, out):
    """Random numbers between 0 and 1 from the trees' own streams, so that noise is theirs alone."""
    for b in range(first, end, step):
        for k in range(out.shape[1]):
            out[b, k] = uniform(rngs[b])
