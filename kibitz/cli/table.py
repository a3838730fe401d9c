"""Commands for the table: what games there are, and playing them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

from .app import (
    DrawnSeed,
    GameName,
    Json,
    OptionTexts,
    app,
    game_names,
    load_game,
    out,
    print_json,
)

# What there is ----------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz games liars_dice")
def games(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[GAME]", help="One game, with its options.", autocompletion=game_names
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the games, or tell about one: its options, presets and players."""
    from ..games import names, summary

    if name is not None:
        _tell_game(name, as_json)
        return
    listed = {each: summary(each) for each in names()}
    if as_json:
        print_json(listed)
        return
    grid = Grid.grid(padding=(0, 2))
    for each, told in listed.items():
        grid.add_row(f"[bold]{each}[/bold]", escape(told.partition(": ")[2] or told))
    out.print(grid)


def _tell_game(name: str, as_json: bool) -> None:
    from ..games import load, rulebook
    from ..players import names

    game = load(name)
    told = {
        **game.describe(),
        "seats": game.seats,
        "players": names(game),
        "presets": dict(game.presets),
    }
    if as_json:
        print_json(told)
        return
    out.print(rulebook(name) + "\n", highlight=False, markup=False)
    out.print("[bold]Options[/bold] (--option NAME=VALUE), with their defaults:")
    grid = Grid.grid(padding=(0, 2))
    for option, default in told["options"].items():
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default).lower()
        grid.add_row(escape(f"  {option}={shown}"), escape(type(game.options).help(option)))
    out.print(grid)
    if game.presets:
        presets = escape(", ".join(game.presets))
        out.print(f"[bold]Presets[/bold] (--option preset=NAME): {presets}")
    out.print("[bold]Players[/bold]: " + escape(", ".join(told["players"])))


# At the table -----------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz play liars_dice --against threshold --option dice=3,3")
def play(
    name: GameName,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            "-a",
            help="The other players, in seat order; unless told, the strongest baseline.",
        ),
    ] = None,
    option: OptionTexts = None,
    seat: Annotated[int, typer.Option(help="Where you sit.")] = 0,
    hint: Annotated[
        str | None, typer.Option(help="Who gives hints; unless told, the same.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the record of the game to this file.")
    ] = None,
    seed: DrawnSeed = None,
) -> None:
    """Play a game in the terminal against players of your choice."""
    from ..chance import fresh_seed
    from ..games import rulebook
    from ..players import player
    from ..terminal import LeftTheTable, Person, play_game

    game = load_game(name, option)
    strongest = next(iter(game.players), "random")
    others = [player(text, game) for text in against or [strongest] * (game.seats - 1)]
    if len(others) != game.seats - 1:
        raise typer.BadParameter(
            f"{game.name} needs {game.seats - 1} other players, not {len(others)}"
        )
    if save is not None and (save.is_dir() or not save.parent.is_dir()):
        raise typer.BadParameter(f"--save {save}: that is no file in a folder that there is")
    person = Person(out, player(hint or strongest, game), rulebook(name), out.input)
    seed = fresh_seed() if seed is None else seed
    try:
        tables = play_game(game, person, others, seat, seed)
    except LeftTheTable:
        out.print(f"You left the table. The same deals again: --seed {seed}", highlight=False)
        return
    out.print(f"The same deals again: --seed {seed}", highlight=False)
    if save is not None:
        _save_records(name, tables, save)


def _save_records(name: str, tables: list[Any], save: Path) -> None:
    """Write one file a table: a match of rounds has several."""
    for k, table in enumerate(tables):
        file = save.with_stem(f"{save.stem}-{k + 1}") if len(tables) > 1 else save
        table.save(file)
        out.print(f"Saved: kibitz replay {name} {file}", highlight=False, markup=False)


@app.command(epilog="Example: kibitz replay liars_dice game.txt --ply 3")
def replay(
    name: GameName,
    file: Annotated[Path, typer.Argument(help="A record written by kibitz.")],
    ply: Annotated[int | None, typer.Option(help="Stop before this decision.")] = None,
    as_json: Json = False,
) -> None:
    """Show a recorded game, or the position before one of its decisions."""
    from ..arena.table import read_record, recorded_options, replay
    from ..games import load

    text, game = read_record(file), load(name)
    options = type(game.options).read(recorded_options(text))
    table = replay(game.under(options), text, ply)
    if as_json:
        events = [{"seat": e.seat, "action": e.action, "text": e.text} for e in table.events]
        position = {"seed": table.seed, "position": table.text(), "turn": table.turn}
        scores = table.scores if table.over else None
        print_json({**position, "events": events, "choices": table.choices, "scores": scores})
        return
    for event in table.events:
        who = "chance" if event.seat < 0 else f"seat {event.seat}"
        out.print(f"{who:>7}  {event.text}", highlight=False, markup=False)
    out.print(f"\n{table.text()}", highlight=False, markup=False)
    out.print(_whose_turn(table), markup=False)


def _whose_turn(table: Any) -> str:
    if table.over:
        return f"scores {table.scores}"
    if table.turn < 0:
        return "the record ends within a deal: chance is next"
    return f"seat {table.turn} to move: {', '.join(table.choices)}"
