"""Strategies written in a small language, and one compiled player that follows any of them.

A strategy is what to buy and what to play:

    {"buy": [["Province", "M>18"], ["Gold"], ["Smithy", "own:Smithy<1"], ["Silver"]],
     "play": ["Smithy"]}

At every buy it takes the first card of the list that it can have and whose conditions all hold. A
condition compares two of these with <, <=, > or >=: a whole number; `P` Provinces in the supply;
`M` coins of all Treasures owned, at face value; `own:X` copies owned; `supply:X` copies left;
`cards` owned; `turn` of one's own, from 1; `coins` unspent. The list decides what an effect gains,
too. Actions are played in the order of `play`. All other decisions are the same for every strategy:
they follow below, and are those of the simulators that we compare with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...devices import Array
from ...game import GameError, Planned, rule
from . import jobs
from .cards import (
    ACTION,
    COPPER,
    CURSE,
    CURSED,
    ESTATE,
    GOLD,
    PROVINCE,
    SILVER,
    TREASURE,
    VICTORY,
)
from .catalogue import CARDS
from .resolve import (
    BUY_CARD,
    CONTROL,
    END_ACTIONS,
    END_BUY,
    FINISH,
    GAIN_CARD,
    NO,
    PICK,
    PLAY_ALL_TREASURES,
    PLAY_CARD,
    REVEAL,
    SELECT,
    YES,
)
from .rules import IDS
from .zones import ACTION_PHASE, NONE, SLOTS, cards_owned

IDS_BY_NAME = {card.name.lower(): card.id for card in CARDS.values()}
CELLAR, CHAPEL, LIBRARY, MINE, MONEYLENDER = (
    IDS_BY_NAME[name] for name in ("cellar", "chapel", "library", "mine", "moneylender")
)

MOST_ENTRIES, MOST_CONDITIONS, MOST_PLAYS = 24, 4, 12
NUMBER, PROVINCES, MONEY, OWN, SUPPLY, OWNED, TURN, UNSPENT = range(8)
PLAIN = {"p": PROVINCES, "m": MONEY, "cards": OWNED, "turn": TURN, "coins": UNSPENT}
OF_A_CARD = {"own": OWN, "supply": SUPPLY}
LESS, AT_MOST, MORE, AT_LEAST = range(4)
SIGNS = {"<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST}

PLAN = np.dtype(
    (
        np.record,
        [
            ("cards", np.int16, MOST_ENTRIES),  # ids to buy, NONE behind the last
            # by entry and condition: sign (NONE: there is none), then two terms: kind and argument
            ("conditions", np.int16, (MOST_ENTRIES, MOST_CONDITIONS, 5)),
            ("plays", np.int16, MOST_PLAYS),  # ids to play, NONE behind the last
        ],
    )
)


class Plan(NamedTuple):
    """The lists of a strategy, as rules read them."""

    cards: Array
    conditions: Array
    plays: Array


# What a seat gives up first. Cards that are not named come just before Silver.
_WORST_FIRST = (
    *("Curse", "Estate", "Duchy", "Province", "Gardens", "Copper", "Cellar", "Chapel", "Moat"),
    *("Village", "", "Silver", "Workshop", "Bureaucrat", "Moneylender", "Market", "Festival"),
    *("Laboratory", "Library", "Mine", "Council Room", "Smithy", "Militia", "Witch", "Gold"),
)
RANKS = len(_WORST_FIRST)
RANK = np.array(
    [
        _WORST_FIRST.index(CARDS[i].name if CARDS[i].name in _WORST_FIRST else "")
        for i in range(max(CARDS) + 1)
    ],
    np.int8,
)


# Reading -----------------------------------------------------------------------------------------


def strategy(lists: Mapping[str, object]) -> Planned:
    """The compiled player that follows the lists "buy" and "play" of a strategy.

    >>> strategy({"buy": [["Province"], ["Gold"], ["Silver"]], "play": []}).plan.cards[:4]
    array([ 5,  2,  1, -1], dtype=int16)
    """
    plan = np.zeros(1, PLAN)
    for name in PLAN.names or ():
        plan[name] = NONE
    buy = _cards_to("buy", lists, MOST_ENTRIES - 1)
    plays = _cards_to("play", lists, MOST_PLAYS - 1)
    for i, entry in enumerate(buy):
        if not isinstance(entry, (list, tuple)) or not entry:
            raise GameError(f"{entry!r} is not a list of a card and its conditions")
        card, *conditions = entry
        plan["cards"][0, i] = _id(card)
        if len(conditions) > MOST_CONDITIONS:
            raise GameError(f"{card} has more than {MOST_CONDITIONS} conditions")
        for j, condition in enumerate(conditions):
            plan["conditions"][0, i, j] = _condition(condition)
    for i, card in enumerate(plays):
        plan["plays"][0, i] = _id(card)
    return Planned(follow, plan[0])


def read_strategies(path: str | Path) -> dict[str, Planned]:
    """The strategies of a JSON file, by name in lower case."""
    try:
        content = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        raise GameError(f"{path} is not a JSON file") from None
    listed = content.get("strategies") if isinstance(content, dict) else None
    if not isinstance(listed, dict):
        raise GameError(f"{path} has no object 'strategies': names, and what to buy and play")
    return {name.lower(): strategy(lists) for name, lists in listed.items()}


def _cards_to(name: str, lists: object, most: int) -> Sequence[object]:
    """The list called `name` of a strategy, checked to be a list and not too long."""
    cards = lists.get(name) if isinstance(lists, Mapping) else None
    if not isinstance(cards, (list, tuple)):
        raise GameError(f"a strategy has a list of cards to {name}, not {cards!r}")
    if len(cards) > most:
        raise GameError(f"a strategy has up to {most} cards to {name}, not {len(cards)}")
    return cards


def _id(name: object) -> int:
    if not isinstance(name, str) or name.lower() not in IDS_BY_NAME:
        raise GameError(f"there is no card {name!r}")
    return IDS_BY_NAME[name.lower()]


def _condition(text: object) -> Sequence[int]:
    without_blanks = text.replace(" ", "") if isinstance(text, str) else ""
    parts = re.fullmatch(r"([^<>=]+)(<=|>=|<|>)([^<>=]+)", without_blanks)
    if parts is None:
        raise GameError(f"{text!r} is not a condition such as own:Smithy<1 or P<=4")
    return SIGNS[parts[2]], *_term(parts[1]), *_term(parts[3])


def _term(text: str) -> tuple[int, int]:
    what, _, card = text.lower().partition(":")
    if what in OF_A_CARD and card:
        # Blanks were taken out: "council room" is "councilroom" here.
        named = {name.replace(" ", ""): i for name, i in IDS_BY_NAME.items()}
        if card in named:
            return OF_A_CARD[what], named[card]
    elif what in PLAIN and not card:
        return PLAIN[what], 0
    elif re.fullmatch(r"-?\d{1,4}", text):
        return NUMBER, int(text)
    raise GameError(f"a condition cannot compare {text!r}")


# Conditions --------------------------------------------------------------------------------------


@rule
def term(s, me, kind, about):
    if kind == NUMBER:
        return about
    if kind == PROVINCES:
        return int(s.supply[PROVINCE])
    if kind == MONEY:
        return money(s, me)
    if kind == OWNED:
        return cards_owned(s, me)
    if kind == TURN:
        return int(s.turns[me])
    if kind == UNSPENT:
        return int(s.coins)
    slot = find(s, about)
    if slot == NONE:
        return 0
    return int(s.owned[me, slot]) if kind == OWN else int(s.supply[slot])


@rule
def money(s, me):
    coins = 0
    for slot in range(GOLD + 1):
        coins += (slot + 1) * int(s.owned[me, slot])
    return coins


@rule
def find(s, card):
    """The slot of a card, or NONE in a game without it."""
    for slot in range(SLOTS):
        if s.card[slot] == card:
            return slot
    return NONE


@rule
def holds(s, me, condition):
    left = term(s, me, condition[1], condition[2])
    right = term(s, me, condition[3], condition[4])
    sign = condition[0]
    if sign == LESS:
        return left < right
    if sign == AT_MOST:
        return left <= right
    return left > right if sign == MORE else left >= right


@rule
def first_wanted(s, me, slots, plan):
    """The first of these slots in the order of the list whose conditions hold; or NONE."""
    i = 0
    while plan.cards[i] != NONE:
        slot = find(s, plan.cards[i])
        if slot != NONE and slots >> slot & 1:
            j = 0
            while j < MOST_CONDITIONS and plan.conditions[i, j, 0] != NONE:
                if not holds(s, me, plan.conditions[i, j]):
                    break
                j += 1
            if j == MOST_CONDITIONS or plan.conditions[i, j, 0] == NONE:
                return slot
        i += 1
    return NONE


# Decisions ---------------------------------------------------------------------------------------


@rule
def follow(s, seat, rng, plan):
    """The action that a strategy takes at its seat's decision."""
    return planned(s, seat, Plan(plan.cards, plan.conditions, plan.plays))


