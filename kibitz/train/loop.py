"""The circle: self-play, replay, learner, and a gate that only better players pass."""

from __future__ import annotations

import copy
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch

from .. import __version__
from ..arena.match import match
from ..game import Game
from ..games import load
from ..nets import NETS, load_net, save_net
from ..nets.evaluate import NetEvaluator
from ..players import NetPlayer
from ..search.mcts import Settings
from .folder import RunFolder
from .league import League
from .learner import Learner, Lessons
from .replay import Positions, Replay
from .report import Board, draw
from .selfplay import SelfPlay


@dataclass(frozen=True)
class Recipe:
    """How a player is made: which game, which network, which search, which numbers."""

    game: str
    options: dict[str, Any]
    net: str
    """Kind of network, see `nets.NETS`."""
    config: dict[str, Any]
    """Its configuration, where it differs from the default."""
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
    iterations: int = 100
    gate_every: int = 5
    """Iterations between matches at the gate."""
    gate_games: int = 400
    gate_rate: float = 0.5
    """A new player passes with at least this win rate over the best so far."""
    rivals: int = 2
    """Earlier selves that it meets at the gate besides the best, to rate it by."""
    baselines: tuple[str, ...] = ("random",)
    """Players to measure strength against at the gate."""


@dataclass
class Standing:
    """Where a run stands, besides its weights."""

    iteration: int = 0
    step: int = 0
    elo: float = 0.0
    """Of the best player, above the untrained one."""
    seconds: float = 0.0
    """Time spent so far, over all parts of the run."""
    league: League = field(default_factory=League)


