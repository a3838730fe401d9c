"""MuZero for any view: latents are rows of numbers, and everything between them is dense layers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from .latent import LatentConfig, LatentNet, Outlook, initialise, scaled
from .residual import HEAD, Block


@dataclass(frozen=True, kw_only=True)
class MuZeroConfig(LatentConfig):
    """The sizes of a game, and of its network."""


class MuZeroNet(LatentNet):
    """Imagines a game in rows of numbers. The same seed gives the same weights.

    >>> import torch
    >>> net = MuZeroNet(MuZeroConfig(view_size=40, actions=7, codes=3)).eval()
    >>> latents = net.represent(torch.zeros(5, 40))
    >>> after = net.act(latents, torch.zeros(5, dtype=torch.int64))
    >>> net.odds(after).shape, net.settle(latents, after, torch.ones(5, dtype=torch.int64)).shape
    (torch.Size([5, 3]), torch.Size([5, 128]))
    """

    config: MuZeroConfig

    def __init__(self, config: MuZeroConfig, seed: int = 0) -> None:
        super().__init__(config)
        width = config.width
        self.inputs = nn.Linear(config.view_size, width)
        self.blocks = _blocks(width, config.blocks)
        self.action = nn.Embedding(config.actions, width)
        self.acting = _blocks(width, config.dynamics_blocks)
        self.chance = nn.Linear(width, config.codes)
        self.code = nn.Embedding(config.codes, width)
        self.settling = _blocks(width, config.dynamics_blocks)
        self.norm = nn.LayerNorm(width)
        self.policy = nn.Linear(width, config.actions)
        self.hidden = nn.Linear(width, HEAD)
        self.value = nn.Linear(HEAD, config.all_sides)
        self.turn = nn.Linear(HEAD, config.seats)
        self.end = nn.Linear(HEAD, 1)
        small: set[nn.Module] = {self.policy, self.value, self.turn, self.end, self.chance}
        small |= {part.narrow for part in self.modules() if isinstance(part, Block)}
        # Latents are from 0 to 1. Beside large actions and codes nobody would see what they say.
        small |= {self.action, self.code}
        initialise(self, seed, small)

    @property
    def latent_shape(self) -> tuple[int, ...]:
        return (self.config.width,)

    def represent(self, views: Tensor) -> Tensor:
        # A view may hold counts as they are: logarithms keep hundreds from drowning out ones.
        views = (views.sign() * views.abs().log1p()).to(self.inputs.weight.dtype)
        return scaled(self.blocks(self.inputs(views)))

    def act(self, latents: Tensor, actions: Tensor) -> Tensor:
        out: Tensor = self.acting(latents + self.action(actions))
        return out

    def odds(self, afterstates: Tensor) -> Tensor:
        logits: Tensor = self.chance(self.norm(afterstates)).float()
        return logits

    def settle(self, latents: Tensor, afterstates: Tensor, codes: Tensor) -> Tensor:
        return scaled(self.settling(latents + afterstates + self.code(codes)))

    def judge(self, latents: Tensor) -> Outlook:
        x = self.norm(latents)
        hidden = functional.relu(self.hidden(x))
        return Outlook(
            policy=self.policy(x).float(),
            scores=self.value(hidden).float(),
            turns=self.turn(hidden).float(),
            ends=self.end(hidden).float().squeeze(1),
        )


def _blocks(width: int, count: int) -> nn.Sequential:
    return nn.Sequential(*(Block(width) for _ in range(count)))
