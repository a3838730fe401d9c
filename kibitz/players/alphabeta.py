"""Players that look ahead with alpha-beta: open games for two."""

from __future__ import annotations

import math
import queue
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from ..chance import Stream, stream
from ..devices import lanes
from ..game import Game, State, nothing_hidden
from ..open_rules import Judge
from ..search.deepening import (
    AlphaBeta,
    Clock,
    Found,
    Limits,
    Line,
    Outside,
    feature_bits,
    mate_in,
    stripped,
    without_history,
)
from ..search.judging import EVEN, key
from .networks import loaded_network
from .sight import Actions, Player, PlayerError, Sight
from .static import STATIC, batch_judge
from .texts import limit, register, whole
from .thought import Candidate, Inquiry, Thought

SLOTS_BY_DEPTH = {4: 1 << 12, 6: 1 << 15}  # a shallow search fills no large table
PLANS = 256  # ways to open a game that are compared
PLANS_KEPT = 4  # one in so many is looked at more deeply
PLAN_DEPTH = 3  # of the first look; two plies more each time
SECONDS = 0.2  # per move, unless a clock or the player's text says otherwise
# Of what a clock has left: a search may last for one part in so many, and should for fewer.
HARD_PARTS, SOFT_PARTS = 8, 30
RESERVE = 1.0  # seconds of a clock that are not for thinking: messages take time, too
INSTANT = 0.001  # seconds of a search where only the reserve is left


@dataclass(frozen=True)
class Thinking:
    """How a player thinks: what judges positions, for how long, on how many threads."""

    judge: str | Judge | Outside = ""
    limits: Limits = field(default_factory=Limits)
    """Of one move. Where there are none, a clock sets them or they are `SECONDS`."""
    threads: int = 1
    slots: int = 1 << 18
    without: tuple[str, ...] = ()
    """Features of the search that are switched off."""
    weights: str = ""
    """Hash of the network that judges, where one does."""

    def limits_of_move(self, seconds_left: float | None = None) -> Limits:
        """When to answer, with so many seconds left for the rest of the game if a clock runs."""
        limits = self.limits
        if seconds_left is None:
            return replace(limits, seconds=SECONDS) if limits == Limits() else limits
        usable = max(seconds_left - RESERVE, HARD_PARTS * INSTANT)
        hard = min(usable / HARD_PARTS, limits.seconds or math.inf)
        return replace(limits, seconds=hard, soft_seconds=min(usable / SOFT_PARTS, hard / 2))


