"""Commands for labelled positions: generate, check, convert."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .app import (
    GameName,
    Json,
    ProgressBar,
    Seed,
    SkipBad,
    command_with,
    complain,
    data_app,
    print_json,
)
from .learning import say

if TYPE_CHECKING:
    from ..game import Game
    from ..train.labelled.files import BadRow
    from ..train.labelled.generate import Generation

SHOWN = 20  # bad records

FileFormat = Annotated[
    Literal["jsonl", "shards"],
    typer.Option("--format", help="JSON lines, or shards of arrays, a sixth of the size."),
]


@dataclass(frozen=True)
class Generating:
    """The options of `kibitz generate`."""

    name: GameName
    out_folder: Annotated[Path, typer.Option("--out", help="The folder of the data set.")]
    positions: Annotated[int, typer.Option(min=1, help="Positions in all.")]
    seed: Seed = 0
    threads: Annotated[int | None, typer.Option(min=1, help="By default one per core.")] = None
    depth: Annotated[str, typer.Option(help="Plies of the searches that label: 5-7, or 6.")] = ""
    random_moves: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Share of the moves drawn at random.")
    ] = None
    move_depth: Annotated[
        int | None, typer.Option(min=1, help="Plies of the search for the other moves.")
    ] = None
    judge: Annotated[
        str,
        typer.Option(metavar="NAME|FILE", help="Whose values count: a network of integers, say."),
    ] = ""
    format: FileFormat = "jsonl"
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a data set, or add positions to it.")
    ] = False

    def generation(self) -> Generation:
        """The game's own, with what was asked for."""
        from ..recipes import generation

        found = generation(self.name)
        given = {"random_moves": self.random_moves, "move_depth": self.move_depth}
        changes = {name: value for name, value in given.items() if value is not None}
        schedule = replace(found.schedule, **changes)  # type: ignore[arg-type]
        if self.depth:
            schedule = replace(schedule, depths=depths_in(self.depth))
        return replace(found, schedule=schedule, judge=self.judge or found.judge)


def depths_in(text: str) -> tuple[int, int]:
    """The least and the most of "5-7" or "6"."""
    depths = re.fullmatch(r"\s*(\d{1,3})\s*(?:-\s*(\d{1,3})\s*)?", text)
    if depths is None:
        raise typer.BadParameter(f"--depth {text!r} should be a number or two, such as 5-7")
    return int(depths[1]), int(depths[2] or depths[1])


@command_with(
    Generating, epilog="Example: kibitz generate escampe --out data/first --positions 100000"
)
def generate(asked: Generating) -> None:
    """Generate positions labelled by searches. Stop it at any time; --resume continues."""
    from ..train.labelled.generate import generate as generated

    began = time.monotonic()
    with ProgressBar(asked.positions) as update:

        def progress(done: int, new: int) -> None:
            speed = new / (time.monotonic() - began)
            update(done, f"{speed:,.0f} positions per second")

        new = generated(
            asked.generation(),
            asked.out_folder,
            asked.positions,
            seed=asked.seed,
            format=asked.format,
            threads=asked.threads,
            resume=asked.resume,
            progress=progress,
        )
    speed = new / (time.monotonic() - began)
    say(f"{new:,} new positions in {asked.out_folder}, {speed:,.0f} per second")
    say(f"Learn from them: kibitz train {asked.name} --data {asked.out_folder} --out runs/first")


@data_app.command("check", epilog="Example: kibitz data check escampe data/first")
def check(
    name: GameName,
    sources: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files or folders.")],
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Check labelled positions, and say what they are like. Status 1 if a record is bad."""
    from ..games import load
    from ..train.labelled.facts import facts
    from ..train.labelled.files import read_source
    from ..train.labelled.rows import Rows

    game = load(name)
    found = [read_source(game, source) for source in sources]
    bad = [row for _, wrong in found for row in wrong]
    if bad and not skip_bad:
        complain_of(game, bad)
    figures = {**facts(Rows.joined([rows for rows, _ in found])), "bad": len(bad)}
    if as_json:
        print_json(figures)
    else:
        for what, figure in figures.items():
            say(f"{what.replace('_', ' '):<20} {'-' if figure is None else f'{figure:,.6g}'}")
    if bad and not skip_bad:
        raise typer.Exit(1)


def complain_of(game: Game, bad: list[BadRow]) -> None:
    """Name some bad records, and say what a good one has."""
    from ..train.labelled.rows import record_of

    for row in bad[:SHOWN]:
        complain(str(row))
    columns = record_of(game)
    width = max(map(len, columns))
    lines = [f"  {column:<{width}}  {columns[column].meaning}" for column in columns]
    complain("\n".join([f"a record of {game.name} has:", *lines]))


@data_app.command("convert", epilog="Example: kibitz data convert escampe data/first data/second")
def convert(
    name: GameName,
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A file or a folder.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help="The folder to write.")],
    format: FileFormat = "shards",
    skip_bad: SkipBad = False,
) -> None:
    """Write a data set in another format."""
    from ..games import load
    from ..train.labelled.files import convert as converted

    positions, skipped = converted(load(name), source, target, format, skip_bad=skip_bad)
    say(f"{positions:,} positions in {target}; {skipped:,} bad records skipped")
