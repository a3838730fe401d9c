"""Solves one decision, with a network for the values after it.

Public at a table are the standing bid and how likely each hand is. The seat to move tries one
policy per round. A bid reveals something, so the network values all hands after each bid *under the
beliefs that this very policy causes*; the value of a call is exact. Then every hand moves towards
the actions with higher values. So a bluff is valued by the beliefs that it creates.

The rounds are mirror descent with a magnet at the uniform policy; the last policy is the answer.
Source: S. Sokota et al., "A unified approach to reinforcement learning, quantal response
equilibria, and two-player zero-sum games", 2023.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from .beliefs import BeliefNet
from .hands import Hands

# Every hand is believed to take every action with this probability, by mistake. What a network says
# about less likely actions is noise, and beliefs must not follow noise.
TREMBLE = 1e-3


@dataclass
class Public:
    """What is public at n tables where the same seat is to move."""

    mover: int
    standing: Tensor  # the last bid's rung, -1 where there is none. [n]
    beliefs: list[Tensor]  # by seat, how likely it holds each hand. [n, hands]
    bid_set: Tensor  # the rungs of all bids, each a bit. [n]

    @property
    def roles(self) -> tuple[Tensor, Tensor]:
        """Beliefs about the hands of the mover and of the other seat."""
        return self.beliefs[self.mover], self.beliefs[1 - self.mover]

    def part(self, rows: Tensor) -> Public:
        """The tables with these numbers."""
        beliefs = [belief[rows] for belief in self.beliefs]
        return Public(self.mover, self.standing[rows], beliefs, self.bid_set[rows])

    def after(self, rungs: Tensor, odds: Tensor) -> Public:
        """The tables after bids [n] that the mover's hands make with these odds [n, hands]."""
        beliefs = [*self.beliefs]
        beliefs[self.mover] = updated(beliefs[self.mover], odds)
        return Public(1 - self.mover, rungs, beliefs, self.bid_set + (1 << rungs))


def joined(parts: list[Public]) -> Public:
    """The tables of several parts as one."""
    beliefs = [torch.cat([part.beliefs[seat] for part in parts]) for seat in range(2)]
    standing, bid_set = (
        torch.cat([getattr(part, name) for part in parts]) for name in ("standing", "bid_set")
    )
    return Public(parts[0].mover, standing, beliefs, bid_set)


@dataclass
class Solved:
    """A solution. Actions are the bids in order, then the call."""

    policy: Tensor  # [n, actions, hands of the mover]
    values: tuple[Tensor, Tensor]  # of the hands of the mover and of the other seat. [n, hands]
    after: Tensor  # values of the mover's hands after each action. [n, actions, hands]


class Lookahead:
    """Solves decisions of one game with a network."""

    def __init__(self, hands: Hands, net: BeliefNet) -> None:
        self.hands, self.net = hands, net
        self.dtype = next(net.parameters()).dtype
        self.gains = hands.gains, hands.gains.transpose(1, 2)
        self.numbers = torch.tensor(hands.bids, device=hands.device)
        self.actions = torch.tensor([*hands.bids, net.config.actions - 1], device=hands.device)

    def opening(self, size: int = 1) -> Public:
        """Tables before the first bid."""
        standing = torch.full((size,), -1, device=self.hands.device)
        beliefs = [odds.expand(size, -1) for odds in self.hands.odds]
        return Public(0, standing, beliefs, torch.zeros_like(standing))

    def legal(self, public: Public) -> Tensor:
        """Which actions are legal. bool [n, actions]"""
        rungs = torch.arange(len(self.hands.bids) + 1, device=self.hands.device)
        legal = rungs > public.standing[:, None]
        legal[:, -1] = public.standing >= 0
        return legal

    @torch.inference_mode()
    def prior(self, public: Public, low: int = 0) -> Tensor:
        """The network's own policy, if all legal bids are `low` or higher. [n, actions, hands]"""
        mine, theirs = map(self._cast, public.roles)
        x = self.net.trunk(self.net.embed(0, mine) + self.net.embed(1, theirs), self.bids(public))
        logits = self.net.policy(x, mine.shape[1], self.actions[low:]).float()
        legal = self.legal(public)[:, low:, None]
        return self._padded(logits.masked_fill(~legal, -torch.inf).softmax(1))

    @torch.inference_mode()
    def solve(
        self,
        public: Public,
        rounds: int,
        step_size: float,
        magnet: float,
        seconds: float | None = None,
        start: Tensor | None = None,
    ) -> Solved:
        """Improve the network's own policy for so many rounds, or until the time is up.

        start: a policy to improve instead. [n, actions, hands]
        step_size: how far a round goes, in logits per point of value.
        magnet: how strongly policies are drawn to the uniform one. Without a magnet they cycle; a
        weak one makes them converge, and networks learn them better.
        """
        until = math.inf if seconds is None else time.monotonic() + seconds
        low = int(public.standing.min()) + 1  # no lower bid is legal
        mine, theirs = public.roles
        table = self.gains[public.mover][public.standing.clamp(min=0)]  # [n, mine, theirs]
        policy = (self.prior(public) if start is None else start)[:, low:]
        logits = policy.log()
        embedded = self.net.embed(0, self._cast(theirs))[:, None]  # they are the next to move
        values = torch.zeros_like(policy)
        values[:, -1] = -(table @ theirs[:, :, None]).squeeze(2)
        unread = TREMBLE * mine[:, None]  # a bid that no hand makes changes no belief
        for left in range(rounds, -1, -1):
            joint = torch.addcmul(unread, mine[:, None], policy[:, :-1])
            joint /= joint.sum(2, keepdim=True)
            following = self._following(embedded, low, theirs[:, None], joint)
            values[:, :-1] = following[1]
            if left == 0 or time.monotonic() > until:
                break
            logits = (logits + step_size * values) / (1 + step_size * magnet)
            policy = logits.softmax(1)
        odds = policy[:, :-1] @ mine[:, :, None]
        to_theirs = (odds.transpose(1, 2) @ following[0].float()).squeeze(1)
        to_theirs += ((mine * policy[:, -1])[:, None] @ table).squeeze(1)
        worth = (policy * values).sum(1), to_theirs
        return Solved(self._padded(policy), worth, self._padded(values))

    def _following(
        self, embedded: Tensor, low: int, theirs: Tensor, mine: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Values after each bid, of the next mover's hands and of the bidder's."""
        theirs, mine = self._cast(theirs), self._cast(mine)
        x = self.net.trunk(embedded + self.net.embed(1, mine), self.numbers[low:])
        return self.net.hand_values(x, theirs, mine)

    def _padded(self, policy: Tensor) -> Tensor:
        """A policy with zeros for the bids that are no longer legal."""
        lacking = len(self.hands.bids) + 1 - policy.shape[1]
        return torch.nn.functional.pad(policy, (0, 0, lacking, 0))

    def bids(self, public: Public) -> Tensor:
        """The standing bids as the network numbers them."""
        numbers = self.numbers[public.standing.clamp(min=0)]
        return torch.where(public.standing < 0, -1, numbers)

    def _cast(self, belief: Tensor) -> Tensor:
        return belief.to(self.dtype)


def updated(belief: Tensor, odds: Tensor) -> Tensor:
    """How likely hands are after an action that they take with these odds. [n, hands]"""
    joint = belief * (odds + TREMBLE)
    return joint / joint.sum(1, keepdim=True)
