"""Coin: two seats, a coin that may land on its edge, and a stake.

Seat 0 stakes one or two chips and throws, then seat 1 does. Heads < tails < edge; the higher throw
wins what the other seat staked. The coin shows heads half of the time and its edge once in eight.
The smallest game with everything a file must write, and nothing else: the tests load it by path.
"""

import numpy as np

from kibitz.chance import mix
from kibitz.game import CHANCE, OVER, Game, Shape, layout, record, rule

NOTHING = -1

STATE = record(
    "coin",
    ("stake", np.int8, 2),  # by seat, 0 before it is made
    ("face", np.int8, 2),  # by seat: 0 heads, 1 tails, 2 edge, or NOTHING
)

VIEW = layout(
    ("stake", 2),
    ("face", (2, 3)),  # one-hot by seat
)


@rule
def start(s, options):
    for seat in range(2):
        s.stake[seat] = 0
        s.face[seat] = NOTHING


@rule
def turn(s):
    for seat in range(2):
        if s.stake[seat] == 0:
            return seat
        if s.face[seat] == NOTHING:
            return CHANCE
    return OVER


@rule
def odds(s, out):
    out[0], out[1], out[2] = 0.5, 0.375, 0.125


@rule
def actions(s, out):
    out[0], out[1] = 0, 1
    return 2


@rule
def play(s, action):
    seat = 0 if s.face[0] == NOTHING else 1
    if s.stake[seat] == 0:
        s.stake[seat] = action + 1
    else:
        s.face[seat] = action


@rule
def score(s, out):
    won = 0
    if s.face[0] > s.face[1]:
        won = int(s.stake[1])
    elif s.face[0] < s.face[1]:
        won = -int(s.stake[0])
    out[0], out[1] = won, -won


@rule
def observe(s, seat, view):
    for other in range(2):
        view.stake[other] = s.stake[other]
        for face in range(3):
            view.face[other, face] = 1 if s.face[other] == face else 0


@rule
def known(s, seat):
    seen = seat
    for other in range(2):
        seen = seen * 16 + int(s.stake[other]) * 4 + int(s.face[other]) + 1
    return mix(1, seen) | np.uint64(1)


@rule
def miser(s, seat, rng):
    """Always stakes one."""
    return 0


GAME = Game(
    name="coin",
    version=1,
    shape=Shape(seats=2, num_actions=2, num_outcomes=3, state=STATE, view=VIEW),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    known=known,
    players={"miser": miser},
    score_range=(-2.0, 2.0),
)
