"""How well the best opponent of a strategy does: exact, for games that can be looked through.

A game is looked through in a form: `Sequences` serves every game, and rooms for special games have
faster ones that answer alike. A strategy is a table of weights, shaped as the form wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ..game import Game
from .sequences import Policy, Progress, Table


class Form(Protocol):
    """A game as arrays that can be looked through."""

    game: Game
    seats: int

    def zeros(self) -> Table:
        """The table of who has no preference."""

    def ask(self, policy: Policy, progress: Progress = ...) -> Table:
        """The table of a policy; `progress` is told which part is done."""

    def value(self, table: Table, seat: int, *, best: bool) -> float:
        """What a seat gets where all play by `table` or, with `best`, all others do."""

    def learn(self, seat: int, weights: Table, gains: Table, average: Table, step: Any) -> None:
        """One step of a seat, and what the others played goes into their average."""


@dataclass(frozen=True)
class Response:
    """How a strategy fares, by seat, in points a game."""

    values: tuple[float, ...]  # where all play it
    best: tuple[float, ...]  # of the best response, where all others play it

    @property
    def nash_conv(self) -> float:
        """What the seats together would gain by each responding best; 0 in equilibrium."""
        return sum(self.best) - sum(self.values)

    @property
    def exploitability(self) -> float:
        """The same for a seat on average."""
        return self.nash_conv / len(self.best)

    @property
    def bracket(self) -> tuple[float, float]:
        """Between which numbers the value of a zero-sum game for two lies, for seat 0."""
        return -self.best[1], self.best[0]


def respond(form: Form, table: Table) -> Response:
    """The best response of every seat to a strategy."""
    values, best = (
        tuple(form.value(table, seat, best=way) for seat in range(form.seats))
        for way in (False, True)
    )
    return Response(values, best)
