"""What a seat may see of Beasty Bar, and what it may not."""

from __future__ import annotations

import numpy as np

from ...chance import mix
from ...game import layout, rule
from ...records import RecordType
from .cards import (
    ALPHABETICAL_TABLE,
    FULL_QUEUE,
    HAND,
    LION,
    at,
    count,
    drawn,
    joined,
    length,
    owner,
    points,
    species,
)
from .rules import WAYS

ODD = np.uint64(1)


def view(players: int) -> RecordType:
    """Two seats see 988 numbers; with more there are more rows of the same kinds.

    A row of 17 is a place for a card: whether there is one; its owner, 1 for the seat that looks, 0
    for any other, 0.5 without a card; the species, one-hot in alphabetical order; strength / 12;
    points / 4; and the place itself from 0 to 1, with or without a card.
    """
    return layout(
        ("queue", (FULL_QUEUE, 17)),  # from the gate
        ("bar", (12 * players, 17)),  # in order of arrival
        ("thats_it", (12 * players, 17)),  # likewise
        ("hand", (HAND, 17)),  # the seat's own, by slot
        # The other hands, next seat first: whether the slot has a card, slot / 3, and 0.
        ("opponent", (HAND * (players - 1), 3)),
        # By seat pile / 12, then by seat hand / 4, own first and then round the table; whether the
        # seat plays next; turns / 100; queue / 5.
        ("scalars", 2 * players + 3),
    )


@rule
def clear(rows):
    """Empty a zone. A row that showed no card is empty already, except for its place."""
    step = 1 / (rows.shape[0] - 1)
    for i in range(rows.shape[0]):
        if rows[i, 0] != 0:
            for k in range(rows.shape[1]):
                rows[i, k] = 0
        rows[i, 1] = 0.5
        rows[i, 16] = i * step


@rule
def show(rows, i, card, seat):
    """Show a card in an empty row."""
    rows[i, 0] = 1
    rows[i, 1] = 1 if owner(card) == seat else 0
    rows[i, 2 + (ALPHABETICAL_TABLE >> 4 * species(card) & 15)] = 1
    rows[i, 14] = species(card) / LION
    rows[i, 15] = points(card) / 4


@rule
def observe(s, seat, view):
    clear(view.queue)
    clear(view.bar)
    clear(view.thats_it)
    clear(view.hand)
    for i in range(length(int(s.queue))):
        show(view.queue, i, at(int(s.queue), i), seat)
    for i in range(s.entered):
        show(view.bar, i, int(s.bar[i]), seat)
    for i in range(s.thrown):
        show(view.thats_it, i, int(s.thats_it[i]), seat)
    for slot in range(length(int(s.hand[seat]))):
        show(view.hand, slot, at(int(s.hand[seat]), slot), seat)
    observe_sizes(s, seat, view)


@rule
def observe_sizes(s, seat, view):
    """The numbers of cards that everybody sees."""
    players = s.hand.shape[0]
    for k in range(players):
        who = (seat + k) % players
        held = length(int(s.hand[who]))
        view.scalars[k] = count(int(s.pile[who])) / 12
        view.scalars[players + k] = held / HAND
        for slot in range(HAND if k > 0 else 0):
            view.opponent[HAND * (k - 1) + slot, 0] = 1 if slot < held else 0
            view.opponent[HAND * (k - 1) + slot, 1] = slot / (HAND - 1)
    view.scalars[2 * players] = 1 if s.seat == seat else 0
    view.scalars[2 * players + 1] = int(s.turns) / 100
    view.scalars[2 * players + 2] = length(int(s.queue)) / FULL_QUEUE


@rule
def dealt_anew(s, seat, rng):
    """Another hand and pile for a seat, of the same sizes and from the same cards."""
    hand, pile = int(s.hand[seat]), int(s.pile[seat])
    held = length(hand)
    for slot in range(held):
        pile |= 1 << species(at(hand, slot))
    hand = 0
    for _ in range(held):
        kind = drawn(pile, rng)
        pile &= ~(1 << kind)
        hand = joined(hand, 16 * seat + kind)
    return hand, pile


@rule
def redeal(s, seat, rng):
    """Hidden is which of its cards another seat holds. The own pile is a set and stays."""
    for other in range(s.hand.shape[0]):
        if other != seat:
            s.hand[other], s.pile[other] = dealt_anew(s, other, rng)


@rule
def with_zone(hashed, cards, n):
    """A hash with a zone added: its cards in order of arrival, ten per number."""
    packed = 0
    for i in range(n):
        packed = packed << 6 | int(cards[i])
        if i % 10 == 9 or i == n - 1:
            hashed = mix(hashed, packed)
            packed = 0
    return hashed


@rule
def known(s, seat):
    """What other seats have left, and how many cards they hold, follows from this."""
    piled = 0  # so many draws are left: the order of seats is fixed, so this says who has drawn
    for who in range(s.pile.shape[0]):
        piled += count(int(s.pile[who]))
    counts = (int(s.entered) << 6 | int(s.thrown)) << 6 | piled
    hashed = mix(mix(seat, s.queue), counts << 32 | int(s.hand[seat]))
    return with_zone(with_zone(hashed, s.bar, s.entered), s.thats_it, s.thrown) | ODD


@rule
def label(s, action):
    """The species and the way it is played. The slot that it comes from stays hidden."""
    card = at(int(s.hand[s.seat]), int(action) // WAYS)
    return WAYS * species(card) + int(action) % WAYS
