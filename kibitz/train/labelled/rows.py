"""Labelled positions, column by column.

A row is a position in the columns of its game (`Game.columns`), with a label and, if kibitz has
generated it, its origin: `LABELS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...game import Game, GameError
from ...notation import Column, PositionColumns
from ...search.deepening import stripped
from ...search.labelling import UNDECIDED
from ...search.transpositions import PROVEN, WIN


class DataError(GameError):
    """A file that does not hold labelled positions."""


LABELS = {
    "score": Column(np.float32, "the label, from -1 to 1, for the side to move"),
    "game_id": Column(np.int64, "number of the game that the position is from", -1),
    "ply": Column(np.int16, "moves that were made in that game before", -1),
    "label_depth": Column(np.int8, "plies of the search that gave the label", -1),
    "raw_score": Column(
        np.float32,
        f"what that search found, in points; {WIN:,} less the plies until then for a proven win",
        np.nan,
    ),
    "result": Column(
        np.int8,
        "how the game ended for the side to move: 1, 0 or -1; not known if it was stopped",
        UNDECIDED,
    ),
}


def columns_of(game: Game) -> PositionColumns:
    if game.columns is None:
        raise DataError(f"{game.name} does not say how its positions are written in data files")
    return game.columns


def record_of(game: Game) -> dict[str, Column]:
    """All columns, in the order of a record."""
    return {**columns_of(game).by_name, **LABELS}


def types_of(game: Game) -> dict[str, np.dtype[Any]]:
    """The types of all columns, in the order of a record."""
    return {name: np.dtype(column.type) for name, column in record_of(game).items()}


@dataclass(frozen=True)
class Rows:
    """Labelled positions of a game, column by column."""

    game: Game
    columns: dict[str, NDArray[Any]]  # [rows] each

    def __len__(self) -> int:
        return len(self.columns["score"])

    def __getitem__(self, rows: slice | NDArray[Any]) -> Rows:
        return Rows(self.game, {name: column[rows] for name, column in self.columns.items()})

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        names = parts[0].columns
        return Rows(
            parts[0].game, {n: np.concatenate([part.columns[n] for part in parts]) for n in names}
        )

    @property
    def states(self) -> NDArray[np.void]:
        """The positions, as states of the game without history. [rows]"""
        states = np.repeat(np.array([stripped(self.game).fresh()]), len(self))
        columns_of(self.game).read(self.columns, states)
        return states

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Where the search has seen the end; without a search, where the score is certain."""
        raw = self.columns["raw_score"]
        certain = np.abs(self.columns["score"]) == 1.0
        return np.asarray(np.where(np.isnan(raw), certain, np.abs(raw) > PROVEN))

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Where the result of the game is known."""
        return np.asarray(self.columns["result"] != UNDECIDED)

    @property
    def predicts_results(self) -> NDArray[np.bool_]:
        """Where an open score can be compared with the result of the game."""
        return np.asarray(self.decided & ~self.proven & ~np.isnan(self.columns["raw_score"]))

    def positions(self) -> NDArray[np.void]:
        """What makes positions different: all columns of the game, as one value per row. [rows]"""
        own = columns_of(self.game).by_name
        packed = np.zeros(len(self), [(name, column.type) for name, column in own.items()])
        for name in own:
            packed[name] = self.columns[name]
        return packed.view(np.dtype((np.void, packed.itemsize)))
