"""What a seat sees of Dominion: 300 channels of 128 places.

In some channels a place is a slot and describes the card there; in the others only the first few
places are used. All other places stay 0, so a view is written into memory that was zeroed once. A
number is a count divided by its usual size: most lie between 0 and 1, and none exceeds 2. A view
shows nothing that its seat may not know: of another hand only the size, of a deck no order, and the
choices of a decision only to the seat that decides.

The channels are designed for two seats. With more, the opponent is the seat to the left.
"""

from __future__ import annotations

import numpy as np

from ...game import OVER, layout, room, rule
from ...records import RecordType
from . import jobs
from .cards import (
    ACTION,
    CURSE,
    CURSED,
    DUCHY,
    FEATURES,
    PROVINCE,
    SILVER,
    TREASURE,
    VICTORY,
)
from .catalogue import CARDS as ALL_CARDS
from .catalogue import FEATURES_BY_ID
from .effects import to_the_left
from .resolve import CONTROL, FINISH, GAIN_CARD, PICK, PLAY_CARD, SELECT
from .rules import IDS, points
from .zones import (
    ACTION_PHASE,
    ACTIONS,
    BOUGHT,
    BUY_PHASE,
    BUYS,
    CARDS,
    COINS,
    DRAWN,
    GAINED,
    PLAYED_ACTIONS,
    PLAYED_TREASURES,
    SLOTS,
    cards_owned,
    empty_piles,
)

CHANNELS, PLACES = 300, 128
MOST = 2.0  # all numbers lie between -MOST and MOST

# By slot
SUPPLY, IN_STOCK, AFFORDABLE, COST, IS_ACTION, IS_TREASURE, IS_VICTORY = 16, *range(18, 24)
HAND, PLAYABLE, SELECTED = 32, 44, 45
DECK, DISCARDED, IN_PLAY = 56, 72, 88
SOURCE, CAN_DISCARD, CAN_TRASH, CAN_GAIN, CAN_PLAY = 100, *range(104, 108)
OWNED, OPPONENT_OWNED = 112, 130
FEATURE, ACTIVE, ID = 176, 224, 225  # FEATURE is the first of 48

# By place
TURN, RESOURCES, TABLE = 0, 1, 2
HAND_SIZES, HAND_SUMS = 34, 36  # HAND_SUMS is the first of 8
DECK_SIZES, DECK_SUMS = 58, 60  # DECK_SUMS is the first of 4
DISCARD_SIZES, CYCLE, PLAYED = 74, 76, 90
PENDING, LIMITS = 96, 98
POINTS, QUALITY = 114, 118
OPPONENT_SIZES, OPPONENT_POINTS, OPPONENT_SHARES, OPPONENT_PLAYED = 128, 132, 136, 140
KIND, KINDS = 240, 241
CELLAR_FRAME, CHAPEL_FRAME, GAIN_FRAME, MILITIA_FRAME, THRONE_FRAMES = range(248, 253)
MY_ACTIONS, MY_GAINS, MY_TURNS, OPPONENT_EVENTS = 272, 280, 284, 288  # the first of 8, 4, 4, 4

# What a question is for, in the order of PENDING
FOR_NOTHING, TO_DISCARD, TO_TRASH, TO_PLAY, TO_GAIN = range(5)

BY_NAME = {card.name: card.id for card in ALL_CARDS.values()}
CELLAR, CHAPEL, VASSAL = BY_NAME["Cellar"], BY_NAME["Chapel"], BY_NAME["Vassal"]
GARDENS = BY_NAME["Gardens"]

room_for_a_zone = room(np.int8, lambda game: SLOTS)


def view(players: int) -> RecordType:
    """The same for any number of players."""
    return layout(("channels", (CHANNELS, PLACES)))


