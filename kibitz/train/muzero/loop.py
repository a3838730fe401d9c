"""MuZero: self-play by search in the network's own model, replay of sequences, unrolled learning.

Everything else is as in `tree_search`: tables that roll, the replay, the gate, and how a run is
continued.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...game import Game, GameError
from ...nets.latent import LatentNet
from ...nets.latent_model import LatentModel
from ...search.latent import LatentSearch
from ..folder import RunFolder
from ..tree_search.loop import SearchMethod, SearchTraining
from .learner import Sequences, UnrolledLearner, Unrolling


@dataclass(frozen=True, kw_only=True)
class MuZeroTraining(SearchTraining):
    """A recipe for learning a model and from searches in it."""

    method: ClassVar[str] = "muzero"

    learning: Unrolling  # type: ignore[assignment]

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> MuZeroMethod:
        return MuZeroMethod(self, game, folder, device, seed)


class MuZeroMethod(SearchMethod):
    """The newest player searches in its own model; the learner learns model, policy and value."""

    recipe: MuZeroTraining

    def new_learner(self) -> UnrolledLearner:
        net = self.recipe.network(self.game, self.seed)
        if not isinstance(net, LatentNet):
            raise GameError(f"the recipe's network ({type(net).__name__}) imagines nothing")
        return UnrolledLearner(self.game, net, self.recipe.learning, self.device, self.seed)

    def new_evaluator(self) -> LatentModel:
        return LatentModel(deepcopy(self.average), self.device)

    def new_search(self) -> LatentSearch:
        recipe, model = self.recipe, self._evaluator
        assert isinstance(model, LatentModel)
        return LatentSearch(self.game, recipe.games, recipe.search, model=model, device=self.device)

    def batch(self, rng: np.random.Generator) -> Sequences:
        learning = self.recipe.learning
        rows = self.replay.sequences(learning.batch, learning.unroll + 1, rng)
        return Sequences.of(self.replay, rows)
