"""Files of labelled positions: JSON lines for everybody, shards of arrays for many of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...game import Game
from ...options import shown
from ...search.labelling import UNDECIDED
from ..folder import read_stored, write_tensors, write_whole
from .rows import LABELS, DataError, Rows, columns_of, types_of

Format = Literal["jsonl", "shards"]
SUFFIX: dict[Format, str] = {"jsonl": ".jsonl", "shards": ".safetensors"}
FORMAT = "kibitz positions 1"
LARGEST = 1 << 63
ROWS_PER_FILE = 50_000  # 12 MB of JSON lines


# Writing -----------------------------------------------------------------------------------------


def write_rows(path: Path, rows: Rows) -> None:
    """Write a file completely or not at all, in the format that its suffix names."""
    if path.suffix == SUFFIX["jsonl"]:
        write_whole(path, "".join(json_lines(rows)).encode())
    else:
        about = {"positions": FORMAT, "game": rows.game.name, "version": rows.game.version}
        write_tensors(path, rows.columns, about)


def json_lines(rows: Rows) -> Iterator[str]:
    """A record per row; what is not known is null."""
    names = list(types_of(rows.game))
    values = [_json_values(name, rows.columns[name]) for name in names]
    for row in zip(*values, strict=True):
        yield json.dumps(dict(zip(names, row, strict=True))) + "\n"


def _json_values(name: str, column: NDArray[Any]) -> list[object]:
    if column.dtype == np.float32:  # the shortest text that reads back as the same number
        return [None if np.isnan(number) else float(str(number)) for number in column]
    absent = LABELS[name].absent if name in LABELS else None
    return [None if number == absent else number for number in column.tolist()]


# Reading -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used."""

    path: Path
    number: int  # of its line, or of its row in a shard, from 1
    problem: str

    def __str__(self) -> str:
        where = "line" if self.path.suffix == SUFFIX["jsonl"] else "row"
        return f"{self.path}, {where} {self.number}: {self.problem}"


def read_file(game: Game, path: Path) -> tuple[Rows, list[BadRow]]:
    """All good rows of a file, and all bad ones."""
    if path.suffix == SUFFIX["jsonl"]:
        return _read_json_lines(game, path)
    if path.suffix == SUFFIX["shards"]:
        return _checked(game, path, _shard_columns(game, path))
    raise DataError(f"{path} is neither a .jsonl nor a .safetensors file")


