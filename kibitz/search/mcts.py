"""Tree search over many tables in lockstep, on CPU threads or a GPU.

With rollouts or no evaluator at all whole simulations run inside one kernel. With a network each
*lane* of trees selects its leaves, has them evaluated in one batch, and backs the answers up. On
the CPU a lane is a thread; on a GPU there are two with a stream each. So one lane searches while
another is in the network.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from ..batch import Gpu, as_words, check_memory, check_states, device_named, turns_all
from ..chance import STREAM
from ..game import Game, GameError
from ..options import shown, whole_number
from . import gumbel
from .tree import (
    ROLLOUT,
    SCALE,
    TRUST,
    UNIFORM,
    Forest,
    backup_all,
    clear_all,
    forest_on,
    read_roots_all,
    select_all,
    think_all,
    uniforms_all,
    write_priors_all,
)

Array = Any

MOST_EDGES = 1 << 10  # for each simulation
MOST_SIMULATIONS = 1 << 24  # of one tree: its nodes are numbered, and fill a GiB


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


@dataclass(frozen=True)
class Settings:
    """How to search."""

    simulations: int = 200
    """Simulations a tree."""
    explore: float = 2.0
    """PUCT's constant: 1 to 4 differ little."""
    root: Literal["puct", "gumbel"] = "puct"
    """Who decides at the root."""
    considered: int = 16
    """Gumbel search: how many root actions are tried."""
    noise: float = 0.0
    """PUCT: the share of Dirichlet noise in the root's priors, for self-play."""
    alpha: float = 0.3
    """How even that noise is: 10 divided by the usual number of actions serves well."""
    seconds: float | None = None
    """Stop after this time, whatever the number of simulations (which then is the most)."""
    edges_each: int = 8
    """Room in a tree, in new edges a simulation. A full tree goes on without growing."""

    def __post_init__(self) -> None:
        if isinstance(self.simulations, int) and self.simulations < 1:
            raise GameError(f"a search makes at least one simulation, not {self.simulations}")
        for name, most in (
            ("simulations", MOST_SIMULATIONS),
            ("considered", MOST_SIMULATIONS),
            ("edges_each", MOST_EDGES),
        ):
            # Python's own: NumPy's small integers overflow when rooms are computed from them.
            number = whole_number(f"{name} of a search", getattr(self, name), 1, most)
            object.__setattr__(self, name, number)
        for name in ("explore", "noise", "alpha"):
            _check_real(name, getattr(self, name))
        if self.seconds is not None:
            _check_real("seconds", self.seconds)


def _check_real(name: str, value: object) -> None:
    real = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if not real or not 0 <= value < math.inf:  # type: ignore[operator]
        raise GameError(f"{name}={shown(value)}: {name} is a number, finite and 0 or more")


@dataclass(frozen=True)
class Found:
    """What a search found, by tree; lists are in the order of the legal actions."""

    actions: Array  # int16 [trees, max_legal]
    counts: Array  # how many of them [trees]
    visits: Array  # [trees, max_legal]
    values: Array  # mean for the seat that thinks; zero where not visited [trees, max_legal]
    priors: Array  # [trees, max_legal]
    policy: Array  # what to learn from: visits, or the improved policy of Gumbel search
    value: Array  # of the root, for the seat that thinks [trees]
    best: Array  # the action to play [trees]
    simulations: Array  # [trees]

    def first(self, trees: int) -> Found:
        """What was found by the first so many trees."""
        told = {f.name: getattr(self, f.name)[:trees] for f in dataclasses.fields(self)}
        return Found(**told)


