"""A training run: iterations of a method, and a gate that only better players pass."""

from __future__ import annotations

import copy
import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numba
import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from .. import __version__
from ..arena.match import match
from ..chance import fresh_seed
from ..game import Game, GameError
from ..games import load
from ..nets import Net, load_net, save_net
from ..players import Player, Sight, seat_network
from .checkpoint import BEST, Checkpoint, Standing, contents, read_checkpoint
from .folder import (
    TRY_REFILL,
    About,
    DamagedError,
    Listed,
    RunError,
    RunFolder,
    check_agrees,
    file_checksum,
    write_whole,
)
from .method import Interruptible, Stage, TimeIsUp, Training
from .metrics import Row, until
from .parts import write_parts
from .report import Board, draw, table
from .seeds import checked_seed
from .weights import carried


@dataclass
class Refill:
    """What to do before a damaged run continues."""

    positions: int
    """Positions to refill the replay with."""
    rows: list[Row]
    """Metrics to keep."""
    broken: list[Path]
    """Files to remove after the new state is saved."""


class Hurried:
    """A player who stops playing when the time is up."""

    def __init__(self, player: Player, deadline: float | None) -> None:
        self.name, self.player, self.deadline = player.name, player, deadline

    def choose(self, sight: Sight) -> ArrayLike:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeIsUp
        return self.player.choose(sight)


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
        """seed: None draws one for a new run, and takes the stored one of a resumed run.
        refill: resume from the newest intact checkpoint alone, and refill the replay.
        start: the file of a network to begin with, instead of an untrained one.
        """
        if refill and not resume:
            raise RunError("--refill continues an existing run: give --resume as well")
        self.recipe, self.device, self.start = recipe, device, start
        self.game: Game = load(recipe.game, **recipe.options).through(recipe.view)
        self.folder, self.standing = RunFolder(folder), Standing()
        self.remarks: list[str] = []  # for the user
        self._refill: Refill | None = None
        self._deadline: float | None = None
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
            raise GameError("torch finds no GPU here; choose the device cpu")
        before = self.folder.before(resume)
        self.seed = self._seed(seed, before)
        if before is None:
            self.folder.describe(self.about())
        else:
            check_agrees(before, self.about(), self.folder.path)
        self.method = self.recipe.begin(self.game, self.folder, self.device, self.seed)
        checkpoint = None if before is None else self._checkpoint(refill)
        if checkpoint is None and self.start is not None:
            self._load_start(self.start)
        self.best = copy.deepcopy(self.method.average)
        if checkpoint is not None:
            self._restore(checkpoint, refill)
        else:
            self.folder.undo_later(self.folder.member(0))
            self._join_league(0)
        if before is not None and self.folder.described() is None:
            self.folder.describe(before)
            self.remarks.append("run.json was missing or damaged; a checkpoint has restored it.")

    def _seed(self, seed: int | None, before: About | None) -> int:
        if seed is not None:
            return seed
        if before is not None:
            return checked_seed(before["seed"])
        drawn = fresh_seed()
        self.remarks.append(f"The seed of this run is {drawn}.")
        return drawn

    def about(self) -> About:
        """The description of this run."""
        return {
            "method": self.recipe.method,
            "recipe": json.loads(json.dumps(self.recipe.described())),
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
        progress: Callable[[Row], None] | None = None,
        stage: Stage = lambda activity, done, total: None,
    ) -> None:
        """Train until all iterations are done, or for so many seconds.

        When the time is up, a method that searches stops where it is, and what it has done of the
        iteration is part of the checkpoint; other methods finish their iteration. In both cases a
        resumed run comes to the same result as one that was never stopped.

        progress: called with the metrics of every iteration; stage: called in between.
        """
        if self._refill is not None:
            self._mend(self._refill, stage)
        began, spent = time.monotonic(), self.standing.seconds
        board = Board(self.folder.path / "board")
        self._set_deadline(None if seconds is None else began + seconds)
        while self.standing.iteration < self.recipe.iterations:
            if seconds is not None and time.monotonic() - began > seconds:
                break
            before = copy.deepcopy(self.standing)
            try:
                row = self._iterate(stage)
            except TimeIsUp:
                self._save_unfinished(before, spent + time.monotonic() - began)
                break
            self.standing.seconds = row["seconds"] = spent + time.monotonic() - began
            self._save(row)
            board.add(row)
            if "passed" in row:
                self._draw()
            if progress is not None:
                progress(row)

    def _set_deadline(self, deadline: float | None) -> None:
        """Where the method can be continued inside an iteration, stop it there."""
        if isinstance(self.method, Interruptible):
            self.method.deadline = self._deadline = deadline

    def _draw(self) -> None:
        rows = self.folder.metrics()
        write_whole(self.folder.path / "curves.csv", table(rows).encode())
        draw(rows, self.folder.path / "curves.png")

    def _iterate(self, stage: Stage) -> Row:
        standing = self.standing
        standing.iteration += 1
        row: Row = {"iteration": standing.iteration}
        row |= self.method.iterate(standing.iteration, stage)
        if standing.iteration % self.recipe.gate_every == 0:
            row |= self._validate(row) if self.recipe.gates_by_validation else self._gate(stage)
        if not self.recipe.gates_by_validation:
            row["elo"] = standing.elo
        if standing.refilled:
            row["refilled"] = True
        return row

    def _validate(self, row: Row) -> Row:
        """The averaged network becomes the best if its validation loss is the lowest so far."""
        loss, best = row["loss_validation"], self.standing.best_loss
        passed = best is None or loss < best
        if passed:
            self.standing.best_loss = loss
            self.best.load_state_dict(self.method.average.state_dict())
            self.method.accept(self.best)
        return {"passed": passed}

    def _gate(self, stage: Stage) -> Row:
        """Match the averaged network with the best so far; if it passes, it becomes the best.

        It has one team and its rival all others: two copies of one network bid the same cards, so
        they would block each other. Rates are even rates: one half is what luck alone would win.
        """
        standing, recipe, league = self.standing, self.recipe, self.standing.league
        new, rivals = standing.iteration, league.rivals(recipe.rivals)
        rates = self._rates([*map(str, rivals), *recipe.baselines], stage)
        for rival in rivals:
            league.note(new, rival, rates[str(rival)], recipe.gate_games)
        rate, *earlier = (rates[str(rival)] for rival in reversed(rivals))
        row: Row = {"against_best": rate, "passed": rate >= recipe.gate_rate}
        if earlier:
            row["against_league"] = sum(earlier) / len(earlier)
        row["elo_new"] = league.elo(new)
        if row["passed"]:
            self.best.load_state_dict(self.method.average.state_dict())
            self.method.accept(self.best)
            self._join_league(new)
        standing.elo = league.elo(league.members[-1])
        return row | {f"against_{name}": rates[name] for name in recipe.baselines}

    def _rates(self, rivals: Sequence[str], stage: Stage) -> dict[str, float]:
        """The even rates of the averaged network against league members and named players.

        The time may be up in a match: those before it are not played again.
        """
        new = Hurried(self.player(self.method.average, "new"), self._deadline)
        games, seed, rates = self.recipe.gate_games, self.standing.iteration, self.standing.rates
        for number, rival in enumerate(rivals, 1):
            stage("at the gate, match", number, len(rivals))
            if rival not in rates:
                other = self._member(int(rival)) if rival.isdecimal() else rival
                others = [other] * (len(self.game.captains) - 1)
                rates[rival] = match(self.game, new, *others, games=games, seed=seed).even_rate
        self.standing.rates = {}
        return rates

    def _member(self, iteration: int) -> Player:
        net, _ = load_net(self.folder.member(iteration))
        return self.player(net, str(iteration))

    def _join_league(self, iteration: int) -> None:
        """Add the best player to the league, as a file that can be played against."""
        path = self.folder.member(iteration)
        self._write_net(path, self.best, {"iteration": iteration})
        self._members[iteration] = Listed(path.name, file_checksum(path))
        if iteration not in self.standing.league.members:
            self.standing.league.members.append(iteration)

    def player(self, net: nn.Module, name: str) -> Player:
        """A copy of a network at the table, as this recipe plays."""
        return seat_network(self.game, copy.deepcopy(net), self.device, self.recipe.mode, name)

    # saving

    def _load_start(self, path: Path) -> None:
        """Begin with the weights of a file, as far as they fit."""
        net, _ = load_net(path)
        found = carried(net.float(), self.method.average)
        if not found.weights:
            raise GameError(f"{path} holds no weights that fit the network of this recipe")
        for part in (self.method.net, self.method.average):
            part.load_state_dict(found.weights, strict=False)
        self.remarks.append(f"From {path}: {found.sentence}.")

    def _save(self, row: Row) -> None:
        self.standing.rows += 1
        self.folder.note(row)
        self._save_checkpoint()

    def _save_unfinished(self, before: Standing, seconds: float) -> None:
        """Save an iteration under way: where the run stood before, and what has been done since."""
        self.standing = replace(before, seconds=seconds, rates=self.standing.rates)
        self._save_checkpoint()

    def _save_checkpoint(self) -> None:
        arrays = self.method.arrays()
        arrays |= {BEST + n: t.detach().cpu().numpy() for n, t in self.best.state_dict().items()}
        replay, standing = self.method.replay, self.standing
        members = [self._members[member] for member in standing.league.members]
        listed = contents(standing, [] if replay is None else replay.listed, members)
        path = self.folder.checkpoint(standing.iteration)
        parts = write_parts(path, arrays, {**self.about(), **listed})
        self.folder.prune(standing.iteration, parts)

    # resuming

    def _checkpoint(self, refill: bool) -> Checkpoint | None:
        """The newest checkpoint or, with `refill`, the newest intact one; None if there is none."""
        self._check_reached(refill)
        damaged: list[Path] = []
        for path in reversed(self.folder.checkpoints()):
            try:
                checkpoint = read_checkpoint(path, self.about())
            except DamagedError as error:
                if not refill:
                    raise RunError(f"{error}; {TRY_REFILL}") from None
                self.remarks.append(f"Skipped: {error}.")
                damaged.append(path)
                continue
            if refill:
                self._refill = self._plan(checkpoint, damaged)
            return checkpoint
        if damaged:
            raise RunError(
                f"{self.folder.path} has no intact checkpoint ({len(damaged)} are damaged); "
                "start again in another folder"
            )
        self.folder.keep_metrics([])
        return None

    def _check_reached(self, refill: bool) -> None:
        """See that no newer checkpoint is missing. A kill leaves metrics one iteration ahead."""
        saved = [int(path.stem) for path in self.folder.checkpoints()]
        try:
            rows = self.folder.metrics(damaged=refill)
        except RunError as error:
            raise RunError(f"{error}; {TRY_REFILL}") from None
        reached = max((row["iteration"] for row in rows), default=0)
        shards = [int(path.stem) for path in self.folder.shards()]
        if not saved and max([reached, *shards]) > 1:
            raise RunError(f"{self.folder.path} has lost its checkpoints; start again elsewhere")
        if saved and not refill and reached > saved[-1] + 1:
            raise RunError(f"{self.folder.checkpoint(reached - 1)} is missing; {TRY_REFILL}")

    def _plan(self, checkpoint: Checkpoint, damaged: list[Path]) -> Refill:
        standing = checkpoint.standing
        finished = standing.iteration >= self.recipe.iterations
        rows = until(self.folder.metrics(damaged=True), standing.iteration)
        return Refill(0 if finished else checkpoint.positions, rows, damaged)

    def _restore(self, checkpoint: Checkpoint, refill: bool) -> None:
        self.standing = checkpoint.standing
        try:
            weights = {n: torch.from_numpy(np.array(a)) for n, a in checkpoint.best.items()}
            self.best.load_state_dict(weights)
            self.method.restore(checkpoint.weights, self.standing.iteration)
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise RunError(f"{checkpoint.path} does not fit the network of this recipe") from None
        self._members = {member.number: member for member in checkpoint.league}
        if refill:
            self._drop_broken(checkpoint)
        else:
            self._check_needed(checkpoint)

    def _check_needed(self, checkpoint: Checkpoint) -> None:
        """Load what the checkpoint lists; name everything that is missing or damaged."""
        problems = list(checkpoint.broken_members(self.folder).values())
        if self.method.replay is not None:
            found = self.method.replay.load(self.folder, checkpoint.replay, self.game)
            problems += map(str, found.values())
        rows = until(self.folder.metrics(), self.standing.iteration)
        if len(rows) != self.standing.rows:
            wanted = self.standing.rows
            problems.append(f"metrics.jsonl holds {len(rows)} of {wanted} rows")
        if problems:
            raise RunError(f"{'; '.join(problems)}; {TRY_REFILL}")
        self.folder.keep_metrics(rows)

    def _drop_broken(self, checkpoint: Checkpoint) -> None:
        """Continue without what is damaged, and say so. Nothing changes on disk yet."""
        assert self._refill is not None
        broken, latest = checkpoint.broken_members(self.folder), self.standing.league.members[-1]
        for member, problem in broken.items():
            if member == latest:  # its weights are the best network's, in the checkpoint
                self.remarks.append(f"Restored from the checkpoint: {problem}.")
                continue
            self.remarks.append(f"Dropped from the league: {problem}.")
            self.standing.league.members.remove(member)
        replay, lost = self.method.replay, self.standing.rows != len(self._refill.rows)
        if lost:
            self.remarks.append("metrics.jsonl has lost rows.")
            self.standing.rows = len(self._refill.rows)
        self.remarks.append(f"Continuing from {checkpoint.path} alone.")
        if replay is not None:
            found = replay.load(self.folder, checkpoint.replay, self.game)
            damaged = [path for path, error in found.items() if isinstance(error, DamagedError)]
            self._refill.broken += filter(Path.exists, damaged)  # a missing one is written anew
            replay.clear()
            self.remarks.append("The replay is refilled.")
        if replay is not None or set(broken) - {latest}:
            self.standing.refilled = True
            self.remarks.append("From here on the numbers are not those of an undisturbed run.")

    def _mend(self, refill: Refill, stage: Stage) -> None:
        """Refill the replay and save; only then remove what was damaged."""
        first = 1 + max((int(path.stem) for path in self.folder.shards()), default=0)
        self.method.refill(self.standing.iteration, refill.positions, first, stage)
        self._join_league(self.standing.league.members[-1])
        self.folder.keep_metrics(refill.rows)
        self._save_checkpoint()
        for path in refill.broken:
            path.unlink(missing_ok=True)
        self._refill = None

    def close(self) -> None:
        """Release the folder."""
        self.folder.unlock()

    def champion(self, path: Path, card: About) -> None:
        """Write the best player so far as a file that `net:PATH` can load.

        Before the first network has passed the gate that is the newest, not the untrained one; so
        it is where everybody passes.
        """
        passed = self.standing.league.members != [0] or self.standing.best_loss is not None
        chosen = passed and self.recipe.gate_rate > 0
        net = copy.deepcopy(self.best if chosen else self.method.average)
        self._write_net(path, net.half() if self.recipe.half_precision else net, card)

    def _write_net(self, path: Path, net: Net, card: About) -> None:
        about = {"fingerprint": self.game.fingerprint, "game": self.game.describe(), **card}
        save_net(path, copy.deepcopy(net).cpu(), about)
