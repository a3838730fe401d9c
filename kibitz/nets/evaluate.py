"""A network as an evaluator: views in, priors and values out, without copies."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

Arrays = tuple[Any, Any]
ROWS = 32768  # rows a call on a GPU: attention kernels take fewer than 65,536
ASKED = 512  # rows of every question from the host: an answer does not depend on who else asks
MANY = 8192  # rows from which on launches take longer than it takes to ask for them


class NetEvaluator:
    """Answers a batch of views with a network's logits and values.

    On the CPU every lane of a search calls it from its own thread, so one torch thread each is
    fastest. On a GPU it runs in bfloat16 and everything stays on the device; a network's own fused
    kernels are used where it has them, and where launches are small they are recorded once and
    replayed, for each memory that it lent. Large ones are not: what is recorded leaves less room
    for a search beside it.

    eager: let torch run the network launch by launch instead, to compare with.
    """

    def __init__(self, net: nn.Module, device: str = "cpu", *, eager: bool = False) -> None:
        self.device, self.eager = torch.device(device), eager
        self.kind = torch.float32 if device == "cpu" else torch.bfloat16
        self.net = net.to(self.device, self.kind).eval()
        fuse = getattr(net, "fused", None) if device != "cpu" and not eager else None
        self.fused = fuse() if fuse is not None else None
        self._streams: dict[int, Any] = {}
        self._recorded: dict[int, tuple[Any, Arrays]] = {}
        self._asked: Tensor | None = None

    def room(self, size: int, view_size: int) -> Tensor:
        """Zeros that the search writes views into. float32 [size, view_size]"""
        views = torch.zeros(size, view_size, device=self.device)
        if self.device.type == "cuda":
            torch.cuda.current_stream().synchronize()
            self._recorded.pop(views.data_ptr(), None)  # memory that was lent and given back
            self._streams[views.data_ptr()] = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        return views

    def stream(self, views: Tensor) -> int:
        """The CUDA stream on which these views are answered."""
        return int(self._streams[views.data_ptr()].cuda_stream)

    @torch.inference_mode()
    def ask(self, views: Any) -> Arrays:
        """Logits [n, actions] and values [n, seats] of views in the host's memory, in float32."""
        if self._asked is None:
            self._asked = self.room(ASKED, views.shape[1])
        room, answers = self._asked, []
        # Everything on the one stream: others would neither wait for it nor be waited for.
        with torch.cuda.stream(self._streams[room.data_ptr()]) if room.is_cuda else nullcontext():
            for part in torch.split(torch.tensor(views), ASKED):
                room[: len(part)], room[len(part) :] = part, 0.0
                answer = map(torch.as_tensor, self(room))
                answers.append([rows[: len(part)].float().cpu() for rows in answer])
        logits, values = (torch.cat(parts).numpy() for parts in zip(*answers, strict=True))
        return logits, values

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Go on with other weights; what was recorded stays."""
        self.net.load_state_dict(weights)
        if self.fused is not None:
            self.fused.refresh()

    @torch.inference_mode()
    def __call__(self, views: Tensor) -> Arrays:
        if self.device.type == "cpu":
            logits, values = self.net.trimmed(views)  # type: ignore[operator]
            return logits.numpy(), values.numpy()
        stream = self._streams[views.data_ptr()]
        with torch.cuda.stream(stream):
            if self.eager or (self.fused is None and len(views) >= MANY):
                return self.net.trimmed(views, ROWS)  # type: ignore[no-any-return, operator]
            if views.data_ptr() not in self._recorded:
                self._recorded[views.data_ptr()] = self._record(views, stream)
            graph, answer = self._recorded[views.data_ptr()]
            graph.replay()
        return answer

    def _record(self, views: Tensor, stream: Any) -> tuple[Any, Arrays]:
        """The launches for these views, and where their answer will be."""
        for _ in range(3):  # libraries set themselves up in the first calls
            self._answer(views)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            answer = self._answer(views)
        return graph, answer

    def _answer(self, views: Tensor) -> Arrays:
        net = self.net if self.fused is None else self.fused
        parts = [net(some) for some in torch.split(views, ROWS)]
        logits, values = zip(*parts, strict=True)
        return torch.cat(logits), torch.cat(values)
