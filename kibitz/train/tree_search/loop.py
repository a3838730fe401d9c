"""The circle: self-play by search, replay, and a learner of its policy and value."""

from __future__ import annotations

import copy
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from ...game import Game, GameError
from ...nets.evaluate import NetEvaluator
from ...players import Player, seat_network
from ...search.mcts import Settings
from ..folder import RunFolder
from ..replay import Replay
from ..run import Stage, Training
from ..seeds import derived
from .learner import Learner, Lessons
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
        net = recipe.network(game, seed)
        check_fits(net, game)
        self.learner = Learner(game, net, recipe.lessons, device, seed)
        self.average = self.learner.average
        self.replay = Replay(recipe.room)
        self.teacher = NetEvaluator(copy.deepcopy(self.average), device)
        self.selfplay = SelfPlay(game, recipe.games, recipe.search, self.teacher, device)
        self.warm_up = SelfPlay(game, recipe.games, recipe.warm_search, "rollout", device)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe, began = self.recipe, time.monotonic()
        warm = iteration <= recipe.warm_start
        settings = recipe.warm_search if warm else recipe.search
        rows = self._play(iteration, stage, warm=warm)
        played = time.monotonic()
        losses = self._learn(stage)
        learnt = time.monotonic()
        return {
            "positions": len(self.replay),
            "games_per_s": recipe.games / (played - began),
            "simulations_per_s": rows * settings.simulations / (played - began),
            "steps_per_s": recipe.steps / (learnt - played),
            **{f"loss_{name}": value for name, value in losses.items()},
        }

    def _play(self, number: int, stage: Stage, *, warm: bool) -> int:
        """Add a shard of self-play to the replay; how many positions it has."""
        fresh = (self.warm_up if warm else self.selfplay).play(
            self.seed, number, lambda move: stage("self-play, move", move, 0)
        )
        self.replay.add(fresh, fresh.save(self.folder.shard(number), self.game))
        return len(fresh)

    def refill(self, iteration: int, positions: int, first: int, stage: Stage) -> int:
        self.replay.clear()
        number, warm = first, iteration <= self.recipe.warm_start
        while len(self.replay) < min(positions, self.recipe.room):
            self._play(number, stage, warm=warm)
            number += 1
        return number - first

    def _learn(self, stage: Stage) -> dict[str, float]:
        sums: dict[str, float] = {}
        for step in range(self.recipe.steps):
            stage("learning, step", step + 1, self.recipe.steps)
            luck = derived(self.seed, "replay", self.learner.step)
            rng = np.random.Generator(np.random.Philox(luck))
            some = self.replay.sample(self.recipe.lessons.batch, rng)
            for name, loss in self.learner.learn(some).items():
                sums[name] = sums.get(name, 0.0) + loss / self.recipe.steps
        return sums

    def accept(self, best: nn.Module) -> None:
        self.teacher.load(best.state_dict())

    def player(self, net: nn.Module, name: str) -> Player:
        return seat_network(self.game, net, self.device, self.recipe.mode, name)

    def arrays(self) -> dict[str, Any]:
        return self.learner.arrays()

    def restore(self, arrays: dict[str, Any], iteration: int) -> None:
        self.learner.restore(arrays, iteration * self.recipe.steps)


def check_fits(net: nn.Module, game: Game) -> None:
    """See that a network has the seats, views and actions of this game."""
    config: Any = net.config
    seats, fits = getattr(config, "seats", game.seats), False
    with torch.no_grad(), suppress(RuntimeError):
        logits, values, _ = net.eval().heads(torch.zeros(1, game.view_size))  # type: ignore[operator]
        seats, fits = values.shape[1], logits.shape[1] == game.num_actions
    table = f"{game.name} with these options"
    network = f"the recipe's network ({type(net).__name__})"
    if seats != game.seats:
        raise GameError(f"{network} is for {seats} seats, but {table} has {game.seats}")
    if not fits:
        raise GameError(f"{network} does not fit the views and actions of {table}")
