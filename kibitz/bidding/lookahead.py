"""One decision solved, with a network to say what comes after it.

What everybody knows at a table is the standing bid and how likely each hand is. The seat to move
tries policies, one a round: a bid tells the other seat something, so the network is asked what the
game is worth to all hands after each bid *under the beliefs that this very policy would cause*; the
call is exact. Then every hand moves towards what is worth more to it. So a bluff is priced by what
it does to the story.

The rounds are mirror descent with a magnet at the uniform policy, whose last policy is the answer.
Source: S. Sokota et al., "A unified approach to reinforcement learning, quantal response
equilibria, and two-player zero-sum games", 2023.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .beliefs import BeliefNet
from .hands import Hands

SELDOM = 1e-6  # what is less likely than this tells nothing


@dataclass
class Public:
    """What everybody knows at n tables where the same seat is to move."""

    mover: int
    standing: Tensor  # the last bid's rung, -1 where there is none. [n]
    beliefs: list[Tensor]  # by seat, how likely it holds each hand. [n, hands] each

    @property
    def roles(self) -> tuple[Tensor, Tensor]:
        """Beliefs about the hand of the mover and of the other."""
        return self.beliefs[self.mover], self.beliefs[1 - self.mover]

    def part(self, rows: Any) -> Public:
        """Some of the tables."""
        return Public(self.mover, self.standing[rows], [each[rows] for each in self.beliefs])

    def after(self, rungs: Tensor, odds: Tensor) -> Public:
        """The tables after bids [n] that each hand of the mover makes with these odds [n, hands]"""
        beliefs = [*self.beliefs]
        beliefs[self.mover] = updated(beliefs[self.mover], odds)
        return Public(1 - self.mover, rungs, beliefs)


def joined(parts: list[Public]) -> Public:
    """All tables of several."""
    beliefs = [torch.cat([part.beliefs[seat] for part in parts]) for seat in range(2)]
    return Public(parts[0].mover, torch.cat([part.standing for part in parts]), beliefs)


@dataclass
class Solved:
    """What came out. Actions are the bids, and the call behind them."""

    policy: Tensor  # [n, actions, hands of the mover]
    worth: tuple[Tensor, Tensor]  # to the hands of the mover and of the other. [n, hands] each


class Lookahead:
    """Solves decisions of one game with a network."""

    def __init__(self, hands: Hands, net: BeliefNet) -> None:
        self.hands, self.net = hands, net
        self.kind = next(net.parameters()).dtype
        self.gains = hands.gains, hands.gains.transpose(1, 2)
        self.numbers = torch.tensor(hands.bids, device=hands.device)

    def opening(self, size: int = 1) -> Public:
        """Tables before the first bid."""
        standing = torch.full((size,), -1, device=self.hands.device)
        return Public(0, standing, [odds.expand(size, -1) for odds in self.hands.odds])

    def legal(self, public: Public) -> Tensor:
        """Which actions there are. bool [n, actions]"""
        rungs = torch.arange(len(self.hands.bids) + 1, device=self.hands.device)
        legal = rungs > public.standing[:, None]
        legal[:, -1] = public.standing >= 0
        return legal

    @torch.inference_mode()
    def advice(self, public: Public) -> Tensor:
        """The network's own policy. [n, actions, hands]"""
        mine, theirs = map(self._half, public.roles)
        x = self.net.trunk(self.net.look(0, mine) + self.net.look(1, theirs), self.bids(public))
        logits = self.net.policy(x, mine.shape[1])
        logits = torch.cat((logits[:, self.numbers], logits[:, -1:]), 1).float()
        legal = self.legal(public)[:, :, None]
        return logits.masked_fill(~legal, -torch.inf).softmax(1)

    @torch.inference_mode()
    def solve(
        self, public: Public, rounds: int, step: float, calm: float, seconds: float | None = None
    ) -> Solved:
        """Make the network's own policy better for so many rounds, or until the time is up.

        step: how far a round goes, in logits for each point that an action is worth more.
        calm: what an action may be worth less and still be almost as likely. Without any, policies
        go round in circles; a little makes them settle, and networks learn them better.
        """
        until = math.inf if seconds is None else time.monotonic() + seconds
        low = int(public.standing.min()) + 1  # nobody can bid less
        mine, theirs = public.roles
        table = self.gains[public.mover][public.standing.clamp(min=0)]  # [n, mine, theirs]
        policy = self.advice(public)[:, low:]
        logits = policy.log()
        look = self.net.look(0, self._half(theirs))[:, None]  # they are the next to move
        worth = torch.zeros_like(policy)
        worth[:, -1] = -(table @ theirs[:, :, None]).squeeze(2)
        spread = SELDOM * mine[:, None]  # so that a bid that nobody makes tells nothing
        for left in range(rounds, -1, -1):
            joint = torch.addcmul(spread, mine[:, None], policy[:, :-1])
            odds = joint.sum(2, keepdim=True)
            following = self._following(look, low, theirs[:, None], joint.div_(odds))
            worth[:, :-1] = following[1]
            if left == 0 or time.monotonic() > until:
                break
            logits = (logits + step * worth) / (1 + step * calm)
            policy = logits.softmax(1)
        to_theirs = (odds.transpose(1, 2) @ following[0].float()).squeeze(1)
        to_theirs += ((mine * policy[:, -1])[:, None] @ table).squeeze(1)
        return Solved(self._all(policy), ((policy * worth).sum(1), to_theirs))

    def _following(self, look: Tensor, low: int, theirs: Tensor, mine: Tensor) -> Any:
        """What the game is worth after each bid, to the next mover's hands and to the bidder's."""
        theirs, mine = self._half(theirs), self._half(mine)
        x = self.net.trunk(look + self.net.look(1, mine), self.numbers[low:])
        return self.net.worth(x, theirs, mine)

    def _all(self, policy: Tensor) -> Tensor:
        """A policy with nothing for the bids that nobody can make any more."""
        lacking = len(self.hands.bids) + 1 - policy.shape[1]
        return torch.nn.functional.pad(policy, (0, 0, lacking, 0))

    def bids(self, public: Public) -> Tensor:
        """The standing bids as the network counts them."""
        numbers = self.numbers[public.standing.clamp(min=0)]
        return torch.where(public.standing < 0, -1, numbers)

    def spread(self, *tables: Tensor) -> Iterator[Tensor]:
        """Rows by action [n, actions, ...] as the network has them: by number, the call last."""
        for table in tables:
            wide = table.new_zeros(len(table), self.net.config.actions, *table.shape[2:])
            wide[:, self.numbers], wide[:, -1] = table[:, :-1], table[:, -1]
            yield wide

    def _half(self, belief: Tensor) -> Tensor:
        return belief.to(self.kind)


def updated(belief: Tensor, odds: Tensor) -> Tensor:
    """How likely hands are after an action that each takes with these odds. [n, hands]"""
    joint = belief * odds
    sums = joint.sum(1, keepdim=True)
    return torch.where(sums > SELDOM, joint / sums.clamp(min=SELDOM), belief)
