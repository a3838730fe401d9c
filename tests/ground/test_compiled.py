"""The disk cache: code from several processes, linked together, still does what its source says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CODE = """
import json, sys
from kibitz.batch import Batch
from kibitz.games import load
import numpy as np
for name, options in json.loads(sys.argv[1]):
    game = load(name, **{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()})
    batch = Batch(game, 50, seed=3)
    batch.wander(40)
    batch.settle()
    turns = batch.turns()
    parts = [batch.host().tobytes(), batch.choose("random", turns, batch.rngs.copy()).tobytes()]
    parts += [batch.known(np.zeros(50, np.int64)).tobytes(), batch.actions()[1].tobytes()]
    print(hash_of := __import__("hashlib").sha256(b"".join(parts)).hexdigest())
"""
SHAPES = [
    ["kuhn", {}],
    ["liars_dice", {"dice": [1, 1], "sides": 3}],
    ["liars_dice", {}],
    ["liars_dice", {"dice": [2, 1]}],
    ["liars_dice", {"dice": [1, 2], "variant": "stairs"}],
]


def printed(cache: Path, shapes: list[object]) -> list[str]:
    env = {**os.environ, "KIBITZ_CACHE": str(cache)}
    command = [sys.executable, "-c", CODE, json.dumps(shapes)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_code_cached_by_different_processes_can_be_used_together(tmp_path):
    """Record types are numbered by process, and some shapes differ in their lists alone."""
    alone = [printed(tmp_path / "cache", [shape])[0] for shape in SHAPES]
    together = printed(tmp_path / "cache", SHAPES)
    backwards = printed(tmp_path / "cache", SHAPES[::-1])[::-1]
    assert together == alone == backwards


def test_the_first_use_says_that_it_compiles_and_the_second_is_quiet(tmp_path):
    env = {**os.environ, "KIBITZ_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", CODE, json.dumps([["kuhn", {}]])]
    first, second = (
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    )
    assert "kibitz: compiling (first use" in first and "kibitz: compiled in" in first
    assert second == ""


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert printed(tmp_path / "file", [["kuhn", {}]]) == printed(tmp_path / "ok", [["kuhn", {}]])
