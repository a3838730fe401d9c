"""What a match of rounds is worth to who begins it, wherever it stands.

A player plays every round that can occur with itself, often. How likely the first seat wins a round
gives how likely it wins the match, from the last rounds back to the first: a match has few kinds of
rounds and many ways through them, so this is far more precise than playing matches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..chance import streams
from ..game import Game, GameError
from ..options import Options
from ..players import Player
from .match import Z95, play_out

Ways = list[tuple["Options | None", int]]
"""By the winner of a round: the round after it, None at the end, and where seat 0 sits then."""


@dataclass(frozen=True)
class RoundValue:
    """A round, as it stands before it."""

    changed: dict[str, object]
    """The options in which rounds of the match differ, such as dice."""
    wins_round: float
    """How often seat 0 wins the round."""
    wins_match: float
    """How often seat 0 wins the match."""
    error: float
    """Half of the 95 % interval of that."""


def round_values(
    game: Game,
    who: Player,
    games: int,
    seed: int,
    progress: Callable[[float], object] = lambda done: None,
) -> tuple[RoundValue, ...]:
    """The value of a match for seat 0 before each round that can occur, the first round first.

    games: rounds of each kind that are played.
    """
    if game.next_round is None or game.seats != 2:
        raise GameError(f"{game.name} has no matches of rounds for two")
    ways = ways_from(game)
    rates: dict[Options, float] = {}
    for number, options in enumerate(ways):
        rates[options] = _wins_of_first(game.under(options), who, games, seed + number)
        progress((number + 1) / len(ways))
    return _solved(game, ways, rates, games)


def ways_from(game: Game) -> dict[Options, Ways]:
    """All rounds that can occur, and what follows them."""
    assert game.next_round is not None
    low, high = game.score_range
    found: dict[Options, Ways] = {}
    waiting = [game.options]
    while waiting:
        options = waiting.pop(0)
        if options in found:
            continue
        found[options] = []
        for winner in range(2):
            after = game.next_round(options, [high if s == winner else low for s in range(2)])
            following, seats = (None, ()) if after is None else after
            found[options].append((following, list(seats).index(0) if seats else 0))
            waiting += [] if following is None else [following]
    return found


def _wins_of_first(game: Game, who: Player, games: int, seed: int) -> float:
    """How often seat 0 wins if the player sits in both seats."""
    seated = np.zeros((games, 2), np.int64)
    own = streams(seed, "player", games).reshape(games, 1)
    scores, *_ = play_out(game, [who], seated, streams(seed, "table", games), own)
    return float((scores[:, 0] > scores[:, 1]).mean() + (scores[:, 0] == scores[:, 1]).mean() / 2)


def _solved(
    game: Game, ways: dict[Options, Ways], rates: dict[Options, float], games: int
) -> tuple[RoundValue, ...]:
    number = {options: n for n, options in enumerate(ways)}
    known: dict[Options, tuple[float, NDArray[np.float64]]] = {}

    def value(options: Options) -> tuple[float, NDArray[np.float64]]:
        """How likely seat 0 wins the match, and how that changes with the rate of each round."""
        if options not in known:
            (won, by_won), (lost, by_lost) = (
                after(winner, *way) for winner, way in enumerate(ways[options])
            )
            rate = rates[options]
            slopes = rate * by_won + (1 - rate) * by_lost
            slopes[number[options]] += won - lost
            known[options] = rate * won + (1 - rate) * lost, slopes
        return known[options]

    def after(winner: int, options: Options | None, seat: int) -> tuple[float, NDArray[np.float64]]:
        if options is None:  # who wins the last round wins the match
            return float(winner == 0), np.zeros(len(ways))
        wins, slopes = value(options)
        return (wins, slopes) if seat == 0 else (1 - wins, -slopes)

    errors = np.array([math.sqrt(rate * (1 - rate) / games) for rate in rates.values()])
    described = [game.under(options).describe()["options"] for options in ways]
    differing = [key for key in described[0] if len({str(d[key]) for d in described}) > 1]
    found = []
    for options, facts in zip(ways, described, strict=True):
        wins, slopes = value(options)
        error = Z95 * float(np.linalg.norm(slopes * errors))
        changed = {key: facts[key] for key in differing}
        found.append(RoundValue(changed, rates[options], wins, error))
    return tuple(found)
