"""Dominion positions set by hand: a table has the cards that are named and no others."""

from __future__ import annotations

import numpy as np

from kibitz import chance, games
from kibitz.game import CHANCE
from kibitz.games.dominion import rules, zones
from kibitz.games.dominion.catalogue import CARDS

GAME = games.load("dominion")
IDS = {card.name: card.id for card in CARDS.values()}
KINGDOM = [card.name for card in CARDS.values() if card.is_kingdom]
ZONES = ("hand", "deck", "discards", "in_play", "aside")


def names(text):
    """ "2 Copper, Estate" as a list of names."""
    listed = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        number, _, name = part.partition(" ")
        listed += [name] * int(number) if number.isdigit() else [part]
    return listed


class Table:
    """A position set by hand, with chance thrown by a stream of its own."""

    def __init__(self, hand="", deck="", discards="", *, others=({},), **options):
        seats = [{"hand": hand, "deck": deck, "discards": discards}, *others]
        mentioned = [name for seat in seats for zone in seat.values() for name in names(zone)]
        wanted = sorted({*options.pop("kingdom", ()), *mentioned} & set(KINGDOM))
        wanted += [name for name in KINGDOM if name not in wanted][: 10 - len(wanted)]
        self.game = GAME.bind(
            **{
                "players": len(seats),
                "kingdom": ",".join(wanted),
                "first": "0",
                **options,
                "auto_single": False,  # so that seat 0 waits while the cards are set
            }
        )
        self.rng = chance.stream(1, "table")
        self.s = self.game.fresh()
        self.settle()
        self.s.auto_single = options.get("auto_single", False)
        held = self.s.owned.sum(0, dtype=np.int8)
        for seat, held_there in enumerate(seats):
            self.set_cards(seat, **held_there)
        self.s.initial += self.s.owned.sum(0, dtype=np.int8) - held
        self.s.stat[0, zones.POINTS_BEFORE] = rules.points(self.s, 0)
        self.go_on()

    def set_cards(self, seat, hand="", deck="", discards=""):
        """All cards of a seat. The deck is known to its owner, and so has an order."""
        s = self.s
        for zone in (*ZONES, "owned", "shown"):
            s[zone][seat] = 0
        for zone, listed in (("hand", hand), ("discards", discards)):
            for name in names(listed):
                s[zone][seat, self.slot(name)] += 1
        s.hand_size[seat] = len(names(hand))
        s.discards_size[seat] = len(names(discards))
        s.deck_size[seat] = 0
        s.tops[seat] = len(names(deck))
        for i, name in enumerate(reversed(names(deck))):
            s.top[seat, i], s.top_seen[seat, i] = self.slot(name), 1 << seat
        for listed in (hand, deck, discards):
            for name in names(listed):
                s.owned[seat, self.slot(name)] += 1

    def set_supply(self, **piles):
        for name, count in piles.items():
            self.s.supply[self.slot(name.replace("_", " "))] = count
        self.go_on()
        return self

    def set_turn(self, **numbers):
        for name, value in numbers.items():
            self.s[name] = value
        self.go_on()
        return self

    def go_on(self):
        rules.advance(self.s)
        self.settle()

    def slot(self, name):
        return [int(card) for card in self.s.card].index(IDS[name])

    def settle(self):
        while self.game.turn(self.s) == CHANCE:
            self.game.roll(self.s, self.rng)

    def play(self, *texts):
        for text in texts:
            assert text.lower() in [t.lower() for t in self.legal()], self.game.seen(self.s, 0)
            self.game.play(self.s, self.game.read_action(self.s, text))
            self.settle()
        return self

    def legal(self):
        return [self.game.action_text(self.s, a) for a in self.game.legal(self.s)]

    @property
    def turn(self):
        return int(self.game.turn(self.s))

    def names(self, counts):
        """A zone in words: "2 Copper, Estate", by id."""
        held = {CARDS[int(self.s.card[i])].name: int(n) for i, n in enumerate(counts) if n}
        return ", ".join(name if n == 1 else f"{n} {name}" for name, n in held.items())

    def __getattr__(self, zone):
        """`hand`, `hand1`, `trash` ...: the cards in a zone of seat 0, or of another."""
        name, seat = (zone[:-1], int(zone[-1])) if zone[-1].isdigit() else (zone, 0)
        if name == "trash":
            return self.names(self.s.trash)
        if name == "deck":
            tops = [CARDS[int(self.s.card[t])].name for t in self.s.top[seat, : self.s.tops[seat]]]
            return ", ".join(reversed(tops)) or self.names(self.s.deck[seat])
        return self.names(self.s[name][seat])
