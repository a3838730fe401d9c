"""Escampe: a network of values learns what alpha-beta with the linear evaluation finds.

`default` trains BandDPER; `regularised` has dropout; `reach` reads the other encoding; `legacy`
learns labels that are squeezed to a few thousandths unless a result is proven. `integer` trains a
small network that alpha-beta runs in integers, and `demo` is small enough to watch on two cores.
"""

from __future__ import annotations

from dataclasses import replace

from ..games.escampe.judges import FIFTHS
from ..train.labelled.generate import Generation
from ..train.labelled.labels import Labelling
from ..train.labelled.learning import LabelledTraining

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

RECIPES = {
    "default": DEFAULT,
    "regularised": replace(DEFAULT, config={"dropout": 0.2}),
    "reach": replace(DEFAULT, view="banddper-16-reach", config={"encoding": "banddper-16-reach"}),
    "legacy": replace(DEFAULT, labels=Labelling("legacy")),
    "integer": replace(DEFAULT, net="accumulator", view="pieces"),
    "demo": replace(DEFAULT, config={"blocks": 1, "embedding": 32}, iterations=6, restart=6),
}
