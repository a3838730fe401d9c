"""The beliefs about both hands after a history of bids, if both seats play by one network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .lookahead import Lookahead, Public, joined

History = tuple[int, ...]
"""The rungs that were bid, in order."""

Decide = Callable[[Public], Tensor]
"""The policy of all hands of the mover. [n, actions, hands]"""

MOST = 1 << 14  # histories whose beliefs are kept


class BeliefTracker:
    """Follows beliefs through histories, and says what each hand does next.

    Past bids are explained by the network's own policy. `decide` serves only the decision to make
    now, so only that one takes time.

    rows: tables per call of `decide`, always exactly so many: then an answer does not depend on
    what else was asked.
    """

    def __init__(self, look: Lookahead, decide: Decide, rows: int) -> None:
        self.look, self.decide, self.rows = look, decide, rows
        self._known: dict[History, Public] = {(): look.opening()}

    def odds(self, histories: Sequence[History], hands: NDArray[np.integer]) -> NDArray[np.float64]:
        """What the mover does with its hand, by table. [n, actions]"""
        self._learn(histories)
        tables: dict[History, list[int]] = {}
        for table, history in enumerate(histories):
            tables.setdefault(history, []).append(table)
        out = np.zeros((len(histories), len(self.look.hands.bids) + 1))
        for seat in range(2):
            moving = [history for history in tables if len(history) % 2 == seat]
            for history, policy in self._policies(self.decide, moving):
                out[tables[history]] = policy.cpu().numpy()[:, hands[tables[history]]].T
        return out

    def after(self, history: History) -> Public:
        """The beliefs after a history."""
        self._learn([history])
        return self._known[history]

    def _learn(self, histories: Sequence[History]) -> None:
        """Find the beliefs after these histories and all their beginnings, shorter ones first."""
        if len(self._known) > MOST:
            self._known = {(): self.look.opening()}
        wanted = {bids[:end] for bids in histories for end in range(1, len(bids) + 1)}
        wanted -= self._known.keys()
        for length in sorted({len(history) for history in wanted}):
            after: dict[History, list[int]] = {}
            for history in wanted:
                if len(history) == length:
                    after.setdefault(history[:-1], []).append(history[-1])
            for history, policy in self._policies(self.look.prior, list(after)):
                for rung in after[history]:
                    bid = torch.tensor([rung], device=policy.device)
                    public = self._known[history].after(bid, policy[None, rung])
                    self._known[*history, rung] = public

    def _policies(
        self, decide: Decide, histories: list[History]
    ) -> Iterator[tuple[History, Tensor]]:
        """The policy of all hands of the mover after each history. [actions, hands]"""
        for first in range(0, len(histories), self.rows):
            chunk = histories[first : first + self.rows]
            full = [*chunk, *chunk[:1] * (self.rows - len(chunk))]
            policy = decide(joined([self._known[history] for history in full]))
            yield from zip(chunk, policy[: len(chunk)], strict=True)