@rule
def observe(s, seat, view):
    out = view.channels
    opponent = to_the_left(s, seat, 1)
    coins = effective_coins(s, seat)
    deck = room_for_a_zone(s)
    list_deck(s, seat, deck)
    show_turn(s, seat, opponent, coins, out)
    show_supply(s, coins, out)
    show_hand(s, seat, out)
    show_deck(s, seat, deck, out)
    show_discards(s, seat, out)
    show_cycle(s, seat, deck, out)
    show_in_play(s, out)
    show_pending(s, out)
    show_frame(s, out)
    show_choices(s, seat, out)
    show_stack(s, out)
    show_my_cards(s, seat, out)
    show_opponent(s, opponent, out)
    show_features(s, out)
    show_history(s.acted[seat], s.acted_count[seat], MY_ACTIONS, out)
    show_history(s.events[opponent], s.events_count[opponent], OPPONENT_EVENTS, out)
    show_gains(s.gained[seat], s.gained_count[seat], out)
    show_past_turns(s.past[seat], s.past_count[seat], out)


# Counting ----------------------------------------------------------------------------------------


@rule
def ratio(part, whole):
    """part / whole within bounds; 0 if the whole is 0."""
    if whole == 0:
        return 0.0
    return min(max(part / whole, -MOST), MOST)


@rule
def size(zone):
    n = 0
    for slot in range(SLOTS):
        n += int(zone[slot])
    return n


@rule
def of_type(s, zone, kinds):
    """Cards in a zone that have one of these types."""
    n = 0
    for slot in range(SLOTS):
        n += int(zone[slot]) if s.types[slot] & kinds else 0
    return n


@rule
def given_by(s, zone, what):
    """What all cards of a zone give together: CARDS, ACTIONS, BUYS or COINS."""
    n = 0
    for slot in range(SLOTS):
        n += int(zone[slot]) * int(s.gives[slot, what])
    return n


@rule
def cost_of(s, zone):
    n = 0
    for slot in range(SLOTS):
        n += int(zone[slot]) * int(s.cost[slot])
    return n


@rule
def list_deck(s, seat, deck):
    """A deck by slot, without the order of the cards on top of it."""
    for slot in range(SLOTS):
        deck[slot] = s.deck[seat, slot]
    for i in range(s.tops[seat]):
        deck[s.top[seat, i]] += 1


@rule
def effective_coins(s, seat):
    """Coins to spend and, in a seat's own turn, those that its hand can still make."""
    coins = int(s.coins)
    if s.player == seat:
        for slot in range(SLOTS):
            if s.types[slot] & TREASURE:
                coins += int(s.hand[seat, slot]) * int(s.gives[slot, COINS])
        if s.hand[seat, SILVER] > 0 and s.silvers == 0:
            coins += int(s.silver_bonus)
    return coins


# The table ---------------------------------------------------------------------------------------


@rule
def show_turn(s, me, opponent, coins, out):
    provinces, all_provinces = int(s.supply[PROVINCE]), int(s.initial[PROVINCE])
    out[TURN, 0] = s.player == me
    out[TURN, 1] = s.player == opponent
    out[TURN, 2] = s.phase == ACTION_PHASE
    out[TURN, 3] = s.phase == BUY_PHASE
    out[TURN, 4] = ratio(s.turns[s.player], 100)
    out[TURN, 5] = ratio(all_provinces - provinces, all_provinces)
    out[TURN, 6] = ratio(empty_piles(s), 10)
    out[RESOURCES, 0] = ratio(s.actions, 10)
    out[RESOURCES, 1] = ratio(s.buys, 10)
    out[RESOURCES, 2] = ratio(s.coins, 20)
    out[RESOURCES, 3] = ratio(coins, 20)
    # Other sets have potions, debt, villagers and coffers in places 4 to 7, and Colonies in 1 here.
    out[TABLE, 0] = ratio(provinces, all_provinces)
    out[TABLE, 2] = s.seat == OVER
    for slot in range(SLOTS):
        out[TABLE, 3 + slot] = s.supply[slot] == 0


@rule
def show_supply(s, coins, out):
    for slot in range(SLOTS):
        cards = int(s.supply[slot])
        out[SUPPLY, slot] = ratio(cards, s.initial[slot])
        out[IN_STOCK, slot] = cards > 0
        out[AFFORDABLE, slot] = cards > 0 and coins >= s.cost[slot]
        out[COST, slot] = ratio(s.cost[slot], 10)
        out[IS_ACTION, slot] = s.types[slot] & ACTION != 0
        out[IS_TREASURE, slot] = s.types[slot] & TREASURE != 0
        out[IS_VICTORY, slot] = s.types[slot] & VICTORY != 0


