"""What a seat knows of a game of Dominion, and deals that it could be true in.

Everybody sees the supply, the trash, cards in play, set aside and discarded, and every gain: what
a seat owns is never a secret, only where its cards are. Secret are hands, as far as they have not
been shown, decks, but for cards put or seen on top, and cards that somebody looks at alone.
"""

from __future__ import annotations

import numpy as np

from ...chance import mix
from ...game import room, rule
from .cards import ACTION, COPPER, TREASURE
from .catalogue import CARDS
from .effects import YES_NO
from .resolve import put_question
from .rules import any_card, decides_alone, offer_phase, single
from .zones import BUY_PHASE, LIMBO, NONE, PUTS_ON_DECK, SLOTS

ODD = np.uint64(1)
MONEYLENDER = next(card.id for card in CARDS.values() if card.name == "Moneylender")
ATTEMPTS = 1000  # to deal cards that make sense of a question; most need a few

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
    if s.seat < 0:  # what could be chosen at the last decision tells of a hand
        for family in range(s.can.shape[0]):
            s.can[family] = 0


@rule
def redeal_decider(s, decider, seat, rng):
    """Whether a seat is asked can depend on its cards, and everybody sees that it is asked.

    So its cards are dealt until the question makes sense. Where that fails for ever, the question
    itself gives the cards away, and they stay as they are.
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
        if looks_alone(s, decider) and s.depth > 0 and s.job[k] == YES_NO:
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
    if s.depth > 0 and s.job[k] == YES_NO:
        if looks_alone(s, decider):  # a Library asks about Actions
            return s.types[s.low[k]] & ACTION != 0
        return s.card[s.source[k]] != MONEYLENDER or s.hand[decider, COPPER] > 0
    if s.depth == 0 and s.phase == BUY_PHASE and s.auto_treasures:
        for slot in range(SLOTS):  # which have all been played
            if s.hand[decider, slot] > 0 and s.types[slot] & TREASURE:
                return False
    return put_again(s) and not (decides_alone(s) and single(s) != NONE)


@rule
def put_again(s):
    """Put the question to the seat to move once more: 1, or 0 where there is nothing to choose."""
    if s.depth == 0:
        offer_phase(s, int(s.player))
        return 1
    k = int(s.depth) - 1
    return put_question(s, k, int(s.job[k]))


@rule
def forget_choices(s, other):
    """A seat remembers which cards it has put on its deck unseen. Its memory must not tell."""
    for i in range(s.acted.shape[1]):
        if s.acted[other, i, 0] == PUTS_ON_DECK:
            s.acted[other, i, 1] = 0


@rule
def looks_alone(s, owner):
    return s.in_limbo > 0 and s.limbo_of == owner and s.limbo_open == 0


@rule
def pool_secrets(s, owner, seat):
    """Put what `seat` does not know of a deck and of a hand among the unordered cards.

    The places stay: `hand_size`, `tops` and `in_limbo` say how many cards are to come back.
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
    """Fill the places again, every card as likely in any of them."""
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
    """Everybody's knowledge and the seat's own. What follows from it is not told twice.

    `plies` tells that somebody has decided, where nothing else of a decision can be seen.
    """
    told = np.uint64(seat + 1)
    told = mix(told, (int(s.plies) << 8 | int(s.seat) + 2) << 8 | int(s.phase) << 4 | int(s.player))
    told = mix(told, (int(s.actions) << 16 | int(s.buys)) << 16 | int(s.coins))
    told = mix(told, (int(s.silvers) << 16 | int(s.silver_bonus)) << 8 | int(s.has_bought))
    for slot in range(SLOTS):
        told = mix(told, int(s.card[slot]) + 1 << 8 | int(s.supply[slot]))
    for each in range(s.hand.shape[0]):
        told = seat_told(s, told, each, seat)
    told = zone_told(told, s.hand[seat])
    told = history_told(told, s.acted[seat])
    told = history_told(told, s.gained[seat])
    told = history_told(told, s.past[seat])
    return stack_told(s, told, seat) | ODD


@rule
def seat_told(s, told, owner, seat):
    """What `seat` knows of the cards and the turns of `owner`."""
    told = zone_told(told, s.owned[owner])
    told = zone_told(told, s.discards[owner])
    told = zone_told(told, s.in_play[owner])
    told = zone_told(told, s.aside[owner])
    told = zone_told(told, s.shown[owner])
    told = history_told(told, s.events[owner])
    told = mix(told, (int(s.hand_size[owner]) << 16 | int(s.deck_size[owner])) << 16)
    for i in range(s.tops[owner]):
        knows = int(s.top_seen[owner, i]) >> seat & 1
        told = mix(told, i << 8 | (int(s.top[owner, i]) + 1 if knows else 0))
    for what in range(s.stat.shape[1]):
        told = mix(told, what << 16 | int(s.stat[owner, what]) & 0xFFFF)
    return mix(told, int(s.last_coins[owner]) << 16 | int(s.turns[owner]))


@rule
def zone_told(told, zone):
    """Seven bits a slot, nine slots a number."""
    first, second = 0, 0
    for slot in range(9):
        first = first << 7 | int(zone[slot])
    for slot in range(9, SLOTS):
        second = second << 7 | int(zone[slot])
    return mix(mix(told, first), second)


@rule
def history_told(told, entries):
    """Twelve bits a number, an entry at a time."""
    for i in range(entries.shape[0]):
        packed = 0
        for k in range(entries.shape[1]):
            packed = packed << 12 | int(entries[i, k]) & 0xFFF
        told = mix(told, packed)
    return told


@rule
def stack_told(s, told, seat):
    """The frames, what the top one has chosen, and cards looked at in sight of the seat."""
    for k in range(s.depth):
        mine = s.who[k] == seat or s.job[k] != YES_NO  # a Library does not tell what it is about
        low = int(s.low[k]) if mine else 0
        frame = ((int(s.job[k]) << 8 | int(s.who[k])) << 8 | int(s.source[k]) + 1) << 8
        frame = ((frame | int(s.done[k])) << 8 | low) << 8 | int(s.safe[k])
        told = mix(told, frame << 8 | int(s.most[k]))
    if s.depth > 0 and s.done[s.depth - 1] > 0:
        told = zone_told(told, s.selected)
    for i in range(s.in_limbo):
        sees = s.limbo_open or s.limbo_of == seat
        told = mix(told, i << 8 | (int(s.limbo[i]) + 1 if sees else 0))
    return told
