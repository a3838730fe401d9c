"""A network for any view: dense layers beside shortcuts, over one flat row of numbers.

view -> logarithms -> one layer -> residual blocks -> norm -> logits
                                                            -> a value per seat
                                                            -> margin
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from .bounds import LAYERS, NUMBERS, WIDTH, check_flags, check_positive, check_whole
from .net import Heads, MarginNet

TOGETHER = 512  # views at a time on a CPU: the layers are small, so calling them is the cost
HEAD = 64  # numbers between the last block and values and margin
MOST_SEATS = 64


@dataclass(frozen=True)
class ResidualConfig:
    """The sizes of a game, and of its network."""

    view_size: int
    actions: int
    """Logits that come out."""
    seats: int = 2
    """Values that come out: the seat that looks first, then in turn order."""
    width: int = 128
    """Numbers that go through the blocks."""
    blocks: int = 3
    """Residual blocks."""
    largest_score: float = 1.0
    """Values are within this."""
    zero_sum: bool = True
    """Whether the values sum to 0."""

    def __post_init__(self) -> None:
        check_whole(self, NUMBERS, "view_size", "actions")
        check_whole(self, MOST_SEATS, "seats")
        check_whole(self, WIDTH, "width")
        check_whole(self, LAYERS, "blocks", least=0)
        check_positive(self, "largest_score")
        check_flags(self, "zero_sum")


def suited_width(view_size: int) -> int:
    """A power of two from 64 to 256: about twice the numbers of a small view.

    Fewer could not tell the numbers of a view apart; more take two cores longer than they are worth
    within minutes.
    """
    return min(256, max(64, 1 << (view_size - 1).bit_length()))


class ResidualNet(MarginNet):
    """Logits and values for views. The same seed gives the same weights.

    >>> net = ResidualNet(ResidualConfig(view_size=40, actions=7, seats=3)).eval()
    >>> logits, values = net(torch.zeros(5, 40))
    >>> logits.shape, values.shape
    (torch.Size([5, 7]), torch.Size([5, 3]))
    """

    config: ResidualConfig

    def __init__(self, config: ResidualConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.inputs = nn.Linear(config.view_size, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(config.blocks))
        self.norm = nn.LayerNorm(width)
        self.policy = nn.Linear(width, config.actions)
        self.hidden = nn.Linear(width, HEAD)
        self.value = nn.Linear(HEAD, config.seats)
        self.margin = nn.Linear(HEAD, 1)
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        heads = self.heads(views)
        return heads.policy, heads.value

    def trimmed(self, views: Tensor, together: int = TOGETHER) -> tuple[Tensor, Tensor]:
        logits, values = zip(*map(self, torch.split(views, together)), strict=True)
        return torch.cat(logits), torch.cat(values)

    def heads(self, views: Tensor) -> Heads:
        # A view may hold counts as they are: logarithms keep hundreds from drowning out ones.
        x = self.inputs((views.sign() * views.abs().log1p()).to(self.inputs.weight.dtype))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        hidden = functional.relu(self.hidden(x))
        values = self.value(hidden).float().tanh() * self.config.largest_score
        if self.config.zero_sum:
            values = values - values.mean(1, keepdim=True)
        margin = self.margin(hidden).float().tanh().squeeze(1)
        return Heads(self.policy(x).float(), values, margin)


class Block(nn.Module):
    """A norm and two layers beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.narrow(functional.relu(self.widen(self.norm(x))))
        return out


def initialise(net: ResidualNet, generator: torch.Generator) -> None:
    """He's weights and zero biases. Heads and blocks begin small: nothing is certain at first."""
    small = {net.policy, net.value, net.margin}
    small |= {part.narrow for part in net.modules() if isinstance(part, Block)}
    for part in net.modules():
        if isinstance(part, nn.Linear):
            spread = (2 / part.in_features) ** 0.5 * (0.1 if part in small else 1.0)
            nn.init.normal_(part.weight, 0.0, spread, generator)
            nn.init.zeros_(part.bias)
