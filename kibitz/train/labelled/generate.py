"""Generating labelled positions: the same files from a seed, whatever the number of threads.

Games are numbered, and each has its own stream of chance. A file holds the positions of as many
games as every other, so a process that was killed continues after the last file it has written.
"""

from __future__ import annotations

import json
import queue
import re
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import count, islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from ...chance import streams
from ...devices import lanes
from ...game import Game
from ...games import load
from ...options import whole_number
from ...search.alphabeta import PROVEN
from ...search.deepening import stripped
from ...search.labelling import Labeller, Labels, Schedule
from ..folder import write_whole
from ..seeds import checked_seed
from .files import FORMAT, SUFFIX, Format, read_file, write_rows
from .labels import search_scores
from .rows import DataError, Rows, columns_of, types_of

GAMES_PER_CALL = 32  # a thread plays so many without a look at what others do
CALLS_PER_FILE = 128  # a file of 4,096 games is below 16 MB, however many positions they have
AHEAD = 4  # calls per thread that may be done before their turn
ABOUT = "data.json"
STRAY = re.compile(r"\.(\d{6}\.(jsonl|safetensors)|data\.json)\.\d+")  # of killed processes


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How a game's positions are generated and labelled."""

    game: str
    options: dict[str, Any] = field(default_factory=dict)
    judge: str = ""
    """Whose values the searches go by."""
    points: int = 1
    """How many of these values are one point of the game's evaluation."""
    scale: float = 300.0
    """A position that is so many points up has a score of tanh 1."""
    schedule: Schedule = field(default_factory=Schedule)


class DataFolder:
    """The folder of one data set: numbered files, and `data.json`, which says what they are."""

    def __init__(self, path: Path, format: Format) -> None:
        self.path, self.suffix = path, SUFFIX[format]

    def open(self, about: dict[str, Any], *, resume: bool) -> int | None:
        """Begin a data set, or continue one; returns how many positions it was to have before."""
        file, before = self.path / ABOUT, None
        if self.path.exists() and not self.path.is_dir():
            raise DataError(f"{self.path} is a file; a data set needs a folder")
        self.path.mkdir(parents=True, exist_ok=True)
        for stray in self.path.iterdir():
            if STRAY.fullmatch(stray.name):
                stray.unlink()
        if file.exists():
            before = self._checked(json.loads(file.read_bytes()), about, resume=resume)
        elif any(self.path.iterdir()):
            raise DataError(f"{self.path} is not empty and holds no {ABOUT}; choose another folder")
        write_whole(file, json.dumps(about, indent=2).encode())
        return before

    def _checked(self, before: dict[str, Any], about: dict[str, Any], *, resume: bool) -> int:
        if not resume:
            raise DataError(f"{self.path} holds positions already; give --resume to continue")
        for name, value in json.loads(json.dumps(about)).items():
            if name != "positions" and before.get(name) != value:
                raise DataError(
                    f"{self.path} was started with another {name}: {before.get(name)}, not {value}"
                )
        if before["positions"] > about["positions"]:
            raise DataError(
                f"{self.path} is to hold {before['positions']} positions, which is more than "
                f"{about['positions']}"
            )
        return int(before["positions"])

    def file(self, number: int) -> Path:
        return self.path / f"{number:06d}{self.suffix}"

    def files(self) -> list[Path]:
        """Those that were written, up to the first that is missing."""
        return list(takewhile(Path.exists, map(self.file, count())))


class Source:
    """Plays the games of a generation in their order, many at once."""

    def __init__(self, generation: Generation, seed: int, threads: int | None = None) -> None:
        self.generation, self.seed, self.threads = generation, checked_seed(seed), lanes(threads)
        self.game = stripped(load(generation.game, **generation.options))
        columns_of(self.game)
        self._idle: queue.SimpleQueue[Labeller] = queue.SimpleQueue()
        for _ in range(self.threads):
            self._idle.put(Labeller(self.game, generation.judge, generation.schedule))

    def calls(self, first: int) -> Generator[Rows]:
        """What call number `first` and all after it give, without end."""
        ahead = AHEAD * self.threads
        with ThreadPoolExecutor(self.threads) as pool:
            waiting = deque(pool.submit(self._play, first + k) for k in range(ahead))
            try:
                for number in count(first + ahead):
                    yield waiting.popleft().result()
                    waiting.append(pool.submit(self._play, number))
            finally:
                for future in waiting:
                    future.cancel()

    def _play(self, call: int) -> Rows:
        first, labeller = call * GAMES_PER_CALL, self._idle.get()
        try:
            labels = labeller.play(streams(self.seed, "training", GAMES_PER_CALL, first))
        finally:
            self._idle.put(labeller)
        return self._rows(labels, first)

    def _rows(self, found: Labels, first: int) -> Rows:
        labels, generation = found.labels, self.generation
        raw = labels["score"].astype(np.float64)
        raw = np.where(np.abs(raw) > PROVEN, raw, raw / generation.points)
        columns = {
            **columns_of(self.game).write(found.states),
            "score": search_scores(raw, generation.scale),
            "game_id": first + found.games,
            "ply": labels["ply"],
            "label_depth": labels["depth"],
            "raw_score": raw,
            "result": labels["result"],
        }
        kinds = types_of(self.game)
        return Rows(self.game, {name: columns[name].astype(kinds[name]) for name in kinds})


def generate(
    generation: Generation,
    path: Path,
    positions: int,
    *,
    seed: int = 0,
    format: Format = "jsonl",
    threads: int | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] = lambda done, new: None,
) -> int:
    """Write so many positions into a folder; returns how many of them are new.

    progress: called with the number of positions so far, and how many of them are new.
    """
    whole_number("positions", positions, least=1)
    source, folder = Source(generation, seed, threads), DataFolder(path, format)
    about = {
        "data": FORMAT,
        "generation": asdict(generation),
        "version": source.game.version,
        "seed": seed,
        "format": format,
        "positions": positions,
    }
    before = folder.open(about, resume=resume)
    counts = [_count(source.game, file) for file in folder.files()]
    if counts and before != positions and sum(counts) == before:
        counts.pop()  # the last file was cut short; now it goes on
    began = done = sum(counts)
    calls, number = source.calls(len(counts) * CALLS_PER_FILE), len(counts)
    with closing(calls):
        while done < positions:
            parts = []
            for rows in islice(calls, CALLS_PER_FILE):
                parts.append(rows[: positions - done])
                done += len(parts[-1])
                progress(done, done - began)
                if done == positions:
                    break
            write_rows(folder.file(number), Rows.joined(parts))
            number += 1
    return positions - began


def _count(game: Game, file: Path) -> int:
    if file.suffix == SUFFIX["jsonl"]:
        return file.read_bytes().count(b"\n")
    return len(read_file(game, file)[0])
