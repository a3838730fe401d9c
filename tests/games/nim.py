"""Nim: one pile, two seats, take one to three stones; who takes the last one wins.

A game with two views: `default` shows the pile, `rest` only what matters of it.
"""

import numpy as np

from kibitz.chance import mix
from kibitz.game import OVER, Game, Shape, layout, record, rule

STONES, MOST = 21, 3

STATE = record("nim", ("stones", np.int8), ("plies", np.int8))
VIEW = layout(("stones", STONES + 1))  # one-hot
REST = layout(("rest", MOST + 1))  # one-hot: the pile modulo four


@rule
def start(s, options):
    s.stones = STONES
    s.plies = 0


@rule
def turn(s):
    return s.plies % 2 if s.stones > 0 else OVER


@rule
def actions(s, out):
    n = min(MOST, s.stones)
    for k in range(n):
        out[k] = k
    return n


@rule
def play(s, action):
    s.stones -= action + 1
    s.plies += 1


@rule
def odds(s, out):
    out[0] = 1.0


@rule
def score(s, out):
    winner = (s.plies - 1) % 2
    out[winner] = 1.0
    out[1 - winner] = -1.0


@rule
def observe(s, seat, view):
    for k in range(STONES + 1):
        view.stones[k] = 1 if k == s.stones else 0


@rule
def observe_rest(s, seat, view):
    for k in range(MOST + 1):
        view.rest[k] = 1 if k == s.stones % (MOST + 1) else 0


@rule
def known(s, seat):
    return mix(mix(1, s.stones), s.plies) | np.uint64(1)


GAME = Game(
    name="nim",
    version=1,
    shape=Shape(
        seats=2,
        num_actions=MOST,
        num_outcomes=1,
        state=STATE,
        view=VIEW,
        views={"rest": REST},
    ),
    start=start,
    turn=turn,
    actions=actions,
    play=play,
    odds=odds,
    score=score,
    observe=observe,
    observers={"rest": observe_rest},
    known=known,
    action_text=lambda s, action: f"take {action + 1}",
)
