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
from ..chance import fresh_seed
from ..game import DEFAULT_VIEW, Game, GameError
from ..games import load
from ..nets import all_kinds, load_net, save_net
from ..players import Player
from .checkpoint import BEST, Checkpoint, Standing, contents, read_checkpoint
from .folder import (
    GO_ON,
    DamagedError,
    Listed,
    RunError,
    RunFolder,
    check_agrees,
    file_checksum,
)
from .metrics import Row, until
from .replay import Replay
from .report import Board, draw
from .seeds import checked_seed

Stage = Callable[[str, int, int], None]
"""Told what is being done and how far it is, out of 0 where that is not known."""


class Method(Protocol):
    """A way to learn: makes a network better, an iteration at a time."""

    average: nn.Module
    """The network that would play now."""

    @property
    def replay(self) -> Replay | None:
        """The positions that it learns from, where it keeps any beyond an iteration."""

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        """Learn; the figures of this iteration."""

    def accept(self, best: nn.Module) -> None:
        """The gate was passed: whoever plays only with the best plays with this from now on."""

    def player(self, net: nn.Module, name: str) -> Player:
        """Seat a network of this kind."""

    def arrays(self) -> dict[str, Any]:
        """Everything that a resumed run needs besides the best network, by name."""

    def restore(self, arrays: dict[str, Any], iteration: int) -> None:
        """Go on where `arrays` were taken, after this iteration. The replay stays as it is."""

    def refill(self, iteration: int, positions: int, first: int, stage: Stage) -> int:
        """Empty the replay and play until it holds so many positions, or is full.

        first: the number of the first shard; how many there are comes back.
        """


@dataclass(frozen=True, kw_only=True)
class Training:
    """What every training run is told: which game, which network, and how it is measured."""

    method: ClassVar[str]
    """What a run's folder calls the way to learn."""
    mode: ClassVar[str] = "argmax"
    """How its players choose, see `NetPlayer`."""

    game: str
    options: dict[str, Any] = field(default_factory=dict)
    view: str = DEFAULT_VIEW
    """Which view of the game the network reads."""
    net: str
    """Kind of network, see `nets.kinds`."""
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
        kind = all_kinds()[self.net]
        net: nn.Module = kind.net(kind.config(**self.config), seed)
        return net

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> Method:
        """The method at its beginning."""
        raise NotImplementedError


@dataclass
class Refill:
    """What is still to be done before a damaged run goes on."""

    positions: int
    rows: list[Row]
    """Metrics that stay."""
    broken: list[Path]
    """Files that nobody needs any more once the new state is saved."""


