"""Escampe: a network of values learns what alpha-beta with the linear evaluation finds.

`default` trains BandDPER; `regularised` has dropout; `reach` reads the other encoding; `legacy`
learns labels that are squeezed to a few thousandths unless a result is proven. `integer` trains a
small network that alpha-beta runs in integers; `selfplay` learns values and a policy by tree
search; `demo` is small enough to watch on two cores.
"""

from __future__ import annotations

from dataclasses import replace

from ..games.escampe.judges import FIFTHS
from ..search.mcts import Settings
from ..train.labelled.generate import Generation
from ..train.labelled.labels import Labelling
from ..train.labelled.learning import LabelledTraining
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining

# Points that are worth tanh 1. The results of half-random games say nothing about it: there they do
# not follow the scores of open positions at all. Where both sides search four plies for every move,
# tanh(raw / K) predicts the results best with this K (21,083 positions, standard error 24).
SCALE = 676.0

GENERATION = Generation(
    game="escampe",
    options={"placing": "drawn"},  # all placements are equally likely, on either edge
    judge="linear",
    points=FIFTHS,
    scale=SCALE,
)

DEFAULT = LabelledTraining(
    game="escampe",
    net="dual_view",
    labels=Labelling(scale=SCALE),
    baseline="linear",
)

# Integers that follow a search move by move: small, so that it sees many positions per second.
INTEGER = replace(
    DEFAULT,
    net="accumulator",
    view="pieces",
    batch=2048,
    learning_rate=4e-3,
    weight_decay=0.0,
)

# A cross-check of the architecture: the shared tree search teaches values and a policy.
SELF_PLAY = SearchTraining(
    game="escampe",
    options={"placing": "drawn"},
    net="dual_view",
    config={"policy": True},
    search=Settings(simulations=64, root="gumbel"),
    learning=Learning(batch=1024, learning_rate=1e-3, steps=4000, average_decay=0.99),
    games=2048,
    steps=100,
    replay_size=500_000,
    iterations=60,
    gate_games=400,
    baselines=("random", "greedy", "alphabeta:depth=2"),
)

RECIPES = {
    "default": DEFAULT,
    "selfplay": SELF_PLAY,
    "regularised": replace(DEFAULT, config={"dropout": 0.2}),
    "reach": replace(DEFAULT, view="banddper-16-reach", config={"encoding": "banddper-16-reach"}),
    "legacy": replace(DEFAULT, labels=Labelling("legacy")),
    "integer": INTEGER,
    "demo": replace(DEFAULT, config={"blocks": 1, "embedding": 32}, iterations=6, restart=6),
}
