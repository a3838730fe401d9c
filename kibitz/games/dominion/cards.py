"""What is printed on a card, and the 48 numbers that describe it to a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...compiled import Function

# Types of cards, as bits. The first six are in the base set.
TREASURE, ACTION, VICTORY, CURSED, ATTACK, REACTION = (1 << i for i in range(6))
TYPES = 12  # of all sets: Duration, Reserve, Night, Command, Liaison and Loot follow
ANY = 0  # as a wanted type: cards of all types

# The seven cards of every game. Their slots are their ids.
COPPER, SILVER, GOLD, ESTATE, DUCHY, PROVINCE, CURSE = range(7)
BASIC = 7


@dataclass(frozen=True)
class Card:
    """A card as printed. Its rules are compiled; their arguments are listed in `base_set`."""

    id: int
    name: str
    cost: int
    types: int
    cards: int = 0
    """+Cards that every play gives; the next three are its +Actions, +Buys and coins."""
    actions: int = 0
    buys: int = 0
    coins: int = 0
    vp: int = 0
    tags: str = ""
    """What the text is about, in the letters of `features`."""
    text: Function | None = None
    """What happens when it is played, after what it gives; its docstring is what people read."""
    then: Function | None = None
    """What follows an answer to a question of this card."""
    worth: Function | None = None
    """Points of a copy beyond `vp`, where they depend on what its owner has."""
    shields: bool = False
    """Whether revealing it from hand leaves its owner unaffected by an Attack."""
    question: str = ""
    """What a yes or no to this card decides; {} is the card it is about."""

    @property
    def is_kingdom(self) -> bool:
        return self.id >= BASIC

    def has(self, kind: int) -> bool:
        return self.types & kind != 0

    def in_words(self) -> str:
        """What every play of the card gives, and its text."""
        gives = ((self.cards, "card"), (self.actions, "action"), (self.buys, "buy"))
        grants = [f"+{n} {what}{'s' if n > 1 else ''}" for n, what in gives if n]
        grants += [f"+${self.coins}"] if self.coins else []
        sentences = [f"{', '.join(grants)}."] if grants else []
        sentences += [rule.__doc__ for rule in (self.text, self.worth) if rule and rule.__doc__]
        sentences += [SHIELD] if self.shields else []
        return " ".join(" ".join(sentences).split())


SHIELD = "When another seat plays an Attack, you may first reveal this and are not affected."

FEATURES = 48


def features(card: Card) -> NDArray[np.float32]:
    """Numbers that tell a network what a card of any set does. float32 [48]

    Tags: u an instruction beyond plain grants, that acts on the player (s) or on others (o) or is
    triggered by a gain (g), a trashing (t), a discard (d); somebody discards (D); own cards (T) or
    only others' (T!) are trashed; the player (G) or only others (G!) gain; cards are drawn (W) or
    revealed (R); the deck top matters (K); Actions are named (a); better with own Treasures (m);
    points by the number of owned cards (v).
    """
    tags = card.tags.split()
    numbers = np.zeros(FEATURES, np.float32)
    terminal = card.has(ACTION) and card.actions == 0
    numbers[0] = card.cost / 10
    numbers[3] = card.coins / 5 if card.has(TREASURE) else 0
    numbers[4] = card.vp / 10
    numbers[5] = 1  # has a pile in the supply
    numbers[6] = card.is_kingdom
    numbers[7] = 1 if card.id in (COPPER, SILVER, GOLD) else (8 if card.has(VICTORY) else 10) / 12
    numbers[8 : 8 + TYPES] = [card.has(1 << i) for i in range(TYPES)]
    numbers[20:24] = card.actions / 5, card.cards / 5, card.buys / 3, card.coins / 5
    numbers[28:35] = [tag in tags for tag in "ugtdsoD"]
    numbers[35] = "T" in tags or "T!" in tags
    numbers[36] = "G" in tags or "G!" in tags
    numbers[37] = "W" in tags or card.cards > 0
    numbers[38:40] = "R" in tags, "K" in tags
    numbers[40] = terminal
    numbers[41] = card.cards >= 1 and card.actions >= 1
    numbers[42] = card.actions >= 2
    numbers[43] = card.cards >= 3
    numbers[44] = "a" in tags or (terminal and card.cards >= 2)
    numbers[45:47] = "m" in tags, "T" in tags
    numbers[47] = card.buys > 0 or "G" in tags or "v" in tags
    return numbers
