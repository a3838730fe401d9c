"""Commands about strength: matches, ratings, and what a perfect opponent would win."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

from .app import (
    Device,
    DrawnSeed,
    GameName,
    Json,
    OptionTexts,
    Watch,
    app,
    err,
    load_game,
    one_torch_thread,
    out,
    print_json,
    printable,
)

if TYPE_CHECKING:
    from ..arena.match import MatchResult

# Strength ---------------------------------------------------------------------------------------


@app.command(
    "match",
    epilog="Example: kibitz match liars_dice honest threshold --games 8000 --save results.sqlite",
)
def match_(
    name: GameName,
    players: Annotated[
        list[str], typer.Argument(help="Two players or more; see kibitz games GAME.")
    ],
    games: Annotated[int, typer.Option(help="Games in all: 2000 are 1000 pairs.")] = 2000,
    option: OptionTexts = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Keep results in this SQLite file, and go on where it stopped: with the seed "
            "of the same match in the file unless --seed says another."
        ),
    ] = None,
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """Play a match over the same deals with teams exchanged; how often the first player wins."""
    from ..arena.match import games_played, match
    from ..arena.rating import saved_match

    game = load_game(name, option)
    if (whole := games_played(game, len(players), games)) != games:
        remark = f"{whole} games are played, not {games}: every deal in all rotations of the teams"
        err.print(remark, highlight=False, soft_wrap=True)
    with Watch(whole, quiet=as_json) as moved:
        settings: dict[str, Any] = {"games": games, "seed": seed}
        settings["progress"] = lambda now: moved(now.games, escape(one_line(now)))
        if save is not None:
            result = saved_match(save, game, *players, **settings)
        else:
            result = match(game, *players, **settings)
    if as_json:
        print_json(result.as_json())
    else:
        _show_match(result)


def _show_match(result: MatchResult) -> None:
    counts = f"{result.games} games, {result.draws} draws, seed {result.seed}"
    line = f"{one_line(result)}; {counts}"
    out.print(line, highlight=False, markup=False, soft_wrap=True)
    score = result.score()
    sure = f"95 % interval {score.low:+.4f} to {score.high:+.4f}"
    out.print(f"mean score {score.mean:+.4f} ({sure})", highlight=False)
    seats = ", ".join(f"seat {k} {rate:.1%}" for k, rate in enumerate(result.by_seat))
    out.print(f"wins by seat: {seats}", highlight=False)


def one_line(result: MatchResult) -> str:
    others = ", ".join(result.players[1:])
    sure = f"95 % interval {result.low:.1%} to {result.high:.1%}"
    rate = f"wins {result.win_rate:.1%} ({sure}), Elo {result.elo:+.0f}"
    return f"{result.players[0]} against {others}: {rate}"


@app.command(epilog="Example: kibitz ratings results.sqlite")
def ratings(
    file: Annotated[Path, typer.Argument(help="Results kept by kibitz match --save.")],
    game: Annotated[str | None, typer.Option(help="Only this game.")] = None,
    as_json: Json = False,
) -> None:
    """Elo ratings of everybody in a file of results; the players of a game average 0."""
    from ..arena.rating import ratings as rated
    from ..arena.rating import unrated_games

    found = rated(file, game)
    if unrated := unrated_games(file, game):
        remark = (
            f"{unrated} games are left out: this file does not say who won them; play them again"
        )
        err.print(remark, highlight=False, soft_wrap=True)
    if as_json:
        print_json({title: [vars(r) for r in rows] for title, rows in found.items()})
        return
    for title, rows in found.items():
        grid = Grid(title=escape(printable(title)), title_justify="left")
        for column in ("player", "Elo", "±", "games"):
            grid.add_column(column, justify="left" if column == "player" else "right")
        for r in rows:
            name = f"{r.player} (by name)" if r.keyed_by == "name" else r.player
            grid.add_row(escape(printable(name)), f"{r.elo:+.0f}", f"{r.error:.0f}", str(r.games))
        out.print(grid)


@app.command(
    epilog="Example: kibitz exploit liars_dice honest -o dice=1,2 --solve 200; "
    "where that is too large: kibitz exploit liars_dice honest --local 1000"
)
def exploit(
    name: GameName,
    player: Annotated[str, typer.Argument(help="Who is looked through; see kibitz games GAME.")],
    option: OptionTexts = None,
    solve: Annotated[
        int, typer.Option(min=0, help="Bracket the game's value by so many iterations, too.")
    ] = 0,
    local: Annotated[
        int, typer.Option(min=0, help="A lower bound from so many games, for large games of bids.")
    ] = 0,
    device: Device = "cpu",
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """How much a perfect opponent wins from a player: exact or, for large games, at least."""
    one_torch_thread()
    game = load_game(name, option)
    if local and solve:
        raise typer.BadParameter("--solve looks at the whole game, --local at a few games of it")
    if local:
        exploit_locally(game, player, local, seed, as_json)
    else:
        exploit_exactly(game, player, solve, device, as_json)


def exploit_exactly(game: Any, player: str, solve: int, device: str, as_json: bool) -> None:
    from ..arena.exploitability import exploit as looked_through
    from ..arena.local_response import climbs
    from ..search.sequences import TooLarge

    with Watch(100, quiet=as_json) as moved:
        try:
            result = looked_through(
                game,
                player,
                solve,
                progress=lambda done, told: moved(int(100 * done), escape(told)),
                device=device,
            )
        except TooLarge as error:
            way = "; --local 1000 finds a lower bound by playing" if climbs(game) else ""
            raise TooLarge(f"{error}{way}") from None
    if as_json:
        print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    for seat, (best, value) in enumerate(
        zip(result.response.best, result.response.values, strict=True)
    ):
        grid.add_row(f"seat {seat}", f"best response {best:+.5f}", f"self-play {value:+.5f}")
    out.print(grid)
    told = f"{result.player}: exploitability {result.response.exploitability:.5f} points a game"
    out.print(f"{told} (NashConv {result.response.nash_conv:.5f})", highlight=False, markup=False)
    if result.solved is not None:
        low, high = result.solved.bracket
        told = f"after {result.iterations} iterations: {low:+.5f} to {high:+.5f}"
        out.print(f"value of the game for seat 0 {told}", highlight=False)


def exploit_locally(game: Any, player: str, games: int, seed: int | None, as_json: bool) -> None:
    from ..arena.local_response import local_response

    with Watch(games, quiet=as_json) as moved:
        result = local_response(
            game,
            player,
            games,
            seed,
            progress=lambda done, told: moved(int(games * done), escape(told)),
        )
    if as_json:
        print_json(result.as_json())
        return
    seats = ", ".join(f"seat {k} {got:+.4f}" for k, got in enumerate(result.by_seat))
    sure = f"95 % interval {result.low:.4f} to {result.high:.4f}"
    bound = f"{result.player}: exploitability at least {result.lower_bound:.4f} points a game"
    counts = f"{result.games} games, seed {result.seed}"
    out.print(f"{bound} ({sure}); {counts}", highlight=False, markup=False)
    out.print(f"the responder by seat: {seats}", highlight=False)
