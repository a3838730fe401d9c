"""Three at a pile: in turn a seat takes one, two or three stones.

Who takes the last one wins 1, and the next in turn loses 1. So the three want different things, and
everybody can say what will be played if each takes what is best for itself.
"""

import numpy as np

from kibitz.chance import mix
from kibitz.game import OVER, Game, Shape, layout, record, rule

PILE, MOST, SEATS = 10, 3, 3

STATE = record("three_at_a_pile", ("stones", np.int8), ("mover", np.int8))
VIEW = layout(("stones", PILE + 1))  # one-hot


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
    s.mover = (s.mover + 1) % SEATS


@rule
def score(s, out):
    for seat in range(SEATS):
        out[seat] = 0
    out[s.mover] = -1
    out[(s.mover + SEATS - 1) % SEATS] = 1


@rule
def observe(s, seat, view):
    for n in range(PILE + 1):
        view.stones[n] = 1 if n == s.stones else 0


@rule
def known(s, seat):
    return mix(1, 16 * int(s.stones) + 4 * int(s.mover) + seat) | np.uint64(1)


GAME = Game(
    name="three_at_a_pile",
    version=1,
    shape=Shape(
        seats=SEATS,
        num_actions=MOST,
        num_outcomes=1,
        state=STATE,
        view=VIEW,
    ),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    known=known,
)
