"""Race: two runners, eight squares, and two ways to throw for it.

In turn a seat walks (one square or, three times in four, two) or runs (one square half of the time,
else three or four). Who comes to square eight first wins. Nothing is hidden and every throw brings
somebody forward, so a few lines of arithmetic tell the value of every position.
"""

import numpy as np

from kibitz.chance import mix
from kibitz.game import CHANCE, OVER, Game, Shape, layout, record, rule

GOAL = 8
WALK, RUN, NO_GAIT = 0, 1, -1

STATE = record(
    "race",
    ("at", np.int8, 2),  # by seat: the square
    ("mover", np.int8),
    ("gait", np.int8),  # how the mover has chosen to go, or NO_GAIT
)

VIEW = layout(("at", 2))  # the squares, the looking seat's first


@rule
def start(s, options):
    s.at[0] = s.at[1] = 0
    s.mover = 0
    s.gait = NO_GAIT


@rule
def turn(s):
    if s.at[0] >= GOAL or s.at[1] >= GOAL:
        return OVER
    return CHANCE if s.gait != NO_GAIT else s.mover


@rule
def odds(s, out):
    if s.gait == WALK:
        out[0], out[1], out[2], out[3] = 0.25, 0.75, 0.0, 0.0
    else:
        out[0], out[1], out[2], out[3] = 0.5, 0.0, 0.25, 0.25


@rule
def actions(s, out):
    out[0], out[1] = WALK, RUN
    return 2


@rule
def play(s, action):
    if s.gait == NO_GAIT:
        s.gait = action
    else:
        s.at[s.mover] += action + 1
        s.mover = 1 - s.mover
        s.gait = NO_GAIT


@rule
def score(s, out):
    winner = 0 if s.at[0] >= GOAL else 1
    out[winner] = 1
    out[1 - winner] = -1


@rule
def observe(s, seat, view):
    view.at[0] = s.at[seat]
    view.at[1] = s.at[1 - seat]


@rule
def known(s, seat):
    place = int(s.at[0]) + 16 * int(s.at[1]) + 256 * int(s.mover) + 512 * (int(s.gait) + 1)
    return mix(1, 4 * place + seat) | np.uint64(1)


GAME = Game(
    name="race",
    version=1,
    shape=Shape(seats=2, num_actions=2, num_outcomes=4, state=STATE, view=VIEW),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    known=known,
)
