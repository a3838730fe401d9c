"""What a learner remembers, as arrays by name: weights, and what an optimiser knows of them."""

from __future__ import annotations

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
