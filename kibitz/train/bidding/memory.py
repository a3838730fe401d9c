"""What is remembered of histories: regrets, average policies and worth, for all hands at once.

A table with a place for each history, found by a hash of its bids. Where all places near that are
taken, the newer history has the first of them and the older one is forgotten.
"""

from __future__ import annotations

import torch
from torch import Tensor

MIX = 0x9E3779B97F4A7C15 - (1 << 64)  # the golden ratio as a signed 64-bit number
NOBODY = -1
NEAR = 8  # places that a history can have


class Memory:
    """As many megabytes of histories as there may be, on a device.

    Behind the last place is one that nobody has: there everything is zero.
    """

    def __init__(self, room: int, hands: int, actions: int, pub: int, device: str) -> None:
        one = 4 * (4 * hands * actions + pub) + actions + 12  # bytes of a history
        self.bits = max((room * 2**20 // one).bit_length() - 1, 3)
        size = (1 << self.bits) + 1
        self.keys = torch.full((size,), NOBODY, device=device)
        self.histories = torch.zeros(size, pub, device=device)
        self.visits = torch.zeros(size, device=device)
        self.tried = torch.zeros(size, actions, dtype=torch.bool, device=device)
        self.regrets, self.average = (
            torch.zeros(size, hands, actions, device=device) for _ in range(2)
        )
        # to the hands of the seat to move, and to those of the other
        self.worth = torch.zeros(size, 2, hands, actions, device=device)

    def find(self, keys: Tensor, histories: Tensor) -> tuple[Tensor, Tensor]:
        """Places of different histories [n], and which of them are new there.

        Among several that want one place one gets it; the others have the one behind the last.
        """
        places = self._wanted(keys)
        strange = ~self.holds(places, keys)
        self.keys[places] = keys
        held = self.holds(places, keys)
        new = strange & held
        self.histories[places[new]] = histories[new]
        for table in (self.visits, self.tried, self.average):
            table[places[new]] = 0
        return torch.where(held, places, len(self.keys) - 1), new

    def _wanted(self, keys: Tensor) -> Tensor:
        """Their own places, or else the first free ones near, or else the first ones near. [n]"""
        first = keys * MIX >> (64 - self.bits)
        near = first[:, None] + torch.arange(NEAR, device=keys.device) & (1 << self.bits) - 1
        own, free = self.keys[near] == keys[:, None], self.keys[near] == NOBODY
        best = (2 * own.int() + free.int()).argmax(1, keepdim=True)
        return near.gather(1, best).squeeze(1)

    def holds(self, places: Tensor, keys: Tensor) -> Tensor:
        """Whether these histories have these places. bool [n]"""
        return self.keys[places] == keys
