"""Timing work: machines are noisy, and every disturbance makes work slower, so the best counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ..devices import Device

SECONDS = 0.4  # length of a measurement
REPEATS = 5  # the best of these counts


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best_of(work: Callable[[], object], device: Device, times: int = 3) -> float:
    (took,) = in_turns([work], device, times)
    return took


def in_turns(
    works: Sequence[Callable[[], object]], device: Device, times: int = REPEATS
) -> list[float]:
    """The fewest seconds of each work."""
    return [min(took) for took in all_turns(works, device, times)]


def all_turns(
    works: Sequence[Callable[[], object]], device: Device, times: int
) -> list[list[float]]:
    """All seconds of each work. They take turns, so that a disturbance meets all of them."""
    took: list[list[float]] = [[] for _ in works]
    for _ in range(1 + times):  # the first time includes compilation
        for work, times_taken in zip(works, took, strict=True):
            began = time.perf_counter()
            work()
            device.synchronize()
            times_taken.append(time.perf_counter() - began)
    return [times_taken[1:] for times_taken in took]
