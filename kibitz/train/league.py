"""Earlier players of a run: the newest must beat them, and is rated against them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..arena.rating import bradley_terry

Points = list[tuple[int, int, float]]
"""A member, its opponent, and the number of games it won."""


@dataclass
class League:
    """Members by the iteration they come from; the first, untrained, is from iteration 0."""

    members: list[int] = field(default_factory=lambda: [0])
    points: Points = field(default_factory=list)

    def rivals(self, count: int) -> list[int]:
        """`count` earlier members, evenly spread, and the latest one."""
        *earlier, latest = self.members
        if count < len(earlier):
            earlier = [earlier[len(earlier) * k // count] for k in range(count)]
        return [*earlier, latest]

    def note(self, member: int, against: int, rate: float, games: int) -> None:
        """Add a result. rate: the member's even rate, see `arena.match`."""
        self.points += [(member, against, rate * games), (against, member, (1.0 - rate) * games)]

    def elo(self, member: int) -> float:
        """Elo above the first member, by all results so far."""
        if not self.points:
            return 0.0
        tally: dict[tuple[str, str], float] = {}
        for a, b, won in self.points:
            tally[str(a), str(b)] = tally.get((str(a), str(b)), 0.0) + won
        elo = {rating.player: rating.elo for rating in bradley_terry(tally)}
        return elo[str(member)] - elo["0"]
