"""Players of Beasty Bar that need no learning. They look at no hand but their own."""

from __future__ import annotations

import numpy as np

from ...chance import below
from ...game import room, room_for_actions, rule
from .cards import FULL_QUEUE, at, drawn, joined, length, owner, points, without
from .rules import WAYS, actions, after_turn, left, list_actions
from .view import dealt_anew

PLAYOUTS = 16  # of `outcome`, per action

room_for_seats = room(np.int64, lambda game: game.seats)


@rule
def lead(line, seat, players):
    """Points of a seat in a line of cards less the mean of the others', times players - 1."""
    total = 0
    while line:
        card = at(line, 0)
        total += points(card) * (players - 1 if owner(card) == seat else -1)
        line >>= 8
    return total


@rule
def greedy(s, seat, rng):
    """Looks one turn ahead: best margin in the bar, then worst in THAT'S IT, then at random."""
    legal = room_for_actions(s)
    players, hand, queue = s.hand.shape[0], int(s.hand[seat]), int(s.queue)
    best, most, equals = 0, 0, 0
    for i in range(actions(s, legal)):
        slot, way = int(legal[i]) // WAYS, int(legal[i]) % WAYS
        _, entered, gone = after_turn(queue, at(hand, slot), way, int(s.recurring))
        gain = 1000 * lead(entered, seat, players) - lead(gone, seat, players)
        if equals == 0 or gain > most:
            best, most, equals = int(legal[i]), gain, 1
        elif gain == most:
            equals += 1
            if below(rng, equals) == 0:
                best = int(legal[i])
    return best


@rule
def outcome(s, seat, rng):
    """Tries every action in 16 possible deals with random play, and takes the best margin."""
    legal = room_for_actions(s)
    best, most = 0, 0
    for i in range(actions(s, legal)):
        gain = 0
        for _ in range(PLAYOUTS):
            gain += played_out(s, seat, int(legal[i]), rng)
        if i == 0 or gain > most:
            best, most = int(legal[i]), gain
    return best


@rule
def played_out(s, seat, action, rng):
    """The margin that a seat gains by an action and random play after it, in one possible deal.

    The rest of the game is played on a few numbers; the state stays as it is.
    """
    legal, hands, piles = room_for_actions(s), room_for_seats(s), room_for_seats(s)
    players, queue = s.hand.shape[0], int(s.queue)
    for who in range(players):
        hands[who], piles[who] = int(s.hand[who]), int(s.pile[who])
        if who != seat:
            hands[who], piles[who] = dealt_anew(s, who, rng)
    who, remaining, gain = seat, left(s), 0
    while True:
        slot, way = action // WAYS, action % WAYS
        hand, pile = hands[who], piles[who]
        queue, entered, gone = after_turn(queue, at(hand, slot), way, int(s.recurring))
        gain += lead(entered, seat, players)
        remaining -= length(entered) + length(gone)
        if remaining < FULL_QUEUE:  # nobody else can enter the bar
            return gain
        hand = without(hand, slot)
        if pile:
            kind = drawn(pile, rng)
            hand, pile = joined(hand, 16 * who + kind), pile & ~(1 << kind)
        hands[who], piles[who] = hand, pile
        who = (who + 1) % players
        action = int(legal[below(rng, list_actions(hands[who], queue, int(s.empty_plays), legal))])
