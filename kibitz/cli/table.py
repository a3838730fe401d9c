"""Commands for the table: what games there are, and playing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from ..arena.table import Table
    from ..game import Game

# What there is ----------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz games liars_dice --option dice=1,2")
def games(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[GAME]", help="One game, with its options.", autocompletion=game_names
        ),
    ] = None,
    option: OptionTexts = None,
    as_json: Json = False,
) -> None:
    """List the games, or describe one: its rules, options, presets and players."""
    from ..games import names, summary

    if name is not None:
        _show_game(name, load_game(name, option), as_json)
        return
    if option:
        raise typer.BadParameter("--option is for one game: kibitz games GAME --option NAME=VALUE")
    summaries = {game: summary(game) for game in names()}
    if as_json:
        print_json(summaries)
        return
    grid = Grid.grid(padding=(0, 2))
    for game, line in summaries.items():
        grid.add_row(f"[bold]{game}[/bold]", escape(line.partition(": ")[2] or line))
    out.print(grid)


def _show_game(name: str, game: Game, as_json: bool) -> None:
    from ..games import rulebook
    from ..players import names

    description, players = game.describe(), names(game)
    if as_json:
        sizes = {"seats": game.seats, "players": players, "presets": dict(game.presets)}
        print_json({**description, **sizes})
        return
    out.print(rulebook(name) + "\n", highlight=False, markup=False)
    out.print("[bold]Options[/bold] (--option NAME=VALUE), with their present values:")
    grid = Grid.grid(padding=(0, 2))
    for option, value in description["options"].items():
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
        grid.add_row(escape(f"  {option}={shown}"), escape(type(game.options).help(option)))
    out.print(grid)
    if game.presets:
        presets = escape(", ".join(game.presets))
        out.print(f"[bold]Presets[/bold] (--option preset=NAME): {presets}")
    out.print("[bold]Players[/bold]: " + escape(", ".join(players)))


# At the table -----------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz play liars_dice --against threshold --option dice=3,3")
def play(
    name: GameName,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            "-a",
            help="The other players, in seat order, or one for all other seats; by default the "
            "strongest baseline.",
        ),
    ] = None,
    option: OptionTexts = None,
    seat: Annotated[int, typer.Option(help="The seat that you take.")] = 0,
    hint: Annotated[
        str | None, typer.Option(help="The player that gives hints; by default the strongest one.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the record of the game to this file.")
    ] = None,
    seed: DrawnSeed = None,
) -> None:
    """Play a game in the terminal against players of your choice."""
    from ..arena.analysis import strongest
    from ..chance import fresh_seed
    from ..games import rulebook
    from ..players import player
    from ..terminal import LeftTheTable, Person, play_game

    game = load_game(name, option)
    baseline = next(iter(game.players), "random")
    texts = against or [baseline]
    texts = texts * (game.seats - 1) if len(texts) == 1 else texts
    others = [player(text, game) for text in texts]
    if len(others) != game.seats - 1:
        raise typer.BadParameter(
            f"{game.name} needs {game.seats - 1} other players, not {len(others)}"
        )
    if save is not None and (save.is_dir() or not save.parent.is_dir()):
        raise typer.BadParameter(f"--save {save}: that is a folder, or its folder does not exist")
    adviser = player(hint, game) if hint else strongest(game)
    person = Person(out, adviser, rulebook(name), out.input)
    seed = fresh_seed() if seed is None else seed
    try:
        tables = play_game(game, person, others, seat, seed)
    except LeftTheTable:
        out.print(f"You left the table. The same deals again: --seed {seed}", highlight=False)
        return
    out.print(f"The same deals again: --seed {seed}", highlight=False)
    if save is not None:
        _save_records(name, tables, save)


def _save_records(name: str, tables: list[Table], save: Path) -> None:
    """Write one file per table: a match of several rounds has several."""
    from ..games import names

    packaged = name.lower().replace("-", "_") in names()  # their records name the game
    for k, table in enumerate(tables):
        file = save.with_stem(f"{save.stem}-{k + 1}") if len(tables) > 1 else save
        table.save(file)
        words = file if packaged else f"{name} {file}"
        out.print(f"Saved: kibitz replay {words}", highlight=False, markup=False)


@app.command(epilog="Example: kibitz referee localhost 1234 --player alphabeta")
def referee(
    host: Annotated[str, typer.Argument(metavar="HOST", help="Where the referee is.")],
    port: Annotated[int, typer.Argument(metavar="PORT", min=1, max=65535)],
    who: Annotated[str, typer.Option("--player", help="Who plays, such as alphabeta.")],
    name: Annotated[str, typer.Option(help="What the referee calls us.")] = "kibitz",
    clock: Annotated[
        float, typer.Option(min=0.1, max=86400, help="Seconds for all our moves together.")
    ] = 600.0,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Let the referee be on another machine.")
    ] = False,
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """Play a game of Escampe at a referee's table, over TCP."""
    from ..adapters import referee as client
    from ..players import player

    def watch(line: str) -> None:
        if not as_json:
            out.print(line, highlight=False, markup=False, soft_wrap=True)

    name, game = client.checked_name(name), client.referee_game()
    addresses = client.addresses_of(host, port, anywhere=anywhere)
    first, second = player(who, game), player(who, game)
    client.rehearse(game, first)
    with client.Connection(addresses, clock + client.GRACE) as connection:
        seated = client.Client(game, second, clock, seed=seed, watch=watch)
        report = seated.play(connection, name)
    watch(report.sentence)
    if as_json:
        print_json(report.as_json())


