"""The rules of one round of Liar's Dice, and what follows a round in match play."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...chance import below
from ...game import CHANCE, OVER, rule
from .options import BIT, HIGH, JOKER, NO_BID, STAIRS


@rule
def start(s, options):
    s.bids = np.uint64(0)
    for seat in range(2):
        s.dice[seat] = options.dice[seat]
        for face in range(s.hand.shape[1]):
            s.hand[seat, face] = 0
    s.variant = options.variant
    s.ones_biddable = options.ones_biddable
    s.opening_call = options.opening_call
    s.liar = (
        (options.dice[0] + options.dice[1]) * s.hand.shape[1] * (2 if s.variant == STAIRS else 1)
    )
    s.last = NO_BID
    s.rolled = s.length = s.called = 0


@rule
def turn(s):
    if s.rolled < s.dice[0] + s.dice[1]:
        return CHANCE
    return OVER if s.called else s.length % 2


@rule
def odds(s, out):
    for face in range(s.hand.shape[1]):
        out[face] = 1.0 / s.hand.shape[1]


@rule
def roll(s, rng):
    face = below(rng, s.hand.shape[1])
    play(s, face)
    return face


@rule
def biddable(s, bid):
    """Whether this bid exists: in some variants nobody can bid on ones."""
    ones_out = s.variant == STAIRS or not s.ones_biddable
    return not (ones_out and bid % s.hand.shape[1] == 0)


@rule
def actions(s, out):
    n = 0
    for bid in range(s.last + 1, s.liar):
        if biddable(s, bid):
            out[n] = bid
            n += 1
    if s.last != NO_BID or s.opening_call:
        out[n] = s.liar
        n += 1
    return n


@rule
def play(s, action):
    if s.rolled < s.dice[0] + s.dice[1]:
        s.hand[0 if s.rolled < s.dice[0] else 1, action] += 1
        s.rolled += 1
        return
    if action == s.liar:
        s.called = 1
    else:
        s.bids = s.bids | BIT << np.uint64(action)
        s.last = action
    s.length += 1


@rule
def shows_stairs(s, seat):
    """Whether a hand of k dice is exactly 1, 2, ..., k."""
    if s.dice[seat] > s.hand.shape[1]:
        return False
    for face in range(s.dice[seat]):
        if s.hand[seat, face] != 1:
            return False
    return True


@rule
def matches(s, seat, face):
    """How many dice of a seat count towards a bid on `face`."""
    if s.variant == STAIRS and shows_stairs(s, seat):
        return int(s.dice[seat]) + 1
    wild = 0 if s.variant == JOKER else s.hand.shape[1] - 1
    found = int(s.hand[seat, face])
    if face != wild and (s.variant == JOKER or s.variant == HIGH):
        found += int(s.hand[seat, wild])
    return found


@rule
def score(s, out):
    caller = (s.length - 1) % 2
    good = s.last == NO_BID  # a call before any bid loses
    if not good:
        sides = s.hand.shape[1]
        face, count = s.last % sides, s.last // sides + 1
        good = matches(s, 0, face) + matches(s, 1, face) >= count
    out[caller] = -1 if good else 1
    out[1 - caller] = 1 if good else -1


def next_round(options, scores):
    """The next round of a match, or None at its end: its options, and by seat who sits there.

    The loser of a round opens the next one, as seat 0. A player without dice has lost the match, or
    has won it if winners give up dice. Either way the loser of the last round loses the match.
    """
    if options.die_loss == "none":
        return None
    loser = 0 if scores[0] < scores[1] else 1
    dice = list(options.dice)
    dice[loser if options.die_loss == "loser" else 1 - loser] -= 1
    if min(dice) == 0:
        return None
    return replace(options, dice=(dice[loser], dice[1 - loser])), (loser, 1 - loser)
