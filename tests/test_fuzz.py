"""Odd arguments, files and arrays: each is accepted, or refused in one sentence; see `fuzzing`."""

from __future__ import annotations

import pytest
from fuzzing import KINDS, Worker, case_rng

SEED = 1


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("kind", KINDS)
def test_odd_input_is_accepted_or_refused(worker, kind):
    tally = worker.run(kind, SEED, range(KINDS[kind].normal))
    assert not tally.findings, "\n\n".join(["", *tally.findings])
    assert tally.accepted, "nothing valid was among them"
    assert tally.refused or kind == "compiled_code", "nothing odd was among them"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_much_odd_input_is_accepted_or_refused(worker, kind):
    tally = worker.run(kind, SEED, range(KINDS[kind].normal, KINDS[kind].long))
    assert not tally.findings, "\n\n".join(["", *tally.findings])


# The watcher itself ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def watcher():
    with Worker(["fuzz_broken"]) as worker:  # a busy machine needs seconds for a gigabyte
        yield worker


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("traceback", "IndexError: list index out of range"),
        ("wrong", "status 3"),
        ("killed", "it ended with -11"),
        ("ended", "it ended with 0"),
        ("greedy", "it needed 1,"),
    ],
)
def test_a_case_that_ends_as_none_should_is_found(watcher, kind, sentence):
    tally = watcher.run(kind, SEED, range(7, 8))
    assert tally.cases == 1 and sentence in tally.findings[0]
    assert f"--kind {kind} --seed {SEED} --case 7" in tally.findings[0]
    assert watcher.run("fine", SEED, range(3)).accepted == 3, "another worker takes its place"


def test_a_case_without_an_end_is_found():
    with Worker(["fuzz_broken"], silence=6.0) as worker:
        tally = worker.run("endless", SEED, range(7, 8))
    assert tally.cases == 1 and "no answer for 6 s" in tally.findings[0]
    assert f"--kind endless --seed {SEED} --case 7" in tally.findings[0]


def test_a_case_depends_on_its_kind_its_seed_and_its_number_alone():
    drawn = {case_rng(kind, s, k).random() for kind in KINDS for s in (1, 2) for k in range(9)}
    assert len(drawn) == len(KINDS) * 18
    assert case_rng("onnx", 1, 2).random() == case_rng("onnx", 1, 2).random()
