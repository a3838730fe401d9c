"""The command line. Every command is one call into the library; imports wait until needed.

Exit status: 0 all is well, 1 a check failed, 2 bad input (one sentence says how to mend it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from . import __version__

app = typer.Typer(
    help="Plays, learns and analyses tabletop games with dice, cards and hidden hands.",
    epilog="Begin with: kibitz games, then kibitz play liars_dice",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
bench_app = typer.Typer(help="Measure speed, as ratios within one run.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
out = Console()
err = Console(stderr=True)


def _game_names(incomplete: str) -> list[str]:
    from .games import names

    return [name for name in names() if name.startswith(incomplete)]


GameName = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="A game's name, or the path of your own game file.",
        autocompletion=_game_names,
    ),
]
OptionTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="NAME=VALUE", help="An option of the game; may be repeated."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed, the same result.")]
Device = Annotated[
    Literal["cpu", "cuda"], typer.Option("--device", help="cuda takes a GPU in as well.")
]


def main() -> None:
    """Run a command; whatever a person can mend is one sentence and status 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        from .game import GameError

        if isinstance(error, (GameError, OSError)):
            told = escape(str(error))  # names in a file may look like markup
            err.print(f"[red]kibitz:[/red] {told}", highlight=False, soft_wrap=True)
            sys.exit(2)
        raise
    except KeyboardInterrupt:
        sys.exit(130)


def _print_json(told: Any) -> None:
    print(json.dumps(told, indent=2))


def _options(texts: list[str] | None) -> dict[str, str]:
    options = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} should be NAME=VALUE, such as dice=4,5")
        options[name.strip()] = value.strip()
    return options


def _load(name: str, texts: list[str] | None) -> Any:
    from .games import load

    return load(name, **_options(texts))


