"""The rules of Dominion, in the order they happen at the table: set-up, turns, the end."""

from __future__ import annotations

import numpy as np

from ...chance import below
from ...game import CHANCE, OVER, rule
from . import jobs
from .cards import (
    ACTION,
    ANY,
    BASIC,
    COPPER,
    ESTATE,
    GOLD,
    PROVINCE,
    TREASURE,
    VICTORY,
)
from .catalogue import COST, GIVES, KINGDOM_CARDS, TYPES, VP, play_text, worth
from .effects import draw, push, to_the_left
from .resolve import (
    BUY_CARD,
    CONTROL,
    END_ACTIONS,
    END_BUY,
    FINISH,
    PLAY_ALL_TREASURES,
    PLAY_CARD,
    answer,
    at_least,
    dealt,
    gainable,
    give,
    offer,
    resume,
)
from .zones import (
    ACTION_PHASE,
    BOUGHT,
    BUY_PHASE,
    BUYS_ONE,
    CLEAN_UP,
    DEAL,
    DECLINES,
    DISCARDS,
    DRAW_FIRST,
    DRAW_KINGDOM,
    DRAWN,
    ENDS_PHASE,
    GAINS,
    MADE,
    NONE,
    PLAYED_ACTIONS,
    PLAYED_TREASURES,
    PLAYS,
    POINTS_BEFORE,
    PUTS_ON_DECK,
    REVEALS,
    SAYS,
    SLOTS,
    SPENT,
    TO_DISCARDS,
    TRASHES,
    TURN_ENDS,
    announce,
    clear,
    empty_piles,
    forget_hand,
    gain,
    into_play,
    note,
    slot_of,
)

KINGDOM = SLOTS - BASIC
CHOICE = len(KINGDOM_CARDS)  # cards that a kingdom can be drawn from
IDS = 512  # card ids, chance outcomes, and the width of a family of actions
HAND = 5

# Cards in the supply with 2 to 6 players, by id. Coppers are those that are not in the decks.
PILES = np.array(
    [
        [46, 40, 30, 8, 8, 8, 10],
        [39, 40, 30, 12, 12, 12, 20],
        [32, 40, 30, 12, 12, 12, 30],
        [85, 80, 60, 12, 12, 15, 40],
        [78, 80, 60, 12, 12, 18, 50],
    ],
    np.int8,
)


# Set-up ------------------------------------------------------------------------------------------


@rule
def start(s, options):
    clear(s)
    s.first = options.first
    s.auto_single = options.auto_single
    s.auto_single_phase = options.auto_single_phase
    s.auto_treasures = options.auto_treasures
    s.copper_supply = options.copper_supply
    s.max_turns = options.max_turns
    s.seat = CHANCE
    for slot in range(SLOTS):
        s.card[slot] = slot if slot < BASIC else NONE
    for i in range(KINGDOM):
        if options.kingdom[i] >= 0:
            s.card[BASIC + i] = options.kingdom[i]
            s.kingdom_size += 1
        else:
            s.vp[i] = NONE - options.kingdom[i]
    if s.kingdom_size < KINGDOM:
        s.phase = DRAW_KINGDOM
    else:
        lay_out(s)


@rule
def lay_out(s):
    """The kingdom is known: put the piles on the table and give every seat a deck."""
    players = s.hand.shape[0]
    for slot in range(SLOTS):
        card = int(s.card[slot])
        s.types[slot] = TYPES[card]
        s.cost[slot] = COST[card]
        s.vp[slot] = VP[card]
        for k in range(4):
            s.gives[slot, k] = GIVES[card, k]
        s.initial[slot] = pile_size(s, slot)
        s.supply[slot] = s.initial[slot]
    for seat in range(players):
        s.deck[seat, COPPER] = 7
        s.deck[seat, ESTATE] = 3
        s.deck_size[seat] = 10
        s.owned[seat, COPPER] = 7
        s.owned[seat, ESTATE] = 3
    s.phase = DRAW_FIRST
    if s.first != NONE:
        deal_hands(s, s.first)


