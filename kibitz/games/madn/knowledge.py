"""What a seat knows, and other deals that it must think possible.

Without cards everybody sees everything. With cards everybody sees the board, cards as they are
played, and how many cards there are everywhere. Secret are hands, unless the game shows them, cards
thrown away face down, which their owner remembers, and the card given to the partner. Who gave it
knows that the partner has it until the partner plays that kind.

A re-deal ignores what follows from a pass: that no card of the hand could be played.
"""

from __future__ import annotations

import numpy as np

from ...chance import below, mix
from ...game import room, rule
from .board import MOST_CARDS, NO_CARD, partner
from .cards import drawn
from .options import KINDS
from .seven import packed

ODD = np.uint64(1)

room_for_seats = room(np.int64, lambda game: game.seats)


# Who sees what -----------------------------------------------------------------------------------


@rule
def sees_hand(s, seat, player):
    """Whether a seat sees the hand of a player, and so what the player gives and throws away."""
    return seat == player or s.shown[player] != 0


@rule
def delivered(s):
    """Whether the cards of an exchange have changed hands: everybody has given one."""
    for player in range(s.given.shape[0]):
        if s.given[player] == NO_CARD:
            return False
    return True


@rule
def knows_gift(s, seat, giver):
    """Whether a seat knows which card `giver` has given away in this round."""
    if sees_hand(s, seat, giver):
        return True
    return delivered(s) and sees_hand(s, seat, partner(s, giver))


@rule
def cards_laid(s, player):
    """How many cards a player has played in this round."""
    n = 0
    while n < MOST_CARDS and s.laid[player, n] != NO_CARD:
        n += 1
    return n


@rule
def sure_card(s, seat, player):
    """The kind that a seat knows a player with a hidden hand to have got as a gift, or NO_CARD.

    Once the player has played that kind, nobody knows which card it was.
    """
    if not s.teams or not delivered(s):
        return NO_CARD
    giver = partner(s, player)
    kind = int(s.given[giver])
    if not knows_gift(s, seat, giver):
        return NO_CARD
    for i in range(MOST_CARDS):
        if s.laid[player, i] == kind:
            return NO_CARD
    return kind


def lay_open(states):
    """Show all hands, as if the game had begun so."""
    states["shown"], states["hidden_per_mille"], states["shows_drawn"] = 1, 0, 0


# Re-dealing --------------------------------------------------------------------------------------


@rule
def redeal(s, seat, rng):
    """Deal anew what a seat does not know. Where nothing else is said, cards are equally likely."""
    thrown, on_the_way = room_for_seats(s), s.teams != 0 and not delivered(s)
    players = s.pins.shape[0]
    for player in range(players):
        thrown[player] = 0
        if not sees_hand(s, seat, player):
            thrown[player] = pool(s, player, on_the_way)
    for player in range(players):
        if not sees_hand(s, seat, player):
            keep_sure_card(s, seat, player, thrown)
    for player in range(players):
        if not sees_hand(s, seat, player):
            fill_again(s, player, int(thrown[player]), on_the_way, rng)
    for giver in range(players if s.teams and not on_the_way else 0):
        if not knows_gift(s, seat, giver):
            s.given[giver] = some_card(s, partner(s, giver), rng)


@rule
def pool(s, player, on_the_way):
    """Put the secret cards of a player into the deck; returns how many it had thrown away."""
    thrown = 0
    for kind in range(KINDS):
        hand, away = int(s.hands[player, kind]), int(s.thrown[player, kind])
        s.deck[kind] += hand + away
        s.in_deck += hand + away
        s.hands[player, kind] = s.thrown[player, kind] = 0
        thrown += away
    if on_the_way and s.given[player] != NO_CARD:
        s.deck[s.given[player]] += 1
        s.in_deck += 1
    return thrown


@rule
def keep_sure_card(s, seat, player, thrown):
    """Give a player back the card that the seat knows it to have: in hand, or thrown away."""
    kind = sure_card(s, seat, player)
    if kind == NO_CARD:
        return
    if s.held[player] > 0:
        s.hands[player, kind] = 1
    elif thrown[player] > 0:
        s.thrown[player, kind] = 1
    else:
        return
    s.deck[kind] -= 1
    s.in_deck -= 1


@rule
def fill_again(s, player, thrown, on_the_way, rng):
    """Deal a player as many cards as it had everywhere."""
    in_hand, away = 0, 0
    for kind in range(KINDS):
        in_hand += int(s.hands[player, kind])
        away += int(s.thrown[player, kind])
    for _ in range(int(s.held[player]) - in_hand):
        s.hands[player, taken(s, rng)] += 1
    for _ in range(thrown - away):
        s.thrown[player, taken(s, rng)] += 1
    if on_the_way and s.given[player] != NO_CARD:
        s.given[player] = taken(s, rng)


@rule
def taken(s, rng):
    kind = drawn(s.deck, int(s.in_deck), rng)
    s.deck[kind] -= 1
    s.in_deck -= 1
    return kind


@rule
def some_card(s, player, rng):
    """A card of the round that a player may have got as a gift: laid, held or thrown away."""
    n = cards_laid(s, player)
    i = below(rng, int(s.dealt_size))
    if i < n:
        return int(s.laid[player, i])
    if s.held[player] > 0:
        return drawn(s.hands[player], int(s.held[player]), rng)
    away = 0
    for kind in range(KINDS):
        away += int(s.thrown[player, kind])
    return drawn(s.thrown[player], away, rng)


# Knowing -----------------------------------------------------------------------------------------


@rule
def with_board(s, seat):
    """A hash of what all games have in common."""
    hashed = mix(np.uint64(seat + 1), int(s.plies) << 8 | int(s.phase) << 4 | int(s.mover))
    for player in range(s.pins.shape[0]):
        hashed = mix(hashed, packed(s, player))
    return hashed


@rule
def known_steps(s, seat):
    """Without cards nothing is hidden."""
    hashed = mix(with_board(s, seat), int(s.die))
    for player in range(s.stock.shape[0]):
        stock = 0
        for value in range(s.stock.shape[1]):
            stock = stock << 3 | int(s.stock[player, value])
        hashed = mix(hashed, stock)
    return hashed | ODD


@rule
def known_cards(s, seat):
    hashed, rest = with_board(s, seat), 0
    hashed = mix(hashed, (int(s.in_deck) << 8 | int(s.to_deal)) << 8 | int(s.dealt_size))
    hashed = mix(hashed, (int(s.round_starter) << 8 | int(s.shows_drawn)) << 8 | int(s.last) + 1)
    hashed = with_counts(hashed, s.played)
    for player in range(s.pins.shape[0]):
        rest = int(s.held[player]) << 1 | int(s.shown[player])
        for i in range(MOST_CARDS):
            rest = rest << 4 | int(s.laid[player, i]) + 1
        gift = int(s.given[player]) if knows_gift(s, seat, player) else NO_CARD
        given = 1 if s.given[player] != NO_CARD else 0
        hashed = mix(hashed, (rest << 4 | gift + 1) << 1 | given)
        if sees_hand(s, seat, player):
            hashed = with_counts(with_counts(hashed, s.hands[player]), s.thrown[player])
    return hashed | ODD


@rule
def with_counts(hashed, cards):
    """A hash with cards added: four bits per kind."""
    packed_cards = 0
    for kind in range(KINDS):
        packed_cards = packed_cards << 4 | int(cards[kind])
    return mix(hashed, packed_cards)