class Search:
    """Trees for `size` tables of a game, to be used again and again.

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
    ) -> None:
        self.game, self.size = game, whole_number("the trees of a search", size, least=1)
        self.settings = settings = settings or Settings()
        self.device = device_named(device, threads)
        self.forest = forest_on(
            self.device, game, self.size, settings.simulations, settings.edges_each
        )
        self.evaluator = evaluator
        self.grown = False  # whether the trees hold something to be used again
        if settings.root == "gumbel":
            table = gumbel.plan(settings.considered, settings.simulations)
        else:
            table = np.full((1, 1), -1, np.int32)
        self.forest.plan = self.device.put(table)
        self.lanes = [] if isinstance(evaluator, str) else self._lanes(evaluator)

    def _lanes(self, evaluator: Evaluator) -> list[Lane]:
        parts = min(self.size, 2 if self.device.name == "cuda" else self.device.threads)
        cuts = [self.size * k // parts for k in range(parts + 1)]
        return [Lane(self, evaluator, a, b) for a, b in itertools.pairwise(cuts)]

    def run(self, states: Array, rngs: Array, *, reuse: bool = False) -> Found:
        """Think about the seat to move of every table.

        states: positions with a seat to move [size]; rngs: a stream a tree, moved on by the search.
        reuse: keep what the trees learnt in the last run, for the same seats at later positions.
        """
        f = self.forest
        states, f.rngs = self.device.put(states), self.device.put(rngs)
        self._check(states, f.rngs)
        if reuse and (self.settings.root == "gumbel" or self.settings.noise):
            raise GameError("only a search with PUCT and without noise can use its trees again")
        self._check_turns(states)
        f.roots = as_words(states)
        if not (reuse and self.grown and self._has_room()):
            self.device.run(clear_all, self.size, f.trees, f.nodes, f.scratch, f.words, f.roots)
        self.grown = True
        for lane in self.lanes:
            lane.take(f)
        deadline = (
            None if self.settings.seconds is None else time.monotonic() + self.settings.seconds
        )
        self._simulate(1, None)
        root = self._prepare_roots()
        self._simulate(self.settings.simulations - 1, deadline)
        return self._found(root)

    def _has_room(self) -> bool:
        """Whether every tree can still take in a new root."""
        trees = self.device.get(self.forest.trees)
        slots, edges = self.forest.nodes.shape[1], self.forest.edges.shape[1]
        full = (4 * trees["nodes"] >= 3 * slots) | (trees["edges"] + self.game.max_legal > edges)
        return not full.any()

    def _check(self, states: Array, rngs: Array) -> None:
        check_states(self.game, states)
        if len(states) != self.size or rngs.shape != (self.size,) or rngs.dtype != STREAM:
            given = f"{len(states)} with streams {list(rngs.shape)}"
            raise GameError(f"this search is for {self.size} tables, not {given}")
        check_memory("chance streams", rngs)

    def _check_turns(self, states: Array) -> None:
        turns = self.device.empty(self.size, np.int64)
        self.device.run(turns_all, self.size, states, turns)
        if (waiting := np.flatnonzero(self.device.get(turns) < 0)).size:
            raise GameError(
                f"table {waiting[0]} has no seat to move, so there is nothing to search"
            )

    def _simulate(self, count: int, deadline: float | None) -> None:
        if isinstance(self.evaluator, str):
            self._think(count, deadline)
        elif self.device.name == "cuda":
            self.device.synchronize()  # lanes have streams of their own, which wait for nobody
            interleave(self.lanes, count, deadline)
            self.device.synchronize()
        else:
            self.device.each(self.lanes, lambda lane: interleave([lane], count, deadline))

    def evaluate_only(self, count: int) -> None:
        """What the evaluator does in so many simulations, without the search: to compare with."""
        if self.device.name == "cpu":
            self.device.each(
                self.lanes, lambda lane: [lane.evaluator(lane.tensor) for _ in range(count)]
            )
            return
        for _ in range(count):
            for lane in self.lanes:
                lane.evaluator(lane.tensor)
        self.device.synchronize()

    def _think(self, count: int, deadline: float | None) -> None:
        f, how = self.forest, ROLLOUT if self.evaluator == "rollout" else UNIFORM
        arrays = (f.trees, f.rngs, f.roots, f.scratch, f.words, f.nodes, f.edges, f.noise, f.plan)
        pace = count if deadline is None else 16
        for done in range(0, count, max(pace, 1)):
            if deadline is not None and time.monotonic() > deadline:
                break
            some = min(pace, count - done)
            self.device.run(think_all, self.size, *arrays, how, some, self.settings.explore)

    # the root

    @functools.cached_property
    def _room(self) -> tuple[Array, ...]:
        """Where roots are read into: actions, counts, visits, means, priors, simulations."""
        lists, one = (self.size, self.game.max_legal), (self.size,)
        kinds = (
            (lists, np.int16),
            (one, np.int64),
            (lists, np.int32),
            (lists, np.float64),
            (lists, np.float64),
            (one, np.int64),
        )
        return tuple(self.device.empty(shape, kind) for shape, kind in kinds)

    def _read(self) -> tuple[Array, ...]:
        f = self.forest
        arrays = (f.trees, f.nodes, f.edges, f.scratch, f.words, f.roots)
        self.device.run(read_roots_all, self.size, *arrays, *self._room)
        return tuple(np.array(self.device.get(x)) for x in self._room)

    def _prepare_roots(self) -> Array:
        """Noise on the roots, once they have their priors; what the evaluator thinks of them."""
        f, s = self.forest, self.settings
        if s.root == "puct" and s.noise == 0.0:
            return None
        trees = self.device.get(f.trees)
        root = trees["value"][np.arange(self.size), trees["seat"]].astype(np.float64)
        _, counts, _, _, priors, _ = self._read()
        legal = np.arange(self.game.max_legal) < counts[:, None]
        if s.root == "gumbel":
            noise = -np.log(-np.log(self._uniforms(1)[0])) + np.log(np.maximum(priors, 1e-12))
            f.noise = self.device.put(np.where(legal, noise, -1e9).astype(np.float32))
            for lane in self.lanes:
                lane.take(f)
        else:
            dirichlet = np.where(legal, gamma(s.alpha, *self._uniforms(3)), 0.0)
            dirichlet /= np.maximum(dirichlet.sum(1, keepdims=True), 1e-30)
            mixed = self.device.put((1 - s.noise) * priors + s.noise * dirichlet)
            self.device.run(
                write_priors_all, self.size, f.trees, f.nodes, f.edges, f.scratch, mixed
            )
        return root

    def _uniforms(self, rows: int) -> Array:
        """[rows, trees, max_legal], drawn from the trees' streams; logarithms are for the host."""
        out = self.device.empty((self.size, rows * self.game.max_legal), np.float64)
        self.device.run(uniforms_all, self.size, self.forest.rngs, out)
        drawn = self.device.get(out).reshape(self.size, rows, -1)
        return drawn.transpose(1, 0, 2)

    def _found(self, root: Array) -> Found:
        acts, counts, visits, means, priors, simulations = self._read()
        total = np.maximum(visits.sum(1), 1)
        if self.settings.root == "gumbel":
            values = gumbel.completed(visits, means, priors, root)
            legal = np.arange(self.game.max_legal) < counts[:, None]
            policy = gumbel.improved(visits, values, priors, legal)
            noise = self.device.get(self.forest.noise).astype(np.float64)
            most = visits.max(1, keepdims=True)
            worth = noise / ((TRUST + most) * SCALE) + means
            pick = np.where(legal & (visits == most), worth, -np.inf).argmax(1)
            value = (policy * values).sum(1)
        else:
            policy = visits / total[:, None]
            if (unvisited := visits.sum(1) == 0).any():  # one simulation makes the root, no more
                policy[unvisited] = priors[unvisited]
            pick = policy.argmax(1)
            value = np.einsum("ij,ij->i", policy, means)
        rows = np.arange(self.size)
        return Found(
            actions=acts,
            counts=counts,
            visits=visits,
            values=means,
            priors=priors,
            policy=policy,
            value=value,
            best=acts[rows, pick].astype(np.int64),
            simulations=simulations,
        )


