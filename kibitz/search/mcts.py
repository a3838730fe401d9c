"""Tree search over many tables in lockstep, on CPU threads or a GPU.

With rollouts or no evaluator at all whole simulations run inside one kernel. With a network each
*lane* of trees selects its leaves, has them evaluated in one batch, and backs the answers up. On
the CPU a lane is a thread; on a GPU there are two with a stream each. So one lane searches while
another is in the network. Few trees make small batches, unless each selects several leaves.
"""

from __future__ import annotations

import functools
import itertools
import time
from typing import Literal, Protocol

import numpy as np

from ..batch import NO_ACTION, compiled_player, illegal_choice
from ..devices import Array, Gpu, as_words, device_named
from ..game import Game, GameError, nothing_hidden
from ..options import whole_number
from .leaves import put_aside_all, resume_all, take_back_all, walk_dtype
from .lines import GrownTree, Line
from .rooted import Rooted
from .rooted import gamma as gamma
from .settings import MOST_SIMULATIONS, WORDS, Found
from .settings import Settings as Settings
from .settings import sampled as sampled
from .tree import Forest, backup_all, clear_all, empty_forest
from .walk import (
    ROLLOUT,
    UNIFORM,
    Tables,
    empty_tables,
    plant_all,
    select_all,
    think_all,
    think_by_player_all,
)

MOST_LEAVES = 1 << 10


class Evaluator(Protocol):
    """Something that answers views with priors and values, a batch at a time.

    It lends the memory that views are written into, so that nothing has to be copied on the way to
    a network.
    """

    def room(self, size: int, view_size: int) -> Array:
        """Zeros for views, on the evaluator's device. float32 [size, view_size]"""

    def __call__(self, views: Array) -> tuple[Array, Array]:
        """Logits [size, num_actions]; values by seat, the looking one first [size, seats]."""

    def stream(self, views: Array) -> int:
        """On a GPU: the CUDA stream on which it answers the views in this room."""


