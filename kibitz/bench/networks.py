"""The speed of search beside that of its network, and of networks alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..chance import streams
from ..devices import lanes
from ..game import Game, GameError
from ..games import load
from ..search.mcts import Search, Settings
from .timing import REPEATS, best_of, in_turns, seconds

if TYPE_CHECKING:
    from ..bidding.bilinear import NetCompBilin, OneTable
    from ..nets.evaluate import NetEvaluator

TABLES = {"cpu": (64, 1024), "cuda": (1024, 4096, 16384, 65536)}  # evaluated together, by device

Decision = tuple[NDArray[np.float32], NDArray[np.int64]]
"""A view and the legal actions of its seat."""


# Search -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchBench:
    """Search with the network of the game's recipe, that network alone, and rollouts."""

    game: str
    device: str
    trees: int
    simulations: int
    simulations_per_s: float | None
    evaluations_per_s: float | None
    ratio: float | None
    rollouts_per_s: float
    rollouts_per_s_1: float | None
    """On one CPU thread."""
    first_simulation_s: float
    """From the start of the bench to the end of the first simulation, compilation included."""
    threads: int
    eager: bool

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def bench_search(
    name: str,
    options: Mapping[str, object],
    device: str,
    trees: int,
    simulations: int,
    eager: bool = False,
) -> SearchBench:
    """Simulations per second of search, and evaluations per second of its network alone.

    eager: let torch launch the operations of the network one by one on a GPU.
    """
    began = time.perf_counter()
    game = load(name, **options)
    batch = midgame(game, trees, device)
    settings = Settings(simulations=simulations)
    evaluator = recipe_evaluator(game, device, eager)
    _simulate_once(batch, evaluator)
    first = time.perf_counter() - began
    searched, alone = _network_speeds(batch, settings, evaluator) if evaluator else (None, None)
    return SearchBench(
        game=game.name,
        device=device,
        trees=trees,
        simulations=simulations,
        simulations_per_s=searched,
        evaluations_per_s=alone,
        ratio=searched / alone if searched and alone else None,
        rollouts_per_s=_rollouts_per_s(batch, settings, None),
        rollouts_per_s_1=_rollouts_per_s(batch, settings, 1) if device == "cpu" else None,
        first_simulation_s=first,
        threads=lanes(),
        eager=eager,
    )


def _simulate_once(batch: Batch, evaluator: NetEvaluator | None) -> None:
    search = Search(
        batch.game,
        batch.size,
        Settings(simulations=1),
        evaluator=evaluator or "rollout",
        device=batch.device.name,
    )
    _run(search, batch)
    batch.device.synchronize()


