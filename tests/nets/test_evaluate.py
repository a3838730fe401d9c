"""Networks that answer the host: in few rows where few are asked, and alike in all of them."""

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from kibitz.nets.evaluate import STEPS, NetEvaluator
from kibitz.nets.recording import recording
from kibitz.nets.residual import ResidualConfig, ResidualNet

VIEWS = np.random.default_rng(1).integers(0, 4, (600, 40)).astype(np.float32)


class Watched(ResidualNet):
    """A network that remembers the batches it was asked about."""

    def trimmed(self, views, together=512):
        self.__dict__.setdefault("batches", []).append(views.clone())
        return super().trimmed(views, together)


@pytest.fixture
def evaluator(one_thread):
    return NetEvaluator(Watched(ResidualConfig(view_size=40, actions=7), seed=1))


@pytest.mark.parametrize(
    ("asked", "rows"),
    [(1, [1]), (2, [16]), (16, [16]), (17, [64]), (65, [256]), (257, [256, 1]), (600, [256] * 3)],
)
def test_few_views_are_asked_in_few_rows(evaluator, asked, rows):
    logits, values = evaluator.ask(VIEWS[:asked])
    assert (logits.shape, values.shape) == ((asked, 7), (asked, 2))
    assert [len(batch) for batch in evaluator.net.batches] == rows


def test_an_answer_hardly_depends_on_the_number_of_rows(evaluator):
    together = evaluator.ask(VIEWS)
    for size in (1, 3, 40):
        for first in range(0, 60, size):
            apart = evaluator.ask(VIEWS[first : first + size])
            for ours, theirs in zip(apart, together, strict=True):
                assert np.abs(ours - theirs[first : first + size]).max() < 1e-6


def test_the_rows_that_fill_a_batch_up_are_empty(evaluator):
    """Whatever was asked before in the same room."""
    evaluator.ask(VIEWS[:16])
    evaluator.ask(VIEWS[:3])
    batch = evaluator.net.batches[-1]
    assert torch.equal(batch[:3], torch.tensor(VIEWS[:3]))
    assert not batch[3:].any()


def test_a_gpu_is_always_asked_about_as_many_rows():
    """There the number of rows changes more than the last bits."""
    assert len(STEPS["cuda"]) == 1


class Circle:
    """Something that only the garbage collector frees."""

    def __init__(self):
        self.itself = self


def test_nothing_is_freed_while_a_gpu_records(monkeypatch):
    @contextmanager
    def graph(graph, pool, stream):
        assert earlier() is None, "what was garbage before is gone"
        yield

    monkeypatch.setattr(torch.cuda, "graph", graph)
    earlier = weakref.ref(Circle())
    with recording(None, None):
        during = weakref.ref(Circle())
        filler = [[] for _ in range(100_000)]  # enough for a collection, if there were any
        assert during() is not None and filler
    assert gc.isenabled()