class Run:
    """One training run in a folder."""

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        *,
        device: str = "cpu",
        seed: int = 0,
        resume: bool = False,
    ) -> None:
        self.recipe, self.device, self.seed = recipe, device, seed
        self.game: Game = load(recipe.game, **recipe.options)
        self.folder = RunFolder(folder)
        self.folder.lock()
        try:
            self.folder.claim(self.about(), self.game, resume)
            config, net = NETS[recipe.net]
            made = net(config(**recipe.config), seed)
            self.learner = Learner(self.game, made, recipe.lessons, device, seed)
            self.best = copy.deepcopy(self.learner.average)
            self.replay, self.standing = Replay(recipe.room), Standing()
            if resume:
                self._restore()
            if self.standing.iteration == 0:
                self._join_league(0)
        except BaseException:
            self.folder.unlock()
            raise
        self.teacher = NetEvaluator(copy.deepcopy(self.best), device)
        self.selfplay = SelfPlay(self.game, recipe.games, recipe.search, self.teacher, device)
        self.warm_up = SelfPlay(self.game, recipe.games, recipe.warm_search, "rollout", device)

    def about(self) -> dict[str, Any]:
        return {
            "recipe": json.loads(json.dumps(asdict(self.recipe))),
            "game": json.loads(json.dumps(self.game.describe())),
            "fingerprint": self.game.fingerprint,
            "seed": self.seed,
            "versions": {
                "kibitz": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "numba": numba.__version__,
                "torch": torch.__version__,
            },
        }

    def train(
        self,
        *,
        seconds: float | None = None,
        progress: Callable[[dict[str, Any]], None] | None = None,
        stage: Callable[[str, int, int], None] = lambda what, done, of: None,
    ) -> None:
        """Go on until all iterations are done, or for so many seconds.

        progress: told the row of every iteration; stage: what is being done and how far it is,
        out of 0 where that is not known.
        """
        self.stage = stage
        began, spent = time.monotonic(), self.standing.seconds
        board = Board(self.folder.path / "board")
        while self.standing.iteration < self.recipe.iterations:
            if seconds is not None and time.monotonic() - began > seconds:
                break
            row = self._iterate()
            self.standing.seconds = row["seconds"] = spent + time.monotonic() - began
            self._save(row)
            board.add(row)
            if "against_best" in row:
                draw(self.folder.metrics(), self.folder.path / "curves.png")
            if progress is not None:
                progress(row)

    def _iterate(self) -> dict[str, Any]:
        standing, recipe = self.standing, self.recipe
        standing.iteration += 1
        began = time.monotonic()
        warm = standing.iteration <= recipe.warm_start
        settings = recipe.warm_search if warm else recipe.search
        fresh = (self.warm_up if warm else self.selfplay).play(
            self.seed, standing.iteration, lambda move: self.stage("self-play, move", move, 0)
        )
        played = time.monotonic()
        fresh.save(self.folder.shard(standing.iteration), {"fingerprint": self.game.fingerprint})
        self.replay.add(fresh)
        losses = self._learn()
        learnt = time.monotonic()
        row: dict[str, Any] = {
            "iteration": standing.iteration,
            "positions": len(self.replay),
            "games_per_s": recipe.games / (played - began),
            "simulations_per_s": len(fresh) * settings.simulations / (played - began),
            "steps_per_s": recipe.steps / (learnt - played),
            **{f"loss_{name}": value for name, value in losses.items()},
        }
        if standing.iteration % recipe.gate_every == 0:
            row |= self._gate()
        row["elo"] = standing.elo
        return row

    def _learn(self) -> dict[str, float]:
        sums: dict[str, float] = {}
        for step in range(self.recipe.steps):
            self.stage("learning, step", step + 1, self.recipe.steps)
            rng = np.random.Generator(np.random.Philox(key=[self.seed, self.learner.step]))
            some = self.replay.sample(self.recipe.lessons.batch, rng)
            for name, loss in self.learner.learn(some).items():
                sums[name] = sums.get(name, 0.0) + loss / self.recipe.steps
        self.standing.step = self.learner.step
        return sums

    def _gate(self) -> dict[str, Any]:
        """The averaged network against the best so far; whoever passes plays from now on."""
        standing, recipe, league = self.standing, self.recipe, self.standing.league
        new, games = standing.iteration, recipe.gate_games
        player = self._player("new", self.learner.average)
        rates = {}
        rivals = league.rivals(recipe.rivals)
        for done, rival in enumerate(rivals):
            self.stage("at the gate, match", done + 1, len(rivals) + len(recipe.baselines))
            net, _ = load_net(self.folder.member(rival))
            other = self._player(str(rival), net)
            rates[rival] = match(self.game, player, other, games=games, seed=new).win_rate
            league.note(new, rival, rates[rival], games)
        rate = rates.pop(rivals[-1])
        row: dict[str, Any] = {"against_best": rate, "passed": rate >= recipe.gate_rate}
        if rates:
            row["against_league"] = sum(rates.values()) / len(rates)
        row["elo_new"] = league.elo(new)
        if row["passed"]:
            self.best.load_state_dict(self.learner.average.state_dict())
            self.teacher.load(self.best.state_dict())
            self._join_league(new)
        standing.elo = league.elo(league.members[-1])
        for done, name in enumerate(recipe.baselines):
            self.stage("at the gate, match", len(rivals) + done + 1, len(rivals) + done + 1)
            result = match(self.game, player, name, games=games, seed=new)
            row[f"against_{name}"] = result.win_rate
        return row

    def _join_league(self, iteration: int) -> None:
        """Keep the best player among the earlier selves, as a file that can be played against."""
        self.champion(self.folder.member(iteration), {"iteration": iteration})
        if iteration not in self.standing.league.members:
            self.standing.league.members.append(iteration)

    def _player(self, name: str, net: torch.nn.Module) -> NetPlayer:
        return NetPlayer(NetEvaluator(copy.deepcopy(net), self.device), name=name)

    # keeping

    def _save(self, row: dict[str, Any]) -> None:
        arrays = self.learner.arrays()
        arrays |= {f"best.{n}": t.detach().cpu().numpy() for n, t in self.best.state_dict().items()}
        about = {**self.about(), "standing": asdict(self.standing)}
        self.folder.note(row)
        self.folder.save(self.standing.iteration, arrays, about)

    def _restore(self) -> None:
        newest = self.folder.newest()
        if newest is None:
            self.folder.forget_after(0)
            return
        arrays, about = newest
        told = about["standing"]
        self.standing = Standing(**{**told, "league": League(**told["league"])})
        best = {n.removeprefix("best."): a for n, a in arrays.items() if n.startswith("best.")}
        self.best.load_state_dict({n: torch.from_numpy(np.array(a)) for n, a in best.items()})
        self.learner.restore(
            {n: a for n, a in arrays.items() if not n.startswith("best.")}, self.standing.step
        )
        self.folder.forget_after(self.standing.iteration)
        for iteration in range(1, self.standing.iteration + 1):
            if self.folder.shard(iteration).exists():
                self.replay.add(Positions.read(self.folder.shard(iteration), self.game))

    def close(self) -> None:
        """Let others have the folder."""
        self.folder.unlock()

    def champion(self, path: Path, card: dict[str, Any]) -> None:
        """Write the best player so far as a file that `net:PATH` can load."""
        about = {"fingerprint": self.game.fingerprint, "game": self.game.describe(), **card}
        save_net(path, copy.deepcopy(self.best).cpu(), about)
