"""How to search, and what a search finds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..devices import Array
from ..game import GameError
from ..options import shown, whole_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_EDGES = 1 << 10  # for each simulation
WORDS = {"inner": ("puct", "improved"), "chance": ("rolled", "spread"), "nodes": ("known", "path")}
MOST_SIMULATIONS = 1 << 24  # of one tree: its nodes are numbered, and fill a GiB


@dataclass(frozen=True)
class Settings:
    """How to search."""

    simulations: int = 200
    """Simulations per tree."""
    explore: float = 2.0
    """PUCT's constant: 1 to 4 differ little."""
    root: Literal["puct", "gumbel"] = "puct"
    """Who decides at the root."""
    considered: int = 16
    """Gumbel search: how many root actions are tried."""
    c_visit: float = 50.0
    """Gumbel search: a value weighs (c_visit + most visits) * c_scale against the policy."""
    c_scale: float = 0.2
    """See `c_visit`."""
    gumbel_scale: float = 1.0
    """Gumbel search: how much noise draws the root actions; 0 takes the likeliest."""
    inner: Literal["puct", "improved"] = "puct"
    """Who decides inside the tree; `improved` is the policy of Gumbel search at every node."""
    chance: Literal["rolled", "spread"] = "rolled"
    """Whether chance is drawn at every visit, or spread over the outcomes by their odds."""
    nodes: Literal["known", "path"] = "known"
    """Whether moves in another order that lead to the same knowledge lead to the same node."""
    noise: float = 0.0
    """PUCT: the share of Dirichlet noise in the root's priors, for self-play."""
    alpha: float = 0.3
    """How even that noise is: 10 divided by the usual number of actions serves well."""
    seconds: float | None = None
    """Stop after this time, whatever the number of simulations (which then is the most)."""
    edges_per_simulation: int = 8
    """Room in a tree for new edges. A full tree goes on without growing."""
    rollout: str = "random"
    """Who plays rollouts to their end, at all seats: `random`, or a compiled player of the game."""
    prior_share: float = 0.5
    """The share of a node's priors for what a compiled player of rollouts would do there."""

    def __post_init__(self) -> None:
        if isinstance(self.simulations, int) and self.simulations < 1:
            raise GameError(f"a search makes at least one simulation, not {self.simulations}")
        for name, most in (
            ("simulations", MOST_SIMULATIONS),
            ("considered", MOST_SIMULATIONS),
            ("edges_per_simulation", MOST_EDGES),
        ):
            # Python's own: NumPy's small integers overflow when rooms are computed from them.
            number = whole_number(f"{name} of a search", getattr(self, name), 1, most)
            object.__setattr__(self, name, number)
        for name in ("explore", "noise", "alpha", "gumbel_scale"):
            _check_real(name, getattr(self, name))
        for name in ("c_visit", "c_scale"):
            _check_real(name, getattr(self, name))
            if getattr(self, name) == 0:
                raise GameError(f"{name}=0: {name} is above 0")
        for name, words in WORDS.items():
            if getattr(self, name) not in words:
                raise GameError(f"{name}={shown(getattr(self, name))}: there are {words}")
        _check_real("prior_share", self.prior_share)
        if self.prior_share > 1:
            raise GameError(f"prior_share={self.prior_share}: prior_share is a share, 1 at most")
        if self.seconds is not None:
            _check_real("seconds", self.seconds)


LATER = ("inner", "chance", "nodes", "gumbel_scale")  # 0.3 knew searches without these


def without_later(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by name, without later ones that have their default: as they were always written."""
    plain = Settings()
    return {n: v for n, v in settings.items() if n not in LATER or v != getattr(plain, n)}


def _check_real(name: str, value: object) -> None:
    real = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if not real or not 0 <= value < math.inf:  # type: ignore[operator]
        raise GameError(f"{name}={shown(value)}: {name} is a number, finite and 0 or more")


@dataclass(frozen=True)
class Found:
    """What a search found, by tree; lists are in the order of the legal actions."""

    actions: NDArray[np.int16]  # [trees, max_legal]
    counts: Integers  # how many of them [trees]
    visits: NDArray[np.int32]  # [trees, max_legal]
    values: Floats  # mean for the seat that thinks; zero where not visited [trees, max_legal]
    priors: Floats  # [trees, max_legal]
    policy: Floats  # what to learn from: visits, or the improved policy of Gumbel search
    value: Floats  # of the root, for the seat that thinks [trees]
    best: Integers  # the action to play [trees]
    simulations: Integers  # [trees]

    def first(self, trees: int) -> Found:
        """What was found by the first so many trees."""
        fields = dataclasses.fields(self)
        return Found(**{field.name: getattr(self, field.name)[:trees] for field in fields})


def sampled(found: Found, temperature: float, uniform: Callable[[int], Array]) -> Array:
    """Actions drawn from the policy, sharpened or flattened; 0 plays the best. [trees]

    uniform: called with a number, gives so many random numbers from 0 to 1.
    """
    if temperature == 0.0:
        return found.best
    odds = found.policy ** (1.0 / temperature)
    sums = (odds / odds.sum(1, keepdims=True)).cumsum(1)
    draw = uniform(len(odds))[:, None] * sums[:, -1:]
    pick = np.minimum((sums <= draw).sum(1), found.counts - 1)
    return found.actions[np.arange(len(odds)), pick].astype(np.int64)
