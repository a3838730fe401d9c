"""A network as an evaluator: views in, priors and values out, without copies."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .net import Net, PolicyNet
from .recording import recording

Floats = NDArray[np.float32]
Answer = tuple[Tensor, Tensor] | tuple[Floats, Floats]
"""Logits and values: tensors on a GPU, arrays on the CPU."""

ROWS = 32768  # rows per call on a GPU: attention kernels take fewer than 65,536
# Rows per call of `ask`, filled up with zeros. On a CPU their number changes the last bits of an
# answer only below 16 rows (measured): one table is fast, and several are answered alike however
# many they are. In bfloat16 it changes more, and on a GPU 512 rows take hardly longer than one.
STEPS = {"cpu": (1, 16, 64, 256), "cuda": (512,)}
EAGER_ROWS = 8192  # from so many rows on, running a kernel takes longer than launching it


class NetEvaluator:
    """Answers a batch of views with a network's logits and values.

    On the CPU every lane of a search calls it from its own thread, so one torch thread per call is
    fastest. On a GPU it runs in bfloat16 and everything stays on the device; a network's own fused
    kernels are used if it has any. Small launches are recorded once per lent buffer and then
    replayed. Large ones are not: a recording takes memory that the search needs.

    eager: let torch run the network launch by launch instead, to compare with.
    """

    def __init__(self, net: Net, device: str = "cpu", *, eager: bool = False) -> None:
        assert isinstance(net, PolicyNet), f"{type(net).__name__} cannot guide a search"
        self.device, self.eager = torch.device(device), eager
        self.dtype = torch.float32 if device == "cpu" else torch.bfloat16
        self.net = net.to(self.device, self.dtype).eval()
        self.fused = net.fused() if device != "cpu" and not eager else None
        self._streams: dict[int, torch.cuda.Stream] = {}
        self._recorded: dict[int, tuple[torch.cuda.CUDAGraph, tuple[Tensor, Tensor]]] = {}
        self._host_rooms: dict[int, Tensor] = {}

    def room(self, size: int, view_size: int) -> Tensor:
        """Zeros that the search writes views into. float32 [size, view_size]"""
        views = torch.zeros(size, view_size, device=self.device)
        if self.device.type == "cuda":
            torch.cuda.current_stream().synchronize()
            self._recorded.pop(views.data_ptr(), None)  # an earlier buffer at the same address
            self._streams[views.data_ptr()] = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        return views

    def stream(self, views: Tensor) -> int:
        """The CUDA stream on which these views are answered."""
        return int(self._streams[views.data_ptr()].cuda_stream)

    @torch.inference_mode()
    def ask(self, views: Floats) -> tuple[Floats, Floats]:
        """Logits [n, actions] and values [n, seats] of views in the host's memory, in float32."""
        parts = torch.split(torch.tensor(views), STEPS[self.device.type][-1])
        logits, values = zip(*map(self._ask, parts), strict=True)
        return torch.cat(logits).numpy(), torch.cat(values).numpy()

    def _ask(self, part: Tensor) -> tuple[Tensor, Tensor]:
        """The same for no more views than the largest step."""
        size = next(step for step in STEPS[self.device.type] if step >= len(part))
        if size not in self._host_rooms:
            self._host_rooms[size] = self.room(size, part.shape[1])
        room = self._host_rooms[size]
        # Everything runs on this one stream: other streams would not wait for it, nor it for them.
        with torch.cuda.stream(self._streams[room.data_ptr()]) if room.is_cuda else nullcontext():
            room[: len(part)], room[len(part) :] = part, 0.0
            logits, values = (torch.as_tensor(rows)[: len(part)] for rows in self(room))
            return logits.float().cpu(), values.float().cpu()

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights; recordings stay valid."""
        self.net.load_state_dict(weights)
        if self.fused is not None:
            self.fused.refresh()
        if self.device.type == "cuda":
            # Views are answered on streams that do not wait for this one.
            torch.cuda.current_stream().synchronize()

    @torch.inference_mode()
    def __call__(self, views: Tensor) -> Answer:
        if self.device.type == "cpu":
            logits, values = self.net.trimmed(views)
            return logits.numpy(), values.numpy()
        stream = self._streams[views.data_ptr()]
        with torch.cuda.stream(stream):
            if self.eager or (self.fused is None and len(views) >= EAGER_ROWS):
                return self.net.trimmed(views, ROWS)
            if views.data_ptr() not in self._recorded:
                self._recorded[views.data_ptr()] = self._record(views, stream)
            graph, answer = self._recorded[views.data_ptr()]
            graph.replay()
        return answer

    def _record(
        self, views: Tensor, stream: torch.cuda.Stream
    ) -> tuple[torch.cuda.CUDAGraph, tuple[Tensor, Tensor]]:
        """The launches for these views, and where their answer will be."""
        for _ in range(3):  # libraries initialise themselves in the first calls
            self._answer(views)
        graph = torch.cuda.CUDAGraph()
        with recording(graph, stream):
            answer = self._answer(views)
        return graph, answer

    def _answer(self, views: Tensor) -> tuple[Tensor, Tensor]:
        net = self.net if self.fused is None else self.fused
        parts = [net(part) for part in torch.split(views, ROWS)]
        if len(parts) == 1:  # a copy of all logits would take as long as writing them
            return parts[0]
        logits, values = zip(*parts, strict=True)
        return torch.cat(logits), torch.cat(values)
