"""Mutants: the package with one thing wrong, each of which a test must notice.

    python tests/support/mutants.py                  all of them, as a Markdown table
    python tests/support/mutants.py --only arena     those whose name or file contains a word
    python tests/support/mutants.py --sample 5       every so many, five in all
    python tests/support/mutants.py --list           what there is; nothing is run

A mutant is a copy of the package and its tests outside the working tree, with one edit. The tests
named for it run on the copy and must fail: status 1 of pytest, because a test that cannot be run
has noticed nothing. Compiled code is kept by what it was compiled from, so a copy shares that of
the package except for what the edit can change. Edits of rules are tried in the interpreter, where
nothing has to be compiled.

Games with one thing wrong are also put to `kibitz check`, by test_mutations.py.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mutant import Mutant
from mutants_of_learning import CONTRACT, DOORS, TRAIN
from mutants_of_play import ARENA, BORDER, CHANCE, GAMES, PLAYERS, SEARCH
from mutants_of_rules import BEASTY_BAR, DOMINION, ESCAMPE, SMALL_GAMES

ROOT = Path(__file__).parent.parent.parent
SECONDS = 300  # until a mutant is given up, and counts as a survivor
SOUND_SECONDS = 1800  # for all tests without a mutant, where everything may have to be compiled
FAILED = 1  # pytest's status where a test has failed; 2 to 5 say that tests could not be run


MUTANTS = [
    *CHANCE,
    *BORDER,
    *GAMES,
    *PLAYERS,
    *ARENA,
    *SEARCH,
    *TRAIN,
    *SMALL_GAMES,
    *BEASTY_BAR,
    *DOMINION,
    *ESCAMPE,
    *DOORS,
    *CONTRACT,
]


# Running them ------------------------------------------------------------------------------------


@contextmanager
def copied(edited: Mutant | None = None) -> Iterator[Path]:
    """A folder with the package and its tests, with one edit where a mutant is given."""
    with tempfile.TemporaryDirectory(prefix="kibitz-mutant-") as name:
        folder = Path(name)
        left_out = shutil.ignore_patterns("__pycache__", "champions")
        for part in ("kibitz", "tests", "docs", "examples"):
            shutil.copytree(ROOT / part, folder / part, ignore=left_out)
        (folder / "kibitz/champions").symlink_to(ROOT / "kibitz/champions")  # large, never edited
        shutil.copy(ROOT / "pyproject.toml", folder)
        if edited is not None:
            path = folder / edited.place
            source = path.read_text(encoding="utf-8")
            assert source.count(edited.old) == 1, f"{edited.place}: {edited.old!r}"
            path.write_text(source.replace(edited.old, edited.new), encoding="utf-8")
        yield folder


def run_tests(
    folder: Path, tests: Sequence[str], *, interpreted: bool, seconds: int = SECONDS
) -> tuple[int, str]:
    """The status of pytest and what it has printed."""
    settings = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-rf"]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"NUMBA_DISABLE_JIT": "1"} if interpreted else {}
    command = [sys.executable, "-m", "pytest", *settings, *(f"tests/{test}" for test in tests)]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds
    )
    return done.returncode, done.stdout + done.stderr


def killer(edited: Mutant) -> str:
    """The test that has noticed a mutant; empty if none has."""
    with copied(edited) as folder:
        try:
            status, output = run_tests(folder, edited.tests, interpreted=edited.interpreted)
        except subprocess.TimeoutExpired:
            return ""
    failed = re.search(r"^FAILED tests/\S+?::(\w+)", output, re.MULTILINE)
    return failed[1] if status == FAILED and failed else ""


def check_sound(mutants: Sequence[Mutant]) -> None:
    """See that the tests of these mutants pass where nothing is wrong, and that they try a copy."""
    with copied() as folder:
        for interpreted in (False, True):
            tests = {t: None for m in mutants if m.interpreted == interpreted for t in m.tests}
            if tests:
                status, output = run_tests(
                    folder, [*tests], interpreted=interpreted, seconds=SOUND_SECONDS
                )
                assert status == 0, f"without a mutant:\n{output}"
        code = "import kibitz; print(kibitz.__file__)"
        env = {**os.environ, "PYTHONPATH": str(folder)}
        where = subprocess.check_output(
            [sys.executable, "-c", code], cwd=folder, env=env, text=True
        )
        assert where.startswith(str(folder)), f"tests import {where}"


def chosen(mutants: Sequence[Mutant], word: str, sample: int) -> list[Mutant]:
    """Those with a word in their name or file; of these every so many, if there are too many."""
    found = [m for m in mutants if word.lower() in f"{m.name} {m.place}".lower()]
    if not 0 < sample < len(found):
        return found
    return [found[len(found) * k // sample] for k in range(sample)]


def main() -> int:
    options = argparse.ArgumentParser(description="Run mutants of the package against its tests.")
    options.add_argument("--only", default="", metavar="WORD", help="in the name or the file")
    options.add_argument("--sample", type=int, default=0, metavar="N", help="so many of them")
    options.add_argument("--list", action="store_true", help="run nothing")
    asked = options.parse_args()
    mutants = chosen(MUTANTS, asked.only, asked.sample)
    if asked.list:
        print("\n".join(f"{m.place}: {m.name}" for m in mutants))
        return 0
    check_sound(mutants)
    began, survivors = time.monotonic(), 0
    print("| mutant | file | killed by |\n|---|---|---|", flush=True)
    for each in mutants:
        noticed = killer(each)
        survivors += not noticed
        print(f"| {each.name} | {each.place} | {noticed or '**nobody**'} |", flush=True)
    seconds = time.monotonic() - began
    print(f"\n{len(mutants)} mutants, {survivors} survivors, {seconds:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