def gamma(alpha: float, a: Array, b: Array, c: Array) -> Array:
    """Gamma-distributed numbers from three uniform ones each, near enough for noise.

    Wilson and Hilferty: the cube root of a gamma variable of shape 1 + alpha is almost normal; a
    power of a uniform one takes the shape down to alpha.
    """
    normal = np.sqrt(-2.0 * np.log(a)) * np.cos(2.0 * np.pi * b)
    k = 1.0 + alpha
    root = 1.0 - 1.0 / (9.0 * k) + normal / (3.0 * np.sqrt(k))
    return k * np.maximum(root, 0.0) ** 3 * c ** (1.0 / alpha)


class Lane:
    """Some of the trees, with their own room for views."""

    def __init__(self, search: Search, evaluator: Evaluator, first: int, end: int) -> None:
        self.search, self.evaluator = search, evaluator
        self.first, self.end, self.size = first, end, end - first
        game = search.game
        self.tensor = evaluator.room(self.size, game.view_size)
        self.views = search.device.put(self.tensor).view(game.view).reshape(self.size)
        on_gpu = search.device.name == "cuda"
        self.device = Gpu(evaluator.stream(self.tensor)) if on_gpu else search.device
        self.arrays: tuple[Array, ...] = ()

    def take(self, f: Forest) -> None:
        """This lane's part of the arrays."""
        part = slice(self.first, self.end)
        each = (f.trees, f.rngs, f.roots, f.scratch, f.words, f.nodes, f.edges, f.noise)
        self.arrays = tuple(array[part] for array in each)
        self.plan = f.plan

    def simulate(self) -> None:
        """One simulation of every tree."""
        trees, _, _, _, _, nodes, edges, _ = self.arrays
        run, explore = self.device.launch, self.search.settings.explore
        run(select_all, self.size, *self.arrays, self.plan, self.views, explore)
        logits, values = self.evaluator(self.tensor)
        self._check_answer(logits, values)
        put = self.device.put
        run(backup_all, self.size, trees, nodes, edges, put(logits), put(values))

    def _check_answer(self, logits: Array, values: Array) -> None:
        game = self.search.game
        shapes = (self.size, game.num_actions), (self.size, game.seats)
        if (tuple(logits.shape), tuple(values.shape)) != shapes:
            given = f"{list(logits.shape)} and {list(values.shape)}"
            wanted = f"{list(shapes[0])} and {list(shapes[1])} of {game.name}"
            raise GameError(f"the evaluator's logits and values are {given}, not {wanted}")


def interleave(lanes: list[Lane], count: int, deadline: float | None) -> None:
    for _ in range(count):
        if deadline is not None and time.monotonic() > deadline:
            return
        for lane in lanes:
            lane.simulate()


def sampled(found: Found, temperature: float, uniform: Callable[[int], Array]) -> Array:
    """Actions drawn from the policy, sharpened or flattened; 0 plays the best. [trees]

    uniform: called with a number, gives so many random numbers from 0 to 1.
    """
    if temperature == 0.0:
        return found.best
    odds = found.policy ** (1.0 / temperature)
    sums = (odds / odds.sum(1, keepdims=True)).cumsum(1)
    draw = uniform(len(odds))[:, None] * sums[:, -1:]
    pick = np.minimum((sums <= draw).sum(1), found.counts - 1)
    return found.actions[np.arange(len(odds)), pick].astype(np.int64)
