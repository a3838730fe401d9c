"""A network as the model of a latent search: latents stay in its memory, and only rows travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .evaluate import EAGER_ROWS
from .latent import LatentNet, Outlook
from .net import Net
from .recording import recording

UNRECORDED = 3  # first calls: libraries initialise themselves in them
Floats = Tensor | NDArray[np.float32]
"""Tensors on a GPU, arrays on the CPU."""


class LatentModel:
    """Answers a latent search with a network; on a GPU in bfloat16, and nothing leaves the device.

    Every memory has its own latents and its own stream, so lanes of a search can work side by side.
    """

    def __init__(self, net: Net, device: str = "cpu") -> None:
        assert isinstance(net, LatentNet), f"{type(net).__name__} imagines nothing"
        self.device = torch.device(device)
        self.dtype = torch.float32 if device == "cpu" else torch.bfloat16
        self.net: LatentNet = net.to(self.device, self.dtype).eval()
        self.codes = net.config.codes

    def memory(self, size: int, latents: int, view_size: int) -> LatentMemory:
        """Room for so many trees with so many latents each."""
        return LatentMemory(self, size, latents, view_size)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights; recordings stay valid."""
        self.net.load_state_dict(weights)


class LatentMemory:
    """The latents of some trees, and the arrays that a search writes its questions into."""

    def __init__(self, model: LatentModel, size: int, latents: int, view_size: int) -> None:
        self.net, device = model.net, model.device
        self.views = torch.zeros(size, view_size, device=device)
        self.origins, self.actions, self.codes, self.targets = (
            torch.zeros(size, dtype=torch.int64, device=device) for _ in range(4)
        )
        rows = (size * latents + 1, *self.net.latent_shape)
        self.latents = torch.zeros(rows, device=device, dtype=model.dtype)
        self.roots = torch.arange(size, device=device) * latents
        self._before = torch.zeros(size, *rows[1:], device=device, dtype=model.dtype)
        self._after = torch.zeros_like(self._before)
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            torch.cuda.current_stream().synchronize()
            self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._calls: dict[str, int] = {}
        self._recorded: dict[str, tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...]]] = {}

    def stream(self) -> int:
        """The CUDA stream on which it answers."""
        assert self._stream is not None
        return int(self._stream.cuda_stream)

    def begin(self) -> tuple[Floats, Floats]:
        """Logits and values of the views; their latents are the first ones of the trees."""
        logits, values = self._answered("begin", self._begin)
        return logits, values

    def act(self) -> Floats:
        """The odds of the chance codes after the actions."""
        return self._answered("act", self._act)[0]

    def settle(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What follows by the codes: logits, values, turns and ends."""
        logits, values, turns, ends = self._answered("settle", self._settle)
        return logits, values, turns, ends

    def _begin(self) -> tuple[Tensor, ...]:
        latents = self.net.represent(self.views)
        self.latents.index_copy_(0, self.roots, latents)
        outlook = self.net.judge(latents)
        return outlook.policy, self.net.values(outlook.scores)

    def _act(self) -> tuple[Tensor, ...]:
        self._before.copy_(self.latents[self.origins])
        self._after.copy_(self.net.act(self._before, self.actions))
        return (self.net.odds(self._after).softmax(1),)

    def _settle(self) -> tuple[Tensor, ...]:
        if self.net.config.codes == 1:  # nobody has asked for odds
            self._act()
        latents = self.net.settle(self._before, self._after, self.codes)
        self.latents.index_copy_(0, self.targets, latents)
        outlook: Outlook = self.net.judge(latents)
        return outlook.policy, self.net.values(outlook.scores), outlook.turns, outlook.ends

    @torch.inference_mode()
    def _answered(self, name: str, work: Callable[[], tuple[Tensor, ...]]) -> tuple[Floats, ...]:
        if self._stream is None:
            return tuple(tensor.numpy() for tensor in work())
        with torch.cuda.stream(self._stream):
            self._calls[name] = self._calls.get(name, 0) + 1
            if len(self.views) >= EAGER_ROWS or self._calls[name] <= UNRECORDED:
                return work()
            if name not in self._recorded:
                graph = torch.cuda.CUDAGraph()
                with recording(graph, self._stream):
                    answer = work()
                self._recorded[name] = graph, answer
            graph, answer = self._recorded[name]
            graph.replay()
        return answer
