"""Training in one call: `kibitz.train("kuhn", minutes=1)` does what `kibitz train` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict, Unpack

from .devices import lanes
from .game import GameError
from .games import load
from .progress import ProgressBar
from .recipes import recipe as recipe_of
from .train.method import Training
from .train.report import line
from .train.run import Run
from .train.threads import torch_threads


class RunSettings(TypedDict, total=False):
    """Settings of a run, see `train.run.Run`."""

    device: str
    seed: int | None
    resume: bool
    refill: bool
    start: Path | None


def train(
    game: str | Path,
    out: str | Path | None = None,
    *,
    recipe: str = "default",
    change: Callable[[Training], Training] = lambda recipe: recipe,
    minutes: float | None = None,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[RunSettings],
) -> str:
    """Train a player of a game, by name or path; return the text that seats it.

    A line per iteration is printed, and a progress bar where there is a terminal.

    out: the folder of the run, `runs/NAME` unless given. recipe: see `recipes.recipe`. change: what
    to change about it, such as `lambda recipe: replace(recipe, games=64)`. minutes: stop after this
    time; otherwise after all iterations of the recipe. options: of the game.

    A trained player sits down like any other: `kibitz.match(game, train(...), "random")`.
    """
    seconds, chosen = seconds_of(minutes), change(recipe_of(game, recipe, **(options or {})))
    folder = Path("runs") / load(game).name if out is None else Path(out)
    run = Run(chosen, folder, **settings)
    try:
        watched(run, seconds)
        player = folder / "player.safetensors"
        run.champion(player, {"recipe": recipe, "iterations": run.standing.iteration})
    finally:
        run.close()
    if (report := folder / "report.txt").exists():
        say(report.read_text())
    text = chosen.player_text(player)
    shown = "".join(f" -o {key}={option_text(value)}" for key, value in chosen.options.items())
    say(f"Play it: kibitz play {game} --against {text}{shown}")
    return text


def seconds_of(minutes: float | None) -> float | None:
    if minutes is not None and not 0 <= minutes < math.inf:
        raise GameError(f"--minutes is 0 or more, not {minutes}")
    return None if minutes is None else 60 * minutes


def watched(run: Run, seconds: float | None) -> None:
    """Train with a progress bar, and print a line per iteration."""
    for remark in run.remarks:
        say(remark)
    threads = torch_threads(1 if run.recipe.searches else lanes())
    with threads, ProgressBar(run.recipe.iterations) as update:

        def stage(what: str, done: int, of: int) -> None:
            update(run.standing.iteration - 1, f"{what} {done}{f' of {of}' if of else ''}")

        run.train(seconds=seconds, progress=lambda row: say(line(row)), stage=stage)


def say(sentence: str) -> None:
    print(sentence, flush=True)


def option_text(value: object) -> str:
    """The value of an option as it is typed."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
