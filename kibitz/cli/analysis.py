"""Commands that show what a player thinks of a position, and what it does in its games."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.markup import escape
from rich.table import Table as Grid

from .app import (
    Device,
    DrawnSeed,
    GameName,
    Json,
    OptionTexts,
    ProgressBar,
    Seed,
    app,
    command_with,
    err,
    game_names,
    load_game,
    or_none,
    out,
    print_json,
)

if TYPE_CHECKING:
    from ..arena.study import Study
    from ..arena.table import Table
    from ..game import Game
    from ..players import Candidate, Thought

SHOWN = 12  # candidates
DEEDS_SHOWN = 30


@dataclass(frozen=True)
class Analysis:
    """The options of `kibitz analyse`."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[GAME]",
            help="A game; not needed with --record.",
            autocompletion=game_names,
        ),
    ] = None
    position: Annotated[
        str | None,
        typer.Argument(
            metavar="[POSITION]",
            help="A position as `kibitz replay` prints it; by default a game's first decision.",
        ),
    ] = None
    record: Annotated[Path | None, typer.Option(help="Take the position from a record.")] = None
    ply: Annotated[int | None, typer.Option(help="Which decision of the record.")] = None
    player: Annotated[
        str | None, typer.Option(help="The player that thinks; by default the strongest one.")
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(help="Think for this long. Ctrl-C ends it early, with the result so far."),
    ] = None
    lines: Annotated[int, typer.Option(min=1, help="How many lines of play to show.")] = 3
    option: OptionTexts = None
    seed: Seed = 1
    as_json: Json = False

    def table(self) -> tuple[Game, Table | str | None]:
        """The game, and the position as a text or a table."""
        from ..arena.table import open_record

        if self.record is None:
            if self.name is None:
                raise typer.BadParameter("name a game, or give a record with --record FILE")
            if self.ply is not None:
                raise typer.BadParameter("--ply needs a record: --record FILE --ply N")
            return load_game(self.name, self.option), self.position
        if self.position is not None or self.option:
            raise typer.BadParameter("a record has its own position and options")
        table = open_record(self.record, self.name, self.ply)
        return table.game, table


@command_with(
    Analysis,
    epilog="Examples: kibitz analyse beasty_bar --seconds 5; "
    "kibitz analyse --record game.txt --ply 7 --lines 5",
)
def analyse(asked: Analysis) -> None:
    """Show what a player thinks of a position: its moves, their values, and the play it expects."""
    from ..arena.analysis import analyse as thought_about
    from ..players import Inquiry
    from ..players.thought import belief_texts

    if asked.seconds is not None and not 0 < asked.seconds < 1e6:
        raise typer.BadParameter(f"--seconds {asked.seconds}: give a number above 0")
    game, table = asked.table()
    shown = Live(console=err, transient=True, auto_refresh=False)
    live = err.is_terminal and not asked.as_json

    def watch(thought: Thought) -> None:
        if live:
            shown.update(grid(thought, asked.lines), refresh=True)

    inquiry = Inquiry(lines=asked.lines, seconds=asked.seconds, watch=watch)
    with shown if live else nullcontext():
        thought = thought_about(game, table, asked.player, inquiry, asked.seed)
    if asked.as_json:
        print_json({"game": game.name, **thought.as_json()})
    else:
        out.print(grid(thought, asked.lines))
        for sentence in belief_texts(thought):
            out.print(escape(sentence), highlight=False)


def value_text(candidate: Candidate) -> str:
    """What a move is worth, or in how many plies it wins or loses."""
    if candidate.mate_in is None:
        return or_none(candidate.value, "+.3f")
    return f"{'wins' if candidate.mate_in > 0 else 'loses'} in {abs(candidate.mate_in)}"


def grid(thought: Thought, lines: int) -> Grid:
    """The candidates of a thought, the best first."""
    caption = f"{escape(thought.player)}, seat {thought.seat}"
    if thought.value is not None:
        caption += f": expects {thought.value:+.3f}"
    if thought.simulations:
        speed = thought.simulations / max(thought.seconds, 1e-9)
        caption += f"; {thought.simulations:,} simulations ({speed:,.0f} per second)"
        caption += f", {thought.nodes:,} nodes, depth {thought.depth}"
    elif thought.nodes:
        speed = thought.nodes / max(thought.seconds, 1e-9)
        caption += f"; depth {thought.depth}, {thought.nodes:,} nodes ({speed:,.0f} per second)"
    if thought.table_use is not None:
        caption += f", table {thought.table_use:.0%} full"
    table = Grid(title=caption, title_justify="left", title_style="")
    table.add_column("move")
    table.add_column("value", justify="right")
    searched = thought.table_use is None
    for heading in ("visits", "prior") if searched else ():
        table.add_column(heading, justify="right")
    table.add_column("expected to follow")
    for k, candidate in enumerate(thought.candidates[:SHOWN]):
        counts = (or_none(candidate.visits, ",d"), or_none(candidate.prior, ".1%"))
        table.add_row(
            escape(candidate.text),
            value_text(candidate),
            *(counts if searched else ()),
            escape(", ".join(candidate.line)) if k < lines else "",
        )
    if len(thought.candidates) > SHOWN:
        table.caption = f"and {len(thought.candidates) - SHOWN} more"
    return table


