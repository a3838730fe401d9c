"""The games: one file or folder of rules per game, ending with GAME. There is no list to edit."""

from __future__ import annotations

import ast
import difflib
import functools
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..game import Game

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The games in the package, without loading any."""
    found = [f.stem for f in FOLDER.glob("*.py")] + [
        f.parent.name for f in FOLDER.glob("*/__init__.py")
    ]
    return sorted(name for name in found if not name.startswith("_"))


def summary(name: str) -> str:
    """The first line of a game's rulebook, without loading the game."""
    docstring = ast.get_docstring(ast.parse(_source(name).read_text(encoding="utf-8"))) or name
    return docstring.splitlines()[0]


def rulebook(name: str | Path) -> str:
    """The rules in words, from the game's docstring: a line per paragraph, tables as they are."""
    paragraphs = (module(name).__doc__ or str(name)).strip().split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else " ".join(p.split()) for p in paragraphs)


def load(name: str | Path, **options: object) -> Game:
    """A game under the options given, by its name or by the path of its file or folder.

    >>> load("liars_dice", dice=(4, 5)).num_actions
    55
    """
    from ..game import Game, GameError

    found = module(name)
    game = getattr(found, "GAME", None)
    if not isinstance(game, Game):
        raise GameError(f"{found.__file__} does not end with GAME = Game(...)")
    if (plain := _plain(name)) not in names() and plain in short_names():
        options = {**short_names()[plain][1], **options}
    return game.bind(**options) if options else game


def _plain(name: str | Path) -> str:
    return str(name).lower().replace("-", "_")


@functools.cache
def short_names() -> dict[str, tuple[str, dict[str, object]]]:
    """Names for a game under some options: the SHORT_NAMES in its file, which is not loaded.

    >>> short_names()["dog"]
    ('madn', {'preset': 'dog'})
    """
    found: dict[str, tuple[str, dict[str, object]]] = {}
    for game in names():
        for line in ast.parse(_source(game).read_text(encoding="utf-8")).body:
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "SHORT_NAMES":
                chosen = ast.literal_eval(line.value)
                found |= {name: (game, options) for name, options in chosen.items()}
    return found


def _source(name: str) -> Path:
    """The file in which a game of the package begins."""
    file = FOLDER / f"{name}.py"
    return file if file.exists() else FOLDER / name / "__init__.py"


def module(name: str | Path) -> ModuleType:
    """The module of a game: `module("liars_dice").decode`."""
    path, plain = Path(name), _plain(name)
    if plain not in names() and plain in short_names():
        plain = short_names()[plain][0]
        path = Path(plain)
    if path.suffix == ".py" or "/" in str(name) or (plain not in names() and path.is_dir()):
        return _outside(path)
    if plain not in names():
        from ..game import GameError

        near = difflib.get_close_matches(plain, names(), 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names())}."
        yours = f"A game of your own is named by its file, ./{plain}.py"
        raise GameError(f"there is no game {str(name)!r}; {hint} {yours}")
    return importlib.import_module(f"{__name__}.{plain}")


def _file_of(path: Path) -> Path:
    """The file to import for a game's file or folder."""
    from ..game import GameError

    file = path / "__init__.py" if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise GameError(f"{path} is not a game: a game's folder contains __init__.py")
    if not file.is_file():
        raise GameError(f"there is no game file {str(path)!r}")
    if file.suffix != ".py":
        raise GameError(f"{path} is not a game: a game is a Python file, its name ends in .py")
    return file


def _outside(path: Path) -> ModuleType:
    """Import a game from outside the package, again whenever its sources have changed."""
    from ..compiled import adopt, digest
    from ..game import GameError

    file = _file_of(path)
    sources = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    edition = digest(sources, str(path.resolve()))
    name = f"kibitz_outside_{edition}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    inner = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inner)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    adopt(name, edition)
    # Python's own cache compares times in whole seconds: after a quick edit it would run old code.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(loaded)
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # a file can raise any of them
        del sys.modules[name]
        if isinstance(error, GameError):
            raise
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise GameError(f"{path} cannot be imported: {why}") from error
    finally:
        sys.dont_write_bytecode = before
    return loaded
