"""What can be chosen about a game, and how bad choices are told."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np


class GameError(ValueError):
    """Something a caller can mend; the message says what and how."""


class OptionError(GameError):
    """An option that the game does not have or a value that it cannot take."""


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
                raise OptionError(f"{name}={value!r}: {name} is {_wanted(kind)}")
        self.check()

    def check(self) -> None:
        """Refuse, by `OptionError`, values that are of the right type and still make no game."""

    def code(self, name: str) -> int | tuple[int, ...]:
        """What `start` gets for a field of free text, such as the ids of the cards it names."""
        raise NotImplementedError(f"{type(self).__name__} says no number for {name}")

    def numbers(self) -> Any:
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
        made = np.zeros(1, np.dtype((np.record, fields)))
        made[0] = tuple(values)
        return made[0]

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
    def read(cls, texts: Mapping[str, Any]) -> Options:
        """Options from names and texts, as typed at a prompt; other values pass as they are."""
        kinds = _kinds(cls)
        for name in texts:
            if name not in kinds:
                has = ", ".join(kinds) or "none"
                raise OptionError(f"there is no option {name!r}; this game has: {has}")
        return cls(
            **{n: _read(n, v, kinds[n]) if isinstance(v, str) else v for n, v in texts.items()}
        )


def _kinds(options: type[Options]) -> dict[str, Any]:
    hints = typing.get_type_hints(options)
    return {f.name: hints[f.name] for f in dataclasses.fields(options)}


def _fits(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is Literal:
        return value in typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(each, int) for each in value)
    return type(value) is kind


def _wanted(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return "whole numbers separated by commas, such as 5,5"
    return {int: "a whole number", bool: "true or false", str: "a text"}[kind]


def _read(name: str, text: str, kind: Any) -> Any:
    text = text.strip().lower()
    if kind is str:
        return text
    try:
        if typing.get_origin(kind) is tuple:
            return tuple(int(part) for part in text.split(","))
        if typing.get_origin(kind) is Literal:
            return {each.lower(): each for each in typing.get_args(kind)}.get(text, text)
        if kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                text
            ]
        return int(text)
    except (ValueError, KeyError):
        raise OptionError(f"{name}={text!r}: {name} is {_wanted(kind)}") from None
