"""Liar's Dice: regrets by history, decisions solved over beliefs, and the published method.

`default` takes minutes on a CPU with up to three dice. `large` is for a GPU: it solves the tables
of all pairs of one to five dice, and one network learns them all.
`blend` brings such a network and the champion together on three to five dice each, on a CPU.
`published` is the algorithm of the published networks, `wide` the same with more games per step,
for minutes on a GPU. `response` learns to beat given players, and `demo` learns a little in a
minute on two cores.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from ..train.bidding.belief_play import BeliefPlay, ByContexts
from ..train.bidding.best_response import BestResponseTraining
from ..train.bidding.regret_play import RegretPlay
from ..train.bidding.remembered_regrets import RememberedRegrets

BASELINES = ("random", "honest", "threshold")

DEFAULT = RememberedRegrets(
    game="liars_dice",
    options={"dice": (1, 1)},
    net="hand_policy",
    config={"interaction": 128, "hidden": (100,)},
    histories=512,
    plays=3000,
    steps=2500,
    iterations=2,
    gate_every=1,
    gate_games=2000,
    baselines=BASELINES,
)

EQUAL = ((5, 5), (4, 4), (3, 3))
EXACT = ((2, 2), (1, 1), (1, 2), (2, 1))  # small enough to be solved without contexts
REST = tuple(dice for dice in product(range(1, 6), repeat=2) if dice not in EQUAL + EXACT)


def solved_rest(dice: tuple[int, ...]) -> ByContexts:
    """How tables with different numbers of dice are solved.

    With few contexts for its size a table is better solved briefly, but several times.
    """
    if sum(dice) < 6:
        return ByContexts(300_000, iterations=100)
    return ByContexts(300_000, iterations=60, solutions=2)


LARGE = BeliefPlay(
    game="liars_dice",
    options={"dice": (5, 5)},
    others=tuple({"dice": dice} for dice in (*EQUAL[1:], *EXACT, *REST)),
    shares=(0.27, 0.19, 0.1, 0.045, 0.015, 0.025, 0.025),
    config={"depth": 5, "rank": 44},
    contexts=(
        ByContexts(1_600_000, iterations=50, solutions=8),  # five dice each
        ByContexts(1_500_000, iterations=100, solutions=6),
        ByContexts(800_000, iterations=120, solutions=5),
        *[None] * len(EXACT),
        *map(solved_rest, REST),
    ),
    weak="honest",
    others_per_round=4,
    response_share=0.5,
    response_games=800,
    rounds=30,  # responders play once for so many: that takes seconds, whatever the table
    steps=400,
    batch=2048,
    tables=(8192, 4096),
    iterations=12,
    gate_every=8,
    gate_games=200,
    gate_rate=0.0,  # it is not about winning more
    baselines=BASELINES,
)

BLEND = replace(
    LARGE,
    contexts=(),
    weak="",
    # Beside nobody at the smaller and the unequal tables: there it stays as it is.
    beside_start=(*[("champion",)] * len(EQUAL), *[()] * len(EXACT + REST)),
    shares=(0.42, 0.22, 0.08),
    response_games=100,
    rounds=9,
    steps=120,
    batch=512,
    tables=(512, 256),
    learning_rate=3e-4,
    average_decay=0.99,
    iterations=5,
    gate_every=5,
    gate_games=100,
)

PUBLISHED = RegretPlay(
    game="liars_dice",
    options={"dice": (5, 5), "opening_call": True},
    net="comp_bilin",
    iterations=420,
    gate_every=20,
    gate_games=2000,
    baselines=BASELINES,
)

WIDE = replace(
    PUBLISHED,
    deals=2048,
    rate=2.4,
    delay=1200.0,
    steps=250,
    iterations=20,
    gate_every=4,
    gate_games=1000,
    gate_rate=0.45,
)

RESPONSE = BestResponseTraining(
    game="liars_dice",
    options={"dice": (5, 5)},
    config={"interaction": 512, "hidden": (256, 256)},
    against=("honest", "threshold", "threshold"),
    iterations=12,
    gate_every=3,
    gate_games=1000,
    gate_rate=0.0,  # it must beat the league, not its earlier self
    baselines=BASELINES,
)

DEMO = replace(
    DEFAULT,
    config={"interaction": 64, "hidden": (64,)},
    histories=128,
    plays=400,
    steps=300,
    iterations=4,
    gate_games=1000,
)

RECIPES = {
    "default": DEFAULT,
    "large": LARGE,
    "blend": BLEND,
    "published": PUBLISHED,
    "wide": WIDE,
    "response": RESPONSE,
    "demo": DEMO,
}
