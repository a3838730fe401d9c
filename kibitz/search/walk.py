"""One simulation over true positions, and the kernels that run many of them.

A simulation copies the root position, re-deals what the searching seat cannot know, and walks down.
A node is what the searching seat knows at a decision (`known`), whoever decides; an edge is what
everybody sees of an action (`label`). So tables that differ only in hidden cards share nodes. Where
moves are secret, as bids that are shown once all have bid, a node is what the seat to move knows,
and other seats draw their moves: nobody answers what they cannot have seen. Where nothing is hidden
this is ordinary tree search with transpositions or, if nodes are named by path, without them. No
state is kept in the tree: one scratch state per tree is replayed from the root every time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..batch import NO_ACTION, listed
from ..chance import below, mix
from ..compiled import kernel, rule
from ..devices import Array, Device, as_words
from ..game import (
    CHANCE,
    OVER,
    Game,
    actions,
    candidates,
    choose,
    known,
    label,
    observe,
    odds,
    play,
    redeal,
    roll,
    room_for_odds,
    score,
    secret_moves,
    turn,
)
from .tree import (
    DEPTH,
    ENDED,
    NO_EDGE,
    WAITS,
    back_up,
    expand_chance,
    has_room,
    judge_leaf,
    keep_leaf,
    slot_of,
    step_name,
    take_by_draw,
    take_by_halving,
    take_by_improved_policy,
    take_by_puct,
    take_by_spread,
)

UNIFORM, ROLLOUT = 0, 1  # evaluators that need no network
AT_CHANCE = 1  # tells the name of a chance move from that of a decision


class Tables(NamedTuple):
    """The true positions that trees grow over."""

    roots: Array  # as 64-bit words [trees, words]
    scratch: Array  # states in play [trees]
    words: Array  # the same memory as words [trees, words]


def empty_tables(device: Device, game: Game, size: int) -> Tables:
    roots, scratch = (device.empty(size, game.state) for _ in range(2))
    return Tables(roots=as_words(roots), scratch=scratch, words=as_words(scratch))


# The parts of a simulation ---------------------------------------------------------------------


@rule
def begin(t, rng, s, words, root):
    """The root position once more, with other hidden cards."""
    for k in range(root.shape[0]):
        words[k] = root[k]
    redeal(s, t.seat, rng)
    t.depth = 0
    t.leaf = NO_EDGE
    t.pending = WAITS


@rule
def node_name(s, seat, who):
    """The name of the decision of `who` in a tree of `seat`."""
    return known(s, who if secret_moves(s) else seat)


@rule
def list_actions(t, s):
    n = candidates(s, t.acts)
    for j in range(n):
        t.labels[j] = label(s, t.acts[j])
    t.legal = n


@rule
def settle(t, rng, s, nodes, edges, name, selection):
    """Roll or, if chance is spread, play the outcome whose turn it is; return it.

    name: of the chance move, by path.
    """
    if selection.spread == 0 or t.depth == DEPTH:
        return roll(s, rng)
    if selection.by_path == 0:
        name = mix(known(s, t.seat), AT_CHANCE) | np.uint64(1)
    slot = slot_of(nodes, name)
    if nodes[slot].name != name:
        chances = room_for_odds(s)
        if not has_room(t, nodes, edges, chances.shape[0]):
            return roll(s, rng)
        odds(s, chances)
        nodes[slot].name = name
        t.nodes += 1
        expand_chance(t, nodes[slot], edges, chances)
    outcome = take_by_spread(t, nodes[slot], edges)
    play(s, outcome)
    return outcome


@rule
def descend(b, forest, s, selection, path_name):
    """Walk on to the end of the game (t.value is set) or to a leaf that waits.

    path_name: of the position at hand, by path.
    """
    t, rng, nodes, edges = forest.trees[b], forest.rngs[b], forest.nodes[b], forest.edges[b]
    while True:
        who = turn(s)
        if who == CHANCE:
            path_name = step_name(path_name, settle(t, rng, s, nodes, edges, path_name, selection))
            continue
        if who == OVER:
            score(s, t.value)
            t.pending = ENDED
            return
        t.leaf_seat = who
        name = path_name if selection.by_path else node_name(s, t.seat, who)
        if t.depth == 0:
            name = t.root
        slot = slot_of(nodes, name)
        list_actions(t, s)
        if nodes[slot].name != name or t.depth == DEPTH:
            keep_leaf(t, name, slot, nodes, edges)
            return
        if who != t.seat and secret_moves(s):
            j = take_by_draw(t, rng, nodes[slot], edges)
        elif selection.improved and t.depth > 0:
            judged = forest.judged[b, slot]
            j = take_by_improved_policy(t, nodes[slot], edges, judged, who, selection)
        else:
            j = take_by_puct(t, nodes[slot], edges, who, selection.explore)
        if j == NO_EDGE:  # every legal action here is new and there is no room for one
            return
        path_name = step_name(path_name, t.labels[j])
        play(s, t.acts[j])


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
def play_out(t, rng, s, player):
    """Play by one compiled player at all seats, to the end of the game.

    The position was re-dealt when the simulation began, so it is the search's own and there is
    nothing to hide from the player. Returns NO_ACTION, or an illegal action that it chose.
    """
    who = turn(s)
    while who != OVER:
        if who == CHANCE:
            roll(s, rng)
        else:
            action = choose(player, s, who, rng)
            if not listed(action, t.acts, actions(s, t.acts)):
                return action
            play(s, action)
        who = turn(s)
    score(s, t.value)
    return NO_ACTION


@rule
def prefer(t, rng, s, player, prior_share, node, edges):
    """Priors of a new node: `prior_share` for the player's choice, the rest for all alike."""
    action = choose(player, s, t.leaf_seat, rng)
    for j in range(t.legal):
        chosen = 1.0 if t.acts[j] == action else 0.0
        # A product by 0 or 1 is exact, so that a GPU may fuse it with the sum.
        edges[node.edge + j].prior = prior_share * chosen + (1.0 - prior_share) / t.legal


