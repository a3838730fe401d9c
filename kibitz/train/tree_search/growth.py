"""An option of the game that changes while somebody learns it: first easy, then as it is played.

Hands of cards that are shown at first and hidden more and more often teach what they are worth
before nobody sees them ("learning with dropout").
"""

from __future__ import annotations

from dataclasses import dataclass

from ...game import Game, GameError


@dataclass(frozen=True)
class Growth:
    """A probability among the game's options that grows evenly from 0 to 1 during a run."""

    option: str = ""
    """Its name. Without one nothing grows."""
    share: float = 0.5
    """Share of the iterations after which it is 1, and stays so."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise GameError(f"share={self.share}: it is a share of the iterations, above 0")

    def probability(self, iteration: int, iterations: int) -> float:
        """Of the games that begin in an iteration; the first one is 1."""
        return min(1.0, (iteration - 1) / (self.share * iterations))

    def game(self, game: Game, iteration: int, iterations: int) -> Game:
        """The game that begins in an iteration. It differs from the others in this option alone."""
        if not self.option:
            return game
        grown = f"{self.probability(iteration, iterations):.3f}"
        return game.bind(**{self.option: grown}).through(game.viewed)
