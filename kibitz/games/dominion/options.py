"""The options of Dominion, and the kingdoms that have names."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The ids of ten kingdom cards, ascending, from their names or from the name of a kingdom."""
    kingdoms = {_plain(name): cards for name, cards in KINGDOMS.items()}
    cards = kingdoms.get(_plain(text), text)
    names = [name for name in cards.split(",") if name.strip()]
    for name in names:
        if _plain(name) not in IDS:
            raise OptionError(
                f"kingdom: {name.strip()!r} is neither a kingdom card nor a kingdom such as "
                f"{', '.join(KINGDOMS)}"
            )
    ids = sorted({IDS[_plain(name)] for name in names})
    if len(ids) < len(names):
        raise OptionError(f"kingdom={text!r}: every card has one pile, but one is named twice")
    if len(ids) != KINGDOM:
        raise OptionError(f"kingdom={text!r}: a kingdom has {KINGDOM} cards, not {len(ids)}")
    return tuple(ids)


@dataclass(frozen=True)
class DominionOptions(Options):
    """Who plays, with which cards, and which decisions are made without asking."""

    players: int = 2
    """Seats at the table, 2 to 6."""
    kingdom: str = "random"
    """Ten kingdom cards, separated by commas; or first_game, size_distortion, deck_top,
    sleight_of_hand, improvements or silver_and_gold; or random: new ones in every game."""
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
            drawn = _plain(self.kingdom) == "random"
            return (NONE,) * KINGDOM if drawn else kingdom(self.kingdom)
        if _plain(self.first) == "random":
            return NONE
        if self.first not in map(str, range(self.players)):
            seats = f"a seat from 0 to {self.players - 1}"
            raise OptionError(f"first={self.first!r}: {seats}, or random")
        return int(self.first)
