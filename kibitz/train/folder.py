"""A training run on disk: files are written completely, and by one process at a time.

run.json         what is being trained: recipe, options, fingerprint, versions
metrics.jsonl    a line per iteration
checkpoints/     weights, optimiser, games under way and progress; safetensors with JSON inside, no
                 pickle; what is more than 16 MB is in several files
league/          the players that passed the gate, to play against
replay/          decisions of self-play and results of games, a file per iteration
board/           TensorBoard events, if TensorBoard is installed
curves.csv       the metrics as a table
curves.png       a picture of them, if matplotlib is installed
report.json      of training on labelled positions: how good the best network is; report.txt, too

Checkpoints and shards carry a checksum over all their contents. A checkpoint lists the shards and
the league members that it needs, with their checksums.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import BaseFileLock, FileLock, Timeout
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as tensor_bytes

from ..game import GameError
from ..nets import write
from .metrics import Row, read_rows, row_text

Arrays = dict[str, NDArray[Any]]
"""The arrays of a file, by name."""

About = dict[str, Any]
"""What a file says about itself, a JSON object. For a run it has the entries `ABOUT`."""

KEPT = 3  # checkpoints
FORMAT = "kibitz run 2"
NUMBERED = re.compile(r"\d{6,}\.safetensors")
PART_NAME = re.compile(r"(\d{6,})\.[0-9a-f]{12}\.safetensors")
PARTS = {"checkpoints": "checkpoints", "replay": "replay shards", "league": "league members"}
# What a killed save leaves: `.NAME.PID` of `nets.write`, and the unfinished picture.
STRAY = re.compile(
    r"\.(\d{6,}(\.[0-9a-f]{12})?\.safetensors|player\.safetensors|run\.json|metrics\.jsonl|curves\.csv"
    r"|report\.(json|txt))\.\d+|\.curves\.png"
)
TRY_REFILL = (
    "to continue from the newest intact checkpoint alone and refill the replay, "
    "give --resume --refill"
)


class RunError(GameError):
    """A run folder that cannot be used."""


class DamagedError(RunError):
    """A file of a run that is missing or damaged."""


# Files -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """The contents of a file of arrays."""

    arrays: Arrays
    about: About
    sha256: str


@dataclass(frozen=True)
class Listed:
    """An entry of a checkpoint: a file that it needs."""

    file: str
    sha256: str
    rows: int = 0  # positions of a shard

    def __post_init__(self) -> None:
        if not NUMBERED.fullmatch(self.file) or type(self.rows) is not int:
            raise ValueError(f"{self.file!r} does not belong to a run")

    @property
    def number(self) -> int:
        return int(self.file.partition(".")[0])


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all: a temporary file, fsync, rename."""
    try:
        write(path, content)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise RunError(f"the disk is full: {path} was not written; nothing is lost") from None
        raise RunError(f"{path} could not be written: {error}") from None


def write_tensors(path: Path, arrays: Arrays, about: About) -> str:
    """Write arrays and a description as a safetensors file; return its checksum."""
    flat = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    metadata = {"format": FORMAT, "about": json.dumps(about)}
    sha256 = checksum(metadata, flat)
    write_whole(path, _ordered(tensor_bytes(flat, {**metadata, "sha256": sha256})))
    return sha256


def _ordered(content: bytes) -> bytes:
    """The same safetensors file with its metadata sorted, so that equal contents are equal bytes.

    The library writes metadata in an order that changes from call to call.
    """
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def read_tensors(path: Path) -> tuple[Arrays, About]:
    """Arrays and their description, verified."""
    stored = read_stored(path)
    return stored.arrays, stored.about


