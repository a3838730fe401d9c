"""Generating labelled positions: the same files from a seed, whatever the number of threads.

Games are numbered, and each has its own stream of chance. A file holds the positions of as many
games as every other, so a process that was killed continues after the last file it has written.
"""

from __future__ import annotations

import json
import queue
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import count, islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chance import streams
from ...devices import lanes
from ...game import Game
from ...games import load
from ...open_rules import Judge
from ...options import whole_number
from ...players.alphabeta import judge_in_file
from ...search.deepening import stripped
from ...search.judging import EVEN
from ...search.labelling import Labeller, Labels, Schedule
from ...search.transpositions import PROVEN
from ..cards import CARD
from ..folder import write_whole
from ..seeds import checked_seed
from .card import dataset_card
from .facts import facts
from .files import FORMAT, SUFFIX, Format, read_file, write_rows
from .labels import search_scores
from .rows import DataError, Rows, columns_of, types_of

GAMES_PER_CALL = 32  # a thread plays so many without a look at what others do
CALLS_PER_FILE = 128  # a file of 4,096 games is below 16 MB, however many positions they have
AHEAD = 4  # calls per thread that may be done before their turn
ABOUT = "data.json"
STRAY = re.compile(  # of killed processes
    r"\.(\d{6}\.(jsonl|safetensors)|data\.json|README\.md)\.\d+"
)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How a game's positions are generated and labelled."""

    game: str
    options: dict[str, Any] = field(default_factory=dict)
    judge: str = ""
    """Whose values the searches go by: a judge of the game, or the file of an integer network."""
    points: int = 1
    """How many values of the game's own judge are one point of its evaluation."""
    scale: float = 300.0
    """A position that is so many points up has a score of tanh 1."""
    schedule: Schedule = field(default_factory=Schedule)


