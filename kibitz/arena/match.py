"""Matches: the same deals with the seats exchanged, all games of a chunk in lockstep.

A *group* of games is one stream of chance played once in every rotation of the seats (a pair, with
two seats). Luck of the deal cancels within a group, so the interval is over group means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..batch import Batch
from ..chance import fresh_seed, streams
from ..game import Game, GameError
from ..options import shown
from ..players import Player, Scripted, Sight, answers, player

GROUPS_IN_A_CHUNK = 500  # saved and shown together; part of what a saved match means
Z95 = 1.959964

Array = Any
Span = tuple[int, int]  # first group, how many groups


@dataclass(frozen=True)
class Chunk:
    """The results of some groups, enough to add up: sums over groups."""

    groups: int
    games: int
    draws: int
    rates: list[float]  # by player: sum of its group means
    squares: list[float]  # by player: sum of their squares
    scores: list[float]  # by player: sum over its games of its score
    by_seat: list[float]  # by seat: sum over groups of the first player's rate in that seat
    points: list[list[float]]  # [a][b]: comparisons that a won against b, a draw as one half

    def __add__(self, other: Chunk) -> Chunk:
        return Chunk(
            self.groups + other.groups,
            self.games + other.games,
            self.draws + other.draws,
            _added(self.rates, other.rates),
            _added(self.squares, other.squares),
            _added(self.scores, other.scores),
            _added(self.by_seat, other.by_seat),
            [_added(a, b) for a, b in zip(self.points, other.points, strict=True)],
        )


def _added(a: list[float], b: list[float]) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


@dataclass(frozen=True)
class MatchResult:
    """How the first player did: its win rate (a draw is one half) and the 95 % interval."""

    game: str
    players: tuple[str, ...]
    seed: int
    total: Chunk

    @property
    def games(self) -> int:
        return self.total.games

    @property
    def draws(self) -> int:
        return self.total.draws

    @property
    def win_rate(self) -> float:
        return self.rate(0)

    @property
    def low(self) -> float:
        return self.interval(0)[0]

    @property
    def high(self) -> float:
        return self.interval(0)[1]

    @property
    def standard_error(self) -> float:
        """Of the first player's win rate, over groups."""
        return self._error(0)

    @property
    def mean_score(self) -> float:
        """Of the first player, a game: chips where the game counts chips."""
        return self.total.scores[0] / self.games

    @property
    def by_seat(self) -> list[float]:
        """The first player's win rate in each seat."""
        return [rate / self.total.groups for rate in self.total.by_seat]

    def rate(self, k: int) -> float:
        """Win rate of player k."""
        return self.total.rates[k] / self.total.groups

    def _error(self, k: int) -> float:
        n = self.total.groups
        spread = self.total.squares[k] / n - self.rate(k) ** 2
        return math.sqrt(max(spread, 0.0) / max(n - 1, 1))

    def interval(self, k: int) -> tuple[float, float]:
        """95 % interval of player k's win rate.

        Where every group ended alike there is no spread to go by: then Wilson's interval for
        proportions is used, with a group for a trial.
        """
        p, error, n = self.rate(k), self._error(k), self.total.groups
        if error > 0:
            return max(0.0, p - Z95 * error), min(1.0, p + Z95 * error)
        middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 / (1 + Z95**2 / n) * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def elo(self) -> float:
        return elo(self.win_rate)

    def agrees(self, rate: float, error: float = 0.0) -> bool:
        """Whether a reference rate is within 3.3 standard errors of the two together."""
        return abs(self.win_rate - rate) <= 3.3 * math.hypot(self.standard_error, error)

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "players": list(self.players),
            "seed": self.seed,
            "games": self.games,
            "win_rate": self.win_rate,
            "low": self.low,
            "high": self.high,
            "draws": self.draws,
            "elo": self.elo if math.isfinite(self.elo) else None,
            "mean_score": self.mean_score,
            "by_seat": self.by_seat,
            "rates": {name: self.rate(k) for k, name in enumerate(self.players)},
        }


def elo(rate: float) -> float:
    """The Elo difference that makes this win rate expected; infinite at 0 and 1."""
    if rate <= 0.0 or rate >= 1.0:
        return math.copysign(math.inf, rate - 0.5)
    return 400.0 * math.log10(rate / (1.0 - rate))