def _version(asked: bool) -> None:
    if asked:
        print(f"kibitz {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


# What there is ----------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz games liars_dice")
def games(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[GAME]", help="One game, with its options.", autocompletion=_game_names
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the games, or tell about one: its options, presets and players."""
    from .games import names, summary

    if name is not None:
        _tell_game(name, as_json)
        return
    listed = {each: summary(each) for each in names()}
    if as_json:
        _print_json(listed)
        return
    grid = Grid.grid(padding=(0, 2))
    for each, told in listed.items():
        grid.add_row(f"[bold]{each}[/bold]", told.partition(": ")[2] or told)
    out.print(grid)


def _tell_game(name: str, as_json: bool) -> None:
    from .games import load, module
    from .players import names

    game = load(name)
    told = {
        **game.describe(),
        "seats": game.seats,
        "players": names(game),
        "presets": dict(game.presets),
    }
    if as_json:
        _print_json(told)
        return
    for paragraph in (module(name).__doc__ or game.name).strip().split("\n\n"):
        out.print(" ".join(paragraph.split()) + "\n", highlight=False, markup=False)
    out.print("[bold]Options[/bold] (--option NAME=VALUE), with their defaults:")
    grid = Grid.grid(padding=(0, 2))
    for option, default in told["options"].items():
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default).lower()
        grid.add_row(f"  {option}={shown}", type(game.options).help(option))
    out.print(grid)
    if game.presets:
        out.print("[bold]Presets[/bold] (--option preset=NAME): " + ", ".join(game.presets))
    out.print("[bold]Players[/bold]: " + ", ".join(told["players"]))


# Proof ------------------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz check ./my_game.py")
def check(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer games.")] = False,
    write_playthrough: Annotated[
        Path | None, typer.Option(help="Record one game to this file instead, for the tests.")
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Hold a game to the contract: every promise, with what broke it."""
    from .contract import check as promises
    from .contract import playthrough

    if write_playthrough is not None:
        write_playthrough.write_text(playthrough(_load(name, option), seed), encoding="utf-8")
        return
    settings: dict[str, Any] = {"games": 20} if quick else {}
    results = []
    for result in promises(name, options=_options(option), seed=seed, device=device, **settings):
        results.append(result)
        if not as_json:
            out.print(f"{_mark(result)} {result.promise} [dim]{result.seconds:.1f} s[/dim]")
            if result.message:
                out.print(f"       {result.message}", highlight=False, markup=False)
    broken = [r for r in results if not r.passed]
    tried = [r for r in results if not (r.passed and r.message)]
    if as_json:
        _print_json({"game": name, "passed": not broken, "promises": [vars(r) for r in results]})
    else:
        untried = f", {len(results) - len(tried)} not tried" if len(tried) < len(results) else ""
        out.print(f"{len(tried) - len(broken)} of {len(tried)} promises kept{untried}")
    raise typer.Exit(1 if broken else 0)


def _mark(result: Any) -> str:
    if not result.passed:
        return "[red]BROKEN[/red]"
    return "[yellow]not   [/yellow]" if result.message else "[green]kept  [/green]"


# At the table -----------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz play liars_dice --against threshold --option dice=3,3")
def play(
    name: GameName,
    against: Annotated[
        list[str] | None, typer.Option("--against", "-a", help="The other players, in seat order.")
    ] = None,
    option: OptionTexts = None,
    seat: Annotated[int, typer.Option(help="Where you sit.")] = 0,
    hint: Annotated[str | None, typer.Option(help="Who gives hints.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the record of the game to this file.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Deals to repeat; random otherwise.")
    ] = None,
) -> None:
    """Play a game in the terminal against players of your choice."""
    import secrets

    from .players import player
    from .terminal import LeftTheTable, Person, play_game

    game = _load(name, option)
    strongest = next(iter(game.players), "random")
    others = [player(text, game) for text in against or [strongest] * (game.seats - 1)]
    if len(others) != game.seats - 1:
        raise typer.BadParameter(
            f"{game.name} needs {game.seats - 1} other players, not {len(others)}"
        )
    person = Person(out, player(hint or strongest, game), out.input)
    try:
        tables = play_game(
            game, person, others, seat, secrets.randbits(32) if seed is None else seed
        )
    except LeftTheTable:
        out.print("You left the table.")
        return
    for k, table in enumerate(tables if save else []):
        assert save is not None
        file = save.with_stem(f"{save.stem}-{k + 1}") if len(tables) > 1 else save
        table.save(file)
        out.print(f"Saved: kibitz replay {name} {file}", highlight=False)


@app.command(epilog="Example: kibitz replay liars_dice game.txt --ply 3")
def replay(
    name: GameName,
    file: Annotated[Path, typer.Argument(help="A record written by kibitz.")],
    ply: Annotated[int | None, typer.Option(help="Stop before this decision.")] = None,
    as_json: Json = False,
) -> None:
    """Show a recorded game, or the position before one of its decisions."""
    from .arena.table import recorded_options, replay
    from .games import load

    text = file.read_text(encoding="utf-8")
    table = replay(load(name, **recorded_options(text)), text, ply)
    if as_json:
        events = [{"seat": e.seat, "action": e.action, "text": e.text} for e in table.events]
        told = {"position": table.text(), "turn": table.turn, "events": events}
        _print_json(
            {**told, "choices": table.choices, "scores": table.scores if table.over else None}
        )
        return
    for event in table.events:
        who = "chance" if event.seat < 0 else f"seat {event.seat}"
        out.print(f"{who:>7}  {event.text}", highlight=False)
    out.print(f"\n{table.text()}", highlight=False)
    out.print(
        f"scores {table.scores}"
        if table.over
        else f"seat {table.turn} to move: {', '.join(table.choices)}"
    )


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
        typer.Option(help="Keep results in this SQLite file, and go on where it stopped."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Play a match over the same deals with seats exchanged; the win rate of the first player."""
    from .arena.match import match
    from .arena.rating import saved_match

    game = _load(name, option)
    with _Progress(games, quiet=as_json) as moved:
        settings: dict[str, Any] = {"games": games, "seed": seed}
        settings["progress"] = lambda now: moved(now.games, _one_line(now))
        if save is not None:
            result = saved_match(save, game, *players, **settings)
        else:
            result = match(game, *players, **settings)
    if as_json:
        _print_json(result.as_json())
        return
    out.print(f"{_one_line(result)}; {result.games} games, {result.draws} draws", highlight=False)
    seats = ", ".join(f"seat {k} {rate:.1%}" for k, rate in enumerate(result.by_seat))
    out.print(f"by seat: {seats}; mean score {result.mean_score:+.4f}", highlight=False)


def _one_line(result: Any) -> str:
    others = ", ".join(result.players[1:])
    sure = f"95 % interval {result.low:.1%} to {result.high:.1%}"
    rate = f"{result.win_rate:.1%} ({sure}), Elo {result.elo:+.0f}"
    return f"{result.players[0]} against {others}: {rate}"


@app.command(epilog="Example: kibitz ratings results.sqlite")
def ratings(
    file: Annotated[Path, typer.Argument(help="Results kept by kibitz match --save.")],
    game: Annotated[str | None, typer.Option(help="Only this game.")] = None,
    as_json: Json = False,
) -> None:
    """Elo ratings of everybody in a file of results; the players of a game average 0."""
    from .arena.rating import ratings as rated

    found = rated(file, game)
    if as_json:
        _print_json({title: [vars(r) for r in rows] for title, rows in found.items()})
        return
    for title, rows in found.items():
        grid = Grid(title=title, title_justify="left")
        for column in ("player", "Elo", "±", "games"):
            grid.add_column(column, justify="left" if column == "player" else "right")
        for r in rows:
            grid.add_row(r.player, f"{r.elo:+.0f}", f"{r.error:.0f}", f"{r.games:.0f}")
        out.print(grid)


@app.command(epilog="Example: kibitz exploit liars_dice honest -o dice=1,2 --solve 200")
def exploit(
    name: GameName,
    player: Annotated[str, typer.Argument(help="Who is looked through; see kibitz games GAME.")],
    option: OptionTexts = None,
    solve: Annotated[
        int, typer.Option(min=0, help="Bracket the game's value by so many iterations, too.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """How much a perfect opponent wins from a player; exact, for small games."""
    from .arena.exploitability import exploit as looked_through

    _one_torch_thread()
    game = _load(name, option)
    with _Progress(100, quiet=as_json) as moved:
        result = looked_through(
            game, player, solve, progress=lambda done, told: moved(int(100 * done), told)
        )
    if as_json:
        _print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    for seat, (best, value) in enumerate(
        zip(result.response.best, result.response.values, strict=True)
    ):
        grid.add_row(f"seat {seat}", f"best response {best:+.5f}", f"self-play {value:+.5f}")
    out.print(grid)
    told = f"{result.player}: exploitability {result.response.exploitability:.5f} points a game"
    out.print(f"{told} (NashConv {result.response.nash_conv:.5f})", highlight=False)
    if result.solved is not None:
        low, high = result.solved.bracket
        told = f"after {result.iterations} iterations: {low:+.5f} to {high:+.5f}"
        out.print(f"value of the game for seat 0 {told}", highlight=False)


class _Progress:
    """A progress bar on the error stream, which appears only where somebody watches."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Progress(
            *columns, console=err, transient=True, disable=quiet or not err.is_terminal
        )
        self.task = self.bar.add_task("", total=total)

    def __enter__(self) -> Callable[[int, str], None]:
        self.bar.start()
        return lambda done, told: self.bar.update(self.task, completed=done, description=told)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


# Learning ---------------------------------------------------------------------------------------


@app.command(epilog="Example: kibitz train beasty_bar --recipe demo --out runs/first")
def train(
    name: GameName,
    out_folder: Annotated[Path, typer.Option("--out", help="The folder of the run.")],
    which: Annotated[str, typer.Option("--recipe", help="Which recipe of the game.")] = "default",
    device: Device = "cpu",
    minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run.")] = False,
    option: OptionTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a player by self-play. Kill it whenever you like; --resume goes on to the same end."""
    from dataclasses import replace

    from .recipes import recipe
    from .train.report import line
    from .train.run import Run

    _one_torch_thread()
    told = recipe(name, which)
    told = replace(told, options={**told.options, **_options(option)})
    run = Run(told, out_folder, device=device, seed=seed, resume=resume)
    with _Progress(told.iterations) as moved:

        def stage(what: str, done: int, of: int) -> None:
            moved(run.standing.iteration - 1, f"{what} {done}{f' of {of}' if of else ''}")

        run.train(
            seconds=None if minutes is None else 60 * minutes,
            progress=lambda row: out.print(line(row), highlight=False, soft_wrap=True),
            stage=stage,
        )
    player = out_folder / "player.safetensors"
    run.champion(player, {"recipe": which, "iterations": run.standing.iteration})
    mode = "" if told.mode == "argmax" else f",mode={told.mode}"
    options = (f" -o {key}={_option_text(value)}" for key, value in told.options.items())
    out.print(
        f"Play it: kibitz play {name} --against net:{player}{mode}{''.join(options)}",
        highlight=False,
        soft_wrap=True,
    )


def _option_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@app.command("import", epilog="Example: kibitz import model_45_joker.onnx net.safetensors")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE.onnx", help="A network of Liar's Dice.")],
    out_file: Annotated[
        Path, typer.Argument(metavar="OUT.safetensors", help="The checkpoint to write.")
    ],
    option: OptionTexts = None,
) -> None:
    """Take in a network from an ONNX file; say dice=4,5 or dice=5,4 where the file does not."""
    from .adapters.exchange import take_in

    game = take_in(file, out_file, **_options(option))
    told = f"-o dice={','.join(map(str, game.describe()['options']['dice']))}"
    out.print(
        f"Play it: kibitz play {game.name} --against net:{out_file} {told}",
        highlight=False,
        soft_wrap=True,
    )


@app.command(epilog="Example: kibitz export net.safetensors net.onnx --batched")
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE.safetensors", help="A checkpoint.")],
    out_file: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="The file to write.")],
    batched: Annotated[
        bool, typer.Option("--batched", help="Take any number of rows, not a single one.")
    ] = False,
) -> None:
    """Hand out a network as an ONNX file, for runtimes that know nothing of torch."""
    from .adapters.exchange import hand_out

    hand_out(file, out_file, batched=batched)


# Speed ------------------------------------------------------------------------------------------


@bench_app.command("rules", epilog="Example: kibitz bench rules liars_dice --device cuda --json")
def bench_rules(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    players: Annotated[
        tuple[str, str], typer.Option(help="Players of the game's own, for whole games a second.")
    ] = ("random", "random"),
    as_json: Json = False,
) -> None:
    """Random plies a second: one thread, all threads, the GPU, and against OpenSpiel."""
    from .bench import bench_rules as measured

    with err.status("measuring ..."):
        result = measured(name, _options(option), device, players)
    if as_json:
        _print_json(result.as_json())
        return
    rows = {
        "plies/s, one thread": f"{result.plies_per_s_1:,.0f}",
        f"plies/s, {result.threads} threads": f"{result.plies_per_s_all:,.0f}",
        "times one thread": f"{result.scaling:.2f}",
        f"whole games/s, {' against '.join(players)}, one thread": f"{result.games_per_s_1:,.0f}",
        "views/s, one thread": f"{result.views_per_s_1:,.0f}",
        "times OpenSpiel from Python": _or_none(result.ratio_openspiel, ".0f"),
        "seconds to the first ply, cold cache": f"{result.compile_s:.1f}",
        "seconds to the first ply, warm cache": f"{result.cached_start_s:.2f}",
        "plies/s, GPU, one ply a launch": _or_none(result.plies_per_s_gpu, ",.0f"),
        "whole games/s, GPU": _or_none(result.games_per_s_gpu, ",.0f"),
        "views/s into a torch tensor, GPU": _or_none(result.views_per_s_gpu, ",.0f"),
    }
    grid = Grid.grid(padding=(0, 2))
    for what, figure in rows.items():
        grid.add_row(what, figure)
    out.print(grid)


@bench_app.command("search", epilog="Example: kibitz bench search beasty_bar --trees 256")
def bench_search(
    name: GameName,
    option: OptionTexts = None,
    device: Device = "cpu",
    trees: Annotated[int, typer.Option(min=1, help="Trees searched in lockstep.")] = 256,
    simulations: Annotated[int, typer.Option(min=2, help="Simulations a tree.")] = 16,
    eager: Annotated[bool, typer.Option("--eager", help="On a GPU: plain torch.")] = False,
    as_json: Json = False,
) -> None:
    """Simulations a second with the game's network, and the network's own speed beside it.

    On a GPU thousands of trees are needed: --device cuda --trees 65536 --simulations 64.
    """
    from .bench import bench_search as measured

    _one_torch_thread()
    with err.status("measuring ..."):
        result = measured(name, _options(option), device, trees, simulations, eager)
    if as_json:
        _print_json(result.as_json())
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row("simulations/s with the network", _or_none(result.simulations_per_s, ",.0f"))
    grid.add_row("evaluations/s of the network alone", _or_none(result.evaluations_per_s, ",.0f"))
    grid.add_row("ratio", _or_none(result.ratio, ".2f"))
    grid.add_row("simulations/s with rollouts", f"{result.rollouts_per_s:,.0f}")
    grid.add_row("the same on one thread", _or_none(result.rollouts_per_s_1, ",.0f"))
    out.print(grid)


@bench_app.command("net", epilog="Example: kibitz bench net beasty_bar")
def bench_net(name: GameName, device: Device = "cpu", as_json: Json = False) -> None:
    """The network of a game: milliseconds for one view, and views a second by batch."""
    from .bench import bench_net as measured

    _one_torch_thread()
    with err.status("measuring ..."):
        result = measured(name, device)
    if as_json:
        _print_json(result)
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_row("one view", f"{result['latency_ms']:.2f} ms")
    for size, speed in result["views_per_s"].items():
        grid.add_row(f"batches of {size}", f"{speed:,.0f} views/s")
    out.print(grid)


def _one_torch_thread() -> None:
    """Each lane of a search evaluates on a thread of its own."""
    import torch

    torch.set_num_threads(1)


def _or_none(figure: float | None, form: str) -> str:
    return "-" if figure is None else format(figure, form)


# The demonstration ------------------------------------------------------------------------------


@app.command()
def demo() -> None:
    """A hand of Liar's Dice, the baselines against each other, and the speed of the rules."""
    from .arena.match import match
    from .arena.table import Table
    from .batch import Batch, lanes
    from .bench import wander_speed
    from .games import load
    from .players import player

    game = load("liars_dice")
    out.rule("A hand of Liar's Dice: honest against threshold")
    table, line_up = Table(game, seed=4), [player(p, game) for p in ("honest", "threshold")]
    while not table.over:
        seat = table.turn
        table.play(table.ask(line_up[seat]))
        out.print(f"seat {seat} ({line_up[seat].name}): {table.events[-1].text}", highlight=False)
    out.print(f"{table.seen(0)}\nscores {table.scores}", highlight=False)
    out.rule("Matches over the same deals with seats exchanged")
    for pair in (("honest", "threshold"), ("honest", "random"), ("threshold", "random")):
        out.print(_one_line(match(game, *pair, games=4000)), highlight=False)
    out.rule("Speed of the rules, random play")
    for threads in sorted({1, lanes()}):
        speed = wander_speed(Batch(game, 4096, threads=threads))
        out.print(f"{threads} thread(s): {speed / 1e6:.1f} million plies a second", highlight=False)
    out.print("\nNow you: [bold].venv/bin/kibitz play liars_dice[/bold]")
