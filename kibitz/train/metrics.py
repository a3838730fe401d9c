"""The metrics of a run: a line of JSON per iteration, written at its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..game import GameError

Row = dict[str, Any]


class RowError(GameError):
    """A line that is not the metrics of an iteration."""


def row_text(row: Mapping[str, Any]) -> str:
    """A row as a line of a file. What is not finite is null: JSON has no word for it."""
    finite = {name: value if _finite(value) else None for name, value in row.items()}
    return json.dumps(finite) + "\n"


def read_rows(path: Path) -> tuple[list[Row], list[int]]:
    """All rows of a file, and the numbers of damaged lines, the first being 1.

    A last line without its end is what a kill leaves behind: it is dropped, and not damage.
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


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
