"""The file that results are kept in: one SQLite database that is marked as ours.

A match is known by the game's fingerprint, the identities of its players (see `players`) and the
seed; names are kept to be shown. Each chunk of a match is written in its own transaction, so a kill
at any moment leaves a sound file.

Files of earlier formats are read, and brought up to date when something is saved in them. All other
files are refused and left as they are.

- The first format knew matches by the players' names. They stay marked as keyed by name and are
  never continued: nobody knows who played them.
- Up to the second format chunks counted comparisons of two seats. With two seats those are wins, so
  they are rated. With more seats they are not wins, and are left out. A match that comes to such a
  chunk plays it again.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sqlite3
import stat
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..game import Game, GameError
from .match import Chunk, Span

APPLICATION_ID = 0x6B69626A  # "kibj", in the header of the file
VERSION = 3  # of the format; 1 had no mark, 2 other results in the same tables
LARGEST = 1e15  # of a number in a result: beyond it sums would lose games

KeyedBy = Literal["identity", "name"]

MATCHES = """
create table {name} (
    id integer primary key,
    game text not null,
    fingerprint text not null,
    options text not null,
    players text not null,
    seed text not null,
    identities text not null,
    keyed_by text not null,
    unique (fingerprint, identities, keyed_by, seed)
)
"""
CHUNKS = """
create table chunks (
    match integer not null references matches (id),
    first integer not null,
    groups integer not null,
    result text not null,
    primary key (match, first)
)
"""
FIRST_FORMAT = {
    "matches": ["id", "game", "fingerprint", "options", "players", "seed"],
    "chunks": ["match", "first", "groups", "result"],
}
FORMAT = {**FIRST_FORMAT, "matches": [*FIRST_FORMAT["matches"], "identities", "keyed_by"]}


class ResultsError(GameError):
    """A file that is no file of results, or a result in it that is none."""


# Opening ------------------------------------------------------------------------------------------


@contextmanager
def opened_to_save(path: Path) -> Iterator[sqlite3.Connection]:
    """The database in a file of results, which is created or brought up to date if need be."""
    if not path.parent.is_dir():
        raise ResultsError(f"{path}: there is no folder {path.parent}")
    if not _is_empty(path):
        check_ours(path)
    with _connected(path, "rwc") as db:
        db.execute("pragma synchronous = full")
        with transaction(db):  # somebody else may have created or upgraded it in the meantime
            _bring_up_to_date(db)
        yield db


@contextmanager
def opened_to_read(path: Path) -> Iterator[tuple[sqlite3.Connection, int]]:
    """The database in a file of results, and the version of its format. Nothing is written."""
    if not path.exists():
        raise ResultsError(f"there is no file {path}; `kibitz match ... --save {path}` makes one")
    check_ours(path)
    with _connected(path, "ro") as db:
        yield db, _version(db)


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)) as db:
            yield db
    except UnicodeDecodeError:
        raise ResultsError(f"{path} cannot be used: a text in it is not UTF-8") from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
            why = f"a write was interrupted; `kibitz match ... --save {path}` mends it"
            raise ResultsError(f"{path} cannot be read: {why}") from None
        raise ResultsError(f"{path} cannot be used as a file of results: {error}") from None


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside is in the file at the end, or none of it is."""
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


# Whose file it is ---------------------------------------------------------------------------------


def check_ours(path: Path) -> None:
    """Refuse a file that is not ours, without changing one byte of it or beside it."""
    refusal = ResultsError(
        f"{path} cannot be used as a file of results: kibitz did not write it, so it stays as it is"
    )
    application, version = _header(path, refusal)
    if application == APPLICATION_ID and version > VERSION:
        raise ResultsError(f"{path} was written by a newer kibitz: its format is {version}")
    if application not in (0, APPLICATION_ID):
        raise refusal
    if application == APPLICATION_ID and path.with_name(f"{path.name}-journal").exists():
        return  # a process was killed while it wrote: SQLite restores our tables on opening
    # `immutable` reads the file alone: a journal beside somebody else's file is not touched.
    with _connected(path, "ro&immutable=1") as db:
        if _version(db) == 0:
            raise refusal


def _header(path: Path, refusal: ResultsError) -> tuple[int, int]:
    """Application id and version in the first bytes of a database, before SQLite opens it."""
    if path.is_dir():
        raise ResultsError(f"{path} is a folder, not a file of results")
    if not stat.S_ISREG(path.stat().st_mode):
        raise refusal
    with path.open("rb") as file:
        head = file.read(100)
    with_journal = head[18:20] == b"\1\1"  # ours keep no write-ahead log
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0") or not with_journal:
        raise refusal
    return int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big")


