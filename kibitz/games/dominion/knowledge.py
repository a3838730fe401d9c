"""What a seat of Dominion knows, and other deals that it must think possible.

Everybody sees the supply, the trash, cards in play, set aside and discarded, and every gain: what
a seat owns is never a secret, only where its cards are. Secret are hands, except for cards shown;
decks, except for cards put or seen on top; and cards that a seat looks at alone.
"""

from __future__ import annotations

import numpy as np

from ...chance import mix
from ...game import room, rule
from . import jobs
from .cards import ACTION, COPPER, TREASURE
from .catalogue import CARDS
from .resolve import put_question
from .rules import any_card, decides_alone, offer_phase, single
from .zones import BUY_PHASE, LIMBO, NONE, PUTS_ON_DECK, SLOTS

ODD = np.uint64(1)
MONEYLENDER = next(card.id for card in CARDS.values() if card.name == "Moneylender")
ATTEMPTS = 1000  # to deal cards that fit a question; most questions need a few

room_for_cards = room(np.int8, lambda game: SLOTS + LIMBO)


# Re-dealing --------------------------------------------------------------------------------------


@rule
def redeal(s, seat, rng):
    """Shuffle what a seat cannot know."""
    for other in range(s.hand.shape[0]):
        if other != seat:
            forget_choices(s, other)
        if other == s.seat and other != seat:
            redeal_decider(s, other, seat, rng)
        else:
            pool_secrets(s, other, seat)
            deal_secrets(s, other, seat, rng)
    if s.seat < 0:  # the choices of the last decision would reveal a hand
        for family in range(s.can.shape[0]):
            s.can[family] = 0


@rule
def redeal_decider(s, decider, seat, rng):
    """Re-deal a seat that is asked: everybody sees the question, and it can depend on the cards.

    So cards are dealt until the question makes sense. If no attempt succeeds, the question itself
    gives the cards away, and they stay as they are.
    """
    k = max(int(s.depth) - 1, 0)
    about, true = int(s.low[k]), room_for_cards(s)
    for slot in range(SLOTS):
        true[slot] = s.hand[decider, slot]
    for i in range(LIMBO):
        true[SLOTS + i] = s.limbo[i]
    for _ in range(ATTEMPTS):
        pool_secrets(s, decider, seat)
        deal_secrets(s, decider, seat, rng)
        if looks_alone(s, decider) and s.depth > 0 and s.job[k] == jobs.YES_NO:
            s.low[k] = s.limbo[0]
        if makes_sense(s, decider, k):
            return
    s.low[k] = about
    pool_secrets(s, decider, seat)
    take_again(s, decider, true)
    deal_tops(s, decider, seat, rng)
    put_again(s)


@rule
def take_again(s, decider, true):
    """Take the true hand, and cards looked at alone, out of the unordered deck."""
    for slot in range(SLOTS):
        cards = int(true[slot]) - int(s.hand[decider, slot])
        s.hand[decider, slot] += cards
        s.deck[decider, slot] -= cards
        s.deck_size[decider] -= cards
    if looks_alone(s, decider):
        for i in range(s.in_limbo):
            s.limbo[i] = true[SLOTS + i]
            s.deck[decider, s.limbo[i]] -= 1
            s.deck_size[decider] -= 1


@rule
def makes_sense(s, decider, k):
    """Whether the seat to move, with the cards that it has now, would be asked what it is asked."""
    if s.depth > 0 and s.job[k] == jobs.YES_NO:
        if looks_alone(s, decider):  # a Library asks about Actions
            return s.types[s.low[k]] & ACTION != 0
        return s.card[s.source[k]] != MONEYLENDER or s.hand[decider, COPPER] > 0
    if s.depth == 0 and s.phase == BUY_PHASE and s.auto_treasures:
        for slot in range(SLOTS):  # all have been played
            if s.hand[decider, slot] > 0 and s.types[slot] & TREASURE:
                return False
    return put_again(s) and not (decides_alone(s) and single(s) != NONE)


@rule
def put_again(s):
    """Ask the seat to move once more: 1, or 0 if there is nothing to choose."""
    if s.depth == 0:
        offer_phase(s, int(s.player))
        return 1
    k = int(s.depth) - 1
    return put_question(s, k, int(s.job[k]))


@rule
def forget_choices(s, other):
    """Erase from a seat's history which cards it has put on its deck unseen."""
    for i in range(s.acted.shape[1]):
        if s.acted[other, i, 0] == PUTS_ON_DECK:
            s.acted[other, i, 1] = 0


@rule
def looks_alone(s, owner):
    return s.in_limbo > 0 and s.limbo_of == owner and s.limbo_open == 0


@rule
def pool_secrets(s, owner, seat):
    """Put the cards of `owner` that `seat` does not know among its unordered cards.

    The places stay: `hand_size`, `tops` and `in_limbo` say how many cards to deal again.
    """
    if owner != seat:
        for slot in range(SLOTS):
            s.deck[owner, slot] += int(s.hand[owner, slot]) - int(s.shown[owner, slot])
            s.hand[owner, slot] = s.shown[owner, slot]
        if looks_alone(s, owner):
            for i in range(s.in_limbo):
                s.deck[owner, s.limbo[i]] += 1
    for i in range(s.tops[owner]):
        if int(s.top_seen[owner, i]) >> seat & 1 == 0:
            s.deck[owner, s.top[owner, i]] += 1
    s.deck_size[owner] = total(s.deck[owner])


