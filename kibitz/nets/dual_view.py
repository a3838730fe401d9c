"""A network of values that sees a board of 6 x 6 cells through the eyes of both sides (BandDPER).

    planes of the side to move -> encoder -> embedding   \\
    planes of the other side   -> the same -> embedding   > residual blocks -> raw value -> tanh
    two numbers (escapes)                                /
    forced pass: its weight is added to the raw value

A view is one flat row of numbers: 16 planes of the side to move, 16 of the other side, the escapes
of both, and 1 for a forced pass. What the planes mean is named by `encoding`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ..records import DEFAULT_VIEW
from .bounds import (
    LAYERS,
    NUMBERS,
    WIDTH,
    check_flags,
    check_share,
    check_whole,
    field_error,
)
from .net import CACHED, Heads, MarginNet

PLANES, SIDE = 16, 6
ESCAPES = 2
PERSPECTIVE = PLANES * SIDE * SIDE
HIDDEN = (32, 64)  # channels of the two convolutions
HEAD = 64
GAIN = 0.5  # of the initial weights
EPSILON, MOMENTUM = 1e-5, 0.1  # of batch normalisation
ENCODINGS = ("banddper-16-empty", "banddper-16-reach")  # the first is the default


@dataclass(frozen=True)
class DualViewConfig:
    """What the planes mean, and the size of the network."""

    encoding: str = ENCODINGS[0]
    """The meaning of the planes: a network cannot read another encoding."""
    blocks: int = 3
    """Residual blocks."""
    embedding: int = 128
    """Numbers that stand for one perspective."""
    inner: str = "relu"
    """Activation between the two layers of a block: `relu`, or `clipped` to 0 .. 1."""
    dropout: float = 0.0
    """Share of the activations of blocks and head that training drops."""
    policy: bool = False
    """Whether it learns logits, too. Without them all actions are equally likely."""
    actions: int = 259
    """Logits that come out."""
    folded: bool = False
    """Whether batch normalisation is part of the weights: to play, not to learn."""

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise field_error(self, "encoding", f"one of {', '.join(ENCODINGS)}")
        if self.inner not in ("relu", "clipped"):
            raise field_error(self, "inner", "relu or clipped")
        check_whole(self, LAYERS, "blocks", least=0)
        check_whole(self, WIDTH // 2 - 1, "embedding")
        check_whole(self, NUMBERS, "actions")
        check_share(self, "dropout")
        check_flags(self, "policy", "folded")

    @property
    def width(self) -> int:
        """Numbers that go through the residual blocks."""
        return 2 * self.embedding + ESCAPES

    @property
    def view_size(self) -> int:
        """Numbers of a view."""
        return 2 * PERSPECTIVE + ESCAPES + 1

    @property
    def seats(self) -> int:
        """Values that come out: the second is minus the first."""
        return 2


class DualViewNet(MarginNet):
    """Values for views, +1 for a certain win of the seat that looks. The seed gives the weights.

    >>> net = DualViewNet(DualViewConfig()).eval()
    >>> logits, values = net(torch.zeros(3, 1155))
    >>> logits.shape, values.shape, sum(p.numel() for p in net.parameters())
    (torch.Size([3, 259]), torch.Size([3, 2]), 739294)
    """

    config: DualViewConfig

    def __init__(self, config: DualViewConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.blocks))
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Linear(config.width, HEAD)
        self.value = nn.Linear(HEAD, 1)
        self.forced_pass = nn.Parameter(torch.zeros(()))
        self.policy = nn.Linear(config.width, config.actions) if config.policy else None
        self.values_only = not config.policy
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        trunk = self.trunk(views)
        values = self._raw(trunk, views).tanh().unsqueeze(1)
        return self._logits(trunk), torch.cat((values, -values), 1)

    def trimmed(self, views: Tensor, together: int = CACHED) -> tuple[Tensor, Tensor]:
        logits, values = zip(*map(self, torch.split(views, together)), strict=True)
        return torch.cat(logits), torch.cat(values)

    def heads(self, views: Tensor) -> Heads:
        logits, values = self(views)
        return Heads(logits, values, None)

    def raw(self, views: Tensor) -> Tensor:
        """The value of the seat that looks before tanh: what its weight files test. [batch]"""
        return self._raw(self.trunk(views), views)

    def trunk(self, views: Tensor) -> Tensor:
        """What the heads read. [batch, width]"""
        views = views.to(self.hidden.weight.dtype)
        planes = views[:, : 2 * PERSPECTIVE].reshape(-1, PLANES, SIDE, SIDE)
        seen = self.encoder(planes).reshape(views.shape[0], -1)  # a trace would fix len()
        x = torch.cat((seen, views[:, 2 * PERSPECTIVE : -1]), 1)
        for block in self.blocks:
            x = block(x)
        return x

    def _raw(self, trunk: Tensor, views: Tensor) -> Tensor:
        hidden = functional.relu(self.hidden(self.dropout(trunk)))
        raw: Tensor = self.value(hidden).squeeze(1) + self.forced_pass * views[:, -1]
        return raw.float()

    def _logits(self, trunk: Tensor) -> Tensor:
        if self.policy is None:
            return trunk.new_zeros(trunk.shape[0], self.config.actions, dtype=torch.float32)
        logits: Tensor = self.policy(trunk).float()
        return logits

    @torch.no_grad()
    def folded(self) -> DualViewNet:
        """The same network with batch normalisation folded into the layers before it."""
        config = replace(self.config, folded=True, dropout=0.0)
        device, dtype = self.hidden.weight.device, self.hidden.weight.dtype
        plain = DualViewNet(config).to(device, dtype).eval()
        plain.load_state_dict(self.state_dict(), strict=False)
        if not self.config.folded:
            for (layer, norm), (to, _) in zip(normed(self), normed(plain), strict=True):
                assert isinstance(norm, Norm) and to.bias is not None
                weight, bias = folded_layer(layer, norm)
                to.weight.copy_(weight)
                to.bias.copy_(bias)
        return plain


def encoding_of(view: str) -> str:
    """The encoding that a game's view of this name has: the default view has the first one."""
    return ENCODINGS[0] if view == DEFAULT_VIEW else view


