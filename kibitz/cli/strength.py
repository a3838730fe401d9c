"""Commands about strength: matches, ratings, and what a perfect opponent would win."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as Grid

from .app import (
    Device,
    DrawnSeed,
    GameName,
    Json,
    OptionTexts,
    ProgressBar,
    app,
    err,
    load_game,
    out,
    print_json,
    printable,
)

if TYPE_CHECKING:
    from ..arena.match import MatchResult
    from ..game import Game

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
    games: Annotated[int, typer.Option(help="Games in total: 2000 games are 1000 pairs.")] = 2000,
    option: OptionTexts = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Keep results in this SQLite file. A match that is in the file continues with "
            "its seed, unless --seed gives another."
        ),
    ] = None,
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """Play a match over the same deals with seats exchanged: how often the first player wins."""
    from ..arena.match import games_played, match
    from ..arena.rating import saved_match

    game = load_game(name, option)
    if (whole := games_played(game, len(players), games)) != games:
        remark = f"{whole} games are played, not {games}: every deal in all rotations of the teams"
        err.print(remark, highlight=False, soft_wrap=True)
    play = match if save is None else partial(saved_match, save)
    with ProgressBar(whole, quiet=as_json) as update:

        def progress(now: MatchResult) -> None:
            update(now.games, escape(one_line(now)))

        result = play(game, *players, games=games, seed=seed, progress=progress)
    if as_json:
        print_json(result.as_json())
    else:
        _show_match(result)


def _show_match(result: MatchResult) -> None:
    counts = f"{result.games} games, {result.draws} draws, seed {result.seed}"
    line = f"{one_line(result)}; {counts}"
    out.print(line, highlight=False, markup=False, soft_wrap=True)
    score = result.score()
    interval = f"95 % interval {score.low:+.4f} to {score.high:+.4f}"
    out.print(f"mean score {score.mean:+.4f} ({interval})", highlight=False)
    seats = ", ".join(f"seat {k} {rate:.1%}" for k, rate in enumerate(result.by_seat))
    out.print(f"wins by seat: {seats}", highlight=False)


def one_line(result: MatchResult) -> str:
    others = ", ".join(result.players[1:])
    interval = f"95 % interval {result.low:.1%} to {result.high:.1%}"
    rate = f"wins {result.win_rate:.1%} ({interval}), Elo {result.elo:+.0f}"
    return f"{result.players[0]} against {others}: {rate}"


@app.command(epilog="Example: kibitz ratings results.sqlite")
def ratings(
    file: Annotated[Path, typer.Argument(help="Results kept by kibitz match --save.")],
    game: Annotated[str | None, typer.Option(help="Only this game.")] = None,
    as_json: Json = False,
) -> None:
    """Elo ratings of all players in a file of results; the players of a game average 0."""
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
    "where that is too large: kibitz exploit liars_dice honest --local 1000; "
    "with all on a GPU: kibitz exploit liars_dice champion:device=cuda --local 8000 --device cuda"
)
def exploit(
    name: GameName,
    player: Annotated[str, typer.Argument(help="The player to exploit; see kibitz games GAME.")],
    option: OptionTexts = None,
    solve: Annotated[
        int, typer.Option(min=0, help="Also bracket the game's value, with this many iterations.")
    ] = 0,
    local: Annotated[
        int,
        typer.Option(min=0, help="A lower bound from this many games, for large games of bids."),
    ] = 0,
    device: Device = "cpu",
    seed: DrawnSeed = None,
    as_json: Json = False,
) -> None:
    """How much a perfect opponent wins against a player: exactly or, in large games, at least."""
    game = load_game(name, option)
    if local and solve:
        raise typer.BadParameter(
            "--solve needs the whole game, --local plays a few games: choose one of them"
        )
    if local:
        exploit_locally(game, player, local, seed, device, as_json)
    else:
        exploit_exactly(game, player, solve, device, as_json)


def exploit_exactly(game: Game, player: str, solve: int, device: str, as_json: bool) -> None:
    from ..arena.exploitability import exploit as exploited
    from ..arena.local_response import climbs
    from ..search.sequences import TooLarge

    with ProgressBar(100, quiet=as_json) as update:
        try:
            result = exploited(
                game,
                player,
                solve,
                progress=lambda done, text: update(int(100 * done), escape(text)),
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
    loss = f"exploitability {result.response.exploitability:.5f} points per game"
    line = f"{result.player}: {loss} (NashConv {result.response.nash_conv:.5f})"
    out.print(line, highlight=False, markup=False)
    if result.solved is not None:
        low, high = result.solved.bracket
        bracket = f"after {result.iterations} iterations: {low:+.5f} to {high:+.5f}"
        out.print(f"value of the game for seat 0 {bracket}", highlight=False)


def exploit_locally(
    game: Game, player: str, games: int, seed: int | None, device: str, as_json: bool
) -> None:
    from ..arena.local_response import local_response

    with ProgressBar(games, quiet=as_json) as update:
        result = local_response(
            game,
            player,
            games,
            seed,
            progress=lambda done, text: update(int(games * done), escape(text)),
            device=device,
        )
    if as_json:
        print_json(result.as_json())
        return
    seats = ", ".join(f"seat {k} {got:+.4f}" for k, got in enumerate(result.by_seat))
    interval = f"95 % interval {result.low:.4f} to {result.high:.4f}"
    bound = f"{result.player}: exploitability at least {result.lower_bound:.4f} points per game"
    counts = f"{result.games} games, seed {result.seed}"
    out.print(f"{bound} ({interval}); {counts}", highlight=False, markup=False)
    out.print(f"the responder by seat: {seats}", highlight=False)
