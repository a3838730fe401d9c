"""What a solution wins from a weak player."""

from __future__ import annotations

from torch import Tensor

from .contexts import ContextPolicy, ContextWalk, Part, Weak, from_bytes
from .hands import Hands


def won_from(hands: Hands, policy: ContextPolicy, weak: Weak) -> float:
    """What a policy wins from a weak player, in points per game, the mean of both seats.

    The hands of both seats are taken for independent where a context stands for many histories.
    """
    return sum(Meeting(hands, policy, weak, seat).value() for seat in range(2)) / 2


class Meeting(ContextWalk):
    """One seat plays by a policy, the other one is a weak player."""

    def __init__(self, hands: Hands, policy: ContextPolicy, weak: Weak, seat: int) -> None:
        super().__init__(hands, policy.contexts, weak)
        self.tables, self.seat = policy.tables, seat

    def value(self) -> float:
        """What the seat wins, in points per game."""
        self._spread()
        for part in reversed(self.parts):
            self._valued(part)
        hands = self.other if self.seat else self.own  # seat 0 opens
        return float(hands[0][0] @ self.hands.odds[self.seat])

    def _policy(self, part: Part) -> Tensor:
        if part.mover != self.seat:
            return part.weak.expand(part.at.stop - part.at.start, -1, -1)
        table = self.layouts[part.mover].part(self.tables[part.mover], part.standing)
        return from_bytes(table[part.rows])