class DataFolder:
    """The folder of one data set: numbered files, and what they are.

    `data.json` says it to programs, from the start; `README.md` to people, once all is there.
    """

    def __init__(self, path: Path, format: Format) -> None:
        self.path, self.format = path, format

    def before(self, about: dict[str, Any], *, resume: bool) -> int:
        """How many positions the data set in this folder was to have; 0 for a new one."""
        if self.path.exists() and not self.path.is_dir():
            raise DataError(f"{self.path} is a file; a data set needs a folder")
        self.path.mkdir(parents=True, exist_ok=True)
        for stray in self.path.iterdir():
            if STRAY.fullmatch(stray.name):
                stray.unlink()
        if (self.path / ABOUT).exists():
            return self._checked(about, resume=resume)
        if any(self.path.iterdir()):
            raise DataError(f"{self.path} is not empty and holds no {ABOUT}; choose another folder")
        return 0

    def _checked(self, about: dict[str, Any], *, resume: bool) -> int:
        if not resume:
            raise DataError(f"{self.path} holds positions already; give --resume to continue")
        try:
            before = dict(json.loads((self.path / ABOUT).read_bytes()))
            positions = int(before["positions"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DataError(f"{self.path / ABOUT} is damaged; choose another folder") from None
        others = dict(_settings(before))
        for name, value in _settings(json.loads(json.dumps(about))):
            if others.get(name) != value:
                raise DataError(
                    f"{self.path} was started with another {name}: {others.get(name)}, not {value}"
                )
        if positions > about["positions"]:
            raise DataError(
                f"{self.path} is to hold {positions} positions, which is more than "
                f"{about['positions']}"
            )
        return positions

    def describe(self, about: dict[str, Any]) -> None:
        (self.path / CARD).unlink(missing_ok=True)
        write_whole(self.path / ABOUT, json.dumps(about, indent=2).encode())

    def write_card(self, game: Game, about: dict[str, Any]) -> None:
        files = self.files()
        figures, counts = facts(read_file(game, files[0])[0]), (len(files), about["positions"])
        card = dataset_card(game, self.format, counts, dict(_settings(about)), figures)
        write_whole(self.path / CARD, card.encode())

    def file(self, number: int) -> Path:
        return self.path / f"{number:06d}{SUFFIX[self.format]}"

    def files(self) -> list[Path]:
        """Those that were written, up to the first that is missing."""
        return list(takewhile(Path.exists, map(self.file, count())))


def _settings(about: dict[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """What decides which positions a data set has, but for their number: names and values."""
    for name, value in about.items():
        if isinstance(value, dict):
            yield from _settings(value, "" if name == "generation" else f"{name} ")
        elif name != "positions":
            yield within + name, value


class Source:
    """Plays the games of a generation in their order, many at once."""

    def __init__(self, generation: Generation, seed: int, threads: int | None = None) -> None:
        self.generation, self.seed, self.threads = generation, checked_seed(seed), lanes(threads)
        self.game = stripped(load(generation.game, **generation.options))
        columns_of(self.game)
        self._idle: queue.SimpleQueue[Labeller] = queue.SimpleQueue()
        judge, self.weights = judge_of(generation, self.game)
        for _ in range(self.threads):
            self._idle.put(Labeller(self.game, judge, generation.schedule))

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
        labels = found.labels
        raw = self._in_points(labels["score"].astype(np.float64))
        columns = {
            **columns_of(self.game).write(found.states),
            "score": search_scores(raw, self.generation.scale),
            "game_id": first + found.games,
            "ply": labels["ply"],
            "label_depth": labels["depth"],
            "raw_score": raw,
            "result": labels["result"],
        }
        kinds = types_of(self.game)
        return Rows(self.game, {name: columns[name].astype(kinds[name]) for name in kinds})

    def _in_points(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of searches in points of the game's evaluation; proven ones stay as they are."""
        if self.weights:  # a network says tanh(points / scale)
            open_scores = np.clip(scores / EVEN, -1 + 1 / EVEN, 1 - 1 / EVEN)
            points = self.generation.scale * np.arctanh(open_scores)
        else:
            points = scores / self.generation.points
        return np.where(np.abs(scores) > PROVEN, scores, points)


def judge_of(generation: Generation, game: Game) -> tuple[str | Judge, str]:
    """Whose values the searches go by; and the hash of its weights, if it is a network."""
    if not generation.judge or generation.judge in game.open_rules.judges:
        return generation.judge, ""
    judge, weights = judge_in_file(generation.judge, game)
    if not isinstance(judge, Judge):
        raise DataError(f"judge={generation.judge}: only a network of integers can label positions")
    return judge, weights


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
    judge = f"network {source.weights}" if source.weights else generation.judge
    about = {
        "data": FORMAT,
        "generation": asdict(replace(generation, judge=judge)),
        "version": source.game.version,
        "seed": seed,
        "format": format,
        "positions": positions,
    }
    before = folder.before(about, resume=resume)
    counts = [_count(source.game, file) for file in folder.files()]
    if counts and before < positions and sum(counts) == before:
        folder.file(len(counts) - 1).unlink()  # it may have been cut short
        counts.pop()
    folder.describe(about)
    began = done = sum(counts)
    with closing(source.calls(len(counts) * CALLS_PER_FILE)) as calls:
        for number in count(len(counts)):
            if done == positions:
                break
            parts = []
            for rows in _rows_of_file(calls, positions - done):
                parts.append(rows)
                done += len(rows)
                progress(done, done - began)
            write_rows(folder.file(number), Rows.joined(parts))
    folder.write_card(source.game, about)
    return positions - began


def _rows_of_file(calls: Iterator[Rows], most: int) -> Iterator[Rows]:
    """What the calls of one file give, cut after so many rows."""
    for rows in islice(calls, CALLS_PER_FILE):
        yield rows[:most]
        most -= len(rows)
        if most <= 0:
            return


def _count(game: Game, file: Path) -> int:
    if file.suffix == SUFFIX["jsonl"]:
        return file.read_bytes().count(b"\n")
    return len(read_file(game, file)[0])