@rule
def walk_down(b, forest, tables, selection):
    """Walk from the root of a tree to the end of the game, or to a leaf that waits."""
    t, s = forest.trees[b], tables.scratch[b]
    begin(t, forest.rngs[b], s, tables.words[b], tables.roots[b])
    j = take_by_halving(t, forest.nodes[b], forest.edges[b], selection.noise[b], selection)
    name = np.uint64(t.root)
    if j != NO_EDGE:
        name = step_name(name, t.root_labels[j])
        play(s, t.root_acts[j])
    descend(b, forest, s, selection, name)


# Kernels ---------------------------------------------------------------------------------------


@kernel
def plant_all(first, end, step, forest, tables, positions):
    """Take positions as roots: who thinks there, what that seat knows, and its actions.

    positions: as 64-bit words. They are copied, so that a search can go on when they have changed.
    """
    for b in range(first, end, step):
        t, s = forest.trees[b], tables.scratch[b]
        for k in range(positions.shape[1]):
            tables.roots[b, k] = tables.words[b, k] = positions[b, k]
        t.seat = turn(s)
        t.root = known(s, t.seat)
        t.width = candidates(s, t.root_acts)
        for j in range(t.width):
            t.root_labels[j] = label(s, t.root_acts[j])


@kernel
def think_all(first, end, step, forest, tables, selection, evaluator, simulations):
    """Whole simulations with an evaluator that needs no network: rollouts, or nothing at all."""
    for b in range(first, end, step):
        t = forest.trees[b]
        for _ in range(simulations):
            walk_down(b, forest, tables, selection)
            if t.pending == WAITS:
                if evaluator == ROLLOUT:
                    roll_out(t, forest.rngs[b], tables.scratch[b])
                else:
                    for seat in range(t.value.shape[0]):
                        t.value[seat] = 0.0
                judge_leaf(t, forest.judged[b])
            back_up(t, forest.edges[b])


@kernel
def think_by_player_all(
    first, end, step, forest, tables, selection, players, prior_share, illegal, simulations
):
    """Whole simulations whose rollouts a compiled player plays.

    A kernel of its own: the search with random rollouts is compiled once, whoever else plays.
    players: the token of one. A tree for which it chose an illegal action stops there; `illegal`
    has that action, and NO_ACTION everywhere else.
    """
    for b in range(first, end, step):
        t, rng, s, edges = forest.trees[b], forest.rngs[b], tables.scratch[b], forest.edges[b]
        illegal[b] = NO_ACTION
        for _ in range(simulations):
            walk_down(b, forest, tables, selection)
            if t.pending == WAITS:
                if t.leaf != NO_EDGE:
                    prefer(t, rng, s, players[0], prior_share, forest.nodes[b, t.leaf], edges)
                illegal[b] = play_out(t, rng, s, players[0])
                if illegal[b] != NO_ACTION:
                    break
                judge_leaf(t, forest.judged[b])
            back_up(t, edges)


@kernel
def select_all(first, end, step, forest, tables, selection, views):
    """First half of a simulation with a network: the leaf's view."""
    for b in range(first, end, step):
        walk_down(b, forest, tables, selection)
        t = forest.trees[b]
        if t.pending == WAITS:
            observe(tables.scratch[b], t.leaf_seat, views[b])
