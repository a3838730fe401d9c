"""A small game in sequence form: what each seat has done, and what that led to.

A *sequence* is everything that a seat has decided on its way to a place in the game: an information
set and an action there, after the sequence that led to the set. A play is one sequence per seat and
the luck of the deal, so the whole tree shrinks to the list of its ends: (sequence of each seat,
probability of the chance moves, score of each seat). What a seat can get from a sequence is then a
sum over ends, folded from the last information sets to the first.

Information sets are named by what a seat knows after its own sequence. So every seat has perfect
recall, even in games where `known` forgets.

Source: D. Koller, N. Megiddo, B. von Stengel, "Fast algorithms for finding randomized strategies in
game trees", 1994.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..chance import streams
from ..devices import Cpu
from ..game import CHANCE, OVER, Game, GameError, kernel, odds, turn
from .matching import moved, share

MOST_BYTES = 1 << 28  # for all positions of a game together

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
States: TypeAlias = NDArray[np.void]
Strategy: TypeAlias = Any
"""A weight per action of each information set, on the device of its form."""
Policy: TypeAlias = Callable[[States, Integers], NDArray[np.floating]]
"""From states [n] and seats [n] to the odds of the legal actions [n, max_legal]."""
Progress: TypeAlias = Callable[[float], object]
"""Called with the fraction that is done, from 0 to 1."""


def silent(done: float) -> None:
    """Progress that nobody watches."""


class TooLarge(GameError):
    """A game whose tree does not fit into memory."""


# All that chance can do ---------------------------------------------------------------------------


@kernel
def odds_all(first, end, step, states, out):
    for i in range(first, end, step):
        if turn(states[i]) == CHANCE:
            odds(states[i], out[i])


def table_of(game: Game, states: States) -> Batch:
    """Tables without chance: their streams are never used."""
    return Batch.of(game, states, streams(0, "search", len(states)))


def after_chance(game: Game, states: States) -> tuple[Integers, Floats, States]:
    """All outcomes of tables that wait for chance: origins, probabilities, states. [n] each"""
    chances = np.zeros((len(states), game.num_outcomes))
    Cpu().run(odds_all, len(states), states, chances)
    origins, outcomes = chances.nonzero()
    after = states[origins]
    table_of(game, after).play(outcomes, check=False)
    return origins, chances[origins, outcomes], after


def deals(game: Game) -> tuple[States, Floats]:
    """The possible tables when the first seat is to move, and their probabilities. [n] each

    Equal tables are one: the order in which dice fell does not count.
    """
    fresh = np.zeros(1, game.state)
    fresh[0] = game.fresh()
    states: States = fresh
    likely: Floats = np.ones(1)
    while len(waiting := np.flatnonzero(table_of(game, states).turns() == CHANCE)):
        _check_size(game, len(waiting) * game.num_outcomes)
        rest = np.delete(np.arange(len(states)), waiting)
        origins, chances, after = after_chance(game, states[waiting])
        likely = np.concatenate([likely[rest], likely[waiting][origins] * chances])
        states = np.concatenate([states[rest], after])
        kinds, first, same = np.unique(_bytes(states), return_index=True, return_inverse=True)
        states, likely = (
            states[first],
            np.bincount(same.reshape(-1), likely, len(kinds)).astype(np.float64),
        )
    return states, likely


def _bytes(states: States) -> States:
    return np.ascontiguousarray(states).view(np.dtype((np.void, states.dtype.itemsize)))


def _check_size(game: Game, nodes: int) -> None:
    if nodes * game.state.itemsize > MOST_BYTES:
        raise TooLarge(
            f"{game.name} under these options has too many positions to walk all of them; "
            "choose options that make it smaller, or measure strength by a match"
        )


# The form -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ends:
    """How games end."""

    sequences: Integers  # the last sequence of each seat. int64 [ends, seats]
    likely: Floats  # probability of the chance moves. [ends]
    scores: Floats  # [ends, seats]


Sets: TypeAlias = tuple[Integers, Integers, Integers, Integers, States]
"""Information sets: owner, sequence before, first sequence, choices, a state of each."""
Nodes: TypeAlias = tuple[States, Floats, Integers]
"""Tables: states, probabilities of their chance moves, last sequences by seat."""


class Sequences:
    """The sequence form of a game.

    A strategy is a table of weights, one per sequence: an action's probability is its share of the
    positive weights of its information set. Sequence k < seats is that seat's empty one.
    """

    def __init__(self, game: Game) -> None:
        self.game, self.seats = game, game.seats
        self.size = game.seats  # sequences
        self.nodes = 0
        self._named: dict[tuple[int, int], int] = {}  # the first sequence of an information set
        sets: list[Sets] = []
        ends: list[tuple[Integers, Floats, Floats]] = []
        states, likely = deals(game)
        sequences = np.tile(np.arange(self.seats), (len(states), 1))
        while len(states):
            self.nodes += len(states)
            turns = table_of(game, states).turns()
            over = turns == OVER
            scores = (
                table_of(game, states[over]).scores() if over.any() else np.zeros((0, self.seats))
            )
            ends.append((sequences[over], likely[over], scores))
            parts = [
                self._expand_chance(states, likely, sequences, turns == CHANCE),
                *(
                    self._expand_seat(
                        (states[turns == seat], likely[turns == seat], sequences[turns == seat]),
                        seat,
                        sets,
                    )
                    for seat in range(self.seats)
                ),
            ]
            states, likely, sequences = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.ends = Ends(*(np.concatenate(part) for part in zip(*ends, strict=True)))
        # information sets, those that come first at the table first
        self.owner, self.parent, self.first, self.choices, self.states = (
            np.concatenate(part) for part in zip(*sets, strict=True)
        )

    def _expand_chance(
        self, states: States, likely: Floats, sequences: Integers, here: NDArray[np.bool_]
    ) -> Nodes:
        if not here.any():
            return states[:0], likely[:0], sequences[:0]
        origins, chances, after = after_chance(self.game, states[here])
        return after, likely[here][origins] * chances, sequences[here][origins]

    def _expand_seat(self, nodes: Nodes, seat: int, sets: list[Sets]) -> Nodes:
        """Name the information sets of a seat at these tables and play all its actions."""
        states, likely, sequences = nodes
        if not len(states):
            return states, likely, sequences
        tables = table_of(self.game, states)
        legal, counts = tables.actions()
        _check_size(self.game, self.nodes + int(counts.sum()))
        names = np.empty(len(states), [("after", np.int64), ("known", np.uint64)])
        names["after"] = sequences[:, seat]
        names["known"] = tables.known(np.full(len(states), seat))
        kinds, examples, which = np.unique(names, return_index=True, return_inverse=True)
        which, choices = which.reshape(-1), counts[examples]
        assert (choices[which] == counts).all(), "an information set with different actions"
        first, new = self._name(kinds, choices)
        owner, chosen = np.full(len(new), seat), examples[new]
        sets.append((owner, names["after"][chosen], first[new], choices[new], states[chosen]))
        inside = np.arange(legal.shape[1]) < counts[:, None]
        origins, places = inside.nonzero()
        after, sequences = states[origins], sequences[origins]
        table_of(self.game, after).play(legal[inside].astype(np.int64), check=False)
        sequences[:, seat] = first[which[origins]] + places
        return after, likely[origins], sequences

    def _name(self, kinds: States, choices: Integers) -> tuple[Integers, Integers]:
        """First sequences of information sets, and which of the sets are new.

        A set can be reached after more or fewer moves, if the seat does not see those of others.
        """
        first, new = np.zeros(len(kinds), np.int64), []
        for i, (name, count) in enumerate(zip(kinds.tolist(), choices.tolist(), strict=True)):
            if name not in self._named:
                self._named[name] = self.size
                self.size += count
                new.append(i)
            first[i] = self._named[name]
        return first, np.array(new, np.int64)

    # strategies

    def zeros(self) -> Strategy:
        """The strategy without a preference: all weights are 0."""
        return np.zeros(self.size)

    def ask(self, policy: Policy, progress: Progress = silent) -> Strategy:
        """The strategy of a policy."""
        table, chances = self.zeros(), policy(self.states, self.owner)
        inside = np.arange(chances.shape[1]) < self.choices[:, None]
        sets, places = inside.nonzero()
        table[self.first[sets] + places] = chances[inside]
        progress(1.0)
        return table

    def value(self, table: Strategy, seat: int, *, best: bool) -> float:
        """What a seat gets if all play by `table`, or if it responds best to the others."""
        values = self._values(table, seat)
        arrays = self.parent, self.first, self.choices
        mine = np.flatnonzero(self.owner == seat)
        Cpu(1).run(fold, len(mine), mine, *arrays, table, values, best)
        return float(values[seat])

    def learn(
        self, seat: int, weights: Strategy, gains: Strategy, average: Strategy, step: Any
    ) -> None:
        """One step of a seat. What the others play is added to their average."""
        reach = self._reach(weights)
        values = self._values(weights, seat, reach)
        arrays = self.parent, self.first, self.choices
        mine = np.flatnonzero(self.owner == seat)
        Cpu(1).run(improve, len(mine), mine, *arrays, weights, values, gains, step)
        others = np.flatnonzero(self.owner != seat)
        Cpu(1).run(add_average, len(others), others, *arrays[1:], reach, average, step)

    def _reach(self, table: Strategy) -> Floats:
        """The probability that a seat plays each of its sequences, where others allow it."""
        reach = np.ones(self.size)
        arrays = self.parent, self.first, self.choices
        Cpu(1).run(follow, len(self.parent), *arrays, table, reach)
        return reach

    def _values(self, table: Strategy, seat: int, reach: Floats | None = None) -> Floats:
        """What a seat gets in games that end after exactly this sequence of it, by sequence."""
        values, reach = np.zeros(self.size), self._reach(table) if reach is None else reach
        ends = self.ends
        arrays = ends.sequences, ends.likely, ends.scores
        Cpu(1).run(settle_ends, len(ends.likely), *arrays, seat, reach, values)
        return values


@kernel
def follow(first, end, step, parent, start, choices, table, reach):
    for i in range(first, end, step):
        total = 0.0
        for s in range(start[i], start[i] + choices[i]):
            total += max(table[s], 0.0)
        for s in range(start[i], start[i] + choices[i]):
            reach[s] = reach[parent[i]] * share(table[s], total, choices[i])


@kernel
def settle_ends(first, end, step, sequences, likely, scores, seat, reach, values):
    for i in range(first, end, step):
        got = likely[i] * scores[i, seat]
        for other in range(sequences.shape[1]):
            if other != seat:
                got *= reach[sequences[i, other]]
        values[sequences[i, seat]] += got


@kernel
def fold(first, end, step, mine, parent, start, choices, table, values, best):
    """Add to each sequence what its seat gets in the information sets that follow it."""
    for k in range(end - 1, first - 1, -step):
        i = mine[k]
        total, most = 0.0, values[start[i]]
        for s in range(start[i], start[i] + choices[i]):
            total += max(table[s], 0.0)
            most = max(most, values[s])
        value = 0.0
        for s in range(start[i], start[i] + choices[i]):
            value += share(table[s], total, choices[i]) * values[s]
        values[parent[i]] += most if best else value


@kernel
def improve(first, end, step, mine, parent, start, choices, weights, values, gains, steps):
    """The same, and each weight moves by what its action gains."""
    now = steps[0]
    for k in range(end - 1, first - 1, -step):
        i = mine[k]
        total, value = 0.0, 0.0
        for s in range(start[i], start[i] + choices[i]):
            total += max(weights[s], 0.0)
        for s in range(start[i], start[i] + choices[i]):
            value += share(weights[s], total, choices[i]) * values[s]
        for s in range(start[i], start[i] + choices[i]):
            gain = values[s] - value
            weights[s] = moved(weights[s], gains[s], gain, now)
            if now.predictive:
                gains[s] = gain
        values[parent[i]] += value


@kernel
def add_average(first, end, step, others, start, choices, reach, average, steps):
    for k in range(first, end, step):
        i = others[k]
        for s in range(start[i], start[i] + choices[i]):
            average[s] += steps[0].average * reach[s]
