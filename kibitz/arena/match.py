"""Matches: the same deals with the teams exchanged, all games of a chunk in lockstep.

A *group* of games is one stream of chance played once in every rotation of the line-up over the
teams (a pair, with two teams). Luck of the deal cancels within a group, so intervals are over group
means. A seat without partners is a team of its own.

Who has the highest score wins; a first place that several teams share is divided among them. With
two teams a draw is one half of a win for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..batch import Batch
from ..chance import fresh_seed, streams
from ..devices import Array
from ..game import Game, GameError
from ..options import Options, shown
from ..players import Player, Scripted, Sight, answers, player
from .lone_networks import play_lone_networks

GROUPS_IN_A_CHUNK = 500  # saved and shown together; part of what a saved match means
Z95 = 1.959964

Span = tuple[int, int]  # first group, how many groups


@dataclass(frozen=True)
class Chunk:
    """The results of several groups: counts, and sums over groups."""

    groups: int
    games: int
    draws: int  # games in which all teams scored the same
    teams: list[int]  # by player: how many teams it has at the table
    wins: list[float]  # by player: sum of its wins per game of a group
    win_squares: list[float]  # by player: sum of their squares
    scores: list[float]  # by player: sum of its mean scores in a group
    score_squares: list[float]  # by player: sum of their squares
    by_seat: list[float]  # by seat: sum of the wins of its team when the first player has it

    def __add__(self, other: Chunk) -> Chunk:
        sums: dict[str, Any] = {"teams": self.teams}  # the only field that is no sum
        for name in (field.name for field in fields(Chunk) if field.name not in sums):
            a, b = getattr(self, name), getattr(other, name)
            listed = isinstance(a, list)
            sums[name] = [x + y for x, y in zip(a, b, strict=True)] if listed else a + b
        return Chunk(**sums)


@dataclass(frozen=True)
class Estimate:
    """A mean over groups of games, with its standard error and its 95 % interval."""

    mean: float
    error: float
    low: float
    high: float


def estimate(
    total: float, squares: float, chunk: Chunk, bounds: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """From the sum over the groups of a chunk and the sum of squares; bounds: what is possible.

    Where every group ended alike there is no spread to go by, and where a group is one game it says
    little: then Wilson's interval for proportions is used, with a group for a trial.
    """
    n = chunk.groups
    mean = total / n
    error = math.sqrt(max(squares / n - mean**2, 0.0) / max(n - 1, 1))
    if error > 0 and chunk.games > n:
        low, high = mean - Z95 * error, mean + Z95 * error
    else:
        low, high = (bounds[0] + (bounds[1] - bounds[0]) * p for p in _wilson(mean, n, bounds))
    return Estimate(mean, error, max(bounds[0], low), min(bounds[1], high))


def _wilson(mean: float, n: int, bounds: tuple[float, float]) -> tuple[float, float]:
    p = (mean - bounds[0]) / (bounds[1] - bounds[0])
    middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
    return middle - half, middle + half


@dataclass(frozen=True)
class MatchResult:
    """How the first player did: how often it won, and what it scored."""

    game: str
    players: tuple[str, ...]
    seed: int
    total: Chunk
    score_range: tuple[float, float] = (-1.0, 1.0)

    @property
    def games(self) -> int:
        return self.total.games

    @property
    def draws(self) -> int:
        return self.total.draws

    def wins(self, k: int = 0) -> Estimate:
        """The wins of player k per game."""
        return estimate(self.total.wins[k], self.total.win_squares[k], self.total)

    def score(self, k: int = 0) -> Estimate:
        """What a team of player k scores per game: chips where the game counts chips."""
        total = self.total
        return estimate(total.scores[k], total.score_squares[k], total, self.score_range)

    @property
    def win_rate(self) -> float:
        return self.wins().mean

    @property
    def low(self) -> float:
        return self.wins().low

    @property
    def high(self) -> float:
        return self.wins().high

    @property
    def standard_error(self) -> float:
        """Of the first player's win rate, over groups."""
        return self.wins().error

    @property
    def mean_score(self) -> float:
        return self.score().mean

    @property
    def by_seat(self) -> list[float]:
        """How often the team of each seat won when the first player had it."""
        return [wins / self.total.groups for wins in self.total.by_seat]

    @property
    def even_rate(self) -> float:
        """The win rate that the first player would have with as many teams as all others.

        Luck alone wins one game of three with one team of three: that is an even rate of one half.
        """
        own, others = self.total.teams[0], sum(self.total.teams[1:])
        won, lost = self.win_rate * others, (1 - self.win_rate) * own
        return won / (won + lost)

    @property
    def elo(self) -> float:
        return elo(self.even_rate)

    def agrees(self, rate: float, error: float = 0.0) -> bool:
        """Whether a reference rate is within 3.3 standard errors of the two together."""
        return abs(self.win_rate - rate) <= 3.3 * math.hypot(self.standard_error, error)

    def as_json(self) -> dict[str, object]:
        return {
            "game": self.game,
            "players": list(self.players),
            "seed": self.seed,
            "games": self.games,
            **self._figures(0),
            "draws": self.draws,
            "elo": self.elo if math.isfinite(self.elo) else None,
            "by_seat": self.by_seat,
            "by_player": [
                {"player": name, "teams": self.total.teams[k], **self._figures(k)}
                for k, name in enumerate(self.players)
            ],
        }

    def _figures(self, k: int) -> dict[str, float]:
        wins, score = self.wins(k), self.score(k)
        return {
            "win_rate": wins.mean,
            "low": wins.low,
            "high": wins.high,
            "mean_score": score.mean,
            "score_low": score.low,
            "score_high": score.high,
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

    Partners are one player: see `line_ups`. The number of games is rounded up to whole groups, as
    `games_played` says. Chunks found in `kept` are not played again; new ones are put there.

    seed: drawn from the system unless given; the result has it.

    >>> from kibitz.games import load
    >>> match(load("liars_dice"), "honest", "random", games=400, seed=1).win_rate > 0.9
    True
    """
    groups = games_played(game, len(players), games) // len(line_ups(game, len(players)))
    seed = fresh_seed() if seed is None else seed
    seated = [player(p, game) if isinstance(p, str) else p for p in players]
    names = tuple(p.name for p in seated)
    kept = {} if kept is None else kept
    result = None
    for first in range(0, groups, GROUPS_IN_A_CHUNK):
        span = (first, min(GROUPS_IN_A_CHUNK, groups - first))
        chunk = kept.get(span)
        if chunk is None:
            chunk = kept[span] = play_chunk(game, seated, seed, *span)
        total = chunk if result is None else result.total + chunk
        result = MatchResult(game.name, names, seed, total, game.score_range)
        if progress is not None:
            progress(result)
    assert result is not None
    return result


def line_ups(game: Game, players: int) -> Array:
    """Who has which team in the games of a group: every distinct rotation. [rotation, team]

    Players are dealt round the teams in order; teams that are left over go to the last player. So
    with three teams the first of two players has one team and the other has two; with four, both
    have two.
    """
    teams = len(game.captains)
    if teams < 2:
        raise GameError(f"{game.name} has one team, which has nobody to play against")
    if not 2 <= players <= teams:
        raise GameError(f"{game.name} seats 2 to {teams} players, not {players}")
    whole = teams // players * players
    line_up = np.array([team % players if team < whole else players - 1 for team in range(teams)])
    rotations = [tuple(np.roll(line_up, r)) for r in range(teams)]
    return np.array(list(dict.fromkeys(rotations)))


def games_played(game: Game, players: int, games: int) -> int:
    """How many games a match of `games` has: whole groups of games that share a deal."""
    if not isinstance(games, (int, np.integer)) or games < 1:
        raise GameError(f"a match has at least one game, not {shown(games)}")
    group = len(line_ups(game, players))
    return -(-int(games) // group) * group


def play_chunk(game: Game, players: Sequence[Player], seed: int, first: int, groups: int) -> Chunk:
    """Groups `first` ... `first + groups - 1` of a match."""
    owners, tables, own = line_up_groups(game, len(players), seed, first, groups)
    scores = play_series(game, players, owners[:, game.teams], tables, own)
    return summed(game, scores, owners, groups)


def line_up_groups(
    game: Game, players: int, seed: int, first: int, groups: int
) -> tuple[Array, Array, Array]:
    """The owners of teams [game, team], streams of tables [game], and of players [game, player].

    All games of a group share the stream of their table.
    """
    rotations = line_ups(game, players)
    size, n = len(rotations), groups * len(rotations)
    tables = streams(seed, "table", groups, first).repeat(size)
    own = streams(seed, "player", n * players, first * size * players)
    return np.tile(rotations, (groups, 1)), tables, own.reshape(n, players)


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
        following: dict[Options, list[int]] = {}
        for options, rows in rounds.items():
            now = game.under(options)
            seated = np.take_along_axis(who[rows], origin[rows], 1)
            scores, tables[rows], own[rows] = play_out(
                now, players, seated, tables[rows], own[rows]
            )
            for i, got in zip(rows, scores, strict=True):
                final[i, origin[i]] = got
                after = now.next_round(options, got) if now.next_round else None
                if after is not None:
                    origin[i] = origin[i][list(after[1])]
                    following.setdefault(after[0], []).append(int(i))
        rounds = {options: np.array(rows) for options, rows in following.items()}
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
    if len(players) == 2 and all(isinstance(who_plays, Scripted) for who_plays in players):
        batch.contest(players[0].name, players[1].name, who, own)  # compiled players need no sight
    else:
        play_on(batch, players, who, own)
    return batch.scores(), tables, own


def play_on(batch: Batch, players: Sequence[Player], who: Array, own: Array) -> None:
    """Play games to the end in lockstep, from where they stand; streams move on.

    Compiled players decide first, until all games wait for others: who searches gets more tables at
    a time, and that costs a GPU hardly more. Networks that do not search need nobody to wait.
    """
    play_lone_networks(batch, players, who, own)
    scripted = np.array([isinstance(who_plays, Scripted) for who_plays in players])
    while True:
        batch.settle()
        turns = batch.turns()
        if (turns < 0).all():
            return
        mover = np.where(turns >= 0, who[np.arange(len(who)), turns], -1)
        if (at_once := (mover >= 0) & scripted[mover]).any():
            mover[~at_once] = -1
        chosen = np.full(len(who), -1, np.int64)
        for k in np.unique(mover[mover >= 0]):
            asked = np.flatnonzero(mover == k)
            sight = Sight(batch.game, batch.states[asked], turns[asked], own[asked, k])
            chosen[asked] = answers(players[k], sight)
            own[asked, k] = sight.rngs
        batch.play(chosen, check=False)  # `answers` has checked them


def summed(game: Game, scores: Array, owners: Array, groups: int) -> Chunk:
    """The results of whole groups. scores: [game, seat]; owners: by game and team, the player."""
    by_team = scores[:, game.captains].astype(np.float64)
    best = by_team == by_team.max(1, keepdims=True)
    wins = best / best.sum(1, keepdims=True)
    players = int(owners.max()) + 1
    teams = [int((owners[0] == k).sum()) for k in range(players)]
    won, scored = np.zeros((2, groups, players))
    for k in range(players):
        mine = owners == k
        won[:, k] = (wins * mine).sum(1).reshape(groups, -1).mean(1)
        scored[:, k] = (by_team * mine).sum(1).reshape(groups, -1).mean(1) / teams[k]
    first = owners == 0
    by_seat = ((wins * first).sum(0) / (first.sum(0) // groups))[list(game.teams)]
    return Chunk(
        groups=groups,
        games=len(scores),
        draws=int(best.all(1).sum()),
        teams=teams,
        wins=won.sum(0).tolist(),
        win_squares=(won**2).sum(0).tolist(),
        scores=scored.sum(0).tolist(),
        score_squares=(scored**2).sum(0).tolist(),
        by_seat=by_seat.tolist(),
    )
