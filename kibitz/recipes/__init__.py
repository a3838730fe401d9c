"""Recipes: one file per game; the only room that names a game, a network and a search."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..game import GameError
from ..games import load, short_names

if TYPE_CHECKING:
    from ..train.labelled.generate import Generation
    from ..train.method import Training
    from ..train.muesli.loop import MuesliTraining
    from ..train.muzero.loop import MuZeroTraining
    from ..train.policy_gradient.loop import PolicyTraining
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

    which: `default`; another that the game's file has, such as `demo`; one that serves every game:
    `any`, which searches, `policy`, which does not, `muzero`, which learns a model of the game, and
    `muesli`, which learns one without a search; or one from outside the package, `FILE.py` or
    `FILE.py:NAME`. Games without recipes of their own have the default `any` or, if moves are
    secret, `policy`.
    """
    if str(game) in short_names():
        game, chosen = short_names()[str(game)]
        options = {**chosen, **options}
    if outside := re.fullmatch(r"(.+\.py)(?::(\w+))?", which):
        own, name = _recipes_in(Path(outside[1])), outside[2] or "default"
    else:
        own, name = _recipes_of(str(game)), which
        if name == "default" and not own:
            name = "policy" if load(game, **options).secret_moves else "any"
        if name in SERVING and name not in own:
            return SERVING[name](game, **options)
    if name not in own:
        where, has = (
            outside[1] if outside else game,
            ", ".join(own if outside else [*own, *SERVING]),
        )
        raise GameError(f"{where} has no recipe {name!r}; it has: {has}")
    return replace(own[name], game=str(game), options={**own[name].options, **options})


def _recipes_of(game: str) -> dict[str, Training]:
    """The recipes of a game of the package, by name."""
    if game not in names():
        return {}
    found: dict[str, Training] = importlib.import_module(f"{__name__}.{game}").RECIPES
    return found


def _recipes_in(file: Path) -> dict[str, Training]:
    """The recipes in a file from outside, by name. Its kinds of networks are known from now on."""
    from ..players.networks import learn_kinds
    from ..train.method import Training

    found = getattr(learn_kinds(file), "RECIPES", None)
    if not isinstance(found, dict) or not all(isinstance(r, Training) for r in found.values()):
        raise GameError(f"{file} has no RECIPES: a dictionary of recipes by name")
    return found


def any_game(game: str | Path, **options: object) -> SearchTraining:
    """The recipe that serves every game."""
    from ._any_game import any_game

    return any_game(game, **options)


def any_muzero(game: str | Path, **options: object) -> MuZeroTraining:
    """The recipe that learns a model of any game."""
    from ._any_game import any_muzero

    return any_muzero(game, **options)


def any_policy(game: str | Path, **options: object) -> PolicyTraining:
    """The recipe that learns any game without a search."""
    from ._any_game import any_policy

    return any_policy(game, **options)


def any_muesli(game: str | Path, **options: object) -> MuesliTraining:
    """The recipe that learns any game without a search, and a model of it."""
    from ._any_game import any_muesli

    return any_muesli(game, **options)


SERVING: dict[str, Callable[..., Training]] = {
    "any": any_game,
    "muesli": any_muesli,
    "muzero": any_muzero,
    "policy": any_policy,
}
