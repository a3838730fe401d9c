"""Which work is recorded and what is replayed; a GPU that does nothing stands in for a real one."""

from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from kibitz.train import recorded
from kibitz.train.recorded import UNRECORDED, Recorded


class Inner(NamedTuple):
    flags: Tensor


class Given(NamedTuple):
    numbers: Tensor
    inner: Inner


def given(size, value):
    return Given(torch.full((size,), value), Inner(torch.ones(2)))


@pytest.fixture
def pools(monkeypatch):
    """The pools of memory that recordings took."""
    taken, stream = [], SimpleNamespace(wait_stream=lambda other: None)
    standing_in = {
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": lambda stream: nullcontext(),
        "graph_pool_handle": object,
        "CUDAGraph": lambda: SimpleNamespace(replay=lambda: None),
    }
    for name, fake in standing_in.items():
        monkeypatch.setattr(torch.cuda, name, fake)

    def recording(graph, stream, memory):
        taken.append(memory)
        return nullcontext()

    monkeypatch.setattr(recorded, "recording", recording)
    return taken


def test_work_is_recorded_once_per_shape(pools):
    done = Counter()

    def work(given):
        done[len(given.numbers)] += 1
        return {"sum": given.numbers.sum()}

    repeated = Recorded(work)
    for value in range(UNRECORDED):
        for size in (3, 5):
            assert repeated(given(size, float(value)))["sum"] == size * value, "it is just done"
    assert not pools
    for value in (7.0, 8.0, 9.0):
        for size in (5, 3):
            repeated(given(size, value))
    assert done == {3: UNRECORDED + 1, 5: UNRECORDED + 1}
    assert len(pools) == 2 and pools[0] is pools[1], "all recordings share their memory"
    for recording in repeated._recordings.values():
        assert (recording.given.numbers == 9).all(), "what is replayed reads the newest numbers"


def test_a_recording_keeps_copies_of_what_it_was_given(pools):
    repeated = Recorded(lambda given: {"sum": given.numbers.sum()})
    first = given(3, 1.0)
    for _ in range(UNRECORDED + 1):
        repeated(first)
    repeated(given(3, 2.0))
    assert (first.numbers == 1).all()
