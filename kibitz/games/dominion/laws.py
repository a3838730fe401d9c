"""Which positions of Dominion are possible, and what is wrong with the others.

A position from outside is played by compiled rules, which check nothing. So what passes here must
keep every index within its array and must come to an end, even if no sensible game leads to it.
"""

from __future__ import annotations

import numpy as np

from ...game import CHANCE, OVER, room, rule
from . import jobs
from .cards import ACTION, ATTACK, BASIC, COPPER, ESTATE, TYPES
from .catalogue import CARDS, COST, GIVES, KINGDOM_CARDS, VP
from .catalogue import TYPES as PRINTED_TYPES
from .knowledge import put_again, total
from .resolve import GIVEN
from .rules import CHOICE, KINGDOM, decides_alone, in_kingdom, is_over, pile_size, single
from .zones import (
    ACTION_PHASE,
    BUY_PHASE,
    DEPTH,
    DRAW_FIRST,
    DRAW_KINGDOM,
    ENDS_PHASE,
    LIMBO,
    NONE,
    SLOTS,
    TO_DECK,
    TOPS,
    TURN_ENDS,
    everybody,
)

FLAWS = (
    "the rules and, where it is given, the kingdom are those of the options",
    "a kingdom is ten different cards in the order of their numbers",
    "the piles have what is printed on their cards",
    "known cards on a deck and cards looked at are cards of this game, with nothing behind them",
    "every card of the game is in one place, and what is counted of hands and decks is right",
    "the stack holds plays, and above them questions and draws of the cards that ask for them",
    "the cards looked at belong to the question on top of the stack",
    "numbers of the turn are not negative, and not beyond what a turn can bring",
    "histories hold what can happen, with cards of this game",
    "it is the turn of whoever has to decide, of chance, or of nobody at the end",
    "the seat to move may do what its cards allow",
)

PLAYS_PENDING = 12  # ten Throne Rooms, the current play, and one to spare
QUESTIONS = 8  # frames above those: one for each victim of an Attack, and a few
MANY = 10_000  # more than any number of a turn

# The questions that a card can ask. Besides, every card can deal cards, and every Attack can be
# reacted to.
ASKS = {
    "Artisan": (jobs.GAIN, jobs.TOPDECK),
    "Bandit": (jobs.LOOK, jobs.TRASH_LOOKED),
    "Bureaucrat": (jobs.TOPDECK,),
    "Cellar": (jobs.DISCARD,),
    "Chapel": (jobs.TRASH,),
    "Harbinger": (jobs.TOPDECK_DISCARDED,),
    "Library": (jobs.LOOK, jobs.YES_NO),
    "Militia": (jobs.DISCARD,),
    "Mine": (jobs.TRASH, jobs.GAIN),
    "Moneylender": (jobs.YES_NO,),
    "Poacher": (jobs.DISCARD,),
    "Remodel": (jobs.TRASH, jobs.GAIN),
    "Sentry": (jobs.LOOK, jobs.TRASH_LOOKED, jobs.DISCARD_LOOKED, jobs.ORDER_LOOKED),
    "Throne Room": (jobs.PLAY_FROM_HAND,),
    "Vassal": (jobs.LOOK, jobs.YES_NO),
    "Workshop": (jobs.GAIN,),
}
BY_NAME = {card.name: card.id for card in CARDS.values()}
ASKED_BY = np.zeros(max(CARDS) + 1, np.int32)
for _name, _jobs in ASKS.items():
    ASKED_BY[BY_NAME[_name]] = sum(1 << job for job in _jobs)
LIBRARY, MONEYLENDER = BY_NAME["Library"], BY_NAME["Moneylender"]

room_for_offers = room(np.int32, lambda game: 8)


@rule
def flaw(s, fresh):
    if options_are_flawed(s, fresh):
        return 1
    if kingdom_is_flawed(s, fresh):
        return 2
    if piles_are_flawed(s, fresh):
        return 3
    if lists_are_flawed(s):
        return 4
    if cards_are_flawed(s):
        return 5
    if stack_is_flawed(s):
        return 6
    if limbo_is_flawed(s):
        return 7
    if numbers_are_flawed(s):
        return 8
    if histories_are_flawed(s):
        return 9
    if seat_is_flawed(s):
        return 10
    return 11 if s.seat >= 0 and offers_are_flawed(s) else 0