@rule
def planned(s, seat, plan):
    if s.depth > 0:
        return reply(s, seat, plan)
    if s.phase == ACTION_PHASE:
        slot = to_play(s, seat, plan)
        return word(END_ACTIONS) if slot == NONE else IDS * PLAY_CARD + int(s.card[slot])
    if s.can[PLAY_CARD]:
        return word(PLAY_ALL_TREASURES)
    slot = first_wanted(s, seat, int(s.can[BUY_CARD]), plan)
    return word(END_BUY) if slot == NONE else IDS * BUY_CARD + int(s.card[slot])


@rule
def word(control):
    return IDS * CONTROL + control


@rule
def to_play(s, me, plan):
    """The slot of the first Action of the list that is of use now; or NONE."""
    i = 0
    while plan.plays[i] != NONE:
        slot = find(s, plan.plays[i])
        if slot != NONE and int(s.can[PLAY_CARD]) >> slot & 1 and is_of_use(s, me, plan.plays[i]):
            return slot
        i += 1
    return NONE


@rule
def is_of_use(s, me, card):
    if card == CHAPEL:
        return to_trash(s, me, 4) != NONE
    if card == MONEYLENDER:
        return s.hand[me, COPPER] > 0
    if card == MINE:
        return s.hand[me, COPPER] > 0 or s.hand[me, SILVER] > 0
    return card != LIBRARY or s.hand_size[me] - 1 < 7


