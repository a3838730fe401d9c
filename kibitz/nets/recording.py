"""Recording the launches of a GPU, to be replayed together later."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def recording(
    graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream, memory: Any = None
) -> Iterator[None]:
    """Record what is launched, while Python collects no garbage.

    CUDA cannot free memory in a recording, and arrays of earlier searches may be waiting for that.

    memory: a pool that it shares with other recordings, if no two are ever replayed at a time.
    """
    gc.collect()
    collects = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(graph, pool=memory, stream=stream):
            yield
    finally:
        if collects:
            gc.enable()
