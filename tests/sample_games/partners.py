"""Partners: a hidden die each, one chance to throw it again, and the dice of a team are added up.

Partners do not sit side by side: with two teams they face each other. In turn every seat throws a
die in secret; then each keeps its die or throws it once more, also in secret. The team with the
highest sum beats every team with a lower one, and a team scores the mean of these comparisons.
"""

from dataclasses import dataclass

import numpy as np

from kibitz.chance import below, mix
from kibitz.game import CHANCE, OVER, Game, OptionError, Options, Shape, layout, record, rule

KEEP, THROW = 0, 1
IN_THE_AIR = 0


@dataclass(frozen=True)
class Teams(Options):
    teams: int = 2
    """How many teams of two meet."""

    def check(self) -> None:
        if not 2 <= self.teams <= 4:
            raise OptionError(f"teams={self.teams}: there are 2 to 4 teams")


def shape(options: Teams) -> Shape:
    seats = 2 * options.teams
    return Shape(
        seats=seats,
        teams=tuple(seat % options.teams for seat in range(seats)),
        num_actions=2,
        num_outcomes=6,
        state=record(
            "partners",
            ("die", np.int8, seats),  # by seat: 1 to 6, or IN_THE_AIR
            ("choice", np.int8, seats),  # by seat: KEEP or THROW
            ("length", np.int8),  # decisions so far
        ),
        view=layout(("die", 6), ("choice", (seats, 2))),  # one-hot: the own die; all choices
    )


@rule
def start(s, options):
    for seat in range(s.die.shape[0]):
        s.die[seat] = IN_THE_AIR
        s.choice[seat] = KEEP
    s.length = 0


@rule
def in_the_air(s):
    """The first seat whose die has to be thrown, or -1."""
    for seat in range(s.die.shape[0]):
        if s.die[seat] == IN_THE_AIR:
            return seat
    return -1


@rule
def turn(s):
    if in_the_air(s) >= 0:
        return CHANCE
    return s.length if s.length < s.die.shape[0] else OVER


@rule
def odds(s, out):
    for face in range(6):
        out[face] = 1 / 6


@rule
def actions(s, out):
    out[0], out[1] = KEEP, THROW
    return 2


@rule
def play(s, action):
    seat = in_the_air(s)
    if seat >= 0:
        s.die[seat] = action + 1
    else:
        s.choice[s.length] = action
        if action == THROW:
            s.die[s.length] = IN_THE_AIR
        s.length += 1


@rule
def score(s, out):
    teams = s.die.shape[0] // 2
    for seat in range(s.die.shape[0]):
        mine, better = int(s.die[seat]) + int(s.die[(seat + teams) % (2 * teams)]), 0
        for team in range(teams):
            other = int(s.die[team]) + int(s.die[team + teams])
            better += 1 if mine > other else -1 if mine < other else 0
        out[seat] = better / (teams - 1)


@rule
def observe(s, seat, view):
    for face in range(6):
        view.die[face] = 1 if s.die[seat] == face + 1 else 0
    for who in range(s.die.shape[0]):
        for choice in range(2):
            view.choice[who, choice] = 1 if who < s.length and s.choice[who] == choice else 0


@rule
def redeal(s, seat, rng):
    for other in range(s.die.shape[0]):
        if other != seat and s.die[other] != IN_THE_AIR:
            s.die[other] = 1 + below(rng, 6)


@rule
def known(s, seat):
    hashed = mix(1, 8 * seat + int(s.die[seat]))
    for who in range(s.die.shape[0]):
        choice = int(s.choice[who]) + 1 if who < s.length else 0
        hashed = mix(hashed, 2 * choice + (1 if s.die[who] == IN_THE_AIR else 0))
    return hashed | np.uint64(1)  # never 0


@rule
def cautious(s, seat, rng):
    return THROW if s.die[seat] <= 3 else KEEP


GAME = Game(
    name="partners",
    version=1,
    shape=shape,
    options=Teams(),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    redeal=redeal,
    known=known,
    players={"cautious": cautious},
)
