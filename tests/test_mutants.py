"""Mutants of the package are noticed: a few in every run, all of them in the slow tests."""

from __future__ import annotations

import subprocess
import sys

import pytest
from mutants import MUTANTS, ROOT, Mutant, check_sound, killer

# Quick ones, from different rooms, for which nothing has to be compiled anew.
SAMPLE = [
    "the purpose of a stream is not part of its key",
    "an illegal choice of a compiled player is played",
    "a table gives its players its own stream",
    "the average keeps the wrong share of its weights",
    "dominion: a re-deal leaves the hand of the seat to move",
    "dominion: everybody hears what an Artisan puts back",
]
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_one_edit_of_a_file(mutant: Mutant) -> None:
    source = (ROOT / mutant.place).read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1 and mutant.old != mutant.new
    assert mutant.tests


def test_all_tests_that_mutants_name_exist() -> None:
    """With their parameters: pytest refuses to collect what there is not."""
    named = {f"{ROOT}/tests/{test}" for mutant in MUTANTS for test in mutant.tests}
    settings = ["-q", "--collect-only", "-p", "no:cacheprovider", "-m", ""]
    command = [sys.executable, "-m", "pytest", *settings, *sorted(named)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_mutant_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(MUTANTS) >= 50


def test_the_tests_of_the_sample_pass_where_nothing_is_wrong() -> None:
    check_sound([BY_NAME[name] for name in SAMPLE])


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_of_the_sample_is_killed(name: str) -> None:
    assert killer(BY_NAME[name])


@pytest.mark.slow
def test_the_tests_of_all_mutants_pass_where_nothing_is_wrong() -> None:
    check_sound(MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_a_mutant_is_killed(name: str) -> None:
    assert killer(BY_NAME[name])
