"""The stack of effects, and what a card can ask for.

Cards interrupt each other: a Throne Room plays a card whose text must be over before it is played
again. So whatever is still to be done lies on a stack, and the frame on top goes first. A card's
text only puts frames there; `resolve` carries them out.
"""

from __future__ import annotations

from ...game import rule

# Jobs. The numbers to 15 are the kinds of questions that a view tells apart; 12 to 14 are for sets
# to come, and every job from 15 on is "other" there.
DISCARD, TRASH, GAIN, PLAY_FROM_HAND, TOPDECK, TOPDECK_DISCARDED, YES_NO, REACT = range(1, 9)
TRASH_LOOKED, DISCARD_LOOKED, ORDER_LOOKED = range(9, 12)
OTHER = 15
PLAY, DRAW, LOOK = range(15, 18)

NO_LIMIT = 0  # as the most cards to choose


@rule
def push(s, job, seat, source):
    """A new frame on the stack; its other fields are 0. Returns its index."""
    k = int(s.depth)
    s.job[k] = job
    s.who[k] = seat
    s.source[k] = source
    s.depth = k + 1
    return k


@rule
def pop(s):
    k = int(s.depth) - 1
    s.depth = k
    s.job[k] = 0
    s.who[k] = 0
    s.source[k] = 0
    s.done[k] = 0
    s.least[k] = 0
    s.most[k] = 0
    s.low[k] = 0
    s.wanted[k] = 0
    s.limit[k] = 0
    s.paid[k] = 0
    s.to[k] = 0
    s.open[k] = 0
    s.safe[k] = 0


@rule
def draw(s, seat, source, cards):
    s.most[push(s, DRAW, seat, source)] = cards


@rule
def look(s, seat, source, cards, everybody_sees):
    """Move cards from the top of the deck to limbo. The card says what happens `then`."""
    k = push(s, LOOK, seat, source)
    s.most[k] = cards
    s.open[k] = everybody_sees


@rule
def choose(s, job, seat, source, least, most):
    """Choose cards one at a time: from the hand or, for jobs on them, of those looked at."""
    k = push(s, job, seat, source)
    s.least[k] = least
    s.most[k] = most
    return k


@rule
def gain_up_to(s, seat, source, limit):
    """Gain a card of at most this cost to the discard pile, unless the frame is told otherwise."""
    k = push(s, GAIN, seat, source)
    s.limit[k] = limit
    s.least[k] = 1
    s.most[k] = 1
    return k


@rule
def ask(s, seat, source, about):
    """Yes or no?"""
    k = push(s, YES_NO, seat, source)
    s.low[k] = about
    return k


@rule
def to_the_left(s, seat, steps):
    """The seat so many places to the left."""
    players = s.hand.shape[0]
    seat += steps
    return seat - players if seat >= players else seat
