"""Earlier selves of a run: whom the newest has to beat, and how far it has come since."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..arena.rating import bradley_terry

Points = list[tuple[int, int, float]]  # who, against whom, and how many games it won


@dataclass
class League:
    """Members by the iteration that made them; the first, untrained, is iteration 0."""

    members: list[int] = field(default_factory=lambda: [0])
    points: Points = field(default_factory=list)

    def rivals(self, count: int) -> list[int]:
        """The latest member and so many earlier ones, evenly spread."""
        *earlier, latest = self.members
        if count < len(earlier):
            earlier = [earlier[len(earlier) * k // count] for k in range(count)]
        return [*earlier, latest]

    def note(self, who: int, against: int, rate: float, games: int) -> None:
        """Keep a result."""
        self.points += [(who, against, rate * games), (against, who, (1.0 - rate) * games)]

    def elo(self, who: int) -> float:
        """How much stronger than the first member, in Elo, by all results so far."""
        if not self.points:
            return 0.0
        tally: dict[tuple[str, str], float] = {}
        for a, b, won in self.points:
            tally[str(a), str(b)] = tally.get((str(a), str(b)), 0.0) + won
        rated = {each.player: each.elo for each in bradley_terry(tally)}
        return rated[str(who)] - rated["0"]
