"""What a player thinks of a table, for people to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .sight import Player, PlayerError, Sight

if TYPE_CHECKING:
    from ..nets.kinds import Belief


@dataclass(frozen=True)
class Candidate:
    """An action that was considered. What a player does not know about it is None."""

    action: int
    text: str
    value: float | None = None
    """The score that the seat to move expects."""
    prior: float | None = None
    """How likely the network plays it without a search; without a network, the same for all."""
    visits: int | None = None
    """How many simulations went through it. Without any, its value is from a look at all moves."""
    mate_in: int | None = None
    """Plies to the end if it is proven, below 0 for a defeat."""
    line: tuple[str, ...] = ()
    """What is expected to follow, as the seat to move would hear of it."""


@dataclass(frozen=True)
class Thought:
    """What a player thinks of a table where `seat` is to move."""

    player: str
    seat: int
    candidates: tuple[Candidate, ...]
    """The best first."""
    value: float | None = None
    """The score that the seat to move expects."""
    simulations: int = 0
    nodes: int = 0
    depth: int = 0
    """Decisions in the longest line, or plies that were searched completely."""
    table_use: float | None = None
    """The share of the transposition table that is filled."""
    seconds: float = 0.0
    beliefs: tuple[Belief, ...] = ()
    """What each seat should believe about the hand of the other, if the player keeps beliefs."""

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Inquiry:
    """How much a player is asked to explain."""

    lines: int = 3
    """Candidates whose lines are shown."""
    seconds: float | None = None
    """Think for so long; by default as the player usually does."""
    watch: Callable[[Thought], object] = field(default=lambda thought: None)
    """Called with the thought so far, again and again while it lasts."""


@runtime_checkable
class Explainer(Protocol):
    """A player that can say what it thinks."""

    name: str

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        """What it thinks of the only table of a sight.

        Interrupted by the keyboard, it answers with what it has found by then.
        """


def explain(who: Player, sight: Sight, inquiry: Inquiry | None = None) -> Thought:
    """What a player thinks of the only table of a sight."""
    if not isinstance(who, Explainer):
        raise PlayerError(f"{who.name} cannot explain its moves; tree searches and networks can")
    if len(sight) != 1:
        raise PlayerError(f"a thought is about one table, not {len(sight)}")
    return who.explain(sight, inquiry or Inquiry())


def belief_texts(thought: Thought) -> list[str]:
    """What to believe about each hand, in a sentence."""
    return [
        f"seat {belief.seat} holds on average "
        + ", ".join(f"{count:.2f} of {sort + 1}" for sort, count in enumerate(belief.counts))
        + "; likeliest "
        + ", ".join(f"{hand} ({chance:.1%})" for hand, chance in belief.likeliest)
        for belief in thought.beliefs
    ]
