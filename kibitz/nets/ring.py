"""MuZero for a board that is a ring: latents are cells, and convolutions go round without a seam.

A view has rows of cells, the first of which lie on the ring, and numbers beside them. What is not
on the ring is one vector, which every cell gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..game import Game, GameError
from .bounds import NUMBERS, check_whole, field_error
from .latent import LatentConfig, LatentNet, Outlook, fitted_latent, initialise, scaled

KERNEL = 5
DILATIONS = (1, 2, 4)  # in turn: after three blocks a cell has heard from 14 cells to either side
PER_CELL = 4  # numbers of a cell that the policy sees
HIDDEN = 256


@dataclass(frozen=True, kw_only=True)
class RingConfig(LatentConfig):
    """The sizes of a game, and of its network."""

    rows: int
    """Rows of cells in a view."""
    cells: int
    """Cells of a row; the numbers of a view come after all of them."""
    ring: int
    """The first so many cells are a ring."""
    width: int = 96
    """Numbers of a cell of the latent."""
    blocks: int = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, NUMBERS, "rows", "cells")
        check_ring(self)

    @property
    def besides(self) -> int:
        """Numbers of a view that are not on the ring."""
        return self.view_size - self.rows * self.ring


class RingNet(LatentNet):
    """Imagines a game on a ring. The same seed gives the same weights."""

    config: RingConfig

    def __init__(self, config: RingConfig, seed: int = 0) -> None:
        super().__init__(config)
        width = config.width
        self.stem = round_ring(config.rows, width, 1)
        self.besides = nn.Linear(config.besides, width) if config.besides else None
        self.blocks = ring_blocks(width, config.blocks)
        self.action = nn.Embedding(config.actions, width)
        self.place = nn.Embedding(config.actions, config.ring)  # where on the ring it happens
        self.placing = nn.Conv1d(1, width, 1, bias=False)
        self.acting = ring_blocks(width, config.dynamics_blocks)
        self.chance = nn.Linear(2 * width, config.codes)
        self.code = nn.Embedding(config.codes, width)
        self.settling = ring_blocks(width, config.dynamics_blocks)
        self.norm = nn.GroupNorm(1, width)
        self.per_cell = nn.Conv1d(width, PER_CELL, 1)
        self.hidden = nn.Linear(2 * width, HIDDEN)
        self.policy = nn.Linear(HIDDEN + PER_CELL * config.ring, config.actions)
        self.value = nn.Linear(HIDDEN, config.all_sides)
        self.turn = nn.Linear(HIDDEN, config.seats)
        self.end = nn.Linear(HIDDEN, 1)
        small: set[nn.Module] = {self.policy, self.value, self.turn, self.end, self.chance}
        small |= {part.second for part in self.modules() if isinstance(part, RingBlock)}
        # Latents are from 0 to 1. Beside large actions and codes nobody would see what they say.
        small |= {self.action, self.place, self.code}
        initialise(self, seed, small)

    @property
    def latent_shape(self) -> tuple[int, ...]:
        return self.config.width, self.config.ring

    def represent(self, views: Tensor) -> Tensor:
        config = self.config
        views = views.to(self.stem.weight.dtype)
        board = config.rows * config.cells
        cells, numbers = views[:, :board].view(-1, config.rows, config.cells), views[:, board:]
        x = self.stem(cells[:, :, : config.ring])
        if self.besides is not None:
            others = torch.cat([cells[:, :, config.ring :].flatten(1), numbers], 1)
            x = x + self.besides(others)[:, :, None]
        return scaled(self.blocks(x))

    def act(self, latents: Tensor, actions: Tensor) -> Tensor:
        where = self.placing(self.place(actions)[:, None])
        out: Tensor = self.acting(latents + self.action(actions)[:, :, None] + where)
        return out

    def odds(self, afterstates: Tensor) -> Tensor:
        logits: Tensor = self.chance(pooled(self.norm(afterstates))).float()
        return logits

    def settle(self, latents: Tensor, afterstates: Tensor, codes: Tensor) -> Tensor:
        return scaled(self.settling(latents + afterstates + self.code(codes)[:, :, None]))

    def judge(self, latents: Tensor) -> Outlook:
        x = self.norm(latents)
        hidden = functional.relu(self.hidden(pooled(x)))
        cells = functional.relu(self.per_cell(x)).flatten(1)
        return Outlook(
            policy=self.policy(torch.cat([hidden, cells], 1)).float(),
            scores=self.value(hidden).float(),
            turns=self.turn(hidden).float(),
            ends=self.end(hidden).float().squeeze(1),
        )


class RingBlock(nn.Module):
    """Two convolutions round the ring beside a shortcut, and a gate for every channel."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(1, width)
        self.first = round_ring(width, width, dilation)
        self.second = round_ring(width, width, 1)
        self.squeeze = nn.Linear(width, max(1, width // 4))
        self.gate = nn.Linear(max(1, width // 4), width)

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(functional.relu(self.first(self.norm(x))))
        gate = self.gate(functional.relu(self.squeeze(y.mean(2)))).sigmoid()
        out: Tensor = x + y * gate[:, :, None]
        return out


class Ringed(Protocol):
    """What configurations have whose views show a ring."""

    @property
    def view_size(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def cells(self) -> int: ...
    @property
    def ring(self) -> int: ...


def check_ring(config: Ringed) -> None:
    """See that a ring is large enough for its convolutions, and within the view."""
    least = KERNEL // 2 * max(DILATIONS)
    if not isinstance(config.ring, int) or not least <= config.ring <= config.cells:
        raise field_error(config, "ring", f"a number of cells from {least} to {config.cells}")
    if config.rows * config.cells > config.view_size:
        raise field_error(config, "rows", f"within a view of {config.view_size} numbers")


def fitted_ring(game: Game) -> dict[str, Any]:
    """Fields for a game whose options say how many cells its `ring` has."""
    return fitted_latent(game) | ring_of(game)


def ring_of(game: Game) -> dict[str, Any]:
    """Rows and cells of its view."""
    fields = game.view.names or ()
    if fields[:1] != ("cells",) or not hasattr(game.options, "ring"):
        raise GameError(f"the view {game.viewed!r} of {game.name} does not show a ring of cells")
    rows, cells = game.view["cells"].shape
    return {"rows": rows, "cells": cells, "ring": game.options.ring}


def round_ring(inputs: int, outputs: int, dilation: int) -> nn.Conv1d:
    """A convolution for which the last cell is the first one's neighbour."""
    reach = KERNEL // 2 * dilation
    return nn.Conv1d(
        inputs, outputs, KERNEL, padding=reach, dilation=dilation, padding_mode="circular"
    )


def ring_blocks(width: int, count: int) -> nn.Sequential:
    return nn.Sequential(*(RingBlock(width, DILATIONS[k % len(DILATIONS)]) for k in range(count)))


def pooled(x: Tensor) -> Tensor:
    return torch.cat([x.mean(2), x.amax(2)], 1)
