"""The learner: a network, its optimiser, and a moving average of its weights that plays."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...batch import Batch
from ...chance import streams
from ...game import Game
from ...nets.net import MarginNet
from ..folder import Arrays
from ..recorded import Recorded
from ..replay import Positions
from ..seeds import derived
from ..weights import AnyNet, Holders, arrays_of, restore, set_learning_rate, update_average

Batches = TypeVar("Batches")
"""What a learner learns from at a step."""


class Steps(Protocol):
    """What all settings of learning have."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def average_decay(self) -> float: ...


class WarmingUp(Protocol):
    """What settings have whose learning rate rises first, and then falls."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def warm_up(self) -> int: ...
    @property
    def steps(self) -> int: ...


def warmed_up(learning: WarmingUp, step: int) -> float:
    """The learning rate of a step: it rises, then falls as a cosine to a tenth."""
    if step < learning.warm_up:
        return learning.learning_rate * (step + 1) / learning.warm_up
    return learning.learning_rate * fallen(learning, step)


def fallen(learning: WarmingUp, step: int, to: float = 0.1) -> float:
    """A factor that falls as a cosine from 1, after the warm-up, to a tenth or another share."""
    falling = max(1, learning.steps - learning.warm_up)
    done = min(1.0, max(0, step - learning.warm_up) / falling)
    return (1 + to) / 2 + (1 - to) / 2 * math.cos(math.pi * done)


@dataclass(frozen=True)
class Learning:
    """How to learn."""

    batch: int = 1024
    """Positions per step."""
    learning_rate: float = 1e-3
    """Highest learning rate; it rises over `warm_up` steps, then falls as a cosine to a tenth."""
    warm_up: int = 200
    steps: int = 20_000
    """Steps until the learning rate has fallen."""
    weight_decay: float = 1e-4
    gradient_clip: float = 1.0
    """The longest gradient."""
    average_decay: float = 0.999
    """Share of the old weights in the moving average, per step."""
    search_share: float = 0.25
    """Share of the search's value in the value target; the rest is the result of the game."""
    margin_weight: float = 0.25
    """Weight of the margin's loss beside those of policy and value."""
    margin_scale: float = 1.0
    """The margin that a network calls 1; larger ones are cut."""
    margin_share: float = 0.0
    """Share of the margin in the result: a player that only wants to win plays anyhow once it is
    far ahead or behind, and learns little from games that many moves have decided."""


class Examples(NamedTuple):
    """Positions as the losses need them, on the learner's device."""

    views: Tensor  # what the seats to move saw. [batch, view_size]
    actions: Tensor  # legal ones, padded with -1. [batch, max_legal]
    policy: Tensor  # [batch, max_legal]
    values: Tensor  # by seat, the one that looks first. [batch, seats]
    margins: Tensor  # of the seats that look. [batch]


