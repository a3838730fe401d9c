"""A solution that leans a little towards what wins from a weak player.

In a solution many actions of a hand are worth almost the same. Against a player who errs they
differ, so some of them can be preferred. The probability of each action is multiplied by
e^(strength * gain), where the gain is what the action adds if the other seat is the weak player and
everybody plays on as before. It has its price: whoever knows that wins more, too.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .contexts import NEGLIGIBLE, ContextPolicy, ContextWalk, Part, Weak
from .hands import Hands


def lean(hands: Hands, policy: ContextPolicy, weak: Weak, strength: float) -> None:
    """Change a policy, so that it wins more from a weak player."""
    for seat in range(2):
        Leaning(hands, policy, weak, seat).lean(strength)


def expected(hands: Hands, policy: ContextPolicy, weak: Weak) -> float:
    """What a policy wins from a weak player, in points per game, the mean of both seats.

    The hands of both seats are taken for independent where a context stands for many histories.
    """
    return sum(Leaning(hands, policy, weak, seat).value() for seat in range(2)) / 2


class Leaning(ContextWalk):
    """One seat plays by a policy, the other one is a weak player."""

    def __init__(self, hands: Hands, policy: ContextPolicy, weak: Weak, seat: int) -> None:
        super().__init__(hands, policy.contexts)
        self.tables, self.weak, self.seat = policy.tables, weak, seat

    def value(self) -> float:
        """What the seat wins, in points per game."""
        self._spread()
        for part in reversed(self.parts):
            self._valued(part)
        hands = self.other if self.seat else self.own  # seat 0 opens
        return float(hands[0][0] @ self.hands.odds[self.seat])

    def lean(self, strength: float) -> None:
        """Change what the seat does, from the last bids to the first."""
        self._spread()
        for part in reversed(self.parts):
            policy, gains, _ = self._valued(part)
            if part.mover == self.seat:
                weights = policy * torch.exp(strength * gains)
                total = weights.sum(1, keepdim=True).clamp(min=NEGLIGIBLE)
                self._table(part).copy_(weights / total)

    def _policy(self, part: Part) -> Tensor:
        if part.mover == self.seat:
            return self._table(part).float()
        odds = self.weak[part.mover][part.standing + 1, part.standing + 1 :]
        legal = odds if part.standing >= 0 else odds[:-1]  # there is nothing to call yet
        return legal.expand(part.at.stop - part.at.start, -1, -1)

    def _table(self, part: Part) -> Tensor:
        """The policy in these contexts. [contexts, legal actions, hands]"""
        return self.layouts[part.mover].part(self.tables[part.mover], part.standing)[part.rows]