class Run:
    """One training run in a folder."""

    def __init__(
        self,
        recipe: Training,
        folder: Path,
        *,
        device: str = "cpu",
        seed: int | None = None,
        resume: bool = False,
        refill: bool = False,
        start: Path | None = None,
    ) -> None:
        """seed: None draws one for a new run and takes the stored one to resume.
        refill: resume from the newest intact checkpoint alone, and fill the replay anew.
        start: a file of a network to begin with, instead of an untrained one.
        """
        if refill and not resume:
            raise RunError("--refill goes on with a run that is there: give --resume as well")
        self.recipe, self.device, self.start = recipe, device, start
        self.game: Game = load(recipe.game, **recipe.options).through(recipe.view)
        self.folder, self.standing = RunFolder(folder), Standing()
        self.remarks: list[str] = []  # what whoever started the run should know
        self._refill: Refill | None = None
        self._members: dict[int, Listed] = {}
        given = None if seed is None else checked_seed(seed)
        self.folder.lock()
        try:
            self._begin(given, resume, refill)
        except BaseException:
            self.folder.leave()
            raise
        self.folder.stay()
        self.method.accept(self.best)

    def _begin(self, seed: int | None, resume: bool, refill: bool) -> None:
        if self.device == "cuda" and not torch.cuda.is_available():
            raise GameError("torch finds no GPU here; the device cpu needs none")
        before = self.folder.before(resume)
        self.seed = self._seed(seed, before)
        if before is None:
            self.folder.describe(self.about())
        else:
            check_agrees(before, self.about(), self.folder.path)
        self.method = self.recipe.begin(self.game, self.folder, self.device, self.seed)
        checkpoint = None if before is None else self._checkpoint(refill)
        if checkpoint is None and self.start is not None:
            self._take(self.start)
        self.best = copy.deepcopy(self.method.average)
        if checkpoint is not None:
            self._restore(checkpoint, refill)
        else:
            self.folder.undo_later(self.folder.member(0))
            self._join_league(0)
        if before is not None and self.folder.described() is None:
            self.folder.describe(before)
            self.remarks.append("run.json was missing or damaged; a checkpoint has restored it.")

    def _seed(self, seed: int | None, before: dict[str, Any] | None) -> int:
        if seed is not None:
            return seed
        if before is not None:
            return checked_seed(before["seed"])
        drawn = fresh_seed()
        self.remarks.append(f"The seed of this run is {drawn}.")
        return drawn

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

        progress: gets the row of every iteration; stage: what is being done meanwhile.
        """
        if self._refill is not None:
            self._mend(self._refill, stage)
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
        if standing.refilled:
            row["refilled"] = True
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
        path = self.folder.member(iteration)
        self._write_net(path, self.best, {"iteration": iteration})
        self._members[iteration] = Listed(path.name, file_checksum(path))
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
        self.standing.rows += 1
        self.folder.note(row)
        self._save_checkpoint()

    def _save_checkpoint(self) -> None:
        arrays = self.method.arrays()
        arrays |= {BEST + n: t.detach().cpu().numpy() for n, t in self.best.state_dict().items()}
        replay, standing = self.method.replay, self.standing
        members = [self._members[member] for member in standing.league.members]
        listed = contents(standing, [] if replay is None else replay.listed, members)
        self.folder.save(standing.iteration, arrays, {**self.about(), **listed})

    # going on

    def _checkpoint(self, refill: bool) -> Checkpoint | None:
        """The newest checkpoint, or with `refill` the newest that is intact; None before any."""
        self._check_reached(refill)
        passed_over: list[Path] = []
        for path in reversed(self.folder.checkpoints()):
            try:
                checkpoint = read_checkpoint(path, self.about())
            except DamagedError as error:
                if not refill:
                    raise RunError(f"{error}; {GO_ON}") from None
                self.remarks.append(f"Passed over: {error}.")
                passed_over.append(path)
                continue
            if refill:
                self._refill = self._plan(checkpoint, passed_over)
            return checkpoint
        if passed_over:
            raise RunError(
                f"{self.folder.path} has no intact checkpoint ({len(passed_over)} are damaged); "
                "begin anew in another folder"
            )
        self.folder.keep_metrics([])
        return None

    def _check_reached(self, refill: bool) -> None:
        """See that no newer checkpoint is missing. A kill leaves metrics one iteration ahead."""
        saved = [int(path.stem) for path in self.folder.checkpoints()]
        try:
            rows = self.folder.metrics(damaged=refill)
        except RunError as error:
            raise RunError(f"{error}; {GO_ON}") from None
        reached = max((row["iteration"] for row in rows), default=0)
        shards = [int(path.stem) for path in self.folder.shards()]
        if not saved and max([reached, *shards]) > 1:
            raise RunError(f"{self.folder.path} has lost its checkpoints; begin anew elsewhere")
        if saved and not refill and reached > saved[-1] + 1:
            raise RunError(f"{self.folder.checkpoint(reached - 1)} is missing; {GO_ON}")

    def _plan(self, checkpoint: Checkpoint, passed_over: list[Path]) -> Refill:
        standing = checkpoint.standing
        finished = standing.iteration >= self.recipe.iterations
        rows = until(self.folder.metrics(damaged=True), standing.iteration)
        return Refill(0 if finished else checkpoint.positions, rows, passed_over)

    def _restore(self, checkpoint: Checkpoint, refill: bool) -> None:
        self.standing = checkpoint.standing
        try:
            weights = {n: torch.from_numpy(np.array(a)) for n, a in checkpoint.best.items()}
            self.best.load_state_dict(weights)
            self.method.restore(checkpoint.weights, self.standing.iteration)
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise RunError(f"{checkpoint.path} does not fit the network of this recipe") from None
        self._members = {each.number: each for each in checkpoint.league}
        if refill:
            self._drop_broken(checkpoint)
        else:
            self._check_needed(checkpoint)

    def _check_needed(self, checkpoint: Checkpoint) -> None:
        """Take in what the checkpoint lists; whatever is missing or damaged is named."""
        problems = list(checkpoint.broken_members(self.folder).values())
        if self.method.replay is not None:
            found = self.method.replay.load(self.folder, checkpoint.replay, self.game)
            problems += map(str, found.values())
        rows = until(self.folder.metrics(), self.standing.iteration)
        if len(rows) != self.standing.rows:
            wanted = self.standing.rows
            problems.append(f"metrics.jsonl holds {len(rows)} of {wanted} rows")
        if problems:
            raise RunError(f"{'; '.join(problems)}; {GO_ON}")
        self.folder.keep_metrics(rows)

    def _drop_broken(self, checkpoint: Checkpoint) -> None:
        """Go on without what is damaged, and say so. Nothing is changed on disk yet."""
        assert self._refill is not None
        broken, latest = checkpoint.broken_members(self.folder), self.standing.league.members[-1]
        for member, problem in broken.items():
            if member == latest:  # the checkpoint holds its weights: they are the best network's
                self.remarks.append(f"Restored from the checkpoint: {problem}.")
                continue
            self.remarks.append(f"Dropped from the league: {problem}.")
            self.standing.league.members.remove(member)
        replay, lost = self.method.replay, self.standing.rows != len(self._refill.rows)
        if lost:
            self.remarks.append("Rows of metrics.jsonl are lost.")
            self.standing.rows = len(self._refill.rows)
        self.remarks.append(f"Going on from {checkpoint.path} alone.")
        if replay is not None:
            found = replay.load(self.folder, checkpoint.replay, self.game)
            self._refill.broken += [p for p, e in found.items() if isinstance(e, DamagedError)]
            replay.clear()
            self.remarks.append("The replay is filled anew.")
        if replay is not None or set(broken) - {latest}:
            self.standing.refilled = True
            self.remarks.append("From here on the numbers are not those of an undisturbed run.")

    def _mend(self, refill: Refill, stage: Stage) -> None:
        """Fill the replay and save that; only then remove what was damaged."""
        standing, latest = self.standing, self.standing.league.members[-1]
        first = self.recipe.iterations + standing.fills + 1  # above all iterations: never met twice
        standing.fills += self.method.refill(standing.iteration, refill.positions, first, stage)
        self._join_league(latest)
        self.folder.keep_metrics(refill.rows)
        self._save_checkpoint()
        for path in refill.broken:
            path.unlink(missing_ok=True)
        self._refill = None

    def close(self) -> None:
        """Let others have the folder."""
        self.folder.unlock()

    def champion(self, path: Path, card: dict[str, Any]) -> None:
        """Write the best player so far as a file that `net:PATH` can load.

        Before anybody has passed the gate that is the newest: nobody wants an untrained one.
        """
        passed = self.standing.league.members != [0]
        self._write_net(path, self.best if passed else self.method.average, card)

    def _write_net(self, path: Path, net: nn.Module, card: dict[str, Any]) -> None:
        about = {"fingerprint": self.game.fingerprint, "game": self.game.describe(), **card}
        save_net(path, copy.deepcopy(net).cpu(), about)
