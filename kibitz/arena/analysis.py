"""What the strongest player thinks of a position."""

from __future__ import annotations

import numpy as np

from ..chance import fresh_seed, streams
from ..game import CHANCE, OVER, Game, GameError
from ..players import Inquiry, Player, PlayerError, Sight, Thought, explain, player
from .table import Table

STRONGEST = ("champion:sims=400", "champion", "mcts:sims=2000")


def strongest(game: Game) -> Player:
    """The strongest player that comes with the package and can explain its moves.

    A champion searches where its network can guide a search.
    """
    for text in STRONGEST[:-1]:
        try:
            return player(text, game)
        except PlayerError:
            continue
    return player(STRONGEST[-1], game)


def analyse(
    game: Game,
    position: str | Table | None = None,
    who: str | Player | None = None,
    inquiry: Inquiry | None = None,
    seed: int | None = None,
) -> Thought:
    """What a player thinks of a position, knowing no more than the seat to move.

    position: in the notation of the game, or a table; by default the first decision of a game with
    this seed. who: by default the strongest player that there is.

    >>> from kibitz.games import load
    >>> thought = analyse(load("kuhn"), who="mcts:sims=100", seed=1)
    >>> thought.simulations, sorted(candidate.text for candidate in thought.candidates)
    (100, ['bet', 'pass'])
    """
    thinker = strongest(game) if who is None else player(who, game) if isinstance(who, str) else who
    if position is None:
        position = Table(game, seed=fresh_seed() if seed is None else seed)
    if isinstance(position, Table):
        return explain(thinker, position.sight(), inquiry)
    return explain(thinker, _sight(game, position, seed), inquiry)


def _sight(game: Game, position: str, seed: int | None) -> Sight:
    """What the seat to move knows of a position in words."""
    s = game.read(position)
    turn = game.turn(s)
    if turn in (CHANCE, OVER):
        why = "the game is over" if turn == OVER else "it is the turn of chance"
        raise GameError(f"{game.name}: {why} in this position, so there is nothing to think about")
    rngs = streams(fresh_seed() if seed is None else seed, "player", 1)
    return Sight(game, np.array([s], game.state), [turn], rngs, alone=True)
