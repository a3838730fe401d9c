"""Records of tensors that have a row for each of the same things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

Rows = TypeVar("Rows")  # a dataclass; what is no tensor in it goes for all rows


def changed(rows: Rows, change: Callable[[Tensor], Tensor]) -> Rows:
    """The same record with all its tensors changed in some way."""
    told: Any = rows
    made: Rows = replace(told, **{name: change(each) for name, each in _tensors(rows).items()})
    return made


def together(parts: list[Rows]) -> Rows:
    """The rows of several records as one."""
    first: Any = parts[0]
    columns = {name: [getattr(part, name) for part in parts] for name in _tensors(first)}
    made: Rows = replace(first, **{name: torch.cat(each) for name, each in columns.items()})
    return made


def _tensors(rows: Any) -> dict[str, Tensor]:
    named = ((field.name, getattr(rows, field.name)) for field in fields(rows))
    return {name: value for name, value in named if isinstance(value, Tensor)}
