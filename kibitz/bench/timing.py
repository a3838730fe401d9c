"""How work is timed: machines are noisy, and everything that disturbs makes it slower."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

SECONDS = 0.4  # a measurement's length
REPEATS = 5  # the best of these counts


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best_of(work: Callable[[], object], device: Any, times: int = 3) -> float:
    (took,) = in_turns([work], device, times)
    return took


def in_turns(
    works: Sequence[Callable[[], object]], device: Any, times: int = REPEATS
) -> list[float]:
    """The least seconds of each: what disturbs for a while disturbs them all."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(1 + times):  # the first time is for setting up
        for work, each in zip(works, took, strict=True):
            began = time.perf_counter()
            work()
            device.synchronize()
            each.append(time.perf_counter() - began)
    return [min(each[1:]) for each in took]