def _is_empty(path: Path) -> bool:
    """Whether there is nothing to lose: no file, or one that was created and not yet written."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _version(db: sqlite3.Connection) -> int:
    """The version of the format; 0 where it is none of ours."""
    rows = db.execute("select name, type from sqlite_master where sql is not null").fetchall()
    if any(kind != "table" for _, kind in rows):
        return 0  # a view or a trigger runs whatever its author wrote
    names = {name for name, _ in rows}
    columns = {
        name: [row[1] for row in db.execute(f"pragma table_info({name})")] for name in FORMAT
    }
    mark = db.execute("pragma application_id").fetchone()[0]
    version = int(db.execute("pragma user_version").fetchone()[0])
    if mark == APPLICATION_ID and version in (2, VERSION) and columns == FORMAT:
        return version
    first = mark == 0 and version == 0 and columns == FIRST_FORMAT and names == {*FIRST_FORMAT}
    return 1 if first else 0


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    version = _version(db)
    if version == VERSION:
        return
    if version == 1:
        db.execute(MATCHES.format(name="matches_of_version_2"))
        db.execute(
            "insert into matches_of_version_2 "
            "select id, game, fingerprint, options, players, seed, players, 'name' from matches"
        )
        db.execute("drop table matches")
        db.execute("alter table matches_of_version_2 rename to matches")
    elif version == 0 and _has_no_tables(db):
        db.execute(MATCHES.format(name="matches"))
        db.execute(CHUNKS)
    elif version == 0:
        raise sqlite3.DatabaseError("it is not the file that it was a moment ago")
    db.execute(f"pragma application_id = {APPLICATION_ID}")
    db.execute(f"pragma user_version = {VERSION}")


def _has_no_tables(db: sqlite3.Connection) -> bool:
    return int(db.execute("select count(*) from sqlite_master").fetchone()[0]) == 0


# Rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SavedMatch:
    """A match as a file has it."""

    id: int
    game: str
    fingerprint: str
    options: str
    players: tuple[str, ...]  # as they are shown
    identities: tuple[str, ...]  # or names again, in matches keyed by name
    keyed_by: KeyedBy


@dataclass(frozen=True)
class PairsChunk:
    """The results of some groups as they were kept up to the second format."""

    groups: int
    games: int
    draws: int
    rates: list[float]
    squares: list[float]
    scores: list[float]
    by_seat: list[float]
    points: list[list[float]]  # [a][b]: comparisons of seats that a won against b


def saved_matches(path: Path) -> Iterator[tuple[SavedMatch, Chunk | PairsChunk]]:
    """Every chunk of a file with its match, the oldest match first."""
    with opened_to_read(path) as (db, version):
        key = "players, 'name'" if version == 1 else "identities, keyed_by"
        rows = db.execute(
            f"select id, game, fingerprint, options, players, {key}, first, groups, result "
            "from matches join chunks on match = id order by id, first"
        ).fetchall()
    for *match_row, first, groups, result in rows:
        where = f"{path}, match {match_row[0]}"
        found = _match(where, match_row)
        yield found, read_chunk(f"{where}, chunk {first}", groups, len(found.players), result)


def _match(where: str, row: Sequence[Any]) -> SavedMatch:
    """A row of the table of matches, once everything in it has been found to be possible."""
    number, game, fingerprint, options, players, identities, keyed_by = row
    for name, value in (("game", game), ("fingerprint", fingerprint), ("options", options)):
        if not isinstance(value, str):
            raise ResultsError(f"{where}: its {name} is not a text")
    if keyed_by not in ("identity", "name"):
        raise ResultsError(f"{where}: it is keyed by identity or by name, nothing else")
    names, keys = _texts(where, "players", players), _texts(where, "identities", identities)
    if len(names) != len(keys):
        raise ResultsError(f"{where}: it has {len(names)} players and {len(keys)} identities")
    return SavedMatch(number, game, fingerprint, options, names, keys, keyed_by)


def _texts(where: str, name: str, text: object) -> tuple[str, ...]:
    listed = _from_json(where, name, text)
    if not isinstance(listed, list) or len(listed) < 2:
        raise ResultsError(f"{where}: its {name} are not a list of two or more")
    if not all(isinstance(text, str) for text in listed):
        raise ResultsError(f"{where}: its {name} are not all texts")
    return tuple(listed)


def _from_json(where: str, name: str, text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ResultsError(f"{where}: its {name} are not JSON") from None


def read_chunk(where: str, groups: int, players: int, text: object) -> Chunk | PairsChunk:
    """The chunk that a row tells, once everything in it has been found to be possible."""
    values = _from_json(where, "results", text)
    kind = PairsChunk if isinstance(values, dict) and "points" in values else Chunk
    names = [field.name for field in dataclasses.fields(kind)]
    if not isinstance(values, dict) or sorted(values) != sorted(names):
        raise ResultsError(f"{where}: its results are not {', '.join(names)}")
    for name in ("groups", "games", "draws"):
        if type(values[name]) is not int or not 0 <= values[name] < LARGEST:
            raise ResultsError(f"{where}: its {name} are not a whole number, 0 or more")
    if values["groups"] != groups or not 1 <= groups <= values["games"] >= values["draws"]:
        raise ResultsError(f"{where}: its numbers of groups, games and draws do not agree")
    for name in (name for name in names[3:] if name not in ("by_seat", "points")):
        _check_numbers(where, name, values[name], players, -LARGEST if name == "scores" else 0)
    if kind is PairsChunk:
        _check_points(where, values["points"], players)
    elif not all(type(count) is int and count for count in values["teams"]):
        raise ResultsError(f"{where}: its teams are not all whole numbers, 1 or more")
    _check_numbers(where, "by_seat", values["by_seat"], max(players, _length(values["by_seat"])))
    return kind(**values)


def _check_points(where: str, points: list[Any], players: int) -> None:
    if _length(points) != players:
        raise ResultsError(f"{where}: its points are not {players} lists")
    for row in points:
        _check_numbers(where, "points", row, players)


def _length(value: object) -> int:
    """Of a list; whatever else it is has none."""
    return len(value) if isinstance(value, list) else 0


def _check_numbers(where: str, name: str, values: Any, count: int, least: float = 0) -> None:
    if _length(values) != count:
        raise ResultsError(f"{where}: its {name} are not {count} numbers")
    for value in values:
        if type(value) not in (int, float) or not least <= value <= LARGEST:
            bound = "" if least else ", 0 or more"
            raise ResultsError(f"{where}: its {name} are not all finite numbers{bound}")


# One match ----------------------------------------------------------------------------------------


class SavedChunks(MutableMapping[Span, Chunk]):
    """The chunks of one match in a file, as the mapping that `match` keeps them in.

    players: as they are shown. identities: what makes them who they are. A seed of None is that of
    the newest such match in the file, and stays None where there is none.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        path: Path,
        game: Game,
        players: Sequence[str],
        identities: Sequence[str],
        seed: int | None,
    ) -> None:
        self.db, self.path, self.game, self.players = db, path, game, players
        self.key = game.fingerprint, json.dumps(list(identities)), "identity"
        self.seed = self._newest_seed() if seed is None else seed

    def _newest_seed(self) -> int | None:
        row = self.db.execute(
            "select id, seed from matches where fingerprint = ? and identities = ? "
            "and keyed_by = ? order by id desc limit 1",
            self.key,
        ).fetchone()
        if row is not None and not re.fullmatch("[0-9]{1,99}", str(row[1])):
            raise ResultsError(f"{self.path}, match {row[0]}: its seed is not a whole number")
        return None if row is None else int(row[1])

    @property
    def match(self) -> int | None:
        """The number of the match in the file; None before its first chunk."""
        row = self.db.execute(
            "select id from matches where fingerprint = ? and identities = ? "
            "and keyed_by = ? and seed = ?",
            (*self.key, str(self.seed)),
        ).fetchone()
        if row is not None and type(row[0]) is not int:
            raise ResultsError(f"{self.path}: a match in it has no number")
        return None if row is None else int(row[0])

    def __getitem__(self, span: Span) -> Chunk:
        row = self.db.execute(
            "select result from chunks where match = ? and first = ? and groups = ?",
            (self.match, *span),
        ).fetchone()
        if row is None:
            raise KeyError(span)
        where = f"{self.path}, match {self.match}, chunk {span[0]}"
        chunk = read_chunk(where, span[1], len(self.players), row[0])
        if isinstance(chunk, PairsChunk):
            raise KeyError(span)
        return chunk

    def __setitem__(self, span: Span, chunk: Chunk) -> None:
        options = json.dumps(self.game.describe()["options"])
        names = json.dumps(list(self.players))
        with transaction(self.db):
            self.db.execute(
                "insert or ignore into matches (game, options, players, "
                "fingerprint, identities, keyed_by, seed) values (?, ?, ?, ?, ?, ?, ?)",
                (self.game.name, options, names, *self.key, str(self.seed)),
            )
            # A longer chunk takes the place of a shorter one, so no game counts twice; one of the
            # same length that of an earlier format.
            self.db.execute(
                "insert into chunks values (?, ?, ?, ?) on conflict (match, first) do update set "
                "groups = excluded.groups, result = excluded.result "
                "where excluded.groups >= chunks.groups",
                (self.match, *span, json.dumps(dataclasses.asdict(chunk))),
            )

    def __delitem__(self, span: Span) -> None:
        raise ResultsError("results are kept, not deleted")

    def __iter__(self) -> Iterator[Span]:
        rows = self.db.execute("select first, groups from chunks where match = ?", (self.match,))
        return iter([(first, groups) for first, groups in rows])

    def __len__(self) -> int:
        return len(list(iter(self)))