class Stepper(Generic[AnyNet, Batches]):
    """A network, its optimiser, and a moving average of its weights, which plays."""

    def __init__(self, game: Game, net: AnyNet, learning: Steps, device: str, seed: int) -> None:
        self.game, self.device, self.seed = game, device, seed
        self.average_decay = learning.average_decay
        self.net = net.to(device)
        self.average = copy.deepcopy(net).eval().requires_grad_(False)
        self.optimiser = torch.optim.AdamW(
            net.parameters(),
            lr=learning.learning_rate,
            weight_decay=learning.weight_decay,
            fused=device != "cpu",
        )
        self.gradients = self.find_gradients if device == "cpu" else Recorded(self.find_gradients)
        self.step = 0

    def learning_rate(self) -> float:
        """The learning rate of the next step."""
        raise NotImplementedError

    def examples(self, positions: Batches) -> Any:
        """A batch as tensors, on the learner's device."""
        raise NotImplementedError

    def find_gradients(self, examples: Any) -> dict[str, Tensor]:
        """Leave the clipped gradients in the network; return the parts of the loss."""
        raise NotImplementedError

    def learn(self, positions: Batches) -> dict[str, float]:
        """One step on a batch of positions; return the parts of the loss."""
        torch.manual_seed(derived(self.seed, "dropout", self.step))  # the same after a resume
        self.net.train()
        losses = self.gradients(self.examples(positions))
        set_learning_rate(self.optimiser, self.learning_rate())
        self.optimiser.step()
        update_average(self.average, self.net, self.average_decay, self.step)
        self.step += 1
        return {name: float(loss) for name, loss in losses.items()}

    def views(self, positions: Positions) -> Tensor:
        """What the seats to move saw, written on the device."""
        views = torch.zeros(len(positions), self.game.view_size, device=self.device)
        rngs = streams(0, "training", len(positions))
        states = np.ascontiguousarray(positions.states)
        batch = Batch.of(self.game, states, rngs, device=self.device)
        batch.observe(positions.seats.astype(np.int64), views)
        return views

    def put(self, array: NDArray[np.float32] | NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    # checkpoints

    def arrays(self) -> Arrays:
        """Everything that a resumed run needs, by name."""
        return arrays_of(self._holders())

    def restore(self, arrays: Arrays, step: int) -> None:
        """Continue after this step, from its `arrays`."""
        restore(self._holders(), arrays)
        self.step = step

    def _holders(self) -> Holders:
        return {"net": self.net, "average": self.average, "optimiser": self.optimiser}


class Learner(Stepper[MarginNet, Positions]):
    """Improves a network whose `heads(views)` gives logits, values by seat and margin."""

    def __init__(
        self, game: Game, net: MarginNet, learning: Learning, device: str, seed: int
    ) -> None:
        super().__init__(game, net, learning, device, seed)
        self.learning, self.effects = learning, effects_of_a_gain(game)

    def learning_rate(self) -> float:
        return warmed_up(self.learning, self.step)

    def find_gradients(self, examples: Examples) -> dict[str, Tensor]:
        """Leave the clipped gradients in the network; return the parts of the loss."""
        self.optimiser.zero_grad(set_to_none=False)  # they stay where they are
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            logits, values, margins = self.net.heads(examples.views)
        losses = self.losses(examples, logits.float(), values.float(), margins)
        weights = {"margin": self.learning.margin_weight}
        total = sum(weights.get(name, 1.0) * loss for name, loss in losses.items())
        assert isinstance(total, Tensor)
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.learning.gradient_clip)
        return {name: loss.detach() for name, loss in losses.items()}

    def examples(self, positions: Positions) -> Examples:
        return Examples(
            views=self.views(positions),
            actions=self.put(positions.actions.astype(np.int64)),
            policy=self.put(positions.policy),
            values=self.put(self.value_targets(positions)),
            margins=self.put(self._margins(positions)),
        )

    def losses(
        self, examples: Examples, logits: Tensor, values: Tensor, margins: Tensor | None
    ) -> dict[str, Tensor]:
        """The losses of policy, values and, if the network says it, margin."""
        legal = examples.actions >= 0
        logits = logits.gather(1, examples.actions.clamp(min=0)).masked_fill(~legal, -1e9)
        losses = {
            "policy": -(examples.policy * functional.log_softmax(logits, 1)).sum(1).mean(),
            "value": functional.mse_loss(values, examples.values),
        }
        if margins is not None:
            margins = margins.float().reshape(-1)
            losses["margin"] = functional.mse_loss(margins, examples.margins)
        return losses

    def value_targets(self, positions: Positions) -> NDArray[np.float32]:
        """What the values should be, as a network has them: the seat that looks comes first.

        A part of the result gives way to what the search found for the seat that looks. What that
        seat gains, its partners gain and the other seats lose in equal parts. [batch, seats]
        """
        learning, scores = self.learning, positions.scores
        ahead = learning.margin_share * (self._margins(positions) - scores[:, 0])
        found = learning.search_share * (positions.value - scores[:, 0] - ahead)
        targets = scores + (ahead + found)[:, None] * self.effects[positions.seats]
        return np.asarray(targets, np.float32)

    def _margins(self, positions: Positions) -> NDArray[np.float32]:
        """The margins of the seats that look, from -1 to 1. [batch]"""
        margins = positions.margin / np.float32(self.learning.margin_scale)
        return np.asarray(np.clip(margins, -1, 1), np.float32)


def effects_of_a_gain(game: Game) -> NDArray[np.float32]:
    """What each seat gains if one gains 1: by that seat, then by seat from it in turn order.

    Without a sum that stays zero, only the team of that seat gains.
    """
    teams, seats = np.array(game.teams), np.arange(game.seats)
    partners = teams[:, None] == teams[(seats[:, None] + seats) % game.seats]
    team = partners.sum(1, keepdims=True)
    others = np.maximum(game.seats - team, 1)
    return np.where(partners, 1.0, -team / others if game.zero_sum else 0.0).astype(np.float32)
