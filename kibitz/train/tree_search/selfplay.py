"""Self-play: many tables that play game after game. Every decision is kept for the replay."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ...batch import Batch, check_positions
from ...chance import STREAM, streams
from ...devices import as_words, device_named
from ...game import Game, Options
from ...search.latent import LatentSearch
from ...search.mcts import Search
from ...search.rolling import (
    ENDED,
    FULL,
    begin_all,
    decide_all,
    empty_notes,
    empty_rolling,
    gathered,
    roll_on_all,
)
from ..folder import Arrays
from ..method import TimeIsUp
from ..replay import Decisions, Results, Shard

ROOM = 24  # decisions of a table that are kept on the device before they are fetched
SPARE = 4  # of these: for decisions that need no search, after one that does
OPENING = 8  # moves of a game that are drawn from the policy, where the search draws no noise
RECORDS = ("states", "rngs", "trees")  # of the tables: these are saved as 64-bit words
SAVED = (*RECORDS, "numbers", "moves", "outcomes")


class NotedTables:
    """Tables that are played at, whose decisions are noted on the device and fetched from there.

    Games are numbered in the order in which they begin; the chance of a game and of its players
    follows from the seed and its number.
    """

    first_number = 0

    def __init__(self, game: Game, size: int, device: str, seed: int) -> None:
        self.game, self.size, self.seed = game, size, seed
        self.device = device_named(device)
        self.tables = empty_rolling(self.device, game, size)
        self.notes = empty_notes(self.device, game, size, ROOM)
        self.begin_with(game.options)
        self.begun = self.ended = self.clock = 0
        self._decisions: list[Decisions] = []
        self._order: list[NDArray[np.int64]] = []  # of play, of these decisions
        self._results: list[Results] = []

    def begin_with(self, options: Options) -> None:
        """New games have these options from now on; games under way go on as they began."""
        self.options = self.device.put(np.array([options.numbers()]))

    def _begin(self, tables: NDArray[np.integer]) -> None:
        rngs, trees = (
            self.device.put(streams(self.seed, purpose, len(tables), self.begun))
            for purpose in ("table", "search")
        )
        which = self.device.put(tables.astype(np.int64))
        number = self.first_number + self.begun
        arrays = which, self.tables, rngs, trees, number, self.options
        self.device.run(begin_all, len(tables), *arrays)
        self.begun += len(tables)

    def _end(self, tables: NDArray[np.integer]) -> None:
        noted = self.tables
        columns = noted.numbers, noted.scores, noted.margins, noted.outcomes
        games, scores, margins, outcomes = (self.device.get(c)[tables] for c in columns)
        self._results.append(Results(games, scores, margins, outcomes.astype(np.int32)))
        self.ended += len(tables)

    def _fetch(self) -> None:
        """Take the notes from the device."""
        used, noted = map(self.device.get, (self.notes.used, self.notes.facts))
        which = np.flatnonzero(np.arange(ROOM) < used[:, None])
        facts = noted.reshape(-1)[which]
        # Clocks within the room of a table are close to each other, and small numbers sort fast.
        clocks = (facts["clock"] - facts["clock"].min(initial=self.clock)).astype(np.uint16)
        sorting = np.argsort(clocks, kind="stable")
        facts, rows = facts[sorting], gathered(self.device, self.notes, which[sorting])
        self._order.append(facts["clock"] * self.size + which[sorting] // ROOM)
        self._decisions.append(
            Decisions(
                states=rows.words.view(self.game.state).reshape(-1),
                seats=facts["seat"].astype(np.int8),
                actions=rows.actions,
                policy=rows.policy,
                value=facts["value"].copy(),
                games=facts["game"].copy(),
                moves=facts["move"].copy(),
                played=facts["played"].copy(),
                outcomes=facts["outcome"].copy(),
            )
        )
        self.notes = self.notes._replace(used=self.device.empty(self.size, np.int64))

    def taken(self) -> Shard | None:
        """What was decided and what ended since the last time; None if nothing was decided."""
        self._fetch()
        decisions, order = Decisions.joined(self._decisions), np.concatenate(self._order)
        if (order[1:] < order[:-1]).any():  # a table had no room in the middle of a move
            decisions = decisions[np.argsort(order, kind="stable")]
        none = np.zeros((0, self.game.seats), np.float32)
        nothing = Results(np.zeros(0, np.int64), none, none)
        shard = Shard(decisions, Results.joined([nothing, *self._results]))
        self._decisions, self._order, self._results = [], [], []
        return shard if len(decisions) else None


class SelfPlay(NotedTables):
    """Tables at which a searching player plays against itself.

    A table whose game has ended begins the next one at once. Between two calls every table rests at
    a decision between several actions.
    """

    def __init__(self, game: Game, size: int, device: str, seed: int) -> None:
        super().__init__(game, size, device, seed)
        self._begin(np.arange(size))
        self._roll_on()
        self.clock = 1  # what was played before the first move of all tables comes before it

    def move(self, search: Search | LatentSearch, deadline: float | None = None) -> None:
        """Search every table's decision, and play on.

        deadline: on the monotonic clock; TimeIsUp is raised when it has passed, and the tables
        stand as they stood before.
        """
        before = None if deadline is None else np.array(self.device.get(self.tables.trees))
        search.think(self.tables.states, self.tables.trees, deadline)
        if deadline is not None and time.monotonic() > deadline:
            self.tables = self.tables._replace(trees=self.device.put(before))
            raise TimeIsUp
        opening = OPENING if search.settings.root == "puct" else 0
        arrays = self.tables, self.notes, search.roots()
        self.device.run(decide_all, self.size, *arrays, opening, self.clock)
        self._roll_on()
        self.clock += 1

    def _roll_on(self) -> None:
        """Take every table to a decision between several actions, through the ends of games."""
        while True:
            self.device.run(roll_on_all, self.size, self.tables, self.notes, self.clock)
            status = self.device.get(self.tables.status)
            if (status == FULL).any():  # first of all: the numbers of games must not depend on it
                self._fetch()
            elif (over := np.flatnonzero(status == ENDED)).size:
                self._end(over)
                self._begin(over)
            else:
                break
        if self.device.get(self.notes.used).max() >= ROOM - SPARE:
            self._fetch()

    # checkpoints

    def arrays(self) -> Arrays:
        """Everything that a resumed run needs, by name, once all decisions have been taken."""
        assert not self._decisions and not self._results, "decisions would be lost"
        return self._saved()

    def _saved(self) -> Arrays:
        get = self.device.get
        saved = {name: get(getattr(self.tables, name)) for name in SAVED}
        words = {name: as_words(saved[name]) for name in RECORDS}
        return {**saved, **words, "counts": np.array([self.begun, self.ended, self.clock])}

    def restore(self, arrays: Arrays) -> None:
        """Continue with the tables of `arrays`; ValueError if they cannot be such tables."""
        expected = {name: (a.dtype, a.shape) for name, a in self._saved().items()}
        if {name: (a.dtype, a.shape) for name, a in arrays.items()} != expected:
            raise ValueError(f"this is not self-play at {self.size} tables")
        kinds = {"states": self.game.state, "rngs": STREAM, "trees": STREAM}
        given = {name: np.array(array) for name, array in arrays.items()}
        given |= {name: given[name].reshape(-1).view(kind) for name, kind in kinds.items()}
        self._check_tables(given["states"], given["rngs"])
        counts = given.pop("counts").tolist()
        if min(counts) < 0:
            raise ValueError("nothing is counted below zero")
        self.begun, self.ended, self.clock = counts
        placed = {name: self.device.put(array) for name, array in given.items()}
        self.tables = self.tables._replace(words=as_words(placed["states"]), **placed)
        # The games that began here may have had forced plies already; nobody will play them.
        self.notes = self.notes._replace(used=self.device.empty(self.size, np.int64))
        self._decisions, self._order, self._results = [], [], []

    def _check_tables(self, states: NDArray[np.void], rngs: NDArray[np.void]) -> None:
        """See that every table rests at a decision between several actions."""
        if self.game.flaw is not None:
            check_positions(self.game, states, "the games under way")
        _, counts = Batch.of(self.game, states, rngs).actions()
        if (counts < 2).any():
            raise ValueError("a table has nothing to decide")