def read_stored(path: Path) -> Stored:
    """Everything in a file of `write_tensors`; DamagedError if it is missing or damaged."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            names = list(file.keys())
            arrays = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path} is damaged: {' '.join(str(error).split())}") from None
    if metadata.get("format") != FORMAT:
        raise DamagedError(f"{path} is damaged, or was written by another version of kibitz")
    found = metadata.pop("sha256", "")
    if found != checksum(metadata, arrays):
        raise DamagedError(f"{path} is damaged: its contents are not what was saved")
    try:
        about = json.loads(metadata["about"])
    except (KeyError, ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise DamagedError(f"{path} is damaged: its description is not a JSON object")
    return Stored(arrays, about, found)


def checksum(metadata: Mapping[str, str], arrays: Arrays) -> str:
    """SHA-256 of metadata, names, dtypes, shapes and contents: safetensors has no checksum."""
    hashed = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        hashed.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        hashed.update(array.reshape(-1).view(np.uint8).data)
    return hashed.hexdigest()


def file_checksum(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise RunError(f"{path} is missing") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None


def check_same(path: Path, sha256: str, listed: Listed) -> None:
    """Refuse a file that is not the one that a checkpoint lists."""
    if sha256 != listed.sha256:
        raise RunError(f"{path} is damaged, or not the file that the checkpoint lists")


def _removed(path: Path) -> bool:
    """Remove a file or an empty folder; a folder that is not empty stays."""
    with suppress(OSError):
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    return not path.exists()


# The folder --------------------------------------------------------------------------------------


class RunFolder:
    """The folder of one run. Whoever writes to it must hold the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: BaseFileLock | None = None
        self._new: list[Path] = []  # to be removed if the run cannot begin

    def lock(self) -> None:
        """Become the only writer. The lock ends with the process, however it ends."""
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{self.path} is a file; a run needs a folder")
        try:
            self._make(self.path)
            self._take_lock()
            for part in PARTS:
                self._make(self.path / part)
            self._sweep()
        except OSError as error:
            self.leave()
            raise RunError(f"{self.path} cannot hold a run: {error.strerror or error}") from None

    def _make(self, path: Path) -> None:
        for folder in reversed([p for p in (path, *path.parents) if not p.exists()]):
            folder.mkdir(exist_ok=True)
            self._new.append(folder)

    def _take_lock(self) -> None:
        path = self.path / "lock"
        new = not path.exists()
        lock = FileLock(path, thread_local=False)
        try:
            # Wait a little: a process that could not begin may be removing its lock right now.
            lock.acquire(timeout=0.2)
        except Timeout:
            raise RunError(f"{self.path} is being trained by another process") from None
        self._lock = lock
        self._new += [path] if new else []

    def _sweep(self) -> None:
        """Remove the temporary files of killed saves."""
        for folder in (self.path, *(self.path / part for part in PARTS)):
            for file in folder.iterdir():
                if STRAY.fullmatch(file.name) and file.is_file():
                    file.unlink()

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def leave(self) -> None:
        """The run could not begin: remove what is new, and release the folder."""
        # The lock file is removed while the lock is held, so that no other process loses its own.
        # Windows does not remove open files: there it is removed afterwards.
        left = [path for path in reversed(self._new) if not _removed(path)]
        self.unlock()
        for path in left:
            _removed(path)
        self._new.clear()

    def undo_later(self, path: Path) -> None:
        """Note a file that will be written, to be removed if the run cannot begin."""
        self._new += [] if path.exists() else [path]

    def stay(self) -> None:
        """The run has begun: keep everything."""
        self._new.clear()

    # run.json

    def before(self, resume: bool) -> About | None:
        """The description of the run in this folder, from run.json or else a checkpoint.

        None if there is no run yet.
        """
        file = self.path / "run.json"
        held = [PARTS[part] for part in PARTS if self._numbered(part)]
        held += ["metrics"] if self._metrics.exists() else []
        if not file.exists() and not held:
            return None
        if not resume and file.exists():
            raise RunError(f"{self.path} holds a run already; give --resume to continue it")
        if not resume:
            raise RunError(
                f"{self.path} holds {' and '.join(held)} but no run.json; give --resume to "
                "continue that run, or choose another folder"
            )
        return self.described() or self._about_of_checkpoint()

    def described(self) -> About | None:
        """The contents of run.json; None if it is missing or damaged."""
        try:
            about = json.loads((self.path / "run.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return about if is_about(about) else None

    def _about_of_checkpoint(self) -> About:
        for path in reversed(self.checkpoints()):
            with suppress(RunError):
                about = read_stored(path).about
                if is_about(about):
                    return {key: about[key] for key in ABOUT if key in about}
        problem = "is damaged" if (self.path / "run.json").exists() else "is missing"
        raise RunError(
            f"{self.path / 'run.json'} {problem}, and there is no intact checkpoint to restore it "
            "from; start again in another folder"
        )

    def describe(self, about: About) -> None:
        """Write run.json."""
        file = self.path / "run.json"
        self.undo_later(file)
        write_whole(file, json.dumps(about, indent=2).encode())

    # checkpoints, shards and league members

    def _numbered(self, part: str) -> list[Path]:
        folder = self.path / part
        found = folder.iterdir() if folder.is_dir() else ()
        named = [file for file in found if NUMBERED.fullmatch(file.name)]
        return sorted(named, key=lambda file: int(file.stem))

    def checkpoints(self) -> list[Path]:
        """Oldest first."""
        return self._numbered("checkpoints")

    def shards(self) -> list[Path]:
        """Oldest first, including those that the replay no longer holds."""
        return self._numbered("replay")

    def prune(self, iteration: int, parts: Collection[str]) -> None:
        """Remove the oldest checkpoints, once one with these parts has been written."""
        earlier = [path for path in self.checkpoints() if int(path.stem) <= iteration]
        for old in earlier[:-KEPT]:
            old.unlink()
        for file in (self.path / "checkpoints").iterdir():
            if named := PART_NAME.fullmatch(file.name):
                number = int(named[1])
                replaced = number == iteration and file.name not in parts
                if replaced or not self.checkpoint(number).exists():
                    file.unlink()

    def checkpoint(self, iteration: int) -> Path:
        return self.path / "checkpoints" / f"{iteration:06d}.safetensors"

    def shard(self, number: int) -> Path:
        return self.path / "replay" / f"{number:06d}.safetensors"

    def member(self, iteration: int) -> Path:
        return self.path / "league" / f"{iteration:06d}.safetensors"

    # metrics

    @property
    def _metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    def note(self, row: Row) -> None:
        """Add a line to the metrics."""
        try:
            with self._metrics.open("a") as file:
                file.write(row_text(row))
        except OSError as error:
            raise RunError(f"{self._metrics} could not be written: {error}") from None

    def metrics(self, *, damaged: bool = False) -> list[Row]:
        """All rows. damaged: skip lines that cannot be read, instead of refusing them."""
        try:
            rows, lines = read_rows(self._metrics)
        except OSError as error:
            raise RunError(f"{self._metrics} cannot be read: {error.strerror}") from None
        if lines and not damaged:
            numbers = ", ".join(map(str, lines[:5])) + (" ..." if len(lines) > 5 else "")
            raise RunError(f"{self._metrics} is damaged in line {numbers}")
        return rows

    def keep_metrics(self, rows: Sequence[Row]) -> None:
        """Keep only these metrics: the others are of iterations that will be done again."""
        write_whole(self._metrics, "".join(map(row_text, rows)).encode())


# What a run is about -----------------------------------------------------------------------------

ABOUT = ("method", "recipe", "game", "fingerprint", "seed", "start", "versions")


def is_about(about: object) -> bool:
    """Whether this describes a run."""
    if not isinstance(about, dict) or any(key not in about for key in ABOUT):
        return False
    dictionaries = all(isinstance(about[key], dict) for key in ("recipe", "game"))
    return dictionaries and type(about["seed"]) is int


def check_agrees(before: About, now: About, path: Path) -> None:
    """Refuse a file or folder of another run than the present one."""
    if before["fingerprint"] != now["fingerprint"]:
        raise RunError(f"{path} is a run of {_difference(before['game'], now['game'])}")
    for key in ("seed", "start"):
        if before[key] != now[key]:
            raise RunError(f"{path} was started with another {key}: {before[key]}")
    was, wanted = before["recipe"], now["recipe"]
    other = [key for key in {**was, **wanted} if was.get(key) != wanted.get(key)]
    if other or before["method"] != now["method"]:
        named = ", ".join(f"{key} {was.get(key)}, not {wanted.get(key)}" for key in other)
        raise RunError(f"{path} was started with another recipe: {named or before['method']}")


def _difference(was: About, now: About) -> str:
    if was.get("name") != now["name"]:
        return f"{was.get('name')}, not of {now['name']}"
    options = was.get("options")
    if isinstance(options, dict) and (other := _changed(options, now["options"])):
        words = (
            f"{k} {json.dumps(options.get(k))}, not {json.dumps(now['options'][k])}" for k in other
        )
        return f"{now['name']} with {', '.join(words)}"
    return f"{now['name']} with other {', '.join(_changed(was, now)) or 'rules'}"


def _changed(was: About, now: About) -> list[str]:
    """What has another value now; as JSON, because tuples come back as lists."""
    return [key for key in now if json.dumps(was.get(key)) != json.dumps(now[key])]
