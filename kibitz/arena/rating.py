"""Matches that are kept in a file, and the ratings that they add up to.

The same match, asked for again, goes on where it stopped; `results` says what makes it the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..chance import fresh_seed
from ..devices import Array
from ..game import Game
from ..players import identity_of, player, spelled
from .match import Z95, Chunk, MatchResult, match
from .results import (
    KeyedBy,
    PairsChunk,
    ResultsError,
    SavedChunks,
    SavedMatch,
    opened_to_save,
    saved_matches,
)

__all__ = [
    "Encounter",
    "Rating",
    "ResultsError",
    "bradley_terry",
    "ratings",
    "saved_match",
    "unrated_games",
]

LineUp = tuple[tuple[str, int], ...]  # players by key, ascending, with how many teams each has


@dataclass
class Encounter:
    """All games of the same players with the same numbers of teams."""

    line_up: LineUp
    wins: dict[str, float]
    games: int = 0


Tally = dict[LineUp, Encounter]


def saved_match(
    path: Path | str, game: Game, *players: str, seed: int | None = None, **settings: Any
) -> MatchResult:
    """Like `match`, kept in a file; what the file has already is not played again.

    seed: unless given, that of the same match in the file, or else one drawn from the system.
    """
    seated = [player(text, game) for text in players]
    names, identities = [spelled(text) for text in players], [identity_of(who) for who in seated]
    with opened_to_save(Path(path)) as db:
        kept = SavedChunks(db, Path(path), game, names, identities, seed)
        kept.seed = fresh_seed() if kept.seed is None else kept.seed
        return match(game, *seated, seed=kept.seed, kept=kept, **settings)


# Ratings ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rating:
    """A player's strength on the Elo scale, where the players of a game average 0."""

    player: str
    elo: float
    error: float  # half the width of the 95 % interval
    games: int
    keyed_by: KeyedBy = "identity"


def ratings(path: Path | str, game: str | None = None) -> dict[str, list[Rating]]:
    """Ratings by game (and options, where several were played), strongest first.

    A player is who it is by its identity, and shown by the name it had last. Where two share a name
    a hash tells them apart. Games without a count of wins are left out, see `unrated_games`.
    """
    tallies: dict[tuple[str, str], Tally] = {}  # by title and fingerprint
    names: dict[str, tuple[str, KeyedBy]] = {}  # by key
    for saved, chunk in saved_matches(Path(path)):
        if game in (None, saved.game) and has_wins(chunk):
            keys = _keys(saved)
            names.update({k: (n, saved.keyed_by) for k, n in zip(keys, saved.players, strict=True)})
            tally = tallies.setdefault((f"{saved.game} {saved.options}", saved.fingerprint), {})
            _count(tally, keys, chunk)
    editions = Counter(title for title, _ in tallies)
    return {
        title if editions[title] == 1 else f"{title}, rules {fingerprint}": _named(tally, names)
        for (title, fingerprint), tally in sorted(tallies.items())
    }


def unrated_games(path: Path | str, game: str | None = None) -> int:
    """Games of more than two seats of which an earlier format did not keep who won."""
    found = (row for row in saved_matches(Path(path)) if game in (None, row[0].game))
    return sum(chunk.games for _, chunk in found if not has_wins(chunk))


def has_wins(chunk: Chunk | PairsChunk) -> bool:
    """Whether a chunk says who won: with two seats that is who won the comparison of seats."""
    if isinstance(chunk, Chunk):
        return True
    return chunk.games == 2 * chunk.groups and len(chunk.points) == 2


def _keys(saved: SavedMatch) -> list[str]:
    """The players of a match, each as a text that nobody else has."""
    return [f"{saved.keyed_by} {identity}" for identity in saved.identities]


def _count(tally: Tally, players: list[str], chunk: Chunk | PairsChunk) -> None:
    """Add a chunk; a player that meets nobody but itself shows nothing of its strength."""
    teams, wins = _teams_and_wins(chunk)
    line_up = Counter[str]()
    for key, count in zip(players, teams, strict=True):
        line_up[key] += count
    if len(line_up) < 2:
        return
    met = tuple(sorted(line_up.items()))
    encounter = tally.setdefault(met, Encounter(met, dict.fromkeys(line_up, 0.0)))
    encounter.games += chunk.games
    for key, won in zip(players, wins, strict=True):
        encounter.wins[key] += won


def _teams_and_wins(chunk: Chunk | PairsChunk) -> tuple[list[int], list[float]]:
    """By player: how many teams it had at the table, and how many games it won."""
    if isinstance(chunk, PairsChunk):
        return [1, 1], [chunk.points[0][1], chunk.points[1][0]]
    return chunk.teams, [wins * chunk.games / chunk.groups for wins in chunk.wins]


def _named(tally: Tally, names: dict[str, tuple[str, KeyedBy]]) -> list[Rating]:
    """Ratings with names in place of keys."""
    rated = rate(list(tally.values()))
    shared = Counter(names[row.player] for row in rated)
    named = []
    for row in rated:
        name, keyed_by = names[row.player]
        if shared[name, keyed_by] > 1:
            name = f"{name} #{hashlib.sha256(row.player.encode()).hexdigest()[:6]}"
        named.append(dataclasses.replace(row, player=name, keyed_by=keyed_by))
    return named


def bradley_terry(points: Mapping[tuple[str, str], float]) -> list[Rating]:
    """Ratings of players who met two at a time. points: of the first of two against the second."""
    encounters = []
    for a, b in sorted({tuple(sorted(pair)) for pair in points}):
        wins = {a: points.get((a, b), 0.0), b: points.get((b, a), 0.0)}
        encounters.append(Encounter(((a, 1), (b, 1)), wins, round(sum(wins.values()))))
    return rate(encounters)


def rate(encounters: Sequence[Encounter]) -> list[Rating]:
    """Ratings that make the wins likeliest.

    A team wins in proportion to its player's strength, however many teams there are. Half a win for
    everybody in an encounter keeps shut-outs finite.
    """
    games = Counter[str]()
    for encounter in encounters:
        games.update(dict.fromkeys(encounter.wins, encounter.games))
    names = sorted(games)
    strength, information = np.zeros(len(names)), np.zeros((len(names), len(names)))
    for _ in range(100):  # Newton's method on the log-likelihood, which has one maximum
        slope, information = _derivatives(encounters, names, strength)
        step = np.linalg.pinv(information) @ slope
        strength += np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    elo = 400.0 / np.log(10.0)
    error = Z95 * np.sqrt(np.diag(np.linalg.pinv(information)))
    rated = [
        Rating(name, float(elo * strength[k]), float(elo * error[k]), games[name])
        for k, name in enumerate(names)
    ]
    return sorted(rated, key=lambda row: -row.elo)


def _derivatives(
    encounters: Sequence[Encounter], names: list[str], strength: Array
) -> tuple[Array, Array]:
    """Of the log-likelihood: its gradient, and the negative of its second derivatives."""
    slope, information = np.zeros(len(names)), np.zeros((len(names), len(names)))
    for encounter in encounters:
        who = [names.index(name) for name, _ in encounter.line_up]
        won = np.array([encounter.wins[name] + 0.5 for name, _ in encounter.line_up])
        weights = np.exp(strength[who]) * [teams for _, teams in encounter.line_up]
        expected = weights / weights.sum()
        slope[who] += won - won.sum() * expected
        spread = np.diag(expected) - np.outer(expected, expected)
        information[np.ix_(who, who)] += won.sum() * spread
    return slope, information
