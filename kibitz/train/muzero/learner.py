"""The learner of MuZero: a network that is unrolled along the moves that were played.

From a view to its latent, then step by step with the actions played and the outcomes of chance: at
every step policy, values, chance, whose turn it is and the end are compared with what happened and,
if asked for, the latent with that of the view that came. Chance is compared with its odds by the
rules where these are known before the next decision: one throw says little about a die.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...game import Game
from ...nets.latent import LatentNet, codes_of, odds_of_codes
from ...search.consequences import consequences
from ..replay import Positions, Replay
from ..tree_search.learner import Stepper, effects_of_a_gain

LEAST_RATE = 0.01  # of the learning rate, at the end of its cosine
KEPT_GRADIENT = 0.5  # of a latent's gradient goes on to the step before
NO_ACTION = -1


@dataclass(frozen=True)
class Unrolling:
    """How to learn."""

    batch: int = 256
    """Sequences per step."""
    unroll: int = 5
    """Moves of a sequence that are imagined."""
    learning_rate: float = 1e-3
    """Highest learning rate; it falls as a cosine to a hundredth."""
    steps: int = 20_000
    """Steps until the learning rate has fallen."""
    weight_decay: float = 1e-4
    gradient_clip: float = 5.0
    """The longest gradient."""
    average_decay: float = 0.99
    """Share of the old weights in the moving average, per step."""
    search_share: float = 0.0
    """Share of the search's value in the value target; the rest is the result of the game."""
    forced_weight: float = 0.0
    """Weight of the policy where one action was legal, and nobody searched."""
    consistency: float = 0.0
    """Weight of how far imagined latents are from those of the views that came; 0 for none."""


class Sequences(NamedTuple):
    """Positions that follow each other; after the end of a game anything, and `alive` is false."""

    positions: Positions  # [batch * (unroll + 1)], a sequence after another
    alive: NDArray[np.bool_]  # [batch, unroll + 1]

    @staticmethod
    def of(replay: Replay, rows: NDArray[np.int64]) -> Sequences:
        """Rows of a replay, -1 after the end; there the first position stands in."""
        alive = rows >= 0
        return Sequences(replay.at(np.where(alive, rows, rows[:, :1]).reshape(-1)), alive)


class Unrolled(NamedTuple):
    """Sequences as the losses need them. The end of a game is one more position without policy."""

    views: Tensor  # [batch, unroll + 1, view_size]
    played: Tensor  # int64 [batch, unroll]
    codes: Tensor  # of chance after that. int64 [batch, unroll]
    odds: Tensor  # of these codes, as far as the rules say. [batch, unroll, codes]
    listed: Tensor  # actions to choose from, padded with -1. int64 [batch, unroll + 1, max_legal]
    policy: Tensor  # [batch, unroll + 1, max_legal]
    policy_weights: Tensor  # [batch, unroll + 1]
    shares: Tensor  # of the sides, see `LatentNet.values`. [batch, unroll + 1, sides]
    value_weights: Tensor  # 0 behind the end. [batch, unroll + 1]
    turns: Tensor  # whose turn is next, counted from who moved. int64 [batch, unroll]
    goes_on: Tensor  # 1 where there was a next turn. [batch, unroll]
    ends: Tensor  # 1 where the move ended the game. [batch, unroll]


