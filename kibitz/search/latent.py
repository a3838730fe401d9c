"""Search in a learned model (MuZero): positions are latents, and no rules are played.

The trees are those of every search. A node's name is a hash of its parent's name, the action and
the chance code that led to it; its row is where the model keeps its latent. Legal actions are known
at the root alone; inside the tree a node keeps the likeliest actions. The model says after every
move whose turn it is and whether the game has ended. Values are by seat, so whoever moves maximises
its own (max^n); a node that has ended is worth what the model says, every time.

One simulation is one step of the model at every tree, in two halves: the action leads to an
afterstate, which has odds for the chance codes; a code leads to the next latent.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..compiled import kernel, rule
from ..devices import Array, Gpu, device_named
from ..game import Game, GameError, candidates, known, observe, turn
from ..options import whole_number
from .rooted import Rooted
from .settings import Found, Settings
from .tree import (
    DEPTH,
    ENDED,
    NO_EDGE,
    WAITS,
    Forest,
    back_up,
    clear_all,
    empty_forest,
    expand,
    expand_chance,
    judge_leaf,
    keep_leaf,
    new_edge,
    set_priors,
    slot_of,
    step_name,
    take_by_halving,
    take_by_improved_policy,
    take_by_puct,
    take_by_roll,
    take_by_spread,
)

KEPT = 32  # actions of a node inside the tree
RULED_OUT = 60.0  # an action whose logit is so far below the best one is no action
NO_CODE = -1  # the odds of the codes are not known yet
THE_END = -1  # the label of the only edge of a node at which the game has ended
STEP = 2  # edges of a path that one step of the model adds at most


class Imagined(NamedTuple):
    """What a model says of the positions that it came to."""

    logits: Array  # float32 [size, actions]
    values: Array  # by seat, the one to move first; at the end the last mover first [size, seats]
    turns: Array  # logits of whose turn it is, counted from who moved. float32 [size, seats]
    ends: Array  # above 0: the game has ended. float32 [size]


class Memory(Protocol):
    """A model's room for the latents of some trees, and for what is asked about them.

    It lends the arrays that a search writes its questions into; rows are those of its latents.
    """

    views: Array  # of the root positions. float32 [size, view_size]
    origins: Array  # rows of the latents to move from. int64 [size]
    actions: Array  # int64 [size]
    codes: Array  # of chance. int64 [size]
    targets: Array  # rows for the latents after that. int64 [size]

    def begin(self) -> tuple[Array, Array]:
        """Logits and values of the views; the first latent of every tree is kept."""

    def act(self) -> Array:
        """Take the actions: the odds of every code after them. float32 [size, codes]"""

    def settle(self) -> tuple[Array, Array, Array, Array]:
        """Go on from there by the codes, and keep the latents: see `Imagined`."""

    def stream(self) -> int:
        """On a GPU: the CUDA stream on which it answers."""


class Model(Protocol):
    """A learned model of a game. `nets.latent_model.LatentModel` is one."""

    codes: int
    """Chance codes; 1 where nothing depends on chance."""

    def memory(self, size: int, latents: int, view_size: int) -> Memory:
        """Room for so many trees with so many latents each, and for one latent more at the end."""


class Latents(NamedTuple):
    """What trees need beside their nodes and edges."""

    rows: Array  # of the node's latent, by slot. int32 [trees, slots]
    seats: Array  # whose turn it is there, by slot. int32 [trees, slots]
    used: Array  # rows in use. int64 [trees]
    names: Array  # of the node that the step under way leads to. uint64 [trees]
    movers: Array  # whose step it is. int64 [trees]


class Questions(NamedTuple):
    """The arrays of a memory that a step is asked with."""

    origins: Array
    actions: Array
    codes: Array
    targets: Array


# The parts of a simulation -----------------------------------------------------------------------


@rule
def list_edges(t, node, edges):
    """The actions of a node as those at hand."""
    n, i = 0, np.int64(node.edge)
    while i != NO_EDGE:
        t.labels[n] = edges[i].label
        n += 1
        i = np.int64(edges[i].next)
    t.legal = n


@rule
def list_likeliest(t, logits):
    """The likeliest actions as those at hand, in ascending order; of equals the lowest."""
    n, room = 0, min(KEPT, t.acts.shape[0])
    for action in range(logits.shape[0]):
        j = n
        while j > 0 and logits[action] > logits[t.acts[j - 1]]:
            if j < room:
                t.acts[j] = t.acts[j - 1]
            j -= 1
        if j < room:
            t.acts[j] = action
            n = min(n + 1, room)
    while logits[t.acts[n - 1]] < logits[t.acts[0]] - RULED_OUT:
        n -= 1
    for k in range(1, n):
        action, j = t.acts[k], k
        while j > 0 and t.acts[j - 1] > action:
            t.acts[j] = t.acts[j - 1]
            j -= 1
        t.acts[j] = action
    for j in range(n):
        t.labels[j] = t.acts[j]
    t.legal = n


@rule
def take_action(b, forest, slot, seat, selection):
    """Choose an action of a node, and return it."""
    t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
    chosen = NO_EDGE
    if t.depth == 0:
        chosen = take_by_halving(t, nodes, edges, selection.noise[b], selection)
    if chosen == NO_EDGE:
        list_edges(t, nodes[slot], edges)
        if selection.improved and t.depth > 0:
            judged = forest.judged[b, slot]
            take_by_improved_policy(t, nodes[slot], edges, judged, seat, selection)
        else:
            take_by_puct(t, nodes[slot], edges, seat, selection.explore)
    return np.int64(edges[t.path[t.depth - 1]].label)


@rule
def take_code(t, rng, node, edges, selection):
    if selection.spread:
        return take_by_spread(t, node, edges)
    return take_by_roll(rng, node, edges)


@rule
def walk_down(b, forest, latents, questions, selection, codes):
    """Walk to a node that has ended, or to the step that the model is to be asked about next.

    Returns the row of the latent that the step begins at.
    """
    t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
    name, t.depth, t.leaf, t.pending = np.uint64(t.root), 0, NO_EDGE, WAITS
    while True:
        slot = slot_of(nodes, name)
        first = edges[nodes[slot].edge]
        if first.label == THE_END:
            for seat in range(t.value.shape[0]):
                t.value[seat] = first.value[seat]
            t.pending = ENDED
            return 0
        latents.movers[b] = seat = np.int64(latents.seats[b, slot])
        deep = t.depth + 2 * STEP > DEPTH
        questions.actions[b] = action = take_action(b, forest, slot, seat, selection)
        row = np.int64(latents.rows[b, slot])
        name, questions.codes[b] = step_name(name, action), 0
        if codes > 1:
            slot = slot_of(nodes, name)
            if nodes[slot].name != name:
                latents.names[b], questions.codes[b] = name, NO_CODE
                return row
            code = take_code(t, forest.rngs[b], nodes[slot], edges, selection)
            name, questions.codes[b] = step_name(name, code), code
        latents.names[b] = name
        if deep or nodes[slot_of(nodes, name)].name != name:
            return row


@rule
def make_node(b, forest, latents, logits, row, over):
    """Make the position that a step led to a node, with the row of its latent."""
    t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
    slot = slot_of(nodes, latents.names[b])
    nodes[slot].name = latents.names[b]
    nodes[slot].visits = 0
    t.nodes += 1
    latents.rows[b, slot], latents.seats[b, slot] = row, t.leaf_seat
    if over:
        i = new_edge(t, edges, THE_END, 0.0)
        nodes[slot].edge = i
        for seat in range(t.value.shape[0]):
            edges[i].value[seat] = t.value[seat]
        return
    t.leaf = slot
    list_likeliest(t, logits)
    expand(t, nodes[slot], edges)
    set_priors(t, nodes[slot], edges, logits)
    judge_leaf(t, forest.judged[b])


@rule
def set_value(t, values):
    """Values from the model, which count from the seat to move."""
    seats = t.value.shape[0]
    for k in range(seats):
        t.value[(t.leaf_seat + k) % seats] = values[k]


# Kernels ---------------------------------------------------------------------------------------


@kernel
def plant_all(first, end, step, forest, latents, states, views):
    """Take positions as roots: who thinks there, its actions, and what it sees."""
    for b in range(first, end, step):
        t, s = forest.trees[b], states[b]
        t.seat = turn(s)
        t.root = known(s, t.seat)
        t.width = candidates(s, t.root_acts)
        for j in range(t.width):
            t.root_labels[j] = t.root_acts[j]
        observe(s, t.seat, views[b])
        latents.used[b] = 0


@kernel
def begin_all(first, end, step, forest, latents, logits, values):
    """The first simulation: the root with its legal actions."""
    for b in range(first, end, step):
        t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
        t.depth, t.legal, t.leaf_seat = 0, t.width, t.seat
        for j in range(t.width):
            t.acts[j] = t.labels[j] = t.root_acts[j]
        slot = slot_of(nodes, t.root)
        keep_leaf(t, t.root, slot, nodes, edges)
        set_priors(t, nodes[slot], edges, logits[b])
        latents.rows[b, slot], latents.seats[b, slot] = 0, t.seat
        latents.used[b] = 1
        set_value(t, values[b])
        judge_leaf(t, forest.judged[b])
        back_up(t, edges)


@kernel
def select_all(first, end, step, forest, latents, questions, selection, codes, room):
    """Which action to ask about, and of which latent. room: latents of a tree."""
    for b in range(first, end, step):
        row = walk_down(b, forest, latents, questions, selection, codes)
        questions.origins[b] = b * room + row


@kernel
def settle_all(first, end, step, forest, latents, questions, selection, odds, room):
    """Which code comes next, once its odds are known, and where the next latent goes."""
    spare = questions.origins.shape[0] * room
    for b in range(first, end, step):
        t, nodes, edges = forest.trees[b], forest.nodes[b], forest.edges[b]
        questions.targets[b] = spare
        if t.pending == ENDED:
            questions.actions[b] = questions.codes[b] = 0
            continue
        if questions.codes[b] == NO_CODE:
            node = nodes[slot_of(nodes, latents.names[b])]
            node.name = latents.names[b]
            t.nodes += 1
            expand_chance(t, node, edges, odds[b])
            code = take_code(t, forest.rngs[b], node, edges, selection)
            latents.names[b], questions.codes[b] = step_name(latents.names[b], code), code
        name = latents.names[b]
        if nodes[slot_of(nodes, name)].name != name:
            questions.targets[b] = b * room + latents.used[b]
            latents.used[b] += 1


@kernel
def backup_all(first, end, step, forest, latents, questions, imagined, room):
    """Second half of a simulation: what the model says of the position that it came to."""
    spare = questions.origins.shape[0] * room
    for b in range(first, end, step):
        t, edges = forest.trees[b], forest.edges[b]
        if t.pending == WAITS:
            over, onward = imagined.ends[b] > 0.0, 0
            for k in range(imagined.turns.shape[1]):
                if not over and imagined.turns[b, k] > imagined.turns[b, onward]:
                    onward = k
            t.leaf_seat = (latents.movers[b] + onward) % t.value.shape[0]
            set_value(t, imagined.values[b])
            row = questions.targets[b] - b * room
            if questions.targets[b] != spare:
                make_node(b, forest, latents, imagined.logits[b], row, over)
            else:
                t.unstored += 1
        back_up(t, edges)


# The search ------------------------------------------------------------------------------------


class LatentSearch(Rooted):
    """Trees for `size` tables of a game in a learned model; it has the face of `mcts.Search`."""

    def __init__(
        self,
        game: Game,
        size: int,
        settings: Settings | None = None,
        *,
        model: Model,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.game, self.size = game, whole_number("the trees of a search", size, least=1)
        self.settings = settings = settings or Settings()
        self.device, self.model = device_named(device, threads), model
        kept, with_chance = min(KEPT, game.num_actions), model.codes > 1
        self.forest = empty_forest(
            self.device,
            self.size,
            game.seats,
            max(game.max_legal, kept),
            settings.simulations * (2 if with_chance else 1),
            (kept + model.codes + 1) // 2 if with_chance else kept,
        )
        slots = self.forest.nodes.shape[1]
        shapes = ((size, slots), np.int32), ((size, slots), np.int32), (size, np.int64)
        more = (size, np.uint64), (size, np.int64)
        self.latents = Latents(*(self.device.empty(*shape) for shape in (*shapes, *more)))
        self.selection = self._selection()
        self.lanes = self._lanes()

    def _lanes(self) -> list[LatentLane]:
        parts = min(self.size, 2 if isinstance(self.device, Gpu) else self.device.threads)
        cuts = [self.size * k // parts for k in range(parts + 1)]
        return [LatentLane(self, a, b) for a, b in itertools.pairwise(cuts)]

    def run(self, states: Array, rngs: Array) -> Found:
        """Think about the seat to move of every table, see `mcts.Search.run`."""
        states, rngs = self.device.put(states), self.device.put(rngs)
        self._check(states, rngs)
        self._check_turns(states)
        self.think(states, rngs, self._deadline())
        return self._found()

    def think(self, states: Array, rngs: Array, deadline: float | None = None) -> None:
        """The same where positions and streams are on the device already, and known to be right."""
        self.device.run(clear_all, self.size, self.forest)
        self.forest = self.forest._replace(rngs=rngs)
        if isinstance(self.device, Gpu):
            self.device.synchronize()  # lanes have streams of their own, which wait for nobody
        for lane in self.lanes:
            lane.take_part(states)
        self._each(lambda lane: lane.begin())
        self._prepare_roots()
        if isinstance(self.device, Gpu):
            self.device.synchronize()
        self._simulate(self.settings.simulations - 1, deadline)

    def _simulate(self, count: int, deadline: float | None) -> None:
        if isinstance(self.device, Gpu):
            interleave(self.lanes, count, deadline)
            self.device.synchronize()
        else:
            self._each(lambda lane: interleave([lane], count, deadline))

    def _each(self, work: Callable[[LatentLane], object]) -> None:
        if isinstance(self.device, Gpu):
            for lane in self.lanes:
                work(lane)
            self.device.synchronize()
        else:
            self.device.each(self.lanes, work)


class LatentLane:
    """A range of the trees, with a memory of its own."""

    def __init__(self, search: LatentSearch, first: int, end: int) -> None:
        self.search, self.size, self.part = search, end - first, slice(first, end)
        self.codes, self.room = search.model.codes, search.settings.simulations
        view_size = search.game.view_size
        self.memory = memory = search.model.memory(self.size, self.room, view_size)
        on_gpu = isinstance(search.device, Gpu)
        self.device = Gpu(memory.stream()) if on_gpu else search.device
        put = search.device.put
        self.views = put(memory.views).view(search.game.view).reshape(self.size)
        asked = memory.origins, memory.actions, memory.codes, memory.targets
        self.questions = Questions(*map(put, asked))
        self.certain = search.device.empty((self.size, 1), np.float32)  # odds that nobody asks for

    def take_part(self, states: Array) -> None:
        """Slice this lane's part out of the search's arrays."""
        whole, part = self.search, self.part
        self.forest = Forest(*(array[part] for array in whole.forest))
        self.latents = Latents(*(array[part] for array in whole.latents))
        selection = whole.selection
        self.selection = selection._replace(
            noise=selection.noise[part], root_values=selection.root_values[part]
        )
        self.states = states[part]

    def begin(self) -> None:
        """The first simulation, which makes the roots."""
        run, put, trees = self.device.launch, self.device.put, (self.forest, self.latents)
        run(plant_all, self.size, *trees, self.states, self.views)
        logits, values = self.memory.begin()
        self._check_answer(logits, values)
        run(begin_all, self.size, *trees, put(logits), put(values))

    def simulate(self) -> None:
        run, put, trees = self.device.launch, self.device.put, (self.forest, self.latents)
        asked = *trees, self.questions, self.selection
        run(select_all, self.size, *asked, self.codes, self.room)
        odds = put(self.memory.act()) if self.codes > 1 else self.certain
        run(settle_all, self.size, *asked, odds, self.room)
        imagined = Imagined(*map(put, self.memory.settle()))
        run(backup_all, self.size, *trees, self.questions, imagined, self.room)

    def _check_answer(self, logits: Array, values: Array) -> None:
        game = self.search.game
        wanted = (self.size, game.num_actions), (self.size, game.seats)
        given = tuple(logits.shape), tuple(values.shape)
        if given != wanted:
            raise GameError(f"the model answers with {given}, {game.name} needs {wanted}")


def interleave(lanes: list[LatentLane], count: int, deadline: float | None) -> None:
    for _ in range(count):
        if deadline is not None and time.monotonic() > deadline:
            return
        for lane in lanes:
            lane.simulate()
