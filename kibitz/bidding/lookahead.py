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
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .beliefs import BeliefNet
from .hands import Hands

NEGLIGIBLE = 1e-6  # an action with a lower probability changes no belief


@dataclass
class Public:
    """What is public at n tables where the same seat is to move."""

    mover: int
    standing: Tensor  # the last bid's rung, -1 where there is none. [n]
    beliefs: list[Tensor]  # by seat, how likely it holds each hand. [n, hands]

    @property
    def roles(self) -> tuple[Tensor, Tensor]:
        """Beliefs about the hands of the mover and of the other seat."""
        return self.beliefs[self.mover], self.beliefs[1 - self.mover]

    def part(self, rows: Tensor) -> Public:
        """The tables with these numbers."""
        return Public(self.mover, self.standing[rows], [belief[rows] for belief in self.beliefs])

    def after(self, rungs: Tensor, odds: Tensor) -> Public:
        """The tables after bids [n] that the mover's hands make with these odds [n, hands]."""
        beliefs = [*self.beliefs]
        beliefs[self.mover] = updated(beliefs[self.mover], odds)
        return Public(1 - self.mover, rungs, beliefs)


def joined(parts: list[Public]) -> Public:
    """The tables of several parts as one."""
    beliefs = [torch.cat([part.beliefs[seat] for part in parts]) for seat in range(2)]
    return Public(parts[0].mover, torch.cat([part.standing for part in parts]), beliefs)


@dataclass
class Solved:
    """A solution. Actions are the bids in order, then the call."""

    policy: Tensor  # [n, actions, hands of the mover]
    values: tuple[Tensor, Tensor]  # of the hands of the mover and of the other seat. [n, hands]


class Lookahead:
    """Solves decisions of one game with a network."""

    def __init__(self, hands: Hands, net: BeliefNet) -> None:
        self.hands, self.net = hands, net
        self.dtype = next(net.parameters()).dtype
        self.gains = hands.gains, hands.gains.transpose(1, 2)
        self.numbers = torch.tensor(hands.bids, device=hands.device)

    def opening(self, size: int = 1) -> Public:
        """Tables before the first bid."""
        standing = torch.full((size,), -1, device=self.hands.device)
        return Public(0, standing, [odds.expand(size, -1) for odds in self.hands.odds])

    def legal(self, public: Public) -> Tensor:
        """Which actions are legal. bool [n, actions]"""
        rungs = torch.arange(len(self.hands.bids) + 1, device=self.hands.device)
        legal = rungs > public.standing[:, None]
        legal[:, -1] = public.standing >= 0
        return legal

    @torch.inference_mode()
    def prior(self, public: Public) -> Tensor:
        """The network's own policy. [n, actions, hands]"""
        mine, theirs = map(self._cast, public.roles)
        x = self.net.trunk(self.net.embed(0, mine) + self.net.embed(1, theirs), self.bids(public))
        logits = self.net.policy(x, mine.shape[1])
        logits = torch.cat((logits[:, self.numbers], logits[:, -1:]), 1).float()
        legal = self.legal(public)[:, :, None]
        return logits.masked_fill(~legal, -torch.inf).softmax(1)

    @torch.inference_mode()
    def solve(
        self,
        public: Public,
        rounds: int,
        step_size: float,
        magnet: float,
        seconds: float | None = None,
    ) -> Solved:
        """Improve the network's own policy for so many rounds, or until the time is up.

        step_size: how far a round goes, in logits per point of value.
        magnet: how strongly policies are drawn to the uniform one. Without a magnet they cycle; a
        weak one makes them converge, and networks learn them better.
        """
        until = math.inf if seconds is None else time.monotonic() + seconds
        low = int(public.standing.min()) + 1  # no lower bid is legal
        mine, theirs = public.roles
        table = self.gains[public.mover][public.standing.clamp(min=0)]  # [n, mine, theirs]
        policy = self.prior(public)[:, low:]
        logits = policy.log()
        embedded = self.net.embed(0, self._cast(theirs))[:, None]  # they are the next to move
        values = torch.zeros_like(policy)
        values[:, -1] = -(table @ theirs[:, :, None]).squeeze(2)
        unread = NEGLIGIBLE * mine[:, None]  # so that a bid that no hand makes changes no belief
        for left in range(rounds, -1, -1):
            joint = torch.addcmul(unread, mine[:, None], policy[:, :-1])
            odds = joint.sum(2, keepdim=True)
            following = self._following(embedded, low, theirs[:, None], joint.div_(odds))
            values[:, :-1] = following[1]
            if left == 0 or time.monotonic() > until:
                break
            logits = (logits + step_size * values) / (1 + step_size * magnet)
            policy = logits.softmax(1)
        to_theirs = (odds.transpose(1, 2) @ following[0].float()).squeeze(1)
        to_theirs += ((mine * policy[:, -1])[:, None] @ table).squeeze(1)
        return Solved(self._padded(policy), ((policy * values).sum(1), to_theirs))

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

    def spread(self, *tables: Tensor) -> Iterator[Tensor]:
        """Tables [n, actions, ...] with the network's actions: bids by number, the call last."""
        for table in tables:
            wide = table.new_zeros(len(table), self.net.config.actions, *table.shape[2:])
            wide[:, self.numbers], wide[:, -1] = table[:, :-1], table[:, -1]
            yield wide

    def _cast(self, belief: Tensor) -> Tensor:
        return belief.to(self.dtype)


def updated(belief: Tensor, odds: Tensor) -> Tensor:
    """How likely hands are after an action that they take with these odds. [n, hands]"""
    joint = belief * odds
    sums = joint.sum(1, keepdim=True)
    return torch.where(sums > NEGLIGIBLE, joint / sums.clamp(min=NEGLIGIBLE), belief)
