"""The flat records that states and views are made of, and how large a game is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from .compiled import caller_module, edition
from .options import GameError, shown

DEFAULT_VIEW = "default"

RecordType: TypeAlias = np.dtype[np.void]
Field: TypeAlias = tuple[str, DTypeLike] | tuple[str, DTypeLike, int | tuple[int, ...]]
"""A field of a record: its name, its type and, for an array, its shape."""


def record(name: str, *fields: Field) -> RecordType:
    """The dtype of a game's state: `record("kuhn", ("card", np.int8, 2), ("length", np.int8))`.

    Fields are sorted widest first and a named tail fills up to 8 bytes, so there are no gaps and
    equal states are equal bytes. A tag field keeps any two games from sharing a type.
    """
    tag = f"tag_{name}" + (f"_{own}" if (own := edition(caller_module())) else "")
    declared = [*fields, (tag, np.uint8)]
    for field_ in declared:
        _check_field(name, field_)
    declared.sort(key=lambda field_: -np.dtype(field_[1]).itemsize)
    used = np.dtype(declared).itemsize
    if used % 8:
        declared.append(("tail", np.uint8, (-used % 8,)))
    flat = np.dtype(declared, align=True)
    assert flat.itemsize == sum(flat[n].itemsize for n in flat.names or ()), "a record with gaps"
    return np.dtype((np.record, flat))


def tag_of(state: RecordType) -> str:
    """The field that tells a game's record from all others."""
    return next(name for name in state.names or () if name.startswith("tag_"))


def layout(*fields: tuple[str, int | tuple[int, ...]]) -> RecordType:
    """The dtype of a view: float32 numbers in the order written, `layout(("card", 3))`."""
    declared = [(name, np.float32, shape) for name, shape in fields]
    for field_ in declared:
        _check_field("a view", field_)
    return np.dtype((np.record, declared))


def _check_field(owner: str, declared: Field) -> None:
    name, kind = declared[0], np.dtype(declared[1])
    if hasattr(np.ndarray, name) or hasattr(np.record, name) or not name.isidentifier():
        raise GameError(f"{owner}: a field cannot be called {name!r}, NumPy uses that name")
    if kind.kind not in "iuf":
        raise GameError(f"{owner}: field {name!r} is {kind}; use integers (0 and 1 for no and yes)")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large a game is, under given options."""

    seats: int
    num_actions: int  # actions are the integers below this
    num_outcomes: int  # chance outcomes likewise
    state: RecordType
    view: RecordType  # what networks see unless they ask for another
    views: Mapping[str, RecordType] = field(default_factory=dict)  # further ones, by name
    max_legal: int = 0  # most legal actions at once; by default num_actions
    repeats: bool = False  # whether positions may come back and nothing counts how often
    teams: tuple[int, ...] = ()  # by seat: partners share a team; by default one each

    def __post_init__(self) -> None:
        """Write into the record's tag the sizes that compiled code takes from its type."""
        views = {**self.views, DEFAULT_VIEW: self.view}
        if len(set(views.values())) < len(views):
            raise GameError(f"no two of the views {', '.join(views)} may have the same layout")
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "teams", _checked_teams(self.seats, self.teams))
        legal = self.max_legal or self.num_actions
        tag = f"{tag_of(self.state)}_{legal}_{self.num_outcomes}"
        fields = [
            (tag if n == tag_of(self.state) else n, self.state[n]) for n in self.state.names or ()
        ]
        object.__setattr__(self, "state", np.dtype((np.record, fields)))
        object.__setattr__(self, "max_legal", legal)


def _checked_teams(seats: int, teams: Sequence[int]) -> tuple[int, ...]:
    """The team of every seat, one each where none are given."""
    given = tuple(teams) or tuple(range(seats))
    if len(given) != seats:
        raise GameError(f"teams has one number per seat: {seats} of them, not {len(given)}")
    if set(given) != set(range(len(set(given)))):
        raise GameError(f"teams are numbered from 0 without a gap, not {shown(given)}")
    return given
