"""Networks that look at all that can follow their actions, up to the next decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..game import Game
from ..search.expectation import Lookahead
from .sight import Sight

if TYPE_CHECKING:
    from ..nets.kinds import Judgement, PolicyJudge, SightLike


class Foreseeing:
    """A judge that prefers the action with the highest expectation, by the network's values.

    judge: the network alone; its policy stays as it is. positions: the most that it looks at for
    one action, see `search.expectation`.
    """

    def __init__(self, game: Game, judge: PolicyJudge, positions: int) -> None:
        self.judge, self.evaluator = judge, judge.evaluator
        self.lookahead = Lookahead(game, judge.evaluator, positions)

    def __call__(self, sight: SightLike) -> Judgement:
        judgement, (legal, counts) = self.judge(sight), sight.legal
        assert isinstance(sight, Sight) and judgement.value is not None
        values = np.zeros(legal.shape) + judgement.value[:, None]
        some = np.flatnonzero(counts > 1)  # have a choice
        rngs, chosen = sight.rngs[some], (legal[some], counts[some])
        states = sight.imagine()[some]
        values[some] = self.lookahead.expectations(states, sight.seats[some], chosen, rngs)
        sight.rngs[some] = rngs
        preferences = np.where(np.isinf(judgement.preferences), -np.inf, values)
        return judgement._replace(preferences=preferences, values=values)
