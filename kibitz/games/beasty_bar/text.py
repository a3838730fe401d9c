"""Beasty Bar in words: positions, actions, and the table as a seat sees it."""

from __future__ import annotations

import re
from collections import Counter

from ...game import CHANCE, ONLOOKER, NotationError, squeezed
from .cards import CHAMELEON, FULL_QUEUE, HAND, KANGAROO, NOBODY, PARROT, POINTS, SPECIES
from .rules import WAYS, points_of, turn

ZONES = ("queue", "bar", "thats_it", "hands", "piles")
LIKE = "queue: lion0,seal1 | bar: - | thats_it: - | hands: ... / ... | piles: ... / ..."


def cards_of(line):
    """The cards of a line, as a list."""
    return [int(line) >> 8 * i & 255 for i in range(FULL_QUEUE) if int(line) >> 8 * i]


def line_of(cards):
    """The inverse of `cards_of`."""
    return sum(card << 8 * i for i, card in enumerate(cards))


def name(card):
    """ "lion1": the species and its owner."""
    return f"{SPECIES[int(card) & 15]}{int(card) >> 4}"


# Positions ---------------------------------------------------------------------------------------


def text(s):
    """The five zones. Whose turn it is and who draws follow from the number of cards."""
    table = (cards_of(s.queue), s.bar[: s.entered], s.thats_it[: s.thrown])
    hands = ([SPECIES[card & 15] for card in cards_of(hand)] for hand in s.hand)
    piles = ([kind for k, kind in enumerate(SPECIES) if int(pile) >> k & 1] for pile in s.pile)
    zones = [_listed(map(name, zone)) for zone in table]
    zones += [" / ".join(map(_listed, by_seat)) for by_seat in (hands, piles)]
    return " | ".join(f"{zone}: {cards}" for zone, cards in zip(ZONES, zones, strict=True))


def _listed(words):
    return ",".join(words) or "-"


def parse(s, notation):
    parts = re.fullmatch("[|]".join(f"{zone}:(.*)" for zone in ZONES), squeezed(notation))
    if not parts:
        raise NotationError(f"{notation!r} is not like '{LIKE}'")
    queue, bar, thats_it = (
        [_card(notation, word) for word in _words(zone)] for zone in parts.groups()[:3]
    )
    hands, piles = (
        [
            [_card(notation, f"{word}{seat}") for word in _words(cards)]
            for seat, cards in enumerate(zone.split("/"))
        ]
        for zone in parts.groups()[3:]
    )
    _check_cards(s, notation, [queue, bar, thats_it, *hands, *piles], hands, piles)
    s.queue = line_of(queue)
    for seat, (hand, pile) in enumerate(zip(hands, piles, strict=True)):
        s.hand[seat] = line_of(hand)
        s.pile[seat] = sum(1 << (card & 15) for card in pile)
    for zone, cards in ((s.bar, bar), (s.thats_it, thats_it)):
        for i, card in enumerate(cards):
            zone[i] = card
    s.entered, s.thrown = len(bar), len(thats_it)
    s.turns = len(queue) + len(bar) + len(thats_it)
    s.draws = _who_draws(s, notation, [len(hand) for hand in hands], [len(pile) for pile in piles])
    s.seat = (int(s.seat) + int(s.turns)) % len(hands)


def _words(part):
    return [] if part == "-" else part.split(",")


def _card(notation, word):
    found = re.fullmatch(r"([a-z]+)(\d)", word)
    if not found or found[1] not in SPECIES:
        raise NotationError(f"{notation!r}: {word!r} is not a card such as lion0")
    return 16 * int(found[2]) + SPECIES.index(found[1])


def _check_cards(s, notation, zones, hands, piles):
    """Every seat has its twelve cards, each in one place."""
    players = len(s.hand)
    if not len(hands) == len(piles) == players:
        raise NotationError(f"{notation!r}: every one of {players} seats has a hand and a pile")
    found = Counter(card for zone in zones for card in zone)
    for card in (16 * seat + k for seat in range(players) for k in range(1, 13)):
        if found.pop(card, 0) != 1:
            raise NotationError(f"{notation!r}: {name(card)} should be in one place")
    if found:
        raise NotationError(f"{notation!r}: there is no {name(min(found))} with {players} seats")
    if len(zones[0]) == FULL_QUEUE:
        raise NotationError(f"{notation!r}: when five are in the queue two of them enter the bar")


def _who_draws(s, notation, held, piled):
    """The seat that is short of a card or, during the deal, of several; NOBODY if none is."""
    players, turns, draws = len(held), int(s.turns), NOBODY
    due = [min(HAND, h + p) for h, p in zip(held, piled, strict=True)]
    last = (int(s.seat) + turns - 1) % players
    if turns == 0:
        due = [min(max(sum(held) - HAND * seat, 0), HAND) for seat in range(players)]
        draws = sum(held) // HAND if sum(held) < HAND * players else NOBODY
    elif held[last] == HAND - 1 and piled[last]:
        due[last], draws = HAND - 1, last
    for seat in range(players):
        had = (turns + players - 1 - (seat - int(s.seat)) % players) // players
        if held[seat] + piled[seat] != 12 - had:
            raise NotationError(f"{notation!r}: of {turns} turns seat {seat} has had {had}")
        if held[seat] != due[seat]:
            raise NotationError(
                f"{notation!r}: seat {seat} holds {held[seat]} cards, not {due[seat]}"
            )
    return draws


# What people read and type -----------------------------------------------------------------------


def seen(s, seat):
    queue, thats_it = (" ".join(map(name, z)) for z in (cards_of(s.queue), s.thats_it[: s.thrown]))
    bar = " ".join(f"{name(card)}({POINTS[int(card) & 15]})" for card in s.bar[: s.entered])
    lines = [
        f"Queue, from the gate: {queue or 'empty'}",
        f"In the bar: {bar or 'nobody'}",
        f"THAT'S IT: {thats_it or 'nobody'}",
    ]
    if seat != ONLOOKER:
        hand = [f"{slot} {SPECIES[card & 15]}" for slot, card in enumerate(cards_of(s.hand[seat]))]
        lines.append(f"Your hand: {', '.join(hand) or 'empty'}")
    first = max(seat, 0)
    for who in (*range(first, len(s.hand)), *range(first)):
        held, piled = len(cards_of(s.hand[who])), bin(int(s.pile[who])).count("1")
        owner = f"seat {who} (you)" if who == seat else f"seat {who}"
        lines.append(f"{owner}: {points_of(s, who)} points, {held} in hand, {piled} in the pile")
    return "\n".join(lines)


def action_text(s, action):
    """ "zebra", "kangaroo 2", "parrot > lion0", "chameleon as parrot1 > seal0", "draws lion"."""
    if turn(s) == CHANCE:
        return f"draws {SPECIES[action + 1]}"
    slot, way = divmod(action, WAYS)
    kind, queue = cards_of(s.hand[s.seat])[slot] & 15, cards_of(s.queue)
    words = SPECIES[kind]
    if way == 0:
        return words
    choice, second = divmod(way - 1, 6)
    if kind == CHAMELEON:
        words += f" as {name(queue[choice])}"
        kind, choice = queue[choice] & 15, second - 1
    if kind == KANGAROO:
        words += f" {choice}"
    elif kind == PARROT:
        words += f" > {name(queue[choice])}"
    return words


def news(s, seat, move):
    """Everybody sees what is played; only the seat that draws a card sees it."""
    if turn(s) == CHANCE and s.draws != seat:
        return f"seat {s.draws} draws a card"
    return action_text(s, move)
