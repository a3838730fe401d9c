"""Kinds of networks: how each is built, which games it fits, and how it plays without a search.

A room that has networks declares their kinds in its own `kinds.py`, where they are found. A new
kind needs no edit elsewhere.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..game import Game, GameError
from .accumulator import AccumulatorConfig, AccumulatorNet
from .card_set import CardSetConfig, CardSetNet, DesignV2Config, DesignV2Net
from .dual_view import DualViewConfig, DualViewNet, encoding_of
from .evaluate import NetEvaluator
from .latent import fitted_latent
from .latent_model import LatentModel
from .muzero import MuZeroConfig, MuZeroNet
from .net import Net
from .residual import ResidualConfig, ResidualNet, suited_width
from .ring import RingConfig, RingNet, fitted_ring
from .ring_policy import RingPolicyConfig, RingPolicyNet, fitted_ring_policy
from .zones import ZoneConfig, ZoneNet, zones_of

Floats = NDArray[np.float32] | NDArray[np.float64]
Whole = NDArray[np.integer]


class SightLike(Protocol):
    """What a network may see of n tables. `players.Sight` is one."""

    game: Game
    seats: Whole
    """The seat to move, by table. [n]"""

    @property
    def views(self) -> NDArray[np.float32]:
        """[n, view_size]"""

    @property
    def legal(self) -> tuple[Whole, Whole]:
        """The legal actions and their number. [n, max_legal], [n]"""


class Judgement(NamedTuple):
    """What a network thinks of n tables."""

    preferences: Floats
    """The higher, the better; -inf where there is no action. [n, max_legal]"""
    policy: Floats
    """The probability of each action. [n, max_legal]"""
    values: Floats | None = None
    """The score that the seat to move expects after each action. [n, max_legal]"""
    value: Floats | None = None
    """The score that it expects. [n]"""


@dataclass(frozen=True)
class Belief:
    """What everybody can conclude about the hand of a seat from how it has played."""

    seat: int
    counts: tuple[float, ...]
    """How many pieces of each sort it holds on average, such as dice that show 1, 2, ..."""
    likeliest: tuple[tuple[str, float], ...]
    """The likeliest hands, each with its probability."""


@runtime_checkable
class Believer(Protocol):
    """A judge that can say what to believe about hidden hands, and what actions are worth then."""

    def beliefs(self, sight: SightLike) -> tuple[Belief, ...]:
        """About every seat, at the first table."""

    def values(self, sight: SightLike) -> Floats:
        """What the seat to move expects after each action, at the first table. [max_legal]"""


class Judge(Protocol):
    """A network at a table, without a search."""

    def __call__(self, sight: SightLike) -> Judgement:
        """What it thinks of every table."""


class PolicyJudge:
    """Plays by the logits of a policy network."""

    def __init__(self, game: Game, net: Net, device: str, *, temperature: float = 1.0) -> None:
        self.evaluator, self.temperature = NetEvaluator(net, device), temperature

    def __call__(self, sight: SightLike) -> Judgement:
        (logits, values), rows = self.evaluator.ask(sight.views), np.arange(len(sight.seats))
        preferences = np.where(is_action(sight), logits[rows[:, None], sight.legal[0]], -np.inf)
        policy = softmax(preferences / self.temperature)
        return Judgement(preferences, policy, value=values[:, 0])


def sizes(game: Game) -> dict[str, int | str]:
    """What the fields of a configuration must be for a game, by name."""
    return {"view_size": game.view_size, "actions": game.num_actions, "seats": game.seats}


def _encoded(game: Game) -> dict[str, int | str]:
    """Sizes of a game, with the encoding of its planes, which no size shows."""
    return sizes(game) | {"encoding": encoding_of(game.viewed)}


def _fitted_zones(game: Game) -> dict[str, Any]:
    fields = {name: game.view[name].shape for name in game.view.names or ()}
    return zones_of(fields) | {"actions": game.num_actions, "seats": game.seats}


def _fitted_residual(game: Game) -> dict[str, Any]:
    largest = max(map(abs, game.score_range))
    scores = {"largest_score": float(largest), "zero_sum": game.zero_sum}
    return sizes(game) | scores | {"width": suited_width(game.view_size)}


def _fitted_muzero(game: Game) -> dict[str, Any]:
    return fitted_latent(game) | {"width": suited_width(game.view_size)}


@dataclass(frozen=True)
class Kind:
    """One kind of network."""

    name: str
    """Its name in files and recipes."""
    config: type[Any]
    """The dataclass of its configuration."""
    net: type[Any]
    """The class of the network, a `Net`. It takes a configuration and, optionally, a seed."""
    trained_for: tuple[str, ...] = ()
    """Options of a game that must be as in training. The shapes must be in any case."""
    any_shape: bool = False
    """Whether one network plays tables of several shapes."""
    sizes: Callable[[Game], dict[str, int | str]] = sizes
    """What fields of its configuration must be for a game, if they are there."""
    fitted: Callable[[Game], dict[str, Any]] = lambda game: {}
    """Fields of a configuration for a game, unless a recipe says otherwise."""
    judge: Callable[..., Judge] = PolicyJudge
    """Called with a game, a network and a device. Its keywords are options of a player's text."""
    guides_search: bool = True
    """Whether it answers views with priors and values, as a tree search needs them."""
    model: Callable[[Net, str], LatentModel] | None = None
    """Called with a network and a device: how it imagines what follows, for a latent search."""


