"""Games for training data: many random moves, and positions labelled by searches, all compiled.

A label is what `deepening.AlphaBeta` with one thread finds at the same depth. Whole games run
without the Python lock, so that as many are played at once as there are cores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..chance import UNIT, Streams, below, bits
from ..compiled import kernel, rule
from ..game import CHANCE, OVER, Game, GameError, actions, play, roll, room_for_actions, start, turn
from ..open_rules import Judge
from .alphabeta import ROUND, Shared, desk_type, end_score
from .deepening import DEEPEST, check_open, empty_shared, feature_bits, judge_named, stripped
from .iterations import lead, open_all
from .judging import begin, judge_token, judged
from .transpositions import ENDLESS

SLOTS = 1 << 12  # of the transposition table: more than a search of seven plies fills
UNBOUNDED = 1 << 62  # nodes of a search
LONGEST = 32_000  # plies of a game
UNDECIDED = 2  # the result of a game that was stopped, and of none that was played to its end

LABEL = np.dtype(
    (
        np.record,
        [
            ("score", np.int32),  # of the search, for the seat to move
            ("ply", np.int16),
            ("depth", np.int8),  # that was searched; less than asked where the result is proven
            ("result", np.int8),  # 1, 0, -1 for the seat to move, or UNDECIDED
        ],
    )
)


@dataclass(frozen=True)
class Schedule:
    """How games are played, and which of their positions are labelled."""

    random_moves: float = 0.7
    """Share of the moves that are drawn at random; a search chooses the others."""
    move_depth: int = 2
    """Plies of that search."""
    labelled: float = 0.3
    """Share of the positions that are labelled."""
    first_ply: int = 5
    """The first ply that may be labelled; the first of a game is 0."""
    depths: tuple[int, int] = (5, 7)
    """The least and the most plies of the searches that label; each is as likely."""
    stops: tuple[int, int] = (60, 99)
    """A game stops after a number of plies that is drawn from here, if it has not ended before."""

    def __post_init__(self) -> None:
        for name in SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise GameError(f"{name}={getattr(self, name)}: it is a share, from 0 to 1")
        if self.labelled == 0.0 or not 0 <= self.first_ply < self.stops[0]:
            raise GameError("no position would be labelled: label more of them, and earlier")
        if not 1 <= self.move_depth <= DEEPEST:
            raise GameError(f"move_depth={self.move_depth}: it is from 1 to {DEEPEST} plies")
        bounds = {"depths": DEEPEST, "stops": LONGEST}
        for name, most in bounds.items():
            low, high = getattr(self, name)
            if not 1 <= low <= high <= most:
                raise GameError(f"{name}={low}-{high}: they rise, from 1 to at most {most}")

    @property
    def most_labels(self) -> int:
        """Of one game."""
        return self.stops[1] - self.first_ply

    def numbers(self) -> NDArray[np.void]:
        """The same as a record, for compiled code. [1]"""
        depths, stops = self.depths, self.stops
        shares = (self.random_moves, self.labelled)
        return np.array([(*shares, self.move_depth, self.first_ply, *depths, *stops)], SCHEDULE)


SHARES = ("random_moves", "labelled")
WHOLE = ("move_depth", "first_ply", "least_depth", "most_depth", "least_stop", "most_stop")
SCHEDULE = np.dtype(
    (np.record, [*((n, np.float64) for n in SHARES), *((n, np.int64) for n in WHOLE)])
)


@dataclass(frozen=True)
class Labels:
    """The labelled positions of some games, game by game."""

    states: NDArray[np.void]  # [rows]
    labels: NDArray[np.void]  # of type LABEL. [rows]
    games: NDArray[np.int64]  # the number of the game among those that were played. [rows]


class Labeller:
    """One thread's desk and table, on which it plays games and labels their positions."""

    def __init__(self, game: Game, judge: str | Judge, schedule: Schedule) -> None:
        check_open(game)
        self.game, self.schedule = stripped(game), schedule
        chosen = judge_named(self.game, judge)
        self.token = judge_token(self.game, chosen)
        self.desks = np.zeros(1, desk_type(self.game, chosen.note))
        self.desks["features"] = feature_bits(())
        self.shared: Shared = empty_shared(SLOTS, 1)

    def play(self, rngs: Streams) -> Labels:
        """Play one game per stream."""
        games, most = len(rngs), self.schedule.most_labels
        states, labels = np.zeros((games, most), self.game.state), np.zeros((games, most), LABEL)
        tables, counts = np.zeros(games, self.game.state), np.zeros(games, np.int64)
        label_all(
            0,
            games,
            1,
            tables,
            rngs,
            np.array([self.game.options.numbers()]),
            self.desks,
            self.shared,
            self.token,
            self.schedule.numbers(),
            states,
            labels,
            counts,
        )
        filled = np.arange(most) < counts[:, None]
        return Labels(states[filled], labels[filled], np.nonzero(filled)[0])