# The piles ---------------------------------------------------------------------------------------


@rule
def options_are_flawed(s, fresh):
    return (
        s.first != fresh.first
        or s.auto_single != fresh.auto_single
        or s.auto_single_phase != fresh.auto_single_phase
        or s.auto_treasures != fresh.auto_treasures
        or s.copper_supply != fresh.copper_supply
        or s.max_turns != fresh.max_turns
    )


@rule
def kingdom_is_flawed(s, fresh):
    drawn = int(s.kingdom_size)
    if not 0 <= drawn <= KINGDOM or (s.phase == DRAW_KINGDOM) != (drawn < KINGDOM):
        return True
    for slot in range(SLOTS):
        card = int(s.card[slot])
        if slot < BASIC:
            if card != slot:
                return True
        elif slot >= BASIC + drawn:
            if card != NONE:
                return True
        elif not is_kingdom_card(card) or (slot > BASIC and card <= s.card[slot - 1]):
            return True
    return cards_are_not_as_asked(s, fresh)


@rule
def cards_are_not_as_asked(s, fresh):
    """Whether the kingdom lacks a card that was given, or has one that was to stay out of it."""
    for slot in range(BASIC, BASIC + fresh.kingdom_size):
        if not in_kingdom(s, fresh.card[slot]):
            return True
    if fresh.phase == DRAW_KINGDOM:
        for i in range(SLOTS):
            if fresh.vp[i] > 0 and in_kingdom(s, fresh.vp[i] - 1):
                return True
    return False


@rule
def is_kingdom_card(card):
    for i in range(CHOICE):
        if KINGDOM_CARDS[i] == card:
            return True
    return False


@rule
def piles_are_flawed(s, fresh):
    """The table is empty until the kingdom is known."""
    laid_out = s.phase != DRAW_KINGDOM
    for slot in range(SLOTS):
        card = int(s.card[slot])
        if s.types[slot] != (PRINTED_TYPES[card] if laid_out else 0):
            return True
        if s.cost[slot] != (COST[card] if laid_out else 0):
            return True
        if s.vp[slot] != (VP[card] if laid_out else fresh.vp[slot]):
            return True
        for k in range(4):
            if s.gives[slot, k] != (GIVES[card, k] if laid_out else 0):
                return True
        if s.initial[slot] != (pile_size(s, slot) if laid_out else 0):
            return True
    return False


# The cards ---------------------------------------------------------------------------------------


@rule
def lists_are_flawed(s):
    for seat in range(s.hand.shape[0]):
        if not 0 <= s.tops[seat] <= TOPS:
            return True
        for i in range(TOPS):
            slot, seen = int(s.top[seat, i]), int(s.top_seen[seat, i])
            if i >= s.tops[seat] and (slot != 0 or seen != 0):
                return True
            if not 0 <= slot < SLOTS or not 0 <= seen <= everybody(s):
                return True
    if not 0 <= s.in_limbo <= LIMBO or not 0 <= s.limbo_of < s.hand.shape[0]:
        return True
    for i in range(LIMBO):
        if not 0 <= s.limbo[i] < SLOTS or (i >= s.in_limbo and s.limbo[i] != 0):
            return True
    return not 0 <= s.limbo_open <= 1


@rule
def cards_are_flawed(s):
    players = s.hand.shape[0]
    for slot in range(SLOTS):
        cards = int(s.supply[slot]) + int(s.trash[slot])
        if s.supply[slot] < 0 or s.trash[slot] < 0 or s.selected[slot] < 0:
            return True
        for seat in range(players):
            held = cards_held(s, seat, slot)
            if held < 0 or s.owned[seat, slot] != held:
                return True
            cards += held
        dealt = 7 if slot == COPPER else 3 if slot == ESTATE else 0
        if cards != (int(s.initial[slot]) + players * dealt if s.phase != DRAW_KINGDOM else 0):
            return True
    for seat in range(players):
        if s.hand_size[seat] != total(s.hand[seat]) or s.deck_size[seat] != total(s.deck[seat]):
            return True
        if s.discards_size[seat] != total(s.discards[seat]):
            return True
    return False


