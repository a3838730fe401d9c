"""The metrics of a run: a line of JSON per iteration, written at its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..game import GameError

Row = dict[str, Any]
"""The figures of an iteration by name: numbers, or None if a figure was not finite."""


class RowError(GameError):
    """A line that is not the metrics of an iteration."""


def row_text(row: Row) -> str:
    """A row as a line of a file. Numbers that are not finite become null, as JSON lacks them."""
    finite = {name: value if _finite(value) else None for name, value in row.items()}
    return json.dumps(finite) + "\n"


def read_rows(path: Path) -> tuple[list[Row], list[int]]:
    """All rows of a file, and the numbers of damaged lines, counted from 1.

    An incomplete last line is what a killed run leaves: it is dropped, and is no damage.
    """
    if not path.exists():
        return [], []
    rows, damaged = [], []
    *lines, unfinished = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_row(line))
        except RowError:
            damaged.append(number)
    with suppress(RowError):
        rows.append(_row(unfinished))
    return rows, damaged


def until(rows: Iterable[Row], iteration: int) -> list[Row]:
    """The rows up to an iteration."""
    return [row for row in rows if row["iteration"] <= iteration]


def _row(line: bytes) -> Row:
    try:
        row = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise RowError("not JSON") from None
    if not isinstance(row, dict) or type(row.get("iteration")) is not int:
        raise RowError("no iteration")
    if not all(value is None or _finite(value) for value in row.values()):
        raise RowError("not numbers")
    return row


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
