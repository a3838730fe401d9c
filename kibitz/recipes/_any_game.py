"""Any game: a network over its view, search and self-play; made for two cores.

They serve games that have no recipe of their own, with any number of seats, also from outside the
package: `any` searches true positions, `muzero` a model that it learns, and `policy` nothing: it
plays many more games instead. `muesli` is `policy` with a model that it learns on the way. Where
moves are secret, `policy` is the default, otherwise `any`.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import Batch
from ..chance import streams
from ..game import Game
from ..games import load
from ..search.mcts import Settings
from ..train.muesli.learner import Imagining
from ..train.muesli.loop import MuesliTraining
from ..train.muzero.learner import Unrolling
from ..train.muzero.loop import MuZeroTraining
from ..train.policy_gradient.learner import PolicyLearning
from ..train.policy_gradient.loop import PolicyTraining
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining

RANDOM_GAMES = 512  # to see how large margins are
ITERATIONS, STEPS = 300, 40  # some minutes for a short game


def any_game(name: str | Path, **options: object) -> SearchTraining:
    """The recipe for a game, by its name or path, under these options."""
    game = load(name, **options)
    # PUCT, not Gumbel search: with few simulations over hidden cards and dice its targets are less
    # noisy. Much exploration keeps opponents in the tree from answering what they cannot have seen;
    # where moves are secret they draw, and need no such care.
    search = Settings(
        simulations=32,
        explore=1.0 if game.secret_moves else 4.0,
        noise=0.25,
        alpha=min(1.0, 10 / game.max_legal),
    )
    learning = Learning(
        batch=512,
        learning_rate=2e-3,
        warm_up=50,
        steps=ITERATIONS * STEPS,
        average_decay=0.995,
        search_share=0.5,
        margin_scale=usual_margin(game),
        margin_share=0.0 if game.margin is game.score else 0.5,
    )
    return SearchTraining(
        game=str(name),
        options=dict(options),
        net="residual",
        search=search,
        learning=learning,
        games=256,
        steps=STEPS,
        replay_size=100_000,
        iterations=ITERATIONS,
        gate_every=10,
        gate_games=200,
        baselines=("random", *game.players),
    )


def any_muzero(name: str | Path, **options: object) -> MuZeroTraining:
    """The recipe that learns a model of a game, by its name or path, under these options."""
    game = load(name, **options)
    return MuZeroTraining(
        game=str(name),
        options=dict(options),
        net="muzero",
        search=imagined_search(simulations=24, considered=8),
        learning=Unrolling(steps=ITERATIONS * STEPS),
        games=256,
        steps=STEPS,
        replay_size=100_000,
        iterations=ITERATIONS,
        gate_every=10,
        gate_games=200,
        baselines=("random", *game.players),
    )


def any_policy(name: str | Path, **options: object) -> PolicyTraining:
    """The recipe that learns a game without a search, by its name or path, under these options."""
    game = load(name, **options)
    learning = PolicyLearning(
        batch=2048,
        passes=3,
        learning_rate=1e-3,
        steps=12_000,
        margin_scale=usual_margin(game),
        margin_share=0.0 if game.margin is game.score else 0.2,
    )
    found = PolicyTraining(
        game=str(name),
        options=dict(options),
        net="residual",
        learning=learning,
        games=512,
        ticks=32,
        opponents=tuple(game.players),
        opponent_share=0.25,
        iterations=500,
        gate_every=25,
        gate_games=400,
        baselines=("random", *game.players),
    )
    return undecided(found) if game.secret_moves else found


def undecided(recipe: PolicyTraining) -> PolicyTraining:
    """A recipe for secret moves: everybody learns from everybody, and nobody gets predictable.

    The reward for entropy is large and stays. So the likeliest action is an answer to opponents
    who err in all directions, and not to the last thing that they have learnt (docs/why.md).
    """
    learning = dataclasses.replace(
        recipe.learning,
        batch=4096,
        passes=2,
        learning_rate=2e-3,
        steps=5600,  # three minutes of Goofspiel on two cores
        average_decay=0.99,
        entropy=0.5,
        entropy_kept=1.0,
        margin_share=0.0,
    )
    return dataclasses.replace(
        recipe,
        learning=learning,
        games=1024,
        opponents=(),
        opponent_share=0.0,
        iterations=2500,  # twenty minutes
        gate_every=100,
        gate_games=200,
        gate_rate=0.0,  # to beat an earlier player's likeliest moves is not the aim
    )


def any_muesli(name: str | Path, **options: object) -> MuesliTraining:
    """The recipe that learns a game without a search, and a model of it beside that."""
    return with_model(any_policy(name, **options), imagining=Imagining(walks=512))


def with_model(policy: PolicyTraining, **changes: Any) -> MuesliTraining:
    """A recipe without a search, with a network that learns a model of the game on the way."""
    fields = {field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)}
    return MuesliTraining(**fields | {"net": "muzero"} | changes)


def imagined_search(simulations: int, considered: int = 16) -> Settings:
    """Gumbel search in a learned model, with chance spread over its codes.

    The house's c_scale, not the 1.0 of the literature: values of a young model are wrong, and a
    policy that follows them too closely stops trying (docs/why.md).
    """
    return Settings(
        simulations=simulations,
        root="gumbel",
        considered=considered,
        inner="improved",
        chance="spread",
    )


def usual_margin(game: Game) -> float:
    """Twice the spread of margins in games of random play: few are larger."""
    if game.margin is game.score:
        return max(map(abs, game.score_range))
    batch = Batch(game, RANDOM_GAMES, seed=0)
    rngs = streams(0, "player", 2 * RANDOM_GAMES).reshape(RANDOM_GAMES, 2)
    batch.contest("random", "random", np.zeros((RANDOM_GAMES, game.seats), np.int64), rngs)
    return max(2 * float(batch.margins().std()), 1e-6)
