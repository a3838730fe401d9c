"""What all commands share: the program, common options, output, and errors."""

from __future__ import annotations

import errno
import inspect
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from rich.console import Console
from rich.markup import escape

from .. import __version__
from ..progress import ProgressBar as ProgressBar

if TYPE_CHECKING:
    from ..game import Game

app = typer.Typer(
    help="Plays, learns and analyses tabletop games with dice, cards and hidden hands.",
    epilog="Begin with: kibitz games, then kibitz play liars_dice",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
bench_app = typer.Typer(help="Measure speed, as ratios within one run.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")
data_app = typer.Typer(help="Files of labelled positions.", no_args_is_help=True)
app.add_typer(data_app, name="data")
out = Console()
err = Console(stderr=True)


Asked = TypeVar("Asked")


def command_with(
    options: type[Asked], *, epilog: str
) -> Callable[[Callable[[Asked], None]], Callable[[Asked], None]]:
    """Register a command with many options: it takes them as one record, a dataclass."""
    types = get_type_hints(options, include_extras=True)
    declared = inspect.signature(options).parameters.values()
    parameters = [parameter.replace(annotation=types[parameter.name]) for parameter in declared]

    def register(function: Callable[[Asked], None]) -> Callable[[Asked], None]:
        def command(**given: object) -> None:
            function(options(**given))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = types
        vars(command)["__signature__"] = inspect.Signature(parameters)
        app.command(epilog=epilog)(command)
        return function

    return register


def game_names(incomplete: str) -> list[str]:
    from ..games import names

    return [name for name in names() if name.startswith(incomplete)]


UsageError: Any = typer.BadParameter.__mro__[1]  # what Typer raises about arguments
LONGEST = 2000  # characters of an error message

GameName = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="A game's name, or the path of your own game file.",
        autocompletion=game_names,
    ),
]
OptionTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="NAME=VALUE", help="An option of the game; may be repeated."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]
DrawnSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="The same seed gives the same result; drawn from the system unless given. "
        "A small seed can be guessed by a player that wants to cheat.",
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad records out and count them.")]
Device = Annotated[Literal["cpu", "cuda"], typer.Option("--device", help="cuda uses a GPU.")]


def main() -> None:
    """Run a command. An error that the user can correct is one sentence and status 2."""
    for stream in (sys.stdout, sys.stderr):  # a name may contain what the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except UsageError as error:
        if message := error.format_message():  # if empty, the help has been printed
            complain(f"{message.rstrip('.')}. Try: kibitz --help")
        sys.exit(2)
    except MemoryError:
        complain("there is not enough memory for this; try a smaller size")
        sys.exit(2)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has left, as in `kibitz games | head -1`
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(1)
        complain(in_words(error))
        sys.exit(2)
    except ValueError as error:
        from ..game import GameError

        if isinstance(error, GameError):
            complain(str(error))
            sys.exit(2)
        raise
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


def complain(sentence: str) -> None:
    """Print what is wrong on the error stream."""
    short = sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]} ..."
    shown = escape(printable(short))  # a name from a file may look like markup
    err.print(f"[red]kibitz:[/red] {shown}", highlight=False, soft_wrap=True)


def printable(text: str) -> str:
    """A text without control codes, which a name from a file may contain."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def in_words(error: OSError) -> str:
    """An error of the system as a sentence that names the file."""
    path = error.filename
    if not isinstance(path, str):
        return error.strerror or str(error)
    match error:
        case FileNotFoundError():
            folder = Path(path).parent
            return f"there is no {f'file {path}' if folder.is_dir() else f'folder {folder}'}"
        case FileExistsError():
            return f"there is a file {path} already"
        case IsADirectoryError():
            return f"{path} is a folder, not a file"
        case NotADirectoryError():
            return f"{path}: a part of this path is a file, not a folder"
        case PermissionError():
            return f"the system does not let you use {path}"
    return f"{path}: {(error.strerror or str(error)).lower()}"


def print_json(facts: object) -> None:
    print(json.dumps(facts, indent=2))


def options_of(texts: list[str] | None) -> dict[str, str]:
    options = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} should be NAME=VALUE, such as dice=4,5")
        options[name.strip()] = value.strip()
    return options


def load_game(name: str, texts: list[str] | None) -> Game:
    from ..games import load

    return load(name, **options_of(texts))


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
    one_torch_thread()


def one_torch_thread() -> None:
    """Keep torch to one thread in every command, without importing it.

    Every lane of a search evaluates on its own, and one view is too little work for two threads. A
    learner that does not search takes all cores: see `training`.
    """
    if "torch" in sys.modules:  # a Python program runs the command
        sys.modules["torch"].set_num_threads(1)
    else:
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def or_none(figure: float | None, form: str) -> str:
    """A figure in this format, or "-" for none."""
    return "-" if figure is None else format(figure, form)
