"""The circle: self-play by search, replay, and a learner of its policy and value."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from torch import nn

from ..game import Game
from ..nets.evaluate import NetEvaluator
from ..players import NetPlayer, Player
from ..search.mcts import Settings
from .folder import RunFolder
from .learner import Learner, Lessons
from .replay import Positions, Replay
from .run import Stage, Training
from .selfplay import SelfPlay


@dataclass(frozen=True, kw_only=True)
class Recipe(Training):
    """How a player is made by search: which network, which search, which numbers."""

    method: ClassVar[str] = "search"

    search: Settings
    lessons: Lessons
    games: int = 256
    """Games of self-play an iteration."""
    steps: int = 50
    """Steps of learning an iteration."""
    room: int = 200_000
    """Positions in the replay."""
    warm_start: int = 0
    """Iterations at the beginning that learn from search with rollouts, which needs no network."""
    warm_search: Settings = field(default_factory=Settings)
    """The search of those iterations."""

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> Circle:
        return Circle(self, game, folder, device, seed)


class Circle:
    """The best player searches against itself; the learner learns from what it found."""

    def __init__(
        self, recipe: Recipe, game: Game, folder: RunFolder, device: str, seed: int
    ) -> None:
        self.recipe, self.game, self.folder = recipe, game, folder
        self.device, self.seed = device, seed
        made = recipe.network(game, seed)
        self.learner = Learner(game, made, recipe.lessons, device, seed)
        self.average = self.learner.average
        self.replay = Replay(recipe.room)
        self.teacher = NetEvaluator(copy.deepcopy(self.average), device)
        self.selfplay = SelfPlay(game, recipe.games, recipe.search, self.teacher, device)
        self.warm_up = SelfPlay(game, recipe.games, recipe.warm_search, "rollout", device)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe, began = self.recipe, time.monotonic()
        warm = iteration <= recipe.warm_start
        settings = recipe.warm_search if warm else recipe.search
        fresh = (self.warm_up if warm else self.selfplay).play(
            self.seed, iteration, lambda move: stage("self-play, move", move, 0)
        )
        played = time.monotonic()
        fresh.save(self.folder.shard(iteration), {"fingerprint": self.game.fingerprint})
        self.replay.add(fresh)
        losses = self._learn(stage)
        learnt = time.monotonic()
        return {
            "positions": len(self.replay),
            "games_per_s": recipe.games / (played - began),
            "simulations_per_s": len(fresh) * settings.simulations / (played - began),
            "steps_per_s": recipe.steps / (learnt - played),
            **{f"loss_{name}": value for name, value in losses.items()},
        }

    def _learn(self, stage: Stage) -> dict[str, float]:
        sums: dict[str, float] = {}
        for step in range(self.recipe.steps):
            stage("learning, step", step + 1, self.recipe.steps)
            rng = np.random.Generator(np.random.Philox(key=[self.seed, self.learner.step]))
            some = self.replay.sample(self.recipe.lessons.batch, rng)
            for name, loss in self.learner.learn(some).items():
                sums[name] = sums.get(name, 0.0) + loss / self.recipe.steps
        return sums

    def accept(self, best: nn.Module) -> None:
        self.teacher.load(best.state_dict())

    def player(self, net: nn.Module, name: str) -> Player:
        return NetPlayer(NetEvaluator(net, self.device), self.recipe.mode, name=name)

    def arrays(self) -> dict[str, Any]:
        return self.learner.arrays()

    def restore(self, arrays: dict[str, Any], iteration: int) -> None:
        self.learner.restore(arrays, iteration * self.recipe.steps)
        for earlier in range(1, iteration + 1):
            if self.folder.shard(earlier).exists():
                self.replay.add(Positions.read(self.folder.shard(earlier), self.game))
