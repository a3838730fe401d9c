"""What a player does with every hand that it can hold, in a game of rising bids."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from ..bidding.exact.bidding_game import BiddingGame
from ..chance import streams
from ..devices import Array
from ..players import NetPlayer, Player, Sight
from ..search.sequences import table_of
from .exploitability import ROWS, Policy, policy_of

TOGETHER = 1 << 20  # probabilities that a player is asked for at a time
KEPT = 1 << 26  # probabilities that are kept: 256 MB

History = tuple[int, ...]  # bids by rung, the lowest is 0
Policies = Callable[[list[History], Tensor], Iterator[Tensor]]
"""What a player does with every hand after histories of one length, the call last, in portions
[n, bids + 1, hands]. It is given how likely it holds each hand [histories, hands]; what it does
with the others does not matter."""


def policies_of(climb: BiddingGame, who: Player) -> Policies:
    """How a player says what it does. Rejects players with hidden randomness."""
    by_sight = policy_of(who)
    at_once = who.with_all_hands(climb.game) if isinstance(who, NetPlayer) else None
    if at_once is None:
        return ThroughViews(climb, by_sight)
    return lambda histories, beliefs: at_once(histories)


class ThroughViews:
    """Asks a player with a table for each hand that it can hold, and keeps the answers."""

    def __init__(self, climb: BiddingGame, policy: Policy) -> None:
        self.climb, self.policy = climb, policy
        self.deals = climb.deal[:, 0], climb.deal[0]  # by seat, a table for each hand
        self._known: dict[History, Array] = {}

    def __call__(self, histories: list[History], beliefs: Tensor) -> Iterator[Tensor]:
        size = (len(self.climb.bids) + 1) * beliefs.shape[1]
        together = max(TOGETHER // size, 1)
        for first in range(0, len(histories), together):
            if len(self._known) * size > KEPT:
                self._known.clear()
            part = slice(first, first + together)
            self._learn(histories[part], beliefs[part].cpu().numpy())
            yield torch.from_numpy(np.stack([self._known[made] for made in histories[part]]))

    def _learn(self, histories: list[History], beliefs: Array) -> None:
        new = [n for n, made in enumerate(histories) if made not in self._known]
        if new:
            asked = [histories[n] for n in new]
            self._known |= zip(asked, self._ask(asked, beliefs[new]), strict=True)

    def _ask(self, histories: list[History], beliefs: Array) -> Array:
        """[histories, bids + 1, hands]"""
        which, hands = np.nonzero(beliefs)
        odds = self._odds(histories, which, hands)
        policies = np.zeros((*beliefs.shape, len(self.climb.bids) + 1), np.float32)
        cuts = np.flatnonzero(np.diff(which)) + 1
        parts = zip(np.split(hands, cuts), np.split(odds, cuts), strict=True)
        for policy, made, (held, taken) in zip(policies, histories, parts, strict=True):
            first = made[-1] + 1 if made else 0
            last = policies.shape[2] - (not made)  # there is nothing to call before the first bid
            policy[held, first:last] = taken[:, : last - first]
        return policies.transpose(0, 2, 1)

    def _odds(self, histories: list[History], which: Array, hands: Array) -> Array:
        """The policy after `which` of the histories with these hands. [n, max_legal]"""
        seat, parts = len(histories[0]) % 2, []
        states = self.deals[seat][hands]
        tables = table_of(self.climb.game, states)
        for rungs in zip(*histories, strict=True):
            tables.play(np.array([self.climb.bids[rung] for rung in rungs])[which], check=False)
        for first in range(0, len(states), ROWS):
            part = states[first : first + ROWS]
            rngs = streams(0, "player", len(part))
            sight = Sight(self.climb.game, part, np.full(len(part), seat), rngs)
            parts.append(self.policy(sight))
        return np.concatenate(parts)
