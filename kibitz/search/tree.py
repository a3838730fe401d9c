"""Search trees as arrays, and one simulation through them. It knows no game.

A simulation copies the root position, re-deals what the searching seat cannot know, and walks down.
A node is what the searching seat knows at a decision (`known`), whoever decides; an edge is what
everybody sees of an action (`label`). So tables that differ only in hidden cards share nodes, and
an edge counts how often it could have been chosen, because under another deal it may be illegal.
Where nothing is hidden this is ordinary tree search with transpositions. No state is kept in the
tree: one scratch state a tree is replayed from the root every time.

Values are sums by seat and nothing is negated: two seats, teams and four players are one path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..batch import as_words
from ..chance import UNIT, below, bits
from ..compiled import kernel, rule
from ..game import (
    CHANCE,
    OVER,
    Game,
    actions,
    known,
    label,
    observe,
    play,
    redeal,
    roll,
    score,
    turn,
)

DEPTH = 96  # decisions a simulation may go down before its position is evaluated as it is
NO_EDGE = -1
WAITS, ENDED = 1, 0  # t.pending: the leaf is to be evaluated, or the game was over
TRUST, SCALE = 50.0, 0.2  # Gumbel search: what a value weighs against the policy
UNIFORM, ROLLOUT = 0, 1  # evaluators that need no network

NODE = np.dtype(
    (
        np.record,
        [
            ("name", np.uint64),  # what the searching seat knows; 0 marks a free slot
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
        ("seat", np.int64),  # who thinks
        ("root", np.uint64),  # the root's name, 0 where it is not known: no other deal changes it
        ("width", np.int64),  # how many actions the root has
        ("edges", np.int64),  # how many are in use
        ("nodes", np.int64),
        ("simulations", np.int64),
        ("unstored", np.int64),  # leaves evaluated and not kept, for want of room
        ("depth", np.int64),  # of the simulation under way
        ("leaf", np.int64),  # its new node, or NO_EDGE
        ("leaf_seat", np.int64),
        ("pending", np.int64),
        ("legal", np.int64),  # how many of `acts`
        ("value", np.float32, (seats,)),
        ("path", np.int32, (DEPTH,)),
        ("acts", np.int16, (max_legal,)),
    ]
    size = np.dtype(fields).itemsize
    apart = ("apart", np.uint8, (-size % 128 + 128,))  # two threads never write so close
    return np.dtype((np.record, np.dtype([*fields, apart])))


@dataclass
class Forest:
    """The arrays of some trees, on one device."""

    trees: Any  # [trees]
    rngs: Any  # [trees]
    roots: Any  # the positions as 64-bit words [trees, words]
    scratch: Any  # states in play [trees]
    words: Any  # the same memory as words [trees, words]
    nodes: Any  # [trees, slots]
    edges: Any  # [trees, edges]
    noise: Any  # Gumbel search: by root action, its noise plus its logit [trees, max_legal]
    plan: Any  # Gumbel search: visits of the actions to be tried next [considered, simulations]


def forest_on(device: Any, game: Game, size: int, simulations: int, edges_each: int) -> Forest:
    """Empty trees with room for so many simulations, `edges_each` new edges for each of them."""
    slots = 1 << max(4, math.ceil(math.log2(1.5 * (simulations + 1))))
    room = edges_each * simulations + 2 * game.max_legal
    scratch = device.empty(size, game.state)
    return Forest(
        trees=device.empty(size, tree_dtype(game.seats, game.max_legal)),
        rngs=None,
        roots=None,
        scratch=scratch,
        words=as_words(scratch),
        nodes=device.empty((size, slots), NODE),
        edges=device.empty((size, room), edge_dtype(game.seats)),
        noise=device.empty((size, game.max_legal), np.float32),
        plan=device.empty((1, 1), np.int32),
    )


# The parts of a simulation ---------------------------------------------------------------------


@rule
def clear(t, nodes, seat):
    for i in range(nodes.shape[0]):
        nodes[i].name = np.uint64(0)
    t.seat = seat
    t.root = np.uint64(0)
    t.width = 0
    t.edges = t.nodes = t.simulations = t.unstored = 0


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
def expand(t, s, node, edges, n):
    """Edges for the actions in t.acts, one after another, with equal priors."""
    node.edge = t.edges
    node.visits = 0
    for j in range(n):
        i = new_edge(t, edges, label(s, t.acts[j]), 1.0 / n)
        edges[i].next = i + 1 if j < n - 1 else NO_EDGE


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


@rule
def puct(e, seat, explore):
    # No product feeds a sum: a fused multiply-add would make CPU and GPU differ in the last bit.
    wish = np.float64(e.prior) * math.sqrt(np.float64(e.available))
    return mean(e, seat) + explore * wish / (1.0 + np.float64(e.visits))


@rule
def halving(e, seat, noise, visits, most):
    """Gumbel search at the root: among the actions that are due, noise plus logit plus value.

    Divided by the scale of the value, so that no product feeds a sum.
    """
    if e.visits != visits:
        return -1e30
    return np.float64(noise) / ((TRUST + most) * SCALE) + mean(e, seat)


@rule
def most_visits(node, edges):
    most, i = 0, np.int64(node.edge)
    while i != NO_EDGE:
        most = max(most, np.int64(edges[i].visits))
        i = np.int64(edges[i].next)
    return most


@rule
def choose_edge(t, s, who, node, edges, explore, due, noise):
    """The best edge and its action, out of the legal ones; -1 where none could be kept.

    due: at the root of a Gumbel search the number of visits that is next, otherwise negative.
    """
    best, chosen, action = -1e300, NO_EDGE, NO_EDGE
    hint, n = np.int64(node.edge), np.int64(t.legal)
    most = np.float64(most_visits(node, edges)) if due >= 0 else 0.0
    for j in range(n):
        a = np.int64(t.acts[j])
        i = edge_of(t, node, edges, label(s, a), hint, 1.0 / n)
        if i == NO_EDGE:
            hint = NO_EDGE
            continue
        e = edges[i]
        hint = np.int64(e.next)
        e.available += 1
        worth = halving(e, who, noise[j], due, most) if due >= 0 else puct(e, who, explore)
        if worth > best:
            best, chosen, action = worth, i, a
    t.path[t.depth] = chosen
    return action


@rule
def descend(t, rng, s, nodes, edges, explore, due, noise):
    """Walk down to the end of the game (t.value is set) or to a node that is new."""
    t.depth = 0
    t.pending = ENDED
    while True:
        who = turn(s)
        if who == CHANCE:
            roll(s, rng)
            continue
        if who == OVER:
            score(s, t.value)
            return
        name = t.root
        if t.depth > 0 or name == np.uint64(0):
            name = known(s, t.seat)
        if t.depth == 0:
            t.root = name
        slot = slot_of(nodes, name)
        t.legal = actions(s, t.acts)
        if nodes[slot].name != name or t.depth == DEPTH:
            leave(t, s, who, name, slot, nodes, edges)
            return
        action = choose_edge(
            t, s, who, nodes[slot], edges, explore, due if t.depth == 0 else -1, noise
        )
        if action < 0:  # every legal action here is new and there is no room for one
            t.leaf, t.leaf_seat, t.pending = NO_EDGE, who, WAITS
            return
        nodes[slot].visits += 1
        t.depth += 1
        play(s, action)


@rule
def leave(t, s, who, name, slot, nodes, edges):
    """Stop at a leaf; keep it as a node where there is room."""
    t.leaf, t.leaf_seat, t.pending = NO_EDGE, who, WAITS
    if t.depth == 0:
        t.width = t.legal
    room = t.edges + t.legal <= edges.shape[0] and 4 * t.nodes < 3 * nodes.shape[0]
    if room and t.depth < DEPTH and nodes[slot].name == np.uint64(0):
        nodes[slot].name = name
        t.nodes += 1
        t.leaf = slot
        expand(t, s, nodes[slot], edges, t.legal)
    else:
        t.unstored += 1


@rule
def back_up(t, edges):
    for depth in range(t.depth):
        e = edges[t.path[depth]]
        e.visits += 1
        for seat in range(e.value.shape[0]):
            e.value[seat] += t.value[seat]
    t.simulations += 1


@rule
def roll_out(t, rng, s):
    """Random play by everybody to the end of the game."""
    who = turn(s)
    while who != OVER:
        if who == CHANCE:
            roll(s, rng)
        else:
            play(s, t.acts[below(rng, actions(s, t.acts))])
        who = turn(s)
    score(s, t.value)


@rule
def begin(t, rng, s, words, root):
    """The root position once more, with other hidden cards."""
    for k in range(root.shape[0]):
        words[k] = root[k]
    redeal(s, t.seat, rng)


# Kernels ---------------------------------------------------------------------------------------


@kernel
def clear_all(first, end, step, trees, nodes, scratch, words, roots):
    for b in range(first, end, step):
        for k in range(roots.shape[1]):
            words[b, k] = roots[b, k]
        clear(trees[b], nodes[b], turn(scratch[b]))


@kernel
def think_all(
    first,
    end,
    step,
    trees,
    rngs,
    roots,
    scratch,
    words,
    nodes,
    edges,
    noise,
    plan,
    how,
    sims,
    explore,
):
    """Whole simulations with an evaluator that needs no network: rollouts, or nothing at all.

    plan: the visits that are due at the root by simulation, for Gumbel search; -1 for PUCT.
    """
    for b in range(first, end, step):
        t, rng, s = trees[b], rngs[b], scratch[b]
        for _ in range(sims):
            begin(t, rng, s, words[b], roots[b])
            due = due_now(t, plan)
            descend(t, rng, s, nodes[b], edges[b], explore, due, noise[b])
            if t.pending == WAITS:
                if how == ROLLOUT:
                    roll_out(t, rng, s)
                else:
                    for seat in range(t.value.shape[0]):
                        t.value[seat] = 0.0
            back_up(t, edges[b])


@rule
def due_now(t, plan):
    """How many visits the action to be tried next at the root has; -1 where PUCT decides."""
    if t.simulations == 0:  # this one makes the root
        return -1
    considered = min(t.width, plan.shape[0] - 1)
    return np.int64(plan[considered, min(t.simulations - 1, plan.shape[1] - 1)])


@kernel
def select_all(
    first, end, step, trees, rngs, roots, scratch, words, nodes, edges, noise, plan, views, explore
):
    """First half of a simulation with a network: the leaf's view."""
    for b in range(first, end, step):
        t, rng, s = trees[b], rngs[b], scratch[b]
        begin(t, rng, s, words[b], roots[b])
        descend(t, rng, s, nodes[b], edges[b], explore, due_now(t, plan), noise[b])
        if t.pending == WAITS:
            observe(s, t.leaf_seat, views[b])


