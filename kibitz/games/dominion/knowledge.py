"""What a seat knows of a game of Dominion, and deals that it could be true in.

Everybody sees the supply, the trash, cards in play, set aside and discarded, and every gain: what
a seat owns is never a secret, only where its cards are. Secret are hands, as far as they have not
been shown, decks, but for cards put or seen on top, and cards that somebody looks at alone.
"""

from __future__ import annotations

import numpy as np

from ...chance import mix
from ...game import rule
from .effects import YES_NO
from .rules import any_card
from .zones import PUTS_ON_DECK, SLOTS

ODD = np.uint64(1)


# Re-dealing --------------------------------------------------------------------------------------


@rule
def redeal(s, seat, rng):
    """Shuffle what a seat cannot know. A seat that decides keeps its hand and what it looks at.

    For whether it is asked at all can depend on those cards.
    """
    for other in range(s.hand.shape[0]):
        hidden = other != seat and other != s.seat
        if other != seat:
            forget_choices(s, other)
        pool_secrets(s, other, seat, hidden)
        deal_secrets(s, other, seat, hidden, rng)


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
def pool_secrets(s, owner, seat, hidden):
    """Put what `seat` does not know of a deck and, if it is hidden, of a hand among the unordered.

    The places stay: `hand_size`, `tops` and `in_limbo` say how many cards are to come back.
    """
    if hidden:
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
def deal_secrets(s, owner, seat, hidden, rng):
    """Fill the places again, every card as likely in any of them."""
    for i in range(s.tops[owner]):
        if int(s.top_seen[owner, i]) >> seat & 1 == 0:
            s.top[owner, i] = drawn(s, owner, rng)
    if not hidden:
        return
    for _ in range(int(s.hand_size[owner]) - total(s.hand[owner])):
        s.hand[owner, drawn(s, owner, rng)] += 1
    if looks_alone(s, owner):
        for i in range(s.in_limbo):
            s.limbo[i] = drawn(s, owner, rng)


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
