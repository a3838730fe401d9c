"""The learner: one network, its optimiser, and a moving average of its weights that plays."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ...batch import Batch
from ...chance import streams
from ...game import Game
from ..replay import Positions
from ..seeds import derived
from ..weights import arrays_of, follow, restore


@dataclass(frozen=True)
class Lessons:
    """How to learn."""

    batch: int = 1024
    """Positions a step."""
    rate: float = 1e-3
    """Highest learning rate; it rises over `warm_up` steps, then falls as a cosine to a tenth."""
    warm_up: int = 200
    steps: int = 20_000
    """Steps until the learning rate has fallen."""
    decay: float = 1e-4
    """Weight decay."""
    clip: float = 1.0
    """Longest gradient."""
    average: float = 0.999
    """Share of the old weights in the moving average, a step."""
    trust_search: float = 0.25
    """Share of the search's value in the value target; the rest is the result of the game."""
    margin_weight: float = 0.25
    """Weight of the margin's error beside those of policy and value."""


class Learner:
    """Improves a network whose `heads(views)` gives logits, values by seat and margin."""

    def __init__(
        self, game: Game, net: nn.Module, lessons: Lessons, device: str, seed: int
    ) -> None:
        self.game, self.lessons, self.device, self.seed = game, lessons, device, seed
        self.net = net.to(device)
        self.average = copy.deepcopy(net).eval().requires_grad_(False)
        self.optimiser = torch.optim.AdamW(
            net.parameters(), lr=lessons.rate, weight_decay=lessons.decay
        )
        self.step = 0

    def rate(self) -> float:
        """The learning rate of the next step."""
        given = self.lessons
        if self.step < given.warm_up:
            return given.rate * (self.step + 1) / given.warm_up
        done = min(1.0, (self.step - given.warm_up) / max(1, given.steps - given.warm_up))
        return given.rate * (0.55 + 0.45 * math.cos(math.pi * done))

    def learn(self, some: Positions) -> dict[str, float]:
        """One step on a batch of positions; the parts of the loss."""
        torch.manual_seed(derived(self.seed, "dropout", self.step))  # the same after a resume
        self.net.train()
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate()
        views = self.views(some)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            logits, values, margins = self.net.heads(views)  # type: ignore[operator]
        losses = self.losses(some, logits.float(), values.float(), margins)
        total = losses["policy"] + losses["value"]
        total = total + self.lessons.margin_weight * losses["margin"]
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.lessons.clip)
        self.optimiser.step()
        follow(self.average, self.net, self.lessons.average, self.step)
        self.step += 1
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def views(self, some: Positions) -> torch.Tensor:
        """What the seats to move saw, written on the device."""
        views = torch.zeros(len(some), self.game.view_size, device=self.device)
        rngs = streams(0, "training", len(some))
        batch = Batch.of(self.game, np.ascontiguousarray(some.states), rngs, device=self.device)
        batch.observe(some.seats.astype(np.int64), views)
        return views

    def losses(
        self, some: Positions, logits: torch.Tensor, values: torch.Tensor, margins: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        actions = self._put(some.actions.astype(np.int64))
        legal = actions >= 0
        logits = logits.gather(1, actions.clamp(min=0)).masked_fill(~legal, -1e9)
        wanted = self._put(some.policy)
        mixed = self.lessons.trust_search
        value = self._put((1 - mixed) * some.score + mixed * some.value)
        return {
            "policy": -(wanted * functional.log_softmax(logits, 1)).sum(1).mean(),
            "value": functional.mse_loss(values[:, 0], value),
            "margin": functional.mse_loss(margins.float().reshape(-1), self._put(some.margin)),
        }

    def _put(self, array: Any) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    # checkpoints

    def arrays(self) -> dict[str, Any]:
        """Everything that a resumed run needs, by name."""
        return arrays_of(self._parts())

    def restore(self, arrays: dict[str, Any], step: int) -> None:
        """Go on where `arrays` were taken."""
        restore(self._parts(), arrays)
        self.step = step

    def _parts(self) -> dict[str, Any]:
        return {"net": self.net, "average": self.average, "optimiser": self.optimiser}
