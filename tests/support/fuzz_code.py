"""Odd entries in the cache of compiled code."""

from __future__ import annotations

import functools
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import fuzz_mutation as mutate
from fuzz_files import ODD, PLACE
from fuzzing import ACCEPTED, Wrong

PROGRAM = "from kibitz.games import load; game = load('kuhn'); game.turn(game.fresh())"


@functools.cache
def valid_code() -> Path:
    folder = PLACE / "code"
    folder.mkdir()
    _run_with(folder)
    return folder


def _run_with(folder: Path) -> None:
    env = {**os.environ, "KIBITZ_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120
    )
    if done.returncode or "Traceback" in done.stderr:
        raise Wrong(f"status {done.returncode}: {done.stderr[-1500:]}")


def compiled_code(rng: random.Random) -> str:
    """An entry of the cache that is cut, changed or another one: it is compiled anew."""
    folder = ODD / "code"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(valid_code(), folder)
    files = [f for f in sorted(folder.rglob("*")) if f.is_file()]
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents, strict=True):
        match rng.randrange(4):
            case 0:
                file.write_bytes(mutate.content(rng, content))
            case 1:
                file.write_bytes(rng.choice(contents))
            case 2:
                file.unlink()
                if rng.random() < 0.5:
                    file.mkdir()
    _run_with(folder)
    return ACCEPTED


CASES = {"compiled_code": compiled_code}


def prepare() -> None:
    """Compile what is damaged later."""
    ODD.mkdir(exist_ok=True)
    valid_code()


def begin() -> None:
    """Nothing to do once all is prepared."""
