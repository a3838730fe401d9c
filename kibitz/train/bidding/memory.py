"""A memory of histories: regrets, average policies and values, for all hands at once.

A hash table with a place for each history, found by a hash of its bids. If all places near the
hash are taken, the new history replaces the one in the first of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

MIX = 0x9E3779B97F4A7C15 - (1 << 64)  # the golden ratio as a signed 64-bit number
FREE = -1
NEAR = 8  # places that a history can have


class Memory:
    """As many histories as fit into `megabytes`, on a device.

    After the last place comes one that stays free: there everything is zero.
    """

    def __init__(self, megabytes: int, hands: int, actions: int, pub: int, device: str) -> None:
        bytes_per_history = 4 * (4 * hands * actions + pub) + actions + 12
        self.bits = max((megabytes * 2**20 // bytes_per_history).bit_length() - 1, 3)
        size = (1 << self.bits) + 1
        self.keys = torch.full((size,), FREE, device=device)
        self.histories = torch.zeros(size, pub, device=device)
        self.visits = torch.zeros(size, device=device)
        self.tried = torch.zeros(size, actions, dtype=torch.bool, device=device)
        self.regrets, self.average = (
            torch.zeros(size, hands, actions, device=device) for _ in range(2)
        )
        # of actions, to the hands of the seat to move and to those of the other
        self.values = torch.zeros(size, 2, hands, actions, device=device)

    def find(self, keys: Tensor, histories: Tensor) -> tuple[Tensor, Tensor]:
        """Places of different histories [n], and which of them are new there.

        If several want one place, one of them gets it; the others get the free one at the end.
        """
        places = self._wanted(keys)
        unknown = ~self.holds(places, keys)
        self.keys[places] = keys
        held = self.holds(places, keys)
        new = unknown & held
        self.histories[places[new]] = histories[new]
        for table in (self.visits, self.tried, self.average):
            table[places[new]] = 0
        return torch.where(held, places, len(self.keys) - 1), new

    def _wanted(self, keys: Tensor) -> Tensor:
        """The places that hold these keys, or else the first free ones near, or the first. [n]"""
        first = keys * MIX >> (64 - self.bits)
        near = first[:, None] + torch.arange(NEAR, device=keys.device) & (1 << self.bits) - 1
        own, free = self.keys[near] == keys[:, None], self.keys[near] == FREE
        best = (2 * own.int() + free.int()).argmax(1, keepdim=True)
        return near.gather(1, best).squeeze(1)

    def holds(self, places: Tensor, keys: Tensor) -> Tensor:
        """Whether these places hold these histories. bool [n]"""
        return self.keys[places] == keys
