"""Recipes: one file per game; the only room that names a game, a network and a search."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..game import GameError

if TYPE_CHECKING:
    from ..train.labelled.generate import Generation
    from ..train.method import Training
    from ..train.tree_search.loop import SearchTraining

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


def recipe(game: str | Path, which: str = "default", **options: object) -> Training:
    """A recipe for a game under these options.

    which: `default`; another that the game's file has, such as `demo`; or `any`, which serves every
    game and is the default of those without a recipe of their own.
    """
    own = _recipes(str(game))
    if which == "any" or (which == "default" and not own):
        return any_game(game, **options)
    if which not in own:
        raise GameError(f"{game} has no recipe {which!r}; it has: {', '.join([*own, 'any'])}")
    found = own[which]
    return replace(found, options={**found.options, **options})


def _recipes(game: str) -> dict[str, Training]:
    """The recipes of a game of the package, by name."""
    if game not in names():
        return {}
    found: dict[str, Training] = importlib.import_module(f"{__name__}.{game}").RECIPES
    return found


def any_game(game: str | Path, **options: object) -> SearchTraining:
    """The recipe that serves every game."""
    from ._any_game import any_game

    return any_game(game, **options)
