"""Alpha-beta search of open games for two: iterative deepening, windows, clocks, several threads.

>>> from kibitz.games import load
>>> game = load("escampe", preset="rules")
>>> s = game.read("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
>>> found = AlphaBeta(game).search(s, Limits(depth=5))
>>> found.best.score, found.mate_in
(99997, 3)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..devices import Cpu
from ..game import CHANCE, OVER, Game, GameError, State, nothing_hidden
from ..open_rules import Judge
from . import alphabeta
from .alphabeta import (
    HELPERS,
    IDLE,
    JUDGED_OUTSIDE,
    MOST_TWICE,
    NONE,
    NULL_MOVE,
    PLIES,
    ROUND,
    SIGNALS,
    TOGETHER,
    WAITING,
    Shared,
    answer_all,
    desk_type,
)
from .iterations import ASPIRATION, TOGETHER_FROM, deepen_all, open_all
from .judging import EVEN, NOBODY, judge_token
from .transpositions import ENDLESS, PROVEN, WIN

FEATURES = {  # of a search, each of which can be switched off
    "table": alphabeta.TABLE,
    "pvs": alphabeta.PVS,
    "killers": alphabeta.KILLERS,
    "history": alphabeta.HISTORY,
    "urges": alphabeta.URGES,
    "leaf_rule": alphabeta.LEAF_RULE,
    "extensions": alphabeta.EXTENSIONS,
    "reductions": alphabeta.REDUCTIONS,
    "aspiration": ASPIRATION,
}
DEEPEST = PLIES - alphabeta.MOST_EXTENSIONS
SLOTS = 1 << 18  # of a transposition table: 4 MB
VALUE_SLOTS = 1 << 17  # for what a network has said
BUSY_SLOTS = 1 << 12
MOST_EPOCHS = 255
SLICE = 8192  # nodes between two looks at the clock
LONG_SLICE = 1 << 20  # and where there is no clock, but somebody may want to stop it
TWICE = 2
CACHE_LINE = 64  # bytes

Outside = Callable[[NDArray[np.void]], NDArray[np.integer]]
"""A network that judges positions: what they are worth to the seat to move, below EVEN. [n]"""


@dataclass(frozen=True)
class Limits:
    """When a search ends: whichever comes first."""

    depth: int = DEEPEST
    """Plies."""
    nodes: int | None = None
    seconds: float | None = None
    """The answer is there by then."""
    soft_seconds: float | None = None
    """No iteration begins after this time; by default after half of `seconds`."""

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST:
            raise GameError(f"depth={self.depth}: alpha-beta looks 1 to {DEEPEST} plies ahead")
        for name in ("nodes", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise GameError(f"{name}={value}: {name} is above 0")


@dataclass(frozen=True)
class Line:
    """An action at the root, what it is worth to the seat to move, and what is expected next."""

    action: int
    score: int
    actions: tuple[int, ...]
    """The principal variation, with the action itself."""


@dataclass(frozen=True)
class Found:
    """What a search has found."""

    lines: tuple[Line, ...]
    """The best first."""
    depth: int
    """That was searched completely; 0 if none was."""
    nodes: int = 0
    judged: int = 0
    """Positions that the judge has looked at."""
    seconds: float = 0.0
    table_use: float = 0.0
    """The share of the table that is filled."""

    @property
    def best(self) -> Line:
        return self.lines[0]

    @property
    def mate_in(self) -> int | None:
        """Plies to the end of the game, below 0 for a defeat; None if the result is open."""
        return mate_in(self.best.score)


def mate_in(score: int) -> int | None:
    """Plies to the end that a score promises, below 0 for a defeat; None if it promises none."""
    if abs(score) <= PROVEN:
        return None
    return WIN - score if score > 0 else -(WIN + score)


@dataclass
class Clock:
    """The budget of one search."""

    limits: Limits
    began: float = field(default_factory=time.perf_counter)
    nodes: int = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def left(self) -> float | None:
        """Seconds until the answer must be there, above 0; None if nothing says so."""
        return (
            None if self.limits.seconds is None else max(self.limits.seconds - self.seconds, 1e-9)
        )

    @property
    def is_over(self) -> bool:
        limits = self.limits
        return (limits.nodes is not None and self.nodes >= limits.nodes) or (
            limits.seconds is not None and self.seconds >= limits.seconds
        )

    @property
    def is_late(self) -> bool:
        """Whether another iteration is not worth beginning."""
        if self.limits.seconds is None:
            return self.is_over
        soft = self.limits.soft_seconds
        return self.is_over or self.seconds >= (self.limits.seconds / 2 if soft is None else soft)

    def slice(self) -> int:
        """Nodes until the next look at the clock."""
        slice = LONG_SLICE if self.limits.seconds is None else SLICE
        left = slice if self.limits.nodes is None else self.limits.nodes - self.nodes
        return max(1, min(slice, left))


class AlphaBeta:
    """A thinker over one open game for two. Every search begins with an empty memory.

    judge: a judge of the game, by name or itself, or a network that judges batches of positions.
    null_move: cut off where handing the move over is good enough. It is off because in games where
    having to move can hurt, it is wrong more often than it saves time.
    Results are reproducible with one thread and without a clock.
    """

    def __init__(
        self,
        game: Game,
        judge: str | Judge | Outside = "",
        *,
        threads: int = 1,
        slots: int = SLOTS,
        without: Sequence[str] = (),
        null_move: bool = False,
    ) -> None:
        check_open(game)
        self.whole, self.game = game, stripped(game)
        self.outside = judge if callable(judge) and not isinstance(judge, Judge) else None
        self.judge = NOBODY if self.outside else judge_named(self.game, judge)  # type: ignore[arg-type]
        self.token = judge_token(self.game, self.judge)
        self.features = feature_bits(without)
        if self.outside is not None:
            self.features |= JUDGED_OUTSIDE
        if not 1 <= threads <= HELPERS:
            raise GameError(f"threads={threads}: alpha-beta uses 1 to {HELPERS}")
        if threads > 1:
            self.features |= TOGETHER
        if null_move and game.open_rules.skip is not None:
            self.features |= NULL_MOVE
        self.device, self.threads = Cpu(threads), threads
        self.desks = np.zeros(threads, desk_type(self.game, self.judge.note))
        self.shared = empty_shared(slots, VALUE_SLOTS if self.outside else 1)
        self.epoch = 0
        open_all(0, 0, 1, self.desks, self.token)  # compiled before a clock runs
        deepen_all(0, 0, 1, self.desks, self.shared, self.token)

    def search(
        self,
        s: State,
        limits: Limits,
        *,
        lines: int = 1,
        watch: Callable[[Found], object] | None = None,
    ) -> Found:
        """Look for the best actions at a position, of this game or of its bare form.

        watch: called with what was found after every depth. Ctrl-C ends the search with that.
        """
        clock = Clock(limits)
        legal = self._begin(s)
        found = Found((Line(legal[0], 0, (legal[0],)),), 0)
        at_once = lines == 1 and watch is None and limits.seconds is None
        depths = [limits.depth] if at_once else range(1, limits.depth + 1)
        try:
            for depth in depths:
                deeper = self._deepen(depth, legal, found, lines, clock)
                if deeper is None:
                    break
                found = self._timed(deeper, clock)
                if watch is not None:
                    watch(found)
                if clock.is_late or (abs(found.best.score) > PROVEN and lines == 1):
                    break
        except KeyboardInterrupt:
            pass
        return self._timed(found, clock)

    def _begin(self, s: State) -> list[int]:
        """Put a position on all desks. Returns its legal actions."""
        if s.dtype not in (self.whole.state, self.game.state):
            raise GameError(f"{self.game.name}: this position is of a game with other options")
        bare, twice, plies_left = without_history(self.game, s)
        if self.game.turn(bare) in (CHANCE, OVER):
            raise GameError(
                f"{self.game.name}: alpha-beta needs a position where a seat is to move"
            )
        self.epoch = self.epoch % MOST_EPOCHS + 1
        if self.epoch == 1:  # otherwise entries of other searches show by their epoch
            self.shared.table[:] = 0
        desks = self.desks
        desks["epoch"] = self.epoch
        for name in ("killers", "history", "nodes", "judged", "waiting"):
            desks[name] = 0
        desks["stack"][:, 0] = bare
        desks["twice"][:, : len(twice)], desks["twice_count"] = twice, len(twice)
        desks["plies_left"], desks["features"] = plies_left, self.features
        legal = self.game.legal(bare)
        self._look_at(legal, partial=False)
        return legal

    def _look_at(self, roots: list[int], *, partial: bool) -> None:
        """Look at these actions of the root. Searches sort them, which helps those that follow."""
        desks = self.desks
        desks["roots"], desks["partial"] = len(roots), partial
        desks["lists"][:, 0, : len(roots)] = roots

    def _deepen(
        self, depth: int, legal: list[int], before: Found, lines: int, clock: Clock
    ) -> Found | None:
        """Search to a depth; None if the clock ended it before there was anything new."""
        best: list[Line] = []
        for k in range(min(lines, len(legal))):
            if lines > 1:
                left = [a for a in legal if a not in [line.action for line in best]]
                self._look_at(left, partial=k > 0)
            expected = before.lines[k].score if k < len(before.lines) and before.depth else 0
            done = self._search(before.depth + 1, depth, expected, clock)
            line = self._line(done)
            if line is None:
                return None
            best.append(line)
            if not done:
                break
        best += [line for line in before.lines if line.action not in [b.action for b in best]]
        return Found(tuple(best[:lines]), int(self.desks[0]["reached"]))

    def _search(self, first: int, goal: int, expected: int, clock: Clock) -> bool:
        """Search to a depth, and to those from the first on before it. Whether that was done."""
        desks = self.desks[: self.threads if goal >= TOGETHER_FROM else 1]
        leader = desks[0]
        leader["goal"], leader["depth"], leader["expected"] = goal, first, expected
        leader["reached"] = first - 1
        leader["found_count"] = 0
        desks["status"] = IDLE
        self.shared.busy[:] = 0
        open_all(0, 1, 1, desks, self.token)
        while True:
            desks["budget"] = desks["nodes"] + clock.slice()
            self.shared.signals[ROUND] = leader["round"]
            self.device.run(deepen_all, len(desks), desks, self.shared, self.token)
            clock.nodes = int(self.desks["nodes"].sum())
            if leader["status"] == IDLE:
                return True
            if clock.is_over:
                return False
            if (desks["status"] == WAITING).any():
                self._answer(desks)

    def _answer(self, desks: NDArray[np.void]) -> None:
        """Let the network judge all positions that wait, in one batch."""
        waiting = np.where(desks["status"] == WAITING, desks["waiting"], 0)
        rows = [(i, j) for i in range(len(desks)) for j in range(waiting[i])]
        desk, row = (np.array(part) for part in zip(*rows, strict=True))
        assert self.outside is not None
        values = np.clip(self.outside(desks["asked"][desk, row]), 1 - EVEN, EVEN - 1)
        desks["answers"][desk, row] = values
        answer_all(0, len(desks), 1, desks, self.shared)

    def _line(self, done: bool) -> Line | None:
        """The best line: of the last window if it is better than expected, else of a depth."""
        leader = self.desks[0]
        root = leader["frames"][0]
        if not done and root["action"] != NONE and root["best"] > leader["alpha"]:
            score, line = root["best"], leader["lines"][0, : root["line"]]
        else:
            score, line = leader["expected"], leader["found"][: leader["found_count"]]
        actions = tuple(int(action) for action in line)
        return Line(actions[0], int(score), actions) if actions else None

    def _timed(self, found: Found, clock: Clock) -> Found:
        desks = self.desks
        return Found(
            found.lines,
            found.depth,
            nodes=int(desks["nodes"].sum()),
            judged=int(desks["judged"].sum()),
            seconds=clock.seconds,
            table_use=self._table_use(),
        )

    def _table_use(self) -> float:
        """The share of the table that this search has filled, from its first slots."""
        entries = self.shared.table[: 1 << 12, 1]
        return float((entries >> np.uint64(46) == self.epoch).mean())


# What a search needs -----------------------------------------------------------------------------


def check_open(game: Game) -> None:
    """Refuse games that alpha-beta cannot search."""
    if game.seats != 2 or not game.zero_sum or game.redeal is not nothing_hidden:
        raise GameError(
            f"{game.name}: alpha-beta is for two seats where nothing is hidden "
            "and one wins what the other loses"
        )


def stripped(game: Game) -> Game:
    """The game whose record holds the position alone."""
    bare = game.open_rules.bare
    return game if bare is None else game.bind(**bare.options)


def without_history(game: Game, s: State) -> tuple[State, NDArray[np.uint64], int]:
    """A position alone; the keys that were there twice before; and how many plies are left."""
    bare = game.open_rules.bare
    if s.dtype == game.state or bare is None:
        return s, np.zeros(0, np.uint64), ENDLESS
    position = game.fresh()
    bare.strip(s, position)
    keys, plies_left = bare.past(s)
    names, counts = np.unique(keys, return_counts=True)
    return (
        position,
        names[counts >= TWICE][:MOST_TWICE],
        ENDLESS if plies_left is None else plies_left,
    )


def judge_named(game: Game, judge: str | Judge) -> Judge:
    if isinstance(judge, Judge):
        return judge
    judges = game.open_rules.judges
    if not judge:
        return next(iter(judges.values()), NOBODY)
    if judge not in judges:
        has = ", ".join(judges) or "none"
        raise GameError(f"{game.name} has no judge {judge!r}; it has: {has}")
    return judges[judge]


def feature_bits(without: Sequence[str]) -> int:
    for name in without:
        if name not in FEATURES:
            raise GameError(f"alpha-beta has no feature {name!r}; it has: {', '.join(FEATURES)}")
    return sum(bit for name, bit in FEATURES.items() if name not in without)


def empty_shared(slots: int, value_slots: int) -> Shared:
    return Shared(
        table=in_cache_lines((slots, 2)),
        values=in_cache_lines((value_slots, 2)),
        busy=in_cache_lines((BUSY_SLOTS,)),
        signals=in_cache_lines((SIGNALS,)).view(np.int64),
    )


def in_cache_lines(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Zeros that begin with a cache line, so that no pair of slots lies in two of them."""
    count = math.prod(shape)
    room = np.zeros(count + CACHE_LINE // 8, np.uint64)
    first = -room.ctypes.data % CACHE_LINE // 8
    return room[first : first + count].reshape(shape)