def _read_json_lines(game: Game, path: Path) -> tuple[Rows, list[BadRow]]:
    kinds, bad, numbers = types_of(game), [], []
    table: list[tuple[object, ...]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                table.append(_values(line, kinds))
                numbers.append(number)
            except DataError as error:
                bad.append(BadRow(path, number, str(error)))
    # Integers of any size up to now: they are narrowed once they are known to be small.
    wide = {name: np.int64 if kind.kind == "i" else kind for name, kind in kinds.items()}
    columns = {
        name: np.array([row[k] for row in table], wide[name]) for k, name in enumerate(kinds)
    }
    rows, wrong = _checked(game, path, columns, np.array(numbers, np.int64))
    return rows, sorted(bad + wrong, key=lambda row: row.number)


def _values(line: bytes, kinds: dict[str, np.dtype[Any]]) -> tuple[object, ...]:
    """The values of a record, in the order of the columns, each of the right type."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("this is not JSON") from None
    if not isinstance(record, dict):
        raise DataError("a record is a JSON object")
    return tuple(_value(record.get(name), name, kind) for name, kind in kinds.items())


def _value(value: object, name: str, kind: np.dtype[Any]) -> object:
    if value is None:
        absent = LABELS[name].absent if name in LABELS else None
        if absent is None:
            raise DataError(f"{name} is missing")
        return absent
    if name in LABELS and value == LABELS[name].absent:
        raise DataError(f"{name} is {shown(value)}; what is not known is null")
    if kind.kind == "b":
        if not isinstance(value, bool):
            raise DataError(f"{name} is {shown(value)}, not true or false")
    elif kind.kind == "i":
        if type(value) is not int or not -LARGEST <= value < LARGEST:
            raise DataError(f"{name} is {shown(value)}, not a whole number of 64 bits")
    elif type(value) not in (int, float) or not abs(value) <= 1e30:  # type: ignore[arg-type]
        raise DataError(f"{name} is {shown(value)}, not a finite number")
    return value


def _shard_columns(game: Game, path: Path) -> dict[str, NDArray[Any]]:
    stored, kinds = read_stored(path), types_of(game)
    if stored.about.get("positions") != FORMAT:
        raise DataError(f"{path} does not hold labelled positions")
    if (stored.about.get("game"), stored.about.get("version")) != (game.name, game.version):
        raise DataError(f"{path} holds positions of another game or version than {game.name}")
    rows = len(stored.arrays.get("score", ()))
    found = {name: (array.dtype, array.shape) for name, array in stored.arrays.items()}
    if found != {name: (kind, (rows,)) for name, kind in kinds.items()}:
        raise DataError(f"{path} has other columns than positions of {game.name}")
    return {name: stored.arrays[name] for name in kinds}


def _checked(
    game: Game,
    path: Path,
    columns: dict[str, NDArray[Any]],
    numbers: NDArray[np.int64] | None = None,
) -> tuple[Rows, list[BadRow]]:
    """Part good rows from bad ones. numbers: of their lines; by default their own."""
    rows = len(columns["score"])
    lines = np.arange(1, rows + 1) if numbers is None else numbers
    wrong = np.zeros(rows, np.bool_)
    bad = []
    for problem, where in [*columns_of(game).problems(columns), *_label_problems(columns)]:
        bad += [BadRow(path, int(lines[i]), problem) for i in np.flatnonzero(where & ~wrong)]
        wrong |= where
    good = {name: columns[name][~wrong].astype(kind) for name, kind in types_of(game).items()}
    return Rows(game, good), sorted(bad, key=lambda row: row.number)


def _label_problems(columns: dict[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    score, raw, result = (columns[name] for name in ("score", "raw_score", "result"))
    yield "score is not a number from -1 to 1", ~(np.abs(score) <= 1.0)  # true for NaN
    yield "raw_score is not a finite number", np.isinf(raw)
    yield "result is not -1, 0, 1 or null", (np.abs(result) > 1) & (result != UNDECIDED)
    for name in ("game_id", "ply", "label_depth"):
        column, most = columns[name], np.iinfo(np.dtype(LABELS[name].type)).max
        yield f"{name} is not a number from 0 to {most}", (column < -1) | (column > most)


# Data sets ---------------------------------------------------------------------------------------


def files_of(source: Path) -> list[Path]:
    """The files of a data set: a file itself, or those in a folder, in their order."""
    if not source.exists():
        raise DataError(f"there is no {source}")
    if source.is_file():
        return [source]
    found = sorted(file for file in source.iterdir() if file.suffix in SUFFIX.values())
    if not found:
        raise DataError(f"{source} holds no files with positions")
    return found


def read_data(
    game: Game, sources: Sequence[Path], *, skip_bad: bool = False
) -> tuple[Rows, list[BadRow]]:
    """The rows of data sets, and the bad ones where they are skipped; or else they are refused.

    Numbers of games are made different from one data set to the next.
    """
    parts, bad, next_id = [], [], 0
    for source in sources:
        part, wrong = read_source(game, source)
        refuse(wrong, skip_bad=skip_bad)
        ids = part.columns["game_id"]
        part.columns["game_id"] = np.where(ids < 0, ids, ids + next_id)
        next_id = max(next_id, int(part.columns["game_id"].max(initial=-1)) + 1)
        parts.append(part)
        bad += wrong
    return Rows.joined(parts), bad


def refuse(bad: list[BadRow], *, skip_bad: bool) -> None:
    if bad and not skip_bad:
        more = f" ({len(bad)} rows are bad)" if len(bad) > 1 else ""
        raise DataError(f"{bad[0]}{more}")


def read_source(game: Game, source: Path) -> tuple[Rows, list[BadRow]]:
    """All rows of one data set, good and bad."""
    found = [read_file(game, path) for path in files_of(source)]
    return Rows.joined([rows for rows, _ in found]), [row for _, bad in found for row in bad]


def convert(
    game: Game, source: Path, target: Path, format: Format, *, skip_bad: bool = False
) -> tuple[int, int]:
    """Write a data set in a format, into a new folder; returns its rows, and how many were bad."""
    if target.exists():
        raise DataError(f"there is a {target} already; choose another folder")
    files, written, bad = files_of(source), 0, 0
    target.mkdir(parents=True)
    numbers = count()
    for file in files:
        rows, wrong = read_file(game, file)
        refuse(wrong, skip_bad=skip_bad)
        written, bad = written + len(rows), bad + len(wrong)
        for first in range(0, len(rows), ROWS_PER_FILE):
            path = target / f"{next(numbers):06d}{SUFFIX[format]}"
            write_rows(path, rows[first : first + ROWS_PER_FILE])
    return written, bad
