"""What a card says in its header, and what its Python prints."""

from __future__ import annotations

import json
import re


def header_of(card):
    """The header of a card: every line is a key and a value in JSON."""
    _, header, _ = card.split("---\n", 2)
    return {key: json.loads(value) for key, value in re.findall(r"^(\w+): (.*)$", header, re.M)}


def run_lines(card, folder, monkeypatch, capsys):
    """Run the Python of a card in its folder: how many lines that are, and what they print."""
    (lines,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(compile(lines, "README.md", "exec"), {})
    return len(lines.splitlines()), capsys.readouterr().out
