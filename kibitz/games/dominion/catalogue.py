"""All cards of all sets, by id, and the ways from a card to its rules.

A set is one file like `base_set`, named in SETS. Compiled code cannot look a rule up in a table, so
the ways there are written, once, as chains of ifs over the cards that have such a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...game import rule
from . import base_set
from .cards import TREASURE, Card, Rule, features

SETS = (base_set,)

CARDS: dict[int, Card] = {card.id: card for each in SETS for card in each.CARDS}
KINGDOM_CARDS = np.array([card.id for card in CARDS.values() if card.is_kingdom], np.int16)
# A kingdom has ten cards of which so many can be Treasures, besides the three of every game.
TREASURES = 3 + min(10, sum(card.is_kingdom and card.has(TREASURE) for card in CARDS.values()))


def _printed(what: str, kind: Any) -> Any:
    """One number of all cards, by id."""
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


def _way_to(name: str, hook: str, given: str, otherwise: str) -> Rule:
    """Write the rule `name`, which runs the hook of a card, or returns `otherwise` without one."""
    lines = [f"def {name}(s, me, card{given}):", "    printed = int(s.card[card])"]
    scope: dict[str, Any] = {"__name__": __name__}
    for card in CARDS.values():
        if function := getattr(card, hook):
            scope[function.__name__] = function
            lines.append(f"    if printed == {card.id}:")
            lines.append(f"        return {function.__name__}(s, me, card{given})")
    lines.append(f"    return {otherwise}")
    # Under the name of this file the compiled code is kept on disk like any other rule.
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    return rule(scope[name])


play_text = _way_to("play_text", "text", ", safe", otherwise="None")
play_then = _way_to("play_then", "then", ", job, slot, done", otherwise="None")
worth = _way_to("worth", "worth", "", otherwise="0")
