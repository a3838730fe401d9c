"""The options that a game is tried under: its own choice or, unless it says, the edges of each."""

from __future__ import annotations

import dataclasses
import shlex
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from ..game import Game
from ..options import OptionError, Options

FARTHEST = 10  # steps from the default that a number is taken to find its least and its largest

OptionSet = Mapping[str, Any]


def option_sets(game: Game) -> list[OptionSet]:
    """The defaults, the presets, and what the game declares as `tried`.

    A game that declares nothing is tried with every option at its edges, one at a time: a mistake
    that shows with four seats only must not wait for the first table of four.

    >>> from kibitz.games import load
    >>> [shown_options(tried) for tried in option_sets(load("liars_dice"))][:3]
    ['', 'preset=dudo', 'preset=perudo']
    """
    presets: list[OptionSet] = [{"preset": name} for name in game.presets]
    return [{}, *presets, *(edges(game.options) if game.tried is None else game.tried)]


def shown_options(options: OptionSet) -> str:
    """Options as they are typed: "dice=4,5 variant=high"; empty for the defaults."""
    return shlex.join(f"{name}={_shown(value)}" for name, value in options.items())


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


def edges(options: Options) -> Iterator[OptionSet]:
    """For every option its least and its largest value, or its other words, one at a time."""
    for field in dataclasses.fields(options):
        default = getattr(options, field.name)
        for value in _edge_values(options, field.name, default):
            if value != default:
                yield {field.name: value}


def _edge_values(options: Options, name: str, default: Any) -> Iterator[Any]:
    if isinstance(default, (bool, str)):
        yield from (value for value in other_values(options, name) if _fits(options, name, value))
        return
    for step in (-1, 1):
        value = default
        for _ in range(FARTHEST):
            further = _stepped(value, step)
            if not _fits(options, name, further):
                break
            value = further
        yield value


def _stepped(value: Any, step: int) -> Any:
    return tuple(n + step for n in value) if isinstance(value, tuple) else value + step


def _fits(options: Options, name: str, value: Any) -> bool:
    try:
        dataclasses.replace(options, **{name: value})
    except OptionError:
        return False
    return True


def variations(options: Options) -> Iterator[Options]:
    """The options with one of them changed a little, in every way that makes a game."""
    for field in dataclasses.fields(options):
        for value in other_values(options, field.name):
            if _fits(options, field.name, value):
                yield dataclasses.replace(options, **{field.name: value})


def other_values(options: Options, name: str) -> list[Any]:
    """Values next to the one that an option has."""
    words = typing.get_args(typing.get_type_hints(type(options))[name])
    return _others(getattr(options, name), words)


def _others(value: Any, words: tuple[Any, ...]) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [word for word in words if word != value]
    if isinstance(value, tuple):
        return [
            (*value[:i], n, *value[i + 1 :])
            for i in range(len(value))
            for n in _others(value[i], ())
        ]
    return [value - 1, value + 1]
