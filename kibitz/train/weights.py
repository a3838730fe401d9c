"""The numbers of networks and optimisers as arrays by name, and the base of most methods."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..nets import Net
from .folder import Arrays

if TYPE_CHECKING:
    from .method import Stage

Holders = Mapping[str, nn.Module | torch.optim.Optimizer]
"""What a checkpoint keeps, by the first part of its arrays' names."""

AnyNet = TypeVar("AnyNet", bound=Net)


def arrays_of(holders: Holders) -> Arrays:
    """All numbers of networks and optimisers, by name."""
    tensors: dict[str, Tensor] = {}
    for prefix, holder in holders.items():
        if isinstance(holder, nn.Module):
            tensors |= {f"{prefix}.{name}": tensor for name, tensor in holder.state_dict().items()}
            continue
        for number, state in holder.state_dict()["state"].items():
            tensors |= {f"{prefix}.{number}.{name}": tensor for name, tensor in state.items()}
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def restore(holders: Holders, arrays: Arrays) -> None:
    """The inverse of `arrays_of`."""
    for prefix, holder in holders.items():
        own = {
            name.removeprefix(f"{prefix}."): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith(f"{prefix}.")
        }
        if isinstance(holder, nn.Module):
            holder.load_state_dict(own)
            continue
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in own.items():
            number, key = name.split(".")
            state.setdefault(int(number), {})[key] = tensor
        groups = holder.state_dict()["param_groups"]
        holder.load_state_dict({"state": state, "param_groups": groups})


@dataclass(frozen=True)
class Carried:
    """What of a network's weights fits another: tensors whose names and shapes agree."""

    weights: dict[str, Tensor]
    left: dict[str, list[str]]
    """The names of all others, by why they were not carried."""

    @property
    def sentence(self) -> str:
        """What was carried, and what was not."""
        reasons = [f"{why}: {', '.join(names)}" for why, names in self.left.items() if names]
        return "; ".join([f"{len(self.weights)} tensors were carried", *reasons])


def carried(net: nn.Module, into: nn.Module) -> Carried:
    """The weights of `net` that have a place in `into`."""
    source, target = net.state_dict(), into.state_dict()
    both = [name for name in target if name in source]
    fits = {name: source[name] for name in both if source[name].shape == target[name].shape}
    left = {
        "of another shape": [name for name in both if name not in fits],
        "new": [name for name in target if name not in source],
        "not used": [name for name in source if name not in target],
    }
    return Carried(fits, left)


@torch.no_grad()
def update_average(average: nn.Module, net: nn.Module, decay: float, step: int) -> None:
    """Move averaged weights towards those of `net`; early steps forget the beginning sooner.

    The statistics of batch normalisation are averaged, too: they belong to the weights.
    """
    kept = min(decay, (1 + step) / (10 + step))
    torch._foreach_lerp_(_numbers(average), _numbers(net), 1 - kept)


def _numbers(net: nn.Module) -> list[Tensor]:
    statistics = [buffer for buffer in net.buffers() if buffer.is_floating_point()]
    return [*net.parameters(), *statistics]


def set_learning_rate(optimiser: torch.optim.Optimizer, learning_rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = learning_rate


class WithoutReplay:
    """A method that keeps no positions: its checkpoint has everything that it needs."""

    replay: None = None

    def refill(self, iteration: int, positions: int, first: int, stage: Stage) -> int:
        """There is nothing to fill."""
        return 0


class AveragingMethod(WithoutReplay, Generic[AnyNet]):
    """A network that learns by steps, and its moving average, which plays.

    Nothing else is kept from one iteration to the next.
    """

    gradient_clip = 1.0  # the longest gradient

    def __init__(self, net: AnyNet, device: str, steps_per_iteration: int) -> None:
        self.net = net.to(device)
        self.average = copy.deepcopy(self.net).eval().requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.net.parameters(), fused=device != "cpu")
        self.step, self.steps_per_iteration = 0, steps_per_iteration

    def improve(self, loss: Tensor, learning_rate: float, average_decay: float) -> None:
        """Take one step, and update the average."""
        self.leave_gradients(loss)
        self.take_step(learning_rate, average_decay)

    def leave_gradients(self, loss: Tensor) -> None:
        """Leave the clipped gradients in the network."""
        self.optimiser.zero_grad(set_to_none=False)  # they stay where they are
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), self.gradient_clip)

    def take_step(self, learning_rate: float, average_decay: float) -> None:
        """Take a step along the gradients, and update the average."""
        set_learning_rate(self.optimiser, learning_rate)
        self.optimiser.step()
        update_average(self.average, self.net, average_decay, self.step)
        self.step += 1

    def cosine(self, iterations: int) -> float:
        """A factor that falls from 1 to 0 along a cosine, over a run of so many iterations."""
        done = self.step / (iterations * self.steps_per_iteration)
        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))

    def accept(self, best: nn.Module) -> None:
        """Self-play always uses the newest weights, whatever the gate says."""

    def arrays(self) -> Arrays:
        return arrays_of(self._holders())

    def restore(self, arrays: Arrays, iteration: int) -> None:
        restore(self._holders(), arrays)
        self.step = iteration * self.steps_per_iteration

    def _holders(self) -> Holders:
        return {"net": self.net, "average": self.average, "optimiser": self.optimiser}
