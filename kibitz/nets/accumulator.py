"""A small network of values over sparse features, made to be turned into integers.

    features of the seat that looks -> one layer -> clipped to [0, 1]   \\
    features of the other seat      -> the same -> clipped to [0, 1]    > layer -> clipped -> value

A view is one flat row: the features of both seats, 0 or 1 each. `search.accumulator` runs it in
integers and keeps the first layer up to date from move to move.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .bounds import NUMBERS, WIDTH, check_whole
from .net import CACHED, Heads, MarginNet

SPREAD = 0.1  # of the initial weights of the first layer: few features are present at a time


@dataclass(frozen=True)
class AccumulatorConfig:
    """The size of the network."""

    features: int = 148
    """Of one seat."""
    width: int = 128
    """Numbers that stand for one seat."""
    hidden: int = 32
    """Numbers of the layer before the last."""
    actions: int = 259
    """Logits that come out, all equal."""

    def __post_init__(self) -> None:
        check_whole(self, WIDTH // 2, "width")
        check_whole(self, WIDTH, "hidden")
        check_whole(self, NUMBERS // 2, "features")
        check_whole(self, NUMBERS, "actions")

    @property
    def view_size(self) -> int:
        """Numbers of a view."""
        return 2 * self.features

    @property
    def seats(self) -> int:
        """Values that come out: the second is minus the first."""
        return 2


class AccumulatorNet(MarginNet):
    """Values for views, +1 for a certain win of the seat that looks. The seed gives the weights.

    >>> net = AccumulatorNet(AccumulatorConfig())
    >>> logits, values = net(torch.zeros(3, 296))
    >>> logits.shape, values.shape, sum(p.numel() for p in net.parameters())
    (torch.Size([3, 259]), torch.Size([3, 2]), 27329)
    """

    config: AccumulatorConfig
    values_only = True

    def __init__(self, config: AccumulatorConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.columns = nn.Linear(config.features, config.width)
        self.hidden = nn.Linear(2 * config.width, config.hidden)
        self.last = nn.Linear(config.hidden, 1)
        generator = torch.Generator().manual_seed(seed)
        for layer in (self.columns, self.hidden, self.last):
            spread = SPREAD if layer is self.columns else layer.in_features**-0.5
            nn.init.normal_(layer.weight, 0.0, spread, generator)
            nn.init.constant_(layer.bias, 0.0 if layer is self.last else 0.25)

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        seats = views.reshape(-1, 2, self.config.features)
        sums = self.columns(seats).clamp(0.0, 1.0)
        hidden = self.hidden(sums.flatten(1)).clamp(0.0, 1.0)
        values = self.last(hidden).tanh()
        logits = views.new_zeros(views.shape[0], self.config.actions)  # a trace would fix len()
        return logits, torch.cat((values, -values), 1)

    def trimmed(self, views: Tensor, together: int = CACHED) -> tuple[Tensor, Tensor]:
        logits, values = zip(*map(self, torch.split(views, together)), strict=True)
        return torch.cat(logits), torch.cat(values)

    def heads(self, views: Tensor) -> Heads:
        logits, values = self(views)
        return Heads(logits, values, None)
