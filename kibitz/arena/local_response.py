"""At least how much a perfect opponent wins from a player, where a game is too large to solve.

A responder that knows the player's policy plays a game of rising bids against it (`responder`).
This is not a best response, but it is a strategy: a best response wins at least as much. To what
depth it looks ahead is chosen in games of their own, which do not count: the best of several
figures from one set of games would be too high.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bidding.exact.bidding_game import BiddingGame, NotABiddingGame, bids_and_call
from ..chance import fresh_seed, streams
from ..game import Game, GameError
from ..players import Player, player
from ..players.networks import check_device
from .all_hands import policies_of
from .match import Z95
from .responder import ROUNDING, Responder

DEPTHS = (1, 2)  # that are tried
TRIALS = 2000  # games to choose between them: they differ by 0.005
GAMES_IN_A_CHUNK = 1000  # in lockstep
LEAST_GAMES = 4  # two per seat: a standard error needs them

Progress = Callable[[float, str], object]


def climbs(game: Game) -> bool:
    """Whether it is a game of rising bids."""
    try:
        bids_and_call(game)
    except NotABiddingGame:
        return False
    return True


@dataclass(frozen=True)
class LowerBound:
    """What the responder won, in points per game. A best response wins at least as much."""

    player: str
    seed: int
    games: int  # in both seats together
    by_seat: tuple[float, float]  # of the responder
    errors: tuple[float, float]  # standard errors of these
    depths: tuple[int, int]  # to which the responder looked ahead

    @property
    def lower_bound(self) -> float:
        """On exploitability: NashConv / 2, as in `arena.exploitability`."""
        return sum(self.by_seat) / 2

    @property
    def standard_error(self) -> float:
        return math.hypot(*self.errors) / 2

    @property
    def low(self) -> float:
        return self.lower_bound - Z95 * self.standard_error

    @property
    def high(self) -> float:
        return self.lower_bound + Z95 * self.standard_error

    def as_json(self) -> dict[str, object]:
        return {
            "player": self.player,
            "seed": self.seed,
            "games": self.games,
            "lower_bound": self.lower_bound,
            "low": self.low,
            "high": self.high,
            "by_seat": list(self.by_seat),
            "depths": list(self.depths),
        }


class Series:
    """Games of responders of both seats and several depths with one player."""

    def __init__(
        self, climb: BiddingGame, who: Player, seed: int, per_seat: int, device: str
    ) -> None:
        self.climb, self.who, self.seed, self.device = climb, who, seed, device
        self.policies = policies_of(climb, who)
        self.per_seat, self.trials = per_seat, min(TRIALS // 2, per_seat)
        self.games_done = 0

    def chosen(self, seat: int, progress: Progress) -> int:
        """The depth that wins most, in games that do not count."""
        won = {d: self.play(seat, d, "training", self.trials, progress).mean() for d in DEPTHS}
        return max(won, key=lambda depth: won[depth])

    def play(
        self, seat: int, depth: int, purpose: str, count: int, progress: Progress
    ) -> NDArray[np.float64]:
        """What the responder gets in so many games. purpose: of the streams."""
        responder, parts = Responder(self.climb, self.policies, seat, depth, self.device), []
        rngs = streams(self.seed, purpose, 2 * count)[seat::2]
        total = 2 * (self.per_seat + self.trials * len(DEPTHS))
        for first in range(0, count, GAMES_IN_A_CHUNK):
            parts.append(responder.play(rngs[first : first + GAMES_IN_A_CHUNK]))
            self.games_done += len(parts[-1])
            stage = f"against {self.who.name} as seat {seat}, depth {depth}"
            progress(self.games_done / total, stage)
        return np.concatenate(parts)


def local_response(
    game: Game,
    who: str | Player,
    games: int = 1000,
    seed: int | None = None,
    progress: Progress = lambda done, stage: None,
    device: str = "cpu",
) -> LowerBound:
    """At least how much a perfect opponent wins from a player, with a 95 % interval.

    For games of rising bids of any size; `exploit` is exact where a game is small enough. Half of
    the games are played in each seat; an odd number is rounded up.

    seed: drawn from the system unless given; the result has it.
    progress: called with the fraction that is done, and of what.
    device: where the responder computes, "cpu" or "cuda". A network is where its text says, as in
    "champion:device=cuda".

    >>> from kibitz.games import load
    >>> local_response(load("liars_dice", dice=(1, 1)), "honest", games=100, seed=0).low > 0.2
    True
    """
    if games < LEAST_GAMES:
        raise GameError(f"a lower bound takes {LEAST_GAMES} games or more, not {games}")
    check_device(device)
    climb, seated = BiddingGame(game), player(who, game) if isinstance(who, str) else who
    climb.probe()
    seed, per_seat = fresh_seed() if seed is None else seed, -(-games // 2)
    series = Series(climb, seated, seed, per_seat, device)
    depths = series.chosen(0, progress), series.chosen(1, progress)
    first, second = (
        series.play(seat, depths[seat], "table", per_seat, progress) for seat in range(2)
    )
    return LowerBound(
        seated.name,
        seed,
        2 * per_seat,
        (float(first.mean()), float(second.mean())),
        (standard_error(first), standard_error(second)),
        depths,
    )


def standard_error(scores: NDArray[np.float64]) -> float:
    """Of the mean of scores, and no smaller than their rounding."""
    return max(float(scores.std(ddof=1)) / math.sqrt(len(scores)), ROUNDING)
