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

from ...game import Game
from ...nets.latent import LatentNet, codes_of, odds_of_codes
from ...search.consequences import consequences
from ..replay import Positions, Replay
from ..tree_search.learner import Stepper, effects_of_a_gain
from .losses import Unrolled, unrolled_losses

LEAST_RATE = 0.01  # of the learning rate, at the end of its cosine
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
        self.optimiser.zero_grad(set_to_none=False)  # they stay where they are
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            losses = unrolled_losses(self.net, examples, self.learning.consistency)
        total = torch.stack(list(losses.values())).sum()
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.learning.gradient_clip)
        return {name: loss.detach() for name, loss in losses.items()}
