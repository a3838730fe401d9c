"""Positions to learn from: states, not views, because they are small and encoders change."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import Batch, check_positions
from ..chance import streams
from ..game import Game, GameError
from .folder import Listed, RunError, RunFolder, check_same, read_stored, write_tensors

Array = np.ndarray[Any, Any]
FLOATS = ("policy", "value", "score", "margin")
TYPES = {"seats": "i1", "actions": "i2", **dict.fromkeys(FLOATS, "f4")}
ROUNDING = 1e-3  # how far a policy may be from 1 in all


@dataclass
class Positions:
    """Decisions of self-play, in rows, and how their games ended."""

    states: Array  # records [rows]
    seats: Array  # who was to move. int8 [rows]
    actions: Array  # legal actions, filled up with -1. int16 [rows, max_legal]
    policy: Array  # what the search made of them. float32 [rows, max_legal]
    value: Array  # the search's value for that seat. float32 [rows]
    score: Array  # of that seat at the end. float32 [rows]
    margin: Array  # of that seat at the end. float32 [rows]

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: Any) -> Positions:
        return Positions(*(getattr(self, f.name)[rows] for f in fields(self)))

    @staticmethod
    def joined(parts: list[Positions]) -> Positions:
        """All rows of several, in order."""
        names = [f.name for f in fields(Positions)]
        return Positions(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    def save(self, path: Path, game: Game) -> Listed:
        """Write one shard of a replay folder; how a checkpoint lists it."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        size = self.states.dtype.itemsize
        arrays["states"] = self.states.view(np.uint8).reshape(len(self), size)
        sha256 = write_tensors(path, arrays, {"fingerprint": game.fingerprint})
        return Listed(path.name, sha256, len(self))

    @staticmethod
    def read(path: Path, game: Game, listed: Listed | None = None) -> Positions:
        """The inverse of `save`. Nothing comes back that is not a position of this game.

        listed: which file this has to be.
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


def _check_shapes(game: Game, arrays: dict[str, Array], path: Path) -> None:
    """See that all arrays are there, of the type and as long as this game has them."""
    rows = len(arrays["seats"]) if arrays.get("seats", np.zeros(())).ndim == 1 else 0
    wide = (rows, game.max_legal)
    shapes = dict.fromkeys(TYPES, (rows,)) | {"actions": wide, "policy": wide}
    wanted = {name: (np.dtype(TYPES[name]), shape) for name, shape in shapes.items()}
    wanted["states"] = (np.dtype(np.uint8), (rows, game.state.itemsize))
    if rows == 0 or {name: (a.dtype, a.shape) for name, a in arrays.items()} != wanted:
        raise RunError(f"{path} does not hold positions of {game.name}: its arrays are others")


def check_states(game: Game, positions: Positions, path: Path) -> None:
    """See that states from a file are positions in which the named seats are to move."""
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
        "numbers that are not finite": not all(np.isfinite(each).all() for each in numbers),
        "policies that do not sum to 1": not (
            np.abs(policy.sum(axis=1) - 1.0) < ROUNDING  # not finite is not near either
        ).all(),
        "negative policies": (positions.policy < 0).any(),
        "policies of actions that are not legal": (positions.policy[~legal] != 0).any(),
    }
    found = [problem for problem, there in problems.items() if there]
    if found:
        raise RunError(f"{path} holds {', '.join(found)}")


def _outside(array: Array, low: int, end: int) -> bool:
    return bool(((array < low) | (array >= end)).any())


class Replay:
    """The newest positions, `room` of them at most, in whole shards."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.shards: list[Positions] = []
        self.listed: list[Listed] = []  # the files of these shards
        self._all: Positions | None = None

    def add(self, shard: Positions, listed: Listed) -> None:
        self.shards.append(shard)
        self.listed.append(listed)
        while sum(map(len, self.shards[1:])) >= self.room:
            self.shards.pop(0)
            self.listed.pop(0)
        self._all = None

    def load(self, folder: RunFolder, listed: list[Listed], game: Game) -> dict[Path, RunError]:
        """Take in the shards that a checkpoint lists; what is wrong with the others, by file."""
        problems = {}
        for each in listed:
            path = folder.shard(each.number)
            try:
                self.add(Positions.read(path, game, each), each)
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
