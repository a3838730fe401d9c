"""Solutions of tables, for networks of beliefs to learn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ...arena.all_hands import History, Policies, policies_of
from ...bidding.beliefs import BeliefNet
from ...bidding.contexts import Weak, solved
from ...bidding.every_history import ladder_numbers, policy_table
from ...bidding.exact.ladder import BID, CALL, Ladder
from ...bidding.hands import Hands
from ...bidding.lookahead import Lookahead, Public
from ...players import player
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


class ContextTeacher(Teacher):
    """The solution of a large table, as if seats remembered only so many contexts.

    weak: a player that the other seat is at times; what it does must depend on its hand and the
    standing bid alone.
    progress: called with the number of every iteration.
    """

    def __init__(
        self,
        hands: Hands,
        contexts: int,
        iterations: int,
        seed: int,
        weak: str = "",
        progress: Progress = silent,
    ) -> None:
        expected = weak_player(hands, weak) if weak else None
        self.solution = solved(hands, contexts, iterations, seed, expected, progress)

    def weights(self, public: Public) -> Tensor:
        rows = self.solution.rows(public.mover, public.bid_set)
        return self.solution.odds(public.mover, rows)


class MeanTeacher(Teacher):
    """The mean of what several solutions of one table play."""

    def __init__(self, solutions: Sequence[Teacher]) -> None:
        self.solutions = solutions

    def weights(self, public: Public) -> Tensor:
        return torch.stack([solution.policy(public) for solution in self.solutions]).sum(0)


class PlayerTeacher(Teacher):
    """What a player does after the same bids. policies: how it says that."""

    def __init__(self, hands: Hands, policies: Policies) -> None:
        self.actions, self.policies = len(hands.bids) + 1, policies

    def weights(self, public: Public) -> Tensor:
        # Sets of bids in order have equal last bids side by side, as networks like it.
        sets, rows = torch.unique(public.bid_set, return_inverse=True)
        histories = [history_of(bids) for bids in sets.tolist()]
        any_hand = torch.ones_like(public.roles[0][:1])
        weights = any_hand.new_empty(len(sets), self.actions, any_hand.shape[1])
        for length in {*map(len, histories)}:
            at = [n for n, history in enumerate(histories) if len(history) == length]
            answers = self.policies([histories[n] for n in at], any_hand.expand(len(at), -1))
            weights[at] = torch.cat([*answers]).to(weights)
        return weights[rows]


def history_of(bid_set: int) -> History:
    """The rungs of all bids, each a bit, in their order: bids rise."""
    return tuple(rung for rung in range(bid_set.bit_length()) if bid_set >> rung & 1)


def weak_player(hands: Hands, name: str) -> Weak:
    """What a player does who looks at nothing but its hand and the standing bid."""
    climb = hands.bidding
    ask, bids = policies_of(climb, player(name, climb.game)), len(hands.bids)
    found = []
    for seat, odds in enumerate(hands.odds):
        histories: list[History] = [
            (rung,) if seat else (0, rung) for rung in range(1 - seat, bids)
        ]
        table = torch.zeros(bids + 1, bids + 1, len(odds))
        if seat == 0:
            table[0] = next(ask([()], torch.ones(1, len(odds))))[0]
        table[-len(histories) :] = torch.cat([*ask(histories, torch.ones(bids, len(odds)))])
        found.append(table.to(hands.device))
    return found[0], found[1]
