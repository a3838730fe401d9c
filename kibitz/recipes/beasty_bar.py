"""Beasty Bar: the zone network, information-set search with a Gumbel root, self-play.

`default` is for a GPU and trained the first part of the champion; `continued` goes on from such a
player, `--from FILE`, with more games and without rollouts; `final` from that one, with a learning
rate that falls to its end. `demo` is small enough to watch on two cores and learns little: see
why.md on what rollouts teach.
"""

from __future__ import annotations

from dataclasses import replace

from ..search.mcts import Settings
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining

DEFAULT = SearchTraining(
    game="beasty_bar",
    options={"early_stop": True},
    net="zones",
    config={"margin_head": True},
    search=Settings(simulations=64, root="gumbel", explore=1.5),
    learning=Learning(
        batch=4096,
        learning_rate=1e-3,
        steps=5000,
        weight_decay=1e-3,
        average_decay=0.998,
        search_share=0.5,
    ),
    games=8192,
    steps=120,
    warm_start=4,
    warm_search=Settings(simulations=400, explore=1.5),
    replay_size=2_000_000,
    iterations=100,
    gate_every=6,
    gate_games=1000,
    baselines=("random", "greedy"),
)

CONTINUED = replace(
    DEFAULT,
    learning=replace(DEFAULT.learning, learning_rate=7e-4, steps=24_000),
    games=16_384,
    steps=240,
    warm_start=0,
    replay_size=3_000_000,
    iterations=120,
    gate_every=10,
)

FINAL = replace(
    CONTINUED,
    learning=replace(CONTINUED.learning, learning_rate=5e-4, steps=7200),
    iterations=30,
    gate_every=15,
)

DEMO = replace(
    DEFAULT,
    config={
        "margin_head": True,
        "width": 32,
        "embedding": 16,
        "attention_heads": 2,
        "dropout": 0.0,
    },
    search=Settings(simulations=16, root="gumbel", considered=8),
    warm_start=20,
    warm_search=Settings(simulations=100),
    learning=Learning(batch=256, learning_rate=2e-3, warm_up=20, steps=400, average_decay=0.98),
    games=64,
    steps=30,
    replay_size=20_000,
    iterations=20,
    gate_every=5,
    gate_games=100,
)

RECIPES = {"default": DEFAULT, "continued": CONTINUED, "final": FINAL, "demo": DEMO}
