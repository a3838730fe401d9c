"""A small table, solved to the end of the game while it is played.

Looking ahead starts at the opening, whatever has been bid: the answer to every history is part of
one strategy for the whole game. So there is no subgame to enter, and nothing to gain from making
the player enter one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..game import Game
from ..search.matching import variant_named
from ..search.regret import Solver
from ..search.sequences import Strategy
from .belief_tracker import History
from .exact.ladder import BID, CALL, Ladder

MOST_BIDS = 18  # 2^18 histories: an iteration takes a tenth of a second
PER_ROUND = 10  # iterations of CFR+
ENOUGH = 16 * PER_ROUND  # before that a good network is harder to exploit


class SolvedTable:
    """A solver that continues where it stopped, up to so many rounds."""

    def __init__(self, game: Game, rounds: int, seconds: float | None) -> None:
        self.ladder, self.rounds, self.seconds = Ladder(game), rounds, seconds
        self.solver = Solver(self.ladder, variant_named("cfr+"))

    def solve(self) -> Strategy:
        """The average strategy after all rounds, or after `seconds` more."""
        until = math.inf if self.seconds is None else time.monotonic() + self.seconds
        while self.solver.iterations < PER_ROUND * self.rounds and time.monotonic() < until:
            self.solver.step()
        return self.solver.average

    def odds(
        self,
        histories: Sequence[History],
        hands: NDArray[np.integer],
        otherwise: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """What the mover does with its hand, by table. [n, actions]

        otherwise: the answers where the solution has none yet.
        """
        table = self.solve()
        if self.solver.iterations < ENOUGH:
            return otherwise
        out, bids = otherwise.copy(), len(self.ladder.bids)
        for row, (history, hand) in enumerate(zip(histories, hands, strict=True)):
            at = sum(1 << bids - 1 - rung for rung in history)
            higher = range(history[-1] + 1 if history else 0, bids)
            weights = np.zeros(bids + 1)
            weights[higher] = [table[BID, at + (1 << bids - 1 - rung), hand] for rung in higher]
            weights[-1] = table[CALL, at, hand] if history else 0.0
            if weights.sum() > 0:
                out[row] = weights / weights.sum()
        return out
