"""Peek: a card face down or face up, a stake, and a guess.

Seat 0 is dealt a red or a black card and stakes one or two chips. Seat 1 says which colour it is,
and wins the stake if that is right. With the probability of the option `hide` the card lies face
down; else both see it. The smallest game in which chance decides what is hidden.
"""

from dataclasses import dataclass

import numpy as np

from kibitz.chance import below, mix
from kibitz.game import CHANCE, OVER, Game, OptionError, Options, Shape, layout, record, rule

NOTHING = -1
FACE_DOWN, FACE_UP = 0, 1
PER_CENT = 100

STATE = record(
    "peek",
    ("hide", np.int8),  # per cent
    ("face", np.int8),  # FACE_DOWN, FACE_UP, or NOTHING before it is drawn
    ("card", np.int8),  # 0 or 1, or NOTHING
    ("stake", np.int8),  # 0 before it is made
    ("guess", np.int8),  # 0 or 1, or NOTHING
)

VIEW = layout(("mine", 1), ("up", 1), ("card", 2), ("stake", 1))


@dataclass(frozen=True)
class PeekOptions(Options):
    """What can be chosen."""

    hide: str = "1"
    """The probability that the card lies face down."""

    def check(self) -> None:
        if not 0 <= self.code("hide") <= PER_CENT:
            raise OptionError(f"hide={self.hide}: it is a probability")

    def code(self, name: str) -> int:
        return round(PER_CENT * float(self.hide))


@rule
def start(s, options):
    s.hide = options.hide
    s.face = s.card = s.guess = NOTHING
    s.stake = 0


@rule
def turn(s):
    if s.card == NOTHING:
        return CHANCE
    if s.stake == 0:
        return 0
    return 1 if s.guess == NOTHING else OVER


@rule
def odds(s, out):
    hidden = 0.5 if s.face != NOTHING else int(s.hide) / PER_CENT
    out[0], out[1] = hidden, 1 - hidden


@rule
def actions(s, out):
    out[0], out[1] = 0, 1
    return 2


@rule
def play(s, action):
    if s.face == NOTHING:
        s.face = action
    elif s.card == NOTHING:
        s.card = action
    elif s.stake == 0:
        s.stake = action + 1
    else:
        s.guess = action


@rule
def score(s, out):
    won = int(s.stake) if s.guess == s.card else -int(s.stake)
    out[0], out[1] = -won, won


@rule
def sees(s, seat):
    return seat == 0 or s.face == FACE_UP


@rule
def observe(s, seat, view):
    view.mine[0] = 1 - seat
    view.up[0] = 1 if s.face == FACE_UP else 0
    for card in range(2):
        view.card[card] = 1 if sees(s, seat) and s.card == card else 0
    view.stake[0] = s.stake


@rule
def redeal(s, seat, rng):
    if not sees(s, seat) and s.card != NOTHING:
        s.card = below(rng, 2)


def lay_open(states):
    states["face"] = FACE_UP


@rule
def known(s, seat):
    card = int(s.card) + 1 if sees(s, seat) or s.card == NOTHING else 3
    number = seat + 2 * (int(s.face) + 1) + 8 * card
    number += 32 * (int(s.stake) + 4 * (int(s.guess) + 1))
    return mix(1, number) | np.uint64(1)


GAME = Game(
    name="peek",
    version=1,
    options=PeekOptions(),
    shape=Shape(seats=2, num_actions=2, num_outcomes=2, state=STATE, view=VIEW),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    redeal=redeal,
    lay_open=lay_open,
    known=known,
    score_range=(-2.0, 2.0),
)