class UnrolledLearner(Stepper[LatentNet, Sequences]):
    """Improves a network that imagines a game."""

    def __init__(
        self, game: Game, net: LatentNet, learning: Unrolling, device: str, seed: int
    ) -> None:
        super().__init__(game, net, learning, device, seed)
        self.learning, self.effects = learning, effects_of_a_gain(game)
        self.config = net.config
        self.captains = [self.config.side_of.index(k) for k in range(self.config.all_sides)]

    def learning_rate(self) -> float:
        done = min(1.0, self.step / max(1, self.learning.steps))
        falling = 0.5 * (1 + math.cos(math.pi * done))
        return self.learning.learning_rate * (LEAST_RATE + (1 - LEAST_RATE) * falling)

    # What is to be learnt

    def examples(self, positions: Sequences) -> Unrolled:
        rows, alive = positions
        size, length = alive.shape
        steps = {
            name: array.reshape(size, length, *array.shape[1:])
            for name, array in rows.arrays().items()
            if name != "states"
        }
        moved, goes_on = alive[:, :-1], alive[:, 1:]
        listed = np.where(alive[:, :, None], steps["actions"], NO_ACTION).astype(np.int64)
        choices = (listed >= 0).sum(2)
        weights = np.where(choices > 1, 1.0, self.learning.forced_weight) * (choices > 0)
        seats = steps["seats"].astype(np.int64)
        turns = np.where(goes_on, (seats[:, 1:] - seats[:, :-1]) % self.game.seats, 0)
        outcomes = np.where(goes_on, steps["outcomes"][:, 1:], steps["last_outcomes"][:, :-1])
        return Unrolled(
            views=self.views(rows).view(size, length, -1),
            played=self.put(np.where(moved, steps["played"][:, :-1], 0).astype(np.int64)),
            codes=self.put(codes_of(np.where(moved, outcomes, -1), self.config.codes)),
            odds=self._floats(self._odds(rows, moved, np.where(moved, outcomes, -1))),
            listed=self.put(listed),
            policy=self._floats(steps["policy"] * alive[:, :, None]),
            policy_weights=self._floats(weights * (steps["policy"].sum(2) > 0)),
            shares=self._floats(self._shares(rows, alive)),
            value_weights=self._floats(np.concatenate([alive[:, :1], moved], 1)),
            turns=self.put(turns),
            goes_on=self._floats(goes_on),
            ends=self._floats(moved & ~goes_on),
        )

    def _odds(
        self, rows: Positions, moved: NDArray[np.bool_], outcomes: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """The odds of the codes after every move, or else certainty of what came."""
        codes = self.config.codes
        odds = np.eye(codes)[codes_of(outcomes, codes)]
        if codes > 1:
            at = np.flatnonzero(np.pad(moved, ((0, 0), (0, 1))))
            found = consequences(self.game, rows.states[at], rows.played[at])
            exact = odds_of_codes(found.odds, codes)
            odds[moved] = np.where(found.exact[:, None], exact, odds[moved])
        return np.asarray(odds)

    def _shares(self, rows: Positions, alive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The scores of sides as shares; an end is worth to the last mover what it was before."""
        scores, share = rows.scores.astype(np.float64), self.learning.search_share
        found = share * (rows.value - scores[:, 0])
        scores = scores + found[:, None] * self.effects[rows.seats]
        by_side = scores[:, self.captains].reshape(*alive.shape, -1) / self.config.largest_score
        ended = alive[:, :-1] & ~alive[:, 1:]
        by_side[:, 1:][ended] = by_side[:, :-1][ended]
        parts = self.config.all_sides if self.config.zero_sum else 2
        return np.asarray((1 + by_side.clip(-1, 1)) / parts)

    def _floats(self, array: NDArray[np.floating] | NDArray[np.bool_]) -> Tensor:
        return self.put(np.asarray(array, np.float32))

    # Losses

    def find_gradients(self, examples: Unrolled) -> dict[str, Tensor]:
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            losses = self.losses(examples)
        total = torch.stack(list(losses.values())).sum()
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.learning.gradient_clip)
        return {name: loss.detach() for name, loss in losses.items()}

    def losses(self, examples: Unrolled) -> dict[str, Tensor]:
        """The losses of policy, values, chance, turns and ends.

        Those of the first position count once, those of all steps together as much.
        """
        net, steps = self.net, examples.played.shape[1]
        latents = net.represent(examples.views[:, 0])
        outlook = net.judge(latents)
        policy = [self._policy_loss(examples, outlook.policy, 0)]
        value = [self._value_loss(examples, outlook.scores, 0)]
        chance, turn, ends, apart = [], [], [], []
        for k in range(steps):
            afterstates = net.act(latents, examples.played[:, k])
            moved = examples.value_weights[:, k + 1]
            chance.append(_wrong(net.odds(afterstates), examples.odds[:, k]) @ moved)
            latents = net.settle(latents, afterstates, examples.codes[:, k])
            outlook = net.judge(latents)
            policy.append(self._policy_loss(examples, outlook.policy, k + 1) / steps)
            value.append(self._value_loss(examples, outlook.scores, k + 1) / steps)
            turn.append(_wrong(outlook.turns, examples.turns[:, k]) @ examples.goes_on[:, k])
            ends.append(outlook.ends)
            apart.append(self._distance(examples, latents, k) @ examples.goes_on[:, k])
            latents = KEPT_GRADIENT * latents + (1 - KEPT_GRADIENT) * latents.detach()
        each = steps * len(examples.views)
        losses = {
            "policy": torch.stack(policy).sum(),
            "value": torch.stack(value).sum(),
            "turn": torch.stack(turn).sum() / each,
            "end": balanced(torch.stack(ends, 1), examples.ends, examples.value_weights[:, 1:]),
        }
        if self.learning.consistency:
            losses["latent"] = self.learning.consistency * torch.stack(apart).sum() / each
        if self.config.codes > 1:
            losses["chance"] = torch.stack(chance).sum() / each
        return losses

    def _distance(self, examples: Unrolled, latents: Tensor, k: int) -> Tensor:
        """How far latents are from those of the views after move k: 0 for the same, 2 at most.

        Results are noisy and say little about one move. Views say what it did.
        """
        if not self.learning.consistency:
            return latents.new_zeros(len(latents))
        with torch.no_grad():
            seen = self.net.represent(examples.views[:, k + 1]).flatten(1).float()
        imagined = latents.flatten(1).float()
        seen, imagined = (x - x.mean(1, keepdim=True) for x in (seen, imagined))
        return 1 - functional.cosine_similarity(imagined, seen)

    def _policy_loss(self, examples: Unrolled, logits: Tensor, k: int) -> Tensor:
        """Over all actions: inside a tree nobody masks illegal ones."""
        listed = examples.listed[:, k]
        chosen = functional.log_softmax(logits.float(), 1).gather(1, listed.clamp(min=0))
        wrong = -(examples.policy[:, k] * chosen * (listed >= 0)).sum(1)
        return (wrong * examples.policy_weights[:, k]).mean()

    def _value_loss(self, examples: Unrolled, sides: Tensor, k: int) -> Tensor:
        target, logits = examples.shares[:, k], sides.float()
        if self.config.zero_sum:
            wrong = -(target * functional.log_softmax(logits, 1)).sum(1)
        else:
            wrong = functional.binary_cross_entropy_with_logits(
                logits, target, reduction="none"
            ).sum(1)
        return (wrong * examples.value_weights[:, k]).mean()


def balanced(logits: Tensor, happened: Tensor, weights: Tensor) -> Tensor:
    """The loss of something rare: what happened counts as much as all that did not."""
    wrong = functional.binary_cross_entropy_with_logits(logits.float(), happened, reduction="none")
    parts = weights * happened, weights * (1 - happened)
    means = [(wrong * part).sum() / part.sum().clamp(min=1) for part in parts]
    return 0.5 * (means[0] + means[1])


def _wrong(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy by row. [batch]"""
    return functional.cross_entropy(logits.float(), target, reduction="none")
