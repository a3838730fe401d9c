"""Solutions of tables, for networks of beliefs to learn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from ...bidding.beliefs import BeliefNet
from ...bidding.every_history import ladder_numbers, policy_table
from ...bidding.exact.ladder import BID, CALL, Ladder
from ...bidding.hands import Hands
from ...bidding.lookahead import Lookahead, Public
from ...bidding.short_memory import ShortMemory, remembered
from ...search.best_response import respond
from ...search.regret import solve

Progress = Callable[[int], object]


def silent(done: int) -> None:
    """Progress that nobody watches."""


class Teacher(ABC):
    """The policy of a solved table, after every history of bids."""

    def policy(self, public: Public) -> Tensor:
        """What it plays at these tables. [n, actions, hands]"""
        weights = self.weights(public)
        rungs = torch.arange(weights.shape[1] - 1, device=weights.device)
        legal = torch.cat((rungs > public.standing[:, None], public.standing[:, None] >= 0), 1)
        weights = weights.clamp(min=0) * legal[:, :, None]
        # It plays anything where it never gets to.
        weights += legal[:, :, None] * (weights.sum(1, keepdim=True) == 0)
        return weights / weights.sum(1, keepdim=True)

    @abstractmethod
    def weights(self, public: Public) -> Tensor:
        """Numbers in proportion to what it plays, where that is legal. [n, actions, hands]"""


class ExactTeacher(Teacher):
    """The solution of a small table by so many iterations of CFR+.

    progress: called with the number of every iteration.
    """

    def __init__(self, hands: Hands, iterations: int, progress: Progress = silent) -> None:
        self.hands, self.bids = hands, len(hands.bids)
        form = Ladder(hands.bidding.game, hands.device)
        average = solve(form, iterations, progress=progress).average
        self.table = torch.from_numpy(form.device.get(average)).to(hands.device)
        self.sizes = form.deal.shape

    def weights(self, public: Public) -> Tensor:
        rungs = torch.arange(self.bids, device=self.table.device)
        at = ladder_numbers(public.bid_set, self.bids)
        after = at[:, None] | 1 << self.bids - 1 - rungs
        weights = torch.cat((self.table[BID][after], self.table[CALL][at][:, None]), 1)
        return weights[:, :, : self.sizes[public.mover]]

    def exploitability(self, net: BeliefNet) -> float:
        """How much a perfect opponent wins from a network's own policy, in points per game."""
        form = Ladder(self.hands.bidding.game, self.hands.device)  # not kept: it may be large
        return respond(form, policy_table(form, Lookahead(self.hands, net))).exploitability


class ShortMemoryTeacher(Teacher):
    """The solution of a large table, as if seats remembered only the last `bids` bids.

    progress: called with the number of every iteration; know: whether they know that they have
    forgotten something.
    """

    def __init__(
        self,
        hands: Hands,
        bids: int,
        iterations: int,
        progress: Progress = silent,
        *,
        know: bool = False,
    ) -> None:
        solver = ShortMemory(hands, bids, know=know)
        solver.solve(iterations, progress)
        # Only the policies are kept, because the solver takes many gigabytes.
        solver.reach, solver.worth = [], []
        self.policies = solver.policies(torch.float16)
        self.bids, self.know = bids, know
        self.numbers = torch.from_numpy(solver.memories.numbers).to(hands.device)
        self.rungs = torch.arange(len(hands.bids), device=hands.device)

    @property
    def memory(self) -> tuple[int, bool]:
        """How many bids seats remember, and whether they know what they forget."""
        return self.bids, self.know

    def weights(self, public: Public) -> Tensor:
        made = public.bid_set[:, None] >> self.rungs & 1
        made = functional.pad(made * (self.rungs + 1), (1, 0))
        last = made.topk(self.bids + 1).values.flip(1)  # the standing bid last
        at = self.numbers[remembered(last, know=self.know)].long()
        return self.policies[public.mover][at].float()
