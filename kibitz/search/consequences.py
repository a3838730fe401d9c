"""What actions lead to by the rules, up to the next decision: the odds of chance after them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, rule
from ..devices import Array, as_words, device_named
from ..game import CHANCE, Game, odds, play, turn


class Consequences(NamedTuple):
    """What follows from actions."""

    states: NDArray[np.void]  # after the action, before chance [rows]
    odds: NDArray[np.float64]  # of chance; zeros where it has nothing to say [rows, num_outcomes]
    exact: NDArray[np.bool_]  # whether a seat decides next, or the game ends, whatever comes [rows]


class Copies(NamedTuple):
    """Positions to play on, and the same memory as 64-bit words."""

    states: Array
    words: Array


@rule
def copy(words, copies, i):
    for word in range(words.shape[1]):
        copies.words[i, word] = words[i, word]


@rule
def follow(words, i, action, after, then, out):
    """Play an action on a copy, and write the odds of chance; see `Consequences` for the rest.

    after, then: room for the positions after the action, and after chance.
    """
    copy(words, after, i)
    s = after.states[i]
    play(s, action)
    for outcome in range(out.shape[1]):
        out[i, outcome] = 0.0
    if turn(s) != CHANCE:
        return True
    odds(s, out[i])
    for outcome in range(out.shape[1]):
        if out[i, outcome] > 0.0:
            copy(after.words, then, i)
            play(then.states[i], outcome)
            if turn(then.states[i]) == CHANCE:
                return False
    return True


@kernel
def follow_all(first, end, step, words, actions, after, then, out, exact):
    """words: the positions."""
    for i in range(first, end, step):
        exact[i] = follow(words, i, actions[i], after, then, out)


def consequences(
    game: Game, states: NDArray[np.void], actions: NDArray[np.integer]
) -> Consequences:
    """What follows from one action at each of some positions of this game, which stay as they are.

    states: known to be positions at which these actions are legal. [rows]
    """
    device, rows = device_named("cpu"), len(states)
    after, then = (device.empty(rows, game.state) for _ in range(2))
    out, exact = np.zeros((rows, game.num_outcomes)), np.zeros(rows, np.bool_)
    copies = Copies(after, as_words(after)), Copies(then, as_words(then))
    words = as_words(np.ascontiguousarray(states))
    device.run(follow_all, rows, words, actions.astype(np.int64), *copies, out, exact)
    return Consequences(after, out, exact)
