"""What a game without secrets may say beside its rules, for alpha-beta search and perft.

All of it is optional: without a word from the game, what a seat knows distinguishes positions,
moves are tried in their order, and a position that is not yet decided counts as even.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import Function

NO_NOTE = np.dtype((np.record, [("nothing", np.int64)]))


@dataclass(frozen=True, eq=False)
class Judge:
    """A static evaluation: what a position is worth to the seat to move, without a search.

    The value is a whole number above -10,000 and below 10,000. A judge may keep a note per position
    of a line, such as the sums of a network's first layer, that is brought up to date move by move.
    """

    value: Function
    """value(s, plan, note) -> int, for the seat to move."""
    plan: np.void = field(default_factory=lambda: np.zeros(1, NO_NOTE)[0])
    """A record of numbers that it goes by, such as weights."""
    note: np.dtype[Any] = NO_NOTE
    """The type of its notes."""
    begin: Function | None = None
    """begin(s, plan, note): write a note for a position from scratch."""
    follow: Function | None = None
    """follow(s, action, plan, before, after): the note after an action, from the one before."""


@dataclass(frozen=True, eq=False)
class Features:
    """A position as a short list of numbers per seat, for networks that sum a column for each.

    All are rules of the game. A network that keeps the sums needs to look at few columns per move.
    """

    size: int
    """Features are the integers below this."""
    most: int
    """Features of a position at most, and changes by an action."""
    present: Function
    """present(s, seat, out) -> count: the features of a position as a seat sees it."""
    changes: Function
    """changes(s, action, seat, out) -> count: what an action adds, as feature + 1, and takes away,
    as -(feature + 1)."""


class Past(NamedTuple):
    """What has happened before a position, as far as it can end the game."""

    keys: NDArray[np.uint64]
    """Of the earlier positions, in any order."""
    plies_left: int | None
    """After so many more plies the game is drawn; None for no limit."""


@dataclass(frozen=True, eq=False)
class Bare:
    """How a position is stripped of its history, for a game whose record has one."""

    options: Mapping[str, object]
    """The options under which a record holds the position alone."""
    strip: Callable[[Any, Any], None]
    """strip(s, bare): write the position of `s` into a record under those options."""
    past: Callable[[Any], Past]
    """past(s): what the stripped record no longer says."""


@dataclass(frozen=True, eq=False)
class OpenRules:
    """What searches of open games can use. Functions are rules of the game, compiled with them."""

    key: Function | None = None
    """key(s) -> uint64: the name of a position as far as its future goes, without its history."""
    urges: Function | None = None
    """urges(s, legal, count, out): 0 to 255 per action; the highest is tried first."""
    count: Function | None = None
    """count(s) -> how many legal actions there are, where that is faster than to list them."""
    decisive: Function | None = None
    """decisive(s) -> an action that wins at once for the seat to move, or -1 if there is none."""
    skip: Function | None = None
    """skip(s): hand the move over, as no player may: for null-move pruning."""
    features: Features | None = None
    """For networks with running sums."""
    judges: Mapping[str, Judge] = field(default_factory=dict)
    """Static evaluations by name, the best first."""
    book: Callable[[Any, Any], int] | None = None
    """book(s, rng) -> an action from an opening book, or -1 if it has none for the position."""
    plans: Callable[[Any, Any, int], list[list[int]]] | None = None
    """plans(s, rng, count): where a seat has many actions in a row, as in placing its pieces: about
    `count` ways to do all of it. Searches compare what they lead to."""
    bare: Bare | None = None
    """None: the record has no history."""
