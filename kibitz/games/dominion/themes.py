"""Themes: what to buy and play with a few cards of a kingdom, and a player that picks one.

`themes.json` has strategies in the language of `strategies`, each with the kingdom cards that it
needs, the best first. The player `themes` follows the first one whose cards are all on the table,
`themes:rank=1` the next one, and so on; the last one needs none. They were bred, see
`examples/dominion_themes.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...game import Planned, rule
from .strategies import (
    IDS_BY_NAME,
    MOST_CONDITIONS,
    MOST_ENTRIES,
    MOST_PLAYS,
    PLAN,
    Plan,
    planned,
    strategy,
)
from .zones import SLOTS

RANKS = range(100)
FILE = Path(__file__).with_name("themes.json")


def shelf(themes: Sequence[Mapping[str, Any]]) -> Planned:
    """The compiled player that follows the first of these strategies that fits the table."""
    count = len(themes)
    kind = np.dtype(
        (
            np.record,
            [
                ("rank", np.int64),  # how many that fit are passed over
                ("needed", np.int64, count),  # a bit for each card, by its id
                ("cards", np.int16, (count, MOST_ENTRIES)),
                ("conditions", np.int16, (count, MOST_ENTRIES, MOST_CONDITIONS, 5)),
                ("plays", np.int16, (count, MOST_PLAYS)),
            ],
        )
    )
    plans = np.zeros(1, kind)
    for k, theme in enumerate(themes):
        plan = strategy(theme).plan
        plans["needed"][0, k] = sum(1 << IDS_BY_NAME[card.lower()] for card in theme["needs"])
        for name in PLAN.names or ():
            plans[name][0, k] = plan[name]
    return Planned(follow_themes, plans[0], {"rank": RANKS})


@rule
def follow_themes(s, seat, rng, themes):
    table = 0
    for slot in range(SLOTS):
        if s.card[slot] >= 0:
            table |= 1 << int(s.card[slot])
    k, left = 0, int(themes.rank)
    while themes.needed[k] and (left > 0 or themes.needed[k] & ~table):
        left -= 0 if themes.needed[k] & ~table else 1
        k += 1
    return planned(s, seat, Plan(themes.cards[k], themes.conditions[k], themes.plays[k]))


THEMES = shelf(json.loads(FILE.read_text()))
