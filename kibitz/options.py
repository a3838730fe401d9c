"""What can be chosen about a game, and what is said about bad choices."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import textwrap
import typing
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np


class GameError(ValueError):
    """Something a caller can mend; the message says what and how."""


class OptionError(GameError):
    """An option that the game does not have or a value that it cannot take."""


def whole_number(what: str, given: object, least: int = 0, most: int | None = None) -> int:
    """`given` itself, once it is known to be a whole number in this range; True is not one."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        number = int(given)
        if least <= number and (most is None or number <= most):
            return number
    wanted = f"{least} or more" if most is None else f"{least} to {most}"
    raise GameError(f"{what}: a whole number, {wanted}, not {shown(given)}")


def shown(value: object, most: int = 60) -> str:
    """A value as a message shows it, however long it is."""
    if isinstance(value, int) and abs(value) >= 10**most:
        return "a number that is far too large"
    return repr(shortened(value, most)) if isinstance(value, str) else shortened(repr(value), most)


def shortened(text: str, most: int = 60) -> str:
    """A text that somebody has typed, short enough to be shown in a message."""
    return text if len(text) <= most else f"{text[:most]}..."


@dataclass(frozen=True)
class Options:
    """What can be chosen about a game. Subclass with annotated fields and a docstring for each.

    Fields are int, bool, tuple[int, ...], Literal texts or str. `start` gets them as a record of
    numbers in which a Literal is its position and a str is whatever `code` makes of it.
    """

    def __post_init__(self) -> None:
        for name, kind in _kinds(type(self)).items():
            value = getattr(self, name)
            if not _fits(value, kind):
                raise OptionError(f"{name}={shown(value)}: {name} is {_wanted(kind)}")
        self.check()

    def check(self) -> None:
        """Refuse, by `OptionError`, values that are of the right type and still make no game."""

    def code(self, name: str) -> int | tuple[int, ...]:
        """What `start` gets for a field of free text, such as the ids of the cards it names."""
        raise NotImplementedError(f"{type(self).__name__} says no number for {name}")

    def numbers(self) -> np.void:
        """The options as one record for `start`."""
        fields, values = [], []
        for name, kind in _kinds(type(self)).items():
            value = getattr(self, name)
            if typing.get_origin(kind) is Literal:
                value = typing.get_args(kind).index(value)
            elif kind is str:
                value = self.code(name)
            fields.append(
                (name, np.int64, len(value)) if isinstance(value, tuple) else (name, np.int64)
            )
            values.append(value)
        if not fields:
            fields, values = [("none", np.int64)], [0]
        records = np.zeros(1, np.dtype((np.record, fields)))
        records[0] = tuple(values)
        record: np.void = records[0]
        return record

    @classmethod
    def help(cls, name: str) -> str:
        """What an option means: the docstring under its field."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for line, under in itertools.pairwise(tree.body):
            if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == name:
                return " ".join(ast.literal_eval(ast.unparse(under)).split())
        return ""

    @classmethod
    def read(cls, texts: Mapping[str, object]) -> Options:
        """Options from names and texts, as typed at a prompt; other values pass as they are."""
        kinds = _kinds(cls)
        for name in texts:
            if name not in kinds:
                has = ", ".join(kinds) or "none"
                raise OptionError(f"there is no option {shown(name)}; this game has: {has}")
        return cls(
            **{n: _read(n, v, kinds[n]) if isinstance(v, str) else v for n, v in texts.items()}
        )


_hints = functools.cache(typing.get_type_hints)  # every new set of options is checked by them


def _kinds(options: type[Options]) -> dict[str, Any]:
    hints = _hints(cast(Hashable, options))
    return {f.name: hints[f.name] for f in dataclasses.fields(options)}


def _fits(value: object, kind: Any) -> bool:
    if typing.get_origin(kind) is Literal:
        return isinstance(value, str) and value in typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(number, int) for number in value)
    if kind is int and isinstance(value, int) and abs(value) >= 2**63:
        return False  # `start` gets 64 bits
    return type(value) is kind


def _wanted(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return "whole numbers separated by commas, such as 5,5"
    return {int: "a whole number", bool: "true or false", str: "a text"}[kind]


def _read(name: str, text: str, kind: Any) -> object:
    text = text.strip().lower()
    if kind is str:
        return text
    try:
        if typing.get_origin(kind) is tuple:
            return tuple(int(part) for part in text.split(","))
        if typing.get_origin(kind) is Literal:
            return {word.lower(): word for word in typing.get_args(kind)}.get(text, text)
        if kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                text
            ]
        return int(text)
    except (ValueError, KeyError):
        raise OptionError(f"{name}={shown(text)}: {name} is {_wanted(kind)}") from None
