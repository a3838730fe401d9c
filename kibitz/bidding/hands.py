"""A game of rising bids between two hidden hands as tensors over all hands of a seat.

One history stands for all hands that could have led to it. From how likely each hand would have
made these bids follows exactly what a call brings to every hand.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..game import Game
from .exact.bidding_game import BiddingGame


class Hands:
    """The hands of both seats, how likely they are, and what a called bid brings to them.

    A bid's *rung* is its place among the bids, from the lowest, 0, to the highest.
    """

    def __init__(self, game: Game, device: str) -> None:
        self.device, self.bidding = device, BiddingGame(game)
        self.bids, self.call = self.bidding.bids, self.bidding.call
        hand_size = game.view["priv"].shape[0]
        self.odds = [self._tensor(odds) for odds in self.bidding.odds]
        self.privs = [self._tensor(views[:, :hand_size]) for views in self.bidding.views]
        self.biddable = torch.zeros(game.num_actions, dtype=torch.bool, device=device)
        self.biddable[self.bids] = True
        self.rung = torch.zeros(game.num_actions, dtype=torch.long, device=device)
        self.rung[self.bids] = torch.arange(len(self.bids), device=device)

    @cached_property
    def gains(self) -> Tensor:
        """What the bidder gets when a bid is called. [bids, hands, hands]"""
        return self._tensor(self.bidding.gains)

    def _tensor(self, array: NDArray[np.floating]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self.device)

    def when_called(self, last: Tensor, seat: int, other: Tensor) -> Tensor:
        """What the bidder gets when its bid is called, for each hand of `seat`. [n, hands]

        last: the bids [n]; other: how likely each hand of the other seat is [n, hands].
        """
        gains = self.gains.permute((2, 0, 1) if seat == 0 else (1, 0, 2))
        by_bid = (other @ gains.flatten(1)).reshape(len(last), *gains.shape[1:])
        rows = torch.arange(len(last), device=self.device)
        called: Tensor = by_bid[rows, self.rung[last.clamp(min=0)]]
        return called

    def legal(self, last: Tensor) -> Tensor:
        """The actions above the last bid, -1 where there is none yet. bool [n, actions]"""
        mask = self.biddable & (
            torch.arange(len(self.biddable), device=self.device) > last[:, None]
        )
        mask[:, self.call] = last >= 0
        return mask
