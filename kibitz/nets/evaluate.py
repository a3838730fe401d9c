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
    fastest. On a GPU it runs in bfloat16, everything stays on the device, and the many small
    launches of a network are recorded once and replayed, for each memory that it lent.
    """

    def __init__(self, net: nn.Module, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.kind = torch.float32 if device == "cpu" else torch.bfloat16
        self.net = net.to(self.device, self.kind).eval()
        self._recorded: dict[tuple[int, int], tuple[Any, Arrays]] = {}

    def room(self, size: int, view_size: int) -> torch.Tensor:
        """Zeros that the search writes views into. float32 [size, view_size]"""
        return torch.zeros(size, view_size, device=self.device)

    @torch.inference_mode()
    def __call__(self, views: torch.Tensor) -> Arrays:
        if self.device.type == "cpu":
            logits, values = self.net.trimmed(views)  # type: ignore[operator]
            return logits.numpy(), values.numpy()
        key = (views.data_ptr(), len(views))
        if key not in self._recorded:
            self._recorded[key] = self._record(views)
        graph, answer = self._recorded[key]
        graph.replay()
        return answer

    def _record(self, views: torch.Tensor) -> tuple[Any, Arrays]:
        """The launches for these views, and where their answer will be."""
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):  # libraries set themselves up in the first calls
                self._answer(views)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = self._answer(views)
        return graph, answer

    def _answer(self, views: torch.Tensor) -> Arrays:
        parts = [self.net(some.to(self.kind)) for some in torch.split(views, ROWS)]
        logits, values = zip(*parts, strict=True)
        return torch.cat(logits), torch.cat(values)
