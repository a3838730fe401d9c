"""Compiled inference of networks with two perspectives beside torch, on one core."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..devices import device_named
from ..search.dual_view import VIEW_SIZE, pack, values
from .timing import all_turns

if TYPE_CHECKING:
    from ..nets.dual_view import DualViewNet

Floats = NDArray[np.float32]

BATCHES = (1, 16)
TURNS = 100  # short ones: a busy machine disturbs few of them, and the median none
POSITIONS = 64  # per turn: at its beginning the weights must come from memory


@dataclass(frozen=True)
class CompiledBench:
    """Microseconds per position of an untrained network, by size of the batch: medians."""

    parameters: int
    compiled_us: dict[int, float]
    torch_us: dict[int, float]
    """Folded, one thread, in inference mode."""
    ratio: dict[int, float]
    """Time of compiled inference per time of torch."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def bench_compiled_net() -> CompiledBench:
    """Measure both in turns, with the threads that torch has. Weights do not change the speed."""
    from ..nets.dual_view import DualViewConfig, DualViewNet, tensors_of

    net = DualViewNet(DualViewConfig()).eval()
    folded, weights = net.folded(), pack(tensors_of(net))
    rng = np.random.default_rng(1)
    views = [rng.random((size, VIEW_SIZE), np.float32) for size in BATCHES]
    works = [partial(_turn, partial(values, weights), batch) for batch in views]
    works += [partial(_turn, partial(_torch_values, folded), batch) for batch in views]
    taken = all_turns(works, device_named("cpu"), TURNS)
    us = [1e6 * statistics.median(took) / POSITIONS for took in taken]
    compiled = dict(zip(BATCHES, us, strict=False))
    plain = dict(zip(BATCHES, us[len(BATCHES) :], strict=True))
    return CompiledBench(
        parameters=sum(part.numel() for part in net.parameters()),
        compiled_us=compiled,
        torch_us=plain,
        ratio={size: compiled[size] / plain[size] for size in BATCHES},
    )


def _turn(evaluate: Callable[[Floats], Floats], views: Floats) -> None:
    for _ in range(POSITIONS // len(views)):
        evaluate(views)


def _torch_values(net: DualViewNet, views: Floats) -> Floats:
    import torch

    with torch.inference_mode():
        answers: Floats = net.raw(torch.from_numpy(views)).tanh().numpy()
    return answers
