"""How much the best opponent of a strategy wins: exact, for games that are small enough.

A game is walked in a form: `Sequences` serves every game, and rooms for special games have faster
forms with the same answers. A strategy is a table of weights, shaped as the form wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..game import Game
from .matching import Step
from .sequences import Policy, Progress, Strategy


class Form(Protocol):
    """A game as arrays, with room for all its positions."""

    game: Game
    seats: int

    def zeros(self) -> Strategy:
        """The strategy without a preference: all weights are 0."""

    def ask(self, policy: Policy, progress: Progress = ...) -> Strategy:
        """The strategy of a policy; `progress` is called with the fraction that is done."""

    def value(self, table: Strategy, seat: int, *, best: bool) -> float:
        """What a seat gets if all play by `table`, or if it responds best to the others."""

    def learn(
        self, seat: int, weights: Strategy, gains: Strategy, average: Strategy, step: Step
    ) -> None:
        """One step of a seat. What the others play is added to their average."""


@dataclass(frozen=True)
class Response:
    """How a strategy does, by seat, in points per game."""

    values: tuple[float, ...]  # if all play it
    best: tuple[float, ...]  # of the best response, if all others play it

    @property
    def nash_conv(self) -> float:
        """The sum of what each seat gains by its best response; 0 in equilibrium."""
        return sum(self.best) - sum(self.values)

    @property
    def exploitability(self) -> float:
        """The same per seat."""
        return self.nash_conv / len(self.best)

    @property
    def bracket(self) -> tuple[float, float]:
        """Lower and upper bound on the value of a zero-sum game for two, for seat 0."""
        return -self.best[1], self.best[0]


def respond(form: Form, table: Strategy) -> Response:
    """The best response of every seat to a strategy."""
    values, best = (
        tuple(form.value(table, seat, best=way) for seat in range(form.seats))
        for way in (False, True)
    )
    return Response(values, best)
