"""Commands that train players and exchange networks, and the demo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .app import (
    Device,
    GameName,
    OptionTexts,
    ProgressBar,
    SkipBad,
    app,
    command_with,
    one_torch_thread,
    options_of,
    out,
)
from .strength import one_line

if TYPE_CHECKING:
    from ..train.run import Run

# Learning ---------------------------------------------------------------------------------------


RefillFlag = Annotated[
    bool,
    typer.Option(
        "--refill",
        help="With --resume, if files of the run are missing or damaged: continue from the newest "
        "intact checkpoint alone, and refill the replay by self-play.",
    ),
]
RunSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        help="The same seed gives the same run. Without it, a new run draws one from the system, "
        "and a resumed run keeps its own.",
    ),
]


@dataclass(frozen=True)
class Training:
    """The options of `kibitz train`."""

    name: GameName
    out_folder: Annotated[Path, typer.Option("--out", help="The folder of the run.")]
    recipe: Annotated[str, typer.Option(help="Which recipe of the game.")] = "default"
    device: Device = "cpu"
    minutes: Annotated[float | None, typer.Option(help="Stop after this many minutes.")] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run.")] = False
    refill: RefillFlag = False
    option: OptionTexts = None
    against: Annotated[
        list[str] | None,
        typer.Option(help="A player to train against, besides the recipe's; may be repeated."),
    ] = None
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A folder or file of labelled positions; may be repeated."),
    ] = None
    skip_bad: SkipBad = False
    start: Annotated[Path | None, typer.Option("--from", help="Start from this network.")] = None
    seed: RunSeed = None

    def run(self) -> Run:
        """The run in its folder, new or resumed."""
        from ..recipes import recipe
        from ..train.run import Run

        chosen = recipe(self.name, self.recipe, **options_of(self.option))
        if self.against:
            chosen = chosen.with_opponents(self.against)
        if self.data:
            chosen = chosen.with_data(self.data, skip_bad=self.skip_bad)
        return Run(
            chosen,
            self.out_folder,
            device=self.device,
            seed=self.seed,
            resume=self.resume,
            refill=self.refill,
            start=self.start,
        )


@command_with(Training, epilog="Example: kibitz train liars_dice --out runs/first")
def train(asked: Training) -> None:
    """Train a player. Stop it at any time; --resume continues to the same result."""
    seconds = seconds_of(asked.minutes)
    run = asked.run()
    if run.recipe.searches:
        one_torch_thread()
    for remark in run.remarks:
        say(remark)
    watched(run, seconds)
    report = asked.out_folder / "report.txt"
    if report.exists():
        say(report.read_text())
    player = asked.out_folder / "player.safetensors"
    run.champion(player, {"recipe": asked.recipe, "iterations": run.standing.iteration})
    run.close()
    text = run.recipe.player_text(player)
    options = (f" -o {key}={option_text(value)}" for key, value in run.recipe.options.items())
    say(f"Play it: kibitz play {asked.name} --against {text}{''.join(options)}")


def seconds_of(minutes: float | None) -> float | None:
    from ..game import GameError

    if minutes is not None and not 0 <= minutes < math.inf:
        raise GameError(f"--minutes is 0 or more, not {minutes}")
    return None if minutes is None else 60 * minutes


def watched(run: Run, seconds: float | None) -> None:
    """Train with a progress bar, and print a line per iteration."""
    from ..train.report import line

    with ProgressBar(run.recipe.iterations) as update:

        def stage(what: str, done: int, of: int) -> None:
            update(run.standing.iteration - 1, f"{what} {done}{f' of {of}' if of else ''}")

        run.train(seconds=seconds, progress=lambda row: say(line(row)), stage=stage)


def say(sentence: str) -> None:
    out.print(escape(sentence), highlight=False, soft_wrap=True)


def option_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@app.command("import", epilog="Example: kibitz import model_45_joker.onnx net.safetensors")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A network that kibitz has exported, of Liar's Dice (.onnx) or of Escampe "
            "(.json, .bin, .onnx, .pth), or a model folder.",
        ),
    ],
    out_file: Annotated[
        Path, typer.Argument(metavar="OUT.safetensors", help="The checkpoint to write.")
    ],
    option: OptionTexts = None,
) -> None:
    """Import a network of another program; -o dice=4,5 or 5,4 if a file does not say which."""
    from ..adapters.exchange import changed_options, import_net
    from ..adapters.model_folder import read_folder

    if file.is_dir() and option:
        raise typer.BadParameter("--option is for a file; a model folder says what it is for")
    folder = file.is_dir()
    game = (
        read_folder(file, out_file) if folder else import_net(file, out_file, **options_of(option))
    )
    if game is None:
        say(f"Play it: kibitz play GAME.py --against net:{out_file} (the file of its game)")
        return
    options = "".join(f" -o {name}={option_text(value)}" for name, value in changed_options(game))
    say(f"Play it: kibitz play {game.name} --against net:{out_file}{options}")


@app.command(
    epilog="Examples: kibitz export net.safetensors net.onnx --batched; "
    "kibitz export net.safetensors --folder my-model"
)
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE.safetensors", help="A checkpoint.")],
    out_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OUT.onnx]",
            help="The file to write. Networks of Escampe can be .json, .bin and .pth files, too.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Write a folder for a model hub instead: weights, curves and a card."),
    ] = None,
    batched: Annotated[
        bool,
        typer.Option("--batched", help="Let the network take any number of rows, not just one."),
    ] = False,
) -> None:
    """Export a network, for runtimes without torch or as a model folder."""
    from ..adapters.exchange import export_net
    from ..adapters.model_folder import write_folder

    if folder is not None and out_file is None and not batched:
        for remark in write_folder(file, folder):
            say(remark)
    elif folder is None and out_file is not None:
        export_net(file, out_file, batched=batched)
    else:
        raise typer.BadParameter("give a file to write, or --folder and nothing else")


# The demo ---------------------------------------------------------------------------------------

DEMO = Path("runs/demo")


@app.command(epilog="Example: kibitz demo")
def demo() -> None:
    """Train a player of Liar's Dice for about a minute, and show how strong it is."""
    from ..arena.exploitability import exploit
    from ..arena.match import match
    from ..games import load
    from ..recipes import recipe
    from ..train.folder import RunError

    chosen = recipe("liars_dice", "demo")
    out.rule("Liar's Dice with one die each: training for about a minute")
    try:
        train(Training("liars_dice", DEMO, "demo", resume=True, seed=0))
    except RunError as error:
        raise RunError(f"{error}. To start the demo again, remove {DEMO}") from None
    game, trained = (
        load("liars_dice", **chosen.options),
        f"net:{DEMO}/player.safetensors,mode=sample",
    )
    out.rule("Matches over the same deals with seats exchanged")
    for other in chosen.baselines:
        out.print(one_line(match(game, trained, other, games=4000)), highlight=False)
    out.rule("What a perfect opponent wins against it, exactly")
    for who in (*chosen.baselines, trained):
        lost = exploit(game, who).response.exploitability
        out.print(f"{lost:.3f} points per game against {who}", highlight=False, soft_wrap=True)
    out.print(
        f"\nNow you: [bold].venv/bin/kibitz play liars_dice --against {trained} -o dice=1,1[/bold]"
        "\nor with five dice against the champion: "
        "[bold].venv/bin/kibitz play liars_dice --against champion[/bold]",
        soft_wrap=True,
    )
