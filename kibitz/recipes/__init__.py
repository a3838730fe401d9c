"""Recipes: one file per game; the only room that names a game, a network and a search."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from ..game import GameError

if TYPE_CHECKING:
    from ..train.labelled.generate import Generation
    from ..train.method import Training

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The games that can be trained."""
    return sorted(f.stem for f in FOLDER.glob("*.py") if not f.stem.startswith("_"))


def generation(game: str) -> Generation:
    """How labelled positions of a game are generated."""
    module = importlib.import_module(f"{__name__}.{game}") if game in names() else None
    found: Generation | None = getattr(module, "GENERATION", None)
    if found is None:
        raise GameError(f"there is no recipe for generating positions of {game!r}")
    return found


def recipe(game: str, which: str = "default") -> Training:
    """A game's recipe: `default`, or another that its file has, such as `demo`."""
    if game not in names():
        raise GameError(f"there is no recipe for {game!r}; there are: {', '.join(names())}")
    found: dict[str, Training] = importlib.import_module(f"{__name__}.{game}").RECIPES
    if which not in found:
        raise GameError(f"{game} has no recipe {which!r}; it has: {', '.join(found)}")
    return found[which]
