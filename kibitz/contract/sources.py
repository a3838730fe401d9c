"""The game's own files: which line a rule failed at, and what in a rule cannot run on a GPU."""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from numba.core.errors import NumbaError

from .. import games
from ..game import Game
from .trial import ASKED, NOTE, Broken, Trial

HOUSE = Path(games.__file__).parent.parent
COMPILERS = {"rule", "kernel"}
NO_GPU: dict[type[ast.AST], str] = {
    ast.List: "a list",
    ast.ListComp: "a list",
    ast.Dict: "a dict",
    ast.DictComp: "a dict",
    ast.Set: "a set",
    ast.SetComp: "a set",
    ast.GeneratorExp: "a generator",
    ast.Yield: "a generator",
    ast.YieldFrom: "a generator",
    ast.JoinedStr: "a text",
    ast.Try: "an exception",
    ast.Raise: "an exception",
    ast.With: "a `with`",
    ast.Lambda: "a function within a function",
    ast.FunctionDef: "a function within a function",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
}
BUILT_IN = {"list", "dict", "set", "sorted", "reversed", "sum", "any", "all", "map", "filter"}
BUILT_IN |= {"print", "str", "open", "input", "zip", "enumerate", "isinstance", "getattr"}
FROM_NUMPY = {"zeros", "ones", "empty", "full", "array", "arange", "sum", "sort", "argsort"}
FROM_NUMPY |= {
    "where",
    "unique",
    "nonzero",
    "flatnonzero",
    "concatenate",
    "argmax",
    "argmin",
    "any",
}
FROM_NUMPY |= {
    "all",
    "max",
    "min",
    "mean",
    "prod",
    "cumsum",
    "dot",
    "count_nonzero",
    "copy",
    "random",
}


# Lines -------------------------------------------------------------------------------------------


def files_of(name: str | Path, game: Game) -> set[Path]:
    """The files that a game's rules are written in, the house's own defaults aside."""
    main = Path(games.module(name).__file__ or "")
    found = set(main.parent.rglob("*.py")) if main.name == "__init__.py" else {main}
    for rule in [*(getattr(game, name) for name in ASKED), *game.players.values()]:
        plain = inspect.unwrap(getattr(rule, "py_func", rule))
        if (code := getattr(plain, "__code__", None)) is not None:
            found.add(Path(code.co_filename))
    return {file for file in found if is_of_a_game(str(file))}


def is_of_a_game(file: str) -> bool:
    """Whether a file is a game's and not of the house, of Python or of a library."""
    path = Path(file)
    if path.is_relative_to(HOUSE):
        return path.is_relative_to(HOUSE / "games") and path != HOUSE / "games" / "__init__.py"
    inside = ("site-packages", "dist-packages", Path(ast.__file__).parent.name)
    return path.suffix == ".py" and not set(inside) & set(path.parts)


def line_of(file: str, number: int) -> str:
    """A line as messages show it: "line 41 of my_game.py: s.die[seat] = 7"."""
    return f"line {number} of {Path(file).name}: {linecache.getline(file, number).strip()}"


def line_of_frame(frame: FrameType | None) -> str:
    """The innermost line of a game that a running frame is at; empty if there is none."""
    while frame is not None:
        code = frame.f_code
        if is_of_a_game(code.co_filename):
            # A frame that was just entered may have no line yet.
            return line_of(code.co_filename, frame.f_lineno or code.co_firstlineno)
        frame = frame.f_back
    return ""


def line_of_error(error: BaseException) -> str:
    """The innermost line of a game that an error passed through; empty if there is none."""
    if isinstance(error, NumbaError):
        named = re.findall(r'File "([^"]+)", line (\d+)', str(error))
        lines = [(file, int(number)) for file, number in named]
    else:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(frame.filename, frame.lineno or 0) for frame in frames]
    ours = [line for line in lines if is_of_a_game(line[0])]
    return line_of(*ours[-1]) if ours else ""


def in_words(error: BaseException, game: Game) -> str:
    """What an error says, without the machinery that it passed through."""
    text = str(error)
    missing = re.search(r"'record' object has no attribute '(\w+)'|Field '?(\w+)'? was not", text)
    missing = missing or re.search(r"Unknown attribute '(\w+)' of type Record", text)
    if missing is not None:
        name = next(filter(None, missing.groups()))
        fields = [*(game.state.names or ()), *(game.view.names or ())]
        near = difflib.get_close_matches(name, fields, 1)
        return f"there is no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    if isinstance(error, NumbaError):
        says = [line for line in text.splitlines() if line.strip() and "Failed in" not in line]
        return f"it cannot be compiled: {' '.join(' '.join(says[:3]).split())[:400]}"
    return f"{type(error).__name__}: {text[:1000]}"


def explained(error: BaseException, trial: Trial) -> str:
    """What failed: the rule, the position, the words of the error and the line of the game."""
    line = line_of_error(error)
    where = f" ({line})" if line else ""
    if not (call := NOTE.call()):
        return f"{trial.game.name}: {in_words(error, trial.game)}{where}"
    asked = f"{call} fails" if NOTE.rule == "start" else f"{trial.at(NOTE.before())}: {call} fails"
    return f"{asked}: {in_words(error, trial.game)}{where}"


# Reading rules -----------------------------------------------------------------------------------


def rules_could_run_on_a_gpu(trial: Trial) -> None:
    """Rules are written without what a GPU cannot do: lists, dicts, exceptions, NumPy functions."""
    for file in sorted(files_of(trial.name, trial.game)):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for rule in ast.walk(tree):
            if isinstance(rule, ast.FunctionDef) and _is_compiled(rule):
                for node, found in _not_on_a_gpu(rule):
                    line = line_of(str(file), getattr(node, "lineno", rule.lineno))
                    raise Broken(
                        f"{trial.game.name}: `{rule.name}` uses {found}, which cannot run on a "
                        f"GPU: {line}. Rules are loops over the elements of their arguments"
                    )


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any(
        ast.unparse(decorator).split("(")[0].split(".")[-1] in COMPILERS
        for decorator in function.decorator_list
    )


def _not_on_a_gpu(rule: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    for node in (inner for statement in rule.body for inner in ast.walk(statement)):
        if found := NO_GPU.get(type(node)):
            yield node, found
        elif isinstance(node, ast.Call) and (called := _called(node.func)):
            yield node, f"`{called}`"


def _called(function: ast.expr) -> str:
    """The name of a function that is called and has no place in a rule; or nothing."""
    names = ast.unparse(function).split(".")
    if len(names) == 1 and names[0] in BUILT_IN:
        return names[0]
    if names[0] in ("np", "numpy") and names[1:] and names[1] in FROM_NUMPY:
        return ".".join(names)
    return ""
