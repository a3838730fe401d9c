"""How fast search is beside its network, and the network alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..batch import Batch
from ..chance import streams
from ..devices import lanes
from ..game import Game, GameError
from ..games import load
from ..search.mcts import Search, Settings
from .timing import REPEATS, best_of, in_turns, seconds

TABLES = {"cpu": (64, 1024), "cuda": (1024, 4096, 16384, 65536)}  # asked together, by device


@dataclass(frozen=True)
class SearchBench:
    """Search with the network of the game's recipe against that network alone, and rollouts."""

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
    threads: int
    eager: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def bench_search(
    name: str,
    options: dict[str, Any],
    device: str,
    trees: int,
    simulations: int,
    eager: bool = False,
) -> SearchBench:
    """Simulations a second end to end, and what the network does alone with the same views.

    Those of the middle of a search: its first leaves are the least work for some networks and its
    last ones the most.

    eager: have torch run the network on a GPU launch by launch.
    """
    game = load(name, **options)
    batch = Batch(game, trees, device=device, seed=1)
    batch.wander(6)  # a few moves into the game, so that the table is not empty
    _until_a_seat_moves(batch)
    settings = Settings(simulations=simulations)
    rolled = _rollouts_per_s(batch, settings, None)
    single = _rollouts_per_s(batch, settings, 1) if device == "cpu" else None
    evaluator = recipe_evaluator(game, device, eager)
    searched = alone = None
    if evaluator is not None:
        halfway = replace(settings, simulations=(simulations + 1) // 2)
        search, half = (
            Search(game, trees, each, evaluator=evaluator, device=device)
            for each in (settings, halfway)
        )
        _thought(half, batch)
        works = lambda: _thought(search, batch), lambda: half.evaluate_only(simulations)
        searched, alone = (trees * simulations / took for took in in_turns(works, batch.device))
    return SearchBench(
        game=game.name,
        device=device,
        trees=trees,
        simulations=simulations,
        simulations_per_s=searched,
        evaluations_per_s=alone,
        ratio=searched / alone if searched and alone else None,
        rollouts_per_s=rolled,
        rollouts_per_s_1=single,
        threads=lanes(),
        eager=eager,
    )


def _rollouts_per_s(batch: Batch, settings: Settings, threads: int | None) -> float:
    device = batch.device
    search = Search(batch.game, batch.size, settings, device=device.name, threads=threads)
    took = best_of(lambda: _thought(search, batch), device)
    return batch.size * settings.simulations / took


def _until_a_seat_moves(batch: Batch) -> None:
    """Tables whose game has just ended begin anew."""
    batch.settle()
    while (over := batch.device.get(batch.turns()) < 0).any():
        states = batch.host()
        fresh = Batch(batch.game, batch.size, seed=2)
        fresh.settle()
        states[over] = fresh.states[over]
        batch.states = batch.device.put(states)


def _thought(search: Search, batch: Batch) -> None:
    search.run(batch.states, streams(1, "search", batch.size))


def recipe_evaluator(game: Game, device: str, eager: bool = False) -> Any:
    """The network of a game's recipe, untrained: weights do not change its speed."""
    from ..nets.evaluate import NetEvaluator
    from ..recipes import names, recipe

    if game.name not in names():
        return None
    return NetEvaluator(recipe(game.name).network(game, 0), device, eager=eager)


def bench_net(name: str, device: str) -> dict[str, Any]:
    """Milliseconds for one view, and views a second by batch.

    Of games with networks of values also how long a decision takes, and actions judged a second.
    """
    game = load(name)
    evaluator = recipe_evaluator(game, device)
    if evaluator is None:
        raise GameError(f"{name} has no recipe, so no network of its own")
    sizes = (1, 16, 64, 256, 1024) + ((4096, 16384, 32768) if device == "cuda" else ())
    told: dict[str, Any] = {"game": name, "device": device, "views_per_s": {}}
    for size in sizes:
        told["views_per_s"][size] = _views_per_s(game, evaluator, device, size)
    told["latency_ms"] = 1000 / told["views_per_s"][1]
    if "priv" in (game.view.names or ()):
        told["decision_us"] = decision_us(name)
        speeds = {size: evaluations_per_s(game, device, size) for size in TABLES[device]}
        told["evaluations_per_s_by_tables"] = speeds
        told["evaluations_per_s"] = max(speeds.values())
    return told


def evaluations_per_s(game: Game, device: str, size: int) -> float:
    """Actions a second that a network of values judges, at so many tables on the device."""
    import torch

    from ..bidding.bilinear import ChildValues

    batch = Batch(game, size, device=device, seed=1)
    batch.wander(6)
    _until_a_seat_moves(batch)
    turns, (lists, counts) = batch.turns(), batch.actions()
    views = torch.zeros(size, game.view_size, device=device)
    batch.observe(turns, views)
    legal, numbers = (torch.as_tensor(each, device=device) for each in (lists, counts))
    inside = torch.arange(legal.shape[1], device=device) < numbers[:, None]
    tables, actions = inside.nonzero()[:, 0], legal[inside].long()
    judge = ChildValues(_value_net(game), device)
    took = best_of(lambda: judge.answer(views, tables, actions), batch.device)
    return len(tables) / took


def _value_net(game: Game) -> Any:
    """NetCompBilin for a game's views, untrained."""
    from ..bidding.bilinear import CompBilinConfig, NetCompBilin

    priv, pub = (game.view[name].shape[0] for name in ("priv", "pub"))
    return NetCompBilin(CompBilinConfig(priv, pub))


def decision_us(name: str) -> dict[str, float]:
    """Microseconds a network of values needs to look at all that can follow, on one core.

    opening: at the first decision, where most can; game: the mean over played games. A process of
    its own measures, because NumPy's libraries start their threads when they are loaded.
    """
    code = "import sys; from kibitz.bench import networks; networks.print_decision_us(sys.argv[1])"
    env = {**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
    command = [sys.executable, "-c", code, name]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def print_decision_us(name: str) -> None:
    """The same as JSON, with as many threads as this process has."""
    from ..bidding.bilinear import OneTable

    game = load(name)
    judge = OneTable(_value_net(game))
    tables = [_decisions(game, seed) for seed in range(20)]
    told = {
        "opening": _microseconds(judge, [table[0] for table in tables]),
        "game": _microseconds(judge, [each for table in tables for each in table]),
    }
    print(json.dumps(told))


def _decisions(game: Game, seed: int) -> list[tuple[Any, Any]]:
    """The views and legal actions of a game between players that come with it."""
    from ..arena.table import Table
    from ..players import player

    table, met = Table(game, seed=seed), []
    players = [player(name, game) for name in list(game.players)[: game.seats]]
    while not table.over:
        sight = table.sight()
        met.append((sight.views[0], np.array(sight.actions[0])))
        table.play(table.ask(players[table.turn]))
    return met


def _microseconds(judge: Any, decisions: list[tuple[Any, Any]]) -> float:
    """The mean over decisions, each at its best of some times: the rest is disturbance."""
    for each in decisions:
        judge(*each)
    took = [
        min(seconds(lambda: judge(*each)) for _ in range(2 * REPEATS))  # noqa: B023
        for each in decisions
    ]
    return 1e6 * sum(took) / len(took)


def _views_per_s(game: Game, evaluator: Any, device: str, size: int) -> float:
    batch = Batch(game, size, device=device, seed=1)
    batch.wander(6)
    room = evaluator.room(size, game.view_size)
    batch.observe(np.zeros(size, np.int64), room)
    rounds = max(3, 512 // size)
    took = best_of(lambda: [evaluator(room) for _ in range(rounds)], batch.device)
    return size * rounds / took
