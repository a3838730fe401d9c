"""Records of tensors with the same number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Rows = TypeVar("Rows", bound="DataclassInstance")
"""A dataclass. Fields that are not tensors hold for all rows."""


def changed(rows: Rows, change: Callable[[Tensor], Tensor]) -> Rows:
    """The same record with `change` applied to all its tensors."""
    return replace(rows, **{name: change(column) for name, column in _tensors(rows).items()})


def concatenated(parts: list[Rows]) -> Rows:
    """The rows of several records as one."""
    first = parts[0]
    columns = {name: [getattr(part, name) for part in parts] for name in _tensors(first)}
    return replace(first, **{name: torch.cat(column) for name, column in columns.items()})


def _tensors(rows: DataclassInstance) -> dict[str, Tensor]:
    named = ((field.name, getattr(rows, field.name)) for field in fields(rows))
    return {name: value for name, value in named if isinstance(value, Tensor)}