class Search(Rooted):
    """Trees for `size` tables of a game, to be used again and again.

    leaves: how many of each tree a network evaluates together. More are faster where there are few
    trees, and each knows less of the others.

    >>> from kibitz.batch import Batch
    >>> from kibitz.chance import streams
    >>> from kibitz.games import load
    >>> game = load("kuhn")
    >>> batch = Batch(game, 8, seed=1)
    >>> batch.settle()
    >>> found = Search(game, 8).run(batch.states, streams(1, "search", 8))
    >>> found.visits.shape
    (8, 2)
    """

    def __init__(
        self,
        game: Game,
        size: int,
        settings: Settings | None = None,
        *,
        evaluator: Literal["rollout", "uniform"] | Evaluator = "rollout",
        device: str = "cpu",
        threads: int | None = None,
        leaves: int = 1,
    ) -> None:
        self.leaves = whole_number("leaves of a tree", leaves, 1, MOST_LEAVES)
        self.game, self.size = game, whole_number("the trees of a search", size, least=1)
        self.settings = settings = settings or Settings()
        self._check_open()
        self.device = device_named(device, threads)
        self.forest = empty_forest(
            self.device,
            self.size,
            game.seats,
            game.max_legal,
            settings.simulations * (2 if settings.chance == "spread" else 1),
            settings.edges_per_simulation,
        )
        self.tables = empty_tables(self.device, game, self.size)
        self.selection = self._selection()
        self.evaluator = evaluator
        self.grown = False  # whether the trees hold something to be used again
        self._player = self.device.put(compiled_player(game, settings.rollout))
        self.lanes = [] if isinstance(evaluator, str) else self._lanes(evaluator)

    def _check_open(self) -> None:
        """Refuse what needs to see everything. Deals stay rolled, whatever is known of them."""
        ways = {name: getattr(self.settings, name) for name in WORDS}
        odd = [f"{name}={way}" for name, way in ways.items() if way != WORDS[name][0]]
        if odd and (self.game.redeal is not nothing_hidden or self.game.secret_moves):
            raise GameError(f"{', '.join(odd)}: only for games in which nothing is hidden")

    def _lanes(self, evaluator: Evaluator) -> list[Lane]:
        parts = min(self.size, 2 if isinstance(self.device, Gpu) else self.device.threads)
        cuts = [self.size * k // parts for k in range(parts + 1)]
        return [Lane(self, evaluator, a, b) for a, b in itertools.pairwise(cuts)]

    def run(
        self, states: Array, rngs: Array, *, reuse: bool = False, simulations: int | None = None
    ) -> Found:
        """Think about the seat to move of every table.

        states: positions with a seat to move [size]; rngs: a stream per tree, moved on by the
        search. reuse: keep what the trees learnt in the last run, for the same seats at later
        positions. simulations: how many to begin with, where `more` shall follow.
        """
        most = self.settings.simulations
        count = most if simulations is None else simulations
        count = whole_number("simulations of a run", count, 1, most)
        if reuse and (self.settings.root == "gumbel" or self.settings.noise):
            raise GameError("only a search with PUCT and without noise can use its trees again")
        self._plant(*self._checked(states, rngs), reuse)
        self._grow(count, self._deadline())
        return self._found()

    def think(self, states: Array, rngs: Array, deadline: float | None = None) -> None:
        """The same where positions and streams are on the device already, and known to be right.

        What was found stays there, too: see `roots`. deadline: when to stop at the latest, on the
        monotonic clock.
        """
        self._plant(states, rngs, reuse=False)
        self._grow(self.settings.simulations, deadline)

    def _grow(self, count: int, deadline: float | None) -> None:
        self._simulate(1, None)
        self._prepare_roots()
        self._simulate(count - 1, deadline)

    def begin(self, states: Array, rngs: Array) -> None:
        """Only the first simulation, which makes the roots; then `grow` makes the others."""
        self._plant(*self._checked(states, rngs), reuse=False)
        self._simulate(1, None)

    def grow(self, simulations: int) -> None:
        """So many simulations more. What was found stays on the device: see `roots`."""
        self._simulate(simulations, None)

    def resume(self) -> None:
        """Go on with trees and positions that somebody has copied into the arrays."""
        self.grown = True
        for lane in self.lanes:
            lane.take_part()

    @functools.cached_property
    def half(self) -> Search:
        """The same search of half as many trees."""
        threads = None if isinstance(self.device, Gpu) else self.device.threads
        return Search(
            self.game,
            self.size // 2,
            self.settings,
            evaluator=self.evaluator,
            device=self.device.name,
            threads=threads,
            leaves=self.leaves,
        )

    def more(self, simulations: int) -> Found:
        """Go on with the trees of the last run: what all simulations together have found.

        Parts make the very trees that one run would have made, where they end with a batch of
        leaves; the first simulation makes the root and is a batch by itself. Beyond the settings'
        simulations trees are full and go on without growing.
        """
        count = whole_number("more simulations", simulations, 1, MOST_SIMULATIONS)
        if not self.grown:
            raise GameError("there is no search to go on with; run one first")
        if self.settings.root == "gumbel":
            self._check_plan(count)
        self._simulate(count, self._deadline())
        return self._found()

    def lines(self, tree: int = 0, count: int = 3, depth: int = 12) -> list[Line]:
        """What one tree expects to be played, for its `count` most visited actions.

        They show nothing that its seat cannot know.
        """
        if not self.grown:
            raise GameError("there are no lines without a search; run one first")
        tree = whole_number("the tree of the lines", tree, 0, self.size - 1)
        get, f = self.device.get, self.forest
        t = get(f.trees[tree : tree + 1])[0]
        root = get(self.tables.roots[tree : tree + 1]).reshape(-1).view(self.game.state)[0]
        grown = GrownTree(
            self.game, root, int(t.seat), t.root, get(f.nodes[tree]), get(f.edges[tree])
        )
        return grown.lines(whole_number("lines", count, 1), whole_number("steps", depth, 1))

    def _checked(self, states: Array, rngs: Array) -> tuple[Array, Array]:
        """Positions and streams on the device, once they are known to be right."""
        states, rngs = self.device.put(states), self.device.put(rngs)
        self._check(states, rngs)
        self._check_turns(states)
        return states, rngs

    def _plant(self, states: Array, rngs: Array, reuse: bool) -> None:
        if not (reuse and self.grown and self._has_room()):
            self.device.run(clear_all, self.size, self.forest)
        self.forest = self.forest._replace(rngs=rngs)
        self.device.run(plant_all, self.size, self.forest, self.tables, as_words(states))
        self.resume()

    def _has_room(self) -> bool:
        """Whether every tree can still take in a new root."""
        trees = self.device.get(self.forest.trees)
        slots, edges = self.forest.nodes.shape[1], self.forest.edges.shape[1]
        full = (4 * trees["nodes"] >= 3 * slots) | (trees["edges"] + self.game.max_legal > edges)
        return not full.any()

    def _check_plan(self, count: int) -> None:
        planned = self.settings.simulations
        done = int(self.device.get(self.forest.trees)["simulations"].max())
        if done + count > planned:
            so_far = f"{planned} simulations, and {done} are done"
            raise GameError(f"this Gumbel search was planned for {so_far}")

    def _simulate(self, count: int, deadline: float | None) -> None:
        if isinstance(self.evaluator, str):
            self._think(count, deadline)
        elif isinstance(self.device, Gpu):
            self.device.synchronize()  # lanes have streams of their own, which wait for nobody
            interleave(self.lanes, count, deadline)
            self.device.synchronize()
        else:
            self.device.each(self.lanes, lambda lane: interleave([lane], count, deadline))

    def evaluate_only(self, count: int) -> None:
        """What the evaluator does in so many simulations, without the search: to compare with."""
        if not isinstance(self.device, Gpu):
            self.device.each(
                self.lanes, lambda lane: [lane.evaluator(lane.tensor) for _ in range(count)]
            )
            return
        for _ in range(count):
            for lane in self.lanes:
                lane.evaluator(lane.tensor)
        self.device.synchronize()

    def _think(self, count: int, deadline: float | None) -> None:
        pace = count if deadline is None else 16
        for done in range(0, count, max(pace, 1)):
            if deadline is not None and time.monotonic() > deadline:
                break
            if self.evaluator == "rollout" and self.settings.rollout != "random":
                self._think_by_player(min(pace, count - done))
                continue
            evaluator = ROLLOUT if self.evaluator == "rollout" else UNIFORM
            arrays = self.forest, self.tables, self.selection
            self.device.run(think_all, self.size, *arrays, evaluator, min(pace, count - done))

    def _think_by_player(self, count: int) -> None:
        arrays = self.forest, self.tables, self.selection, self._player
        prior_share, illegal = float(self.settings.prior_share), self._illegal
        self.device.run(think_by_player_all, self.size, *arrays, prior_share, illegal, count)
        chosen = self.device.get(self._illegal)
        if (wrong := np.flatnonzero(chosen != NO_ACTION)).size:
            s = self.device.get(self.tables.scratch)[wrong[0]]
            who = self.settings.rollout
            raise illegal_choice(self.game, s, f"{who} in a rollout", chosen[wrong[0]])

    @functools.cached_property
    def _illegal(self) -> Array:
        return self.device.empty(self.size, np.int64)


class Lane:
    """A range of the trees, with its own room for views: a row per tree for each of its leaves."""

    def __init__(self, search: Search, evaluator: Evaluator, first: int, end: int) -> None:
        self.search, self.evaluator = search, evaluator
        self.first, self.end, self.size = first, end, end - first
        game, self.rows = search.game, search.leaves * self.size
        self.tensor = evaluator.room(self.rows, game.view_size)
        flat = search.device.put(self.tensor).view(game.view).reshape(self.rows)
        self.views = [flat[part] for part in self._parts()]
        on_gpu = search.device.name == "cuda"
        self.device = Gpu(evaluator.stream(self.tensor)) if on_gpu else search.device
        waiting = search.leaves if search.leaves > 1 else 0
        walk = walk_dtype(game.seats, game.max_legal)
        self.walks = [search.device.empty(self.size, walk) for _ in range(waiting)]
        self.take_part()

    def _parts(self) -> list[slice]:
        """The rows of each leaf."""
        return [slice(row, row + self.size) for row in range(0, self.rows, self.size)]

    def take_part(self) -> None:
        """Slice this lane's part out of the search's arrays."""
        whole, part = self.search, slice(self.first, self.end)
        self.forest = Forest(*(array[part] for array in whole.forest))
        self.tables = Tables(*(array[part] for array in whole.tables))
        selection = whole.selection
        self.selection = selection._replace(
            noise=selection.noise[part], root_values=selection.root_values[part]
        )

    def simulate(self, leaves: int) -> None:
        """So many simulations of every tree, evaluated together."""
        run, put = self.device.launch, self.device.put
        walks = self.walks[:leaves] if leaves > 1 else []
        for k in range(leaves):
            run(select_all, self.size, self.forest, self.tables, self.selection, self.views[k])
            if walks:
                run(put_aside_all, self.size, self.forest, walks[k])
        logits, values = self.evaluator(self.tensor)
        self._check_answer(logits, values)
        for walk in reversed(walks):
            run(take_back_all, self.size, self.forest, walk)
        for k, part in enumerate(self._parts()[:leaves]):
            if walks:
                run(resume_all, self.size, self.forest, walks[k])
            run(backup_all, self.size, self.forest, put(logits[part]), put(values[part]))

    def _check_answer(self, logits: Array, values: Array) -> None:
        game = self.search.game
        shapes = (self.rows, game.num_actions), (self.rows, game.seats)
        if (tuple(logits.shape), tuple(values.shape)) != shapes:
            given = f"{list(logits.shape)} and {list(values.shape)}"
            wanted = f"{list(shapes[0])} and {list(shapes[1])} of {game.name}"
            raise GameError(f"the evaluator's logits and values are {given}, not {wanted}")


def interleave(lanes: list[Lane], count: int, deadline: float | None) -> None:
    most = lanes[0].search.leaves
    for done in range(0, count, most):
        if deadline is not None and time.monotonic() > deadline:
            return
        for lane in lanes:
            lane.simulate(min(most, count - done))
