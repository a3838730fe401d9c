"""Players that a game brings along: compiled rules, and `random`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from ..batch import compiled_player
from ..compiled import Function, digest
from ..devices import HostArray
from ..game import Game, Planned
from ..games import FOLDER
from .sight import Actions, Sight


class Scripted:
    """A player that the game's own file brings along, or `random`.

    game: whose player it is; only its identity needs that.
    """

    def __init__(self, name: str, game: Game | None = None) -> None:
        self.name, self.game = name, game

    @property
    def identity(self) -> str:
        """The name and a hash of the sources; with a plan, of the plan, too."""
        if self.name == "random" or self.game is None:
            return self.name
        function = self.game.player(self.name)
        plan = function.plan.tobytes() if isinstance(function, Planned) else b""
        follow = function.follow if isinstance(function, Planned) else function
        return f"{self.name} {digest(_sources(follow), plan, _bytecode(follow))}"

    def choose(self, sight: Sight) -> Actions:
        return sight.ask(self.name)


def by_kind(game: Game, names: Sequence[str]) -> list[list[str]]:
    """Players in lists whose tokens have one type: those that follow different plans alike."""
    kinds: dict[DTypeLike, list[str]] = {}
    for name in names:
        kinds.setdefault(compiled_player(game, name).dtype, []).append(name)
    return list(kinds.values())


def tokens_of(game: Game, kind: Sequence[str]) -> HostArray:
    """The tokens of players of one kind, as kernels take them."""
    return np.concatenate([compiled_player(game, name) for name in kind])


def _sources(function: Function) -> list[Path]:
    """The files that a compiled player is written in: all of a game's folder, or its one file."""
    try:
        file = Path(inspect.getfile(getattr(function, "py_func", function)))
    except TypeError:
        return []
    if file.parent != FOLDER and (file.parent / "__init__.py").is_file():
        return sorted(file.parent.rglob("*.py"))
    return [file] if file.is_file() else []  # at a prompt there is none


def _bytecode(function: Function) -> bytes:
    """Python's code of a function that no file tells apart, such as one of two at a prompt."""
    return bytes(getattr(function, "py_func", function).__code__.co_code)