@rule
def show_in_play(s, out):
    """Cards of the turn. Other sets have Durations, in the fourth place of PLAYED."""
    player = int(s.player)
    in_play = s.in_play[player]
    for slot in range(SLOTS):
        out[IN_PLAY, slot] = ratio(in_play[slot], 10)
    out[PLAYED, 0] = ratio(size(in_play), 20)
    out[PLAYED, 1] = ratio(s.stat[player, PLAYED_ACTIONS], 10)
    out[PLAYED, 2] = ratio(s.stat[player, PLAYED_TREASURES], 10)


@rule
def show_features(s, out):
    """What the cards are. A slot is empty while the kingdom is being drawn.

    These are half of the numbers of a view. They depend on the card alone, so they are written only
    if another id stood there.
    """
    for slot in range(SLOTS):
        active = s.initial[slot] > 0
        shown = np.float32(ratio(int(s.card[slot]) + 1, IDS) if active else 0.0)
        if out[ID, slot] != shown:
            for j in range(FEATURES):
                out[FEATURE + j, slot] = FEATURES_BY_ID[s.card[slot], j] if active else 0.0
        out[ID, slot] = shown
        out[ACTIVE, slot] = active


# My cards ----------------------------------------------------------------------------------------


@rule
def show_hand(s, me, out):
    hand, cards = s.hand[me], int(s.hand_size[me])
    kinds, terminals = 0, 0
    for slot in range(SLOTS):
        out[HAND, slot] = ratio(hand[slot], 10)
        if hand[slot] > 0:
            kinds += 1
            terminals += 1 if s.types[slot] & ACTION and s.gives[slot, ACTIONS] == 0 else 0
    cost, action_cards = cost_of(s, hand), of_type(s, hand, ACTION)
    out[HAND_SIZES, 0] = ratio(of_type(s, hand, TREASURE), 10)
    out[HAND_SIZES, 1] = ratio(action_cards, 10)
    out[HAND_SIZES, 2] = ratio(of_type(s, hand, VICTORY), 5)
    out[HAND_SIZES, 3] = ratio(cards, 20)
    out[HAND_SIZES, 4] = ratio(kinds, 20)
    out[HAND_SUMS, 0] = ratio(cost, 50)
    out[HAND_SUMS + 1, 0] = ratio(given_by(s, hand, ACTIONS), 20)
    out[HAND_SUMS + 2, 0] = ratio(given_by(s, hand, CARDS), 20)
    out[HAND_SUMS + 3, 0] = ratio(given_by(s, hand, BUYS), 10)
    out[HAND_SUMS + 4, 0] = ratio(given_by(s, hand, COINS), 30)
    out[HAND_SUMS + 5, 0] = ratio(cost, 10 * cards)
    out[HAND_SUMS + 6, 0] = action_cards > 0
    out[HAND_SUMS + 7, 0] = terminals > 0


@rule
def show_deck(s, me, deck, out):
    cards, printed, coins = size(deck), 0, given_by(s, deck, COINS)
    for slot in range(SLOTS):
        out[DECK, slot] = ratio(deck[slot], cards)
        printed += int(deck[slot]) * int(s.vp[slot])
    out[DECK_SIZES, 0] = ratio(cards, 60)
    out[DECK_SIZES, 1] = ratio(of_type(s, deck, TREASURE), cards)
    out[DECK_SIZES, 2] = ratio(of_type(s, deck, ACTION), cards)
    out[DECK_SIZES, 3] = ratio(of_type(s, deck, VICTORY), cards)
    out[DECK_SIZES, 4] = ratio(cost_of(s, deck), 10 * cards)
    out[DECK_SIZES, 5] = ratio(printed, 50)
    out[DECK_SUMS, 0] = ratio(given_by(s, deck, ACTIONS), 30)
    out[DECK_SUMS + 1, 0] = ratio(given_by(s, deck, CARDS), 30)
    out[DECK_SUMS + 2, 0] = ratio(coins, 50)
    if cards == 0:  # the next card will come from the discard pile
        cards, coins = int(s.discards_size[me]), given_by(s, s.discards[me], COINS)
    out[DECK_SUMS + 3, 0] = ratio(coins, 3 * cards)


