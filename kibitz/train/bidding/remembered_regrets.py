"""Counterfactual regrets on sampled histories, remembered, and taught to a network.

For games of climbing bids between two hidden hands. Thousands of histories are played in lockstep;
each carries how likely every hand of either seat would have made its bids, so a history teaches all
hands at once, and what a call is worth is exact. Regrets live in a memory of the histories met
lately; what is new there begins as the network says. After each iteration the network learns the
memory's average policy, and the memory is emptied: a run is resumed from its weights alone.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...bidding.bilinear import above
from ...bidding.hands import Hands
from ...game import Game
from ...players import Player, seat_network
from ..folder import RunFolder
from ..run import Stage, Training
from ..seeds import derived
from ..weights import Pupil
from .memory import Memory
from .regret_play import hand_and_history

WORTH_EVERY = 4  # histories for one whose worth is learnt too: it only serves as a first guess
TOGETHER = 1 << 20  # hands after histories that the network is asked about at a time


@dataclass(frozen=True, kw_only=True)
class Climbing(Training):
    """Remembered regrets, taught to a network."""

    method: ClassVar[str] = "remembered regrets"
    mode: ClassVar[str] = "sample"

    histories: int = 256
    """Histories played in lockstep."""
    plays: int = 2500
    """How often an iteration plays them."""
    room: int = 512
    """Megabytes of memory."""
    explore: float = 0.3
    """Share of bids that are drawn blindly."""
    survive: float = 0.5
    """Least chance that a history goes on though a call is likely."""
    trust: float = 0.01
    """Regrets that the network's policy is given at the start, all actions together."""
    lessons: int = 1000
    """Steps of the network an iteration."""
    batch: int = 192
    """Histories a step."""
    rate: float = 3e-3
    """Highest learning rate of the network; it falls to nothing in each iteration."""
    average: float = 0.99
    """Share of the old weights in the moving average, a step."""

    def network(self, game: Game, seed: int) -> nn.Module:
        return hand_and_history(self, game, seed)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> ClimbingMethod:
        return ClimbingMethod(self, game, device, seed)


@dataclass
class Ply:
    """The different histories that have come to one decision: n of them; h hands of the mover."""

    mover: int
    parents: Tensor  # which history of the ply before led here, [n], and by which bid
    bids: Tensor
    places: Tensor  # in the memory. [n]
    keys: Tensor  # by which they are remembered there. [n]
    legal: Tensor  # bool [n, actions]
    policy: Tensor  # [n, h, actions]
    odds: Tensor  # the same over all hands. [n, actions]
    belief: Tensor  # how likely the mover holds each hand. [n, h]
    reach: list[Tensor]  # how likely either seat makes its bids of these histories. [n] each
    worth: Tensor  # of actions to the mover's hands. [n, h, actions]
    other: Tensor  # of actions to the hands of the other seat. [n, other hands, actions]