@rule
def cards_held(s, seat, slot):
    """How many cards of a slot a seat has in all its zones; -1 if a zone has a negative count."""
    hand, deck, discards = int(s.hand[seat, slot]), int(s.deck[seat, slot]), s.discards[seat, slot]
    in_play, aside, shown = s.in_play[seat, slot], s.aside[seat, slot], s.shown[seat, slot]
    if hand < 0 or deck < 0 or discards < 0 or in_play < 0 or aside < 0:
        return -1
    if not 0 <= shown <= hand:
        return -1
    cards = hand + deck + int(discards) + int(in_play) + int(aside)
    for i in range(s.tops[seat]):
        cards += 1 if s.top[seat, i] == slot else 0
    for i in range(s.in_limbo if s.limbo_of == seat else 0):
        cards += 1 if s.limbo[i] == slot else 0
    return cards


# The stack ---------------------------------------------------------------------------------------


@rule
def stack_is_flawed(s):
    """Plays lie at the bottom; the frames above them end before the next play continues."""
    if not 0 <= s.depth <= PLAYS_PENDING + QUESTIONS:
        return True
    plays = 0
    for k in range(DEPTH):
        if k >= s.depth:
            if not is_blank(s, k):
                return True
        else:
            if s.job[k] == jobs.PLAY:
                if plays < k:
                    return True
                plays += 1
            if frame_is_flawed(s, k):
                return True
            if s.job[k] == jobs.REACT and plays == 0:
                return True
    return plays > PLAYS_PENDING or s.depth - plays > QUESTIONS


@rule
def is_blank(s, k):
    numbers = int(s.job[k]) | int(s.who[k]) | int(s.source[k]) | int(s.done[k]) | int(s.least[k])
    numbers |= int(s.most[k]) | int(s.low[k]) | int(s.wanted[k]) | int(s.limit[k])
    return numbers | int(s.paid[k]) | int(s.to[k]) | int(s.open[k]) | int(s.safe[k]) == 0


@rule
def frame_is_flawed(s, k):
    job, source = int(s.job[k]), int(s.source[k])
    if not 0 <= s.who[k] < s.hand.shape[0] or not NONE <= source < SLOTS:
        return True
    if not (0 <= s.done[k] < 100 and 0 <= s.least[k] < 100 and 0 <= s.most[k] < 100):
        return True
    if not (0 <= s.low[k] < SLOTS and 0 <= s.wanted[k] < 1 << TYPES and s.limit[k] >= 0):
        return True
    if not (s.paid[k] >= 0 and 0 <= s.to[k] <= TO_DECK and 0 <= s.open[k] <= 1):
        return True
    if not 0 <= s.safe[k] <= everybody(s):
        return True
    if job == jobs.DRAW:
        return False
    if source == NONE or s.phase < ACTION_PHASE:
        return True
    if job == jobs.PLAY:
        return s.types[source] & ACTION == 0 or s.done[k] > GIVEN or s.who[k] != s.player
    if job == jobs.REACT:  # asked once, or it would never end
        return s.types[source] & ATTACK == 0 or s.most[k] != 1 or s.done[k] != 0
    if not 0 < job <= jobs.LOOK or int(ASKED_BY[s.card[source]]) >> job & 1 == 0:
        return True
    on_top = job in (jobs.YES_NO, jobs.TRASH_LOOKED, jobs.DISCARD_LOOKED, jobs.ORDER_LOOKED)
    return on_top and k != s.depth - 1


@rule
def limbo_is_flawed(s):
    """Cards are looked at only for a question or while more are turned over."""
    k = int(s.depth) - 1
    job = int(s.job[k]) if k >= 0 else 0
    for below in range(k):
        if s.job[below] == jobs.LOOK and s.most[below] > LIMBO:
            return True
    if job == jobs.LOOK and s.in_limbo + s.most[k] > LIMBO:
        return True
    if job == jobs.YES_NO:
        return question_is_flawed(s, k, int(s.who[k]))
    looked_at = job in (jobs.TRASH_LOOKED, jobs.DISCARD_LOOKED, jobs.ORDER_LOOKED)
    if s.in_limbo == 0:
        return looked_at
    return not (looked_at or job == jobs.LOOK) or s.limbo_of != s.who[k]


