"""The card of a data set: what its columns mean, and how the positions were generated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ... import __version__
from ...game import Game
from ...notation import Column
from ..cards import LICENCE, cell, code, facts_table, slug, table, yaml
from .files import Format
from .rows import record_of

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")
CONTENTS: dict[Format, str] = {
    "jsonl": "JSON lines: one object per position",
    "shards": "safetensors: one array per column",
}
READING: dict[Format, list[str]] = {
    "jsonl": [
        "import json",
        "from pathlib import Path",
        "files = sorted(Path().glob('*.jsonl'))",
        "texts = [line for file in files for line in file.read_text().splitlines()]",
        "rows = list(map(json.loads, texts))",
        "print(len(rows), rows[0])",
    ],
    "shards": [
        "from pathlib import Path",
        "import numpy as np",
        "from safetensors.numpy import load_file",
        "parts = [load_file(file) for file in sorted(Path().glob('*.safetensors'))]",
        "columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}",
        "print(len(columns['score']), {name: columns[name][0].item() for name in columns})",
    ],
}


def dataset_card(
    game: Game,
    format: Format,
    counts: tuple[int, int],
    settings: Mapping[str, object],
    figures: Mapping[str, object],
) -> str:
    """The README of a folder of labelled positions.

    counts: of its files and of its positions. settings: how the positions were generated, also
    nested. figures: what those of the first file are like.
    """
    files, positions = counts
    header: dict[str, object] = {
        "license": LICENCE,
        "pretty_name": f"{game.name}: {positions:,} labelled positions",
        "task_categories": ["reinforcement-learning"],
        "tags": ["kibitz", "tabletop-games", slug(game.name)],
        "size_categories": [SIZES[min(max(len(str(positions)) - 3, 0), len(SIZES) - 1)]],
    }
    columns = [column_row(name, column, format) for name, column in record_of(game).items()]
    number = f"{files:,} file{'s' * (files > 1)}"
    parts = [
        f"{yaml(header)}\n# {game.name}: labelled positions",
        f"{positions:,} positions in {number} of {CONTENTS[format]}.",
        f"## Use\n\n{code(READING[format])}",
        f"## Columns\n\n{table(('column', 'type', 'meaning', 'if not known'), columns)}",
        f"## How they were generated\n\n{facts_table(settings)}",
        f"## What those of the first file are like\n\n{facts_table(figures)}",
        "Positions of one game belong on one side of a split into training and validation. "
        f"Generated with kibitz {__version__}.",
    ]
    return "\n\n".join(parts) + "\n"


def column_row(name: str, column: Column, format: Format) -> tuple[str, str, str, str]:
    """What a card says of a column. In JSON lines null stands for what is not known."""
    absent = "" if column.absent is None else "null" if format == "jsonl" else str(column.absent)
    return f"`{name}`", np.dtype(column.type).name, cell(column.meaning), absent
