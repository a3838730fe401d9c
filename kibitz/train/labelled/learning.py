"""A network learns the values of labelled positions: epochs, a schedule, the best by validation."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...batch import Batch
from ...chance import streams
from ...game import Game, GameError
from ...nets import Net, kind_of
from ...nets.net import PolicyNet
from ...search.deepening import stripped
from ...search.labelling import judge_values
from ..folder import Arrays, RunFolder, file_checksum, write_whole
from ..method import Stage, Training
from ..seeds import derived
from ..weights import Holders, WithoutReplay, arrays_of, restore, set_learning_rate
from .files import files_of, read_data
from .labels import Floats, Labelling, best_scale
from .report import Examined, report_text
from .rows import DataError, Rows, columns_of
from .split import split

TOGETHER = 8192  # views that are written at once


@dataclass(frozen=True, kw_only=True)
class LabelledTraining(Training):
    """A recipe for learning from labelled positions. An iteration is an epoch."""

    method: ClassVar[str] = "labelled"
    gates_by_validation: ClassVar[bool] = True
    searches: ClassVar[bool] = False

    data: tuple[str, ...] = ()
    """Data sets: folders or files."""
    skip_bad: bool = False
    """Whether bad records are left out instead of being refused."""
    labels: Labelling = field(default_factory=Labelling)
    baseline: str = ""
    """The judge of the game that the network is compared with."""
    validation_share: float = 0.1
    """Share of the games that are held back."""
    batch: int = 256
    learning_rate: float = 1e-3
    """It falls along a cosine to 0, and rises again after `restart` epochs."""
    restart: int = 40
    weight_decay: float = 1e-4
    gradient_clip: float = 1.0
    """The longest gradient."""
    iterations: int = 40
    gate_every: int = 1
    baselines: tuple[str, ...] = ()

    def with_data(self, sources: Sequence[Path], *, skip_bad: bool = False) -> LabelledTraining:
        return replace(self, data=tuple(map(str, sources)), skip_bad=skip_bad)

    def described(self) -> dict[str, Any]:
        """Data are named by their contents: they may move, but they must not change."""
        return {**asdict(self), "data": contents_of(self.data)}

    def player_text(self, file: Path) -> str:
        return f"alphabeta:judge={file}"

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> LabelledMethod:
        return LabelledMethod(self, game, folder, device, seed)


@functools.cache
def contents_of(sources: tuple[str, ...]) -> str:
    """Digits that change with the files of data sets."""
    files = [file for source in sources for file in files_of(Path(source))]
    sums = [[file.name, file_checksum(file)] for file in files]
    return hashlib.sha256(json.dumps(sums).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Sample:
    """Positions to learn from or to be measured on."""

    game: Game  # without history, seen through the network's view
    rows: Rows
    states: NDArray[np.void]
    seats: NDArray[np.int64]
    targets: Floats

    @staticmethod
    def of(game: Game, rows: Rows, targets: Floats) -> Sample:
        states = rows.states
        seats = np.asarray(_batch(game, states, "cpu").turns())
        return Sample(game, rows, states, seats, targets)

    def __len__(self) -> int:
        return len(self.states)

    def batches(
        self, order: NDArray[np.int64], size: int, device: str
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Views and targets of these rows, `size` at a time; views are written for many at once."""
        block = max(1, TOGETHER // size) * size
        for first in range(0, len(order), block):
            rows = order[first : first + block]
            views = torch.zeros(len(rows), self.game.view_size, device=device)
            _batch(self.game, self.states[rows], device).observe(self.seats[rows], views)
            targets = torch.from_numpy(self.targets[rows]).to(device)
            yield from zip(torch.split(views, size), torch.split(targets, size), strict=True)

    def examined(self) -> Examined:
        """These positions, for a report."""
        legal, _ = _batch(self.game, self.states, "cpu").actions()
        groups = columns_of(self.game).groups
        marked = {name: inside(legal) for name, inside in groups.items()}
        return Examined(self.targets, self.rows.proven, marked)


def _batch(game: Game, states: NDArray[np.void], device: str) -> Batch:
    states = np.ascontiguousarray(states)
    return Batch.of(game, states, streams(0, "training", len(states)), device=device)


class LabelledMethod(WithoutReplay):
    """Epochs over the training positions, each followed by a look at the validation positions."""

    def __init__(
        self, recipe: LabelledTraining, game: Game, folder: RunFolder, device: str, seed: int
    ) -> None:
        self.recipe, self.folder, self.device, self.seed = recipe, folder, device, seed
        self.game = stripped(game)
        self._read()
        self.net = fitting(recipe.network(game, seed), self.game).to(device)
        self.average = self.net.eval()
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.steps_per_epoch, self.step = len(self.training) // recipe.batch, 0
        self.predicted: Floats | None = None  # of the validation positions, after the last epoch
        if self.steps_per_epoch == 0:
            raise DataError(f"training needs {recipe.batch} positions or more, a batch of them")

    def _read(self) -> None:
        """Read the data, split it, and prepare what the network is compared with."""
        recipe = self.recipe
        if not recipe.data:
            raise DataError(
                f"this recipe learns from labelled positions: give --data FOLDER, as written by "
                f"kibitz generate {recipe.game}"
            )
        sources = [Path(source) for source in recipe.data]
        rows, bad = read_data(self.game, sources, skip_bad=recipe.skip_bad)
        parts = split(rows, recipe.validation_share, self.seed)
        self.scale = recipe.labels.fitted_scale(rows[parts.training])
        self.training, self.validation = (
            Sample.of(self.game, part, recipe.labels.targets(part, self.scale))
            for part in (rows[parts.training], rows[parts.validation])
        )
        self.examined = self.validation.examined()
        self.facts = {
            "positions": len(self.training),
            "held_back": len(self.validation),
            "dropped": parts.dropped,
            "skipped": len(bad),
            "scale": self.scale,
        }
        self.predictions = self._baselines()

    def _baselines(self) -> dict[str, Floats]:
        """What predicts the validation positions without a network.

        The evaluation of the game goes through tanh by the scale that fits the training positions.
        """
        mean = np.full(len(self.validation), self.training.targets.mean(), np.float32)
        baseline = self.recipe.baseline
        if not baseline:
            return {"constant": mean}
        judged = judge_values(self.game, baseline, self.training.states).astype(np.float64)
        scale = best_scale(judged, self.training.targets)
        self.facts["baseline_scale"] = scale
        values = judge_values(self.game, baseline, self.validation.states)
        return {"constant": mean, baseline: np.tanh(values / scale).astype(np.float32)}

    # learning

    def learning_rate(self) -> float:
        """Of the next step: a cosine with warm restarts."""
        restart = self.recipe.restart
        share = (self.step / self.steps_per_epoch) % restart / restart
        return self.recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * share))

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        began = time.monotonic()
        loss = self._epoch(iteration, stage)
        seconds = time.monotonic() - began
        self.predicted = self.predict(self.validation)
        everything = np.ones(len(self.validation), np.bool_)
        figures = self.examined.figures(self.predicted, everything)
        measured = {
            "loss_validation": figures["mse"],
            "sign_accuracy": figures["sign_accuracy"],
            "correlation": figures["correlation"],
        }
        return {
            "positions_per_s": self.steps_per_epoch * self.recipe.batch / seconds,
            "learning_rate": self.optimiser.param_groups[0]["lr"],
            "loss_training": loss,
            **{name: figure for name, figure in measured.items() if figure is not None},
        }

    def _epoch(self, epoch: int, stage: Stage) -> float:
        """Learn from every training position once, but for the last few; the mean loss."""
        recipe, steps = self.recipe, self.steps_per_epoch
        rng = np.random.Generator(np.random.Philox(derived(self.seed, "epoch", epoch)))
        order = rng.permutation(len(self.training))[: steps * recipe.batch]
        self.net.train()
        total = torch.zeros((), device=self.device)
        batches = self.training.batches(order, recipe.batch, self.device)
        for done, (views, targets) in enumerate(batches, 1):
            total += self._learn(views, targets)
            if done % 16 == 0 or done == steps:
                stage("learning, step", done, steps)
        self.net.eval()
        return float(total) / steps

    def _learn(self, views: Tensor, targets: Tensor) -> Tensor:
        torch.manual_seed(derived(self.seed, "dropout", self.step))  # the same after a resume
        set_learning_rate(self.optimiser, self.learning_rate())
        _, values = self.net(views)
        loss = functional.mse_loss(values[:, 0], targets)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.recipe.gradient_clip)
        self.optimiser.step()
        self.step += 1
        return loss.detach()

    @torch.no_grad()
    def predict(self, sample: Sample) -> Floats:
        """What the network says of positions. [rows]"""
        batches = sample.batches(np.arange(len(sample)), 1024, self.device)
        return torch.cat([self.net(views)[1][:, 0] for views, _ in batches]).cpu().numpy()

    # the run

    def accept(self, best: nn.Module) -> None:
        """The newest network is the best so far: write the report about it."""
        if self.predicted is None:  # a run begins or is resumed
            return
        report = self.examined.report({"network": self.predicted, **self.predictions})
        content = {"epoch": self.step // self.steps_per_epoch, **self.facts, "report": report}
        path = self.folder.path
        write_whole(path / "report.json", json.dumps(content, indent=2).encode())
        write_whole(path / "report.txt", report_text(report).encode())

    def arrays(self) -> Arrays:
        return arrays_of(self._holders())

    def restore(self, arrays: Arrays, iteration: int) -> None:
        restore(self._holders(), arrays)
        self.step = iteration * self.steps_per_epoch

    def _holders(self) -> Holders:
        return {"net": self.net, "optimiser": self.optimiser}


def fitting(net: Net, game: Game) -> PolicyNet:
    """The network, if it answers the views of this game with values."""
    kind, network = kind_of(net), f"the recipe's network ({type(net).__name__})"
    for name, wanted in kind.sizes(game).items() if kind is not None else ():
        found = getattr(net.config, name, wanted)
        if found != wanted:
            raise GameError(f"{network} has {name}={found}; {game.name} needs {wanted}")
    if isinstance(net, PolicyNet):
        with torch.no_grad(), suppress(RuntimeError):
            _, values = net.eval()(torch.zeros(1, game.view_size))
            if values.shape == (1, game.seats):
                return net
    raise GameError(f"{network} does not answer views of {game.name} with values")
