"""Commands that train players and exchange networks, and the demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .app import (
    Device,
    GameName,
    OptionTexts,
    SkipBad,
    app,
    command_with,
    options_of,
    out,
)
from .strength import one_line

if TYPE_CHECKING:
    from ..train.method import Training as Recipe

# Learning ---------------------------------------------------------------------------------------


RefillFlag = Annotated[
    bool,
    typer.Option(
        "--refill",
        help="With --resume, if files of the run are missing or damaged: continue from the newest "
        "intact checkpoint alone, and refill the replay by self-play.",
    ),
]
Code = Annotated[
    Path | None, typer.Option(help="The Python file of a kind of network of your own.")
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
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", help="The folder of the run.", show_default="runs/GAME"),
    ] = None
    recipe: Annotated[
        str,
        typer.Option(
            help="A recipe of the game; `any`, `policy`, `muesli` or `muzero`, which serve every "
            "game (the default of your own is `any`, or `policy` if moves are secret); or your "
            "own, FILE.py or FILE.py:NAME."
        ),
    ] = "default"
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

    def change(self, recipe: Recipe) -> Recipe:
        """The recipe with the opponents and the data that were asked for."""
        if self.against:
            recipe = recipe.with_opponents(self.against)
        if self.data:
            recipe = recipe.with_data(self.data, skip_bad=self.skip_bad)
        return recipe


@command_with(Training, epilog="Example: kibitz train liars_dice --out runs/first")
def train(asked: Training) -> None:
    """Train a player. Stop it at any time; --resume continues to the same result."""
    from .. import training

    training.train(
        asked.name,
        asked.out_folder,
        recipe=asked.recipe,
        change=asked.change,
        minutes=asked.minutes,
        options=options_of(asked.option),
        device=asked.device,
        seed=asked.seed,
        resume=asked.resume,
        refill=asked.refill,
        start=asked.start,
    )


def say(sentence: str) -> None:
    out.print(escape(sentence), highlight=False, soft_wrap=True)


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
    code: Code = None,
) -> None:
    """Import a network of another program; -o dice=4,5 or 5,4 if a file does not say which."""
    from ..adapters.exchange import changed_options, import_net, player_text
    from ..adapters.model_folder import read_folder
    from ..nets import load_net
    from ..players.networks import learn_kinds
    from ..training import option_text

    if code is not None:
        learn_kinds(code)
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
    text = player_text(load_net(out_file)[0], game, out_file)
    say(f"Play it: kibitz play {game.name} --against {text}{options}")


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
    code: Code = None,
) -> None:
    """Export a network, for runtimes without torch or as a model folder."""
    from ..adapters.exchange import export_net
    from ..adapters.model_folder import write_folder
    from ..players.networks import learn_kinds

    if code is not None:
        learn_kinds(code)
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
