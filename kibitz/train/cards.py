"""Cards of networks and data sets: README files as model hubs expect them.

A card is Markdown below a header in YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

CARD = "README.md"
LICENCE = "mit"  # as the package
UNKNOWN = "unknown"


def yaml(header: Mapping[str, object]) -> str:
    """The header of a card. A JSON text is YAML, too."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in header.items()]
    return "\n".join(["---", *lines, "---", ""])


def slug(text: object) -> str:
    """A text as hubs allow it in headers: small letters, digits, dots and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", str(text).lower()).strip("-") or UNKNOWN


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(line) for line in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(f"| {line} |" for line in lines)


def facts_table(facts: Mapping[str, object]) -> str:
    """Names and values, also of nested mappings; empty if there are none."""
    rows = list(_rows(facts))
    return table(("what", "value"), rows) if rows else ""


def _rows(facts: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        words = f"{before} {name}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from _rows(value, words)
        elif value not in (None, "", [], ()):
            yield cell(words), cell(value)


def cell(value: object) -> str:
    """A value in a table: one line without bars."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(cell, value))
    return " ".join(str(value).replace("|", "\\|").split())


def code(lines: Sequence[str]) -> str:
    return fenced("\n".join(lines), "python")


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"
