"""Values from regret play, the published way: every state of a game learns how the game ended.

Games are played in lockstep by regret matching over the network's own values, with a little added
to every regret so that all actions are tried. No search, nothing kept from one step to the next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...batch import Batch
from ...bidding.kinds import regret_policy
from ...chance import streams
from ...game import CHANCE, Game
from ...nets import all_kinds
from ...players import Player, seat_network
from ...search.sequences import after_chance, table_of
from ..folder import RunFolder
from ..run import Stage, Training
from ..seeds import derived
from ..weights import WeightsAlone, arrays_of, restore


@dataclass(frozen=True, kw_only=True)
class RegretPlay(Training):
    """The published algorithm."""

    method: ClassVar[str] = "regret play"
    mode: ClassVar[str] = "sample"

    deals: int = 100
    """Games a step; where the dice can fall in fewer ways, each way once."""
    steps: int = 500
    """Steps of learning an iteration."""
    explore: float = 0.01
    """What is added to every regret in self-play."""
    rate: float = 4.0
    """The learning rate of step t is rate / (t + delay)."""
    delay: float = 4000.0
    decay: float = 0.01
    """Weight decay."""

    def network(self, game: Game, seed: int) -> nn.Module:
        return hand_and_history(self, game, seed)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> RegretMethod:
        return RegretMethod(self, game, device, seed)

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, the first being 0."""
        return self.rate / (step + self.delay)


def hand_and_history(recipe: Training, game: Game, seed: int) -> nn.Module:
    """The recipe's network with inputs as wide as the game's views of a hand and a history."""
    kind = all_kinds()[recipe.net]
    priv, pub = (game.view[name].shape[0] for name in ("priv", "pub"))
    net: nn.Module = kind.net(kind.config(priv=priv, pub=pub, **recipe.config), seed)
    return net


class RegretMethod(WeightsAlone):
    """Self-play and one step of learning from it, again and again."""

    def __init__(self, recipe: RegretPlay, game: Game, device: str, seed: int) -> None:
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.net: Any = recipe.network(game, seed).to(device)
        self.average = self.net
        self.optimiser = torch.optim.AdamW(self.net.parameters(), weight_decay=recipe.decay)
        self.every_deal = all_deals(game, recipe.deals)
        self.step = 0

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        began, error, games = time.monotonic(), 0.0, 0
        for k in range(self.recipe.steps):
            if k % 10 == 0:
                stage("step", k, self.recipe.steps)
            batch = self.deal()
            error += self.learn(*self.play(batch)) / self.recipe.steps
            games += batch.size
        took = time.monotonic() - began
        speeds = {"games_per_s": games / took, "steps_per_s": self.recipe.steps / took}
        return {**speeds, "rate": self.recipe.rate_at(self.step), "loss_value": error}

    def deal(self) -> Batch:
        """The tables of the next step, dice thrown."""
        states, size = self.every_deal, self.recipe.deals
        if states is not None:
            rngs = streams(0, "training", len(states))  # nothing is left to chance
            return Batch.of(self.game, states.copy(), rngs, device=self.device)
        rngs = streams(self.seed, "training", size, self.step * size)
        batch = Batch.of(self.game, np.zeros(size, self.game.state), rngs, device=self.device)
        batch.start()
        batch.settle()
        return batch

    @torch.no_grad()
    def play(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Play the games out: what either seat saw of every state, and what it got in the end."""
        luck = derived(self.seed, self.recipe.method, self.step)
        generator = torch.Generator(self.device).manual_seed(luck)
        live = torch.arange(batch.size, device=self.device)
        views, owners = [], []
        while len(live):
            turns = self._tensor(batch.turns())
            seen = [self._seen(batch, torch.full_like(turns, seat))[live] for seat in range(2)]
            views += seen
            owners += [2 * live, 2 * live + 1]
            going = turns[live] >= 0
            live = live[going]
            if len(live):
                mover = turns[live, None, None].expand(-1, 1, seen[0].shape[1])
                own = torch.stack(seen, 1)[going].gather(1, mover).squeeze(1)
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
        odds: Tensor = regret_policy(before, after, legal, self.recipe.explore)
        return odds

    def _seen(self, batch: Batch, seats: Tensor) -> Tensor:
        views = torch.zeros(batch.size, self.game.view_size, device=self.device)
        batch.observe(seats, views)
        return views

    def _legal(self, batch: Batch) -> Tensor:
        actions, counts = map(self._tensor, batch.actions())
        return legal_mask(actions, counts, self.game.num_actions)

    def _tensor(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self.device)

    def learn(self, views: Tensor, scores: Tensor) -> float:
        """One step towards how the games ended; the error before it."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate_at(self.step)
        loss = functional.mse_loss(self.net(views), scores)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.step += 1
        return float(loss.detach())

    def accept(self, best: nn.Module) -> None:
        """Self-play is always by the newest weights."""

    def player(self, net: nn.Module, name: str) -> Player:
        return seat_network(self.game, net.cpu(), mode=self.recipe.mode, name=name)

    def arrays(self) -> dict[str, Any]:
        return arrays_of({"net": self.net, "optimiser": self.optimiser})

    def restore(self, arrays: dict[str, Any], iteration: int) -> None:
        restore({"net": self.net, "optimiser": self.optimiser}, arrays)
        self.step = iteration * self.recipe.steps


def legal_mask(actions: Tensor, counts: Tensor, width: int) -> Tensor:
    """Which of `width` actions are in lists of legal ones. bool [n, width]"""
    inside = torch.arange(actions.shape[1], device=actions.device) < counts[:, None]
    listed = torch.where(inside, actions.long(), width)
    mask = torch.zeros(len(actions), width + 1, dtype=torch.bool, device=actions.device)
    return mask.scatter_(1, listed, value=True)[:, :width]


def all_deals(game: Game, most: int) -> Any:
    """Every way that chance can begin a game, or None where there are more than `most`."""
    states = np.zeros(1, game.state)
    states[0] = game.fresh()
    while (table_of(game, states).turns() == CHANCE).all():
        _, _, states = after_chance(game, states)
        if len(states) > most:
            return None
    return states