def view_of(encoding: str) -> str:
    """The inverse of `encoding_of`."""
    return DEFAULT_VIEW if encoding == ENCODINGS[0] else encoding


Layer = nn.Conv2d | nn.Linear
Tensors = dict[str, NDArray[np.float32]]
"""The weights of a folded network by their names in files."""


class Encoder(nn.Module):
    """One perspective: two convolutions, the second one dilated, and a layer over all cells."""

    def __init__(self, config: DualViewConfig) -> None:
        super().__init__()
        first, second = HIDDEN
        self.near = nn.Conv2d(PLANES, first, 3, padding=1)
        self.near_norm = norm_of(first, config)
        self.far = nn.Conv2d(first, second, 3, padding=2, dilation=2)
        self.far_norm = norm_of(second, config)
        self.project = nn.Linear(second * SIDE * SIDE, config.embedding)
        self.project_norm = norm_of(config.embedding, config)

    def forward(self, planes: Tensor) -> Tensor:
        x = functional.relu(self.near_norm(self.near(planes)))
        x = functional.relu(self.far_norm(self.far(x)))
        return clipped(self.project_norm(self.project(x.flatten(1))))


class Block(nn.Module):
    """Two layers beside a shortcut; what comes out is clipped to 0 .. 1.

    Dropout follows normalisation: before it, it would change the variance that is measured.
    """

    def __init__(self, config: DualViewConfig) -> None:
        super().__init__()
        self.clips = config.inner == "clipped"
        self.first = nn.Linear(config.width, config.width)
        self.first_norm = norm_of(config.width, config)
        self.second = nn.Linear(config.width, config.width)
        self.second_norm = norm_of(config.width, config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first_norm(self.first(x))
        hidden = self.dropout(clipped(hidden) if self.clips else functional.relu(hidden))
        return clipped(x + self.dropout(self.second_norm(self.second(hidden))))


def clipped(x: Tensor) -> Tensor:
    return x.clamp(0.0, 1.0)


class Norm(nn.Module):
    """Batch normalisation over any further axes.

    torch's own counts batches in an integer, which a file of weights cannot hold.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        statistics = self.running_mean, self.running_var, self.weight, self.bias
        return functional.batch_norm(x, *statistics, self.training, MOMENTUM, EPSILON)


def norm_of(channels: int, config: DualViewConfig) -> nn.Module:
    return nn.Identity() if config.folded else Norm(channels)


def normed(net: DualViewNet) -> Iterator[tuple[Layer, nn.Module]]:
    """Every layer that is normalised, with its normalisation."""
    encoder = net.encoder
    yield encoder.near, encoder.near_norm
    yield encoder.far, encoder.far_norm
    yield encoder.project, encoder.project_norm
    for block in net.blocks:
        assert isinstance(block, Block)
        yield block.first, block.first_norm
        yield block.second, block.second_norm


def folded_layer(layer: Layer, norm: Norm) -> tuple[Tensor, Tensor]:
    """Weight and bias of a layer that does what `layer` and `norm` do, computed in float64."""
    assert layer.bias is not None
    scale = norm.weight.double() / (norm.running_var.double() + EPSILON).sqrt()
    weight = layer.weight.double() * scale.reshape(-1, *[1] * (layer.weight.ndim - 1))
    bias = scale * (layer.bias.double() - norm.running_mean.double()) + norm.bias.double()
    return weight.to(layer.weight.dtype), bias.to(layer.bias.dtype)


def initialise(net: nn.Module, generator: torch.Generator) -> None:
    """Xavier-uniform weights with half the usual spread, and zero biases; norms stay as built."""
    for part in net.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(part.weight, GAIN, generator)
            assert part.bias is not None
            nn.init.zeros_(part.bias)


# Weights by the names that files have for them --------------------------------------------------


def state_names(blocks: int) -> dict[str, str]:
    """By name in a file, the name in the network, in the order of the files."""
    layers = {"enc_conv1": "encoder.near", "enc_conv2": "encoder.far"}
    layers["enc_proj"] = "encoder.project"
    for block in range(blocks):
        layers[f"res{block}_l1"] = f"blocks.{block}.first"
        layers[f"res{block}_l2"] = f"blocks.{block}.second"
    layers |= {"out1": "hidden", "out2": "value"}
    names: dict[str, str] = {}
    for there, here in layers.items():
        names |= {f"{there}_w": f"{here}.weight", f"{there}_b": f"{here}.bias"}
    return names | {"w_forced_pass": "forced_pass"}


def tensors_of(net: DualViewNet) -> Tensors:
    """The weights of a network, folded and in float32, by their names in files."""
    weights = net.folded().state_dict()
    names = state_names(net.config.blocks)
    return {there: weights[here].float().cpu().numpy() for there, here in names.items()}
