"""Nim with one pile: in turn a seat takes one, two or three stones. Who takes the last one wins.

Nothing is hidden and nothing is thrown, so everybody can say what will be played.
There are two views: `default` shows the pile, `rest` what matters of it.
"""

import numpy as np

from kibitz.chance import mix
from kibitz.game import OVER, Game, Shape, layout, record, rule

PILE, MOST = 7, 3

STATE = record("nim", ("stones", np.int8), ("mover", np.int8))
VIEW = layout(("stones", PILE + 1))  # one-hot
REST = layout(("rest", MOST + 1))  # one-hot: the pile modulo four


@rule
def start(s, options):
    s.stones = PILE
    s.mover = 0


@rule
def turn(s):
    return s.mover if s.stones > 0 else OVER


@rule
def odds(s, out):
    out[0] = 1.0


@rule
def actions(s, out):
    n = min(int(s.stones), MOST)
    for j in range(n):
        out[j] = j
    return n


@rule
def play(s, action):
    s.stones -= action + 1
    s.mover = 1 - s.mover


@rule
def score(s, out):
    out[s.mover] = -1
    out[1 - s.mover] = 1


@rule
def observe(s, seat, view):
    for n in range(PILE + 1):
        view.stones[n] = 1 if n == s.stones else 0


@rule
def observe_rest(s, seat, view):
    for n in range(MOST + 1):
        view.rest[n] = 1 if n == s.stones % (MOST + 1) else 0


@rule
def known(s, seat):
    return mix(1, 4 * int(s.stones) + 2 * int(s.mover) + seat) | np.uint64(1)


def action_text(s, action):
    return f"takes {action + 1}"


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
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    observers={"rest": observe_rest},
    known=known,
    action_text=action_text,
)
