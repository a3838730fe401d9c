"""Texts that name players: `honest`, `mcts:sims=200`, `net:FILE,mode=sample`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..game import Game, GameError
from ..options import shortened
from .scripted import Scripted
from .sight import Player, PlayerError

LARGEST = 1_000_000  # whole number in a text: no search has more simulations

Factory = Callable[..., Player]


@dataclass(frozen=True)
class Entry:
    """A kind of player that can be named."""

    factory: Factory
    """Called with the game, the player's name and the options in its text, which are strings."""
    always: tuple[str, ...] = ()
    """Options that are part of the name even where they have their default."""
    sits_at: Callable[[Game], bool] = lambda game: True
    """Whether it can play a game."""

    @property
    def defaults(self) -> dict[str, str]:
        """The options that it has, with their defaults."""
        parameters = list(inspect.signature(self.factory).parameters.values())[2:]
        return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}

    @property
    def takes_more(self) -> bool:
        """Whether it looks at options itself that it does not list."""
        parameters = inspect.signature(self.factory).parameters.values()
        return any(p.kind is p.VAR_KEYWORD for p in parameters)

    def name(self, kind: str, options: dict[str, str]) -> str:
        """The kind with the options that make it another player; of a path only the file."""
        given = {**{key: self.defaults[key] for key in self.always}, **options}
        order = [*self.defaults, *(key for key in given if key not in self.defaults)]
        parts = [
            shown_option(key, given[key])
            for key in order
            if key in given and (key in self.always or self.defaults.get(key) != given[key])
        ]
        return f"{kind}:{','.join(parts)}" if parts else kind


def shown_option(key: str, value: str) -> str:
    """An option in a player's name; of a path only the file."""
    if key == "path":
        return Path(value).name
    return f"{key}={Path(value).name if key in ('judge', 'code') else value}"


REGISTRY: dict[str, Entry] = {}


def register(
    name: str, always: tuple[str, ...] = (), sits_at: Callable[[Game], bool] = lambda game: True
) -> Callable[[Factory], Factory]:
    """Name a kind of player: the text `mcts:sims=200` calls its factory with sims="200"."""

    def keep(factory: Factory) -> Factory:
        REGISTRY[name] = Entry(factory, always, sits_at)
        return factory

    return keep


def names(game: Game) -> list[str]:
    """Who can sit down at this game."""
    return ["random", *game.players, *(n for n, entry in REGISTRY.items() if entry.sits_at(game))]


def player(text: str, game: Game) -> Player:
    """The player that a short text names: "honest", "mcts:sims=200".

    >>> from kibitz.games import load
    >>> player("Honest", load("liars_dice")).name
    'honest'
    """
    name, _, rest = spelled(text).partition(":")
    if name == "random" or name in game.players:
        if not rest:
            return Scripted(name, game)
        compact = f"{name}:{''.join(rest.lower().split())}"
        try:
            game.player(compact)
        except GameError as error:
            raise PlayerError(str(error)) from None
        return Scripted(compact, game)
    if name not in REGISTRY:
        has = ", ".join(names(game))
        raise PlayerError(f"{game.name} has no player {shortened(name)!r}; there are: {has}")
    return seated(name, game, options_in(text))


def seated(kind: str, game: Game, options: dict[str, str], name: str = "") -> Player:
    """A player of this kind under `name`, or under a name that says its options."""
    entry = REGISTRY[kind]
    if not entry.takes_more or {"game", "name"} & options.keys():  # these are not for texts
        check_options(kind, options, [*entry.defaults])
    return entry.factory(game, name or entry.name(kind, options), **options)


def spelled(text: str) -> str:
    """A player's text with its kind in lower case. Paths and other values stay as they are."""
    name, colon, rest = text.strip().partition(":")
    return f"{name.strip().lower()}{colon}{rest}"


def options_in(text: str) -> dict[str, str]:
    """The options in a player's text. The first may go unnamed and is then the path."""
    name, _, rest = spelled(text).partition(":")
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals and not options and "path" in REGISTRY[name].defaults:
            key, equals, value = "path", "=", part
        if not equals:
            example = next(iter(REGISTRY[name].defaults), "sims")
            raise PlayerError(
                f"{shortened(text)!r}: {shortened(part)!r} should be like {example}=..."
            )
        options[key.strip().lower()] = value.strip()
    return options


def check_options(name: str, options: Iterable[str], has: list[str]) -> None:
    """Refuse options that are not in `has`."""
    if unknown := [key for key in options if key not in has]:
        raise PlayerError(
            f"{name} has no option {shortened(unknown[0])!r}; it has: {', '.join(has)}"
        )


def whole(name: str, text: str, least: int = 0) -> int:
    """A whole number in a player's text, up to a million."""
    digits = re.fullmatch("[0-9]{1,7}", text)
    if digits is None or not least <= int(text) <= LARGEST:
        wanted = f"a whole number from {least} to {LARGEST:,}"
        raise PlayerError(f"{name}={shortened(text)}: {name} is {wanted}")
    return int(text)


def real(name: str, text: str, *, positive: bool = False) -> float:
    """A number in a player's text: finite, and above 0 where it has to be `positive`."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf or (positive and number == 0):
        wanted = "finite and above 0" if positive else "finite and 0 or more"
        raise PlayerError(f"{name}={shortened(text)}: {name} is a number, {wanted}")
    return number


def limit(seconds: str) -> float | None:
    """The time limit in a player's text; None where there is none."""
    return real("seconds", seconds, positive=True) if seconds else None
