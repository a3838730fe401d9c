"""Which positions of Liar's Dice are possible, and what is wrong with the others."""

from __future__ import annotations

import numpy as np

from ...game import rule
from .options import BIT, MOST_BIDS, NO_BID
from .rules import biddable

FLAWS = (
    "dice, variant and the rules of bidding are those of the options",
    "seat 0 rolls all its dice, then seat 1, and each shows one of the faces",
    "bids come after the dice, each higher than the one before, and a call ends the round",
)


@rule
def flaw(s, fresh):
    for seat in range(2):
        if s.dice[seat] != fresh.dice[seat]:
            return 1
    if s.variant != fresh.variant or s.liar != fresh.liar:
        return 1
    if s.ones_biddable != fresh.ones_biddable or s.opening_call != fresh.opening_call:
        return 1
    if not 0 <= s.rolled <= s.dice[0] + s.dice[1]:
        return 2
    for seat in range(2):
        shown = 0
        for face in range(s.hand.shape[1]):
            if not 0 <= s.hand[seat, face] <= s.dice[seat]:
                return 2
            shown += int(s.hand[seat, face])
        due = min(int(s.rolled), int(s.dice[0])) if seat == 0 else int(s.rolled) - int(s.dice[0])
        if shown != max(due, 0):
            return 2
    return 3 if bids_are_flawed(s) else 0


@rule
def bids_are_flawed(s):
    bids, last = 0, NO_BID
    for bid in range(MOST_BIDS):
        if s.bids >> np.uint64(bid) & BIT:
            if bid >= s.liar or not biddable(s, bid):
                return True
            bids, last = bids + 1, bid
    if last != s.last or not 0 <= s.called <= 1 or s.length != bids + s.called:
        return True
    if s.called and last == NO_BID and not s.opening_call:
        return True
    return s.length > 0 and s.rolled < s.dice[0] + s.dice[1]