@app.command(epilog="Example: kibitz perft kuhn --depth 4")
def perft(
    name: GameName,
    position: Annotated[
        str | None,
        typer.Argument(metavar="[POSITION]", help="By default the beginning of a game."),
    ] = None,
    depth: Annotated[int, typer.Option(min=0, max=64, help="Moves to look ahead.")] = 4,
    bulk: Annotated[
        bool, typer.Option("--bulk", help="Count the last moves without playing them.")
    ] = False,
    divide: Annotated[
        bool, typer.Option("--divide", help="Count for every first move by itself.")
    ] = False,
    option: OptionTexts = None,
    as_json: Json = False,
) -> None:
    """Count all sequences of moves to a depth: the proof of a move generator."""
    from ..search.deepening import stripped, without_history
    from ..search.perft import divided
    from ..search.perft import perft as counted

    game = load_game(name, option)
    s = game.fresh() if position is None else game.read(position)
    bare = stripped(game)
    s, *_ = without_history(bare, s)
    if divide:
        parts = {str(bare.action_text(s, a)): n for a, n in divided(bare, s, depth).items()}
        if as_json:
            print_json(parts)
        for move, count in parts.items() if not as_json else ():
            out.print(f"{escape(move)}: {count:,}", highlight=False)
        return
    found = counted(bare, s, depth, bulk=bulk)
    if as_json:
        print_json({"nodes": found.nodes, "ended": found.ended, "nodes_per_s": found.nodes_per_s})
    else:
        out.print(
            f"{found.nodes:,} sequences of {depth} moves, {found.nodes_per_s:,.0f} per second",
            highlight=False,
        )


@app.command(epilog="Example: kibitz study dominion bmx -o kingdom=first_game --only buy")
def study(
    name: GameName,
    player: Annotated[
        str, typer.Argument(help="Who plays with itself; see kibitz games GAME.")
    ] = "champion",
    games: Annotated[int, typer.Option(min=1, help="How many games.")] = 300,
    only: Annotated[
        str, typer.Option(help="Count only actions whose text begins so, such as buy.")
    ] = "",
    option: OptionTexts = None,
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """What a player does in games with itself, how early, and how often those win who do it."""
    from ..arena.study import study as studied

    game = load_game(name, option)
    with ProgressBar(games, quiet=as_json) as update:
        found = studied(
            game,
            player,
            games=games,
            only=only,
            seed=seed,
            progress=lambda ended: update(ended, "games have ended"),
        )
    if as_json:
        print_json(found.as_json())
        return
    lengths = f"{found.decisions:.0f} decisions per game ({found.shortest} to {found.longest})"
    line = f"{found.games} games of {found.player} with itself, seed {found.seed}: {lengths}, "
    out.print(f"{line}{found.turns:.1f} turns per seat", highlight=False, markup=False)
    out.print(_deeds(found))
    if found.attention:
        shares = [f"{text} {share:.1%}" for text, share in found.attention.items()]
        looks = f"attends to: {', '.join(shares)}; the rest to the table as a whole"
        out.print(looks, highlight=False, markup=False)
    if found.rounds:
        out.print(_rounds(found))


@app.command(epilog="Example: kibitz model madn runs/madn/player.safetensors -o preset=madn_teams")
def model(
    name: GameName,
    file: Annotated[str, typer.Argument(help="The network of a run of muzero or muesli.")],
    games: Annotated[int, typer.Option(min=1, help="Games that it plays with itself.")] = 50,
    option: OptionTexts = None,
    device: Device = "cpu",
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """How well a network that imagines the game knows its rules, and what moves do."""
    from ..arena.imagined import model_quality

    game = load_game(name, option)
    with err.status("comparing ..."):
        found = model_quality(game, file, games=games, seed=seed, device=device)
    if as_json:
        print_json(found.as_json())
        return
    rows = {"moves that end the game": found.ends, "moves that do not": found.goes_on}
    for who, share in sorted(found.turns.items()):
        rows["the same seat goes on" if who == 0 else f"{who} seats on is next"] = share
    grid = Grid.grid(padding=(0, 2))
    for what, share in rows.items():
        grid.add_row(f"{what}, known", f"{or_none(share.share, '.2%')} of {share.moves:,}")
    grid.add_row("divergence of the odds of chance, nats", f"{found.chance_kl:.4f}")
    grid.add_row("throws of chance compared", f"{found.throws:,}")
    correlation = or_none(found.moves.correlation, ".3f")
    grid.add_row("values after the moves of a position, correlation with true ones", correlation)
    out.print(grid)


def _deeds(found: Study) -> Grid:
    table = Grid()
    table.add_column("action")
    for heading in ("seats", "times", "first at turn", "wins with", "wins without"):
        table.add_column(heading, justify="right")
    for deed in found.deeds[:DEEDS_SHOWN]:
        figures = f"{deed.share:.1%}", f"{deed.times:.1f}", f"{deed.first_turn:.1f}"
        wins = f"{deed.wins_with:.1%}", or_none(deed.wins_without, ".1%")
        table.add_row(escape(deed.text), *figures, *wins)
    if len(found.deeds) > DEEDS_SHOWN:
        table.caption = f"and {len(found.deeds) - DEEDS_SHOWN} more"
    return table


def _rounds(found: Study) -> Grid:
    from ..training import option_text

    table = Grid(title="Matches, as they stand before a round", title_justify="left")
    for heading in found.rounds[0].changed:
        table.add_column(heading)
    for heading in ("seat 0 wins the round", "the match", "±"):
        table.add_column(heading, justify="right")
    for value in found.rounds:
        options = map(option_text, value.changed.values())
        figures = value.wins_round, value.wins_match, value.error
        table.add_row(*options, *(f"{figure:.1%}" for figure in figures))
    return table