def match(
    game: Game,
    *players: str | Player,
    games: int = 2000,
    seed: int | None = None,
    progress: Callable[[MatchResult], None] | None = None,
    kept: MutableMapping[Span, Chunk] | None = None,
) -> MatchResult:
    """Play `games` games and say how the first player did.

    With fewer players than seats they are dealt round the table in order. The number of games is
    rounded up to whole groups. Chunks found in `kept` are not played again; new ones are put there.

    seed: drawn from the system unless given; the result has it.

    >>> from kibitz.games import load
    >>> match(load("liars_dice"), "honest", "random", games=400, seed=1).win_rate > 0.9
    True
    """
    if not isinstance(games, (int, np.integer)) or games < 1:
        raise GameError(f"a match has at least one game, not {shown(games)}")
    if not 2 <= len(players) <= game.seats:
        raise GameError(f"{game.name} seats 2 to {game.seats} players, not {len(players)}")
    seed = fresh_seed() if seed is None else seed
    seated = [player(p, game) if isinstance(p, str) else p for p in players]
    kept = {} if kept is None else kept
    groups = -(-games // game.seats)
    result = None
    for first in range(0, groups, GROUPS_IN_A_CHUNK):
        span = (first, min(GROUPS_IN_A_CHUNK, groups - first))
        chunk = kept.get(span)
        if chunk is None:
            chunk = kept[span] = play_chunk(game, seated, seed, *span)
        total = chunk if result is None else result.total + chunk
        result = MatchResult(game.name, tuple(p.name for p in seated), seed, total)
        if progress is not None:
            progress(result)
    assert result is not None
    return result


def play_chunk(game: Game, players: Sequence[Player], seed: int, first: int, groups: int) -> Chunk:
    """Groups `first` ... `first + groups - 1` of a match."""
    seats, n = game.seats, groups * game.seats
    line_up = np.arange(seats) % len(players)
    rotations = np.stack([np.roll(line_up, r) for r in range(seats)])
    who = np.tile(rotations, (groups, 1))  # [game, seat]: index of the player
    tables = streams(seed, "table", groups, first).repeat(seats)
    own = streams(seed, "player", n * len(players), first * seats * len(players))
    scores = play_series(game, players, who, tables, own.reshape(n, len(players)))
    return _summed(game, len(players), scores, who, groups)


def play_series(
    game: Game, players: Sequence[Player], who: Array, tables: Array, own: Array
) -> Array:
    """Final scores [game, seat] of whole games, or of whole matches where a game has rounds.

    After a round the game says how the next one is set up and who sits where in it. Games in the
    same state of their match go on together.
    """
    final = np.zeros(who.shape, np.float32)
    origin = np.tile(np.arange(game.seats), (len(who), 1))  # where each seat of this round began
    rounds = {game.options: np.arange(len(who))}
    while rounds:
        following: dict[Any, list[int]] = {}
        for options, some in rounds.items():
            now = game.under(options)
            seated = np.take_along_axis(who[some], origin[some], 1)
            scores, tables[some], own[some] = play_out(
                now, players, seated, tables[some], own[some]
            )
            for i, got in zip(some, scores, strict=True):
                final[i, origin[i]] = got
                after = now.next_round(options, got) if now.next_round else None
                if after is not None:
                    origin[i] = origin[i][list(after[1])]
                    following.setdefault(after[0], []).append(int(i))
        rounds = {options: np.array(some) for options, some in following.items()}
    return final


def play_out(
    game: Game, players: Sequence[Player], who: Array, tables: Array, own: Array
) -> tuple[Array, Array, Array]:
    """Play games to the end in lockstep: scores [game, seat] and both kinds of streams.

    own: a stream for every player at every table [game, player], so that nobody can foretell what
    another one draws.
    """
    batch = Batch.of(game, np.zeros(len(who), game.state), tables)
    batch.start()
    if len(players) == 2 and all(isinstance(each, Scripted) for each in players):
        batch.contest(players[0].name, players[1].name, who, own)  # nobody else is to be asked
        return batch.scores(), tables, own
    while True:
        batch.settle()
        turns = batch.turns()
        if (turns < 0).all():
            return batch.scores(), tables, own
        mover = np.where(turns >= 0, who[np.arange(len(who)), turns], -1)
        chosen = np.full(len(who), -1, np.int64)
        for k, each in enumerate(players):
            if (asked := np.flatnonzero(mover == k)).size:
                sight = Sight(game, batch.states[asked], turns[asked], own[asked, k])
                chosen[asked] = answers(each, sight)
                own[asked, k] = sight.rngs
        batch.play(chosen, check=False)  # `answers` has looked


def _summed(game: Game, players: int, scores: Array, who: Array, groups: int) -> Chunk:
    seats = game.seats
    if seats == 2:
        rates = 0.5 + 0.5 * np.sign(scores - scores[:, ::-1])
    else:
        low, high = game.score_range
        rates = (scores - low) / (high - low)
    means = np.zeros((groups, players))
    sums = np.zeros(players)
    for k in range(players):
        mine = who == k
        means[:, k] = (rates * mine).reshape(groups, -1).sum(1) / mine.reshape(groups, -1).sum(1)
        sums[k] = (scores * mine).sum() / mine.sum() * len(who)
    first = [float((rates[:, s] * (who[:, s] == 0)).sum()) for s in range(seats)]
    share = (np.arange(seats) % players == 0).sum()
    return Chunk(
        groups=groups,
        games=len(who),
        draws=int((scores == scores[:, :1]).all(1).sum()),
        rates=means.sum(0).tolist(),
        squares=(means**2).sum(0).tolist(),
        scores=sums.tolist(),
        by_seat=[x / float(share) for x in first],
        points=_points(players, scores, who),
    )


def _points(players: int, scores: Array, who: Array) -> list[list[float]]:
    points = np.zeros((players, players))
    for i in range(who.shape[1]):
        for j in range(who.shape[1]):
            better = 0.5 + 0.5 * np.sign(scores[:, i] - scores[:, j])
            different = who[:, i] != who[:, j]
            np.add.at(points, (who[different, i], who[different, j]), better[different])
    return points.tolist()
