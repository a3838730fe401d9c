"""Files of oracles: one that lacks a list is used for what it has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LISTS = {
    "beasty_bar": {"games", "contested_positions"},
    "dominion": {"strategies", "matchups"},
    "dominion_features": {"cards"},
    "escampe": {"legal_moves", "placement", "positions"},
    "liars_dice": {"cases"},
    "madn": {"sets"},
}
USERS = [
    "games/test_beasty_bar.py",
    "games/test_dominion_strategies.py",
    "games/test_dominion_view.py",
    "games/test_escampe.py",
    "games/test_liars_dice.py",
    "games/test_madn.py",
    "bidding/test_onnx_liars_dice.py",
]


def tried(folder: Path) -> str:
    """What pytest says of the tests that use oracles, given this folder of them."""
    words = ["-q", "-rs", "-p", "no:cacheprovider", "-k", "oracle or provinces or features"]
    command = [sys.executable, "-m", "pytest", *words, *(str(TESTS / file) for file in USERS)]
    env = {**os.environ, "KIBITZ_ORACLES": str(folder)}
    env.pop("KIBITZ_MODELS", None)
    return subprocess.run(command, capture_output=True, text=True, env=env).stdout


@pytest.mark.parametrize("file", LISTS)
def test_our_files_have_every_list(file):
    content = json.loads((TESTS / "oracles" / f"{file}.json").read_text(encoding="utf-8"))
    assert content.keys() >= LISTS[file] and all(content[part] for part in LISTS[file])


@pytest.mark.parametrize("missing", ["strategies", "matchups"])
def test_a_list_that_is_missing_is_skipped_with_the_reason(tmp_path, missing):
    """Of two lists that a test needs, it names the first that is missing."""
    ours = json.loads((TESTS / "oracles" / "dominion.json").read_text(encoding="utf-8"))
    for file in LISTS:
        content = {"strategies": ours["strategies"]} if missing == "matchups" else {"about": {}}
        (tmp_path / f"{file}.json").write_text(json.dumps(content), encoding="utf-8")
    shown = tried(tmp_path)
    assert not re.search("[0-9]+ (failed|error)", shown), shown
    for file, parts in LISTS.items():
        for part in parts - ({"matchups", "strategies"} - {missing}):
            assert f"{file}.json has no '{part}'" in shown


def test_a_file_that_is_missing_fails(tmp_path):
    assert re.search("[0-9]+ (failed|error)", tried(tmp_path))
