"""How fast the rules are. Ratios are taken within one run, because machines are noisy."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .batch import Batch, lanes
from .chance import streams
from .compiled import kernel
from .game import CHANCE, OVER, Game, GameError, choose, play, roll, token, turn
from .games import load
from .search.mcts import Search, Settings

CPU_GAMES = 4096
GPU_GAMES = 1 << 20
GPU_VIEWS = 1 << 31  # numbers of views at a time
SECONDS = 0.4  # a measurement's length
TABLES = {"cpu": (64, 1024), "cuda": (1024, 4096, 16384, 65536)}  # asked together, by device
REPEATS = 5  # the best of these counts: everything that disturbs makes it slower


@dataclass(frozen=True)
class RulesBench:
    """Random play: a ply is a decision of a seat; chance moves cost time and are not counted."""

    game: str
    options: dict[str, Any]
    threads: int
    players: tuple[str, str]
    """Who plays the whole games."""
    games_per_s_1: float
    """By players who are trusted with the true states."""
    match_games_per_s_1: float
    """As matches are played: on re-dealt copies, every choice checked."""
    match_ratio: float
    """The latter divided by the former."""
    views_per_s_1: float
    plies_per_s_1: float
    plies_per_s_all: float
    scaling: float
    compile_s: float
    cached_start_s: float
    ratio_openspiel: float | None
    openspiel_plies_per_s: float | None
    plies_per_s_gpu: float | None = None
    games_per_s_gpu: float | None = None
    views_per_s_gpu: float | None = None
    gpu: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def bench_rules(
    name: str,
    options: dict[str, Any],
    device: str = "cpu",
    players: tuple[str, str] = ("random", "random"),
) -> RulesBench:
    """Measure a game's rules on one thread, on all, and on the GPU where that is asked for."""
    game = load(name, **options)
    compile_s, cached_start_s = start_seconds(name, options)
    one, every, other = alternating_speeds(game)
    gpu = gpu_speed(game, players=players) if device == "cuda" else {}
    single = Batch(game, CPU_GAMES // 4, threads=1)
    trusted, honest = contest_speeds(single, players)
    return RulesBench(
        game=game.name,
        options=game.describe()["options"],
        threads=lanes(),
        players=players,
        games_per_s_1=trusted,
        match_games_per_s_1=honest,
        match_ratio=honest / trusted,
        views_per_s_1=view_speed(single),
        plies_per_s_1=one,
        plies_per_s_all=every,
        scaling=every / one,
        compile_s=compile_s,
        cached_start_s=cached_start_s,
        ratio_openspiel=one / other if other else None,
        openspiel_plies_per_s=other,
        plies_per_s_gpu=gpu.get("plies_per_s"),
        games_per_s_gpu=gpu.get("games_per_s"),
        views_per_s_gpu=gpu.get("views_per_s"),
        gpu=gpu,
    )


def alternating_speeds(game: Game) -> tuple[float, float, float | None]:
    """Best plies/s of one thread, of all, and of OpenSpiel, measured in turns."""
    single, full = (Batch(game, CPU_GAMES, threads=t) for t in (1, lanes()))
    rival = _open_spiel_game(game)
    best = [0.0, 0.0, 0.0]
    for _ in range(REPEATS):
        best[0] = max(best[0], wander_speed(single))
        best[1] = max(best[1], wander_speed(full))
        if rival is not None:
            best[2] = max(best[2], open_spiel_speed(rival))
    return best[0], best[1], best[2] or None


def wander_speed(batch: Batch) -> float:
    batch.wander(10)
    plies = max(10, int(SECONDS * 10 / _seconds(lambda: batch.wander(10))))
    return batch.size * plies / _seconds(lambda: batch.wander(plies))


def contest_speeds(batch: Batch, players: tuple[str, str]) -> tuple[float, float]:
    """Whole games per second between two compiled players, who change seats, in turns.

    First by players who are trusted with the true states, then as matches are played: on re-dealt
    copies, every choice checked.
    """
    seats, own = batch.game.seats, streams(1, "player", 2 * batch.size).reshape(-1, 2)
    sides = (np.arange(batch.size)[:, None] + np.arange(seats)) % 2
    sides, own = batch.device.put(sides), batch.device.put(own)
    tokens = [batch.device.put(np.array([token(batch.game, name)])) for name in players]

    def trusted() -> None:
        batch.start()
        batch.run(trusted_contest_all, *tokens, sides, batch.states, batch.rngs, own)
        batch.device.synchronize()

    def honest() -> None:
        batch.start()
        batch.contest(*players, sides, own)

    best = [math.inf, math.inf]
    for _ in range(1 + REPEATS):  # the first time is for setting up
        best = [
            min(each, _seconds(work)) for each, work in zip(best, (trusted, honest), strict=True)
        ]
    return batch.size / best[0], batch.size / best[1]


@kernel
def trusted_contest_all(first, end, step, one, other, sides, states, rngs, own):  # type: ignore[no-untyped-def]
    """Whole games of players who are trusted not to look at what they cannot know."""
    for i in range(first, end, step):
        s = states[i]
        who = turn(s)
        while who != OVER:
            if who == CHANCE:
                roll(s, rngs[i])
            elif sides[i, who] == 0:
                play(s, choose(one[0], s, who, own[i, 0]))
            else:
                play(s, choose(other[0], s, who, own[i, 1]))
            who = turn(s)


def view_speed(batch: Batch) -> float:
    """Views a second, of games that are under way."""
    batch.start()
    batch.wander(20)
    batch.settle()
    seats = batch.device.put(np.arange(batch.size) % batch.game.seats)
    views = np.zeros((batch.size, batch.game.view_size), np.float32)
    return batch.size / _best_of(lambda: batch.observe(seats, views), batch.device, REPEATS)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# OpenSpiel, driven from Python as its users do --------------------------------------------------


def _open_spiel_game(game: Game) -> Any:
    told = game.open_spiel(game.options) if game.open_spiel else None
    if told is None or importlib.util.find_spec("pyspiel") is None:
        return None
    import pyspiel

    return pyspiel.load_game(told)


def open_spiel_speed(rival: Any) -> float:
    """Plies a second of random play on one thread, chance sampled from its odds."""
    rng, plies, began = random.Random(1), 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        state = rival.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, odds = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, odds)[0])
            else:
                state.apply_action(rng.choice(state.legal_actions()))
                plies += 1
    return plies / (time.perf_counter() - began)


