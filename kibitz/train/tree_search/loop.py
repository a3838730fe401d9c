"""Self-play by search, replay, and a learner of its policy and value, in a loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from ...game import Game, GameError
from ...nets import Net
from ...nets.evaluate import NetEvaluator
from ...nets.latent_model import LatentModel
from ...nets.net import MarginNet
from ...search.latent import LatentSearch
from ...search.mcts import Search, Settings
from ...search.settings import without_later
from ..folder import Arrays, RunFolder
from ..method import Stage, TimeIsUp, Training
from ..replay import Replay, Shard
from ..seeds import derived
from .growth import Growth
from .learner import Learner, Learning, Stepper
from .response import ResponsePlay
from .scripted import ScriptedGames, ScriptedPlay
from .selfplay import SelfPlay


@dataclass(frozen=True, kw_only=True)
class SearchTraining(Training):
    """A recipe for learning from search: its settings, and the amounts of play and learning."""

    method: ClassVar[str] = "search"

    search: Settings
    learning: Learning
    games: int = 256
    """Games of self-play at the same time, and games that end in an iteration."""
    steps: int = 50
    """Steps of learning per iteration."""
    replay_size: int = 200_000
    """Positions in the replay."""
    scripted: ScriptedGames = field(default_factory=ScriptedGames)
    """Games between compiled players of the game, from which the very first iterations learn."""
    warm_start: int = 0
    """First iterations, scripted ones included, that need no network: they search by rollouts."""
    warm_search: Settings = field(default_factory=Settings)
    """The search of those iterations."""
    against: str = ""
    """The file of a network that never changes and has all seats but one in every game of
    self-play: what is learnt is how to beat it. Nobody named: the player plays against itself."""

    growth: Growth = field(default_factory=Growth)
    """An option of the game that grows with the iterations. The gate plays without it."""

    def with_opponents(self, players: Sequence[str]) -> SearchTraining:
        if len(players) != 1 or self.against:
            raise GameError("self-play is against one network: give --against FILE once")
        file = players[0].removeprefix("net:")
        return replace(self, against=file, baselines=(f"net:{file}", *self.baselines))

    def described(self) -> dict[str, Any]:
        """Without what is newer than runs that may be resumed, where it has its default."""
        described = super().described()
        for name in ("search", "warm_search"):
            described[name] = without_later(described[name])
        if not self.against:
            del described["against"]
        if not self.growth.option:
            del described["growth"]
        return described

    def grown(self, game: Game, iteration: int) -> Game:
        """The game as it begins in an iteration."""
        return self.growth.game(game, iteration, self.iterations)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> SearchMethod:
        return SearchMethod(self, game, folder, device, seed)


@dataclass
class Progress:
    """How far an iteration has come."""

    iteration: int = 0
    goal: int = 0
    """Self-play goes on until so many games of the run have ended."""
    steps: int = 0
    """Steps of learning so far."""
    losses: dict[str, float] = field(default_factory=dict)
    """Sums over these steps."""

    def arrays(self) -> Arrays:
        sums = {f"loss.{name}": np.array(total) for name, total in self.losses.items()}
        return {"counts": np.array([self.iteration, self.goal, self.steps]), **sums}

    @staticmethod
    def of(arrays: Arrays) -> Progress:
        sums = {name: float(a) for name, a in arrays.items() if name.startswith("loss.")}
        losses = {name.removeprefix("loss."): total for name, total in sums.items()}
        iteration, goal, steps = map(int, arrays["counts"])
        return Progress(iteration, goal, steps, losses)


class SearchMethod:
    """The newest player searches against itself; the learner learns from the results."""

    def __init__(
        self, recipe: SearchTraining, game: Game, folder: RunFolder, device: str, seed: int
    ) -> None:
        self.recipe, self.game, self.folder = recipe, game, folder
        self.device, self.seed = device, seed
        self.deadline: float | None = None
        self.learner = self.new_learner()
        self.net, self.average = self.learner.net, self.learner.average
        self.replay = Replay(recipe.replay_size)
        self.progress = Progress()
        first = recipe.grown(game, 1)
        self.selfplay = SelfPlay(first, recipe.games, device, seed)
        if recipe.against:
            self.selfplay = ResponsePlay(first, recipe.games, device, seed, Path(recipe.against))
        self.scripts: ScriptedPlay | None = None
        if recipe.scripted.iterations:
            self.scripts = ScriptedPlay(game, recipe.games, device, seed, recipe.scripted)
        self._first_shard = 1
        self._search: Search | LatentSearch | None = None
        self._evaluator: NetEvaluator | LatentModel | None = None  # None while rollouts are enough

    def new_learner(self) -> Stepper[Any, Any]:
        """The learner at its beginning."""
        net = fitting(self.recipe.network(self.game, self.seed), self.game)
        return Learner(self.game, net, self.recipe.learning, self.device, self.seed)

    def new_evaluator(self) -> NetEvaluator | LatentModel:
        """What guides the search of self-play."""
        return NetEvaluator(deepcopy(self.average), self.device)

    def new_search(self) -> Search | LatentSearch:
        """The search of self-play, guided by the evaluator."""
        evaluator = self._evaluator
        assert isinstance(evaluator, NetEvaluator)
        return Search(
            self.game,
            self.recipe.games,
            self.recipe.search,
            evaluator=evaluator,
            device=self.device,
        )

    def batch(self, rng: np.random.Generator) -> Any:
        """What one step learns from."""
        return self.replay.sample(self.recipe.learning.batch, rng)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe, tables = self.recipe, self._tables(iteration)
        if self.progress.iteration != iteration:
            self.progress = Progress(iteration, tables.ended + self._games(iteration))
        began, clock, ended = time.monotonic(), self.selfplay.clock, tables.ended
        self._play(iteration, self.progress.goal, stage)
        played, done = time.monotonic(), self.progress.steps
        self.learn(stage)
        learnt = time.monotonic()
        settings = recipe.warm_search if iteration <= recipe.warm_start else recipe.search
        searched = (self.selfplay.clock - clock) * self.selfplay.size * settings.simulations
        searching = {"simulations_per_s": searched / (played - began)} if searched else {}
        return {
            "positions": len(self.replay),
            "games_per_s": (tables.ended - ended) / (played - began),
            **searching,
            "steps_per_s": (recipe.steps - done) / (learnt - played),
            **{f"loss_{n}": total / recipe.steps for n, total in self.progress.losses.items()},
        }

    def _tables(self, iteration: int) -> SelfPlay | ScriptedPlay:
        """Where the games of an iteration are played."""
        if self.scripts is not None and iteration <= self.recipe.scripted.iterations:
            return self.scripts
        return self.selfplay

    def _games(self, iteration: int) -> int:
        """Games that end in an iteration."""
        scripted = self._tables(iteration) is self.scripts
        return self.recipe.games * (self.recipe.scripted.rounds if scripted else 1)

    def _play(self, iteration: int, goal: int, stage: Stage) -> None:
        """Play until so many games of the run have ended; add what was decided to the replay."""
        tables, games = self._tables(iteration), self._games(iteration)
        tables.begin_with(self.recipe.grown(self.game, iteration).options)
        if isinstance(tables, ScriptedPlay):
            self._play_scripts(tables, goal, stage)
            return
        search, selfplay = self.searching(warm=iteration <= self.recipe.warm_start), tables
        try:
            while selfplay.ended < goal:
                stage("self-play, game", games - (goal - selfplay.ended), games)
                selfplay.move(search, self.deadline)
        except TimeIsUp:
            self.store(selfplay.taken())
            raise
        self.store(selfplay.taken())

    def _play_scripts(self, scripts: ScriptedPlay, goal: int, stage: Stage) -> None:
        """The same with compiled players; a round takes seconds, so the clock waits for its end."""
        games = self.recipe.games * self.recipe.scripted.rounds
        while scripts.ended < goal:
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise TimeIsUp
            stage("scripted play, game", games - (goal - scripts.ended), games)
            self.store(scripts.play_round())

    def searching(self, *, warm: bool) -> Search | LatentSearch:
        """The search of self-play, with the newest weights."""
        recipe = self.recipe
        if self._search is None or warm != (self._evaluator is None):
            self._evaluator = None if warm else self.new_evaluator()
            self._search = (
                Search(self.game, recipe.games, recipe.warm_search, device=self.device)
                if warm
                else self.new_search()
            )
        elif self._evaluator is not None:
            self._evaluator.load(self.average.state_dict())
        return self._search

    def store(self, shard: Shard | None) -> None:
        """Add what was decided to the replay, as a new shard."""
        listed = self.replay.listed
        if shard is not None:
            path = self.folder.shard(listed[-1].number + 1 if listed else self._first_shard)
            self.replay.add(shard, shard.save(path, self.game))

    def refill(self, iteration: int, positions: int, first: int, stage: Stage) -> int:
        self.replay.clear()
        self._first_shard, shards = first, 0
        while len(self.replay) < min(positions, self.recipe.replay_size):
            goal = self._tables(iteration).ended + self._games(iteration)
            self._play(iteration, goal, stage)
            shards += 1
        return shards

    def learn(self, stage: Stage) -> None:
        """The steps of learning that are left of this iteration."""
        progress, steps = self.progress, self.recipe.steps
        while progress.steps < steps:
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise TimeIsUp
            stage("learning, step", progress.steps + 1, steps)
            seed = derived(self.seed, "replay", self.learner.step)
            rng = np.random.Generator(np.random.Philox(seed))
            for name, loss in self.learner.learn(self.batch(rng)).items():
                progress.losses[name] = progress.losses.get(name, 0.0) + loss
            progress.steps += 1

    def accept(self, best: nn.Module) -> None:
        """Self-play always uses the newest weights, whatever the gate says."""

    def arrays(self) -> Arrays:
        parts = {
            "selfplay": self.selfplay.arrays(),
            "scripts": {} if self.scripts is None else self.scripts.arrays(),
            "progress": self.progress.arrays(),
        }
        named = {f"{part}.{n}": a for part, arrays in parts.items() for n, a in arrays.items()}
        return self.learner.arrays() | named

    def restore(self, arrays: Arrays, iteration: int) -> None:
        parts: dict[str, Arrays] = {"selfplay": {}, "scripts": {}, "progress": {}}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            if part in parts:
                parts[part][rest] = array
        self.selfplay.restore(parts["selfplay"])
        if self.scripts is not None:
            self.scripts.restore(parts["scripts"])
        self.progress = progress = Progress.of(parts["progress"])
        under_way = progress.iteration == iteration + 1
        if not (under_way or progress.iteration == iteration):
            raise ValueError(f"this is of iteration {progress.iteration}, not {iteration}")
        tables, games = self._tables(progress.iteration), self._games(progress.iteration)
        if progress.goal > tables.ended + games:
            raise ValueError("an iteration has no more games than the recipe says")
        if not 0 <= progress.steps <= self.recipe.steps:
            raise ValueError("an iteration has no more steps than the recipe says")
        self.learner.restore(
            arrays, iteration * self.recipe.steps + (progress.steps if under_way else 0)
        )


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
