"""Matches that are kept in a file, and the ratings that they add up to.

The same match, asked for again, goes on where it stopped; `results` says what makes it the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..chance import fresh_seed
from ..game import Game
from ..players import identity_of, player, spelled
from .match import Z95, Chunk, MatchResult, match
from .results import (
    KeyedBy,
    ResultsError,
    SavedChunks,
    SavedMatch,
    opened_to_save,
    saved_matches,
)

__all__ = ["Rating", "ResultsError", "bradley_terry", "ratings", "saved_match"]

Tally = dict[tuple[str, str], float]  # by keys of two players: points of the first


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
    games: float
    keyed_by: KeyedBy = "identity"


def ratings(path: Path | str, game: str | None = None) -> dict[str, list[Rating]]:
    """Ratings by game (and options, where several were played), strongest first.

    A player is who it is by its identity, and shown by the name it had last. Where two share a name
    they are told apart by a hash.
    """
    tallies: dict[tuple[str, str], Tally] = {}  # by title and fingerprint
    names: dict[str, tuple[str, KeyedBy]] = {}  # by key
    for saved, chunk in saved_matches(Path(path)):
        if game in (None, saved.game):
            keys = _keys(saved)
            names.update({k: (n, saved.keyed_by) for k, n in zip(keys, saved.players, strict=True)})
            tally = tallies.setdefault((f"{saved.game} {saved.options}", saved.fingerprint), {})
            _count(tally, keys, chunk)
    editions = Counter(title for title, _ in tallies)
    return {
        title if editions[title] == 1 else f"{title}, rules {fingerprint}": _named(tally, names)
        for (title, fingerprint), tally in sorted(tallies.items())
    }


def _keys(saved: SavedMatch) -> list[str]:
    """The players of a match, each as a text that nobody else has."""
    return [f"{saved.keyed_by} {identity}" for identity in saved.identities]


def _count(tally: Tally, players: list[str], chunk: Chunk) -> None:
    for i, a in enumerate(players):
        for j, b in enumerate(players):
            if a != b:
                tally[a, b] = tally.get((a, b), 0.0) + chunk.points[i][j]


def _named(tally: Tally, names: dict[str, tuple[str, KeyedBy]]) -> list[Rating]:
    """Ratings with names in place of keys."""
    rated = bradley_terry(tally)
    shared = Counter(names[row.player] for row in rated)
    named = []
    for row in rated:
        name, keyed_by = names[row.player]
        if shared[name, keyed_by] > 1:
            name = f"{name} #{hashlib.sha256(row.player.encode()).hexdigest()[:6]}"
        named.append(dataclasses.replace(row, player=name, keyed_by=keyed_by))
    return named


def bradley_terry(points: Tally) -> list[Rating]:
    """Ratings that make the results likeliest; a pair of half points keeps shut-outs finite."""
    names = sorted({name for pair in points for name in pair})
    won = np.zeros((len(names), len(names)))
    for (a, b), count in points.items():
        won[names.index(a), names.index(b)] += count
    played = won + won.T
    won = won + 0.5 * (played > 0)
    played = won + won.T
    strength = np.zeros(len(names))
    for _ in range(100):  # Newton's method on the log-likelihood, which has one maximum
        expected = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
        slope = (won - played * expected).sum(1)
        curve = played * expected * (1.0 - expected)
        information = np.diag(curve.sum(1)) - curve
        step = np.linalg.pinv(information) @ slope
        strength += np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    elo = 400.0 / np.log(10.0)
    error = Z95 * np.sqrt(np.diag(np.linalg.pinv(information)))
    rated = [
        Rating(name, float(elo * strength[k]), float(elo * error[k]), float(played[k].sum()))
        for k, name in enumerate(names)
    ]
    return sorted(rated, key=lambda row: -row.elo)
