"""A network over public information: the standing bid, and how likely each hand is.

For games of rising bids between two hidden hands. What comes next depends on nothing else, so the
history is no input. The network gives a value for every hand of both seats, and a policy for every
hand of the seat to move. One network serves tables of many sizes: a *set* is all hands that a seat
can have with some number of dice. Rows are numbered through all sets, and a table uses the rows of
its two sets.

Source: N. Brown, A. Bakhtin, A. Lerer, Q. Gong, "Combining deep reinforcement learning and search
for imperfect-information games", 2020.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..nets.bounds import LAYERS, NUMBERS, WIDTH, ConfigError, check_sizes, check_whole
from ..nets.net import Net


@dataclass(frozen=True)
class BeliefConfig:
    """The shape of a belief network."""

    sets: tuple[int, ...] = (6, 21, 56, 126, 252)
    """The number of hands in each set, which also names the set."""
    actions: int = 61
    """The most bids of a table, and the call."""
    width: int = 512
    depth: int = 2
    """Hidden layers."""
    rank: int = 32
    """Rank of the policy's dependence on the hand."""

    def __post_init__(self) -> None:
        check_sizes(self, "sets", NUMBERS)
        if len(set(self.sets)) < len(self.sets):
            raise ConfigError(f"sets={self.sets}: no two sets have the same number of hands")
        check_whole(self, NUMBERS, "actions")
        check_whole(self, WIDTH, "width", "rank")
        check_whole(self, LAYERS, "depth", least=0)


class BeliefNet(Net):
    """Values of all hands, and a policy for the hands of the seat to move, from beliefs.

    Roles: 0 is the seat to move, 1 the other one.
    """

    config: BeliefConfig

    def __init__(self, config: BeliefConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        ends = [*itertools.accumulate(config.sets)]
        self.rows = {n: slice(end - n, end) for n, end in zip(config.sets, ends, strict=True)}
        random = torch.Generator().manual_seed(seed)

        def table(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter(scale * torch.randn(shape, generator=random))

        width, hidden = config.width, config.width**-0.5
        # These names are in saved files.
        self.looks = nn.ParameterList(table(ends[-1], width, scale=1.0) for _ in range(2))
        self.standing = table(config.actions, width, scale=0.5)  # row 0: no bid stands
        self.layers = nn.ParameterList(
            table(width, width, scale=hidden) for _ in range(config.depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.depth + 1))
        self.values = nn.ParameterList(table(width, ends[-1], scale=0.1 * hidden) for _ in range(2))
        self.advice = table(width, config.actions * config.rank, scale=0.1 * hidden)
        self.holding = table(ends[-1], config.rank, scale=1.0)

    def knows(self, sizes: Sequence[int], call: int) -> bool:
        """Whether tables with sets of these sizes and `call` bids fit in."""
        return set(sizes) <= self.rows.keys() and call < self.config.actions

    def embed(self, role: int, belief: Tensor) -> Tensor:
        """What a belief adds to the first layer. [..., hands] -> [..., width]"""
        embedded: Tensor = belief @ self.looks[role][self.rows[belief.shape[-1]]]
        return embedded

    def trunk(self, first: Tensor, bids: Tensor) -> Tensor:
        """Hidden numbers from the first layer and the standing bids, -1 where there is none."""
        x = first + self.standing.index_select(0, bids + 1)
        for norm, weight in zip(self.norms, self.layers, strict=False):
            x = x + functional.gelu(norm(x)) @ weight
        return functional.gelu(self.norms[-1](x))

    def hand_values(self, x: Tensor, mine: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
        """Values of the hands of both roles. Under these beliefs they sum to zero."""
        own, other = (
            x @ table[:, self.rows[belief.shape[-1]]]
            for table, belief in zip(self.values, (mine, theirs), strict=True)
        )
        off = ((own * mine).sum(-1, keepdim=True) + (other * theirs).sum(-1, keepdim=True)) / 2
        return own - off, other - off

    def policy(self, x: Tensor, hands: int, actions: Tensor | None = None) -> Tensor:
        """Logits of these actions, by default all; the call is the last. [n, actions, hands]"""
        table = self.advice.reshape(-1, self.config.actions, self.config.rank)
        if actions is not None:
            table = table.index_select(1, actions)
        advice = (x @ table.flatten(1)).reshape(-1, *table.shape[1:])
        logits: Tensor = advice @ self.holding[self.rows[hands]].T
        return logits

    def forward(
        self, mine: Tensor, theirs: Tensor, bids: Tensor, actions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [n, actions, hands], and values of the hands of both roles [n, hands]."""
        x = self.trunk(self.embed(0, mine) + self.embed(1, theirs), bids)
        return self.policy(x, mine.shape[-1], actions), *self.hand_values(x, mine, theirs)
