"""Policy gradients: play a stretch at many tables, learn from it, forget it, and so on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from ...game import Game, GameError
from ..folder import Arrays, RunFolder
from ..method import Stage, Training
from ..seeds import derived
from ..tree_search.growth import Growth
from ..tree_search.loop import fitting
from ..weights import WithoutReplay
from .learner import PolicyLearner, PolicyLearning
from .play import StretchPlay


@dataclass(frozen=True, kw_only=True)
class PolicyTraining(Training):
    """A recipe for learning from play without a search."""

    method: ClassVar[str] = "policy"
    searches: ClassVar[bool] = False
    half_precision: ClassVar[bool] = True

    learning: PolicyLearning
    games: int = 512
    """Games at the same time."""
    ticks: int = 32
    """Decisions at each table in an iteration."""
    opponents: tuple[str, ...] = ()
    """Compiled players that have the other seats at some of the tables, such as
    `expectimax:depth=2`. Those that the game has only with other options stay away."""
    opponent_share: float = 0.0
    """Share of these tables."""
    stray_share: float = 0.0
    """Share of decisions at which anything is played. So values are learnt of positions that the
    policy avoids, which a search asks about."""
    growth: Growth = field(default_factory=Growth)
    """An option of the game that grows with the iterations. The gate plays without it."""

    def __post_init__(self) -> None:
        if self.games * self.ticks < self.learning.batch:
            raise GameError("an iteration has fewer decisions than a step of learning needs")

    def described(self) -> dict[str, Any]:
        """Without what is newer than runs that may be resumed, where it has its default."""
        described = super().described()
        if not self.growth.option:
            del described["growth"]
        if not self.stray_share:
            del described["stray_share"]
        for name in ("entropy_kept", "compiled"):
            if getattr(self.learning, name) == getattr(PolicyLearning, name):
                del described["learning"][name]
        return described

    def grown(self, game: Game, iteration: int) -> Game:
        """The game as it begins in an iteration."""
        return self.growth.game(game, iteration, self.iterations)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> PolicyMethod:
        return PolicyMethod(self, game, device, seed)


class PolicyMethod(WithoutReplay):
    """The newest network plays against itself and others, and learns from that at once."""

    def __init__(self, recipe: PolicyTraining, game: Game, device: str, seed: int) -> None:
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.learner = self.new_learner()
        self.net, self.average = self.learner.net, self.learner.average
        first = recipe.grown(game, 1)
        self.tables = StretchPlay(first, self.learner.net, recipe.games, recipe.ticks, device)
        scripted = round(recipe.games * recipe.opponent_share)
        known = "random", *game.players
        here = [who for who in recipe.opponents if who.partition(":")[0] in known]
        self.tables.begin(seed, here, scripted, stray_share=recipe.stray_share)
        batches = recipe.games * recipe.ticks // recipe.learning.batch
        self.steps = recipe.learning.passes * batches

    def new_learner(self) -> PolicyLearner:
        """The learner at its beginning."""
        net = fitting(self.recipe.network(self.game, self.seed), self.game)
        return PolicyLearner(self.game, net, self.recipe.learning, self.device, self.seed)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        decisions = self.recipe.games * self.recipe.ticks
        stage("playing, decisions", 0, decisions)
        began = time.monotonic()
        self.tables.begin_with(self.recipe.grown(self.game, iteration).options)
        self.tables.play(self.learner.net)
        played = time.monotonic()
        losses = self._learn(iteration, stage)
        learnt = time.monotonic()
        return {
            "decisions": decisions,
            "decisions_per_s": decisions / (played - began),
            "steps_per_s": self.steps / (learnt - played),
            **{f"loss_{name}": total / self.steps for name, total in losses.items()},
            **{f"score_{name}": score for name, score in self.tables.results().items()},
        }

    def _learn(self, iteration: int, stage: Stage) -> dict[str, float]:
        """Learn from the stretch, every decision as often as the recipe says; sums of losses."""
        learner, stretch = self.learner, self.tables.stretch
        lessons, losses = learner.judged(stretch), dict[str, float]()
        generator = torch.Generator().manual_seed(derived(self.seed, "batches", iteration))
        size, batch, step = self.recipe.games * self.recipe.ticks, self.recipe.learning.batch, 0
        for _ in range(self.recipe.learning.passes):
            order = torch.randperm(size, generator=generator).to(self.device)
            for which in torch.split(order[: size // batch * batch], batch):
                stage("learning, step", step + 1, self.steps)
                found = learner.learn(learner.examples_of(stretch, lessons, which))
                losses = {name: losses.get(name, 0.0) + loss for name, loss in found.items()}
                step += 1
        return losses

    def accept(self, best: nn.Module) -> None:
        """Play always uses the newest weights, whatever the gate says."""

    def arrays(self) -> Arrays:
        tables = {f"tables.{name}": array for name, array in self.tables.arrays().items()}
        return self.learner.arrays() | tables

    def restore(self, arrays: Arrays, iteration: int) -> None:
        tables = {
            n.removeprefix("tables."): a for n, a in arrays.items() if n.startswith("tables.")
        }
        self.tables.restore(tables)
        self.learner.restore(arrays, iteration * self.steps)