@kernel
def backup_all(first, end, step, trees, nodes, edges, logits, values):
    """Second half: priors from the legal logits, values by seat counted from the leaf's."""
    for b in range(first, end, step):
        t = trees[b]
        if t.pending == WAITS:
            if t.leaf != NO_EDGE:
                set_priors(t, nodes[b, t.leaf], edges[b], logits[b])
            seats = t.value.shape[0]
            for k in range(seats):
                t.value[(t.leaf_seat + k) % seats] = values[b, k]
        back_up(t, edges[b])


@rule
def set_priors(t, node, edges, logits):
    top, total = -1e30, 0.0
    for j in range(t.legal):
        top = max(top, np.float64(logits[t.acts[j]]))
    for j in range(t.legal):
        total += math.exp(np.float64(logits[t.acts[j]]) - top)
    for j in range(t.legal):
        edges[node.edge + j].prior = math.exp(np.float64(logits[t.acts[j]]) - top) / total


@kernel
def read_roots_all(
    first,
    end,
    step,
    trees,
    nodes,
    edges,
    scratch,
    words,
    roots,
    acts,
    counts,
    visits,
    means,
    priors,
    simulations,
):
    """The root as lists in the order of its legal actions, zeros behind them."""
    for b in range(first, end, step):
        t, s = trees[b], scratch[b]
        for k in range(roots.shape[1]):
            words[b, k] = roots[b, k]
        n = actions(s, t.acts)
        counts[b], simulations[b] = n, t.simulations
        for j in range(acts.shape[1]):
            acts[b, j], visits[b, j], means[b, j], priors[b, j] = 0, 0, 0.0, 0.0
        name = known(s, t.seat)
        t.root = np.uint64(0)  # the next run may have another
        slot = slot_of(nodes[b], name)
        for j in range(n):
            acts[b, j] = t.acts[j]
            visits[b, j], means[b, j], priors[b, j] = 0, 0.0, 1.0 / n
            if nodes[b, slot].name == name:  # else the tree was full before its root was kept
                i = edge_of(t, nodes[b, slot], edges[b], label(s, t.acts[j]), NO_EDGE, 0.0)
                if i != NO_EDGE:
                    e = edges[b, i]
                    visits[b, j], means[b, j], priors[b, j] = e.visits, mean(e, t.seat), e.prior


@kernel
def uniforms_all(first, end, step, rngs, out):
    """Random numbers between 0 and 1 from the trees' own streams, so that noise is theirs alone."""
    for b in range(first, end, step):
        for k in range(out.shape[1]):
            out[b, k] = (np.float64(np.int64(bits(rngs[b]))) + 0.5) * UNIT


@kernel
def write_priors_all(first, end, step, trees, nodes, edges, scratch, priors):
    """Other priors for the root's actions, after `read_roots_all` has put the root into scratch."""
    for b in range(first, end, step):
        t, s = trees[b], scratch[b]
        node = nodes[b, slot_of(nodes[b], known(s, t.seat))]
        for j in range(actions(s, t.acts)):
            i = edge_of(t, node, edges[b], label(s, t.acts[j]), NO_EDGE, 0.0)
            edges[b, i].prior = priors[b, j]
