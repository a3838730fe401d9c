"""Results kept in one SQLite file, and the ratings they add up to.

A match is saved chunk by chunk, each in its own transaction: a kill at any moment leaves a sound
file, and the same match, asked for again, goes on where it stopped.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, MutableMapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..game import Game, GameError
from .match import Z95, Chunk, MatchResult, Span, match

SCHEMA = """
create table if not exists matches (
    id integer primary key,
    game text not null,
    fingerprint text not null,
    options text not null,
    players text not null,
    seed text not null,
    unique (fingerprint, players, seed)
);
create table if not exists chunks (
    match integer not null references matches (id),
    first integer not null,
    groups integer not null,
    result text not null,
    primary key (match, first)
);
"""


class ResultsError(GameError):
    """A file that is no file of results."""


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.parent.is_dir():
        raise ResultsError(f"{path}: there is no folder {path.parent}")
    try:
        with closing(sqlite3.connect(path, timeout=30)) as db:
            db.execute("pragma synchronous = full")
            db.executescript(SCHEMA)
            yield db
    except sqlite3.Error as error:
        raise ResultsError(f"{path} cannot be used as a file of results: {error}") from None


class SavedChunks(MutableMapping[Span, Chunk]):
    """The chunks of one match in a file, as the mapping that `match` keeps them in."""

    def __init__(self, db: sqlite3.Connection, game: Game, players: list[str], seed: int) -> None:
        self.db = db
        told = (game.fingerprint, json.dumps(players), str(seed))
        with db:
            db.execute(
                "insert or ignore into matches (game, options, fingerprint, players, seed) "
                "values (?, ?, ?, ?, ?)",
                (game.name, json.dumps(game.describe()["options"]), *told),
            )
        where = "fingerprint = ? and players = ? and seed = ?"
        self.match = db.execute(f"select id from matches where {where}", told).fetchone()[0]

    def __getitem__(self, span: Span) -> Chunk:
        row = self.db.execute(
            "select result from chunks where match = ? and first = ? and groups = ?",
            (self.match, *span),
        ).fetchone()
        if row is None:
            raise KeyError(span)
        return Chunk(**json.loads(row[0]))

    def __setitem__(self, span: Span, chunk: Chunk) -> None:
        with self.db:  # a longer chunk takes the place of a shorter one, so no game counts twice
            self.db.execute(
                "insert into chunks values (?, ?, ?, ?) on conflict (match, first) do update set "
                "groups = excluded.groups, result = excluded.result "
                "where excluded.groups > chunks.groups",
                (self.match, *span, json.dumps(asdict(chunk))),
            )

    def __delitem__(self, span: Span) -> None:
        raise ResultsError("results are kept, not deleted")

    def __iter__(self) -> Iterator[Span]:
        rows = self.db.execute("select first, groups from chunks where match = ?", (self.match,))
        return iter([(first, groups) for first, groups in rows])

    def __len__(self) -> int:
        return len(list(iter(self)))


def saved_match(path: Path | str, game: Game, *players: str, **settings: Any) -> MatchResult:
    """Like `match`, kept in a file; what the file has already is not played again."""
    told = [name.strip().lower() for name in players]
    with _opened(Path(path)) as db:
        kept = SavedChunks(db, game, told, settings.get("seed", 0))
        return match(game, *told, kept=kept, **settings)


# Ratings ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rating:
    """A player's strength on the Elo scale, where the players of a game average 0."""

    player: str
    elo: float
    error: float  # half the width of the 95 % interval
    games: float


def ratings(path: Path | str, game: str | None = None) -> dict[str, list[Rating]]:
    """Ratings by game (and options, where several were played), strongest first."""
    if not Path(path).exists():
        raise ResultsError(f"there is no file {path}; `kibitz match ... --save {path}` makes one")
    tallies: dict[str, dict[tuple[str, str], float]] = {}
    with _opened(Path(path)) as db:
        rows = db.execute(
            "select game, options, players, result from matches join chunks on match = id"
        ).fetchall()
    for name, options, players, result in rows:
        if game in (None, name):
            tally = tallies.setdefault(f"{name} {options}", {})
            _count(tally, json.loads(players), Chunk(**json.loads(result)))
    return {title: bradley_terry(tally) for title, tally in sorted(tallies.items())}


def _count(tally: dict[tuple[str, str], float], players: list[str], chunk: Chunk) -> None:
    for i, a in enumerate(players):
        for j, b in enumerate(players):
            if a != b:
                tally[a, b] = tally.get((a, b), 0.0) + chunk.points[i][j]


def bradley_terry(points: dict[tuple[str, str], float]) -> list[Rating]:
    """Ratings that make the results likeliest; a pair of half points keeps shut-outs finite."""
    names = sorted({name for pair in points for name in pair})
    won = np.zeros((len(names), len(names)))
    for (a, b), count in points.items():
        won[names.index(a), names.index(b)] += count
    played = won + won.T
    won = won + 0.5 * (played > 0)
    played = won + won.T
    strength = np.zeros(len(names))
    for _ in range(100):  # Newton's method on the log-likelihood, which has one maximum
        expected = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
        slope = (won - played * expected).sum(1)
        curve = played * expected * (1.0 - expected)
        information = np.diag(curve.sum(1)) - curve
        step = np.linalg.pinv(information) @ slope
        strength += np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    elo = 400.0 / np.log(10.0)
    error = Z95 * np.sqrt(np.diag(np.linalg.pinv(information)))
    rated = [
        Rating(name, float(elo * strength[k]), float(elo * error[k]), float(played[k].sum()))
        for k, name in enumerate(names)
    ]
    return sorted(rated, key=lambda each: -each.elo)
