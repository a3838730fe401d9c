"""What networks have in common that imagine how a game goes on (MuZero).

view -> latent -> logits, values
latent + action -> afterstate -> odds of the chance codes
afterstate + code -> next latent -> logits, values, whose turn it is, whether the game has ended
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..game import Game
from .bounds import LAYERS, NUMBERS, WIDTH, check_flags, check_positive, check_whole, field_error
from .net import Heads, MarginNet

TOGETHER = 512  # views at a time on a CPU
MOST_SEATS = 64
MOST_CODES = 65  # more outcomes of chance share their codes
NOTHING = 1e-6  # a latent of equal numbers is scaled by this


@dataclass(frozen=True, kw_only=True)
class LatentConfig:
    """The sizes of a game, and of a network that imagines it."""

    view_size: int
    actions: int
    seats: int = 2
    side_of: tuple[int, ...] = (0, 1)
    """The side of every seat, counted from the one that looks: partners share a value."""
    codes: int = 1
    """Chance codes: 0 where nothing was thrown, then one per outcome; 1 ignores chance."""
    width: int = 128
    """Numbers of a latent."""
    blocks: int = 3
    """Residual blocks from a view to its latent."""
    dynamics_blocks: int = 2
    """Residual blocks from a latent to its afterstate, and from there to the next latent."""
    largest_score: float = 1.0
    """Values are within this."""
    zero_sum: bool = True
    """Whether the scores of all sides sum to 0."""

    def __post_init__(self) -> None:
        check_whole(self, NUMBERS, "view_size", "actions")
        check_whole(self, MOST_SEATS, "seats")
        check_whole(self, MOST_CODES, "codes")
        check_whole(self, WIDTH, "width")
        check_whole(self, LAYERS, "blocks", "dynamics_blocks", least=0)
        check_positive(self, "largest_score")
        check_flags(self, "zero_sum")
        known = range(self.seats)
        listed = isinstance(self.side_of, tuple) and len(self.side_of) == self.seats
        if not listed or any(type(side) is not int or side not in known for side in self.side_of):
            raise field_error(self, "side_of", f"a side for each of {self.seats} seats")

    @property
    def all_sides(self) -> int:
        return max(self.side_of) + 1


class Outlook(NamedTuple):
    """What a network says about latents, in float32."""

    policy: Tensor
    """Logits; illegal actions are not masked. [batch, actions]"""
    scores: Tensor
    """Logits of the scores by side, the one to move first. [batch, sides]"""
    turns: Tensor
    """Logits of whose turn it is, counted from who moved. [batch, seats]"""
    ends: Tensor
    """Logit of the game having ended. [batch]"""


class LatentNet(MarginNet):
    """A network that can imagine what follows: it can guide a latent search, or a true one."""

    config: LatentConfig

    def __init__(self, config: LatentConfig) -> None:
        super().__init__()
        self.config = config
        # On the network's device: a list in Python could not be read while a GPU records.
        self.register_buffer("side_of_seat", torch.tensor(config.side_of), persistent=False)

    @property
    def latent_shape(self) -> tuple[int, ...]:
        """The shape of one latent."""
        raise NotImplementedError

    def represent(self, views: Tensor) -> Tensor:
        """The latents of views, from 0 to 1. [batch, *latent_shape]"""
        raise NotImplementedError

    def act(self, latents: Tensor, actions: Tensor) -> Tensor:
        """Afterstates: what follows from the actions, before chance. [batch, *latent_shape]"""
        raise NotImplementedError

    def odds(self, afterstates: Tensor) -> Tensor:
        """Logits of the chance codes, in float32. [batch, codes]"""
        raise NotImplementedError

    def settle(self, latents: Tensor, afterstates: Tensor, codes: Tensor) -> Tensor:
        """The latents that follow once chance has decided. latents: those before the actions."""
        raise NotImplementedError

    def judge(self, latents: Tensor) -> Outlook:
        """What it says about latents."""
        raise NotImplementedError

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        outlook = self.judge(self.represent(views))
        return outlook.policy, self.values(outlook.scores)

    def heads(self, views: Tensor) -> Heads:
        logits, values = self(views)
        return Heads(logits, values, margin=None)

    def trimmed(self, views: Tensor, together: int = TOGETHER) -> tuple[Tensor, Tensor]:
        logits, values = zip(*map(self, torch.split(views, together)), strict=True)
        return torch.cat(logits), torch.cat(values)

    def values(self, sides: Tensor) -> Tensor:
        """Scores by seat, the one to move first, from the logits of sides. [batch, seats]

        Where scores sum to zero, the share of a side is (1 + score / largest) / sides: these are
        positive and sum to 1. Else every side has a number of its own from 0 to 1.
        """
        config = self.config
        if config.zero_sum:
            scores = config.all_sides * sides.softmax(1) - 1
        else:
            scores = 2 * sides.sigmoid() - 1
        assert isinstance(self.side_of_seat, Tensor)
        return scores.clamp(-1, 1).index_select(1, self.side_of_seat) * config.largest_score


def scaled(latents: Tensor) -> Tensor:
    """Every latent with its numbers from 0 to 1."""
    flat = latents.flatten(1)
    low, high = flat.amin(1, keepdim=True), flat.amax(1, keepdim=True)
    return ((flat - low) / (high - low + NOTHING)).view_as(latents)


def sides_of(game: Game) -> tuple[int, ...]:
    """The side of every seat, counted from the one that looks, whichever that is.

    Partners are one side if they sit alike as seen from every seat; else every seat is its own.
    """

    def seen_from(seat: int) -> tuple[int, ...]:
        teams = [game.teams[(seat + k) % game.seats] for k in range(game.seats)]
        order = list(dict.fromkeys(teams))
        return tuple(order.index(team) for team in teams)

    first = seen_from(0)
    alike = all(seen_from(seat) == first for seat in range(game.seats))
    return first if alike else tuple(range(game.seats))


def fitted_latent(game: Game) -> dict[str, object]:
    """The fields of a configuration that follow from a game."""
    return {
        "view_size": game.view_size,
        "actions": game.num_actions,
        "seats": game.seats,
        "side_of": sides_of(game),
        "codes": 1 if game.num_outcomes == 1 else min(game.num_outcomes + 1, MOST_CODES),
        "largest_score": float(max(map(abs, game.score_range))),
        "zero_sum": game.zero_sum,
    }


def codes_of(outcomes: NDArray[np.integer], codes: int) -> NDArray[np.int64]:
    """The chance codes of outcomes: 0 for none (-1); with few codes some outcomes share one."""
    if codes == 1:
        return np.zeros(outcomes.shape, np.int64)
    return np.where(outcomes < 0, 0, 1 + outcomes % (codes - 1)).astype(np.int64)


def odds_of_codes(odds: NDArray[np.float64], codes: int) -> NDArray[np.float64]:
    """The odds of outcomes as those of codes; 0 is for what is missing. [rows, codes]"""
    found = odds @ np.eye(codes)[codes_of(np.arange(odds.shape[1]), codes)]
    found[:, 0] = 1 - odds.sum(1)
    return np.asarray(found)


def initialise(net: nn.Module, seed: int, small: set[nn.Module]) -> None:
    """He's weights and zero biases, those in `small` a tenth as large. Norms stay as they are."""
    generator = torch.Generator().manual_seed(seed)
    for part in net.modules():
        if isinstance(part, (nn.Linear, nn.Conv1d)):
            inputs = part.weight[0].numel()
            spread = (2 / inputs) ** 0.5 * (0.1 if part in small else 1.0)
            nn.init.normal_(part.weight, 0.0, spread, generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, 0.0, 0.1 if part in small else 1.0, generator)
