"""How fast the rules are. Ratios are taken within one run."""

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
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import Batch
from ..chance import streams
from ..devices import lanes
from ..game import Game, token
from ..games import load
from .timing import REPEATS, SECONDS, best_of, seconds
from .trusted import trusted_contest_all

CPU_GAMES = 4096
GPU_GAMES = 1 << 20
GPU_VIEWS = 1 << 31  # numbers of views at a time


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
    plies = max(10, int(SECONDS * 10 / seconds(lambda: batch.wander(10))))
    return batch.size * plies / seconds(lambda: batch.wander(plies))


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
            min(each, seconds(work)) for each, work in zip(best, (trusted, honest), strict=True)
        ]
    return batch.size / best[0], batch.size / best[1]


def view_speed(batch: Batch) -> float:
    """Views a second, of games that are under way."""
    batch.start()
    batch.wander(20)
    batch.settle()
    seats = batch.device.put(np.arange(batch.size) % batch.game.seats)
    views = np.zeros((batch.size, batch.game.view_size), np.float32)
    return batch.size / best_of(lambda: batch.observe(seats, views), batch.device, REPEATS)


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
            seconds(lambda: subprocess.run(command, env=env, check=True, capture_output=True))
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
