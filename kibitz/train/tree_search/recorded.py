"""Work on a GPU that is recorded once and then replayed.

A step of learning is hundreds of small launches. Python needs several times as long to launch them
one by one as the GPU needs to run them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from ...nets.recording import recording

UNRECORDED = 3  # first calls: libraries initialise themselves in them

Given = TypeVar("Given", bound=NamedTuple)
Work = Callable[[Given], dict[str, Tensor]]


class Recorded(Generic[Given]):
    """Does the same work again and again, on tensors of the same shapes.

    What it leaves and returns lies in the same memory every time.
    """

    def __init__(self, work: Work[Given]) -> None:
        self.work, self.calls = work, 0
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, given: Given) -> dict[str, Tensor]:
        self.calls += 1
        if self.calls <= UNRECORDED:
            return self._unrecorded(given)
        if self._graph is None:
            self._record(given)
        assert self._graph is not None
        for own, tensor in zip(tensors_in(self._given), tensors_in(given), strict=True):
            own.copy_(tensor)
        self._graph.replay()
        return self._answer

    def _unrecorded(self, given: Given) -> dict[str, Tensor]:
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            answer = self.work(given)
        current.wait_stream(self.stream)
        return answer

    def _record(self, given: Given) -> None:
        self._given = cloned(given)
        graph = torch.cuda.CUDAGraph()
        with recording(graph, self.stream):
            self._answer = self.work(self._given)
        self._graph = graph


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
