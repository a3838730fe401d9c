"""What a seat may see of Liar's Dice, and what it may not."""

from __future__ import annotations

import numpy as np

from ...chance import below, mix
from ...game import rule
from .options import BIT


@rule
def observe(s, seat, view):
    sides, segment = s.hand.shape[1], view.pub.shape[0] // 2
    slots = (view.priv.shape[0] - 2) // sides
    for i in range(view.priv.shape[0]):
        view.priv[i] = 0
    for i in range(view.pub.shape[0]):
        view.pub[i] = 0
    for face in range(sides):
        for i in range(s.hand[seat, face]):
            view.priv[face * slots + i] = 1
    view.priv[slots * sides + seat] = 1
    bidder = 0
    for bid in range(s.last + 1):
        if s.bids >> np.uint64(bid) & BIT:
            view.pub[bidder * segment + bid] = 1
            bidder = 1 - bidder
    if s.called:
        view.pub[bidder * segment + s.liar] = 1
    view.pub[s.length % 2 * segment + s.liar + 1] = 1


@rule
def redeal(s, seat, rng):
    other = 1 - seat
    rolled = 0
    for face in range(s.hand.shape[1]):
        rolled += s.hand[other, face]
        s.hand[other, face] = 0
    for _ in range(rolled):
        s.hand[other, below(rng, s.hand.shape[1])] += 1


@rule
def known(s, seat):
    hand = 0  # as one number: fewer than 4^22, because there are at most 64 bids
    for face in range(s.hand.shape[1]):
        hand = hand * (int(s.dice[seat]) + 1) + int(s.hand[seat, face])
    return mix(mix(mix(1, 2 * hand + seat), s.bids), 2 * int(s.rolled) + int(s.called)) | BIT
