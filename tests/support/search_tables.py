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


class Opinions:
    """An evaluator with fixed opinions, in whole numbers; it remembers how much it was asked."""

    def __init__(self, game, strength=1):
        draw = np.random.default_rng(1).integers
        self.to_logits = strength * draw(-8, 9, (game.view_size, game.num_actions))
        self.to_values = strength * draw(-8, 9, (game.view_size, game.seats))
        self.rows = []

    def room(self, size, view_size):
        return np.zeros((size, view_size), np.float32)

    def __call__(self, views):
        self.rows.append(len(views))
        inputs = np.rint(views * 16).astype(np.int64)
        logits, values = inputs @ self.to_logits, inputs @ self.to_values
        return (logits / 256).astype(np.float32), np.clip(values / 512, -1, 1).astype(np.float32)
