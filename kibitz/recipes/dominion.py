"""Dominion: the network over sets of cards, information-set search, a new kingdom every game.

Whoever has learnt nothing plays hundreds of turns and hardly ever ends a game, so all recipes begin
with games between the strategies of the game, and stop long games early.

`default` is for twenty minutes of a GPU, the first of them for the strategies. `themed` has bred
strategies as its teachers. `policy` goes on from the weights of either (`--from FILE`) without a
search, against bred strategies and itself. `withheld` is `default` without five of the cards,
`design_v2` has the network of the design document instead, to be compared with it. `response`
learns to beat a given network: `--against FILE`, best with `--from FILE`, too. `design` has the
numbers of the design document, for somebody with days. `small` learns the kingdom `first_game` in
ten minutes on one core.
"""

from __future__ import annotations

from dataclasses import replace

from ..search.mcts import Settings
from ..train.policy_gradient.learner import PolicyLearning
from ..train.policy_gradient.loop import PolicyTraining
from ..train.tree_search.learner import Learning
from ..train.tree_search.loop import SearchTraining
from ..train.tree_search.scripted import ScriptedGames

BASELINES = ("random", "bm0", "bmu", "bmx")
# Every seat draws one for each game. Good players are drawn more often, because their moves are
# learnt; the others show what decks with other cards are worth.
TEACHERS = (
    *(4 * ["bmx"] + 2 * ["chapel1"]),
    *("smithy1", "witch2", "militia1", "bmu", "engine", "fives", "fours", "threes", "gardens"),
)

DEFAULT = SearchTraining(
    game="dominion",
    options={"max_turns": 50},  # strategies need 20; the score as it stands says who was ahead
    net="card_set",
    # A base game fills seventeen slots. Positions are seen once or twice: nothing is left to drop.
    config={"slots": 17, "margin_head": True, "dropout": 0.0},
    scripted=ScriptedGames(iterations=10, players=TEACHERS),
    search=Settings(simulations=64, root="gumbel", considered=8, explore=1.5),
    learning=Learning(
        batch=1024,
        learning_rate=1e-3,
        steps=20_000,
        average_decay=0.998,
        search_share=0.5,
        margin_scale=30.0,
        margin_share=0.2,
    ),
    games=8192,
    steps=600,  # a game has sixty positions, and seen too often they are learnt by heart
    replay_size=2_000_000,
    iterations=40,
    gate_every=8,
    gate_games=400,
    baselines=BASELINES,
)

# It meets the best strategies, because a player that only knows itself loses to them. They are of
# one kind: with two kinds the GPU would wait at every decision.
POLICY = PolicyTraining(
    game="dominion",
    options=DEFAULT.options,
    net="card_set",
    config=DEFAULT.config,
    learning=PolicyLearning(
        batch=16_384,
        passes=1,  # playing takes a third of the time, so nothing has to be learnt twice
        learning_rate=4e-4,
        steps=9000,
        compiled=True,
        margin_scale=30.0,
        margin_share=0.2,
    ),
    games=16_384,
    ticks=32,
    # The last rank is `bme`.
    opponents=(*(3 * ["themes"]), "themes:rank=1", "themes:rank=2", "themes:rank=99"),
    opponent_share=0.5,
    stray_share=0.02,
    iterations=400,
    gate_every=50,
    gate_games=400,
    baselines=("bmu", "bmx", "bme"),
)

# Whoever has learnt from the older strategies has never met a thin deck. Such a deck is a plan of
# many moves: it is spoilt by a few that are not part of it.
THEMED = replace(
    DEFAULT,
    scripted=ScriptedGames(
        iterations=10,
        players=(*(8 * ["themes"]), *(3 * ["bme"]), "bmx"),
        mixed_share=0.1,
        random_share=0.03,
        spread=0.02,
    ),
)

# One card of each kind: it draws, attacks, reacts, trashes, or is worth points. Others that are
# learnt do something similar, so that the features of a card can say what it is good for.
WITHHELD = ("Gardens", "Laboratory", "Militia", "Moat", "Remodel")
WITHOUT = replace(
    DEFAULT, options={**DEFAULT.options, "kingdom": f"random without {', '.join(WITHHELD)}"}
)

DESIGN_V2 = replace(DEFAULT, net="design_v2")

RESPONSE = replace(
    DEFAULT,
    scripted=ScriptedGames(),
    learning=replace(DEFAULT.learning, learning_rate=5e-4, steps=9_000),
    iterations=30,
    gate_every=10,
    gate_rate=0.0,  # the newest is the one to measure
    baselines=(),
)

# Section 12 of the design document, as far as it is about numbers. Its temperature of 1 for fifteen
# turns is here the drawing of the first moves, see `selfplay.OPENING`.
DESIGN = replace(
    DEFAULT,
    config={"slots": 17, "margin_head": True},
    search=Settings(simulations=800, explore=1.5, noise=0.25, alpha=0.5),
    learning=Learning(
        batch=256,
        learning_rate=1e-4,
        steps=100_000,
        weight_decay=1e-4,
        search_share=0.0,
        margin_scale=30.0,
    ),
    games=1024,
    steps=400,
    replay_size=100_000,
    iterations=250,
    gate_every=10,
)

SMALL = replace(
    DEFAULT,
    options={"kingdom": "first_game", "max_turns": 40},
    config={
        "slots": 17,
        "margin_head": True,
        "width": 32,
        "attention_heads": 4,
        "layers": 2,
        "dropout": 0.0,
    },
    scripted=ScriptedGames(iterations=24, rounds=2, players=TEACHERS),
    search=Settings(simulations=16, root="gumbel", considered=8),
    learning=Learning(
        batch=256,
        learning_rate=2e-3,
        warm_up=50,
        steps=2400,
        average_decay=0.99,
        search_share=0.5,
        margin_scale=30.0,
    ),
    games=128,
    steps=40,
    replay_size=60_000,
    iterations=60,
    gate_every=12,
    gate_games=100,
)

RECIPES = {
    "default": DEFAULT,
    "policy": POLICY,
    "themed": THEMED,
    "withheld": WITHOUT,
    "design_v2": DESIGN_V2,
    "response": RESPONSE,
    "design": DESIGN,
    "small": SMALL,
}
