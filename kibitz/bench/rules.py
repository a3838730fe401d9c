"""The speed of rules. Ratios are taken within one run."""

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
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..batch import Batch
from ..chance import streams
from ..devices import lanes
from ..game import Game, token
from ..games import load
from .timing import REPEATS, SECONDS, best_of, seconds
from .trusted import trusted_contest_all

if TYPE_CHECKING:
    import pyspiel

CPU_GAMES = 4096
GPU_GAMES = 1 << 20
GPU_VIEWS = 1 << 31  # numbers in the views of one launch


@dataclass(frozen=True)
class GpuSpeed:
    """Random play, views and whole games on a GPU."""

    device: str
    games: int
    """Played at once."""
    compile_s: float
    plies_per_s: float
    """One ply per launch."""
    plies_per_s_many_a_launch: float
    views_per_s: float
    """Into a torch tensor."""
    games_per_s: float
    match_games_per_s: float


@dataclass(frozen=True)
class RulesBench:
    """Random play. A ply is a decision of a seat; chance moves take time and are not counted."""

    game: str
    options: dict[str, object]
    threads: int
    players: tuple[str, str]
    """The players of whole games."""
    games_per_s_1: float
    """Whole games between players that see the true states."""
    match_games_per_s_1: float
    """Whole games as in matches: players see re-dealt copies, and every choice is checked."""
    match_ratio: float
    """`match_games_per_s_1` / `games_per_s_1`."""
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
    gpu: GpuSpeed | None = None

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "gpu": asdict(self.gpu) if self.gpu else {}}


def bench_rules(
    name: str,
    options: Mapping[str, object],
    device: str = "cpu",
    players: tuple[str, str] = ("random", "random"),
) -> RulesBench:
    """Measure a game's rules on one thread, on all threads, and for `cuda` on the GPU, too."""
    game = load(name, **options)
    compile_s, cached_start_s = start_seconds(name, options)
    one, full, rival = alternating_speeds(game)
    gpu = gpu_speed(game, players=players) if device == "cuda" else None
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
        plies_per_s_all=full,
        scaling=full / one,
        compile_s=compile_s,
        cached_start_s=cached_start_s,
        ratio_openspiel=one / rival if rival else None,
        openspiel_plies_per_s=rival,
        plies_per_s_gpu=gpu.plies_per_s if gpu else None,
        games_per_s_gpu=gpu.games_per_s if gpu else None,
        views_per_s_gpu=gpu.views_per_s if gpu else None,
        gpu=gpu,
    )


def alternating_speeds(game: Game) -> tuple[float, float, float | None]:
    """Best plies per second of one thread, of all, and of OpenSpiel, measured in turns."""
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
    """Whole games per second between two compiled players, which change seats, measured in turns.

    First with players that see the true states, then as in matches: players see re-dealt copies,
    and every choice is checked.
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
    for _ in range(1 + REPEATS):  # the first time includes compilation
        best = [
            min(so_far, seconds(work)) for so_far, work in zip(best, (trusted, honest), strict=True)
        ]
    return batch.size / best[0], batch.size / best[1]


def view_speed(batch: Batch) -> float:
    """Views per second, of games in progress."""
    batch.start()
    batch.wander(20)
    batch.settle()
    seats = batch.device.put(np.arange(batch.size) % batch.game.seats)
    views = np.zeros((batch.size, batch.game.view_size), np.float32)
    return batch.size / best_of(lambda: batch.observe(seats, views), batch.device, REPEATS)


# OpenSpiel, called from Python as its users do --------------------------------------------------


def _open_spiel_game(game: Game) -> pyspiel.Game | None:
    text = game.open_spiel(game.options) if game.open_spiel else None
    if text is None or importlib.util.find_spec("pyspiel") is None:
        return None
    import pyspiel

    return pyspiel.load_game(text)


def open_spiel_speed(rival: pyspiel.Game) -> float:
    """Plies per second of random play on one thread, with chance sampled from its odds."""
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


def start_seconds(name: str, options: Mapping[str, object]) -> tuple[float, float]:
    """Seconds from starting Python to the first plies, with an empty cache and with a full one."""
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
) -> GpuSpeed:
    """Plies/s at one ply per launch and at many, whole games/s, views/s into a torch tensor."""
    import torch

    batch = Batch(game, size, device="cuda")
    began = time.perf_counter()
    batch.wander(8)
    batch.device.synchronize()
    compile_s = time.perf_counter() - began
    rows = min(size, GPU_VIEWS // game.view_size)
    part = Batch.of(game, batch.states[:rows], batch.rngs[:rows], device="cuda")
    seats = batch.device.put(np.zeros(rows, np.int64))
    views = torch.zeros(rows, game.view_size, device="cuda")
    trusted, honest = contest_speeds(batch, players)
    return GpuSpeed(
        device=torch.cuda.get_device_name(),
        games=size,
        compile_s=compile_s,
        plies_per_s=size / _launch_seconds(batch, lambda: batch.wander(1)),
        plies_per_s_many_a_launch=100 * size / _launch_seconds(batch, lambda: batch.wander(100)),
        views_per_s=rows / _launch_seconds(part, lambda: part.observe(seats, views)),
        games_per_s=trusted,
        match_games_per_s=honest,
    )


def _launch_seconds(batch: Batch, launch: Callable[[], object]) -> float:
    """Seconds per launch, the best of several series of launches."""

    def series(length: int) -> float:
        batch.device.synchronize()
        began = time.perf_counter()
        for _ in range(length):
            launch()
        batch.device.synchronize()
        return time.perf_counter() - began

    series(3)
    length = max(3, int(SECONDS * 10 / series(10)))
    return min(series(length) for _ in range(REPEATS)) / length
