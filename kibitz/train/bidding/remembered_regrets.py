"""Counterfactual regrets on sampled histories, kept in a memory and learnt by a network.

For games of rising bids between two hidden hands. Many histories are played in lockstep. Each
carries how likely every hand of both seats would have made its bids, so a history serves all hands
at once, and the value of a call is exact. Regrets are kept in a memory of recent histories; a new
one starts with the network's policy and values. After each iteration the network learns the
memory's average policy, and the memory is emptied: a run is resumed from its weights alone.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ...bidding.bilinear import HandPolicyNet, above
from ...bidding.hands import Hands
from ...game import Game
from ..folder import RunFolder
from ..method import Stage, Training
from ..seeds import derived
from ..weights import AveragingMethod
from .memory import Memory
from .networks import hand_network

VALUES_EVERY = 4  # values are learnt from one history of four: they are only a first guess
TOGETHER = 1 << 20  # pairs of a hand and a history per call of the network


@dataclass(frozen=True, kw_only=True)
class RememberedRegrets(Training):
    """A recipe for learning regrets that are kept in a memory."""

    method: ClassVar[str] = "remembered regrets"
    mode: ClassVar[str] = "sample"

    histories: int = 256
    """Histories played in lockstep."""
    plays: int = 2500
    """How often an iteration plays them."""
    megabytes: int = 512
    """Size of the memory."""
    explore: float = 0.3
    """Share of bids that are drawn uniformly."""
    min_survival: float = 0.5
    """Lowest probability that a history continues, however likely a call is."""
    prior_regret: float = 0.01
    """Sum of the regrets of a new history, in proportion to the network's policy."""
    steps: int = 1000
    """Steps of the network per iteration."""
    batch: int = 192
    """Histories per step."""
    learning_rate: float = 3e-3
    """Highest learning rate of the network; it falls to 0 in each iteration."""
    average_decay: float = 0.99
    """Share of the old weights in the moving average, per step."""

    def network(self, game: Game, seed: int) -> HandPolicyNet:
        return hand_network(self, HandPolicyNet, game, seed)

    def begin(
        self, game: Game, folder: RunFolder, device: str, seed: int
    ) -> RememberedRegretsMethod:
        return RememberedRegretsMethod(self, game, device, seed)


@dataclass
class Ply:
    """The n distinct histories of one length; h hands of the mover."""

    mover: int
    parents: Tensor  # the histories of the ply before that led here. [n]
    bids: Tensor  # the bids that led here, -1 at the first ply. [n]
    places: Tensor  # in the memory. [n]
    keys: Tensor  # in the memory. [n]
    legal: Tensor  # bool [n, actions]
    policy: Tensor  # [n, h, actions]
    odds: Tensor  # the policy, averaged over the hands. [n, actions]
    belief: Tensor  # how likely the mover holds each hand. [n, h]
    reach: list[Tensor]  # by seat, how likely it makes its bids of these histories. [n]
    values: Tensor  # of actions, to the mover's hands. [n, h, actions]
    other_values: Tensor  # of actions, to the hands of the other seat. [n, other hands, actions]