@rule
def pile_size(s, slot):
    """How many cards a pile of the supply has at the start."""
    players = s.hand.shape[0]
    if slot == COPPER and s.copper_supply > 0:
        return int(s.copper_supply)
    if slot < BASIC:
        return int(PILES[players - 2, slot])
    if TYPES[s.card[slot]] & VICTORY:
        return 8 if players == 2 else 12
    return 10


@rule
def deal_hands(s, first):
    s.player = first
    s.phase = DEAL
    for steps in range(s.hand.shape[0] - 1, -1, -1):
        draw(s, to_the_left(s, first, steps), NONE, HAND)


# Chance ------------------------------------------------------------------------------------------


@rule
def in_kingdom(s, card):
    for slot in range(BASIC, BASIC + s.kingdom_size):
        if s.card[slot] == card:
            return 1
    return 0


@rule
def is_out(s, card):
    """Whether a card cannot be drawn: it is in the kingdom already, or is to stay out of it."""
    if in_kingdom(s, card):
        return 1
    for i in range(KINGDOM):
        if s.vp[i] == card + 1:
            return 1
    return 0


@rule
def choices(s):
    """How many cards the next one of the kingdom is drawn from."""
    count = 0
    for i in range(CHOICE):
        count += 0 if is_out(s, KINGDOM_CARDS[i]) else 1
    return count


@rule
def odds(s, out):
    for outcome in range(IDS):
        out[outcome] = 0.0
    if s.phase == DRAW_KINGDOM:
        for i in range(CHOICE):
            if not is_out(s, KINGDOM_CARDS[i]):
                out[KINGDOM_CARDS[i]] = 1.0 / choices(s)
    elif s.phase == DRAW_FIRST:
        for seat in range(s.hand.shape[0]):
            out[seat] = 1.0 / s.hand.shape[0]
    else:
        seat = int(s.who[s.depth - 1])
        for slot in range(SLOTS):
            out[s.card[slot]] = s.deck[seat, slot] / s.deck_size[seat]


@rule
def roll(s, rng):
    if s.phase == DRAW_KINGDOM:
        left, i = below(rng, choices(s)), 0
        while left > 0 or is_out(s, KINGDOM_CARDS[i]):
            left -= 0 if is_out(s, KINGDOM_CARDS[i]) else 1
            i += 1
        outcome = int(KINGDOM_CARDS[i])
    elif s.phase == DRAW_FIRST:
        outcome = below(rng, s.hand.shape[0])
    else:
        slot = any_card(s, int(s.who[s.depth - 1]), rng)
        outcome = int(s.card[slot])
        if not dealt(s, slot):
            advance(s)
        return outcome
    set_up_by_chance(s, outcome)
    return outcome


@rule
def any_card(s, seat, rng):
    """The slot of a card drawn from the unordered deck, all cards equally likely."""
    left = below(rng, s.deck_size[seat])
    slot = 0
    while left >= s.deck[seat, slot]:
        left -= int(s.deck[seat, slot])
        slot += 1
    return slot


@rule
def set_up_by_chance(s, outcome):
    """Chance has drawn a kingdom card, whose place follows from its id, or the first seat."""
    if s.phase == DRAW_FIRST:
        deal_hands(s, outcome)
        return
    slot = BASIC + int(s.kingdom_size)
    while slot > BASIC and s.card[slot - 1] > outcome:
        s.card[slot] = s.card[slot - 1]
        slot -= 1
    s.card[slot] = outcome
    s.kingdom_size += 1
    if s.kingdom_size == KINGDOM:
        lay_out(s)


# A turn ------------------------------------------------------------------------------------------


@rule
def begin_turn(s, seat):
    s.player = seat
    s.phase = ACTION_PHASE
    s.turns[seat] += 1
    s.actions = 1
    s.buys = 1
    s.coins = 0
    s.has_bought = 0
    s.silvers = 0
    s.silver_bonus = 0
    for what in range(POINTS_BEFORE):
        s.stat[seat, what] = 0
    s.stat[seat, POINTS_BEFORE] = points(s, seat)


