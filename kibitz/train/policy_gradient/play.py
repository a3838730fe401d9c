"""The newest network plays stretches of games against itself and against compiled players."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import deepcopy

import numpy as np
from torch import nn

from ...batch import NO_ACTION, Batch, check_positions, illegal_choice
from ...chance import STREAM, streams
from ...devices import Array, Gpu, as_words, device_named
from ...game import Game
from ...nets.evaluate import NetEvaluator
from ...nets.net import MarginNet
from ...options import Options
from ...players.scripted import by_kind, tokens_of
from ...search.stretch import (
    ANSWERS,
    LEARNER,
    Seating,
    Stretch,
    Tables,
    answer_all,
    begin_games_all,
    decide_all,
    empty_stretch,
    empty_tables,
    look_all,
)
from ..folder import Arrays
from ..threads import torch_threads

RECORDS = ("states", "rngs", "players")  # of the tables: these are saved as 64-bit words
SAVED = (*RECORDS, "seated")


class StretchPlay:
    """Tables whose games go on from stretch to stretch.

    Between two stretches every table rests at a decision of the learner between several actions.
    """

    def __init__(self, game: Game, net: MarginNet, size: int, ticks: int, device: str) -> None:
        self.game, self.size, self.ticks = game, size, ticks
        self.evaluator = NetEvaluator(deepcopy(net), device)
        self.device = device_named(device)
        self.tables = empty_tables(self.device, game, size)
        self.stretch = empty_stretch(self.device, game, size, ticks)
        parts = min(size, 2 if isinstance(self.device, Gpu) else self.device.threads)
        self._cuts = [size * k // parts for k in range(parts + 1)]
        sizes = [end - first for first, end in itertools.pairwise(self._cuts)]
        self._rooms = [self.evaluator.room(n, game.view_size) for n in sizes]

    def begin(
        self, seed: int, players: Sequence[str], scripted: int, *, stray_share: float = 0.0
    ) -> None:
        """Begin a game at every table; at the first `scripted` ones against one of the players."""
        put, game = self.device.put, self.game
        self.players = by_kind(game, players)
        self.tokens = [put(tokens_of(game, kind)) for kind in self.players]
        self.seating = Seating(
            players=len(players),
            teams=put(np.array(game.teams, np.int64)),
            options=put(np.array([game.options.numbers()])),
            stray_share=float(stray_share),
            valued=int(scripted == self.size),  # there are no other games to learn them from
        )
        rngs, own = (put(streams(seed, purpose, self.size)) for purpose in ("table", "player"))
        wanted = (np.arange(self.size) < (scripted if players else 0)).astype(np.int64)
        self.tables = self.tables._replace(rngs=rngs, players=own, scripted=put(wanted))
        self.device.run(begin_games_all, self.size, self.tables, self.stretch, self.seating)
        self.device.synchronize()
        for lane in self._lanes():
            lane.answer(-1)

    def begin_with(self, options: Options) -> None:
        """New games have these options from now on; games under way go on as they began."""
        self.seating = self.seating._replace(options=self.device.put(np.array([options.numbers()])))

    def play(self, net: nn.Module) -> None:
        """One decision of the network at every table for each tick."""
        self.evaluator.load(net.state_dict())
        lanes, ticks = self._lanes(), range(self.ticks)
        self.device.synchronize()  # lanes have streams of their own, which wait for nobody
        if isinstance(self.device, Gpu):
            for tick, lane in itertools.product(ticks, lanes):
                lane.decide(tick)
        else:
            with torch_threads(1):
                self.device.each(lanes, lambda lane: lane.decide_all(ticks))
        self.device.synchronize()
        self._check_answers()

    def results(self) -> dict[str, float]:
        """The mean score of the learner against each compiled player, in games that have ended."""
        names = [name for kind in self.players for name in kind]
        wanted = "ended", "opponents", "places", "scores"
        ended, met, seats, scores = (self.device.get(getattr(self.stretch, n)) for n in wanted)
        at = ended.astype(bool) & (met != LEARNER)
        met, scores = met[at], np.take_along_axis(scores[at], seats[at][:, None], 1)[:, 0]
        by_name = {name: scores[np.array(names)[met] == name] for name in set(names)}
        return {name: float(got.mean()) for name, got in sorted(by_name.items()) if len(got)}

    def _lanes(self) -> list[Lane]:
        """Ranges of tables that play beside each other, with their rooms for views."""
        ranges = itertools.pairwise(self._cuts)
        return [Lane(self, slice(*r), room) for r, room in zip(ranges, self._rooms, strict=True)]

    def _check_answers(self) -> None:
        chosen = self.device.get(self.tables.illegal)
        if (wrong := np.flatnonzero(chosen != NO_ACTION)).size:
            s = self.device.get(self.tables.states)[wrong[0]]
            who = " or ".join(name for names in self.players for name in names)
            raise illegal_choice(self.game, s, who, int(chosen[wrong[0]]))

    # checkpoints

    def arrays(self) -> Arrays:
        """Everything that a resumed run needs, by name."""
        saved = {name: self.device.get(getattr(self.tables, name)) for name in SAVED}
        return {**saved, **{name: as_words(saved[name]) for name in RECORDS}}

    def restore(self, arrays: Arrays) -> None:
        """Continue with the tables of `arrays`; ValueError if they cannot be such tables."""
        expected = {name: (a.dtype, a.shape) for name, a in self.arrays().items()}
        if {name: (a.dtype, a.shape) for name, a in arrays.items()} != expected:
            raise ValueError(f"these are not stretches at {self.size} tables")
        kinds = {"states": self.game.state, "rngs": STREAM, "players": STREAM}
        given = {name: np.array(array) for name, array in arrays.items()}
        given |= {name: given[name].reshape(-1).view(kind) for name, kind in kinds.items()}
        self._check_tables(given)
        placed = {name: self.device.put(array) for name, array in given.items()}
        self.tables = self.tables._replace(words=as_words(placed["states"]), **placed)

    def _check_tables(self, given: Arrays) -> None:
        """See that every table rests at a decision of the learner between several actions."""
        states, seated = given["states"], given["seated"]
        if (seated < LEARNER).any() or (seated >= max(self.seating.players, 1)).any():
            raise ValueError("somebody sits at a table who does not play here")
        if self.game.flaw is not None:
            check_positions(self.game, states, "the games under way")
        batch = Batch.of(self.game, states, given["rngs"])
        _, counts = batch.actions()
        if (counts < 2).any() or (seated[np.arange(self.size), batch.turns()] != LEARNER).any():
            raise ValueError("a table has nothing to decide")


class Lane:
    """A range of the tables, with its own room for views."""

    def __init__(self, whole: StretchPlay, part: slice, room: Array) -> None:
        self.whole, self.size, self.room = whole, part.stop - part.start, room
        self.views = whole.device.put(room).view(whole.game.view).reshape(self.size)
        self.tables = Tables(*(array[part] for array in whole.tables))
        self.stretch = Stretch(*(array[part] for array in whole.stretch))
        on_gpu = isinstance(whole.device, Gpu)
        self.device = Gpu(whole.evaluator.stream(room)) if on_gpu else whole.device

    def decide_all(self, ticks: range) -> None:
        for tick in ticks:
            self.decide(tick)

    def decide(self, tick: int) -> None:
        """The network decides at every table, and everybody else until it is its turn again."""
        run, put, whole = self.device.launch, self.device.put, self.whole
        run(look_all, self.size, self.tables, self.views)
        logits, values = map(put, whole.evaluator(self.room))
        arrays = self.tables, self.stretch, tick, whole.seating, logits, values
        run(decide_all, self.size, *arrays)
        self.answer(tick)

    def answer(self, tick: int) -> None:
        """Let compiled players decide until it is the network's turn everywhere."""
        tokens, waiting = self.whole.tokens, bool(self.whole.tokens)
        while waiting:
            number = 0
            for kind in tokens:
                arrays = self.tables, self.stretch, tick, self.whole.seating, kind, number
                self.device.launch(answer_all, self.size, *arrays)
                number += len(kind)
            # One kind of players answers each other in one launch, and nothing is left to look at.
            waiting = len(tokens) > 1 and bool((self._status() == ANSWERS).any())

    def _status(self) -> Array:
        self.device.synchronize()
        going_on = self.device.get(self.tables.illegal) == NO_ACTION
        return np.where(going_on, self.device.get(self.tables.status), -1)
