"""What a learner remembers, as arrays by name, and the kind of learner that most methods are."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn


def arrays_of(parts: Mapping[str, nn.Module | torch.optim.Optimizer]) -> dict[str, Any]:
    """All numbers of networks and optimisers; names begin with the part they belong to."""
    told: dict[str, torch.Tensor] = {}
    for part, holder in parts.items():
        if isinstance(holder, nn.Module):
            told |= {f"{part}.{name}": tensor for name, tensor in holder.state_dict().items()}
            continue
        for number, state in holder.state_dict()["state"].items():
            told |= {f"{part}.{number}.{name}": tensor for name, tensor in state.items()}
    return {name: tensor.detach().cpu().numpy() for name, tensor in told.items()}


def restore(
    parts: Mapping[str, nn.Module | torch.optim.Optimizer], arrays: Mapping[str, Any]
) -> None:
    """The inverse of `arrays_of`."""
    for part, holder in parts.items():
        own = {
            name.removeprefix(f"{part}."): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith(f"{part}.")
        }
        if isinstance(holder, nn.Module):
            holder.load_state_dict(own)
            continue
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in own.items():
            number, what = name.split(".")
            state.setdefault(int(number), {})[what] = tensor
        groups = holder.state_dict()["param_groups"]
        holder.load_state_dict({"state": state, "param_groups": groups})


@torch.no_grad()
def follow(average: nn.Module, net: nn.Module, keep: float, step: int) -> None:
    """Move averaged weights towards those of `net`; the first steps forget the beginning sooner."""
    share = min(keep, (1 + step) / (10 + step))
    torch._foreach_lerp_(list(average.parameters()), list(net.parameters()), 1 - share)


class WeightsAlone:
    """A method whose checkpoint holds all that goes from one iteration to the next."""

    replay: None = None

    def refill(self, iteration: int, positions: int, first: int, stage: Any) -> int:
        """There is nothing to fill."""
        return 0


class Pupil(WeightsAlone):
    """A network that learns by steps, and its moving average, which plays.

    Most methods are one. Nothing else goes from one iteration to the next.
    """

    steepest = 1.0  # longer gradients are cut to this length

    def __init__(self, net: nn.Module, device: str, steps_each: int) -> None:
        """steps_each: steps an iteration."""
        self.net: Any = net.to(device)
        self.average: Any = copy.deepcopy(self.net).eval().requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.net.parameters(), fused=device != "cpu")
        self.step, self.steps_each = 0, steps_each

    def improve(self, error: torch.Tensor, rate: float, keep: float) -> None:
        """One step at this learning rate; the average keeps so much of what it was."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        error.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.steepest)
        self.optimiser.step()
        follow(self.average, self.net, keep, self.step)
        self.step += 1

    def falling(self, iterations: int) -> float:
        """From 1 to 0 along half a wave, over a run of so many iterations."""
        done = self.step / (iterations * self.steps_each)
        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))

    def accept(self, best: nn.Module) -> None:
        """The newest weights play, whatever the gate says."""

    def arrays(self) -> dict[str, Any]:
        return arrays_of(self._parts())

    def restore(self, arrays: dict[str, Any], iteration: int) -> None:
        restore(self._parts(), arrays)
        self.step = iteration * self.steps_each

    def _parts(self) -> dict[str, Any]:
        return {"net": self.net, "average": self.average, "optimiser": self.optimiser}
