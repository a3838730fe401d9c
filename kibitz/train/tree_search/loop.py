"""Self-play by search, replay, and a learner of its policy and value, in a loop."""

from __future__ import annotations

import copy
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from ...game import Game, GameError
from ...nets import Net
from ...nets.evaluate import NetEvaluator
from ...nets.net import MarginNet
from ...search.mcts import Settings
from ..folder import Arrays, RunFolder
from ..method import Stage, Training
from ..replay import Replay
from ..seeds import derived
from .learner import Learner, Learning
from .selfplay import SelfPlay


@dataclass(frozen=True, kw_only=True)
class SearchTraining(Training):
    """A recipe for learning from search: its settings, and the amounts of play and learning."""

    method: ClassVar[str] = "search"

    search: Settings
    learning: Learning
    games: int = 256
    """Games of self-play per iteration."""
    steps: int = 50
    """Steps of learning per iteration."""
    replay_size: int = 200_000
    """Positions in the replay."""
    warm_start: int = 0
    """First iterations that learn from search with rollouts, which needs no network."""
    warm_search: Settings = field(default_factory=Settings)
    """The search of those iterations."""

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> SearchMethod:
        return SearchMethod(self, game, folder, device, seed)


class SearchMethod:
    """The best player searches against itself; the learner learns from the results."""

    def __init__(
        self, recipe: SearchTraining, game: Game, folder: RunFolder, device: str, seed: int
    ) -> None:
        self.recipe, self.game, self.folder = recipe, game, folder
        self.device, self.seed = device, seed
        net = fitting(recipe.network(game, seed), game)
        self.learner = Learner(game, net, recipe.learning, device, seed)
        self.average = self.learner.average
        self.replay = Replay(recipe.replay_size)
        self.teacher = NetEvaluator(copy.deepcopy(self.average), device)
        self.selfplay = SelfPlay(game, recipe.games, recipe.search, self.teacher, device)
        self.warm_up = SelfPlay(game, recipe.games, recipe.warm_search, "rollout", device)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe, began = self.recipe, time.monotonic()
        warm = iteration <= recipe.warm_start
        settings = recipe.warm_search if warm else recipe.search
        positions = self._play(iteration, stage, warm=warm)
        played = time.monotonic()
        losses = self._learn(stage)
        learnt = time.monotonic()
        return {
            "positions": len(self.replay),
            "games_per_s": recipe.games / (played - began),
            "simulations_per_s": positions * settings.simulations / (played - began),
            "steps_per_s": recipe.steps / (learnt - played),
            **{f"loss_{name}": value for name, value in losses.items()},
        }

    def _play(self, number: int, stage: Stage, *, warm: bool) -> int:
        """Add a shard of self-play to the replay; return its number of positions."""
        fresh = (self.warm_up if warm else self.selfplay).play(
            self.seed, number, lambda move: stage("self-play, move", move, 0)
        )
        self.replay.add(fresh, fresh.save(self.folder.shard(number), self.game))
        return len(fresh)

    def refill(self, iteration: int, positions: int, first: int, stage: Stage) -> int:
        self.replay.clear()
        number, warm = first, iteration <= self.recipe.warm_start
        while len(self.replay) < min(positions, self.recipe.replay_size):
            self._play(number, stage, warm=warm)
            number += 1
        return number - first

    def _learn(self, stage: Stage) -> dict[str, float]:
        sums: dict[str, float] = {}
        for step in range(self.recipe.steps):
            stage("learning, step", step + 1, self.recipe.steps)
            seed = derived(self.seed, "replay", self.learner.step)
            rng = np.random.Generator(np.random.Philox(seed))
            positions = self.replay.sample(self.recipe.learning.batch, rng)
            for name, loss in self.learner.learn(positions).items():
                sums[name] = sums.get(name, 0.0) + loss / self.recipe.steps
        return sums

    def accept(self, best: nn.Module) -> None:
        self.teacher.load(best.state_dict())

    def arrays(self) -> Arrays:
        return self.learner.arrays()

    def restore(self, arrays: Arrays, iteration: int) -> None:
        self.learner.restore(arrays, iteration * self.recipe.steps)


def fitting(net: Net, game: Game) -> MarginNet:
    """The network, if it has the seats, views and actions of this game."""
    table = f"{game.name} with these options"
    network = f"the recipe's network ({type(net).__name__})"
    if not isinstance(net, MarginNet):
        raise GameError(f"{network} cannot learn from search")
    seats, fits = getattr(net.config, "seats", game.seats), False
    with torch.no_grad(), suppress(RuntimeError):
        logits, values, _ = net.eval().heads(torch.zeros(1, game.view_size))
        seats, fits = values.shape[1], logits.shape[1] == game.num_actions
    if seats != game.seats:
        raise GameError(f"{network} is for {seats} seats, but {table} has {game.seats}")
    if not fits:
        raise GameError(f"{network} does not fit the views and actions of {table}")
    return net