@rule
def proceed(s):
    """No effect is pending: continue the turn. 1 when a seat is asked or the game is over."""
    me = int(s.player)
    if s.phase == ACTION_PHASE or (s.phase == BUY_PHASE and s.buys > 0):
        offer_phase(s, me)
        return 1
    if s.phase == BUY_PHASE:
        s.phase = CLEAN_UP
    if s.phase == CLEAN_UP:
        clean_up(s, me)
        return 0
    if s.phase == TURN_ENDS:
        me = to_the_left(s, me, 1)
        if is_over(s, me):
            s.seat = OVER
            return 1
    begin_turn(s, me)
    return 0


@rule
def offer_phase(s, me):
    """Let a seat choose what to play in its Action phase, or what to buy."""
    if s.phase == BUY_PHASE:
        offer_buys(s, me)
        return
    playable = at_least(s, s.hand[me], 0, ACTION, 1) if s.actions > 0 else 0
    offer(s, me, PLAY_CARD, playable, 1 << END_ACTIONS)


@rule
def offer_buys(s, me):
    treasures = 0 if s.has_bought else at_least(s, s.hand[me], 0, TREASURE, 1)
    controls = 1 << END_BUY
    if treasures:
        controls |= 1 << PLAY_ALL_TREASURES
    offer(s, me, BUY_CARD, gainable(s, int(s.coins), ANY), controls)
    s.can[PLAY_CARD] = treasures


@rule
def play_treasure(s, me, slot):
    into_play(s, me, slot)
    s.stat[me, PLAYED_TREASURES] += 1
    give(s, me, slot)
    play_text(s, me, slot, 0)


@rule
def play_all_treasures(s, me, in_history):
    """Gold, Silver, Copper, then others by id."""
    for i in range(SLOTS):
        slot = GOLD - i if i <= GOLD else i
        if s.hand[me, slot] > 0 and s.types[slot] & TREASURE:
            while s.hand[me, slot] > 0:
                play_treasure(s, me, slot)
                if in_history:
                    announce(s, me, PLAYS, slot, 0)


@rule
def buy(s, me, slot):
    paid = int(s.cost[slot])
    s.coins -= paid
    s.buys -= 1
    s.has_bought = 1
    s.stat[me, BOUGHT] += 1
    s.stat[me, SPENT] += paid
    gain(s, me, slot, TO_DISCARDS, 1)


@rule
def clean_up(s, me):
    for slot in range(SLOTS):
        cards = int(s.in_play[me, slot]) + int(s.hand[me, slot])
        if cards > 0:
            s.discards[me, slot] += cards
            s.discards_size[me] += cards
            s.in_play[me, slot] = 0
            s.hand[me, slot] = 0
    s.hand_size[me] = 0
    forget_hand(s, me)
    remember_turn(s, me)
    s.phase = TURN_ENDS
    draw(s, me, NONE, HAND)


@rule
def remember_turn(s, me):
    entry = s.past[me, int(s.past_count[me]) & 3]
    entry[0] = s.stat[me, PLAYED_ACTIONS]
    entry[1] = s.stat[me, DRAWN]
    entry[2] = s.stat[me, BOUGHT]
    entry[3] = s.stat[me, SPENT]
    entry[4] = points(s, me) - int(s.stat[me, POINTS_BEFORE])
    s.past_count[me] += 1
    s.last_coins[me] = s.stat[me, MADE]


@rule
def is_over(s, following):
    """Whether the game ends, checked between turns only. `following` would play next."""
    if s.supply[PROVINCE] == 0 or empty_piles(s) >= (3 if s.hand.shape[0] < 5 else 4):
        return 1
    s.truncated = 1 if s.turns[following] >= s.max_turns else 0
    return s.truncated


# Decisions ---------------------------------------------------------------------------------------


@rule
def turn(s):
    return int(s.seat)


@rule
def actions(s, out):
    n = 0
    for family in range(CONTROL + 1):
        slots, slot = int(s.can[family]), 0
        while slots:
            if slots & 1:
                out[n] = IDS * family + (slot if family == CONTROL else int(s.card[slot]))
                n += 1
            slots >>= 1
            slot += 1
    return n


@rule
def play(s, action):
    if s.seat != CHANCE:
        family, choice = action // IDS, action % IDS
        s.plies += 1
        decide(s, family, choice if family == CONTROL else slot_of(s, choice))
    elif s.phase < DEAL:
        set_up_by_chance(s, action)
        return
    elif dealt(s, slot_of(s, action)):
        return
    advance(s)


