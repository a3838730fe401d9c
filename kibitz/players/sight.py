"""Players and what they see: what a seat may know goes in, an action comes out.

A player is asked about many tables at once and never gets a state. It gets a `Sight`: the view, the
legal actions, and tables it may imagine. A sight is made from re-dealt copies, so the truth is not
in it, however hard one looks.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..batch import Batch, illegal_choice
from ..devices import as_array
from ..game import Game, GameError

Actions: TypeAlias = NDArray[np.int64]
"""One action per table."""
Odds: TypeAlias = NDArray[np.floating]
"""A probability per table and legal action."""
States: TypeAlias = NDArray[np.void]
"""Records of a game."""


class PlayerError(GameError):
    """A text that names no player, or an option that a player does not have."""


class Sight:
    """What the seats to move at some tables may know.

    seats: the seat that is asked, by table [n]. rngs: a stream per table, for the player [n].
    seconds_left: on the seat's clock, for the rest of the game; None where no clock runs. alone:
    whether somebody waits for this table by itself; the tables of a match are played in lockstep,
    and how one of them is played must not depend on how many are left.
    """

    def __init__(
        self,
        game: Game,
        states: ArrayLike,
        seats: ArrayLike,
        rngs: ArrayLike,
        *,
        seconds_left: float | None = None,
        alone: bool = False,
    ) -> None:
        self.game, self.seconds_left, self.alone = game, seconds_left, alone
        self.rngs = np.array(as_array(rngs))
        self._tables = Batch.of(game, np.array(as_array(states)), self.rngs)
        self.seats = np.array(self._tables.seats(seats))
        self._tables.redeal(self.seats, self.rngs)

    def through(self, view: str) -> Sight:
        """The same tables, seen as networks see them that read another view of the game."""
        if view == self.game.viewed:
            return self
        other = copy.copy(self)
        other.game = self.game.through(view)
        other._tables = Batch.of(other.game, self._tables.states, self.rngs)
        other.__dict__.pop("views", None)  # a cached property
        return other

    def __len__(self) -> int:
        return len(self.seats)

    @cached_property
    def views(self) -> NDArray[np.float32]:
        """What a network would get. float32 [n, view_size]"""
        return np.asarray(self._tables.observe(self.seats))

    @cached_property
    def legal(self) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        """The legal actions, ascending, and how many. int16 [n, max_legal], int64 [n]"""
        return self._tables.actions()

    @property
    def actions(self) -> list[list[int]]:
        """The legal actions as lists, by table."""
        return [[int(a) for a in row[:n]] for row, n in zip(*self.legal, strict=True)]

    def imagine(self) -> States:
        """For every table one that could be it, drawn with the player's stream. records [n]"""
        copies: States = self._tables.states.copy()
        Batch.of(self.game, copies, self.rngs).redeal(self.seats, self.rngs)
        return copies

    def seen(self, i: int) -> str:
        """Table i in words, as the seat sees it."""
        return str(self.game.seen(self._tables.states[i], int(self.seats[i])))

    def action_text(self, i: int, action: int) -> str:
        """An action at table i in words."""
        return str(self.game.action_text(self._tables.states[i], action))

    def read_action(self, i: int, text: str) -> int:
        """The action at table i that somebody has typed."""
        return self.game.read_action(self._tables.states[i], text)

    def ask(self, compiled: str) -> Actions:
        """What a compiled player of the game would do at every table. int64 [n]"""
        return np.asarray(self._tables.choose(compiled, self.seats, self.rngs))


class Player(Protocol):
    """Anything with a name that answers a sight with one action per table.

    It may have an `identity`, too: a text that differs where the player plays differently. Results
    in a file are keyed by it.
    """

    name: str

    def choose(self, sight: Sight) -> ArrayLike:
        """Legal actions, one per table. integers [n]"""


def answers(who: Player, sight: Sight) -> Actions:
    """What a player chooses at every table, once it is known to be legal. int64 [n]"""
    legal, counts = (array.copy() for array in sight.legal)  # the player may write to its own
    chosen = as_array(who.choose(sight))
    if chosen.shape != (len(sight),) or chosen.dtype.kind not in "iu":
        given = f"{chosen.dtype} {list(chosen.shape)}"
        raise PlayerError(
            f"{who.name} must answer with one whole number for each of {len(sight)} tables, "
            f"but it answered with {given}"
        )
    inside = np.arange(legal.shape[1]) < counts[:, None]
    wrong = ~((legal == chosen[:, None]) & inside).any(1)
    if wrong.any():
        i = int(wrong.argmax())
        raise illegal_choice(sight.game, sight._tables.states[i], who.name, chosen[i])
    return chosen.astype(np.int64)


def identity_of(who: Player) -> str:
    """What makes this player another player: its own word, or its class and its name."""
    kind = type(who)
    return getattr(who, "identity", "") or f"{kind.__module__}.{kind.__qualname__} {who.name}"