@rule
def show_discards(s, me, out):
    discards, cards = s.discards[me], int(s.discards_size[me])
    for slot in range(SLOTS):
        out[DISCARDED, slot] = ratio(discards[slot], cards)
    out[DISCARD_SIZES, 0] = ratio(cards, 60)
    out[DISCARD_SIZES, 1] = ratio(of_type(s, discards, TREASURE), 20)
    out[DISCARD_SIZES, 2] = ratio(of_type(s, discards, ACTION), 20)
    out[DISCARD_SIZES, 3] = ratio(of_type(s, discards, VICTORY), 10)


@rule
def show_cycle(s, me, deck, out):
    """How long the deck will last, and what the next one will be made of."""
    owned, cards = s.owned[me], size(deck)
    others = size(owned) - cards
    out[CYCLE, 0] = ratio(cards, 50)  # hands of five, by ten
    out[CYCLE, 1] = ratio(cards, 20)
    out[CYCLE, 2] = ratio(of_type(s, owned, ACTION) - of_type(s, deck, ACTION), others)
    out[CYCLE, 3] = ratio(of_type(s, owned, TREASURE) - of_type(s, deck, TREASURE), others)


@rule
def show_my_cards(s, me, out):
    owned, cards, gardens = s.owned[me], cards_owned(s, me), 0
    for slot in range(SLOTS):
        out[OWNED, slot] = ratio(owned[slot], 10)
        gardens += int(owned[slot]) if s.card[slot] == GARDENS else 0
    out[POINTS, 0] = ratio(points(s, me), 50)
    out[POINTS, 1] = ratio(gardens * (cards // 10), 10)
    out[POINTS, 2] = ratio(int(owned[DUCHY]) * int(s.vp[DUCHY]), 15)
    out[POINTS, 3] = ratio(int(owned[PROVINCE]) * int(s.vp[PROVINCE]), 30)
    out[POINTS, 4] = ratio(cards, 60)
    out[POINTS, 5] = ratio(int(owned[CURSE]) * int(s.vp[CURSE]), 10)
    gifts = given_by(s, owned, COINS) + given_by(s, owned, CARDS) + given_by(s, owned, ACTIONS)
    out[QUALITY, 0] = ratio(gifts, 5 * cards)
    out[QUALITY, 1] = ratio(of_type(s, owned, ACTION), cards)
    out[QUALITY, 2] = ratio(of_type(s, owned, TREASURE), cards)
    out[QUALITY, 3] = ratio(cards - of_type(s, owned, VICTORY | CURSED), cards)
    out[QUALITY, 4] = ratio(gains_to_the_end(s), 20)


@rule
def gains_to_the_end(s):
    """The fewest gains that could end the game: all Provinces or the three smallest piles."""
    first, second, third = 127, 127, 127
    for slot in range(SLOTS):
        pile = int(s.supply[slot])
        third = min(third, max(second, pile))
        second = min(second, max(first, pile))
        first = min(first, pile)
    return min(int(s.supply[PROVINCE]), first + second + third)


# The opponent ------------------------------------------------------------------------------------


@rule
def show_opponent(s, opponent, out):
    owned, cards, gardens = s.owned[opponent], cards_owned(s, opponent), 0
    for slot in range(SLOTS):
        out[OPPONENT_OWNED, slot] = ratio(owned[slot], 10)
        gardens += int(owned[slot]) if s.card[slot] == GARDENS else 0
    out[OPPONENT_SIZES, 0] = ratio(s.hand_size[opponent], 20)
    out[OPPONENT_SIZES, 1] = ratio(int(s.deck_size[opponent]) + int(s.tops[opponent]), 60)
    out[OPPONENT_SIZES, 2] = ratio(s.discards_size[opponent], 60)
    out[OPPONENT_SIZES, 3] = ratio(cards, 60)
    out[OPPONENT_SIZES, 4] = ratio(size(s.in_play[opponent]), 10)
    out[OPPONENT_POINTS, 0] = ratio(points(s, opponent), 50)
    out[OPPONENT_POINTS, 1] = ratio(owned[PROVINCE], 8)
    out[OPPONENT_POINTS, 2] = ratio(owned[DUCHY], 8)
    out[OPPONENT_POINTS, 3] = ratio(owned[CURSE], 10)
    out[OPPONENT_POINTS, 4] = ratio(gardens, 10)
    out[OPPONENT_SHARES, 0] = ratio(of_type(s, owned, TREASURE), cards)
    out[OPPONENT_SHARES, 1] = ratio(of_type(s, owned, ACTION), cards)
    out[OPPONENT_SHARES, 2] = ratio(s.last_coins[opponent], 20)
    out[OPPONENT_SHARES, 3] = ratio(s.stat[opponent, BOUGHT], 5)
    out[OPPONENT_PLAYED, 0] = ratio(s.stat[opponent, PLAYED_ACTIONS], 10)
    out[OPPONENT_PLAYED, 1] = ratio(s.stat[opponent, DRAWN], 10)
    out[OPPONENT_PLAYED, 2] = ratio(s.stat[opponent, GAINED], 5)


# Effects -----------------------------------------------------------------------------------------


@rule
def pending(s):
    """Whether a frame waits for an answer. While chance deals, none does."""
    return s.depth > 0 and s.seat >= 0


@rule
def purpose(s, k):
    """What the question of a frame is for."""
    job = int(s.job[k])
    if job in (jobs.DISCARD, jobs.DISCARD_LOOKED):
        return TO_DISCARD
    if job in (jobs.TRASH, jobs.TRASH_LOOKED):
        return TO_TRASH
    if job == jobs.GAIN:
        return TO_GAIN
    if job == jobs.PLAY_FROM_HAND or (job == jobs.YES_NO and s.card[s.source[k]] == VASSAL):
        return TO_PLAY
    return FOR_NOTHING


@rule
def show_pending(s, out):
    """The question on top of the stack, as everybody hears it."""
    asked = pending(s)
    k = int(s.depth) - 1 if asked else 0
    job = int(s.job[k]) if asked else 0
    aim = purpose(s, k) if asked else FOR_NOTHING
    out[PENDING, 0] = asked
    out[PENDING, 1] = ratio(s.depth if asked else 0, 5)
    for other in range(FOR_NOTHING, TO_GAIN + 1):
        out[PENDING, 2 + other] = other == aim
    out[PENDING, 7] = asked and s.seat != s.player
    out[LIMITS, 0] = ratio(s.limit[k] if job == jobs.DISCARD else 0, 10)
    out[LIMITS, 1] = ratio(s.limit[k] if job == jobs.GAIN else 0, 10)
    out[LIMITS, 2] = ratio(s.done[k] if job in (jobs.DISCARD, jobs.TRASH) else 0, 10)
    out[LIMITS, 3] = ratio(s.most[k] if asked else 0, 10)
    out[LIMITS, 5] = asked and s.can[CONTROL] >> FINISH & 1
    for kind in range(jobs.OTHER + 1):
        out[KIND, kind] = kind == job


@rule
def show_frame(s, out):
    """The progress of a few frames that are met often."""
    asked = pending(s)
    k = int(s.depth) - 1 if asked else 0
    job = int(s.job[k]) if asked else 0
    source, done, limit = int(s.card[s.source[k]]), int(s.done[k]), int(s.limit[k])
    to_draw = done if job == jobs.DISCARD and source == CELLAR else 0
    out[CELLAR_FRAME, 0] = ratio(to_draw, 10)
    out[CELLAR_FRAME, 1] = ratio(to_draw, 10)  # as many as were discarded
    is_chapel = job == jobs.TRASH and source == CHAPEL
    out[CHAPEL_FRAME, 0] = ratio(done if is_chapel else 0, 4)
    out[CHAPEL_FRAME, 1] = ratio(s.most[k] if is_chapel else 0, 4)
    out[GAIN_FRAME, 0] = ratio(limit if job == jobs.GAIN else 0, 10)
    out[GAIN_FRAME, 1] = ratio(s.paid[k] if job == jobs.GAIN else 0, 10)
    is_militia = job == jobs.DISCARD and limit > 0  # no other discard has a hand size as its limit
    out[MILITIA_FRAME, 0] = ratio(limit if is_militia else 0, 10)
    out[MILITIA_FRAME, 1] = ratio(done if is_militia else 0, 5)


@rule
def show_choices(s, me, out):
    """The choices, shown to the seat that decides only: they reveal its hand."""
    mine, asked = s.seat == me, pending(s)
    k = int(s.depth) - 1 if asked else 0
    aim = purpose(s, k) if asked else FOR_NOTHING
    playable = int(s.can[PLAY_CARD]) if mine else 0
    slots = int(s.can[SELECT] | s.can[PICK] | s.can[GAIN_CARD]) | playable if mine else 0
    for slot in range(SLOTS):
        can = slots >> slot & 1
        out[PLAYABLE, slot] = playable >> slot & 1
        out[SELECTED, slot] = ratio(s.selected[slot] if mine and asked else 0, 10)
        out[SOURCE, slot] = asked and s.source[k] == slot
        out[CAN_DISCARD, slot] = can if aim == TO_DISCARD else 0
        out[CAN_TRASH, slot] = can if aim == TO_TRASH else 0
        out[CAN_GAIN, slot] = can if aim == TO_GAIN else 0
        out[CAN_PLAY, slot] = can if aim == TO_PLAY else 0


@rule
def show_stack(s, out):
    """All frames that still have to ask or to act."""
    kinds, thrones, target = 0, 0, 0
    for k in range(s.depth if pending(s) else 0):
        kinds |= 1 << min(int(s.job[k]), jobs.OTHER)
        if s.job[k] == jobs.PLAY and s.done[k] == 0:  # the second play of a Throne Room
            thrones += 1
            target = int(s.source[k]) + 1
    for kind in range(jobs.OTHER + 1):
        out[KINDS, kind] = kinds >> kind & 1
    out[LIMITS, 4] = ratio(thrones, 5)
    out[THRONE_FRAMES, 0] = ratio(thrones, 5)
    out[THRONE_FRAMES, 1] = ratio(1 if thrones > 0 else 0, 5)
    out[THRONE_FRAMES, 2] = ratio(target, PLACES)


# Histories, latest first. They are rings; what has not been written yet is 0. ---------------------


@rule
def show_history(entries, count, channel, out):
    length = entries.shape[0]
    for i in range(length):
        entry = entries[(count - 1 - i) % length]
        out[channel + i, 0] = ratio(entry[0], 10)
        out[channel + i, 1] = ratio(entry[1], PLACES)
        out[channel + i, 2] = ratio(entry[2], PLACES)
        out[channel + i, 3] = ratio(entry[3], 10)
        out[channel + i, 4] = ratio(entry[4], 100)
        out[channel + i, 5] = i < count


@rule
def show_gains(entries, count, out):
    length = entries.shape[0]
    for i in range(length):
        entry = entries[(count - 1 - i) % length]
        out[MY_GAINS + i, 0] = ratio(entry[0], PLACES)
        out[MY_GAINS + i, 1] = ratio(entry[1], 10)
        out[MY_GAINS + i, 2] = entry[2]
        out[MY_GAINS + i, 3] = ratio(entry[3], 100)


@rule
def show_past_turns(entries, count, out):
    length = entries.shape[0]
    for i in range(length):
        entry = entries[(count - 1 - i) % length]
        out[MY_TURNS + i, 0] = ratio(entry[0], 10)
        out[MY_TURNS + i, 1] = ratio(entry[1], 10)
        out[MY_TURNS + i, 2] = ratio(entry[2], 5)
        out[MY_TURNS + i, 3] = ratio(entry[3], 20)
        out[MY_TURNS + i, 4] = ratio(entry[4], 10)
