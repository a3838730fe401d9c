"""A player that looks further: over every throw that follows, and the best reply to it.

Without chance there is one "throw". Values are those of the greedy player, for each side its own,
and whoever replies takes what is best for itself (max^n). With depth 2 the reply to the reply is
looked at, too.
"""

from __future__ import annotations

import numpy as np

from ...game import Planned, room, room_for_actions, rule
from .board import ENDED, NOBODY, PINS, THROW, controlled, side
from .players import balance
from .rules import FACES, TRIPLES, actions, locked, play, settle, triples

WON = 1_000_000  # more than pins are ever worth
MORE = 5  # numbers of a position beside its pins and stocks

room_for_position = room(np.int64, lambda game: (PINS + FACES) * game.seats + MORE)


@rule
def keep(s, kept):
    """Write down all that an action can change."""
    n = 0
    for player in range(s.pins.shape[0]):
        for pin in range(PINS):
            kept[n] = s.pins[player, pin]
            n += 1
        for value in range(FACES):
            kept[n] = s.stock[player, value]
            n += 1
    kept[n], kept[n + 1], kept[n + 2] = int(s.plies), int(s.mover), int(s.phase)
    kept[n + 3], kept[n + 4] = int(s.winner), int(s.die)


@rule
def put_back(s, kept):
    n = 0
    for player in range(s.pins.shape[0]):
        for pin in range(PINS):
            s.pins[player, pin] = kept[n]
            n += 1
        for value in range(FACES):
            s.stock[player, value] = kept[n]
            n += 1
    s.plies, s.mover, s.phase = kept[n], kept[n + 1], kept[n + 2]
    s.winner, s.die = kept[n + 3], kept[n + 4]


@rule
def worth(s, player):
    """What a position is worth to the side of a player, whose pins are those looked at."""
    if s.winner != NOBODY:
        return WON if s.winner == side(s, player) else -WON
    return balance(s, player)


@rule
def after_best_reply(s, player):
    """What a position is worth to a player once whoever is to move has moved."""
    legal, kept = room_for_actions(s), room_for_position(s)
    replier = controlled(s, int(s.mover))
    most, value = 0, 0
    keep(s, kept)
    for i in range(actions(s, legal)):
        play(s, int(legal[i]))
        theirs = worth(s, replier)
        if i == 0 or theirs > most:
            most, value = theirs, worth(s, player)
        put_back(s, kept)
    return value


@rule
def after_foreseen_reply(s, player):
    """The same times 216, if whoever replies looks at the next throw and reply itself."""
    legal, kept = room_for_actions(s), room_for_position(s)
    replier = controlled(s, int(s.mover))
    most, value = 0, 0
    keep(s, kept)
    n = actions(s, legal)
    for i in range(n):
        play(s, int(legal[i]))
        theirs = expected(s, replier) if n > 1 else 0
        if i == 0 or theirs > most:
            most, value = theirs, expected(s, player)
        put_back(s, kept)
    return value


@rule
def likely(s, outcome, three_throws):
    """In how many of 216 cases this is thrown."""
    return triples(s, outcome + 1) if three_throws else TRIPLES // FACES


@rule
def expected(s, player):
    """What a position is worth to a player after the next throw and the reply to it, times 216."""
    if s.phase == ENDED:
        return TRIPLES * worth(s, player)
    if s.phase != THROW:
        return TRIPLES * after_best_reply(s, player)
    kept, total = room_for_position(s), 0
    three_throws = s.rethrow != 0 and locked(s, controlled(s, int(s.mover)))
    keep(s, kept)
    for outcome in range(FACES):
        weight = likely(s, outcome, three_throws)
        settle(s, outcome)
        total += weight * after_best_reply(s, player)
        put_back(s, kept)
    return total


@rule
def expected_of_two(s, player):
    """The same after two throws and replies, times 216 squared."""
    if s.phase == ENDED:
        return TRIPLES * TRIPLES * worth(s, player)
    if s.phase != THROW:
        return TRIPLES * after_foreseen_reply(s, player)
    kept, total = room_for_position(s), 0
    three_throws = s.rethrow != 0 and locked(s, controlled(s, int(s.mover)))
    keep(s, kept)
    for outcome in range(FACES):
        weight = likely(s, outcome, three_throws)
        settle(s, outcome)
        total += weight * after_foreseen_reply(s, player)
        put_back(s, kept)
    return total


@rule
def follow_expectimax(s, seat, rng, plan):
    """The action after which the expectation is highest; the first of equals."""
    legal, kept = room_for_actions(s), room_for_position(s)
    player, n = controlled(s, seat), actions(s, legal)
    best, most = int(legal[0]), 0
    keep(s, kept)
    for i in range(n if n > 1 else 0):
        play(s, int(legal[i]))
        value = expected(s, player) if plan.depth == 1 else expected_of_two(s, player)
        put_back(s, kept)
        if i == 0 or value > most:
            best, most = int(legal[i]), value
    return best


DEPTHS = range(1, 3)
_plans = np.zeros(1, np.dtype((np.record, [("depth", np.int64)])))
_plans["depth"] = 1
EXPECTIMAX = Planned(follow_expectimax, _plans[0], {"depth": DEPTHS})
