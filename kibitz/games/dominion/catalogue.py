"""All cards of all sets, by id, and the functions that find a card's rules.

A set is one file like `base_set`, named in SETS. Compiled code cannot look a rule up in a table, so
these functions are generated, as chains of ifs over the cards that have such a rule.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...compiled import Function
from ...game import rule
from . import base_set
from .cards import TREASURE, Card, features

SETS = (base_set,)
Width = TypeVar("Width", np.int8, np.int16)

CARDS: dict[int, Card] = {card.id: card for card_set in SETS for card in card_set.CARDS}
KINGDOM_CARDS = np.array([card.id for card in CARDS.values() if card.is_kingdom], np.int16)
# The most Treasures in a game: the three of every game, and those of a kingdom of ten.
TREASURES = 3 + min(10, sum(card.is_kingdom and card.has(TREASURE) for card in CARDS.values()))


def _printed(what: str, kind: type[Width]) -> NDArray[Width]:
    """A number printed on all cards, by id."""
    table = np.zeros(max(CARDS) + 1, kind)
    for card in CARDS.values():
        table[card.id] = getattr(card, what)
    return table


TYPES = _printed("types", np.int16)
COST = _printed("cost", np.int8)
GIVES = np.stack([_printed(what, np.int8) for what in ("cards", "actions", "buys", "coins")], 1)
VP = _printed("vp", np.int8)
SHIELDS = _printed("shields", np.int8)

FEATURES_BY_ID = np.zeros((max(CARDS) + 1, 48), np.float32)
for _card in CARDS.values():
    FEATURES_BY_ID[_card.id] = features(_card)


def _dispatch(name: str, hook: str, parameters: str, otherwise: str) -> Function:
    """The rule `name`, which runs the hook of a card, or returns `otherwise` if it has none."""
    lines = [f"def {name}(s, me, card{parameters}):", "    printed = int(s.card[card])"]
    scope: dict[str, Any] = {"__name__": __name__}
    for card in CARDS.values():
        if function := getattr(card, hook):
            scope[function.__name__] = function
            lines.append(f"    if printed == {card.id}:")
            lines.append(f"        return {function.__name__}(s, me, card{parameters})")
    lines.append(f"    return {otherwise}")
    # Under this file's name the compiled code is kept on disk like that of any other rule.
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    return rule(scope[name])


play_text = _dispatch("play_text", "text", ", safe", otherwise="None")
play_then = _dispatch("play_then", "then", ", job, slot, done", otherwise="None")
worth = _dispatch("worth", "worth", "", otherwise="0")
