"""A training run on disk: nothing is ever half written, and nobody else writes at the same time.

run.json         what is being trained: recipe, options, fingerprint, versions
metrics.jsonl    a line an iteration
checkpoints/     weights, optimiser and where it stood; safetensors with JSON inside, no pickle
league/          the players that passed the gate, to play against
replay/          the positions of an iteration a file
board/           TensorBoard events, where that is installed
curves.png       the picture of it, where matplotlib is installed
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as tensor_bytes

from ..game import Game, GameError
from ..nets import write

KEPT = 3  # checkpoints


class RunError(GameError):
    """A run folder that cannot be used; the message says why."""


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place complete or not at all: a temporary file, fsync, rename."""
    try:
        write(path, content)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise RunError(f"the disk is full: {path} was not written, nothing is lost") from None
        raise RunError(f"{path} could not be written: {error}") from None


def write_tensors(path: Path, arrays: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """A safetensors file with JSON about it."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_whole(path, tensor_bytes(flat, {"about": json.dumps(about)}))


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and what was written about them."""
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})["about"])
            names = list(file.keys())
            return {name: file.get_tensor(name) for name in names}, about
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise RunError(f"{path} is not a readable checkpoint ({error})") from None


class RunFolder:
    """The folder of one run; who writes to it takes the lock first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def lock(self) -> None:
        """Be the only one who writes; the lock goes with the process, however it ends."""
        for part in ("checkpoints", "league", "replay"):
            (self.path / part).mkdir(parents=True, exist_ok=True)
        file = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise RunError(f"{self.path} is being trained by another process") from None
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def claim(self, about: dict[str, Any], game: Game, resume: bool) -> bool:
        """Make this the folder of the run that `about` describes, or see that it is.

        Whether it is a new one.
        """
        file = self.path / "run.json"
        if not file.exists():
            write_whole(file, json.dumps(about, indent=2).encode())
            return True
        if not resume:
            raise RunError(f"{self.path} holds a run already; give --resume to go on with it")
        try:
            before = json.loads(file.read_text())
        except json.JSONDecodeError:
            raise RunError(f"{file} is damaged, so this run cannot be resumed") from None
        if before.get("fingerprint") != game.fingerprint:
            was = before.get("game", {})
            raise RunError(f"{self.path} is a run of {_difference(was, game.describe())}")
        for key in ("recipe", "seed", "start"):
            if before.get(key) != about[key]:
                raise RunError(f"{self.path} was begun with another {key}: {before.get(key)}")
        return False

    def disclaim(self) -> None:
        """The run could not begin: the folder is free for another."""
        (self.path / "run.json").unlink()

    # checkpoints

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        return sorted((self.path / "checkpoints").glob("*.safetensors"))

    def save(self, iteration: int, arrays: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        folder = self.path / "checkpoints"
        write_tensors(folder / f"{iteration:06d}.safetensors", arrays, about)
        for old in self.checkpoints()[:-KEPT]:
            old.unlink()

    def newest(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The last checkpoint."""
        found = self.checkpoints()
        return read_tensors(found[-1]) if found else None

    def shard(self, iteration: int) -> Path:
        return self.path / "replay" / f"{iteration:06d}.safetensors"

    def member(self, iteration: int) -> Path:
        return self.path / "league" / f"{iteration:06d}.safetensors"

    # metrics

    def note(self, row: Mapping[str, Any]) -> None:
        """Add a line to the metrics."""
        with (self.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        file = self.path / "metrics.jsonl"
        rows = []
        for line in file.read_text().splitlines() if file.exists() else []:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break  # the line that a kill cut short
        return rows

    def forget_after(self, iteration: int) -> None:
        """Drop metrics of iterations that will be done again."""
        rows = [row for row in self.metrics() if row["iteration"] <= iteration]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        write_whole(self.path / "metrics.jsonl", text.encode())


def _difference(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if was.get("name") != now["name"]:
        return f"{was.get('name')}, not of {now['name']}"
    changed = [key for key in now if json.dumps(was.get(key)) != json.dumps(now[key])]
    return f"{now['name']} with other {', '.join(changed) or 'rules'}"