class RememberedRegretsMethod(AveragingMethod[HandPolicyNet]):
    """The memory, and the network that learns from it."""

    gradient_clip = math.inf

    def __init__(self, recipe: RememberedRegrets, game: Game, device: str, seed: int) -> None:
        super().__init__(recipe.network(game, seed), device, recipe.steps)
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.hands = Hands(game, device)
        self.half = game.view["pub"].shape[0] // 2

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe, began = self.recipe, time.monotonic()
        seed = derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(seed)
        sizes = max(map(len, self.hands.odds)), self.game.num_actions, 2 * self.half
        self.memory = Memory(recipe.megabytes, *sizes, self.device)
        for play in range(recipe.plays):
            if play % 10 == 0:
                stage("self-play", play, recipe.plays)
            self.remember(self.play(), play + 1)
        played = time.monotonic()
        losses = [0.0, 0.0]
        for step in range(recipe.steps):
            if step % 10 == 0:
                stage("learning, step", step, recipe.steps)
            for k, loss in enumerate(self.learn(1 - step / recipe.steps)):
                losses[k] += loss / recipe.steps
        return {
            "positions": float((self.memory.visits > 0).sum()),
            "games_per_s": recipe.plays * recipe.histories / (played - began),
            "steps_per_s": recipe.steps / (time.monotonic() - played),
            "loss_policy": losses[0],
            "loss_value": losses[1],
        }

    # self-play

    @torch.no_grad()
    def play(self) -> list[Ply]:
        """Play histories until all have ended; equal ones are one row of a ply."""
        size, half, actions = self.recipe.histories, self.half, self.game.num_actions
        where = torch.zeros(size, dtype=torch.long, device=self.device)  # row of each history
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
            edges, where = torch.unique(self._tried(ply, where), return_inverse=True)
            parents, bids = edges // actions, edges % actions
            beliefs = [belief[parents] for belief in beliefs]
            beliefs[mover] = updated(beliefs[mover], ply.policy[parents, :, bids])
            reach = [probability[parents] for probability in reach]
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
        beliefs: list[Tensor],
        reach: list[Tensor],
    ) -> Ply:
        hands, call = self.hands, self.hands.call
        belief, theirs = beliefs[mover], beliefs[1 - mover]
        legal = hands.legal(bids)
        places = self._places(mover, keys, pub, legal)
        policy = matched(self.memory.regrets[places, : belief.shape[1]], legal[:, None])
        values = self.memory.values[places, 0, : belief.shape[1]]
        other_values = self.memory.values[places, 1, : theirs.shape[1]]
        caller = updated(belief, policy[:, :, call])
        values[:, :, call] = -hands.when_called(bids, mover, theirs)
        other_values[:, :, call] = hands.when_called(bids, 1 - mover, caller)
        return Ply(
            mover=mover,
            parents=parents,
            bids=bids,
            places=places,
            keys=keys,
            legal=legal,
            policy=policy,
            odds=(belief[:, :, None] * policy).sum(1),
            belief=belief,
            reach=reach,
            values=values,
            other_values=other_values,
        )

    def _places(self, mover: int, keys: Tensor, pub: Tensor, legal: Tensor) -> Tensor:
        """The places of histories in the memory; new ones start with the network's answers."""
        memory = self.memory
        places, new = memory.find(keys, pub)
        own, other = self.hands.privs[mover], self.hands.privs[1 - mover]
        for rows in torch.split(new.nonzero().squeeze(1), TOGETHER // len(own)):
            at, history = places[rows], pub[rows][:, None]
            logits = self.average.policy(own, history).masked_fill(~legal[rows][:, None], -1e9)
            memory.regrets[at, : len(own)] = self.recipe.prior_regret * logits.softmax(2)
            memory.values[at, 0, : len(own)] = self.average.action_values(own, history)
            memory.values[at, 1, : len(other)] = self.average.action_values(other, history)
        return places

    def _tried(self, ply: Ply, where: Tensor) -> Tensor:
        """The bids that continue histories, as row * actions + bid. [continuing histories]"""
        call, actions = self.hands.call, ply.legal.shape[1]
        bids = ply.legal.clone()
        bids[:, call] = False
        likely = matched(ply.odds, bids)
        tried = torch.lerp(likely, matched(torch.zeros_like(likely), bids), self.recipe.explore)
        survival = (1 - ply.odds[:, call]).clamp(min=self.recipe.min_survival) * bids.any(1)
        uniform = torch.rand(len(where), generator=self.random, device=self.device)
        where = where[uniform < survival[where]]
        if not len(where):
            return where
        bid = torch.multinomial(tried[where], 1, generator=self.random).squeeze(1)
        return where * actions + bid

    @torch.no_grad()
    def remember(self, plies: list[Ply], number: int) -> None:
        """Update values and regrets, from the last decision to the first.

        number: of this play, from 1; it is the weight of the policy in the average.
        """
        after: Ply | None = None
        for ply in reversed(plies):
            if after is not None:
                self._revalue(ply, after)
            self._regret(ply, number)
            after = ply

    def _revalue(self, ply: Ply, after: Ply) -> None:
        """Set the values of bids to the values of the histories after them."""
        memory, rows, bids = self.memory, after.parents, after.bids
        to_other = (after.policy * after.values).sum(2)  # the other seat moves next
        to_mover = (after.odds[:, None] * after.other_values).sum(2)
        ply.values[rows, :, bids], ply.other_values[rows, :, bids] = to_mover, to_other
        kept = memory.holds(ply.places, ply.keys)[rows]
        rows, bids = rows[kept], bids[kept]
        places = ply.places[rows]
        memory.tried[places, bids] = True
        for role, values in enumerate((to_mover[kept], to_other[kept])):
            memory.values[places, role, : values.shape[1], bids] = values

    def _regret(self, ply: Ply, number: int) -> None:
        """Add to the regrets, none below zero, and add the policy to the average."""
        memory, count = self.memory, ply.belief.shape[1]
        known = memory.holds(ply.places, ply.keys)
        places = ply.places[known]
        value = (ply.policy * ply.values).sum(2, keepdim=True)
        gains = (ply.values - value) * ply.legal[:, None]
        regrets = (
            memory.regrets[places, :count]
            + (gains * ply.reach[1 - ply.mover][:, None, None])[known]
        )
        memory.regrets[places, :count] = regrets.clamp(min=0)
        own = ply.reach[ply.mover][:, None] * ply.belief
        memory.average[places, :count] += number * (own[:, :, None] * ply.policy)[known]
        memory.visits[places] += number

    # the network

    def learn(self, left: float) -> tuple[float, float]:
        """One step on remembered histories; return the losses of policy and values before it.

        left: the share of the iteration's steps that are left.
        """
        memory, recipe = self.memory, self.recipe
        drawn = torch.multinomial(memory.visits, recipe.batch, True, generator=self.random)
        later = memory.histories[drawn, -1] == 1  # seat 1 is to move
        first, second = (self._losses(mover, drawn[later == mover]) for mover in range(2))
        policy, value = ((first[k] + second[k]) / recipe.batch for k in range(2))
        self.improve(policy + value, recipe.learning_rate * left, recipe.average_decay)
        return float(policy.detach()), float(value.detach())

    def _losses(self, mover: int, places: Tensor) -> tuple[Tensor, Tensor]:
        """The summed losses of policy and values at histories where this seat is to move."""
        memory, privs, odds = self.memory, self.hands.privs[mover], self.hands.odds[mover]
        pub = memory.histories[places][:, None]
        wanted = memory.average[places, : len(odds)]
        reach = wanted.sum(2)
        # Hands that seldom reach this history need a policy there, too.
        weight = 0.9 * reach / reach.sum(1, keepdim=True).clamp(min=1e-9) + 0.1 * odds
        legal = above(memory.histories[places])[:, None]
        wanted = matched(wanted, legal)
        logits = self.net.policy(privs, pub).masked_fill(~legal, -1e9)
        policy = -(weight * (wanted * logits.log_softmax(2)).sum(2)).sum()
        return policy, self._value_loss(mover, places[: len(places) // VALUES_EVERY])

    def _value_loss(self, mover: int, places: Tensor) -> Tensor:
        memory, pub = self.memory, self.memory.histories[places][:, None]
        tried, loss = memory.tried[places][:, None], torch.zeros((), device=self.device)
        for role, privs in enumerate((self.hands.privs[mover], self.hands.privs[1 - mover])):
            error = self.net.action_values(privs, pub) - memory.values[places, role, : len(privs)]
            loss = loss + VALUES_EVERY * (error.square() * tried).sum() / len(privs)
        return loss


def matched(regrets: Tensor, legal: Tensor) -> Tensor:
    """Probabilities in proportion to regrets, which are not negative; uniform if all are 0."""
    regrets = regrets * legal
    total = regrets.sum(-1, keepdim=True)
    uniform = legal / legal.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(total > 1e-9, regrets / total.clamp(min=1e-9), uniform)


def updated(belief: Tensor, odds: Tensor) -> Tensor:
    """How likely hands are after an action that they take with these odds. [n, hands]

    An action that no hand would have taken changes nothing.
    """
    joint = belief * odds
    total = joint.sum(1, keepdim=True)
    return torch.where(total > 1e-9, joint / total.clamp(min=1e-9), belief)
