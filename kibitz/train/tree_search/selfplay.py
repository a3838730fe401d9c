"""Self-play: many games in lockstep. Every move is searched, every decision is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...batch import Batch
from ...chance import streams
from ...game import Game
from ...search.mcts import Evaluator, Found, Search, Settings, sampled
from ...search.tree import uniforms_all
from ..replay import Positions


class SelfPlay:
    """Plays whole games of a searching player against itself.

    With PUCT at the root, the first `opening` moves of a game are sampled by visits, so that games
    differ; Gumbel search has its own noise.
    """

    def __init__(
        self,
        game: Game,
        games: int,
        settings: Settings,
        evaluator: Literal["rollout", "uniform"] | Evaluator,
        device: str,
        opening: int = 8,
    ) -> None:
        self.game, self.games, self.device = game, games, device
        self.opening = opening if settings.root == "puct" else 0
        self.search = Search(game, games, settings, evaluator=evaluator, device=device)

    def play(
        self, seed: int, iteration: int, progress: Callable[[int], None] | None = None
    ) -> Positions:
        """The decisions of one batch of games; they follow from seed and iteration."""
        tables = streams(seed, "table", self.games, iteration * self.games)
        trees = streams(seed, "search", self.games, iteration * self.games)
        batch = Batch.of(
            self.game, np.zeros(self.games, self.game.state), tables, device=self.device
        )
        trees = batch.device.put(trees)
        batch.start()
        roots: NDArray[np.void] | None = None
        parts, lanes = [], []
        while True:
            batch.settle()
            turns = batch.device.get(batch.turns())
            live = turns >= 0
            if not live.any():
                break
            states = batch.host()
            # Finished tables are searched at their last decision; the result is not used.
            if roots is None:
                roots = states.copy()
            roots[live] = states[live]
            found = self.search.run(roots, trees)
            parts.append(_decisions(found, roots, turns, live))
            lanes.append(np.flatnonzero(live))
            chosen = self._chosen(found, trees, batch, len(parts))
            batch.play(np.where(live, chosen, -1), check=False)
            if progress is not None:
                progress(len(parts))
        return _ended(parts, np.concatenate(lanes), batch)

    def _chosen(
        self, found: Found, trees: NDArray[np.void], batch: Batch, move: int
    ) -> NDArray[np.integer]:
        chosen: NDArray[np.integer] = found.best
        if move > self.opening:
            return chosen
        uniform = batch.device.empty((self.games, 1), np.float64)
        batch.run(uniforms_all, trees, uniform)
        drawn = batch.device.get(uniform)[:, 0]
        chosen = sampled(found, 1.0, lambda n: drawn)
        return chosen


def _decisions(
    found: Found, roots: NDArray[np.void], turns: NDArray[np.integer], live: NDArray[np.bool_]
) -> Positions:
    """The decisions at live tables; score and margin are still unknown."""
    legal = np.arange(found.actions.shape[1]) < found.counts[:, None]
    unknown = np.zeros(int(live.sum()), np.float32)
    return Positions(
        states=roots[live],
        seats=turns[live].astype(np.int8),
        actions=np.where(legal, found.actions, -1)[live].astype(np.int16),
        policy=np.where(legal, found.policy, 0.0)[live].astype(np.float32),
        value=found.value[live].astype(np.float32),
        score=unknown,
        margin=unknown,
    )


def _ended(parts: list[Positions], lanes: NDArray[np.integer], batch: Batch) -> Positions:
    """All decisions, with the scores and margins of their games."""
    positions = Positions.joined(parts)
    scores, margins = (batch.device.get(x) for x in (batch.scores(), batch.margins()))
    positions.score = scores[lanes, positions.seats]
    positions.margin = margins[lanes, positions.seats]
    return positions
