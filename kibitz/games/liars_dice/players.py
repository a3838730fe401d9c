"""Players of Liar's Dice that need no learning."""

from __future__ import annotations

from ...game import rule
from .options import HIGH, JOKER, NO_BID
from .rules import biddable, matches


@rule
def support(s, seat, bid):
    """How many of the other seat's sides^dice rolls would make the bid good.

    A whole number, so that ties are exact and go to the lower bid on every machine.
    """
    sides, unread = s.hand.shape[1], int(s.dice[1 - seat])
    face = bid % sides
    needed = bid // sides + 1 - matches(s, seat, face)
    wild = 0 if s.variant == JOKER else sides - 1
    helps = 2 if face != wild and (s.variant == JOKER or s.variant == HIGH) else 1
    ways, choices = 0, 1  # choices: ways to choose which `found` of the unread dice match
    for found in range(unread + 1):
        if found >= needed:
            rolls = choices
            for i in range(unread):
                rolls *= helps if i < found else sides - helps
            ways += rolls
        choices = choices * (unread - found) // (found + 1)
    return ways


@rule
def all_rolls(s, seat):
    """How many rolls the other seat's dice can show: sides^dice."""
    rolls = 1
    for _ in range(s.dice[1 - seat]):
        rolls *= s.hand.shape[1]
    return rolls


@rule
def honest(s, seat, rng):
    """Makes the bid most likely to be true; calls if the call is at least as likely to win."""
    best, most = NO_BID, -1
    for bid in range(s.last + 1, s.liar):
        if biddable(s, bid):
            ways = support(s, seat, bid)
            if ways > most:
                best, most = bid, ways
    if best == NO_BID:
        return int(s.liar)
    if s.last != NO_BID and all_rolls(s, seat) - support(s, seat, s.last) >= most:
        return int(s.liar)
    return best


@rule
def threshold(s, seat, rng):
    """Calls a bid that is more likely false; otherwise makes the highest bid likely to be true."""
    rolls = all_rolls(s, seat)
    if s.last != NO_BID and 2 * support(s, seat, s.last) < rolls:
        return int(s.liar)
    lowest = NO_BID
    for bid in range(s.liar - 1, s.last, -1):
        if biddable(s, bid):
            if 2 * support(s, seat, bid) >= rolls:
                return bid
            lowest = bid
    return lowest if s.last == NO_BID else honest(s, seat, rng)
