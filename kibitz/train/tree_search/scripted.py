"""Games between compiled players of the game: what to learn from before there is a player.

Somebody who has learnt nothing plays long games, and their results say little. The game's own
players show short ones, and what wins them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...batch import NO_ACTION, illegal_choice
from ...game import Game, GameError
from ...options import whole_number
from ...players.scripted import by_kind, tokens_of
from ...search.rolling import (
    ENDED,
    FULL,
    empty_scripts,
    follow_scripts_all,
    roll_on_all,
)
from ..folder import Arrays
from ..replay import Shard
from ..seeds import derived
from .selfplay import NotedTables


@dataclass(frozen=True)
class ScriptedGames:
    """Games between compiled players, from which the first iterations of a run learn."""

    iterations: int = 0
    """How many of them."""
    rounds: int = 1
    """Games per table and iteration."""
    players: tuple[str, ...] = ()
    """Who plays: every seat draws one for each game. Nobody named: all players of the game."""
    mixed_share: float = 0.2
    """Share of seats that draw a second player, and then one of the two for each decision."""
    random_share: float = 0.05
    """Share of decisions at which something random is played instead."""
    spread: float = 0.1
    """Share of the policy to learn for all actions alike: a search must still try what no player
    ever does."""

    def __post_init__(self) -> None:
        whole_number("scripted iterations", self.iterations, 0)
        whole_number("rounds of scripted games", self.rounds, 1)
        for name in ("mixed_share", "random_share", "spread"):
            if not 0 <= getattr(self, name) <= 1:
                raise GameError(f"{name}={getattr(self, name)}: it is a share, from 0 to 1")


class ScriptedPlay(NotedTables):
    """Tables at which compiled players play whole games, one round of them after another."""

    first_number = 1 << 48  # self-play counts its games from 0, and never so far

    def __init__(
        self, game: Game, size: int, device: str, seed: int, settings: ScriptedGames
    ) -> None:
        super().__init__(game, size, device, derived(seed, "scripted games", 0))
        self.settings = settings
        if not (names := settings.players or tuple(game.players)):
            raise GameError(f"{game.name} has no compiled players to learn from")
        self.players = by_kind(game, names)
        self.tokens = [self.device.put(tokens_of(game, kind)) for kind in self.players]
        self.scripts = empty_scripts(self.device, game, size)

    def play_round(self) -> Shard:
        """One game per table, from its beginning to its end."""
        seated = self._seated(self.begun // self.size)
        self.scripts = self.scripts._replace(seated=self.device.put(seated))
        self._begin(np.arange(self.size))
        self.clock = 0
        self._roll_on()
        while ((status := self._decided()) != ENDED).any():
            self.clock += 1
            if (status == FULL).any():
                self._fetch()
                self._roll_on()
        self._end(np.arange(self.size))
        shard = self.taken()
        assert shard is not None, f"{self.game.name} was over before anybody decided anything"
        return judged(shard, self.settings.spread)

    def _roll_on(self) -> None:
        self.device.run(roll_on_all, self.size, self.tables, self.notes, self.clock)

    def _seated(self, round_: int) -> NDArray[np.int64]:
        """Two players for every seat, mostly the same one twice. [tables, seats, 2]"""
        rng = np.random.Generator(np.random.Philox(derived(self.seed, "seats", round_)))
        players, seats = sum(map(len, self.players)), (self.size, self.game.seats)
        first, second = rng.integers(0, players, (2, *seats))
        mixed = rng.random(seats) < self.settings.mixed_share
        return np.stack([first, np.where(mixed, second, first)], 2)

    def _decided(self) -> NDArray[np.int64]:
        """Let all players decide for as long as they can; the status of the tables."""
        number, share = 0, float(self.settings.random_share)
        arrays = self.tables, self.notes, self.scripts
        for tokens in self.tokens:
            self.device.run(
                follow_scripts_all, self.size, *arrays, tokens, number, share, self.clock
            )
            number += len(tokens)
        self._check_choices()
        return np.asarray(self.device.get(self.tables.status))

    def _check_choices(self) -> None:
        chosen = self.device.get(self.scripts.illegal)
        if (wrong := np.flatnonzero(chosen != NO_ACTION)).size:
            s = self.device.get(self.tables.states)[wrong[0]]
            who = " or ".join(name for names in self.players for name in names)
            raise illegal_choice(self.game, s, who, int(chosen[wrong[0]]))

    # checkpoints

    def arrays(self) -> Arrays:
        """Everything that a resumed run needs, by name: rounds are played as a whole."""
        return {"ended": np.array(self.ended)}

    def restore(self, arrays: Arrays) -> None:
        """Continue after so many games; ValueError if they cannot be whole rounds."""
        ended = int(arrays["ended"])
        if ended < 0 or ended % self.size:
            raise ValueError(f"{ended} games are not whole rounds of {self.size}")
        self.begun = self.ended = ended


def judged(shard: Shard, spread: float) -> Shard:
    """The same decisions as something to learn from, now that all results are known.

    Moves are learnt from the winners. The policy of others has no probability at all, so nothing
    is learnt from it; their positions still teach values. Nobody searched: the value is the result.
    """
    rows, results = shard.decisions, shard.results
    by_game = results.scores[np.searchsorted(results.games, rows.games)]
    scores = np.take_along_axis(by_game, rows.seats.astype(np.int64)[:, None], 1)[:, 0]
    legal = rows.actions >= 0
    even = legal / legal.sum(1, keepdims=True, dtype=np.float32)
    rows.policy[:] = (1.0 - spread) * rows.policy + spread * even
    rows.policy[scores < by_game.max(1)] = 0.0
    rows.value[:] = scores
    return shard
