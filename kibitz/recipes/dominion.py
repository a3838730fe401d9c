"""Dominion: the network over sets of cards, information-set search, a new kingdom every game."""

from __future__ import annotations

from ..search.mcts import Settings
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining

DEFAULT = SearchTraining(
    game="dominion",
    options={},
    net="card_set",
    config={"slots": 17, "margin_head": True},  # a base game fills seventeen
    search=Settings(simulations=64, root="gumbel", explore=1.5),
    learning=Learning(batch=1024, learning_rate=1e-3, steps=20_000, margin_scale=30.0),
    games=2048,
    steps=100,
    replay_size=500_000,
    gate_games=400,
    baselines=("random", "bm0", "bmu"),
)

RECIPES = {"default": DEFAULT}
