"""What a network's configuration may say: types and ranges, each refused with field and value.

A configuration can come from a file that anybody has written. Nothing is built before it has passed
these checks, and none of them takes longer or needs more memory for larger numbers.
"""

from __future__ import annotations

import math
from typing import Any

from ..game import GameError

LAYERS = 64  # layers one after another
WIDTH = 8192  # numbers in a layer
NUMBERS = 1 << 16  # inputs, actions, hands of a set
ENTRIES = 64  # of a list of sizes
SHOWN = 60  # characters of a value in a message


class ConfigError(GameError):
    """A configuration that makes no network, or one that is too large."""


def wrong(config: Any, field: str, wanted: str) -> ConfigError:
    """The error that says what a field holds and what it should be."""
    shown = repr(getattr(config, field))
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    return ConfigError(f"{field}={shown}: {field} is {wanted}")


def check_whole(config: Any, most: int, *fields: str, least: int = 1) -> None:
    """Whole numbers from `least` to `most`; True is not one."""
    for field in fields:
        if not _is_whole(getattr(config, field), least, most):
            raise wrong(config, field, f"a whole number from {least} to {most}")


def check_sizes(config: Any, field: str, most: int = WIDTH) -> None:
    """A tuple of one size or more."""
    sizes = getattr(config, field)
    listed = isinstance(sizes, tuple) and 1 <= len(sizes) <= ENTRIES
    if not listed or not all(_is_whole(size, 1, most) for size in sizes):
        raise wrong(config, field, f"1 to {ENTRIES} whole numbers from 1 to {most}")


def check_share(config: Any, *fields: str) -> None:
    """Parts of a whole: numbers from 0 to less than 1."""
    for field in fields:
        value = getattr(config, field)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 <= value < 1:
            raise wrong(config, field, "a number from 0 to less than 1")


def check_flags(config: Any, *fields: str) -> None:
    """True or false."""
    for field in fields:
        if not isinstance(getattr(config, field), bool):
            raise wrong(config, field, "true or false")


def check_names(config: Any, field: str) -> None:
    """A tuple of names, which may be empty."""
    names = getattr(config, field)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise wrong(config, field, "a list of names")


def check_heads(config: Any) -> None:
    """Attention heads share the width evenly."""
    check_whole(config, WIDTH, "width", "attention_heads")
    if config.width % config.attention_heads:
        raise ConfigError(f"width={config.width} is no multiple of {config.attention_heads} heads")


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