# Starting ---------------------------------------------------------------------------------------


def start_seconds(name: str, options: dict[str, Any]) -> tuple[float, float]:
    """Seconds from starting Python to the first plies: with an empty cache, and with a full one."""
    code = (
        "import json, sys; from kibitz.batch import Batch; from kibitz.games import load; "
        "Batch(load(sys.argv[1], **json.loads(sys.argv[2])), 64, threads=1).wander(10)"
    )
    path = str(Path(name).resolve()) if Path(name).exists() else name
    command = [sys.executable, "-c", code, path, json.dumps(options)]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "KIBITZ_CACHE": folder}
        runs = [
            _seconds(lambda: subprocess.run(command, env=env, check=True, capture_output=True))
            for _ in range(3)
        ]
    return runs[0], min(runs[1:])


# The GPU ----------------------------------------------------------------------------------------


def gpu_speed(
    game: Game, size: int = GPU_GAMES, players: tuple[str, str] = ("random", "random")
) -> dict[str, Any]:
    """Plies/s at one ply a launch and at many, whole games/s, and views/s into a torch tensor."""
    import torch

    batch = Batch(game, size, device="cuda")
    began = time.perf_counter()
    batch.wander(8)
    batch.device.synchronize()
    compile_s = time.perf_counter() - began
    some = min(size, GPU_VIEWS // game.view_size)
    seeing = Batch.of(game, batch.states[:some], batch.rngs[:some], device="cuda")
    seats = batch.device.put(np.zeros(seeing.size, np.int64))
    views = torch.zeros(seeing.size, game.view_size, device="cuda")
    trusted, honest = contest_speeds(batch, players)
    return {
        "device": torch.cuda.get_device_name(),
        "games": size,
        "compile_s": compile_s,
        "plies_per_s": size / _launch_seconds(batch, lambda: batch.wander(1)),
        "plies_per_s_many_a_launch": 100 * size / _launch_seconds(batch, lambda: batch.wander(100)),
        "views_per_s": seeing.size / _launch_seconds(seeing, lambda: seeing.observe(seats, views)),
        "games_per_s": trusted,
        "match_games_per_s": honest,
    }


def _launch_seconds(batch: Batch, launch: Callable[[], object]) -> float:
    """Seconds a launch, the best of several rows of launches."""

    def row(length: int) -> float:
        batch.device.synchronize()
        began = time.perf_counter()
        for _ in range(length):
            launch()
        batch.device.synchronize()
        return time.perf_counter() - began

    row(3)
    length = max(3, int(SECONDS * 10 / row(10)))
    return min(row(length) for _ in range(REPEATS)) / length


# Search and networks ------------------------------------------------------------------------------


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
        searched, alone = (trees * simulations / took for took in _in_turns(works, batch.device))
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
    took = _best_of(lambda: _thought(search, batch), device)
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


def _best_of(work: Callable[[], object], device: Any, times: int = 3) -> float:
    (took,) = _in_turns([work], device, times)
    return took


def _in_turns(
    works: Sequence[Callable[[], object]], device: Any, times: int = REPEATS
) -> list[float]:
    """The least seconds of each: what disturbs for a while disturbs them all."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(1 + times):  # the first time is for setting up
        for work, each in zip(works, took, strict=True):
            began = time.perf_counter()
            work()
            device.synchronize()
            each.append(time.perf_counter() - began)
    return [min(each[1:]) for each in took]


def recipe_evaluator(game: Game, device: str, eager: bool = False) -> Any:
    """The network of a game's recipe, untrained: weights do not change its speed."""
    from .nets.evaluate import NetEvaluator
    from .recipes import names, recipe

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

    from .nets.bilinear import ChildValues

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
    took = _best_of(lambda: judge.answer(views, tables, actions), batch.device)
    return len(tables) / took


def _value_net(game: Game) -> Any:
    """NetCompBilin for a game's views, untrained."""
    from .nets.bilinear import CompBilinConfig, NetCompBilin

    priv, pub = (game.view[name].shape[0] for name in ("priv", "pub"))
    return NetCompBilin(CompBilinConfig(priv, pub))


def decision_us(name: str) -> dict[str, float]:
    """Microseconds a network of values needs to look at all that can follow, on one core.

    opening: at the first decision, where most can; game: the mean over played games. A process of
    its own measures, because NumPy's libraries start their threads when they are loaded.
    """
    code = "import sys; from kibitz.bench import print_decision_us; print_decision_us(sys.argv[1])"
    env = {**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
    command = [sys.executable, "-c", code, name]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def print_decision_us(name: str) -> None:
    """The same as JSON, with as many threads as this process has."""
    from .nets.bilinear import OneTable

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
    from .arena.table import Table
    from .players import player

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
        min(_seconds(lambda: judge(*each)) for _ in range(2 * REPEATS))  # noqa: B023
        for each in decisions
    ]
    return 1e6 * sum(took) / len(took)


def _views_per_s(game: Game, evaluator: Any, device: str, size: int) -> float:
    batch = Batch(game, size, device=device, seed=1)
    batch.wander(6)
    room = evaluator.room(size, game.view_size)
    batch.observe(np.zeros(size, np.int64), room)
    rounds = max(3, 512 // size)
    took = _best_of(lambda: [evaluator(room) for _ in range(rounds)], batch.device)
    return size * rounds / took
