"""A game of climbing bids between two hidden hands, as tensors: all hands of a seat at a time.

One history stands for all hands that could have led to it: who knows how likely each hand would
have made these bids knows exactly what a call is worth to every hand.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..game import Game
from .exact.climb import Climb


class Hands:
    """The hands of both seats, how likely they are, and what a called bid is worth to them."""

    def __init__(self, game: Game, device: str) -> None:
        self.device, self.climb = device, Climb(game)
        self.bids, self.call = self.climb.bids, self.climb.call
        seen = game.view["priv"].shape[0]
        self.odds = [self._tensor(each) for each in self.climb.odds]
        self.privs = [self._tensor(each[:, :seen]) for each in self.climb.views]
        self.biddable = torch.zeros(game.num_actions, dtype=torch.bool, device=device)
        self.biddable[self.bids] = True
        self.rung = torch.zeros(game.num_actions, dtype=torch.long, device=device)
        self.rung[self.bids] = torch.arange(len(self.bids), device=device)

    @cached_property
    def gains(self) -> Tensor:
        """What the bidder gets when a bid is called. [bids, hands, hands]"""
        return self._tensor(self.climb.gains)

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self.device)

    def when_called(self, last: Tensor, seat: int, other: Tensor) -> Tensor:
        """What the bidder gets when its bid is called, for each hand of `seat`. [n, hands]

        last: the bids [n]; other: how likely each hand of the other seat is [n, hands].
        """
        gains = self.gains.permute((2, 0, 1) if seat == 0 else (1, 0, 2))
        every = (other @ gains.flatten(1)).reshape(len(last), *gains.shape[1:])
        rows = torch.arange(len(last), device=self.device)
        got: Tensor = every[rows, self.rung[last.clamp(min=0)]]
        return got

    def legal(self, last: Tensor) -> Tensor:
        """The actions above the last one, -1 where there is none yet. bool [n, actions]"""
        mask = self.biddable & (
            torch.arange(len(self.biddable), device=self.device) > last[:, None]
        )
        mask[:, self.call] = last >= 0
        return mask
