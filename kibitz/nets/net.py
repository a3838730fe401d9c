"""What all networks have in common, and what those have that guide a search."""

from __future__ import annotations

from dataclasses import Field
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn

CACHED = 64  # views at a time whose activations stay in a core's cache; 32 to 128 are alike


class Heads(NamedTuple):
    """What a network says about a batch of views, in float32."""

    policy: Tensor
    """Logits; illegal actions are not masked yet. [batch, actions]"""
    value: Tensor
    """Expected scores, the seat that looks first. [batch, seats]"""
    margin: Tensor | None
    """Expected margin of the seat that looks, from -1 to 1. [batch]"""


class Attended(NamedTuple):
    """What a network attends to where it judges a table as a whole."""

    actions: Tensor
    """An action that stands for each thing that it sees, -1 where there is none. [batch, things]"""
    shares: Tensor
    """Its part of the attention, mean over layers and heads; the rest is for the table itself."""


@runtime_checkable
class Attentive(Protocol):
    """A network that can say what it attends to."""

    def attended(self, views: Tensor) -> Attended:
        """The attention to what views [batch, view_size] show."""


class Config(Protocol):
    """The configuration of a network: any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


class Net(nn.Module):
    """A network that can be saved: it knows its configuration."""

    config: Config
    sha256: str = ""
    """Hash of the file that it was loaded from."""
    values_only: bool = False
    """Whether it judges positions and prefers no action: to play, it needs a search."""


class Fused(Protocol):
    """A network's own GPU kernels."""

    def __call__(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of views."""

    def refresh(self) -> None:
        """Copy the network's weights again, into the same memory."""


class PolicyNet(Net):
    """A network that answers views with logits and values: it can guide a search."""

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [batch, actions] and values [batch, seats] of views [batch, view_size], float32.

        Values start with the seat that looks. Illegal actions are for the caller to mask.
        """
        raise NotImplementedError

    def trimmed(self, views: Tensor, together: int = CACHED) -> tuple[Tensor, Tensor]:
        """The same as calling the network, but in batches of `together` views."""
        raise NotImplementedError

    def fused(self) -> Fused | None:
        """The same as kernels for a GPU, if the network has any."""
        return None


class MarginNet(PolicyNet):
    """A network that can learn from self-play by search."""

    def heads(self, views: Tensor) -> Heads:
        """All outputs, for training: also the margin, if the network has a head for it."""
        raise NotImplementedError
