"""What every action is worth: the expectation over all chance up to the next real decision.

After an action forced plies are played on, and chance branches into all of its outcomes, nearest
chance first, while there is room. From then on it is rolled, so that the expectation stays unbiased
and its cost is bounded in every game. What is found at the ends is judged by an evaluator, for the
seat to move there: somebody has a choice, or the game is over.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, rule
from ..devices import Array, as_words, device_named
from ..game import (
    CHANCE,
    OVER,
    Game,
    GameError,
    candidates,
    nothing_hidden,
    observe,
    odds,
    play,
    roll,
    room_for_actions,
    room_for_odds,
    score,
    turn,
)

POSITIONS = 1 << 14  # that there is room for at a time
NO_SEAT = -1  # whose position it is, where there is none


class Asked(Protocol):
    """What judges positions: `nets.evaluate.NetEvaluator` is one."""

    def ask(self, views: NDArray[np.float32]) -> tuple[Array, Array]:
        """Logits [n, num_actions]; values by seat, the looking one first [n, seats]."""


class Futures(NamedTuple):
    """What can follow the actions of some positions."""

    states: Array  # [tables, max_legal, room]
    words: Array  # the same memory as 64-bit words [tables, max_legal, room, words]
    odds: Array  # float64 [tables, max_legal, room]
    seats: Array  # who decides there, OVER or NO_SEAT. int64 [tables, max_legal, room]


def empty_futures(game: Game, tables: int, room: int) -> Futures:
    shape, device = (tables, game.max_legal, room), device_named("cpu")
    states = device.empty(tables * game.max_legal * room, game.state)
    return Futures(
        states=states.reshape(shape),
        words=as_words(states).reshape(*shape, -1),
        odds=device.empty(shape, np.float64),
        seats=np.full(shape, NO_SEAT, np.int64),
    )


@rule
def copy(source, target):
    for word in range(source.shape[0]):
        target[word] = source[word]


@rule
def comes_to_chance(s):
    """Play on as long as nobody has a choice; whether chance is next."""
    legal = room_for_actions(s)
    while turn(s) >= 0 and candidates(s, legal) == 1:
        play(s, legal[0])
    return turn(s) == CHANCE


@rule
def branch(states, words, shares, i, count, rng):
    """Let chance decide at position i of `count`; the new count. Without room it is rolled."""
    chances, first, outcomes = room_for_odds(states[i]), np.int64(-1), 0
    odds(states[i], chances)
    for outcome in range(chances.shape[0]):
        if chances[outcome] > 0.0:
            outcomes += 1
            first = outcome if first < 0 else first
    if count + outcomes - 1 > shares.shape[0]:
        roll(states[i], rng)
        return count
    for outcome in range(first + 1, chances.shape[0]):
        if chances[outcome] > 0.0:
            copy(words[i], words[count])
            play(states[count], outcome)
            shares[count] = shares[i] * chances[outcome]
            count += 1
    play(states[i], first)
    shares[i] *= chances[first]
    return count


@kernel
def foresee_all(first, end, step, roots, legal, counts, futures, rngs):
    """What follows each legal action. roots: the positions, as 64-bit words."""
    for b in range(first, end, step):
        for j in range(counts[b]):
            states, words, shares = futures.states[b, j], futures.words[b, j], futures.odds[b, j]
            copy(roots[b], words[0])
            play(states[0], legal[b, j])
            shares[0], count, moved = 1.0, 1, True
            while moved:
                moved = False
                for i in range(count):  # those that are new wait for the next round
                    if comes_to_chance(states[i]):
                        count, moved = branch(states, words, shares, i, count, rngs[b]), True
            for i in range(count):
                futures.seats[b, j, i] = turn(states[i])


@kernel
def look_all(first, end, step, states, seats, views, scores):
    """What who decides sees or, where the game is over, what everybody got."""
    for i in range(first, end, step):
        if seats[i] == OVER:
            score(states[i], scores[i])
        else:
            observe(states[i], seats[i], views[i])


class Lookahead:
    """Says what actions are worth. room: the most positions that follow one action."""

    def __init__(self, game: Game, evaluator: Asked, room: int) -> None:
        if game.redeal is not nothing_hidden or game.secret_moves:
            raise GameError(f"lookahead={room}: only for games in which nothing is hidden")
        self.game, self.evaluator, self.room = game, evaluator, room
        self.tables = max(1, POSITIONS // (game.max_legal * room))  # at a time
        self.device = device_named("cpu")

    def expectations(
        self, states: Array, seats: Array, legal: tuple[Array, Array], rngs: Array
    ) -> NDArray[np.float64]:
        """What each legal action is worth to the seat to move, 0 in the rest of the list.

        states: positions at which `seats` are to move. legal: their actions, and how many. rngs: a
        stream for each, which advances where chance is rolled. [tables, max_legal]
        """
        found = np.zeros(legal[0].shape)
        for first in range(0, len(states), self.tables):
            part = slice(first, first + self.tables)
            futures = empty_futures(self.game, len(states[part]), self.room)
            roots, (actions, counts) = as_words(np.ascontiguousarray(states[part])), legal
            given = roots, actions[part], counts[part], futures, rngs[part]
            self.device.run(foresee_all, len(roots), *given)
            found[part] = self._judged(futures, seats[part])
        return found

    def _judged(self, futures: Futures, seats: Array) -> NDArray[np.float64]:
        """The sums over what follows an action. seats: who plays it, by table."""
        at = futures.seats != NO_SEAT
        there, own = futures.seats[at], seats[at.nonzero()[0]]
        views = np.zeros((len(there), self.game.view_size), np.float32)
        scores = np.zeros((len(there), self.game.seats), np.float32)
        seen = views.view(self.game.view).reshape(-1)
        self.device.run(look_all, len(there), futures.states[at], there, seen, scores)
        worth, goes_on = scores[np.arange(len(own)), own], there != OVER
        _, values = self.evaluator.ask(views[goes_on])
        turned = (own - there)[goes_on] % self.game.seats
        worth[goes_on] = values[np.arange(len(turned)), turned]
        shares = np.zeros(at.shape)
        shares[at] = futures.odds[at] * worth
        return np.asarray(shares.sum(2))
