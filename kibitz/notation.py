"""Positions and actions in words, for games that have no notation of their own.

And positions in columns of numbers, for those that have: what data files hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .options import GameError, shown

if TYPE_CHECKING:
    from .game import Game, State

LONG = 16  # numbers; of a longer field the zeros at its end are left out


class NotationError(GameError):
    """A text that is not a position or not an action."""


Numbers = Mapping[str, NDArray[Any]]
"""Columns by name. [rows] each"""


class Column(NamedTuple):
    """A column of a data file."""

    type: DTypeLike
    """bool for what is true or false."""
    meaning: str
    """In a few words, for people."""
    absent: float | None = None
    """What stands for a number that is not known; None: it must be there."""


@dataclass(frozen=True, eq=False)
class PositionColumns:
    """How a game's positions are written in data files: numbers by name, without their history."""

    by_name: Mapping[str, Column]
    write: Callable[[NDArray[np.void]], Numbers]
    """write(states): their columns."""
    read: Callable[[Numbers, NDArray[np.void]], None]
    """read(columns, states): the inverse, into as many states as at the start of a game."""
    problems: Callable[[Numbers], Iterator[tuple[str, NDArray[np.bool_]]]]
    """problems(columns): what can be wrong, in words, and the rows where it is. Columns of
    integers may hold any."""
    groups: Mapping[str, Callable[[NDArray[np.int16]], NDArray[np.bool_]]] = field(
        default_factory=dict
    )
    """Kinds of positions that reports tell apart, by the lists of their legal actions."""


def checked_text(text: str) -> str:
    """`text` itself, once it is known to be one."""
    if not isinstance(text, str):
        raise NotationError(f"a position or an action is a text, not {shown(text)}")
    return text


def squeezed(text: str) -> str:
    """Lower case without blanks: what people type is compared in this form."""
    return "".join(text.lower().split())


def fields_text(start: Callable[[], State], s: State) -> str:
    """The fields of a position that differ from the start: "card=0,2 length=1"; or "start"."""
    parts, fresh = [], start()
    for name in own_fields(s):
        values = np.asarray(s[name]).reshape(-1)
        if not np.array_equal(values, np.asarray(fresh[name]).reshape(-1)):
            if len(values) > LONG:
                values = values[: 1 + max(np.flatnonzero(values), default=0)]
            parts.append(f"{name}={','.join(str(v) for v in values)}")
    return " ".join(parts) or "start"


def parse_fields(s: State, text: str) -> None:
    """The inverse of `fields_text`; a field that is left out keeps its value."""
    fields = {name.lower(): name for name in own_fields(s)}
    parts = text.lower().replace(" =", "=").replace("= ", "=").replace(", ", ",").split()
    for part in parts if parts != ["start"] else ():
        name, _, values = part.partition("=")
        if name not in fields:
            has = ", ".join(fields)
            raise NotationError(f"{part!r}: there is no field {name!r}; there are {has}")
        s[fields[name]] = _numbers(part, values, s.dtype[fields[name]])


def _numbers(part: str, values: str, field: np.dtype[np.generic]) -> NDArray[np.generic]:
    size = int(np.prod(field.shape))
    try:
        given = np.array(values.split(","), field.base)
        if LONG < size > len(given):
            given = np.pad(given, (0, size - len(given)))
        return given.reshape(field.shape)
    except (ValueError, OverflowError):
        wanted = f"{field.base} {list(field.shape)}"
        raise NotationError(f"{part!r}: that is not {wanted}") from None


def own_fields(s: State) -> Sequence[str]:
    """The fields of a record that the game declared, without the tag and the tail."""
    return [n for n in s.dtype.names or () if n != "tail" and not n.startswith("tag_")]


def public_news(game: Game, s: State, seat: int, move: int) -> str:
    """What a seat hears of a move at `s`, unless the game says otherwise.

    Actions are public. Outcomes of chance are public where nothing is hidden. Elsewhere nobody
    hears of them: a drawn card is mostly a secret, and its owner sees it in hand.
    """
    from .game import CHANCE, nothing_hidden

    if game.turn(s) == CHANCE and game.redeal is not nothing_hidden:
        return ""
    return str(game.action_text(s, move))


def view_text(game: Game, s: State, seat: int) -> str:
    """The table as one seat sees it: the parts of its view that are not zero."""
    view = game.look(s, seat).view(game.view)[0]
    lines = []
    for name in game.view.names or ():
        values = np.asarray(view[name])
        places = [",".join(map(str, at)) for at in np.argwhere(values)]
        numbers = zip(places, values[values != 0], strict=True)
        parts = [place if value == 1 else f"{place}:{value:g}" for place, value in numbers]
        lines.append(f"{name}: {' '.join(parts) or '-'}")
    return "\n".join(lines)
