"""Positions to learn from: states, not views, because states are small and encoders change.

Self-play notes a decision long before its game has ended. A shard therefore holds the decisions of
some moves and, apart from them, the results of the games that ended meanwhile. A decision can be
learnt from as soon as the result of its game is in its own shard or in a later one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch, check_positions
from ..chance import streams
from ..game import Game, GameError
from .folder import Arrays, Listed, RunError, RunFolder, check_same, read_stored, write_tensors

Floats = NDArray[np.float32]
Columns = TypeVar("Columns", bound="Rows")
TYPES = {
    "seats": "i1",
    "actions": "i2",
    "policy": "f4",
    "value": "f4",
    "games": "i8",
    "moves": "i4",
    "played": "i2",
    "outcomes": "i4",
    "ended": "i8",
    "ended_scores": "f4",
    "ended_margins": "f4",
    "ended_outcomes": "i4",
}
ROUNDING = 1e-3  # how far the sum of a policy may be from 1


class Rows:
    """The base of dataclasses whose fields are arrays with the same number of rows."""

    def arrays(self) -> Arrays:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(next(iter(self.arrays().values())))

    def __getitem__(self: Columns, rows: slice | NDArray[np.integer]) -> Columns:
        return type(self)(**{name: array[rows] for name, array in self.arrays().items()})

    @classmethod
    def joined(cls: type[Columns], parts: list[Columns]) -> Columns:
        """The rows of several parts as one, in order."""
        if len(parts) == 1:
            return parts[0]
        columns = [part.arrays() for part in parts]
        return cls(**{name: np.concatenate([c[name] for c in columns]) for name in columns[0]})


@dataclass
class Decisions(Rows):
    """Decisions of self-play, in the order of play."""

    states: NDArray[np.void]  # [rows]
    seats: NDArray[np.int8]  # the seat to move. [rows]
    actions: NDArray[np.int16]  # legal actions, padded with -1. [rows, max_legal]
    policy: Floats  # of the search; zeros where no move is to be learnt. [rows, max_legal]
    value: Floats  # of the search, for that seat; zero where nobody searched. [rows]
    games: NDArray[np.int64]  # the number of the game. [rows]
    moves: NDArray[np.int32]  # how many decisions of the game came before. [rows]
    played: NDArray[np.int16]  # the action that was played. [rows]
    outcomes: NDArray[np.int32]  # the last one of chance since the decision before, or -1. [rows]


@dataclass
class Positions(Decisions):
    """Decisions, and how their games ended."""

    scores: Floats  # by seat, from the seat to move on in turn order. [rows, seats]
    margin: Floats  # of the seat to move. [rows]
    # the last outcome of chance after the last decision of the game, or -1. [rows]
    last_outcomes: NDArray[np.int32] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.last_outcomes is None:
            self.last_outcomes = np.full(len(self.games), -1, np.int32)


@dataclass
class Results(Rows):
    """How games ended."""

    games: NDArray[np.int64]  # [games]
    scores: Floats  # [games, seats]
    margins: Floats  # [games, seats]
    # the last one of chance after the last decision, or -1. [games]
    outcomes: NDArray[np.int32] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.outcomes is None:
            self.outcomes = np.full(len(self.games), -1, np.int32)


@dataclass
class Shard:
    """Decisions, and the results of the games that ended while they were taken."""

    decisions: Decisions
    results: Results

    def save(self, path: Path, game: Game) -> Listed:
        """Write one shard of a replay folder; return its entry for a checkpoint."""
        arrays, rows = self.decisions.arrays(), len(self.decisions)
        states = np.ascontiguousarray(arrays["states"])
        arrays["states"] = states.view(np.uint8).reshape(rows, states.dtype.itemsize)
        arrays["ended"] = self.results.games
        for name in ("scores", "margins", "outcomes"):
            arrays[f"ended_{name}"] = getattr(self.results, name)
        sha256 = write_tensors(path, arrays, {"fingerprint": game.fingerprint})
        return Listed(path.name, sha256, rows)

    @staticmethod
    def read(path: Path, game: Game, listed: Listed | None = None) -> Shard:
        """The inverse of `save`. Refuses anything but positions of this game.

        listed: the entry of a checkpoint that the file must agree with.
        """
        stored = read_stored(path)
        if stored.about.get("fingerprint") != game.fingerprint:
            raise RunError(f"{path} holds positions of another game or with other options")
        if listed is not None:
            check_same(path, stored.sha256, listed)
            if len(stored.arrays.get("seats", ())) != listed.rows:
                raise RunError(f"{path} does not hold the {listed.rows} rows that are listed")
        arrays = dict(stored.arrays)
        if "ended" in arrays:  # what early runs did not note
            nothing = np.full(len(np.atleast_1d(arrays["ended"])), -1, np.int32)
            arrays.setdefault("ended_outcomes", nothing)
        _check_shapes(game, arrays, path)
        states = arrays.pop("states").reshape(-1).view(game.state)
        names = "ended", "ended_scores", "ended_margins", "ended_outcomes"
        ended = [arrays.pop(name) for name in names]
        shard = Shard(Decisions(states=states, **arrays), Results(*ended))
        check_numbers(game, shard, path)
        check_states(game, shard.decisions, path)
        return shard


def _check_shapes(game: Game, arrays: Arrays, path: Path) -> None:
    """See that all arrays are there, with the types and shapes of this game."""
    rows, games = (
        len(arrays[name]) if arrays.get(name, np.zeros(())).ndim == 1 else 0
        for name in ("seats", "ended")
    )
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(TYPES, (rows,))
    shapes |= dict.fromkeys(("actions", "policy"), (rows, game.max_legal))
    shapes |= dict.fromkeys(("ended_scores", "ended_margins"), (games, game.seats))
    shapes |= dict.fromkeys(("ended", "ended_outcomes"), (games,))
    wanted = {name: (np.dtype(TYPES[name]), shape) for name, shape in shapes.items()}
    wanted["states"] = (np.dtype(np.uint8), (rows, game.state.itemsize))
    if rows == 0 or {name: (a.dtype, a.shape) for name, a in arrays.items()} != wanted:
        raise RunError(
            f"{path} does not hold positions of {game.name}: its arrays have other names or shapes"
        )


def check_states(game: Game, decisions: Decisions, path: Path) -> None:
    """See that states from a file are positions in which these seats are to move."""
    if game.flaw is not None:  # bounds by random play would refuse what good players reach
        try:
            check_positions(game, decisions.states, path)
        except GameError as error:
            raise RunError(str(error)) from None
    batch = Batch.of(game, decisions.states, streams(0, "training", len(decisions)))
    if (batch.turns() != decisions.seats).any():
        raise RunError(f"{path} holds positions in which another seat is to move")


def check_numbers(game: Game, shard: Shard, path: Path) -> None:
    """See that positions from a file can be learnt from."""
    rows, results = shard.decisions, shard.results
    legal = rows.actions >= 0
    numbers = (rows.policy, rows.value, results.scores, results.margins)
    total = np.where(legal, rows.policy, 0.0).sum(axis=1)
    problems = {
        "seats that the game does not have": _outside(rows.seats, 0, game.seats),
        "actions that the game does not have": _outside(rows.actions, -1, game.num_actions),
        "positions without a legal action": not legal.any(axis=1).all(),
        "actions played that are not legal": not (legal & (rows.actions == rows.played[:, None]))
        .any(axis=1)
        .all(),
        "numbers that are not finite": not all(np.isfinite(column).all() for column in numbers),
        "policies that do not sum to 1": not (
            (np.abs(total - 1.0) < ROUNDING) | (total == 0.0)  # false for NaN, too
        ).all(),
        "negative policies": (rows.policy < 0).any(),
        "policies of actions that are not legal": (rows.policy[~legal] != 0).any(),
        "a game that ended twice": len(np.unique(results.games)) < len(results),
    }
    found = [problem for problem, present in problems.items() if present]
    if found:
        raise RunError(f"{path} holds {', '.join(found)}")


def _outside(array: NDArray[np.integer], low: int, end: int) -> bool:
    return bool(((array < low) | (array >= end)).any())


class Replay:
    """The newest `size` positions whose games have ended, and decisions of games under way.

    Which positions these are does not depend on how decisions were put into shards.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.listed: list[Listed] = []  # the shards that hold the decisions
        self._first = self._end = 0  # where they lie in `_rows`, which has room for more
        self._rows: Positions | None = None
        self._known = np.zeros(0, np.bool_)  # whether the game of a row has ended
        self._ready = np.zeros(0, np.int64)  # the rows to learn from
        self._following: NDArray[np.int64] | None = None  # by row: the next one of its game, or -1

    def add(self, shard: Shard, listed: Listed) -> None:
        self._following = None
        self._append(shard)
        self.listed.append(listed)
        self._settle(shard.results)
        self._ready = self._first + np.flatnonzero(self._known[self._first : self._end])
        self._ready = self._ready[-self.size :]
        oldest = self._ready[0] if len(self._ready) == self.size else self._first
        while self._first + self.listed[0].rows <= oldest:
            self._first += self.listed.pop(0).rows

    def _append(self, shard: Shard) -> None:
        count, seats = len(shard.decisions), shard.results.scores.shape[1]
        if self._rows is None or self._end + count > len(self._rows):
            self._make_room(shard.decisions[:0], count, seats)
        assert self._rows is not None
        rows = slice(self._end, self._end + count)
        for name, array in shard.decisions.arrays().items():
            getattr(self._rows, name)[rows] = array
        self._known[rows] = False
        self._end += count

    def _make_room(self, kind: Decisions, count: int, seats: int) -> None:
        """Move what is held to the front of arrays that are large enough for some time."""
        held = self._end - self._first
        empty: Arrays = {**kind.arrays(), "margin": np.zeros(0, np.float32)}
        empty["scores"] = np.zeros((0, seats), np.float32)
        empty["last_outcomes"] = np.zeros(0, np.int32)
        room = held + max(count, (held + count) // 2)
        larger = {n: np.zeros((room, *a.shape[1:]), a.dtype) for n, a in empty.items()}
        known = np.zeros(room, np.bool_)
        if self._rows is not None:
            for name, array in self._rows.arrays().items():
                larger[name][:held] = array[self._first : self._end]
            known[:held] = self._known[self._first : self._end]
        self._rows, self._known = Positions(**larger), known
        self._first, self._end = 0, held

    def _settle(self, results: Results) -> None:
        """Give the results of games to all their decisions."""
        rows, known = self._rows, self._known[self._first : self._end]
        held = self._first + np.flatnonzero(~known)
        assert rows is not None
        if not len(results) or not held.size:
            return
        by_number = np.argsort(results.games)
        numbers = results.games[by_number]
        at = np.minimum(np.searchsorted(numbers, rows.games[held]), len(numbers) - 1)
        found = numbers[at] == rows.games[held]
        held, at = held[found], by_number[at[found]]
        seats = rows.seats[held].astype(np.int64)[:, None]
        from_mover = (seats + np.arange(results.scores.shape[1])) % results.scores.shape[1]
        rows.scores[held] = np.take_along_axis(results.scores[at], from_mover, 1)
        rows.margin[held] = np.take_along_axis(results.margins[at], seats, 1)[:, 0]
        rows.last_outcomes[held] = results.outcomes[at]
        # Nobody searched where one action was legal or no move is to be learnt: there the value is
        # the result.
        unsearched = ((rows.actions[held] >= 0).sum(1) == 1) | ~rows.policy[held].any(1)
        rows.value[held[unsearched]] = rows.scores[held[unsearched], 0]
        self._known[held] = True

    def load(self, folder: RunFolder, listed: list[Listed], game: Game) -> dict[Path, RunError]:
        """Load the shards that a checkpoint lists; return what is wrong with others, by file."""
        problems = {}
        for entry in listed:
            path = folder.shard(entry.number)
            try:
                self.add(Shard.read(path, game, entry), entry)
            except RunError as error:
                problems[path] = error
        return problems

    def __len__(self) -> int:
        return len(self._ready)

    def sample(self, size: int, rng: np.random.Generator) -> Positions:
        """Rows drawn with replacement."""
        assert self._rows is not None
        return self._rows[self._ready[rng.integers(0, len(self._ready), size)]]

    def sequences(self, size: int, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Rows of decisions that follow each other, from first ones drawn with replacement.

        -1 stands for what comes after the end of a game. [size, length]
        """
        following = self._followers()
        rows = np.full((size, length), -1, np.int64)
        rows[:, 0] = self._ready[rng.integers(0, len(self._ready), size)]
        for k in range(1, length):
            rows[:, k] = np.where(rows[:, k - 1] >= 0, following[rows[:, k - 1]], -1)
        return rows

    def at(self, rows: NDArray[np.int64]) -> Positions:
        """The positions in these rows."""
        assert self._rows is not None
        return self._rows[rows]

    def _followers(self) -> NDArray[np.int64]:
        if self._following is None:
            assert self._rows is not None
            held = slice(self._first, self._end)
            games, moves = self._rows.games[held], self._rows.moves[held]
            order = np.lexsort((moves, games))
            one, other = order[:-1], order[1:]
            follows = (games[one] == games[other]) & (moves[one] + 1 == moves[other])
            self._following = np.full(self._end, -1, np.int64)
            self._following[self._first + one[follows]] = self._first + other[follows]
        return self._following
