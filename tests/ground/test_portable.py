"""macOS and Windows lack calls that Linux has; everything runs without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KIBITZ = Path(__file__).parent.parent.parent / "kibitz"

# Other libraries are imported first: what they use of this system is their business.
WITHOUT = """
import os, signal, sys
import numba, numpy, safetensors, sqlite3, torch, typer, rich.progress
for name in ("sched_getaffinity", "sched_setaffinity", "sysconf", "fork", "geteuid", "getuid",
             "getloadavg", "posix_fadvise", "statvfs", "O_DIRECTORY", "memfd_create"):
    if hasattr(os, name):
        delattr(os, name)
del signal.SIGKILL
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in [name for name in sys.modules if name.partition(".")[0] == "filelock"]:
    del sys.modules[name]  # imported anew, without fcntl
"""


def without_linux(work: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that does some work without the calls that only Linux has."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT + work, *words],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("work", "answer"),
    [
        (
            "import kibitz; batch = kibitz.Batch(kibitz.load('kuhn'), 100, seed=1);"
            "batch.wander(10); print(len(batch.turns()))",
            "100",
        ),
        (
            "from kibitz.devices import GameError, zeros\n"
            "try: zeros(1 << 62, float)\n"
            "except GameError as error: print(error)",
            "too much here; ask for less",
        ),
        (
            "import kibitz; game = kibitz.load('kuhn');"
            "print(kibitz.match(game, 'random', 'random', games=4, seed=1).games)",
            "4",
        ),
        (
            "from pathlib import Path; from kibitz.train.folder import RunError, RunFolder\n"
            "first, second = RunFolder(Path(sys.argv[1])), RunFolder(Path(sys.argv[1]))\n"
            "first.lock()\n"
            "try: second.lock()\n"
            "except RunError as error: print(error)\n"
            "first.unlock(); second.lock(); second.unlock()",
            "is being trained by another process",
        ),
        (
            "import kibitz.cli, kibitz.recipes, kibitz.train.run, kibitz.arena.results;"
            "import kibitz.contract, kibitz.terminal, kibitz.adapters.onnx; print('imported')",
            "imported",
        ),
    ],
    ids=["a batch", "too much memory", "a match", "a lock", "imports"],
)
def test_it_works_without_the_calls_that_only_linux_has(work, answer, tmp_path):
    done = without_linux(work, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout


@pytest.mark.parametrize("module", ["fcntl", "resource", "pwd", "grp", "termios"])
def test_no_module_that_only_unix_has_is_imported(module):
    for file in KIBITZ.rglob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert line.split()[:2] not in (["import", module], ["from", module]), file
