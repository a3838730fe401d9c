"""Kibitz plays table games, learns them, and shows its thinking.

>>> import kibitz
>>> table = kibitz.table(kibitz.load("liars_dice"), seed=1)
>>> table.play("3x6")

Names are looked up when they are first used, so that nothing waits for what it does not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from .arena.analysis import analyse
    from .arena.match import match
    from .arena.table import Table, table
    from .batch import Batch
    from .contract import check
    from .game import CHANCE, OVER, Game, GameError
    from .games import load
    from .players import player

_HOMES = {
    "Batch": ".batch",
    "CHANCE": ".game",
    "Game": ".game",
    "GameError": ".game",
    "OVER": ".game",
    "Table": ".arena.table",
    "analyse": ".arena.analysis",
    "check": ".contract",
    "load": ".games",
    "match": ".arena.match",
    "player": ".players",
    "table": ".arena.table",
    "train": ".train",
}

__all__ = [
    "CHANCE",
    "OVER",
    "Batch",
    "Game",
    "GameError",
    "Table",
    "analyse",
    "check",
    "load",
    "match",
    "player",
    "table",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kibitz' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name], __name__)
    return home if name == "train" else getattr(home, name)  # a room that can be called


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
