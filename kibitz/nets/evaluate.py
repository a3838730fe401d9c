"""A network as an evaluator: views in, priors and values out, without copies."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

Arrays = tuple[Any, Any]
ROWS = 32768  # rows a call on a GPU: attention kernels take fewer than 65,536


class NetEvaluator:
    """Answers a batch of views with a network's logits and values.

    On the CPU every lane of a search calls it from its own thread, so one torch thread each is
    fastest. On a GPU it runs in bfloat16, and everything stays on the device.
    """

    def __init__(self, net: nn.Module, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.kind = torch.float32 if device == "cpu" else torch.bfloat16
        self.net = net.to(self.device, self.kind).eval()

    def room(self, size: int, view_size: int) -> torch.Tensor:
        """Zeros that the search writes views into. float32 [size, view_size]"""
        return torch.zeros(size, view_size, device=self.device)

    @torch.inference_mode()
    def __call__(self, views: torch.Tensor) -> Arrays:
        if self.device.type == "cpu":
            logits, values = self.net.trimmed(views)  # type: ignore[operator]
            return logits.numpy(), values.numpy()
        parts = [self.net(some.to(self.kind)) for some in torch.split(views, ROWS)]
        logits = torch.cat([part[0].float() for part in parts])
        values = torch.cat([part[1].float() for part in parts])
        return logits, values
