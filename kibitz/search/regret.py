"""Counterfactual regret minimisation: two seats that learn from each other approach equilibrium.

>>> from kibitz.games import load
>>> solved = solve(load("kuhn"), iterations=1000)
>>> round(solved.response.values[0], 3), round(solved.response.exploitability, 3)
(-0.056, 0.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ..game import Game, GameError
from .best_response import Form, Response, respond
from .matching import Variant, step_of, variant_named
from .sequences import Sequences, Strategy


@dataclass(frozen=True, eq=False)
class Solution:
    """An average strategy, which is what comes near to equilibrium."""

    form: Form
    average: Strategy  # on the device of the form
    iterations: int

    @cached_property
    def response(self) -> Response:
        """How well it does; `response.bracket` bounds the value of the game."""
        return respond(self.form, self.average)


class Solver:
    """Learning, one seat after the other. `solve` is the short way."""

    def __init__(self, form: Form, variant: Variant) -> None:
        if form.seats != 2 or not form.game.zero_sum:
            raise GameError(f"{form.game.name} is not a zero-sum game for two: it cannot be solved")
        self.form, self.variant, self.iterations = form, variant, 0
        self.weights, self.average = form.zeros(), form.zeros()
        # Only prediction looks at the gains of the step before; a large game has no room to waste.
        self.gains = form.zeros() if variant.predictive else self.weights

    def step(self) -> None:
        """One iteration: each seat learns once, against what the other plays by then."""
        self.iterations += 1
        step = step_of(self.variant, self.iterations)
        for seat in range(self.form.seats):
            self.form.learn(seat, self.weights, self.gains, self.average, step)

    def solution(self) -> Solution:
        """The average so far."""
        return Solution(self.form, self.average, self.iterations)


def solve(
    game: Game | Form,
    iterations: int,
    variant: str = "cfr+",
    progress: Callable[[int], object] = lambda done: None,
) -> Solution:
    """The average strategy after so many iterations; `progress` is called with their number.

    A game that is solved more than once is better given as its form, which `bidding.exact.form_of`
    finds; one that is solved on a GPU must be.
    """
    form = Sequences(game) if isinstance(game, Game) else game
    solver = Solver(form, variant_named(variant))
    for done in range(1, iterations + 1):
        solver.step()
        progress(done)
    return solver.solution()
