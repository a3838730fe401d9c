"""A training run: iterations of some method, and a gate that only better players pass."""

from __future__ import annotations

import copy
import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numba
import numpy as np
import torch
from torch import nn

from .. import __version__
from ..arena.match import match
from ..game import Game, GameError
from ..games import load
from ..nets import NETS, load_net, save_net
from ..players import Player
from .folder import RunFolder
from .league import League
from .report import Board, draw

Stage = Callable[[str, int, int], None]
"""Told what is being done and how far it is, out of 0 where that is not known."""


class Method(Protocol):
    """A way to learn: makes a network better, an iteration at a time."""

    average: nn.Module
    """The network that would play now."""

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        """Learn; the figures of this iteration."""

    def accept(self, best: nn.Module) -> None:
        """The gate was passed: whoever plays only with the best plays with this from now on."""

    def player(self, net: nn.Module, name: str) -> Player:
        """Seat a network of this kind."""

    def arrays(self) -> dict[str, Any]:
        """Everything that a resumed run needs besides the best network, by name."""

    def restore(self, arrays: dict[str, Any], iteration: int) -> None:
        """Go on where `arrays` were taken, after this iteration."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What every training run is told: which game, which network, and how it is measured."""

    method: ClassVar[str]
    """What a run's folder calls the way to learn."""
    mode: ClassVar[str] = "argmax"
    """How its players choose, see `NetPlayer`."""

    game: str
    options: dict[str, Any] = field(default_factory=dict)
    net: str
    """Kind of network, see `nets.NETS`."""
    config: dict[str, Any] = field(default_factory=dict)
    """Its configuration, where it differs from the default."""
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

    def meeting(self, players: Sequence[str]) -> Training:
        """The same recipe with more players to beat, where it learns from others than itself."""
        raise GameError(f"{self.method} learns from itself; nobody else can be named to it")

    def network(self, game: Game, seed: int) -> nn.Module:
        """The network, untrained."""
        config, net = NETS[self.net]
        made: nn.Module = net(config(**self.config), seed)
        return made

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> Method:
        """The method at its beginning."""
        raise NotImplementedError


@dataclass
class Standing:
    """Where a run stands, besides its weights."""

    iteration: int = 0
    elo: float = 0.0
    """Of the best player, above the untrained one."""
    seconds: float = 0.0
    """Time spent so far, over all parts of the run."""
    league: League = field(default_factory=League)


class Run:
    """One training run in a folder."""

    def __init__(
        self,
        recipe: Training,
        folder: Path,
        *,
        device: str = "cpu",
        seed: int = 0,
        resume: bool = False,
        start: Path | None = None,
    ) -> None:
        """start: a file of a network to begin with, instead of an untrained one."""
        self.recipe, self.device, self.seed, self.start = recipe, device, seed, start
        self.game: Game = load(recipe.game, **recipe.options)
        self.folder, self.standing = RunFolder(folder), Standing()
        self.folder.lock()
        new = False
        try:
            new = self.folder.claim(self.about(), self.game, resume)
            self.method = recipe.begin(self.game, self.folder, device, seed)
            if start is not None:
                self._take(start)
            self.best = copy.deepcopy(self.method.average)
            if resume:
                self._restore()
            if self.standing.iteration == 0:
                self._join_league(0)
        except BaseException:
            if new:
                self.folder.disclaim()
            self.folder.unlock()
            raise
        self.method.accept(self.best)

    def about(self) -> dict[str, Any]:
        return {
            "method": self.recipe.method,
            "recipe": json.loads(json.dumps(asdict(self.recipe))),
            "game": json.loads(json.dumps(self.game.describe())),
            "fingerprint": self.game.fingerprint,
            "seed": self.seed,
            "start": None if self.start is None else str(self.start),
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
        stage: Stage = lambda what, done, of: None,
    ) -> None:
        """Go on until all iterations are done, or for so many seconds.

        progress: told the row of every iteration; stage: what is being done meanwhile.
        """
        began, spent = time.monotonic(), self.standing.seconds
        board = Board(self.folder.path / "board")
        while self.standing.iteration < self.recipe.iterations:
            if seconds is not None and time.monotonic() - began > seconds:
                break
            row = self._iterate(stage)
            self.standing.seconds = row["seconds"] = spent + time.monotonic() - began
            self._save(row)
            board.add(row)
            if "against_best" in row:
                draw(self.folder.metrics(), self.folder.path / "curves.png")
            if progress is not None:
                progress(row)

    def _iterate(self, stage: Stage) -> dict[str, Any]:
        standing = self.standing
        standing.iteration += 1
        row: dict[str, Any] = {"iteration": standing.iteration}
        row |= self.method.iterate(standing.iteration, stage)
        if standing.iteration % self.recipe.gate_every == 0:
            row |= self._gate(stage)
        row["elo"] = standing.elo
        return row

    def _gate(self, stage: Stage) -> dict[str, Any]:
        """The averaged network against the best so far; whoever passes plays from now on."""
        standing, recipe, league = self.standing, self.recipe, self.standing.league
        new, games = standing.iteration, recipe.gate_games
        player = self._player("new", self.method.average)
        rates = {}
        rivals = league.rivals(recipe.rivals)
        matches = len(rivals) + len(recipe.baselines)
        for done, rival in enumerate(rivals):
            stage("at the gate, match", done + 1, matches)
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
            self.best.load_state_dict(self.method.average.state_dict())
            self.method.accept(self.best)
            self._join_league(new)
        standing.elo = league.elo(league.members[-1])
        for done, name in enumerate(recipe.baselines):
            stage("at the gate, match", len(rivals) + done + 1, matches)
            result = match(self.game, player, name, games=games, seed=new)
            row[f"against_{name}"] = result.win_rate
        return row

    def _join_league(self, iteration: int) -> None:
        """Keep the best player among the earlier selves, as a file that can be played against."""
        self.champion(self.folder.member(iteration), {"iteration": iteration})
        if iteration not in self.standing.league.members:
            self.standing.league.members.append(iteration)

    def _player(self, name: str, net: nn.Module) -> Player:
        return self.method.player(copy.deepcopy(net), name)

    # keeping

    def _take(self, path: Path) -> None:
        """Begin with the weights of a file."""
        net, _ = load_net(path)
        average: Any = self.method.average
        if type(net) is not type(average) or net.config != average.config:
            raise GameError(f"{path} holds another network than this recipe trains")
        arrays = self.method.arrays()
        for part in ("net", "average"):
            arrays |= {f"{part}.{name}": each.numpy() for name, each in net.state_dict().items()}
        self.method.restore(arrays, 0)

    def _save(self, row: dict[str, Any]) -> None:
        arrays = self.method.arrays()
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
        rest = {n: a for n, a in arrays.items() if not n.startswith("best.")}
        self.method.restore(rest, self.standing.iteration)
        self.folder.forget_after(self.standing.iteration)

    def close(self) -> None:
        """Let others have the folder."""
        self.folder.unlock()

    def champion(self, path: Path, card: dict[str, Any]) -> None:
        """Write the best player so far as a file that `net:PATH` can load.

        Before anybody has passed the gate that is the newest: nobody wants an untrained one.
        """
        about = {"fingerprint": self.game.fingerprint, "game": self.game.describe(), **card}
        passed = len(self.standing.league.members) > 1
        save_net(path, copy.deepcopy(self.best if passed else self.method.average).cpu(), about)