@rule
def advance(s):
    """Continue until a seat must decide, chance must deal, or the game is over."""
    while True:
        asked = resume(s) if s.depth > 0 else proceed(s)
        if asked:
            only = single(s) if s.seat >= 0 and decides_alone(s) else NONE
            if only == NONE:
                return
            decide(s, only // IDS, only % IDS)


@rule
def decides_alone(s):
    """Whether a decision with one legal action is made without asking."""
    return s.auto_single and (s.depth > 0 or s.auto_single_phase)


@rule
def single(s):
    """The one legal action, as 512 * family + slot or control, or NONE if there are more."""
    found = NONE
    for family in range(CONTROL + 1):
        slots = int(s.can[family])
        if slots:
            if found != NONE or slots & slots - 1:
                return NONE
            found = IDS * family
            while slots > 1:
                slots >>= 1
                found += 1
    return found


@rule
def decide(s, family, choice):
    """Do what the seat to move has chosen: a slot or a control."""
    me = int(s.seat)
    remember(s, me, family, choice)
    if s.depth > 0:
        answer(s, family, choice)
    elif family == BUY_CARD:
        buy(s, me, choice)
    elif family == PLAY_CARD and s.phase == ACTION_PHASE:
        s.actions -= 1
        into_play(s, me, choice)
        push(s, jobs.PLAY, me, choice)
    elif family == PLAY_CARD:
        play_treasure(s, me, choice)
        announce(s, me, PLAYS, choice, 0)
    elif choice == PLAY_ALL_TREASURES:
        play_all_treasures(s, me, 1)
    else:
        announce(s, me, ENDS_PHASE, NONE, 0)
        s.phase += 1
        if s.phase == BUY_PHASE and s.auto_treasures:
            play_all_treasures(s, me, 0)


@rule
def remember(s, me, family, choice):
    """Write an action into the history of its seat."""
    source = int(s.source[s.depth - 1]) if s.depth > 0 else NONE
    if family == CONTROL:
        kind = SAYS
        if choice == FINISH:
            kind = DECLINES
        elif choice == PLAY_ALL_TREASURES:
            kind = PLAYS
        elif choice <= END_BUY:
            kind = ENDS_PHASE
        note(s, me, kind, NONE, source, 0)
    elif s.depth > 0:
        note(s, me, kind_of(int(s.job[s.depth - 1])), choice, source, 0)
    elif family == BUY_CARD:
        note(s, me, BUYS_ONE, choice, NONE, int(s.cost[choice]))
    else:
        note(s, me, PLAYS, choice, NONE, 0)


@rule
def kind_of(job):
    """What a history calls the choice of a card."""
    if job in (jobs.DISCARD, jobs.DISCARD_LOOKED):
        return DISCARDS
    if job in (jobs.TRASH, jobs.TRASH_LOOKED):
        return TRASHES
    if job == jobs.GAIN:
        return GAINS
    if job == jobs.PLAY_FROM_HAND:
        return PLAYS
    return REVEALS if job == jobs.REACT else PUTS_ON_DECK


# The end -----------------------------------------------------------------------------------------


@rule
def points(s, seat):
    total = 0
    for slot in range(SLOTS):
        copies = int(s.owned[seat, slot])
        if copies > 0:
            total += copies * int(s.vp[slot])
            if slot >= BASIC and s.types[slot] & VICTORY:
                total += copies * worth(s, seat, slot)
    return total


@rule
def score(s, out):
    """Points decide, then fewer turns; with more than two seats every pair is compared."""
    players = s.hand.shape[0]
    for seat in range(players):
        won = 0
        for other in range(players):
            ahead = points(s, seat) - points(s, other)
            if ahead == 0:
                ahead = int(s.turns[other]) - int(s.turns[seat])
            won += 1 if ahead > 0 else -1 if ahead < 0 else 0
        out[seat] = won / (players - 1)


@rule
def margin(s, out):
    """Own points less the mean of the others'."""
    players, total = s.hand.shape[0], 0
    for seat in range(players):
        total += points(s, seat)
    for seat in range(players):
        out[seat] = (players * points(s, seat) - total) / (players - 1)
