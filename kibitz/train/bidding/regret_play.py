"""Values from regret play, the published method: the value of a state is how its game ended.

Games are played in lockstep by regret matching over the network's own values, with a little added
to every regret so that all actions are tried. There is no search, and no replay.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...batch import Batch
from ...bidding.bilinear import ValueNet
from ...bidding.kinds import regret_policy
from ...chance import streams
from ...game import CHANCE, Game
from ...search.sequences import after_chance, table_of
from ..folder import Arrays, RunFolder
from ..method import Stage, Training
from ..seeds import derived
from ..weights import WithoutReplay, arrays_of, restore, set_learning_rate
from .networks import hand_network


@dataclass(frozen=True, kw_only=True)
class RegretPlay(Training):
    """A recipe for the published algorithm."""

    method: ClassVar[str] = "regret play"
    mode: ClassVar[str] = "sample"

    deals: int = 100
    """Games per step; if there are fewer possible deals, each of them once."""
    steps: int = 500
    """Steps of learning per iteration."""
    explore: float = 0.01
    """What is added to every regret in self-play."""
    rate: float = 4.0
    """The learning rate of step t is rate / (t + delay)."""
    delay: float = 4000.0
    weight_decay: float = 0.01

    def network(self, game: Game, seed: int) -> ValueNet:
        return hand_network(self, ValueNet, game, seed)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> RegretMethod:
        return RegretMethod(self, game, device, seed)

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.rate / (step + self.delay)


class RegretMethod(WithoutReplay):
    """Alternates a batch of self-play and one step of learning from it."""

    def __init__(self, recipe: RegretPlay, game: Game, device: str, seed: int) -> None:
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.net = recipe.network(game, seed).to(device)
        self.average = self.net
        self.optimiser = torch.optim.AdamW(self.net.parameters(), weight_decay=recipe.weight_decay)
        self.all_deals = all_deals(game, recipe.deals)
        self.step = 0

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        began, loss, games = time.monotonic(), 0.0, 0
        for k in range(self.recipe.steps):
            if k % 10 == 0:
                stage("step", k, self.recipe.steps)
            batch = self.deal()
            loss += self.learn(*self.play(batch)) / self.recipe.steps
            games += batch.size
        seconds = time.monotonic() - began
        speeds = {"games_per_s": games / seconds, "steps_per_s": self.recipe.steps / seconds}
        return {**speeds, "rate": self.recipe.learning_rate(self.step), "loss_value": loss}

    def deal(self) -> Batch:
        """The tables of the next step, after the deal."""
        states, size = self.all_deals, self.recipe.deals
        if states is not None:
            rngs = streams(0, "training", len(states))  # never used
            return Batch.of(self.game, states.copy(), rngs, device=self.device)
        rngs = streams(self.seed, "training", size, self.step * size)
        batch = Batch.of(self.game, np.zeros(size, self.game.state), rngs, device=self.device)
        batch.start()
        batch.settle()
        return batch

    @torch.no_grad()
    def play(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Play the games: the views of both seats of every state, and their final scores."""
        seed = derived(self.seed, self.recipe.method, self.step)
        generator = torch.Generator(self.device).manual_seed(seed)
        live = torch.arange(batch.size, device=self.device)
        views, owners = [], []
        while len(live):
            turns = self._tensor(batch.turns())
            seen = [self._seen(batch, torch.full_like(turns, seat))[live] for seat in range(2)]
            views += seen
            owners += [2 * live, 2 * live + 1]
            unfinished = turns[live] >= 0
            live = live[unfinished]
            if len(live):
                mover = turns[live, None, None].expand(-1, 1, seen[0].shape[1])
                own = torch.stack(seen, 1)[unfinished].gather(1, mover).squeeze(1)
                legal = self._legal(batch)[live]
                chosen = torch.full_like(turns, -1)
                odds = self._policy(own, legal)
                chosen[live] = torch.multinomial(odds, 1, generator=generator).squeeze(1)
                batch.play(chosen, check=False)
        scores = self._tensor(batch.scores()).reshape(-1)
        return torch.cat(views), scores[torch.cat(owners)]

    def _policy(self, views: Tensor, legal: Tensor) -> Tensor:
        tables, actions = legal.nonzero(as_tuple=True)
        after = torch.zeros(legal.shape, device=self.device)
        before, *looked = self.net.look(views)
        after[tables, actions] = self.net.following(*looked)(tables, actions)
        return regret_policy(before, after, legal, self.recipe.explore)

    def _seen(self, batch: Batch, seats: Tensor) -> Tensor:
        views = torch.zeros(batch.size, self.game.view_size, device=self.device)
        batch.observe(seats, views)
        return views

    def _legal(self, batch: Batch) -> Tensor:
        actions, counts = map(self._tensor, batch.actions())
        return legal_mask(actions, counts, self.game.num_actions)

    def _tensor(self, array: Tensor | NDArray[np.generic]) -> Tensor:
        return torch.as_tensor(array, device=self.device)

    def learn(self, views: Tensor, scores: Tensor) -> float:
        """One step towards the final scores; return the loss before it."""
        set_learning_rate(self.optimiser, self.recipe.learning_rate(self.step))
        loss = functional.mse_loss(self.net(views), scores)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.step += 1
        return float(loss.detach())

    def accept(self, best: nn.Module) -> None:
        """Self-play always uses the newest weights, whatever the gate says."""

    def arrays(self) -> Arrays:
        return arrays_of({"net": self.net, "optimiser": self.optimiser})

    def restore(self, arrays: Arrays, iteration: int) -> None:
        restore({"net": self.net, "optimiser": self.optimiser}, arrays)
        self.step = iteration * self.recipe.steps


def legal_mask(actions: Tensor, counts: Tensor, width: int) -> Tensor:
    """Padded lists of legal actions as a mask. bool [n, width]"""
    inside = torch.arange(actions.shape[1], device=actions.device) < counts[:, None]
    listed = torch.where(inside, actions.long(), width)
    mask = torch.zeros(len(actions), width + 1, dtype=torch.bool, device=actions.device)
    return mask.scatter_(1, listed, value=True)[:, :width]


def all_deals(game: Game, most: int) -> NDArray[np.void] | None:
    """The states after every possible deal, or None if there are more than `most`."""
    states: NDArray[np.void] = np.zeros(1, game.state)
    states[0] = game.fresh()
    while (table_of(game, states).turns() == CHANCE).all():
        _, _, states = after_chance(game, states)
        if len(states) > most:
            return None
    return states
