"""The command that holds a game to the contract."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .app import (
    Device,
    GameName,
    Json,
    OptionTexts,
    Seed,
    app,
    err,
    load_game,
    options_of,
    out,
    print_json,
)

if TYPE_CHECKING:
    from ..contract import Result

KEPT, BROKEN, NOT = "[green]kept  [/green]", "[red]BROKEN[/red]", "[yellow]not   [/yellow]"
SILENCE = 2.0  # seconds after which somebody who waits learns what is being done


@app.command(epilog="Example: kibitz check ./my_game.py")
def check(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer games, under the default options alone.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PROMISE", help="Only this one; may be repeated.")
    ] = None,
    write_playthrough: Annotated[
        Path | None, typer.Option(help="Record one game to this file instead, for the tests.")
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Hold a game to the contract: every promise, with what broke it.

    Without --option under its defaults, its presets, and its smallest and largest options.
    """
    talk = Talk()
    from ..contract import GAMES, QUICK_GAMES, playthrough
    from ..contract import check as promises

    if write_playthrough is not None:
        write_playthrough.write_text(playthrough(load_game(name, option), seed), encoding="utf-8")
        return
    results = promises(
        name,
        options=options_of(option) if option or quick else None,
        seed=seed,
        games=QUICK_GAMES if quick else GAMES,
        device=device,
        only=only or (),
        progress=talk.wait,
    )
    found = list(results if as_json else talk.show(results))
    broken = [r for r in found if not r.passed]
    missing = ([] if only else _promises_not_tried(found)) + (
        [] if option else _options_not_tried(name, found)
    )
    if as_json:
        verdict = {"passed": not broken, "quick": quick, "not_tried": missing}
        print_json({"game": name, **verdict, "promises": [vars(r) for r in found]})
    else:
        so_far = f" so far, in {QUICK_GAMES} games" if quick else " so far" if only else ""
        talk.say(escape(_summary(found, so_far, missing)))
    raise typer.Exit(1 if broken else 0)


class Talk:
    """Prints results as they come and, in long silences, what is being done."""

    def __init__(self) -> None:
        self.spoken = time.perf_counter()

    def wait(self, doing: str) -> None:
        if time.perf_counter() - self.spoken > SILENCE:
            err.print(f"... {doing}", highlight=False, markup=False, style="dim", soft_wrap=True)
            self.spoken = time.perf_counter()

    def say(self, line: str, details: str = "") -> None:
        out.print(line, highlight=False, soft_wrap=True)
        for detail in details.splitlines():
            out.print(f"       {detail}", highlight=False, markup=False, soft_wrap=True)
        self.spoken = time.perf_counter()

    def show(self, results: Iterator[Result]) -> Iterator[Result]:
        """A line for each promise under the first options, and one for each other option set."""
        for number, (options, group) in enumerate(itertools.groupby(results, lambda r: r.options)):
            found = []
            for result in group:
                found.append(result)
                if number == 0 or not result.passed:
                    under = escape(f" ({options})") if number else ""
                    line = f"{_mark(result)} {result.promise}{under}{_dim(result.seconds)}"
                    self.say(line, result.message)
                yield result
            if number and all(r.passed for r in found):
                kept = f"{sum(map(was_kept, found))} promises: {options}"
                self.say(f"{KEPT} {escape(kept)}{_dim(sum(r.seconds for r in found))}")


def was_kept(result: Result) -> bool:
    """Whether a promise was tried and held."""
    return result.passed and not result.message


def _promises_not_tried(found: list[Result]) -> list[str]:
    from ..contract import PROMISES

    tried = {r.promise for r in found if was_kept(r) or not r.passed}
    return [p.__name__ for p in PROMISES if p.__name__ not in tried]


def _options_not_tried(name: str, found: list[Result]) -> list[str]:
    from ..contract import option_sets, shown_options
    from ..games import load

    sets = [shown_options(options) for options in option_sets(load(name))]
    return [shown for shown in sets if shown not in {"", *(r.options for r in found)}]


def _summary(found: list[Result], so_far: str, missing: list[str]) -> str:
    if broken := sum(not r.passed for r in found):
        return f"{_counted(broken)} broken; mend this first, then more is tried"
    left = f"; not tried: {', '.join(missing)}" if missing else ""
    sets = len({r.options for r in found})
    under = f" under {sets} option sets" if sets > 1 else ""
    return f"{_counted(len({r.promise for r in found if was_kept(r)}))} kept{under}{so_far}{left}"


def _counted(promises: int) -> str:
    return f"{promises} promise{'' if promises == 1 else 's'}"


def _dim(seconds: float) -> str:
    return f" [dim]{seconds:.1f} s[/dim]"


def _mark(result: Result) -> str:
    if not result.passed:
        return BROKEN
    return NOT if result.message else KEPT
