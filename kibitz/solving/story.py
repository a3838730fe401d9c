"""What everybody believes after some bids, if both seats play by one network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        out = np.zeros((len(told), len(self.look.hands.bids) + 1))
        for seat in range(2):
            tables = [k for k, bids in enumerate(told) if len(bids) % 2 == seat]
            different = sorted({told[k] for k in tables})
            place = {bids: row for row, bids in enumerate(different)}
            where = np.array([place[told[k]] for k in tables], np.int64)
            for first in range(0, len(different), self.rows):
                some = np.flatnonzero((where >= first) & (where < first + self.rows))
                policy = self._asked(self.decide, different[first : first + self.rows])
                mine = torch.from_numpy(hands[np.array(tables)[some]]).to(policy.device)
                rows = torch.from_numpy(where[some] - first).to(policy.device)
                out[np.array(tables)[some]] = policy[rows, :, mine].cpu().numpy()
        return out

    def _learn(self, told: Sequence[Bids]) -> None:
        """Beliefs after all these bids and everything on the way to them, the shorter first."""
        if len(self._known) > MOST:
            self._known = {(): self.look.opening()}
        wanted = {bids[:end] for bids in told for end in range(1, len(bids) + 1)}
        wanted -= self._known.keys()
        for length in sorted({len(bids) for bids in wanted}):
            level = sorted(bids for bids in wanted if len(bids) == length)
            before = sorted({bids[:-1] for bids in level})
            place = {bids: row for row, bids in enumerate(before)}
            for first in range(0, len(before), self.rows):
                policy = self._asked(self.look.advice, before[first : first + self.rows])
                for bids in level:
                    row = place[bids[:-1]] - first
                    if 0 <= row < self.rows:
                        rung = torch.tensor(bids[-1:], device=policy.device)
                        self._known[bids] = self._known[bids[:-1]].after(
                            rung, policy[row : row + 1, bids[-1]]
                        )

    def _asked(self, decide: Decide, told: Sequence[Bids]) -> Tensor:
        """What all hands do after these bids, at most `rows` of them."""
        full = [*told, *[told[0]] * (self.rows - len(told))]
        return decide(joined([self._known[bids] for bids in full]))[: len(told)]
