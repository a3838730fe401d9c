"""Which positions of Beasty Bar are possible, and what is wrong with the others."""

from __future__ import annotations

from ...game import rule
from .cards import DECK, FULL_QUEUE, HAND, NOBODY, at, count, length, owner, species

FLAWS = (
    "the rules are those of the options",
    "a queue of up to four, hands of up to four, the bar and THAT'S IT hold cards without gaps",
    "every seat has its twelve cards, each in one place",
    "the seats play in turn, and hold four cards each while their piles last",
)


@rule
def flaw(s, fresh):
    if s.scoring != fresh.scoring or s.tie != fresh.tie or s.empty_plays != fresh.empty_plays:
        return 1
    if s.recurring != fresh.recurring or s.early_stop != fresh.early_stop:
        return 1
    if zones_are_flawed(s):
        return 2
    if cards_are_flawed(s):
        return 3
    return 4 if turns_are_flawed(s, fresh) else 0


@rule
def zones_are_flawed(s):
    """Lines are numbers with a byte per card; lists end with zeros."""
    if line_is_flawed(int(s.queue), FULL_QUEUE - 1):
        return True
    for seat in range(s.hand.shape[0]):
        if line_is_flawed(int(s.hand[seat]), HAND) or int(s.pile[seat]) & ~DECK:
            return True
    cards = s.bar.shape[0]
    if not (0 <= s.entered <= cards and 0 <= s.thrown <= cards):
        return True
    for i in range(cards):
        if (s.bar[i] != 0) != (i < s.entered) or (s.thats_it[i] != 0) != (i < s.thrown):
            return True
    return False


@rule
def line_is_flawed(line, most):
    if line < 0 or line >> 8 * most:
        return True
    for i in range(most):
        if at(line, i) == 0 and line >> 8 * i:
            return True
    return False


@rule
def cards_are_flawed(s):
    players, found = s.hand.shape[0], 0  # cards found so far, a bit per card
    for seat in range(players):
        held = int(s.hand[seat])
        for i in range(HAND):
            if at(held, i) and owner(at(held, i)) != seat:
                return True
            found = with_card(found, at(held, i), players)
        for kind in range(1, 13):
            if int(s.pile[seat]) >> kind & 1:
                found = with_card(found, 16 * seat + kind, players)
    for i in range(FULL_QUEUE):
        found = with_card(found, at(int(s.queue), i), players)
    for i in range(s.bar.shape[0]):
        found = with_card(found, int(s.bar[i]), players)
        found = with_card(found, int(s.thats_it[i]), players)
    return found != (1 << 12 * players) - 1


@rule
def with_card(found, card, players):
    """A set of cards with one more; -1 from then on if it is not a card, or in the set already."""
    if found < 0 or card == 0:
        return found
    if card < 0 or owner(card) >= players or not 1 <= species(card) <= 12:
        return -1
    bit = 1 << 12 * owner(card) + species(card) - 1
    return -1 if found & bit else found | bit


@rule
def turns_are_flawed(s, fresh):
    players = s.hand.shape[0]
    played = length(int(s.queue)) + int(s.entered) + int(s.thrown)
    if s.turns != played or s.seat != (fresh.seat + played) % players:
        return True
    last = (int(fresh.seat) + played + players - 1) % players
    for seat in range(players):
        held, piled = length(int(s.hand[seat])), count(int(s.pile[seat]))
        had = (played + players - 1 - (seat - int(fresh.seat) + players) % players) // players
        due = min(HAND, held + piled)
        if played == 0:  # the deal: seat after seat
            due = min(HAND, max(0, all_held(s) - HAND * seat))
        elif s.draws == seat:
            due = HAND - 1
        if held + piled != 12 - had or held != due:
            return True
    if played == 0:
        dealt = all_held(s)
        return s.draws != (dealt // HAND if dealt < HAND * players else NOBODY)
    return s.draws != NOBODY and (s.draws != last or s.pile[last] == 0)


@rule
def all_held(s):
    cards = 0
    for seat in range(s.hand.shape[0]):
        cards += length(int(s.hand[seat]))
    return cards
