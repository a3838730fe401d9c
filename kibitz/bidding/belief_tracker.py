"""What everybody believes after some bids, if both seats play by one network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .lookahead import Lookahead, Public, joined

Bids = tuple[int, ...]  # the rungs that were bid, in order
MOST = 1 << 14  # stories that are kept in mind

Decide = Callable[[Public], Tensor]  # what all hands of the mover do. [n, actions, hands]


class Story:
    """Beliefs after bids, and what each hand would do now.

    What was bid before is followed by the network's own policy; `decide` is for the decision that
    is due, so that it alone takes time.

    rows: tables that are decided at a time, always exactly so many: then an answer does not depend
    on what else was asked.
    """

    def __init__(self, look: Lookahead, decide: Decide, rows: int) -> None:
        self.look, self.decide, self.rows = look, decide, rows
        self._known: dict[Bids, Public] = {(): look.opening()}

    def odds(self, told: Sequence[Bids], hands: Any) -> Any:
        """What the mover does with its hand, by table. [n, actions]"""
        self._learn(told)
        tables: dict[Bids, list[int]] = {}
        for table, bids in enumerate(told):
            tables.setdefault(bids, []).append(table)
        out = np.zeros((len(told), len(self.look.hands.bids) + 1))
        for seat in range(2):
            moving = [bids for bids in tables if len(bids) % 2 == seat]
            for bids, policy in self._asked(self.decide, moving):
                out[tables[bids]] = policy.cpu().numpy()[:, hands[tables[bids]]].T
        return out

    def _learn(self, told: Sequence[Bids]) -> None:
        """Beliefs after all these bids and everything on the way to them, the shorter first."""
        if len(self._known) > MOST:
            self._known = {(): self.look.opening()}
        wanted = {bids[:end] for bids in told for end in range(1, len(bids) + 1)}
        wanted -= self._known.keys()
        for length in sorted({len(bids) for bids in wanted}):
            after: dict[Bids, list[int]] = {}
            for bids in wanted:
                if len(bids) == length:
                    after.setdefault(bids[:-1], []).append(bids[-1])
            for bids, policy in self._asked(self.look.advice, list(after)):
                for rung in after[bids]:
                    made = torch.tensor([rung], device=policy.device)
                    self._known[*bids, rung] = self._known[bids].after(made, policy[None, rung])

    def _asked(self, decide: Decide, told: list[Bids]) -> Iterator[tuple[Bids, Tensor]]:
        """What all hands of the mover do after each of these bids. [actions, hands] each"""
        for first in range(0, len(told), self.rows):
            some = told[first : first + self.rows]
            full = [*some, *some[:1] * (self.rows - len(some))]
            policy = decide(joined([self._known[bids] for bids in full]))
            yield from zip(some, policy[: len(some)], strict=True)
