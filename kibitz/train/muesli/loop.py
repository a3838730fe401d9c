"""Muesli: as policy gradients, with a network that learns to imagine the game on the way.

Play never searches, so it is as fast as without a model; the player can search what it imagines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ...game import Game, GameError
from ...nets.latent import LatentNet
from ..folder import RunFolder
from ..policy_gradient.loop import PolicyMethod, PolicyTraining
from ..tree_search.loop import fitting
from .learner import Imagining, MuesliLearner


@dataclass(frozen=True, kw_only=True)
class MuesliTraining(PolicyTraining):
    """A recipe for learning from play, and a model beside it."""

    method: ClassVar[str] = "muesli"

    imagining: Imagining = field(default_factory=Imagining)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.imagining.walks > self.learning.batch:
            raise GameError("a step has fewer positions than walks that begin there")

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> MuesliMethod:
        return MuesliMethod(self, game, device, seed)


class MuesliMethod(PolicyMethod):
    """The newest network plays; its policy learns from results, its model from the network."""

    recipe: MuesliTraining

    def new_learner(self) -> MuesliLearner:
        net = fitting(self.recipe.network(self.game, self.seed), self.game)
        if not isinstance(net, LatentNet):
            raise GameError(f"the recipe's network ({type(net).__name__}) imagines nothing")
        learning, imagining = self.recipe.learning, self.recipe.imagining
        return MuesliLearner(self.game, net, learning, imagining, self.device, self.seed)
