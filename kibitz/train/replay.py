"""Positions to learn from: states, not views, because states are small and encoders change."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch, check_positions
from ..chance import streams
from ..game import Game, GameError
from .folder import Arrays, Listed, RunError, RunFolder, check_same, read_stored, write_tensors

Floats = NDArray[np.float32]
FLOATS = ("policy", "value", "score", "margin")
TYPES = {"seats": "i1", "actions": "i2", **dict.fromkeys(FLOATS, "f4")}
ROUNDING = 1e-3  # how far the sum of a policy may be from 1


@dataclass
class Positions:
    """Decisions of self-play, in rows, and how their games ended."""

    states: NDArray[np.void]  # [rows]
    seats: NDArray[np.int8]  # the seat to move. [rows]
    actions: NDArray[np.int16]  # legal actions, padded with -1. [rows, max_legal]
    policy: Floats  # of the search. [rows, max_legal]
    value: Floats  # of the search, for that seat. [rows]
    score: Floats  # of that seat at the end. [rows]
    margin: Floats  # of that seat at the end. [rows]

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> Positions:
        return Positions(*(getattr(self, f.name)[rows] for f in fields(self)))

    @staticmethod
    def joined(parts: list[Positions]) -> Positions:
        """The rows of several parts as one, in order."""
        names = [f.name for f in fields(Positions)]
        return Positions(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    def save(self, path: Path, game: Game) -> Listed:
        """Write one shard of a replay folder; return its entry for a checkpoint."""
        arrays: Arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        size = self.states.dtype.itemsize
        arrays["states"] = self.states.view(np.uint8).reshape(len(self), size)
        sha256 = write_tensors(path, arrays, {"fingerprint": game.fingerprint})
        return Listed(path.name, sha256, len(self))

    @staticmethod
    def read(path: Path, game: Game, listed: Listed | None = None) -> Positions:
        """The inverse of `save`. Refuses anything but positions of this game.

        listed: the entry of a checkpoint that the file must agree with.
        """
        stored = read_stored(path)
        if stored.about.get("fingerprint") != game.fingerprint:
            raise RunError(f"{path} holds positions of another game or with other options")
        if listed is not None:
            check_same(path, stored.sha256, listed)
        arrays = dict(stored.arrays)
        _check_shapes(game, arrays, path)
        states = arrays.pop("states").reshape(-1).view(game.state)
        positions = Positions(states=states, **arrays)
        check_numbers(game, positions, path)
        check_states(game, positions, path)
        return positions


def _check_shapes(game: Game, arrays: Arrays, path: Path) -> None:
    """See that all arrays are there, with the types and shapes of this game."""
    rows = len(arrays["seats"]) if arrays.get("seats", np.zeros(())).ndim == 1 else 0
    wide = (rows, game.max_legal)
    shapes = dict.fromkeys(TYPES, (rows,)) | {"actions": wide, "policy": wide}
    wanted = {name: (np.dtype(TYPES[name]), shape) for name, shape in shapes.items()}
    wanted["states"] = (np.dtype(np.uint8), (rows, game.state.itemsize))
    if rows == 0 or {name: (a.dtype, a.shape) for name, a in arrays.items()} != wanted:
        raise RunError(
            f"{path} does not hold positions of {game.name}: its arrays have other names or shapes"
        )


def check_states(game: Game, positions: Positions, path: Path) -> None:
    """See that states from a file are positions in which these seats are to move."""
    try:
        check_positions(game, positions.states, path)
    except GameError as error:
        raise RunError(str(error)) from None
    batch = Batch.of(game, positions.states, streams(0, "training", len(positions)))
    if (batch.turns() != positions.seats).any():
        raise RunError(f"{path} holds positions in which another seat is to move")


def check_numbers(game: Game, positions: Positions, path: Path) -> None:
    """See that positions from a file can be learnt from."""
    legal = positions.actions >= 0
    numbers = (positions.policy, positions.value, positions.score, positions.margin)
    policy = np.where(legal, positions.policy, 0.0)
    problems = {
        "seats that the game does not have": _outside(positions.seats, 0, game.seats),
        "actions that the game does not have": _outside(positions.actions, -1, game.num_actions),
        "positions without a legal action": not legal.any(axis=1).all(),
        "numbers that are not finite": not all(np.isfinite(column).all() for column in numbers),
        "policies that do not sum to 1": not (
            np.abs(policy.sum(axis=1) - 1.0) < ROUNDING  # false for NaN, too
        ).all(),
        "negative policies": (positions.policy < 0).any(),
        "policies of actions that are not legal": (positions.policy[~legal] != 0).any(),
    }
    found = [problem for problem, present in problems.items() if present]
    if found:
        raise RunError(f"{path} holds {', '.join(found)}")


def _outside(array: NDArray[np.integer], low: int, end: int) -> bool:
    return bool(((array < low) | (array >= end)).any())


class Replay:
    """The newest positions, in whole shards: only the oldest shard may go beyond `size`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.shards: list[Positions] = []
        self.listed: list[Listed] = []  # the files of these shards
        self._all: Positions | None = None

    def add(self, shard: Positions, listed: Listed) -> None:
        self.shards.append(shard)
        self.listed.append(listed)
        while sum(map(len, self.shards[1:])) >= self.size:
            self.shards.pop(0)
            self.listed.pop(0)
        self._all = None

    def load(self, folder: RunFolder, listed: list[Listed], game: Game) -> dict[Path, RunError]:
        """Load the shards that a checkpoint lists; return what is wrong with others, by file."""
        problems = {}
        for entry in listed:
            path = folder.shard(entry.number)
            try:
                self.add(Positions.read(path, game, entry), entry)
            except RunError as error:
                problems[path] = error
        return problems

    def clear(self) -> None:
        self.shards.clear()
        self.listed.clear()
        self._all = None

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    def sample(self, size: int, rng: np.random.Generator) -> Positions:
        """Rows drawn with replacement."""
        if self._all is None:
            self._all = Positions.joined(self.shards)
        return self._all[rng.integers(0, len(self._all), size)]
