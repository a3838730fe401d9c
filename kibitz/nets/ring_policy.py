"""A network for a board that is a ring, which plays and guides a search of true positions.

rows of cells -> convolutions round the ring -> the cells that single pins stand on ┐
                                             -> mean and most over the ring         ├-> logits,
lanes and numbers -> one vector, which every cell gets, too ------------------------┘   values

What may hit a pin, and what it may hit, is the same a few cells further on. A convolution learns it
once for the whole ring, a dense layer anew for every pair of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..game import Game
from .bounds import (
    LAYERS,
    NUMBERS,
    WIDTH,
    check_flags,
    check_positive,
    check_whole,
    field_error,
)
from .latent import initialise
from .net import Heads, MarginNet
from .residual import MOST_SEATS
from .ring import RingBlock, check_ring, pooled, ring_blocks, ring_of, round_ring

TOGETHER = 256  # views at a time on a CPU
HIDDEN = 256
PER_CELL = 4  # numbers of a cell that the policy sees


@dataclass(frozen=True)
class RingPolicyConfig:
    """The sizes of a game, and of its network."""

    view_size: int
    actions: int
    rows: int
    """Rows of cells in a view."""
    cells: int
    """Cells of a row; the numbers of a view come after all of them."""
    ring: int
    """The first so many cells are a ring."""
    first_pin: int
    """The first of the rows that show one pin each."""
    pins: int = 4
    """How many such rows there are."""
    seats: int = 2
    width: int = 64
    """Numbers of a cell."""
    blocks: int = 4
    largest_score: float = 1.0
    """Values are within this."""
    zero_sum: bool = True
    """Whether the values sum to 0."""

    def __post_init__(self) -> None:
        check_whole(self, NUMBERS, "view_size", "actions", "rows", "cells")
        check_whole(self, MOST_SEATS, "seats")
        check_whole(self, WIDTH, "width")
        check_whole(self, LAYERS, "blocks", least=0)
        check_whole(self, NUMBERS, "first_pin", least=0)
        check_whole(self, NUMBERS, "pins")
        check_positive(self, "largest_score")
        check_flags(self, "zero_sum")
        check_ring(self)
        if self.first_pin + self.pins > self.rows:
            raise field_error(self, "pins", f"within {self.rows} rows from row {self.first_pin} on")

    @property
    def besides(self) -> int:
        """Numbers of a view that are not on the ring."""
        return self.view_size - self.rows * self.ring


class RingPolicyNet(MarginNet):
    """Logits and values for views. The same seed gives the same weights."""

    config: RingPolicyConfig

    def __init__(self, config: RingPolicyConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.stem = round_ring(config.rows, width, 1)
        self.besides = nn.Linear(max(config.besides, 1), HIDDEN)
        self.everywhere = nn.Linear(HIDDEN, width)
        self.blocks = ring_blocks(width, config.blocks)
        self.norm = nn.GroupNorm(1, width)
        self.per_cell = nn.Conv1d(width, PER_CELL, 1)
        self.hidden = nn.Linear((2 + config.pins) * width + HIDDEN, HIDDEN)
        self.deeper = nn.Linear(HIDDEN, HIDDEN)
        self.policy = nn.Linear(HIDDEN + PER_CELL * config.ring, config.actions)
        self.value = nn.Linear(HIDDEN, config.seats)
        self.margin = nn.Linear(HIDDEN, 1)
        small: set[nn.Module] = {self.policy, self.value, self.margin}
        small |= {part.second for part in self.modules() if isinstance(part, RingBlock)}
        initialise(self, seed, small)

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        heads = self.heads(views)
        return heads.policy, heads.value

    def trimmed(self, views: Tensor, together: int = TOGETHER) -> tuple[Tensor, Tensor]:
        logits, values = zip(*map(self, torch.split(views, together)), strict=True)
        return torch.cat(logits), torch.cat(values)

    def heads(self, views: Tensor) -> Heads:
        config = self.config
        views = views.to(self.stem.weight.dtype)
        board = config.rows * config.cells
        cells = views[:, :board].view(-1, config.rows, config.cells)
        ring = cells[:, :, : config.ring]
        others = self._besides(
            torch.cat([cells[:, :, config.ring :].flatten(1), views[:, board:]], 1)
        )
        x = self.blocks(self.stem(ring) + self.everywhere(others)[:, :, None])
        x = self.norm(x)
        pins = ring[:, config.first_pin : config.first_pin + config.pins]
        standing = (pins.to(x.dtype) @ x.transpose(1, 2)).flatten(1)
        hidden = functional.relu(self.hidden(torch.cat([pooled(x), standing, others], 1)))
        hidden = hidden + functional.relu(self.deeper(hidden))
        by_cell = functional.relu(self.per_cell(x)).flatten(1)
        values = self.value(hidden).float().tanh() * config.largest_score
        if config.zero_sum:
            values = values - values.mean(1, keepdim=True)
        margin = self.margin(hidden).float().tanh().squeeze(1)
        return Heads(self.policy(torch.cat([hidden, by_cell], 1)).float(), values, margin)

    def _besides(self, numbers: Tensor) -> Tensor:
        """Lanes and numbers as one vector. Logarithms keep large counts from drowning out ones."""
        if not self.config.besides:
            numbers = numbers.new_zeros(len(numbers), 1)
        out: Tensor = functional.relu(self.besides(numbers.sign() * numbers.abs().log1p()))
        return out


def fitted_ring_policy(game: Game) -> dict[str, Any]:
    """Fields for a game whose view shows a ring, and after the pins by player every own pin."""
    largest = max(map(abs, game.score_range))
    return ring_of(game) | {
        "view_size": game.view_size,
        "actions": game.num_actions,
        "seats": game.seats,
        "first_pin": game.seats,
        "largest_score": float(largest),
        "zero_sum": game.zero_sum,
    }
