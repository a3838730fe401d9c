"""The options of Dominion, and the kingdoms that have names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...chance import below, stream
from ...game import OptionError, Options, squeezed
from .catalogue import CARDS
from .zones import NONE

KINGDOM = 10
MOST_COPPERS = 120  # of two base sets: with the seven of a deck they still fit an int8

KINGDOMS = {
    "first_game": "Cellar, Market, Merchant, Militia, Mine, Moat, Remodel, Smithy, Village,"
    "Workshop",
    "size_distortion": "Artisan, Bandit, Bureaucrat, Chapel, Festival, Gardens, Sentry,"
    "Throne Room, Witch, Workshop",
    "deck_top": "Artisan, Bureaucrat, Council Room, Festival, Harbinger, Laboratory, Moneylender,"
    "Sentry, Vassal, Village",
    "sleight_of_hand": "Cellar, Council Room, Festival, Gardens, Harbinger, Library, Militia,"
    "Poacher, Smithy, Throne Room",
    "improvements": "Artisan, Cellar, Market, Merchant, Mine, Moat, Moneylender, Poacher, Remodel,"
    "Witch",
    "silver_and_gold": "Bandit, Bureaucrat, Chapel, Harbinger, Laboratory, Merchant, Mine,"
    "Moneylender, Throne Room, Vassal",
}


def _plain(name: str) -> str:
    return squeezed(name).replace("_", "").replace("&", "and")


IDS = {_plain(card.name): card.id for card in CARDS.values() if card.is_kingdom}


def kingdom(text: str) -> tuple[int, ...]:
    """What `start` gets: ids of cards in the kingdom, ascending; then, for each card that stays out
    of it, NONE - 1 - id; then NONE, up to ten numbers. What is missing in the kingdom is drawn.
    """
    plain = _plain(text)
    if seeded := re.fullmatch(r"seed:(\d{1,18})", plain):
        return seeded_kingdom(int(seeded[1]))
    if drawn := re.fullmatch(r"\s*random(\s+with\s.+?)?(\s+without\s.+)?", text.lower().rstrip()):
        parts = [_cards(part.split(maxsplit=1)[1]) if part else [] for part in drawn.groups()]
        return _drawn(text, *parts)
    kingdoms = {_plain(name): cards for name, cards in KINGDOMS.items()}
    ids = _cards(kingdoms.get(plain, text))
    if len(ids) != KINGDOM:
        raise OptionError(f"kingdom={text!r}: a kingdom has {KINGDOM} cards, not {len(ids)}")
    return tuple(ids)


def _cards(text: str) -> list[int]:
    """The ids of cards, ascending, from their names."""
    names = [name for name in text.split(",") if name.strip()]
    for name in names:
        if _plain(name) not in IDS:
            raise OptionError(
                f"kingdom: {name.strip()!r} is neither a kingdom card nor a kingdom such as "
                f"{', '.join(KINGDOMS)}"
            )
    ids = sorted({IDS[_plain(name)] for name in names})
    if len(ids) < len(names):
        raise OptionError(f"kingdom={text!r}: every card has one pile, but one is named twice")
    return ids


def _drawn(text: str, present: list[int], absent: list[int]) -> tuple[int, ...]:
    """The numbers of a kingdom that is drawn, with some cards and without others."""
    if set(present) & set(absent):
        raise OptionError(f"kingdom={text!r}: a card cannot be both in a kingdom and out of it")
    if len(present) + len(absent) > KINGDOM:
        raise OptionError(f"kingdom={text!r}: {KINGDOM} cards can be named, not more")
    codes = [*present, *(NONE - 1 - card for card in absent)]
    return (*codes, *[NONE] * (KINGDOM - len(codes)))


def seeded_kingdom(seed: int) -> tuple[int, ...]:
    """The random kingdom of a table with this seed."""
    rng, left = stream(seed, "table"), sorted(IDS.values())
    return tuple(sorted(left.pop(below(rng, len(left))) for _ in range(KINGDOM)))


@dataclass(frozen=True)
class DominionOptions(Options):
    """Who plays, with which cards, and which decisions are made without asking."""

    players: int = 2
    """Seats at the table, 2 to 6."""
    kingdom: str = "random"
    """Ten kingdom cards, separated by commas; or first_game, size_distortion, deck_top,
    sleight_of_hand, improvements or silver_and_gold; or random: new ones in every game, also as in
    `random with Witch, Moat without Chapel`; or seed:7, those of a random table with that seed."""
    first: str = "random"
    """The seat that begins, or random."""
    auto_single: bool = True
    """Whether a decision with one legal action is made without asking."""
    auto_single_phase: bool = True
    """Whether that also ends a phase in which nothing can be played or bought."""
    auto_treasures: bool = True
    """Whether all Treasures in hand are played as the Buy phase begins."""
    copper_supply: int = 0
    """Coppers in the supply; 0 for what is left of 60 (120 with five or six seats)."""
    max_turns: int = 200
    """Turns of a seat after which the game is stopped and scored as it stands."""

    def check(self) -> None:
        if not 2 <= self.players <= 6:
            raise OptionError(f"players={self.players}: two to six can play")
        if not 0 <= self.copper_supply <= MOST_COPPERS:
            raise OptionError(f"copper_supply={self.copper_supply}: 0 to {MOST_COPPERS}")
        if not 1 <= self.max_turns <= 10_000:
            raise OptionError(f"max_turns={self.max_turns}: 1 to 10000")
        for name in ("kingdom", "first"):
            self.code(name)

    def code(self, name: str) -> int | tuple[int, ...]:
        if name == "kingdom":
            return kingdom(self.kingdom)
        if _plain(self.first) == "random":
            return NONE
        if self.first not in map(str, range(self.players)):
            seats = f"a seat from 0 to {self.players - 1}"
            raise OptionError(f"first={self.first!r}: {seats}, or random")
        return int(self.first)
