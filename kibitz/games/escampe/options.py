"""The options of Escampe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...game import OptionError, Options

CHOSEN, DRAWN, FAIR = range(3)  # in the order of the option `placing`
LONGEST = 1000


@dataclass(frozen=True)
class EscampeOptions(Options):
    """How the pieces come onto the board, and how endless games end."""

    placing: Literal["chosen", "drawn", "fair"] = "chosen"
    """Who places the pieces: the players, chance among all placements, or chance among pairs of
    placements in which White has no forced win within nine plies."""
    adjudication: bool = True
    """Whether a game is drawn that goes round in circles: at the third occurrence of a position,
    after two passes in a row, and at the latest after `max_plies`. The rules know no draw."""
    max_plies: int = 200
    """With adjudication: the game is drawn after so many plies."""

    def check(self) -> None:
        if not 2 <= self.max_plies <= LONGEST:
            raise OptionError(f"max_plies={self.max_plies}: a game has 2 to {LONGEST} plies")
