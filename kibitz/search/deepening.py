"""Alpha-beta search of open games for two: iterative deepening, windows, clocks, several threads.

>>> from kibitz.games import load
>>> game = load("escampe", preset="rules")
>>> s = game.read("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
>>> found = AlphaBeta(game).search(s, Limits(depth=5))
>>> found.best.score, found.mate_in
(99997, 3)
"""

from __future__ import annotations

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
    ENDLESS,
    IDLE,
    JUDGED_OUTSIDE,
    MOST_TWICE,
    NONE,
    NULL_MOVE,
    PLIES,
    PROVEN,
    STOP_ROOM,
    TOGETHER,
    WAITING,
    WIN,
    Shared,
    advance_all,
    answer_all,
    begin_all,
    desk_type,
)
from .judging import EVEN, NOBODY, judge_token

FEATURES = (  # of a search, each of which can be switched off
    "table",
    "pvs",
    "killers",
    "history",
    "urges",
    "leaf_rule",
    "extensions",
    "reductions",
    "aspiration",
)
DEEPEST = PLIES - alphabeta.MOST_EXTENSIONS
SLOTS = 1 << 18  # of a transposition table: 4 MB
VALUE_SLOTS = 1 << 17  # for what a network has said
BUSY_SLOTS = 1 << 12
MOST_EPOCHS = 255
TOGETHER_FROM = 6  # plies: waking other threads takes longer than a shallower search
SLICE = 8192  # nodes between two looks at the clock
ASPIRATION = 250  # half the width of the first window
TWICE = 2

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
        left = SLICE if self.limits.nodes is None else self.limits.nodes - self.nodes
        return max(1, min(SLICE, left) if self.limits.seconds is not None else left)


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
        self.game = stripped(game)
        self.outside = judge if callable(judge) and not isinstance(judge, Judge) else None
        self.judge = NOBODY if self.outside else judge_named(self.game, judge)  # type: ignore[arg-type]
        self.token = judge_token(self.game, self.judge)
        self.features, self.aspires = feature_bits(without), "aspiration" not in without
        if self.outside is not None:
            self.features |= JUDGED_OUTSIDE
        if threads > 1:
            self.features |= TOGETHER
        if null_move and game.open_rules.skip is not None:
            self.features |= NULL_MOVE
        self.device, self.threads = Cpu(threads), threads
        self.desks = np.zeros(threads, desk_type(self.game, self.judge.note))
        self.shared = empty_shared(slots, VALUE_SLOTS if self.outside else 1)
        self.epoch = 0
        begin_all(0, 0, 1, self.desks, self.token)  # compiled before a clock runs
        advance_all(0, 0, 1, self.desks, self.shared, self.token)

    def search(
        self,
        s: State,
        limits: Limits,
        *,
        lines: int = 1,
        watch: Callable[[Found], object] = lambda found: None,
    ) -> Found:
        """Look for the best actions at a position, of this game or of its bare form.

        watch: called with what was found after every depth. Ctrl-C ends the search with that.
        """
        clock = Clock(limits)
        legal = self._begin(s)
        found = Found((Line(legal[0], 0, (legal[0],)),), 0)
        try:
            for depth in range(1, limits.depth + 1):
                deeper = self._iteration(depth, legal, found, lines, clock)
                if deeper is None:
                    break
                found = self._timed(deeper, clock)
                watch(found)
                if clock.is_late or (abs(found.best.score) > PROVEN and lines == 1):
                    break
        except KeyboardInterrupt:
            pass
        return self._timed(found, clock)

    def _begin(self, s: State) -> list[int]:
        """Put a position on all desks. Returns its legal actions."""
        bare, twice, plies_left = without_history(self.game, s)
        if self.game.turn(bare) in (CHANCE, OVER):
            raise GameError(
                f"{self.game.name}: alpha-beta needs a position where a seat is to move"
            )
        self.epoch = self.epoch % MOST_EPOCHS + 1
        if self.epoch == 1:  # otherwise entries of other searches can be told by their epoch
            self.shared.table[:] = 0
        desks = self.desks
        desks["epoch"] = self.epoch
        for name in ("killers", "history", "nodes", "judged", "waiting"):
            desks[name] = 0
        desks["stack"][:, 0] = bare
        desks["twice"][:, : len(twice)], desks["twice_count"] = twice, len(twice)
        desks["plies_left"], desks["features"] = plies_left, self.features
        return self.game.legal(bare)

    def _iteration(
        self, depth: int, legal: list[int], before: Found, lines: int, clock: Clock
    ) -> Found | None:
        """Search to a depth; None if the clock ended it before the first action was done."""
        best: list[Line] = []
        for k in range(min(lines, len(legal))):
            left = [a for a in legal if a not in [line.action for line in best]]
            expected = before.lines[k].score if k < len(before.lines) and before.depth else 0
            line, done = self._aspire(depth, left, expected, clock, partial=k > 0)
            if line is None:
                return None
            best.append(line)
            if not done:
                break
        best += [line for line in before.lines if line.action not in [b.action for b in best]]
        return Found(tuple(best[:lines]), depth if done and len(best) >= 1 else before.depth)

    def _aspire(
        self, depth: int, legal: list[int], expected: int, clock: Clock, *, partial: bool
    ) -> tuple[Line | None, bool]:
        """Search with a window around the expected score, wider and wider until it fits."""
        width = ASPIRATION if self.aspires and depth > 2 and abs(expected) < PROVEN else ENDLESS
        while True:
            low, high = max(expected - width, -ENDLESS), min(expected + width, ENDLESS)
            line, done = self._window(depth, legal, (low, high), clock, partial=partial)
            if not done or line is None or low < line.score < high or width == ENDLESS:
                return line, done
            width = width * 4 if width < PROVEN else ENDLESS

    def _window(
        self, depth: int, legal: list[int], window: tuple[int, int], clock: Clock, *, partial: bool
    ) -> tuple[Line | None, bool]:
        """One search: the best line so far, and whether it was searched to its end."""
        desks = self.desks[: self.threads if depth >= TOGETHER_FROM else 1]
        desks["depth"], (desks["alpha"], desks["beta"]) = depth, window
        desks["roots"], desks["partial"] = len(legal), partial
        desks["lists"][:, 0, : len(legal)] = legal
        self.shared.stop[:] = 0
        self.shared.busy[:] = 0
        begin_all(0, len(desks), 1, desks, self.token)
        while True:
            desks["budget"] = desks["nodes"] + clock.slice()
            self.device.run(advance_all, len(desks), desks, self.shared, self.token)
            clock.nodes = int(self.desks["nodes"].sum())
            if (desks["status"] == IDLE).any():
                done = int((desks["status"] == IDLE).argmax())
                return self._line(done, int(desks["score"][done])), True
            if clock.is_over:
                return self._unfinished(window), False
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

    def _line(self, desk: int, score: int) -> Line | None:
        root = self.desks["frames"][desk, 0]
        if root["action"] == NONE:  # all actions failed low: none of them is known to be best
            action = int(self.desks["lists"][desk, 0, 0])
            return Line(action, score, (action,))
        actions = self.desks["lines"][desk, 0, : root["line"]]
        return Line(int(root["action"]), score, tuple(int(a) for a in actions))

    def _unfinished(self, window: tuple[int, int]) -> Line | None:
        """The best line of a search that was cut off, if its first action is done."""
        root = self.desks["frames"][0, 0]
        better = root["action"] != NONE and root["best"] > window[0]
        return self._line(0, int(root["best"])) if better else None

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
    on = [name for name in FEATURES if name not in without and name != "aspiration"]
    return sum(int(getattr(alphabeta, name.upper())) for name in on)


def empty_shared(slots: int, value_slots: int) -> Shared:
    return Shared(
        table=np.zeros((slots, 2), np.uint64),
        values=np.zeros((value_slots, 2), np.uint64),
        busy=np.zeros(BUSY_SLOTS, np.uint64),
        stop=np.zeros(STOP_ROOM, np.int64),
    )