def judge_values(game: Game, judge: str | Judge, states: NDArray[np.void]) -> NDArray[np.int64]:
    """What a judge says of positions without a search, for the seats to move. [n]"""
    bare = stripped(game)
    chosen = judge_named(bare, judge)
    values = np.zeros(len(states), np.int64)
    token, notes = judge_token(bare, chosen), np.zeros(1, chosen.note)
    judge_all(0, len(states), 1, states, notes, token, values)
    return values


# Compiled ----------------------------------------------------------------------------------------


@kernel
def judge_all(first, end, step, states, notes, who, out):
    for i in range(first, end, step):
        begin(who, states[i], notes[0])
        out[i] = judged(who, states[i], notes[0])


@kernel
def label_all(
    first, end, step, tables, rngs, options, desks, shared, who, plans, states, labels, counts
):
    for i in range(first, end, step):
        s = tables[i]
        start(s, options[0])
        settle(s, rngs[i])
        counts[i] = label_game(s, rngs[i], desks, shared, who, plans[0], states[i], labels[i])


@rule
def settle(s, rng):
    while turn(s) == CHANCE:
        roll(s, rng)


@rule
def label_game(s, rng, desks, shared, who, plan, states, labels):
    """Play a game and label positions of it; returns how many."""
    legal, n, ply = room_for_actions(s), 0, 0
    stop = drawn_between(rng, plan.least_stop, plan.most_stop)
    while turn(s) != OVER and ply < stop:
        if ply >= plan.first_ply and happens(rng, plan.labelled):
            states[n] = s
            label = labels[n]
            depth = drawn_between(rng, plan.least_depth, plan.most_depth)
            label.depth = think(desks, shared, who, s, depth)
            label.score = desks[0].expected
            label.ply = ply
            label.result = turn(s)  # for now; at the end, what this seat got
            n += 1
        if happens(rng, plan.random_moves):
            action = np.int64(legal[below(rng, actions(s, legal))])
        else:
            think(desks, shared, who, s, plan.move_depth)
            action = np.int64(desks[0].found[0])
        play(s, action)
        settle(s, rng)
        ply += 1
    for i in range(n):
        labels[i].result = result(s, labels[i].result)
    return n


@rule
def result(s, seat):
    """1, 0 or -1 for a seat; UNDECIDED while the game goes on."""
    if turn(s) != OVER:
        return UNDECIDED
    value = end_score(s, seat, 0)
    return 1 if value > 0 else -1 if value < 0 else 0


@rule
def happens(rng, share):
    return np.float64(np.int64(bits(rng))) * UNIT < share


@rule
def drawn_between(rng, least, most):
    return least + below(rng, most - least + 1)


@rule
def think(desks, shared, who, s, depth):
    """Search deeper and deeper, as `deepening.AlphaBeta` does; returns the depth reached.

    The score and the line that was found are then on the desk.
    """
    desk = desks[0]
    clear(desk, shared)
    desk.stack[0] = s
    desk.roots = actions(s, desk.lists[0])
    desk.depth, desk.goal = 1, depth
    desk.expected = desk.round = 0
    open_all(0, 1, 1, desks, who)
    shared.signals[ROUND] = desk.round
    lead(desks, shared, who)
    return desk.reached


@rule
def clear(desk, shared):
    """Forget everything about the last position."""
    for i in range(shared.table.shape[0]):
        shared.table[i, 0] = shared.table[i, 1] = 0
    for ply in range(desk.killers.shape[0]):
        desk.killers[ply, 0] = desk.killers[ply, 1] = 0
    for seat in range(2):
        for action in range(desk.history.shape[1]):
            desk.history[seat, action] = 0
    desk.nodes = desk.judged = 0
    desk.budget = UNBOUNDED
    desk.waiting = desk.twice_count = desk.partial = 0
    desk.plies_left = ENDLESS