KINDS = (
    Kind("residual", ResidualConfig, ResidualNet, fitted=_fitted_residual),
    Kind("zones", ZoneConfig, ZoneNet, fitted=_fitted_zones),
    Kind("card_set", CardSetConfig, CardSetNet),
    Kind("design_v2", DesignV2Config, DesignV2Net),
    Kind("accumulator", AccumulatorConfig, AccumulatorNet),
    Kind("dual_view", DualViewConfig, DualViewNet, sizes=_encoded),
    Kind("ring", RingPolicyConfig, RingPolicyNet, fitted=fitted_ring_policy),
    Kind("muzero", MuZeroConfig, MuZeroNet, fitted=_fitted_muzero, model=LatentModel),
    Kind("muzero_ring", RingConfig, RingNet, fitted=fitted_ring, model=LatentModel),
)

HOUSE = Path(__file__).parent.parent


@functools.cache
def all_kinds() -> dict[str, Kind]:
    """All kinds of networks, by name."""
    rooms = sorted(file.parent.name for file in HOUSE.glob("*/kinds.py"))
    modules = [importlib.import_module(f"kibitz.{room}.kinds") for room in rooms]
    return {kind.name: kind for module in modules for kind in module.KINDS}


def adopt(kinds: Iterable[Kind], source: Path) -> None:
    """Add kinds of networks from a file outside the package; an edited one replaces its former."""
    known = all_kinds()
    for kind in kinds:
        if not isinstance(kind, Kind):
            raise GameError(f"{source}: KINDS holds {kind!r}, which is not a Kind")
        before = known.get(kind.name)
        if before is not None and before.net.__module__.startswith("kibitz."):
            raise GameError(f"{source}: there is a kind of network {kind.name!r} in kibitz already")
        known[kind.name] = kind


def kind_of(net: nn.Module) -> Kind | None:
    """The kind of a network, or None if it has none."""
    return next((kind for kind in all_kinds().values() if type(net) is kind.net), None)


def is_action(sight: SightLike) -> NDArray[np.bool_]:
    """Which entries of the padded lists of legal actions are actions. [n, max_legal]"""
    legal, counts = sight.legal
    return np.asarray(np.arange(legal.shape[1]) < counts[:, None])


def softmax(logits: Floats) -> Floats:
    """Probabilities [n, actions]; 0 for minus infinity."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))
