"""What a network's configuration may say: types and ranges, each refused with field and value.

A configuration can come from a file that anybody has written. It passes these checks before
anything is built from it. No check takes more time or memory for larger numbers.
"""

from __future__ import annotations

import math
from typing import Protocol

from ..game import GameError

LAYERS = 64  # layers one after another
WIDTH = 8192  # numbers in a layer
NUMBERS = 1 << 16  # inputs, actions, hands of a set
ENTRIES = 64  # of a list of sizes
SHOWN = 60  # characters of a value in a message


class ConfigError(GameError):
    """A configuration that describes no network, or one that is too large."""


def field_error(config: object, field: str, wanted: str) -> ConfigError:
    """The error that says what a field holds and what it should be."""
    shown = repr(getattr(config, field))
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    return ConfigError(f"{field}={shown}: {field} is {wanted}")


def check_whole(config: object, most: int, *fields: str, least: int = 1) -> None:
    """Whole numbers from `least` to `most`; True is not one."""
    for field in fields:
        if not _is_whole(getattr(config, field), least, most):
            raise field_error(config, field, f"a whole number from {least} to {most}")


def check_sizes(config: object, field: str, most: int = WIDTH) -> None:
    """A tuple of one size or more."""
    sizes = getattr(config, field)
    listed = isinstance(sizes, tuple) and 1 <= len(sizes) <= ENTRIES
    if not listed or not all(_is_whole(size, 1, most) for size in sizes):
        raise field_error(config, field, f"1 to {ENTRIES} whole numbers from 1 to {most}")


def check_share(config: object, *fields: str) -> None:
    """Numbers from 0 to less than 1."""
    for field in fields:
        value = getattr(config, field)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 <= value < 1:
            raise field_error(config, field, "a number from 0 to less than 1")


def check_positive(config: object, *fields: str) -> None:
    """Numbers above 0, and finite."""
    for field in fields:
        value = getattr(config, field)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 < value < math.inf:
            raise field_error(config, field, "a finite number above 0")


def check_flags(config: object, *fields: str) -> None:
    """True or false."""
    for field in fields:
        if not isinstance(getattr(config, field), bool):
            raise field_error(config, field, "true or false")


def check_names(config: object, field: str) -> None:
    """A tuple of names; it may be empty."""
    names = getattr(config, field)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise field_error(config, field, "a list of names")


class Attention(Protocol):
    """The configuration of a network with attention."""

    @property
    def width(self) -> int: ...
    @property
    def attention_heads(self) -> int: ...


def check_heads(config: Attention) -> None:
    """The width is a multiple of the number of attention heads."""
    check_whole(config, WIDTH, "width", "attention_heads")
    if config.width % config.attention_heads:
        heads = f"{config.attention_heads} heads"
        raise ConfigError(f"width={config.width} is not a multiple of {heads}")


def _is_whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
