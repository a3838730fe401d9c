"""Ways to learn, and the recipes that set them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from torch import nn

from ..game import DEFAULT_VIEW, Game, GameError
from ..nets import Net, all_kinds
from .folder import Arrays, RunFolder
from .replay import Replay

Stage = Callable[[str, int, int], None]
"""Called with the present activity, how much of it is done, and the total (0 if unknown)."""


class TimeIsUp(Exception):
    """The deadline of a method has passed; its arrays say where to continue."""


@runtime_checkable
class Interruptible(Protocol):
    """A method that can stop inside an iteration, and continue there to the same result."""

    deadline: float | None
    """When to raise TimeIsUp, on the monotonic clock."""


class Method(Protocol):
    """A way to learn: improves a network, one iteration at a time."""

    @property
    def net(self) -> Net:
        """The network that learns."""

    @property
    def average(self) -> Net:
        """The network that would play now."""

    @property
    def replay(self) -> Replay | None:
        """The positions it learns from, if it keeps any beyond an iteration."""

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        """Learn; return the figures of this iteration."""

    def accept(self, best: nn.Module) -> None:
        """A network has passed the gate: if the method depends on the best one, use this now."""

    def arrays(self) -> Arrays:
        """Everything that a resumed run needs besides the best network, by name."""

    def restore(self, arrays: Arrays, iteration: int) -> None:
        """Continue after this iteration, from its `arrays`. The replay stays as it is."""

    def refill(self, iteration: int, positions: int, first: int, stage: Stage) -> int:
        """Empty the replay and play until it holds so many positions, or is full.

        first: the number of the first shard; returns the number of shards.
        """


@dataclass(frozen=True, kw_only=True)
class Training:
    """The base of all recipes: the game, the network, and how strength is measured."""

    method: ClassVar[str]
    """The name of the method in a run's folder."""
    mode: ClassVar[str] = "argmax"
    """How its players choose, see `NetPlayer`."""
    gates_by_validation: ClassVar[bool] = False
    """Whether the lowest `loss_validation` passes the gate, instead of the winner of matches."""
    half_precision: ClassVar[bool] = False
    """Whether its player's file has weights in half precision, because nothing is lost by that."""
    searches: ClassVar[bool] = True
    """Whether it searches on many threads, each of which asks the network on its own."""

    game: str
    options: dict[str, Any] = field(default_factory=dict)
    view: str = DEFAULT_VIEW
    """The view of the game that the network reads."""
    net: str
    """Kind of network, see `nets.kinds`."""
    config: dict[str, Any] = field(default_factory=dict)
    """Its configuration, where it differs from the default."""
    iterations: int = 100
    gate_every: int = 5
    """Iterations between matches at the gate."""
    gate_games: int = 400
    gate_rate: float = 0.5
    """A new player passes with at least this even rate against the best so far. With 0 everybody
    does: the newest player is that of the run."""
    rivals: int = 2
    """Earlier league members that it meets at the gate besides the best, to be rated."""
    baselines: tuple[str, ...] = ("random",)
    """Players to measure strength against at the gate."""

    def with_opponents(self, players: Sequence[str]) -> Training:
        """The same recipe with more players to beat, if its method learns from opponents."""
        raise GameError(f"{self.method} learns from itself and takes no opponents")

    def with_data(self, sources: Sequence[Path], *, skip_bad: bool = False) -> Training:
        """The same recipe with these data sets, if its method learns from any."""
        raise GameError(
            f"this recipe learns by {self.method}, from its own games, and takes no data"
        )

    def described(self) -> dict[str, Any]:
        """All that must agree between a run and its continuation, wherever that happens."""
        return asdict(self) | {"game": Path(self.game).name}

    def player_text(self, file: Path) -> str:
        """The text that seats a trained network."""
        return f"net:{file}" + ("" if self.mode == "argmax" else f",mode={self.mode}")

    def network(self, game: Game, seed: int) -> Net:
        """The network, untrained and as large as the game needs it."""
        kind = all_kinds()[self.net]
        net: Net = kind.net(kind.config(**{**kind.fitted(game), **self.config}), seed)
        return net

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> Method:
        """The method at its beginning."""
        raise NotImplementedError
