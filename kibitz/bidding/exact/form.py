"""The fastest form in which a game can be solved exactly."""

from __future__ import annotations

from ...game import Game, GameError
from ...search.best_response import Form
from ...search.sequences import Sequences
from .bidding_game import NotABiddingGame
from .ladder import Ladder


def form_of(game: Game, device: str = "cpu") -> Form:
    """`Ladder` for two hidden hands and rising bids, else `Sequences`; tables are on `device`."""
    try:
        return Ladder(game, device)
    except NotABiddingGame as reason:
        if device != "cpu":
            raise GameError(f"{reason}; a GPU solves no others") from None
        return Sequences(game)
