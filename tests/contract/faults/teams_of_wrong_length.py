"""Teams of wrong length: two seats, and a team for each of three."""

import numpy as np

from kibitz.chance import mix
from kibitz.game import OVER, Game, Shape, layout, record, rule

STATE = record("teams_of_wrong_length", ("length", np.int8))
VIEW = layout(("length", 1))


@rule
def start(s, options):
    s.length = 0


@rule
def turn(s):
    return s.length if s.length < 2 else OVER


@rule
def odds(s, out):
    out[0] = 1.0


@rule
def actions(s, out):
    out[0] = 0
    return 1


@rule
def play(s, action):
    s.length += 1


@rule
def score(s, out):
    out[0] = out[1] = 0


@rule
def observe(s, seat, view):
    view.length[0] = s.length


@rule
def known(s, seat):
    return mix(1, 2 * int(s.length) + seat) | np.uint64(1)


GAME = Game(
    name="teams_of_wrong_length",
    version=1,
    shape=Shape(seats=2, num_actions=1, num_outcomes=1, state=STATE, view=VIEW, teams=(0, 1, 0)),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    known=known,
)
