"""The stack of effects, and what a card can ask for.

Cards interrupt each other: a Throne Room plays a card whose text must be over before it is played
again. So everything still to be done lies on a stack, and the frame on top comes first. A card's
text only puts frames there; `resolve` carries them out.
"""

from __future__ import annotations

from ...game import rule
from . import jobs

NO_LIMIT = 0  # as the number of cards to choose at most


@rule
def push(s, job, seat, source):
    """Put a frame on the stack and return its index; its other fields are 0."""
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
    s.most[push(s, jobs.DRAW, seat, source)] = cards


@rule
def look(s, seat, source, cards, everybody_sees):
    """Move cards from the top of the deck to limbo. The card says what happens `then`."""
    k = push(s, jobs.LOOK, seat, source)
    s.most[k] = cards
    s.open[k] = everybody_sees


@rule
def choose(s, job, seat, source, least, most):
    """Choose cards one at a time: from the hand or, if the job says so, from those looked at."""
    k = push(s, job, seat, source)
    s.least[k] = least
    s.most[k] = most
    return k


@rule
def gain_up_to(s, seat, source, limit):
    """Gain a card of at most this cost, to the discard pile unless `to` of the frame is changed."""
    k = push(s, jobs.GAIN, seat, source)
    s.limit[k] = limit
    s.least[k] = 1
    s.most[k] = 1
    return k


@rule
def ask(s, seat, source, about):
    """Yes or no?"""
    k = push(s, jobs.YES_NO, seat, source)
    s.low[k] = about
    return k


@rule
def to_the_left(s, seat, steps):
    """The seat so many places to the left."""
    players = s.hand.shape[0]
    seat += steps
    return seat - players if seat >= players else seat
