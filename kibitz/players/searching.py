"""Players that search a tree at every decision."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from ..game import Game
from ..search.mcts import Found, Search, Settings
from .sight import Player, PlayerError, Sight
from .texts import limit, real, register, whole


class TreeSearch:
    """Tree search: PUCT or, where something is hidden, the same over information sets.

    Many tables are searched in lockstep, as many at a time as the device does well with. weights:
    hash and device of the network that the evaluator asks, where it asks one.
    """

    def __init__(
        self,
        game: Game,
        settings: Settings,
        evaluator: Any,
        name: str,
        *,
        device: str = "cpu",
        weights: str = "",
    ) -> None:
        self.game, self.settings, self.evaluator, self.name = game, settings, evaluator, name
        trees, nodes = (512, 1 << 24) if device == "cpu" else (8192, 1 << 26)
        # With very many simulations fewer trees, or they would need more memory than there is.
        self.device, self.trees = device, min(trees, 1 + nodes // max(settings.simulations, 1))
        self.weights = weights
        self._searches: dict[int, Search] = {}

    @property
    def identity(self) -> str:
        if isinstance(self.evaluator, str):
            evaluator = self.evaluator  # answers to the bit the same on every device
        elif self.weights:
            evaluator = f"net {self.weights}"
        else:
            return ""
        settings = json.dumps(asdict(self.settings), sort_keys=True)
        return f"tree search {settings} {evaluator}"

    def choose(self, sight: Sight) -> Any:
        states, (legal, counts) = sight.imagine(), sight.legal
        chosen = legal[:, 0].astype(np.int64)
        open_ = np.flatnonzero(counts > 1)  # where there is a choice
        for first in range(0, len(open_), self.trees):
            part = open_[first : first + self.trees]
            # The streams are the player's: no search can foretell what the table will throw.
            rngs = sight.rngs[part]
            chosen[part] = self.think(states[part], rngs).best
            sight.rngs[part] = rngs
        return chosen

    def think(self, states: Any, rngs: Any) -> Found:
        """The whole search, for who wants to see more than the move; `rngs` move on."""
        size, given = self._room(len(states)), {"evaluator": self.evaluator, "device": self.device}
        if size not in self._searches:
            self._searches = {size: Search(self.game, size, self.settings, **given)}
        search, again = self._searches[size], np.arange(size) % len(states)
        found = search.run(states[again], rngs[again]).first(len(states))
        rngs[:] = search.device.get(search.forest.rngs)[: len(states)]
        return found

    def _room(self, tables: int) -> int:
        """How many trees to make for so many tables.

        A GPU gets a power of two, some tables twice: making trees costs it more than using them.
        """
        return tables if self.device == "cpu" else 1 << (tables - 1).bit_length()


@register("mcts", always=("sims",))
def mcts(
    game: Game,
    name: str,
    sims: str = "200",
    explore: str = "2",
    root: str = "puct",
    evaluator: str = "rollout",
    seconds: str = "",
    device: str = "cpu",
) -> Player:
    """`mcts:sims=200`: tree search with rollouts; `evaluator=uniform` looks at the ends only."""
    if root not in ("puct", "gumbel") or evaluator not in ("rollout", "uniform"):
        raise PlayerError("mcts: root is puct or gumbel, evaluator is rollout or uniform")
    settings = Settings(
        simulations=whole("sims", sims, least=1),
        explore=real("explore", explore),
        root=root,  # type: ignore[arg-type]
        seconds=limit(seconds),
    )
    return TreeSearch(game, settings, evaluator, name, device=device)
