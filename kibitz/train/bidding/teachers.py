"""Exact solutions of small tables, for networks of beliefs to learn from."""

from __future__ import annotations

import torch
from torch import Tensor

from ...bidding.every_history import ladder_numbers
from ...bidding.exact.ladder import BID, CALL, Ladder
from ...bidding.hands import Hands
from ...bidding.lookahead import Public
from ...search.regret import solve


class Teacher:
    """The policy of a solved table, after every history of bids.

    iterations: of CFR+.
    """

    def __init__(self, hands: Hands, iterations: int) -> None:
        form = Ladder(hands.bidding.game, hands.device)
        average = solve(form, iterations).average
        self.table = torch.from_numpy(form.device.get(average)).to(hands.device)
        self.bids, self.sizes = len(hands.bids), form.deal.shape

    def policy(self, public: Public) -> Tensor:
        """What it plays at these tables. [n, actions, hands]"""
        rungs = torch.arange(self.bids, device=self.table.device)
        at = ladder_numbers(public.bid_set, self.bids)
        after = at[:, None] | 1 << self.bids - 1 - rungs
        weights = torch.cat((self.table[BID][after], self.table[CALL][at][:, None]), 1)
        legal = torch.cat((rungs > public.standing[:, None], public.standing[:, None] >= 0), 1)
        weights = weights[:, :, : self.sizes[public.mover]].clamp(min=0) * legal[:, :, None]
        # It plays anything where it never gets to.
        weights += legal[:, :, None] * (weights.sum(1, keepdim=True) == 0)
        return weights / weights.sum(1, keepdim=True)
