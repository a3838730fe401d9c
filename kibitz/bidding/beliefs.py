"""A network over what everybody knows: the standing bid, and how likely each hand is.

For games of climbing bids between two hidden hands. What comes next depends on nothing else, so no
history goes in. For every hand of either seat it says what the game is worth to who holds it, and
for every hand of the seat to move what to do. One network serves tables of many sizes: hands are
numbered through all *sets* of hands that a seat can have (one die, two dice, ...), and a table uses
the rows of its two sets.

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


@dataclass(frozen=True)
class BeliefConfig:
    """The shape of a belief network."""

    sets: tuple[int, ...] = (6, 21, 56, 126, 252)
    """How many hands are in each set. A set is known by this number."""
    actions: int = 61
    """The most bids of a table, and the call."""
    width: int = 512
    depth: int = 2
    """Hidden layers."""
    rank: int = 32
    """In how many ways hands can differ in what they should do."""

    def __post_init__(self) -> None:
        check_sizes(self, "sets", NUMBERS)
        if len(set(self.sets)) < len(self.sets):
            raise ConfigError(f"sets={self.sets}: no two sets have the same number of hands")
        check_whole(self, NUMBERS, "actions")
        check_whole(self, WIDTH, "width", "rank")
        check_whole(self, LAYERS, "depth", least=0)


class BeliefNet(nn.Module):
    """Values of all hands and a policy of the mover's, from beliefs.

    Roles: 0 is the seat to move, 1 the other one.
    """

    def __init__(self, config: BeliefConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        ends = [*itertools.accumulate(config.sets)]
        self.rows = {n: slice(end - n, end) for n, end in zip(config.sets, ends, strict=True)}
        random = torch.Generator().manual_seed(seed)

        def table(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter(scale * torch.randn(shape, generator=random))

        width, hidden = config.width, config.width**-0.5
        self.looks = nn.ParameterList(table(ends[-1], width, scale=1.0) for _ in range(2))
        self.standing = table(config.actions, width, scale=0.5)  # the first where no bid stands
        self.layers = nn.ParameterList(
            table(width, width, scale=hidden) for _ in range(config.depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.depth + 1))
        self.values = nn.ParameterList(table(width, ends[-1], scale=0.1 * hidden) for _ in range(2))
        self.advice = table(width, config.actions * config.rank, scale=0.1 * hidden)
        self.holding = table(ends[-1], config.rank, scale=1.0)

    def knows(self, sizes: Sequence[int], call: int) -> bool:
        """Whether tables with sets of these sizes, and so many bids below the call, fit in."""
        return set(sizes) <= self.rows.keys() and call < self.config.actions

    def look(self, role: int, belief: Tensor) -> Tensor:
        """What a belief adds to the first layer. [..., hands] -> [..., width]"""
        seen: Tensor = belief @ self.looks[role][self.rows[belief.shape[-1]]]
        return seen

    def trunk(self, first: Tensor, bids: Tensor) -> Tensor:
        """Hidden numbers from the first layer and the bids that stand, -1 where none does."""
        x = first + self.standing[bids + 1]
        for norm, weight in zip(self.norms, self.layers, strict=False):
            x = x + functional.gelu(norm(x)) @ weight
        return functional.gelu(self.norms[-1](x))

    def worth(self, x: Tensor, mine: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
        """What the game is worth to the hands of both roles, zero for both together."""
        own, other = (
            x @ table[:, self.rows[belief.shape[-1]]]
            for table, belief in zip(self.values, (mine, theirs), strict=True)
        )
        off = ((own * mine).sum(-1, keepdim=True) + (other * theirs).sum(-1, keepdim=True)) / 2
        return own - off, other - off

    def policy(self, x: Tensor, hands: int) -> Tensor:
        """Logits of the actions; the call is the last of them. [n, width] -> [n, actions, hands]"""
        advice = (x @ self.advice).reshape(-1, self.config.actions, self.config.rank)
        logits: Tensor = advice @ self.holding[self.rows[hands]].T
        return logits

    def forward(self, mine: Tensor, theirs: Tensor, bids: Tensor) -> tuple[Tensor, ...]:
        """Logits [n, actions, hands], and the worth of either role's hands [n, hands]."""
        x = self.trunk(self.look(0, mine) + self.look(1, theirs), bids)
        return self.policy(x, mine.shape[-1]), *self.worth(x, mine, theirs)