@rule
def deal_secrets(s, owner, seat, rng):
    """Fill the places again, all cards equally likely in each."""
    deal_tops(s, owner, seat, rng)
    if owner == seat:
        return
    for _ in range(int(s.hand_size[owner]) - total(s.hand[owner])):
        s.hand[owner, drawn(s, owner, rng)] += 1
    if looks_alone(s, owner):
        for i in range(s.in_limbo):
            s.limbo[i] = drawn(s, owner, rng)


@rule
def deal_tops(s, owner, seat, rng):
    for i in range(s.tops[owner]):
        if int(s.top_seen[owner, i]) >> seat & 1 == 0:
            s.top[owner, i] = drawn(s, owner, rng)


@rule
def total(zone):
    n = 0
    for slot in range(SLOTS):
        n += int(zone[slot])
    return n


@rule
def drawn(s, owner, rng):
    slot = any_card(s, owner, rng)
    s.deck[owner, slot] -= 1
    s.deck_size[owner] -= 1
    return slot


# Knowing -----------------------------------------------------------------------------------------


@rule
def known(s, seat):
    """What everybody knows and what the seat alone knows, without what follows from it.

    `plies` changes with every decision, also with one that shows nothing else.
    """
    now = (int(s.plies) << 8 | int(s.seat) + 2) << 8 | int(s.phase) << 4 | int(s.player)
    hashed = mix(np.uint64(seat + 1), now)
    hashed = mix(hashed, (int(s.actions) << 16 | int(s.buys)) << 16 | int(s.coins))
    hashed = mix(hashed, (int(s.silvers) << 16 | int(s.silver_bonus)) << 8 | int(s.has_bought))
    for slot in range(SLOTS):
        hashed = mix(hashed, int(s.card[slot]) + 1 << 8 | int(s.supply[slot]))
    for owner in range(s.hand.shape[0]):
        hashed = with_seat(s, hashed, owner, seat)
    hashed = with_zone(hashed, s.hand[seat])
    hashed = with_history(hashed, s.acted[seat])
    hashed = with_history(hashed, s.gained[seat])
    hashed = with_history(hashed, s.past[seat])
    return with_stack(s, hashed, seat) | ODD


@rule
def with_seat(s, hashed, owner, seat):
    """A hash with what `seat` knows of the cards and the turns of `owner` added."""
    hashed = with_zone(hashed, s.owned[owner])
    hashed = with_zone(hashed, s.discards[owner])
    hashed = with_zone(hashed, s.in_play[owner])
    hashed = with_zone(hashed, s.aside[owner])
    hashed = with_zone(hashed, s.shown[owner])
    hashed = with_history(hashed, s.events[owner])
    hashed = mix(hashed, (int(s.hand_size[owner]) << 16 | int(s.deck_size[owner])) << 16)
    for i in range(s.tops[owner]):
        knows = int(s.top_seen[owner, i]) >> seat & 1
        hashed = mix(hashed, i << 8 | (int(s.top[owner, i]) + 1 if knows else 0))
    for what in range(s.stat.shape[1]):
        hashed = mix(hashed, what << 16 | int(s.stat[owner, what]) & 0xFFFF)
    return mix(hashed, int(s.last_coins[owner]) << 16 | int(s.turns[owner]))


@rule
def with_zone(hashed, zone):
    """A hash with a zone added: seven bits per slot, nine slots per number."""
    first, second = 0, 0
    for slot in range(9):
        first = first << 7 | int(zone[slot])
    for slot in range(9, SLOTS):
        second = second << 7 | int(zone[slot])
    return mix(mix(hashed, first), second)


@rule
def with_history(hashed, entries):
    """A hash with a history added: one number per entry, twelve bits per field."""
    for i in range(entries.shape[0]):
        packed = 0
        for k in range(entries.shape[1]):
            packed = packed << 12 | int(entries[i, k]) & 0xFFF
        hashed = mix(hashed, packed)
    return hashed


@rule
def with_stack(s, hashed, seat):
    """A hash with the frames, the choices of the top one, and the cards looked at added."""
    for k in range(s.depth):
        # Which card a Library asks about is known to its player alone.
        low = int(s.low[k]) if s.who[k] == seat or s.job[k] != jobs.YES_NO else 0
        frame = ((int(s.job[k]) << 8 | int(s.who[k])) << 8 | int(s.source[k]) + 1) << 8
        frame = ((frame | int(s.done[k])) << 8 | low) << 8 | int(s.safe[k])
        hashed = mix(hashed, frame << 8 | int(s.most[k]))
    if s.depth > 0 and s.done[s.depth - 1] > 0:
        hashed = with_zone(hashed, s.selected)
    for i in range(s.in_limbo):
        sees = s.limbo_open or s.limbo_of == seat
        hashed = mix(hashed, i << 8 | (int(s.limbo[i]) + 1 if sees else 0))
    return hashed