def _network_speeds(
    batch: Batch, settings: Settings, evaluator: NetEvaluator
) -> tuple[float, float]:
    """Simulations per second of search, and evaluations per second of the network alone.

    Alone it evaluates views from the middle of a search: for some networks the first leaves are the
    least work and the last ones the most.
    """
    search, half = (
        Search(batch.game, batch.size, chosen, evaluator=evaluator, device=batch.device.name)
        for chosen in (settings, replace(settings, simulations=(settings.simulations + 1) // 2))
    )
    _run(half, batch)
    works = lambda: _run(search, batch), lambda: half.evaluate_only(settings.simulations)
    searched, alone = in_turns(works, batch.device)
    simulations = batch.size * settings.simulations
    return simulations / searched, simulations / alone


def _rollouts_per_s(batch: Batch, settings: Settings, threads: int | None) -> float:
    device = batch.device
    search = Search(batch.game, batch.size, settings, device=device.name, threads=threads)
    took = best_of(lambda: _run(search, batch), device)
    return batch.size * settings.simulations / took


def midgame(game: Game, size: int, device: str) -> Batch:
    """Tables a few moves into the game, at which a seat is to move."""
    batch = Batch(game, size, device=device, seed=1)
    batch.wander(6)
    batch.settle()
    while (over := batch.device.get(batch.turns()) < 0).any():  # these begin a new game
        states = batch.host()
        fresh = Batch(game, size, seed=2)
        fresh.settle()
        states[over] = fresh.states[over]
        batch.states = batch.device.put(states)
    return batch


def _run(search: Search, batch: Batch) -> None:
    search.run(batch.states, streams(1, "search", batch.size))


# Networks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NetBench:
    """The network of a game's recipe and, for games of bids, a network of values."""

    game: str
    device: str
    views_per_s: dict[int, float]
    """By size of the batch."""
    latency_ms: float
    """For one view."""
    decision_us: dict[str, float] | None = None
    evaluations_per_s_by_tables: dict[int, float] | None = None
    evaluations_per_s: float | None = None

    def as_json(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def recipe_evaluator(game: Game, device: str, eager: bool = False) -> NetEvaluator | None:
    """The network of a game's recipe, untrained: weights do not change its speed."""
    from ..nets.evaluate import NetEvaluator
    from ..recipes import names, recipe

    if game.name not in names():
        return None
    return NetEvaluator(recipe(game.name).network(game, 0), device, eager=eager)


def bench_net(name: str, device: str) -> NetBench:
    """Milliseconds for one view, and views per second by batch size.

    For games of bids also the time of a decision by a network of values, and actions per second.
    """
    game = load(name)
    evaluator = recipe_evaluator(game, device)
    if evaluator is None:
        raise GameError(f"{name} has no recipe, so no network of its own")
    sizes = (1, 16, 64, 256, 1024) + ((4096, 16384, 32768) if device == "cuda" else ())
    speeds = {size: _views_per_s(game, evaluator, device, size) for size in sizes}
    views = NetBench(name, device, speeds, latency_ms=1000 / speeds[1])
    if "priv" not in (game.view.names or ()):
        return views
    by_tables = {size: evaluations_per_s(game, device, size) for size in TABLES[device]}
    return replace(
        views,
        decision_us=decision_us(name),
        evaluations_per_s_by_tables=by_tables,
        evaluations_per_s=max(by_tables.values()),
    )


def evaluations_per_s(game: Game, device: str, size: int) -> float:
    """Actions per second that a network of values evaluates, at `size` tables on the device."""
    import torch

    from ..bidding.bilinear import ChildValues

    batch = midgame(game, size, device)
    turns, (lists, counts) = batch.turns(), batch.actions()
    views = torch.zeros(size, game.view_size, device=device)
    batch.observe(turns, views)
    legal, numbers = (torch.as_tensor(array, device=device) for array in (lists, counts))
    inside = torch.arange(legal.shape[1], device=device) < numbers[:, None]
    tables, actions = inside.nonzero()[:, 0], legal[inside].long()
    judge = ChildValues(_value_net(game), device)
    took = best_of(lambda: judge.answer(views, tables, actions), batch.device)
    return len(tables) / took


def _value_net(game: Game) -> NetCompBilin:
    """NetCompBilin for a game's views, untrained."""
    from ..bidding.bilinear import CompBilinConfig, NetCompBilin

    priv, pub = (game.view[name].shape[0] for name in ("priv", "pub"))
    return NetCompBilin(CompBilinConfig(priv, pub))


def decision_us(name: str) -> dict[str, float]:
    """Microseconds that a network of values needs to evaluate all legal actions, on one core.

    opening: at the first decision, which has the most actions; game: the mean over whole games. A
    separate process measures, because NumPy's libraries start their threads when they are loaded.
    """
    code = "import sys; from kibitz.bench import networks; networks.print_decision_us(sys.argv[1])"
    env = {**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
    command = [sys.executable, "-c", code, name]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
    microseconds: dict[str, float] = json.loads(done.stdout)
    return microseconds


def print_decision_us(name: str) -> None:
    """Print `decision_us` as JSON, measured with the threads of this process."""
    from ..bidding.bilinear import OneTable

    game = load(name)
    judge = OneTable(_value_net(game))
    tables = [_decisions(game, seed) for seed in range(20)]
    microseconds = {
        "opening": _microseconds(judge, [decisions[0] for decisions in tables]),
        "game": _microseconds(judge, [decision for table in tables for decision in table]),
    }
    print(json.dumps(microseconds))


def _decisions(game: Game, seed: int) -> list[Decision]:
    """The decisions of one game between the game's own players."""
    from ..arena.table import Table
    from ..players import player

    table, decisions = Table(game, seed=seed), []
    players = [player(name, game) for name in list(game.players)[: game.seats]]
    while not table.over:
        sight = table.sight()
        decisions.append((sight.views[0], np.array(sight.actions[0])))
        table.play(table.ask(players[table.turn]))
    return decisions


def _microseconds(judge: OneTable, decisions: list[Decision]) -> float:
    """The mean over decisions of the best of several times: the rest is disturbance."""
    for decision in decisions:
        judge(*decision)
    took = [
        min(seconds(lambda: judge(*decision)) for _ in range(2 * REPEATS))  # noqa: B023
        for decision in decisions
    ]
    return 1e6 * sum(took) / len(took)


def _views_per_s(game: Game, evaluator: NetEvaluator, device: str, size: int) -> float:
    batch = Batch(game, size, device=device, seed=1)
    batch.wander(6)
    room = evaluator.room(size, game.view_size)
    batch.observe(np.zeros(size, np.int64), room)
    rounds = max(3, 512 // size)
    took = best_of(lambda: [evaluator(room) for _ in range(rounds)], batch.device)
    return size * rounds / took
