"""Any game: a residual network over its view, Gumbel search, self-play; made for two cores.

It serves games that have no recipe of their own, with any number of seats, also from outside the
package.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..batch import Batch
from ..chance import streams
from ..game import Game
from ..games import load
from ..search.mcts import Settings
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining

RANDOM_GAMES = 512  # to see how large margins are


def any_game(name: str | Path, **options: object) -> SearchTraining:
    """The recipe for a game, by its name or path, under these options."""
    game = load(name, **options)
    return SearchTraining(
        game=str(name),
        options=dict(options),
        net="residual",
        search=Settings(simulations=32, root="gumbel", considered=8),
        learning=Learning(
            batch=512,
            learning_rate=2e-3,
            warm_up=50,
            steps=4000,
            average_decay=0.99,
            search_share=0.5,
            margin_scale=largest_margin(game),
        ),
        games=256,
        steps=40,
        replay_size=100_000,
        iterations=100,
        gate_every=5,
        gate_games=200,
        baselines=("random", *game.players),
    )


def largest_margin(game: Game) -> float:
    """How far ahead or behind a seat can be: the most in games of random play, at least 1."""
    if game.margin is game.score:
        return max(map(abs, game.score_range))
    batch = Batch(game, RANDOM_GAMES, seed=0)
    rngs = streams(0, "player", 2 * RANDOM_GAMES).reshape(RANDOM_GAMES, 2)
    batch.contest("random", "random", np.zeros((RANDOM_GAMES, game.seats), np.int64), rngs)
    return max(1.0, float(np.abs(batch.margins()).max()))
