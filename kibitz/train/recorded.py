"""Work on a GPU that is recorded once and then replayed.

A step of learning is hundreds of small launches. Python needs several times as long to launch them
one by one as the GPU needs to run them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from ..nets.recording import recording

UNRECORDED = 3  # first calls: libraries initialise themselves in them

Given = TypeVar("Given", bound=NamedTuple)
Work = Callable[[Given], dict[str, Tensor]]
Shapes = tuple[torch.Size, ...]


class Recording(NamedTuple):
    """The work on tensors of some shapes."""

    graph: torch.cuda.CUDAGraph
    given: Any  # copied to before every replay
    answer: dict[str, Tensor]


class Recorded(Generic[Given]):
    """Does the same work again and again, on tensors of a few shapes.

    What it returns lies in the same memory every time. Recordings share the rest of their memory,
    so what the work leaves elsewhere must be in tensors that were there before.
    """

    def __init__(self, work: Work[Given]) -> None:
        self.work = work
        self.calls: Counter[Shapes] = Counter()
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.memory = torch.cuda.graph_pool_handle()
        self._recordings: dict[Shapes, Recording] = {}

    def __call__(self, given: Given) -> dict[str, Tensor]:
        shapes = tuple(tensor.shape for tensor in tensors_in(given))
        self.calls[shapes] += 1
        if self.calls[shapes] <= UNRECORDED:
            return self._unrecorded(given)
        if shapes not in self._recordings:
            self._recordings[shapes] = self._record(given)
        recorded = self._recordings[shapes]
        for own, tensor in zip(tensors_in(recorded.given), tensors_in(given), strict=True):
            own.copy_(tensor)
        recorded.graph.replay()
        return recorded.answer

    def _unrecorded(self, given: Given) -> dict[str, Tensor]:
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            answer = self.work(given)
        current.wait_stream(self.stream)
        return answer

    def _record(self, given: Given) -> Recording:
        given, graph = cloned(given), torch.cuda.CUDAGraph()
        with recording(graph, self.stream, self.memory):
            answer = self.work(given)
        return Recording(graph, given, answer)


def tensors_in(given: Any) -> Iterator[Tensor]:
    """The tensors of a named tuple, also of those in it."""
    for part in given:
        if isinstance(part, Tensor):
            yield part
        else:
            yield from tensors_in(part)


def cloned(given: Any) -> Any:
    """A named tuple of the same shape, with copies of all tensors."""
    return type(given)(*(p.clone() if isinstance(p, Tensor) else cloned(p) for p in given))
