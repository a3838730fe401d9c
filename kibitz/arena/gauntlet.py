"""A gauntlet: one player after another meets several opponents under several options of a game.

Options of one shape differ in numbers that the states hold, so tables of all pairings are played in
lockstep, as many at a time as a GPU does well with. What has been played is kept in a file, and is
not played again.
"""

from __future__ import annotations

import functools
import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..batch import Batch
from ..devices import Array
from ..game import Game, GameError
from ..options import whole_number
from ..players import Player, identity_of, player, spelled
from .match import Z95, Chunk, MatchResult, Span, line_up_groups, play_on, summed
from .results import SavedChunks, opened_to_save

GROUPS = 50  # that are saved together; part of what a saved gauntlet means


@dataclass(frozen=True)
class Pairing:
    """A player, its opponent, and the name of the table that they meet at."""

    player: str
    against: str
    table: str


@dataclass(frozen=True)
class Part:
    """Groups of one pairing that are played together."""

    pairing: Pairing
    game: Game
    span: Span


Kept = dict[Pairing, SavedChunks]
Progress = Callable[[str, int, int], None]
"""Called with who plays, how many of its games are done, and how many it plays."""


@dataclass
class Gauntlet:
    """What has been played, by pairing."""

    results: dict[Pairing, MatchResult] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long the games of each player took, as far as they were played now."""

    def tables(self, who: str, against: str) -> dict[str, MatchResult]:
        """The results of two, by table."""
        pairs = (p for p in self.results if (p.player, p.against) == (who, against))
        return {pair.table: self.results[pair] for pair in pairs}

    def hardest(self, who: str, among: Sequence[str]) -> dict[str, tuple[str, MatchResult]]:
        """Who of these opponents wins most from a player, by table."""
        found: dict[str, tuple[str, MatchResult]] = {}
        for pair, result in self.results.items():
            if pair.player == who and pair.against in among:
                before = found.get(pair.table)
                if before is None or result.win_rate < before[1].win_rate:
                    found[pair.table] = pair.against, result
        return found


def average(results: Sequence[MatchResult]) -> tuple[float, float, float]:
    """The mean win rate over tables that count alike, and its 95 % interval."""
    mean = sum(result.win_rate for result in results) / len(results)
    error = math.sqrt(sum(result.standard_error**2 for result in results)) / len(results)
    return mean, max(0.0, mean - Z95 * error), min(1.0, mean + Z95 * error)


def gauntlet(
    file: Path,
    tables: Mapping[str, Game],
    players: Sequence[str],
    opponents: Mapping[str, Sequence[str]],
    *,
    games: int,
    seed: int = 1,
    at_once: int = 16384,
    progress: Progress = lambda who, done, of: None,
) -> Gauntlet:
    """Let every player meet its opponents, at least `games` games at each table.

    tables: games of one shape, by name. opponents: texts, with the names of the tables that each is
    met at. file: of results; whatever it has of these pairings is part of the answer, so 0 games
    only read it. at_once: games in lockstep.
    """
    found, any_game = Gauntlet(), one_shape(tables)
    at_once = whole_number("games at once", at_once, least=2)
    seats = {text: player(text, any_game) for text in opponents}
    for text in players:
        began, me = time.monotonic(), player(text, any_game)
        pairings = [Pairing(text, other, t) for other, at in opponents.items() for t in at]
        with opened(file, tables, pairings, {text: me, **seats}, seed) as kept:
            todo = [p for p in parts(tables, pairings, games) if p.span not in kept[p.pairing]]
            left = total = sum(2 * part.span[1] for part in todo)
            for batch in batches(todo, at_once):
                progress(text, total - left, total)
                for part, chunk in zip(batch, play_parts(batch, me, seats, seed), strict=True):
                    kept[part.pairing][part.span] = chunk
                    left -= chunk.games
            progress(text, total, total)
            found.results |= {
                pair: result(any_game, pair, list(chunks.values()), seed)
                for pair, chunks in kept.items()
                if chunks
            }
        found.seconds[text] = time.monotonic() - began
    return found


def one_shape(tables: Mapping[str, Game]) -> Game:
    """One of the games, once all are known to be for two, of one round and of the same shape."""
    first, *others = tables.values()
    if any(other.state != first.state or other.name != first.name for other in others):
        raise GameError("the tables of a gauntlet are of one game and have states of one shape")
    if len(first.captains) != 2 or first.next_round is not None:
        raise GameError(f"a gauntlet is for two sides and one round, and {first.name} is not")
    return first


@contextmanager
def opened(
    file: Path,
    tables: Mapping[str, Game],
    pairings: Sequence[Pairing],
    seated: Mapping[str, Player],
    seed: int,
) -> Iterator[Kept]:
    """The results so far of all these pairings."""
    identities = {text: identity_of(who) for text, who in seated.items()}
    with opened_to_save(file) as db:
        kept = {}
        for pair in pairings:
            both = pair.player, pair.against
            names, known = [spelled(text) for text in both], [identities[text] for text in both]
            kept[pair] = SavedChunks(db, file, tables[pair.table], names, known, seed)
        yield kept


def parts(tables: Mapping[str, Game], pairings: Sequence[Pairing], games: int) -> Iterator[Part]:
    """All parts, those of different pairings in turns: what is kept of each grows evenly."""
    groups = -(-whole_number("the games of a pairing", games) // 2)
    for first in range(0, groups, GROUPS):
        for pair in pairings:
            yield Part(pair, tables[pair.table], (first, min(GROUPS, groups - first)))


def batches(todo: Sequence[Part], at_once: int) -> Iterator[list[Part]]:
    """Parts that are played together."""
    size = max(1, at_once // (2 * GROUPS))
    for first in range(0, len(todo), size):
        yield list(todo[first : first + size])


def play_parts(
    batch: Sequence[Part], me: Player, seats: Mapping[str, Player], seed: int
) -> list[Chunk]:
    """The results of parts, played in lockstep."""
    numbers = {text: number for number, text in enumerate(seats, 1)}
    begun = [begin(part, numbers, seed) for part in batch]
    game, owners = batch[0].game, [part.owners for part in begun]
    states, rngs, who, own = (
        np.concatenate([getattr(part, name) for part in begun])
        for name in ("states", "rngs", "who", "own")
    )
    played = Batch.of(game, states, rngs)
    play_on(played, [me, *seats.values()], who, own)
    ends = np.cumsum([len(mine) for mine in owners])
    scores = np.split(played.scores(), ends[:-1])
    return [
        summed(game, got, mine, part.span[1])
        for got, mine, part in zip(scores, owners, batch, strict=True)
    ]


class Begun(NamedTuple):
    """The games of a part before anything happened."""

    owners: Array  # 0 where the player has a team, 1 where its opponent has [game, team]
    who: Array  # the number of the player in each seat [game, seat]
    states: Array
    rngs: Array  # of the tables
    own: Array  # of all players, also of those that are not here [game, player]


def begin(part: Part, numbers: Mapping[str, int], seed: int) -> Begun:
    """numbers: of the opponents; 0 is the player that meets them."""
    game, other = part.game, numbers[part.pairing.against]
    owners, rngs, both = line_up_groups(game, 2, seed, *part.span)
    batch = Batch.of(game, np.zeros(len(owners), game.state), rngs)
    batch.start()
    own = np.repeat(both[:, :1], 1 + len(numbers), 1)
    own[:, other] = both[:, 1]
    return Begun(owners, (owners * other)[:, game.teams], batch.states, rngs, own)


def result(game: Game, pair: Pairing, chunks: Sequence[Chunk], seed: int) -> MatchResult:
    total = functools.reduce(operator.add, chunks)
    return MatchResult(game.name, (pair.player, pair.against), seed, total, game.score_range)