@app.command(epilog="Example: kibitz replay game.txt --ply 3")
def replay(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[GAME] FILE",
            help="A record written by kibitz. It names its game; a game of your own needs a path.",
        ),
    ],
    ply: Annotated[int | None, typer.Option(help="Stop before this decision.")] = None,
    seen_by: Annotated[
        str | None,
        typer.Option("--as", metavar="SEAT", help="Show only what a seat, or `onlooker`, saw."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a recorded game, or the position before one of its decisions."""
    from ..arena.table import open_record

    if len(words) > 2:
        raise typer.BadParameter(f"give a game and a file, two words, not {len(words)}")
    *name, file = words
    table = open_record(file, name[0] if name else None, ply)
    if seen_by is not None:
        _show_seen(table, _onlooker_or_seat(table, seen_by), as_json)
    elif as_json:
        events = [{"seat": e.seat, "action": e.action, "text": e.text} for e in table.events]
        position = {"seed": table.seed, "position": table.text(), "turn": table.turn}
        scores = table.scores if table.over else None
        print_json({**position, "events": events, "choices": table.choices, "scores": scores})
    else:
        for event in table.events:
            out.print(f"{_mover(event.seat):>7}  {event.text}", highlight=False, markup=False)
        out.print(f"\n{table.text()}", highlight=False, markup=False)
        out.print(_whose_turn(table), markup=False)


def _mover(seat: int) -> str:
    return "chance" if seat < 0 else f"seat {seat}"


def _onlooker_or_seat(table: Table, text: str) -> int:
    """The seat, or ONLOOKER, that a text names."""
    from ..game import ONLOOKER

    if text.strip().lower() == "onlooker":
        return ONLOOKER
    if not text.strip().isdecimal():
        raise typer.BadParameter(f"--as {text}: give a seat, such as 0, or onlooker")
    return table.game.seat(int(text))


def _show_seen(table: Table, seat: int, as_json: bool) -> None:
    """Show a record without what a seat, or an onlooker, could not know."""
    heard = [(event.seat, event.heard_by(seat)) for event in table.events]
    heard = [(mover, news) for mover, news in heard if news]
    if as_json:
        events = [{"seat": mover, "text": news} for mover, news in heard]
        print_json({"turn": table.turn, "events": events, "seen": table.seen(seat)})
        return
    for mover, news in heard:
        out.print(f"{_mover(mover):>7}  {news}", highlight=False, markup=False)
    out.print(f"\n{table.seen(seat)}", highlight=False, markup=False)


def _whose_turn(table: Table) -> str:
    if table.over:
        return f"scores {table.scores}"
    if table.turn < 0:
        return "the record ends within a deal: chance is next"
    return f"seat {table.turn} to move: {', '.join(table.choices)}"
