"""What a player does in games with itself, how early, and how often those win who do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..chance import Streams, fresh_seed, streams
from ..game import Game
from ..options import whole_number
from ..players import Player, Sight, answers, player
from ..players.champions import has_rounds
from ..players.networks import network_of
from .rounds import RoundValue, round_values

Floats = NDArray[np.float64]

LOOKED_AT = 8  # tables whose attention is asked for at every move: many tables say the same


@dataclass(frozen=True)
class Deed:
    """One kind of action, by its text."""

    text: str
    share: float
    """Of the seats: who did it at least once in a game."""
    times: float
    """How often these did it in a game."""
    first_turn: float
    """At which of its turns such a seat did it first, on average. A turn begins when the move comes
    to a seat from another one."""
    wins_with: float
    """How often seats won that did it."""
    wins_without: float | None
    """How often the others won; None if there were none."""


@dataclass(frozen=True)
class Study:
    """What was done in games of one player with itself."""

    game: str
    player: str
    games: int
    seed: int
    decisions: float
    """Per game."""
    shortest: int
    longest: int
    """Games, in decisions."""
    turns: float
    """Of a seat, per game."""
    deeds: tuple[Deed, ...]
    """The most frequent first."""
    attention: dict[str, float]
    """How much of its attention a network gives to what an action is about, the most first. What is
    missing from 1 it gives to the table as a whole. Empty where nobody can say."""
    rounds: tuple[RoundValue, ...] = ()
    """Of a match, if the game is played in rounds: what each is worth. Deeds are of the first."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class Attention:
    """What a player's network attends to, summed over tables."""

    def __init__(self, who: Player) -> None:
        self.net, self.tables = network_of(who), 0
        self._sums: dict[str, float] = {}

    def note(self, sight: Sight) -> None:
        """Look at the first tables, if the network can say what it looks at."""
        from torch import from_numpy

        from ..nets.net import Attentive

        if self.net is None or not isinstance(self.net, Attentive):
            return
        views = from_numpy(sight.views[:LOOKED_AT]).to(next(self.net.parameters()).device)
        found = self.net.attended(views)
        self.tables += len(views)
        for i, (actions, shares) in enumerate(zip(*(x.tolist() for x in found), strict=True)):
            for action, share in zip(actions, shares, strict=True):
                if action >= 0:
                    text = sight.action_text(i, action)
                    self._sums[text] = self._sums.get(text, 0.0) + share

    @property
    def shares(self) -> dict[str, float]:
        most_first = sorted(self._sums.items(), key=lambda entry: (-entry[1], entry[0]))
        return {text: total / self.tables for text, total in most_first}


class Watched:
    """Who did what at which turn, in many games at once."""

    def __init__(self, game: Game, games: int) -> None:
        self.game, self.turns = game, np.zeros((games, game.seats), np.int64)
        self.decisions = np.zeros(games, np.int64)
        self._last = np.full(games, -1)  # who moved last
        self._first: dict[str, NDArray[np.int64]] = {}  # turn, 0 for never. [games, seats]
        self._times: dict[str, NDArray[np.int64]] = {}  # [games, seats]

    def note(self, i: int, seat: int, text: str, counts: bool) -> None:
        """A decision of a seat in game i; counts: whether it is studied."""
        self.decisions[i] += 1
        if self._last[i] != seat:
            self.turns[i, seat] += 1
            self._last[i] = seat
        if not counts:
            return
        first = self._first.setdefault(text, np.zeros_like(self.turns))
        times = self._times.setdefault(text, np.zeros_like(self.turns))
        times[i, seat] += 1
        if not first[i, seat]:
            first[i, seat] = self.turns[i, seat]

    def deeds(self, won: Floats) -> tuple[Deed, ...]:
        """won: what each seat has of the first place. [games, seats]"""
        found = [self._deed(text, won) for text in self._times]
        return tuple(sorted(found, key=lambda deed: (-deed.share, -deed.times, deed.text)))

    def _deed(self, text: str, won: Floats) -> Deed:
        times, first = self._times[text], self._first[text]
        did = times > 0
        return Deed(
            text=text,
            share=float(did.mean()),
            times=float(times[did].mean()),
            first_turn=float(first[did].mean()),
            wins_with=float(won[did].mean()),
            wins_without=None if did.all() else float(won[~did].mean()),
        )


def study(
    game: Game,
    who: str | Player,
    *,
    games: int = 300,
    only: str = "",
    seed: int | None = None,
    progress: Callable[[int], None] = lambda ended: None,
) -> Study:
    """Let a player play with itself, and count what it does.

    only: the beginning of the texts of actions to count, such as "buy". seed: drawn from the system
    unless given. progress: called with the number of games that have ended, after every decision.

    >>> from kibitz.games import load
    >>> study(load("kuhn"), "random", games=100, only="bet", seed=1).deeds[0].text
    'bet'
    """
    games = whole_number("the games of a study", games, least=1)
    seed = fresh_seed() if seed is None else seed
    seated = player(who, game) if isinstance(who, str) else who
    batch = Batch.of(game, np.zeros(games, game.state), streams(seed, "table", games))
    own = streams(seed, "player", games * game.seats).reshape(games, game.seats)
    attention = Attention(seated)
    watched = _watched(batch, seated, own, only.lower(), attention, progress)
    counts = watched.decisions
    return Study(
        game=game.name,
        player=seated.name,
        games=games,
        seed=seed,
        decisions=float(counts.mean()),
        shortest=int(counts.min()),
        longest=int(counts.max()),
        turns=float(watched.turns.mean()),
        deeds=watched.deeds(wins_by_seat(game, batch.scores())),
        attention=attention.shares,
        rounds=round_values(game, seated, games, seed) if has_rounds(game) else (),
    )


def _watched(
    batch: Batch,
    who: Player,
    own: Streams,
    only: str,
    attention: Attention,
    progress: Callable[[int], None],
) -> Watched:
    """Play all games to their end. own: the player's streams. [games, seats]"""
    game, watched = batch.game, Watched(batch.game, batch.size)
    batch.start()
    batch.settle()
    while (asked := np.flatnonzero(batch.turns() >= 0)).size:
        progress(batch.size - asked.size)
        seats = batch.turns()[asked]
        sight = Sight(game, batch.states[asked], seats, own[asked, seats])
        attention.note(sight)
        chosen = np.full(batch.size, -1, np.int64)
        chosen[asked] = answers(who, sight)
        own[asked, seats] = sight.rngs
        for i, seat in zip(asked, seats, strict=True):
            text = str(game.action_text(batch.states[i], int(chosen[i])))
            watched.note(int(i), int(seat), text, text.lower().startswith(only))
        batch.play(chosen, check=False)  # `answers` has checked them
        batch.settle()
    return watched


def wins_by_seat(game: Game, scores: NDArray[np.float32]) -> Floats:
    """What each seat's team has of the first place, which several may share. [games, seats]"""
    by_team = scores[:, game.captains]
    first = by_team == by_team.max(1, keepdims=True)
    shared = first / first.sum(1, keepdims=True)
    return np.asarray(shared[:, list(game.teams)], np.float64)