class AlphaBetaPlayer:
    """Looks ahead at every decision, at several tables at once on as many cores."""

    def __init__(self, game: Game, thinking: Thinking, name: str) -> None:
        self.game, self.thinking, self.name = game, thinking, name
        self._idle: queue.SimpleQueue[AlphaBeta] = queue.SimpleQueue()
        self._planned: dict[int, int] = {}  # by the key of a position: the next action of a plan

    @property
    def identity(self) -> str:
        thinking = self.thinking
        judge = thinking.judge if isinstance(thinking.judge, str) else thinking.weights
        if not isinstance(thinking.judge, str) and not judge:
            return ""
        search = (
            asdict(thinking.limits_of_move()),
            thinking.threads,
            thinking.slots,
            thinking.without,
        )
        return f"alpha-beta {judge} {search}"

    def choose(self, sight: Sight) -> Actions:
        states, (legal, counts) = sight.imagine(), sight.legal
        open_ = np.flatnonzero(counts > 1)
        limits = self.thinking.limits_of_move(sight.seconds_left)
        tables = [(states[i], sight.rngs[i], limits) for i in open_]
        workers = min(max(1, lanes() // self.thinking.threads), len(open_))
        if workers <= 1:
            found = [self._decide(*table) for table in tables]
        else:
            with ThreadPoolExecutor(workers) as pool:
                found = list(pool.map(lambda table: self._decide(*table), tables))
        chosen = legal[:, 0].astype(np.int64)
        chosen[open_] = found
        return chosen

    def _decide(self, s: State, rng: Stream, limits: Limits) -> int:
        """One decision: from a book, part of a plan, or the best action that a search finds."""
        rules = self.game.open_rules
        if rules.book is not None and (action := rules.book(s, rng)) >= 0:
            return action
        position, *_ = without_history(stripped(self.game), s)
        name = int(key(position))
        if rules.plans is not None and name not in self._planned:
            # Drawn by the position: every table where it comes up has the same plan.
            offered = rules.plans(s, stream(name >> 1, "player"), PLANS)
            best = self._best_plan(position, offered, limits) if offered else []
            self._adopt(position, best)
        if name in self._planned:
            return self._planned[name]
        return self._search(s, limits).best.action

    def _adopt(self, position: State, plan: list[int]) -> None:
        """Remember what to do at every step of a plan."""
        game, s = stripped(self.game), position.copy()
        for action in plan:
            self._planned[int(key(s))] = action
            game.play(s, action)

    def _best_plan(self, position: State, plans: list[list[int]], limits: Limits) -> list[int]:
        """What the most promising plan is, looking deeper and deeper at fewer and fewer."""
        clock = Clock(limits)
        for depth in range(PLAN_DEPTH, limits.depth + 1, PLAN_DEPTH - 1):
            if len(plans) == 1:
                break
            values: list[int] = []
            for plan in plans:
                left = clock.left
                search = Limits(depth, seconds=left, soft_seconds=left)
                value = self._plan_value(position, plan, search)
                if clock.is_over:  # that search was cut off
                    return plans[int(np.argmax(values or [0]))]
                values.append(value)
            best = np.argsort(values, kind="stable")[::-1]
            plans = [plans[i] for i in best[: -(-len(plans) // PLANS_KEPT)]]
        return plans[0]

    def _plan_value(self, position: State, plan: list[int], limits: Limits) -> int:
        """What the seat to move can expect once a plan is carried out."""
        game, s = stripped(self.game), position.copy()
        for action in plan:
            game.play(s, action)
        score = self._search(s, limits).best.score
        return score if game.turn(s) == game.turn(position) else -score

    def _search(self, s: State, limits: Limits) -> Found:
        """One search, by a thinker that is idle or a new one."""
        try:
            thinker = self._idle.get_nowait()
        except queue.Empty:
            thinker = self._thinker()
        found = thinker.search(s, limits)
        self._idle.put(thinker)
        return found

    def _thinker(self) -> AlphaBeta:
        thinking = self.thinking
        return AlphaBeta(
            self.game,
            thinking.judge,
            threads=thinking.threads,
            slots=thinking.slots,
            without=thinking.without,
        )

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        """Searches deeper and deeper while somebody watches; Ctrl-C ends it with what there is."""
        limits = self.thinking.limits_of_move(sight.seconds_left)
        if inquiry.seconds is not None:
            limits = replace(limits, nodes=None, seconds=inquiry.seconds)

        def thought(found: Found) -> Thought:
            return self._thought(sight, found)

        found = self._thinker().search(
            sight.imagine()[0],
            limits,
            lines=inquiry.lines,
            watch=lambda found: inquiry.watch(thought(found)),
        )
        return thought(found)

    def _thought(self, sight: Sight, found: Found) -> Thought:
        s = sight.imagine()[0]
        return Thought(
            player=self.name,
            seat=int(sight.seats[0]),
            candidates=tuple(candidate(self.game, s, line) for line in found.lines),
            value=value_of(found.best.score),
            nodes=found.nodes,
            depth=found.depth,
            seconds=found.seconds,
            table_use=found.table_use,
        )


def candidate(game: Game, s: State, line: Line) -> Candidate:
    """A line of play in words."""
    s, texts = game.copy(s), []
    for action in line.actions:
        texts.append(str(game.action_text(s, action)))
        game.play(s, action)
    return Candidate(
        action=line.action,
        text=texts[0],
        value=value_of(line.score),
        mate_in=mate_in(line.score),
        line=tuple(texts[1:]),
    )


def value_of(score: int) -> float:
    """A score as a number from -1 to 1."""
    return max(-1.0, min(1.0, score / EVEN))


def can_be_searched(game: Game) -> bool:
    """Whether alpha-beta can play a game: see `search.deepening.check_open`."""
    return game.seats == 2 and game.zero_sum and game.redeal is nothing_hidden


@register("alphabeta", sits_at=can_be_searched)
def alphabeta(
    game: Game,
    name: str,
    seconds: str = "",
    depth: str = "",
    nodes: str = "",
    judge: str = "",
    threads: str = "1",
    without: str = "",
) -> Player:
    """`alphabeta:seconds=0.2`, `alphabeta:depth=6,judge=linear`: looks ahead in an open game.

    Without limits a move takes a share of the clock, or a fifth of a second where no clock runs.
    judge: one of the game's own, or the file of a network.
    without: features to switch off, such as `reductions+extensions`.
    """
    if not can_be_searched(game):
        raise PlayerError(f"alphabeta cannot play {game.name}: it is not an open game for two")
    limits = limits_in(seconds, depth, nodes)
    slots = next((n for most, n in SLOTS_BY_DEPTH.items() if limits.depth <= most), 1 << 18)
    off = tuple(filter(None, without.split("+")))
    feature_bits(off)  # refuses unknown ones
    thinking = Thinking(judge, limits, whole("threads", threads, least=1), slots, off)
    if judge and judge not in game.open_rules.judges:
        network, weights = judge_in_file(judge, game)
        thinking = replace(thinking, judge=network, weights=f"net {weights}")
    return AlphaBetaPlayer(game, thinking, name)


def judge_in_file(path: str, game: Game) -> tuple[Judge | Outside, str]:
    """A network as the judge, and the hash of its weights."""
    if not Path(path).is_file():
        has = ", ".join(game.open_rules.judges) or "none"
        raise PlayerError(f"judge={path}: there is no such file, and {game.name} has {has}")
    network, kind, seen = loaded_network(path, game)
    if not kind.guides_search:
        raise PlayerError(f"judge={path}: this network says nothing of positions")
    judge = STATIC.get(kind.name, batch_judge)(stripped(seen), network)
    return judge, network.sha256


def limits_in(seconds: str, depth: str, nodes: str) -> Limits:
    """The limits in a player's text."""
    return Limits(
        depth=whole("depth", depth, least=1) if depth else Limits.depth,
        nodes=whole("nodes", nodes, least=1) if nodes else None,
        seconds=limit(seconds),
    )
