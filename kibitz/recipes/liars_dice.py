"""Liar's Dice: regrets remembered by history and taught to a network; and the published way.

`default` takes minutes on a CPU with up to three dice, `large` is for a GPU, `published` is the
algorithm of the published networks, and `demo` learns something in a minute on two cores.
"""

from __future__ import annotations

from dataclasses import replace

from ..train.climbing import Climbing
from ..train.regret_play import RegretPlay

BASELINES = ("random", "honest", "threshold")

DEFAULT = Climbing(
    game="liars_dice",
    options={"dice": (1, 1)},
    net="hand_policy",
    config={"interaction": 128, "hidden": (100,)},
    histories=512,
    plays=3000,
    lessons=2500,
    iterations=2,
    gate_every=1,
    gate_games=2000,
    baselines=BASELINES,
)

LARGE = replace(
    DEFAULT,
    options={"dice": (5, 5)},
    config={"interaction": 500, "hidden": (256, 256)},
    histories=16_384,
    plays=400,
    room=32_768,
    lessons=2000,
    batch=1024,
    iterations=50,
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

DEMO = replace(
    DEFAULT,
    config={"interaction": 64, "hidden": (64,)},
    histories=128,
    plays=400,
    lessons=300,
    iterations=4,
    gate_games=1000,
)

RECIPES = {"default": DEFAULT, "large": LARGE, "published": PUBLISHED, "demo": DEMO}