@rule
def question_is_flawed(s, k, seat):
    """A yes or no is about an Action looked at, a Copper in hand, or an Action just discarded."""
    about, source = int(s.low[k]), int(s.card[s.source[k]])
    if source == LIBRARY:
        alone = s.in_limbo == 1 and s.limbo_of == seat and s.limbo[0] == about
        return not alone or s.types[about] & ACTION == 0
    if s.in_limbo != 0:
        return True
    if source == MONEYLENDER:
        return about != COPPER or s.hand[seat, COPPER] == 0
    return s.discards[seat, about] == 0 or s.types[about] & ACTION == 0


# The turn ----------------------------------------------------------------------------------------


@rule
def numbers_are_flawed(s):
    players = s.hand.shape[0]
    if not (0 <= s.actions < MANY and 0 <= s.buys < MANY and 0 <= s.coins < MANY):
        return True
    if not (0 <= s.silvers < MANY and 0 <= s.silver_bonus < MANY and 0 <= s.plies < 1 << 30):
        return True
    if not (0 <= s.has_bought <= 1 and 0 <= s.truncated <= 1 and 0 <= s.player < players):
        return True
    for seat in range(players):
        if not 0 <= s.turns[seat] <= s.max_turns or not 0 <= s.last_coins[seat] < MANY:
            return True
        for what in range(s.stat.shape[1]):
            if not -MANY < s.stat[seat, what] < MANY:
                return True
    return False


@rule
def histories_are_flawed(s):
    for seat in range(s.hand.shape[0]):
        if not (0 <= s.acted_count[seat] < 1 << 30 and 0 <= s.events_count[seat] < 1 << 30):
            return True
        if not (0 <= s.gained_count[seat] < 1 << 30 and 0 <= s.past_count[seat] < 1 << 30):
            return True
        for i in range(s.acted.shape[1]):
            if happening_is_flawed(s.acted[seat, i]):
                return True
        for i in range(s.events.shape[1]):
            if happening_is_flawed(s.events[seat, i]):
                return True
        for i in range(s.gained.shape[1]):
            if not 0 <= s.gained[seat, i, 0] <= SLOTS:
                return True
    return False


@rule
def happening_is_flawed(entry):
    return not (0 <= entry[0] <= ENDS_PHASE and 0 <= entry[1] <= SLOTS and 0 <= entry[2] <= SLOTS)


@rule
def seat_is_flawed(s):
    if not DRAW_KINGDOM <= s.phase <= TURN_ENDS:
        return True
    if s.phase <= DRAW_FIRST:
        return s.seat != CHANCE or s.depth != 0
    if s.depth > 0:
        k = int(s.depth) - 1
        seat = int(s.who[k])
        if s.job[k] == jobs.DRAW or s.job[k] == jobs.LOOK:
            waits = s.most[k] > 0 and s.tops[seat] == 0 and s.deck_size[seat] > 0
            return s.seat != CHANCE or not waits
        return s.seat != seat or s.job[k] == jobs.PLAY or s.phase < ACTION_PHASE
    if s.phase == TURN_ENDS:
        return s.seat != OVER or not ended(s)
    return s.seat != s.player or not (s.phase == ACTION_PHASE or (s.phase == BUY_PHASE and s.buys))


@rule
def ended(s):
    """Whether the game is over. `is_over` also sets `truncated`, which is set back here."""
    truncated = int(s.truncated)
    following = int(s.player) + 1 if s.player + 1 < s.hand.shape[0] else 0
    over = is_over(s, following)
    s.truncated = truncated
    return over


@rule
def offers_are_flawed(s):
    """Whether the legal actions in the state are not those of the pending question."""
    stated, seat = room_for_offers(s), int(s.seat)
    for family in range(s.can.shape[0]):
        stated[family] = s.can[family]
    flawed = not put_again(s) or s.seat != seat
    if not flawed and decides_alone(s):
        flawed = single(s) != NONE
    for family in range(s.can.shape[0]):
        if s.can[family] != stated[family]:
            flawed = True
        s.can[family] = stated[family]
    s.seat = seat
    return flawed
