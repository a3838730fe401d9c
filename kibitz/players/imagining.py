"""Players that search in a network's own model of the game (MuZero)."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace

from ..game import Game
from ..search.latent import LatentSearch, Model
from ..search.lines import Line
from ..search.mcts import Settings
from .searching import AnySearch, TreeSearch
from .sight import Sight
from .thought import Inquiry, Thought

PER_SECOND = 2000  # simulations that a tree gets room for, where a clock ends an analysis


def imagining_settings(with_chance: bool, sims: int) -> Settings:
    """How a network searches in its own model: as it was trained to."""
    chance = "spread" if with_chance else "rolled"
    return Settings(
        simulations=sims,
        root="gumbel",
        considered=16,
        inner="improved",
        chance=chance,  # type: ignore[arg-type]
        gumbel_scale=0.0,
    )


class LatentTreeSearch(TreeSearch):
    """Latent search: the rules say which actions are legal now, the model everything else."""

    def __init__(
        self, game: Game, settings: Settings, model: Model, name: str, device: str, weights: str
    ) -> None:
        super().__init__(game, settings, "uniform", name, device=device, weights=weights)
        self.model = model

    @property
    def identity(self) -> str:
        return f"latent search {json.dumps(asdict(self.settings), sort_keys=True)} {self.weights}"

    def _search(self, size: int, settings: Settings, leaves: int) -> LatentSearch:
        return LatentSearch(self.game, size, settings, model=self.model, device=self.device)

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        """Searches once: a plan of halving has to know its end."""
        sims = self.settings.simulations
        if inquiry.seconds is not None:
            sims = max(2, int(PER_SECOND * inquiry.seconds))
        settings = replace(self.settings, simulations=sims, seconds=inquiry.seconds)
        search, began = self._search(1, settings, 1), time.monotonic()
        found = search.run(sight.imagine(), sight.rngs.copy())
        return self._thought(search, found, sight, inquiry, time.monotonic() - began)

    def _lines(self, search: AnySearch, inquiry: Inquiry) -> dict[int, Line]:
        """No lines: what a model imagines has no words."""
        return {}
