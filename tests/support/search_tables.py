"""Tables to search: positions by text, and from random play."""

from __future__ import annotations

import numpy as np

from kibitz.batch import Batch


def positions(game, *texts):
    """Positions as an array."""
    states = np.zeros(len(texts), game.state)
    for i, text in enumerate(texts):
        states[i] = game.read(text)
    return states


def at(mine, theirs, mover=0):
    """A position of the race, from the mover's side."""
    squares = (mine, theirs) if mover == 0 else (theirs, mine)
    return f"at={squares[0]},{squares[1]} mover={mover}"


def wandered(game, size, seed=5, plies=2):
    """Positions of random play with a seat to move."""
    batch = Batch(game, 4 * size, seed=seed)
    batch.wander(plies)
    batch.settle()
    return batch.states[batch.turns() >= 0][:size].copy()
