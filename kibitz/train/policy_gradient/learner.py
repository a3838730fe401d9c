"""The learner: more of what went better than expected, less of what went worse, in small steps."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...devices import Array, device_named
from ...game import Game
from ...nets.net import MarginNet
from ...search.stretch import (
    Lessons,
    Stretch,
    Worth,
    empty_examples,
    empty_later,
    empty_lessons,
    judge_all,
    recall_all,
)
from ..tree_search.learner import Stepper, fallen, warmed_up


@dataclass(frozen=True)
class PolicyLearning:
    """How to learn."""

    batch: int = 4096
    """Positions per step."""
    passes: int = 2
    """How often a stretch is learnt from."""
    learning_rate: float = 5e-4
    """Highest learning rate; it rises over `warm_up` steps, then falls as a cosine to a tenth."""
    warm_up: int = 100
    steps: int = 20_000
    """Steps until the learning rate has fallen."""
    weight_decay: float = 1e-5
    gradient_clip: float = 0.5
    """The longest gradient."""
    average_decay: float = 0.995
    """Share of the old weights in the moving average, per step."""
    clip: float = 0.2
    """How much likelier or less likely an action may become by one stretch."""
    entropy: float = 0.01
    """Reward for a policy that leaves open what it does: without it, it stops trying too soon. It
    falls like the learning rate, without the warm-up."""
    entropy_kept: float = 0.1
    """Share of that reward that is left in the end. 1 keeps all of it: for secret moves, where
    everybody should stay undecided."""
    trace: float = 0.97
    """How much of a surprise belongs to the decision before: 1 is all of it, and noisy."""
    value_weight: float = 1.0
    margin_weight: float = 0.25
    """Weights of these losses beside the policy's."""
    margin_scale: float = 1.0
    """The margin that a network calls 1; larger ones are cut."""
    margin_share: float = 0.0
    """Share of the margin in the result."""
    compiled: bool = False
    """Whether torch compiles the network on a GPU: that takes a minute, and steps are shorter."""
    first_places: bool = False
    """Whether the first place is all that counts, where the score says more: 1 for it, and all
    others lose that in equal parts."""


class Examples(NamedTuple):
    """Decisions as the losses need them, on the learner's device."""

    views: Tensor  # what the seats saw. [batch, view_size]
    actions: Tensor  # to choose from, padded with -1. [batch, max_legal]
    places: Tensor  # of what was played, among these. [batch]
    chances: Tensor  # logarithms of how likely that was. [batch]
    gains: Tensor  # how much better it went than expected. [batch]
    weights: Tensor  # 0 where that is not known. [batch]
    values: Tensor  # by seat, the one that looks first; NaN if unknown. [batch, seats]
    margins: Tensor  # of the seats that look; NaN if unknown. [batch]
    entropy: Tensor  # the reward for it at this step, a number


class PolicyLearner(Stepper[Any, Any]):
    """Improves a network by stretches of its own play (clipped policy gradients, known as PPO)."""

    def __init__(
        self, game: Game, net: MarginNet, learning: PolicyLearning, device: str, seed: int
    ) -> None:
        super().__init__(game, net, learning, device, seed)
        self.learning = learning
        # torch compiles for a GPU with triton, which does not come with it on every system.
        compiled = learning.compiled and device == "cuda" and find_spec("triton") is not None
        self.heads = torch.compile(net.heads, dynamic=False) if compiled else net.heads
        self.lanes = device_named(device)
        self.seen = torch.zeros(learning.batch, game.view_size, device=device)
        self.rows = empty_examples(self.lanes, game, learning.batch, self.seen)

    def learning_rate(self) -> float:
        return warmed_up(self.learning, self.step)

    def entropy(self) -> float:
        """The reward for entropy at the next step."""
        learning = self.learning
        return learning.entropy * fallen(learning, self.step, to=learning.entropy_kept)

    def judged(self, stretch: Stretch) -> Lessons:
        """What is to be learnt from a stretch. Gains are in units of their usual size."""
        size, ticks = stretch.seats.shape
        learning, later = self.learning, empty_later(self.lanes, self.game, size)
        lessons = empty_lessons(self.lanes, self.game, size, ticks)
        share, scale = float(learning.margin_share), float(learning.margin_scale)
        worth = Worth(share, scale, int(learning.first_places))
        self.lanes.run(judge_all, size, stretch, later, lessons, float(learning.trace), worth)
        self.lanes.synchronize()
        return lessons

    def examples_of(self, stretch: Stretch, lessons: Lessons, which: Tensor) -> Any:
        """Decisions of a stretch. which: table times ticks, plus tick. [batch]"""
        self.lanes.run(recall_all, len(which), self.lanes.put(which), stretch, self.rows)
        return Examples(
            views=self.seen,
            actions=self.tensor(self.rows.actions),
            places=self.tensor(self.rows.places),
            chances=self.tensor(stretch.chances).flatten()[which],
            gains=self.tensor(lessons.gains).flatten()[which],
            weights=self.tensor(lessons.weights).flatten()[which],
            values=self.tensor(lessons.values).flatten(0, 1)[which],
            margins=self.tensor(lessons.margins).flatten()[which],
            entropy=torch.tensor(self.entropy(), device=self.device),
        )

    def examples(self, positions: Any) -> Any:
        return positions

    def tensor(self, array: Array) -> Tensor:
        """The same memory as a tensor."""
        return torch.as_tensor(array, device=self.device)

    def find_gradients(self, examples: Any) -> dict[str, Tensor]:
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            logits, values, margins = self.heads(examples.views)
        losses = self.losses(examples, logits.float(), values.float(), margins)
        learning = self.learning
        total = losses["policy"] - examples.entropy * losses["entropy"]
        total = total + learning.value_weight * losses["value"]
        if "margin" in losses:
            total = total + learning.margin_weight * losses["margin"]
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), learning.gradient_clip)
        return {name: loss.detach() for name, loss in losses.items()}

    def losses(
        self, examples: Examples, logits: Tensor, values: Tensor, margins: Tensor | None
    ) -> dict[str, Tensor]:
        """The losses of policy, values and margin, and the policy's entropy and movement."""
        legal, clip = examples.actions >= 0, self.learning.clip
        logits = logits.gather(1, examples.actions.clamp(min=0)).masked_fill(~legal, -1e9)
        policy = functional.log_softmax(logits, 1)
        moved = policy.gather(1, examples.places[:, None])[:, 0] - examples.chances
        ratio, gains = moved.exp(), usual(examples.gains, examples.weights)
        better = torch.minimum(ratio * gains, ratio.clamp(1 - clip, 1 + clip) * gains)
        losses = {
            "policy": -mean(better, examples.weights),
            "value": known_error(values, examples.values),
            "entropy": -mean((policy.exp() * policy * legal).sum(1), examples.weights),
            "moved": mean(ratio - 1 - moved, examples.weights),
        }
        if margins is not None:
            losses["margin"] = known_error(margins.float().reshape(-1), examples.margins)
        return losses


def mean(x: Tensor, weights: Tensor) -> Tensor:
    return (x * weights).sum() / weights.sum().clamp(min=1.0)


def usual(gains: Tensor, weights: Tensor) -> Tensor:
    """Gains with a mean of 0 and a spread of 1."""
    centred = gains - mean(gains, weights)
    return centred / (mean(centred * centred, weights).sqrt() + 1e-8)


def known_error(found: Tensor, wanted: Tensor) -> Tensor:
    """The mean squared error where it is known what is wanted."""
    known = ~wanted.isnan()
    errors = (found - wanted.nan_to_num()) * known
    return (errors * errors).sum() / known.sum().clamp(min=1)