class ClimbingMethod(Pupil):
    """The memory, the network, and how one teaches the other."""

    steepest = math.inf

    def __init__(self, recipe: Climbing, game: Game, device: str, seed: int) -> None:
        super().__init__(recipe.network(game, seed), device, recipe.lessons)
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.hands = Hands(game, device)
        self.half = game.view["pub"].shape[0] // 2

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe, began = self.recipe, time.monotonic()
        luck = derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(luck)
        sizes = max(map(len, self.hands.odds)), self.game.num_actions, 2 * self.half
        self.memory = Memory(recipe.room, *sizes, self.device)
        for turn in range(recipe.plays):
            if turn % 10 == 0:
                stage("self-play", turn, recipe.plays)
            self.remember(self.play(), turn + 1)
        played = time.monotonic()
        losses = [0.0, 0.0]
        for step in range(recipe.lessons):
            if step % 10 == 0:
                stage("learning, step", step, recipe.lessons)
            for k, loss in enumerate(self.learn(1 - step / recipe.lessons)):
                losses[k] += loss / recipe.lessons
        return {
            "positions": float((self.memory.visits > 0).sum()),
            "games_per_s": recipe.plays * recipe.histories / (played - began),
            "steps_per_s": recipe.lessons / (time.monotonic() - played),
            "loss_policy": losses[0],
            "loss_value": losses[1],
        }

    # self-play

    @torch.no_grad()
    def play(self) -> list[Ply]:
        """Histories from the first bid until nobody would go on, equal ones as one."""
        size, half, actions = self.recipe.histories, self.half, self.game.num_actions
        where = torch.zeros(size, dtype=torch.long, device=self.device)  # of each history, its row
        parents, bids = where[:1], where[:1] - 1
        pub = torch.zeros(1, 2 * half, device=self.device)
        pub[:, half - 1] = 1
        keys = where[:1]
        beliefs = [odds[None] for odds in self.hands.odds]
        reach = [odds.new_ones(1) for odds in self.hands.odds]
        plies: list[Ply] = []
        while len(where):
            mover = len(plies) % 2
            ply = self._ply(mover, parents, bids, pub, keys, beliefs, reach)
            plies.append(ply)
            steps, where = torch.unique(self._tried(ply, where), return_inverse=True)
            parents, bids = steps // actions, steps % actions
            beliefs = [belief[parents] for belief in beliefs]
            beliefs[mover] = _after(beliefs[mover], ply.policy[parents, :, bids])
            reach = [each[parents] for each in reach]
            reach[mover] = reach[mover] * ply.odds[parents, bids]
            keys = keys[parents] | 1 << bids
            pub = pub[parents]
            pub[torch.arange(len(bids), device=self.device), mover * half + bids] = 1
            pub[:, half - 1], pub[:, -1] = float(mover == 1), float(mover == 0)
        return plies

    def _ply(
        self,
        mover: int,
        parents: Tensor,
        bids: Tensor,
        pub: Tensor,
        keys: Tensor,
        beliefs: Any,
        reach: Any,
    ) -> Ply:
        hands, call = self.hands, self.hands.call
        belief, theirs = beliefs[mover], beliefs[1 - mover]
        legal = hands.legal(bids)
        places = self._places(mover, keys, pub, legal)
        policy = matched(self.memory.regrets[places, : belief.shape[1]], legal[:, None])
        worth, other = (
            self.memory.worth[places, k, : each.shape[1]] for k, each in enumerate((belief, theirs))
        )
        caller = _after(belief, policy[:, :, call])
        worth[:, :, call] = -hands.when_called(bids, mover, theirs)
        other[:, :, call] = hands.when_called(bids, 1 - mover, caller)
        odds = (belief[:, :, None] * policy).sum(1)
        return Ply(
            mover, parents, bids, places, keys, legal, policy, odds, belief, reach, worth, other
        )

    def _places(self, mover: int, keys: Tensor, pub: Tensor, legal: Tensor) -> Tensor:
        """Where histories are remembered; new ones begin as the network says."""
        memory = self.memory
        places, new = memory.find(keys, pub)
        own, other = self.hands.privs[mover], self.hands.privs[1 - mover]
        for some in torch.split(new.nonzero().squeeze(1), TOGETHER // len(own)):
            at, told = places[some], pub[some][:, None]
            logits = self.average.policy(own, told).masked_fill(~legal[some][:, None], -1e9)
            memory.regrets[at, : len(own)] = self.recipe.trust * logits.softmax(2)
            memory.worth[at, 0, : len(own)] = self.average.worth(own, told)
            memory.worth[at, 1, : len(other)] = self.average.worth(other, told)
        return places

    def _tried(self, ply: Ply, where: Tensor) -> Tensor:
        """The bids by which histories go on, as row * actions + bid. [histories that do]"""
        call, actions = self.hands.call, ply.legal.shape[1]
        bids = ply.legal.clone()
        bids[:, call] = False
        likely = matched(ply.odds, bids)
        tried = torch.lerp(likely, matched(torch.zeros_like(likely), bids), self.recipe.explore)
        goes_on = (1 - ply.odds[:, call]).clamp(min=self.recipe.survive) * bids.any(1)
        luck = torch.rand(len(where), generator=self.random, device=self.device)
        where = where[luck < goes_on[where]]
        if not len(where):
            return where
        bid = torch.multinomial(tried[where], 1, generator=self.random).squeeze(1)
        return where * actions + bid

    @torch.no_grad()
    def remember(self, plies: list[Ply], turn: int) -> None:
        """From the last decision to the first: what bids were worth, and what is regretted."""
        after: Ply | None = None
        for ply in reversed(plies):
            if after is not None:
                self._revalue(ply, after)
            self._regret(ply, turn)
            after = ply

    def _revalue(self, ply: Ply, after: Ply) -> None:
        """What bids are worth is what the histories after them are."""
        memory, rows, bids = self.memory, after.parents, after.bids
        to_other = (after.policy * after.worth).sum(2)  # who moves next did not move here
        to_mover = (after.odds[:, None] * after.other).sum(2)
        ply.worth[rows, :, bids], ply.other[rows, :, bids] = to_mover, to_other
        kept = memory.holds(ply.places, ply.keys)[rows]
        rows, bids = rows[kept], bids[kept]
        places = ply.places[rows]
        memory.tried[places, bids] = True
        for k, told in enumerate((to_mover[kept], to_other[kept])):
            memory.worth[places, k, : told.shape[1], bids] = told

    def _regret(self, ply: Ply, turn: int) -> None:
        """Add what was missed to the regrets, none below zero, and the policy to the average."""
        memory, count = self.memory, ply.belief.shape[1]
        known = memory.holds(ply.places, ply.keys)
        places = ply.places[known]
        value = (ply.policy * ply.worth).sum(2, keepdim=True)
        missed = (ply.worth - value) * ply.legal[:, None]
        regrets = (
            memory.regrets[places, :count]
            + (missed * ply.reach[1 - ply.mover][:, None, None])[known]
        )
        memory.regrets[places, :count] = regrets.clamp(min=0)
        own = ply.reach[ply.mover][:, None] * ply.belief
        memory.average[places, :count] += turn * (own[:, :, None] * ply.policy)[known]
        memory.visits[places] += turn

    # the network

    def learn(self, left: float) -> tuple[float, float]:
        """One step on remembered histories; the errors of policy and worth before it.

        left: which part of the iteration's steps is still to come.
        """
        memory, recipe = self.memory, self.recipe
        drawn = torch.multinomial(memory.visits, recipe.batch, True, generator=self.random)
        later = memory.histories[drawn, -1] == 1  # seat 1 is to move
        errors = [self._errors(mover, drawn[later == mover]) for mover in range(2)]
        policy, worth = (sum(part) / recipe.batch for part in zip(*errors, strict=True))
        self.improve(policy + worth, recipe.rate * left, recipe.average)
        return float(policy.detach()), float(worth.detach())

    def _errors(self, mover: int, places: Tensor) -> tuple[Tensor, Tensor]:
        """Of policy and worth at histories where this seat is to move, summed."""
        memory, privs, odds = self.memory, self.hands.privs[mover], self.hands.odds[mover]
        pub = memory.histories[places][:, None]
        wanted = memory.average[places, : len(odds)]
        reach = wanted.sum(2)
        # Hands that seldom come here still need to know what to do once they do.
        weight = 0.9 * reach / reach.sum(1, keepdim=True).clamp(min=1e-9) + 0.1 * odds
        legal = above(memory.histories[places])[:, None]
        wanted = matched(wanted, legal)
        logits = self.net.policy(privs, pub).masked_fill(~legal, -1e9)
        policy = -(weight * (wanted * logits.log_softmax(2)).sum(2)).sum()
        return policy, self._worth_error(mover, places[: len(places) // WORTH_EVERY])

    def _worth_error(self, mover: int, places: Tensor) -> Tensor:
        memory, pub = self.memory, self.memory.histories[places][:, None]
        tried, error = memory.tried[places][:, None], torch.zeros((), device=self.device)
        for k, privs in enumerate((self.hands.privs[mover], self.hands.privs[1 - mover])):
            wrong = self.net.worth(privs, pub) - memory.worth[places, k, : len(privs)]
            error = error + WORTH_EVERY * (wrong.square() * tried).sum() / len(privs)
        return error

    def player(self, net: nn.Module, name: str) -> Player:
        return seat_network(self.game, net, self.device, self.recipe.mode, name)


def matched(regrets: Tensor, legal: Tensor) -> Tensor:
    """Probabilities in proportion to regrets, none negative; uniform where there are none."""
    regrets = regrets * legal
    total = regrets.sum(-1, keepdim=True)
    uniform = legal / legal.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(total > 1e-9, regrets / total.clamp(min=1e-9), uniform)


def _after(belief: Tensor, odds: Tensor) -> Tensor:
    """How likely hands are after an action that each takes with these odds. [n, hands]

    Where no hand would have taken it, it tells nothing.
    """
    joint = belief * odds
    total = joint.sum(1, keepdim=True)
    return torch.where(total > 1e-9, joint / total.clamp(min=1e-9), belief)
