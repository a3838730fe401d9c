"""A game of climbing bids between two hidden hands, as tensors: all hands of a seat at a time.

Each seat has a hand that tells nothing about the other's. In turn they bid, always higher than
before, or call; the call ends the game, and the hands and the last bid say what the bidder gets.
So one history stands for all hands that could have led to it: who knows how likely each hand would
have made these bids knows exactly what a call is worth to every hand.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..batch import Batch
from ..chance import streams
from ..game import OVER, Game, GameError
from ..search.sequences import deals, table_of


class Hands:
    """The hands of both seats, how likely they are, and what a called bid is worth to them.

    Hands are in the order of what a network sees of them, so equal hands of different seats, or at
    tables of different sizes, have the same number.
    """

    def __init__(self, game: Game, device: str) -> None:
        self.game, self.device = game, device
        states, likely = deals(game)
        self.bids, self.call = _rungs(game, states[0])
        seen = [_privs(game, states, seat) for seat in range(2)]
        privs, hands = zip(*map(_numbered, seen), strict=True)
        odds = [np.bincount(hand, likely) for hand in hands]
        together = np.zeros([len(each) for each in odds])
        np.add.at(together, hands, likely)
        if not np.allclose(together, np.outer(*odds), atol=1e-12):
            raise GameError(f"{game.name}: what one seat holds tells about the other's hand")
        self.deal = np.zeros(together.shape, game.state)
        self.deal[hands[0], hands[1]] = states
        self.odds = [self._tensor(each) for each in odds]
        self.privs = [self._tensor(each) for each in privs]
        self.biddable = torch.zeros(game.num_actions, dtype=torch.bool, device=device)
        self.biddable[self.bids] = True
        self.rung = torch.zeros(game.num_actions, dtype=torch.long, device=device)
        self.rung[self.bids] = torch.arange(len(self.bids), device=device)

    @cached_property
    def gains(self) -> Tensor:
        """What seat 0 gets when its bid is called. [hands, bids, hands]"""
        return self._tensor(np.stack([self._gains(bid) for bid in self.bids], 1))

    def _gains(self, bid: int) -> Any:
        tables = table_of(self.game, self.deal.reshape(-1).copy())
        for action in (bid, self.call):
            tables.play(np.full(tables.size, action), check=False)
        if not (tables.turns() == OVER).all():
            raise GameError(f"{self.game.name} does not end with a call")
        return np.asarray(tables.scores())[:, 0].reshape(self.deal.shape)

    def _tensor(self, array: Any) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self.device)

    def when_called(self, last: Tensor, seat: int, other: Tensor) -> Tensor:
        """What the bidder gets when its bid is called, for each hand of `seat`. [n, hands]

        last: the bids [n]; other: how likely each hand of the other seat is [n, hands].
        """
        gains = self.gains.permute(2, 1, 0) if seat == 0 else self.gains
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


def _privs(game: Game, states: Any, seat: int) -> Any:
    """What a network sees of a seat's hands. [n, priv]"""
    batch = Batch.of(game, np.ascontiguousarray(states), streams(0, "player", len(states)))
    views = np.asarray(batch.observe(np.full(len(states), seat)))
    return np.ascontiguousarray(views[:, : game.view["priv"].shape[0]])


def _numbered(rows: Any) -> tuple[Any, Any]:
    """The different rows in order, and of each row the number of its like."""
    whole = rows.view(np.dtype((np.void, rows[0].nbytes))).reshape(-1)  # rows in a row: fast
    _, first, numbers = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], numbers.reshape(-1)


def _rungs(game: Game, dealt: Any) -> tuple[list[int], int]:
    """The bids from low to high, and the call."""
    s = game.copy(dealt)
    bids = game.legal(s)
    game.play(s, bids[-1])
    calls = game.legal(s) if game.turn(s) == 1 else []
    if game.seats != 2 or not game.zero_sum or len(calls) != 1 or calls[0] <= bids[-1]:
        raise GameError(f"{game.name} with these options is not a game of climbing bids")
    return bids, calls[0]