@rule
def reply(s, me, plan):
    """The answer to the question that is pending."""
    k = int(s.depth) - 1
    job, card = int(s.job[k]), int(s.card[s.source[k]])
    if job == jobs.REACT:
        return IDS * REVEAL + int(s.card[lowest(s.can[REVEAL])])
    if job == jobs.DISCARD:
        slot = to_cellar(s) if card == CELLAR else worst(s, me, int(s.least[k]) - int(s.done[k]))
        return selected(s, slot)
    if job == jobs.TRASH:
        return selected(s, trashed(s, me, k, card))
    if job == jobs.GAIN:
        slot = first_wanted(s, me, int(s.can[GAIN_CARD]), plan)
        if slot == NONE or card == MINE:
            slot = dearest(s, int(s.can[GAIN_CARD]))
        return chosen(s, GAIN_CARD, slot)
    if job == jobs.PLAY_FROM_HAND:
        return chosen(s, PLAY_CARD, to_play(s, me, plan))
    if job == jobs.TOPDECK:
        return selected(s, worst_of(s, int(s.can[SELECT])))
    if job == jobs.YES_NO:
        return word(NO if card == LIBRARY and s.actions > 0 else YES)
    if job == jobs.TRASH_LOOKED and s.least[k] > 0:  # a Bandit's victim gives up the cheaper one
        return chosen(s, PICK, lowest(s.can[PICK]))
    return chosen(s, PICK, lowest(s.can[PICK]) if job == jobs.ORDER_LOOKED else NONE)


@rule
def chosen(s, family, slot):
    """A slot as an action; NONE stops choosing."""
    return word(FINISH) if slot == NONE else IDS * family + int(s.card[slot])


@rule
def selected(s, slot):
    """A slot of the hand as an action.

    Another player may have begun to choose and may have passed the slot: then it is the worst card
    that can still be chosen, or none.
    """
    slots = int(s.can[SELECT])
    if slot != NONE and not slots >> slot & 1:
        stop = int(s.can[CONTROL]) >> FINISH & 1
        slot = NONE if stop else worst_of(s, slots)
    return chosen(s, SELECT, slot)


@rule
def lowest(slots):
    slot = 0
    while not slots >> slot & 1:
        slot += 1
    return slot


@rule
def dearest(s, slots):
    """The card of the highest cost; of equals an Action or Treasure before others."""
    best, found = -1, NONE
    for slot in range(SLOTS):
        if slots >> slot & 1:
            rank = 2 * int(s.cost[slot]) + (1 if s.types[slot] & (ACTION | TREASURE) else 0)
            if rank > best:
                best, found = rank, slot
    return found


@rule
def worst_of(s, slots):
    """The card that a seat gives up first."""
    best, found = RANKS, NONE
    for slot in range(SLOTS):
        if slots >> slot & 1 and RANK[s.card[slot]] < best:
            best, found = int(RANK[s.card[slot]]), slot
    return found


@rule
def worst(s, me, cards):
    """The lowest slot of the worst cards in hand: several cards are chosen in the order of ids."""
    left, low = cards, SLOTS
    for rank in range(RANKS):
        for slot in range(SLOTS):
            if left > 0 and s.hand[me, slot] > 0 and RANK[s.card[slot]] == rank:
                left -= int(s.hand[me, slot])
                low = min(low, slot)
    return low


@rule
def to_cellar(s):
    """Victory cards and Curses are discarded."""
    for slot in range(SLOTS):
        if s.can[SELECT] >> slot & 1 and s.types[slot] & (VICTORY | CURSED):
            return slot
    return NONE


@rule
def trashed(s, me, k, card):
    if card == CHAPEL:
        return to_trash(s, me, int(s.most[k]) - int(s.done[k]))
    if card == MINE:
        if s.hand[me, SILVER] > 0 and s.supply[GOLD] > 0:
            return SILVER
        return COPPER if s.hand[me, COPPER] > 0 and s.supply[SILVER] > 0 else NONE
    return worst(s, me, 1)


@rule
def to_trash(s, me, most):
    """The lowest slot of what a Chapel takes: Curses, Estates while P > 4, Coppers while M > 4."""
    curses = min(most, int(s.hand[me, CURSE]))
    estates = min(most - curses, int(s.hand[me, ESTATE]) if s.supply[PROVINCE] > 4 else 0)
    coppers = min(most - curses - estates, int(s.hand[me, COPPER]), money(s, me) - 4)
    if coppers > 0:
        return COPPER
    if estates > 0:
        return ESTATE
    return CURSE if curses > 0 else NONE
