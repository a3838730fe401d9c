"""Positions to learn from: states, not views, because they are small and encoders change."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from ..game import Game
from .folder import RunError, write_tensors

Array = np.ndarray[Any, Any]


@dataclass
class Positions:
    """Decisions of self-play, in rows, and how their games ended."""

    states: Array  # records [rows]
    seats: Array  # who was to move [rows]
    actions: Array  # legal actions, filled up with -1. int16 [rows, max_legal]
    policy: Array  # what the search made of them. float32 [rows, max_legal]
    value: Array  # the search's value for that seat [rows]
    score: Array  # of that seat at the end [rows]
    margin: Array  # of that seat at the end [rows]

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: Any) -> Positions:
        return Positions(*(getattr(self, f.name)[rows] for f in fields(self)))

    @staticmethod
    def joined(parts: list[Positions]) -> Positions:
        """All rows of several, in order."""
        names = [f.name for f in fields(Positions)]
        return Positions(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    def save(self, path: Path, about: dict[str, Any]) -> None:
        """Write one shard of a replay folder."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        size = self.states.dtype.itemsize
        arrays["states"] = self.states.view(np.uint8).reshape(len(self), size)
        write_tensors(path, arrays, about)

    @staticmethod
    def read(path: Path, game: Game) -> Positions:
        """The inverse of `save`."""
        try:
            arrays = load_file(path)
            states = arrays.pop("states").reshape(-1).view(game.state)
            return Positions(states=states, **arrays)
        except (SafetensorError, OSError, TypeError, ValueError, KeyError) as error:
            raise RunError(f"{path} is not a readable shard of positions ({error})") from None


class Replay:
    """The newest positions, `room` of them at most, in whole shards."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.shards: list[Positions] = []
        self._all: Positions | None = None

    def add(self, shard: Positions) -> None:
        self.shards.append(shard)
        while sum(map(len, self.shards[1:])) >= self.room:
            self.shards.pop(0)
        self._all = None

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    def sample(self, size: int, rng: np.random.Generator) -> Positions:
        """Rows drawn with replacement."""
        if self._all is None:
            self._all = Positions.joined(self.shards)
        return self._all[rng.integers(0, len(self._all), size)]
