"""Large games of rising bids, solved as if seats forgot what is rarely met.

With B bids there are 2^B histories, too many for large tables. A *context* is a history or its last
bids, and who is to move. Seats remember the longest context that is in a set of them: where games
often get to, that is the whole history, elsewhere a few bids. Which contexts are in the set is
found by games: a solution with a small set plays, one seat straying, and the contexts that were met
most often are the next, larger set.

What seats believe and expect depends on the context alone. Each iteration walks the contexts twice:
upwards with how likely the hands of both seats are, downwards with what they will get. In a context
that stands for many histories the hands of both seats are taken for independent. So such a solution
is no equilibrium. How far off it is, a local response tells.

A context is written as a number: bit 0 says that nothing is forgotten, bit 1 + rung that a bid was
made. To forget the oldest is to clear the lowest bit, and contexts in order are ordered by their
standing bids.

Sources: M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-regret learning in
extensive-form games with imperfect recall", 2012; D. Ron, Y. Singer, N. Tishby, "The power of
amnesia: learning probabilistic automata with variable memory length", 1996.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from ..search.matching import Step, step_of, variant_named
from .hands import Hands

TOGETHER = 1 << 26  # probabilities that are computed at a time
MISTAKE = 0.02  # share of actions that are drawn uniformly: pasts that nobody plays have odds, too
WEAKNESS = 0.002  # share of games in which a seat is a weak player: enough to win more from it
STEPS = 255  # between square roots of probabilities
NEGLIGIBLE = 1e-20  # a weight that is not quite 0, so that nothing is divided by 0
VARIANT = variant_named("discounted")

FIRST_SETS = (32, 8)  # solutions with sets smaller by these factors find the contexts
FIRST_ITERATIONS = 30  # at most, of each of them
GAMES = 4  # per context of the next set
GAMES_AT_ONCE = 1 << 20
STRAYING = 0.3  # share of bids that are drawn uniformly by the seat that strays
RARE = 1e-3  # where games get to with a smaller probability, nothing is looked for

Progress = Callable[[int], object]


class Contexts:
    """A set of contexts, in order. All contexts of one or two bids are in it.

    found: the others, by who is to move. [n]
    """

    def __init__(self, rungs: int, found: Sequence[Tensor] = ()) -> None:
        self.rungs = rungs
        device = found[0].device if found else None
        ones = 2 << torch.arange(rungs, device=device)
        pairs = (ones[:, None] | ones)[torch.ones(rungs, rungs, device=device).triu(1) > 0]
        opening = torch.ones(1, dtype=torch.long, device=device)
        short = (opening, ones, pairs, pairs + 1), (ones, ones + 1, pairs)
        self.keys = [
            torch.unique(torch.cat((*least, *found[mover : mover + 1])))
            for mover, least in enumerate(short)
        ]
        bounds = torch.cat((0 * opening, ones, ones[-1:] << 1))
        # By mover: where the contexts with each standing bid begin, first those without.
        self.starts = [torch.searchsorted(keys, bounds).tolist() for keys in self.keys]

    def __len__(self) -> int:
        return sum(map(len, self.keys))

    def find(self, mover: int, keys: Tensor) -> Tensor:
        """The places of the longest contexts in the set that end these ones. [...]"""
        known = self.keys[mover]
        while True:
            at = torch.searchsorted(known, keys).clamp(max=len(known) - 1)
            unknown = known[at] != keys
            if not unknown.any():
                return at
            keys = torch.where(unknown, keys & keys - 1, keys)


class Layout:
    """Where a table has its numbers about legal actions in contexts: a row of hands for each."""

    def __init__(self, contexts: Contexts, mover: int) -> None:
        rungs, starts = contexts.rungs, contexts.starts[mover]
        # By standing bid, from -1 for none.
        self.legal = [rungs] + [rungs - standing for standing in range(rungs)]
        self.counts = [end - start for start, end in pairwise(starts)]
        self.ends = [0]
        for count, legal in zip(self.counts, self.legal, strict=True):
            self.ends.append(self.ends[-1] + count * legal)

    def part(self, table: Tensor, standing: int) -> Tensor:
        """The part of a table with this standing bid. [contexts, legal actions, hands]"""
        rows = table[self.ends[standing + 1] : self.ends[standing + 2]]
        return rows.view(self.counts[standing + 1], self.legal[standing + 1], table.shape[1])

    def offsets(self, device: str) -> Tensor:
        """The row of an action, less its number, in each context. [contexts]"""
        lowest = range(len(self.legal))  # legal bids, by standing bid
        rows = [
            torch.arange(count, device=device) * legal + end - low
            for count, legal, end, low in zip(
                self.counts, self.legal, self.ends, lowest, strict=False
            )
        ]
        return torch.cat(rows)


class Part(NamedTuple):
    """Contexts with one standing bid and mover, as many as are computed at a time."""

    standing: int  # the rung, -1 where there is none
    mover: int
    at: slice  # the places of the contexts
    rows: slice  # the same, counted among those with this standing bid
    following: Tensor  # the places of the contexts after each higher bid [contexts, bids]
    mistakes: Tensor  # how often hands make these bids by mistake [bids, hands]
    weak: Tensor  # what hands of a weak player do, if seats expect one [legal actions, hands]


class Valued(NamedTuple):
    """What the movers of a part do, and what it brings them."""

    policy: Tensor  # [contexts, legal actions, hands]
    gains: Tensor  # what actions are worth, less the mean by the policy; likewise
    reach: Tensor  # how likely the contexts and the mover's hands were [contexts, hands]


class ContextPolicy:
    """What the movers of both seats do in contexts.

    tables: by mover, the square roots of probabilities in steps of 1 / STEPS. One byte for each:
    small probabilities matter, so the steps between them are small.
    """

    def __init__(self, contexts: Contexts, tables: list[Tensor]) -> None:
        self.contexts, self.tables = contexts, tables
        layouts = (Layout(contexts, mover) for mover in range(2))
        self.offsets = [layout.offsets(str(tables[0].device)) for layout in layouts]
        self.actions = torch.arange(contexts.rungs + 1, device=tables[0].device)

    def rows(self, mover: int, bid_set: Tensor) -> Tensor:
        """The rows of the mover's table for all actions; of an illegal one it is any. [n, actions]

        bid_set: the rungs of all bids, each a bit [n].
        """
        at = self.contexts.find(mover, bid_set << 1 | 1)
        rows = self.offsets[mover][at][:, None] + self.actions
        return rows.clamp(0, len(self.tables[mover]) - 1)

    def odds(self, mover: int, rows: Tensor, hands: Tensor | None = None) -> Tensor:
        """How likely the mover does this, with each hand or with one for each context."""
        table = self.tables[mover]
        roots = table[rows] if hands is None else table[rows, hands[:, None]]
        return from_bytes(roots)


def to_bytes(odds: Tensor) -> Tensor:
    """Probabilities as `ContextPolicy` keeps them. Uses them up."""
    return odds.sqrt_().mul_(STEPS).round_().byte()


def from_bytes(roots: Tensor) -> Tensor:
    """The inverse of `to_bytes`, up to rounding."""
    return (roots.float() / STEPS).square_()


Weak = tuple[Tensor, Tensor]
"""What a player does who looks at nothing but the standing bid, as seat 0 and as seat 1.
[standing bids, first none; actions; hands]"""


class Kind(NamedTuple):
    """One kind of movers: those who play by the policy, or weak players."""

    own: list[Tensor]  # by mover, how likely it is of this kind with each hand [contexts, hands]
    other: list[Tensor]  # the same of the other seat
    policy: Tensor  # what they do in the contexts of a part [contexts or 1, legal actions, hands]


class ContextWalk(ABC):
    """Walks all contexts of a table: up with how likely hands are, down with what they get.

    weak: a player that at least one of the seats may be.
    """

    share = 1.0  # of actions that are the policy's; others are mistakes

    def __init__(self, hands: Hands, contexts: Contexts, weak: Weak | None) -> None:
        self.hands, self.contexts, self.weak = hands, contexts, weak
        self.gains = hands.gains, hands.gains.transpose(1, 2)  # of the bidder, by bidder
        self.sizes = [len(odds) for odds in hands.odds]
        self.layouts = [Layout(contexts, mover) for mover in range(2)]
        # By mover, in each context: how likely its hands and the other's are, and in the same
        # place later what they get.
        self.own, self.other = (
            [self._zeros(len(contexts.keys[mover]), self.sizes[mover ^ role]) for mover in range(2)]
            for role in range(2)
        )
        self.parts = [*self._parts()]

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, device=self.hands.device)

    def _parts(self) -> Iterator[Part]:
        for standing in range(-1, self.contexts.rungs):
            for mover in range(2):
                start, end = self.contexts.starts[mover][standing + 1 : standing + 3]
                legal = self.contexts.rungs - max(standing, 0)
                mistakes = self._mistakes(standing, mover)
                together = max(TOGETHER // self._numbers(legal, self.sizes[mover]), 1)
                for first in range(start, end, together):
                    at = slice(first, min(first + together, end))
                    rows = slice(at.start - start, at.stop - start)
                    following = self._following(standing, mover, at)
                    weak = self._weak(standing, mover)
                    yield Part(standing, mover, at, rows, following, mistakes, weak)

    def _numbers(self, legal: int, hands: int) -> int:
        """How many numbers of a context are computed at a time."""
        return legal * hands

    def _following(self, standing: int, mover: int, at: slice) -> Tensor:
        higher = torch.arange(standing + 1, self.contexts.rungs, device=self.hands.device)
        keys = self.contexts.keys[mover][at, None] | 2 << higher
        return self.contexts.find(1 - mover, keys).int()

    def _mistakes(self, standing: int, mover: int) -> Tensor:
        """How often hands make bids by mistake: here never. [bids, hands]"""
        return self._zeros(self.contexts.rungs - standing - 1, self.sizes[mover])

    def _weak(self, standing: int, mover: int) -> Tensor:
        """What a weak player does, if there is one. [legal actions, hands]"""
        if self.weak is None:
            return self._zeros(0, self.sizes[mover])
        odds = self.weak[mover][standing + 1, standing + 1 :]
        return odds if standing >= 0 else odds[:-1]  # there is nothing to call yet

    @abstractmethod
    def _policy(self, part: Part) -> Tensor:
        """What movers do in these contexts. [contexts, legal actions, hands]"""

    def _kinds(self, part: Part) -> list[Kind]:
        """The kinds of movers in these contexts, first those who play by the policy."""
        return [Kind(self.own, self.other, self._policy(part))]

    def _spread(self) -> None:
        """How likely the hands of both seats are in each context, if both make a few mistakes."""
        for table in (*self.own, *self.other):
            table.zero_()
        self._open()
        for part in self.parts:
            if part.following.shape[1]:
                self._spread_part(part)

    def _open(self) -> None:
        """How likely hands are before the first bid: seat 0 opens."""
        self.own[0][0], self.other[0][0] = self.hands.odds

    def _spread_part(self, part: Part) -> None:
        """Add how likely hands are after the bids in these contexts."""
        mover, bids, kinds = part.mover, part.following.shape[1], self._kinds(part)
        after, following = 1 - mover, part.following.flatten()
        tried = [torch.add(part.mistakes, kinds[0].policy[:, :bids], alpha=self.share)]
        tried += [kind.policy[:, :bids] for kind in kinds[1:]]
        reaches = [kind.own[mover][part.at] for kind in kinds]
        made = [odds * reach[:, None] for odds, reach in zip(tried, reaches, strict=True)]
        total = torch.stack([reach.sum(1, keepdim=True) for reach in reaches]).sum(0)
        odds = torch.stack([bid.sum(2) for bid in made]).sum(0) / total.clamp(min=NEGLIGIBLE)
        for kind, bid in zip(kinds, made, strict=True):
            kind.other[after].index_add_(0, following, bid.flatten(0, 1))
            others = odds[:, :, None] * kind.other[mover][part.at][:, None]
            kind.own[after].index_add_(0, following, others.flatten(0, 1))

    def _valued(self, part: Part) -> Valued:
        """What hands get in these contexts, once those after them are known."""
        mover, bids, kinds = part.mover, part.following.shape[1], self._kinds(part)
        policy, reach = kinds[0].policy, self.own[mover][part.at].clone()
        mine = torch.stack([kind.own[mover][part.at] for kind in kinds])
        odds = mine.sum((0, 2))[:, None].clamp(min=NEGLIGIBLE)
        theirs = torch.stack([kind.other[mover][part.at] for kind in kinds]).sum(0) / odds
        acting = policy * (mine[0] / odds)[:, None]  # how likely hands take each action
        for kind, weak in zip(kinds[1:], mine[1:], strict=True):
            acting += kind.policy * (weak / odds)[:, None]
        values, to_theirs = torch.empty_like(acting), torch.zeros_like(theirs)
        if bids:
            values[:, :bids] = self.other[1 - mover][part.following]
            to_theirs = torch.nn.functional.embedding_bag(
                part.following,
                self.own[1 - mover],
                per_sample_weights=acting[:, :bids].sum(2),
                mode="sum",
            )
        if part.standing >= 0:
            called = self.gains[1 - mover][part.standing]
            values[:, -1] = -theirs @ called
            to_theirs += acting[:, -1] @ called.T
        worth = (values * policy).sum(1)
        self.own[mover][part.at], self.other[mover][part.at] = worth, to_theirs
        return Valued(policy, values.sub_(worth[:, None]), reach)


class ContextSolver(ContextWalk):
    """Solves a table, as if seats remembered only contexts.

    weak: a player that the other seat is in a small share of the games, from beginning to end. The
    more its bids look like that, the more is it expected.
    """

    share = 1 - MISTAKE

    def __init__(self, hands: Hands, contexts: Contexts, weak: Weak | None = None) -> None:
        super().__init__(hands, contexts, weak)
        # How likely seats are weak players with each hand, as `own` and `other`.
        self.own_weak, self.other_weak = (
            [] if weak is None else [torch.zeros_like(table) for table in tables]
            for tables in (self.own, self.other)
        )
        # By mover: legal actions in contexts, by hand.
        self.regrets, self.average = (
            [self._zeros(self.layouts[mover].ends[-1], self.sizes[mover]) for mover in range(2)]
            for _ in range(2)
        )
        self.iterations = 0

    def _mistakes(self, standing: int, mover: int) -> Tensor:
        legal = self.contexts.rungs - max(standing, 0)
        return super()._mistakes(standing, mover) + MISTAKE / legal

    def _kinds(self, part: Part) -> list[Kind]:
        weak = [Kind(self.own_weak, self.other_weak, part.weak[None])] if self.own_weak else []
        return super()._kinds(part) + weak

    def _open(self) -> None:
        super()._open()
        for table in (*self.own_weak, *self.other_weak):
            table.zero_()
        if self.own_weak:
            for tables, weak in ((self.own, self.own_weak), (self.other, self.other_weak)):
                weak[0][0] = WEAKNESS * tables[0][0]
                tables[0][0] *= 1 - WEAKNESS

    def solve(self, iterations: int, progress: Progress = lambda done: None) -> None:
        """So many iterations more, in each of which both seats learn once."""
        for done in range(1, iterations + 1):
            self.iterations += 1
            step = step_of(VARIANT, self.iterations)
            for seat in range(2):
                self._turn(seat, step)
            progress(done)

    def _turn(self, seat: int, step: Step) -> None:
        """Both walks, in which one seat learns."""
        self._spread()
        self._learn(seat, step)

    def policy(self) -> ContextPolicy:
        """The average, a byte per probability. Uses up the solver: its tables take gigabytes."""
        self.regrets, self.own, self.other, self.own_weak, self.other_weak = [], [], [], [], []
        tables = []
        for layout in self.layouts:
            average = self.average.pop(0)
            # Else a table lies in a part of the memory that was freed before, and keeps all of it.
            torch.cuda.empty_cache()
            tables.append(torch.empty_like(average, dtype=torch.uint8))
            for standing in range(-1, self.contexts.rungs):
                weights = layout.part(average, standing)
                total = weights.sum(1, keepdim=True).clamp(min=NEGLIGIBLE)
                layout.part(tables[-1], standing).copy_(to_bytes(weights.div_(total)))
            del average
        return ContextPolicy(self.contexts, tables)

    def _policy(self, part: Part) -> Tensor:
        """By regret matching."""
        regrets = self.layouts[part.mover].part(self.regrets[part.mover], part.standing)
        weights = regrets[part.rows].clamp(min=NEGLIGIBLE)
        return weights.div_(weights.sum(1, keepdim=True))

    def _learn(self, seat: int, step: Step) -> None:
        """One step of a seat, and what all hands get by the policies before it."""
        for part in reversed(self.parts):
            self._learn_part(part, step if part.mover == seat else None)

    def _learn_part(self, part: Part, step: Step | None) -> None:
        """What hands get in these contexts; and with a step, their mover learns."""
        valued = self._valued(part)
        if step is not None:
            self._improve(part, valued, step)

    def _improve(self, part: Part, valued: Valued, step: Step) -> None:
        """Update the mover's regrets and its average policy."""
        numbers = step[0]
        regrets, average = (
            self.layouts[part.mover].part(tables[part.mover], part.standing)[part.rows]
            for tables in (self.regrets, self.average)
        )
        regrets += valued.gains
        above, below = float(numbers["above"]), float(numbers["below"])
        regrets *= torch.where(regrets > 0, above, below)
        average.addcmul_(valued.policy, valued.reach[:, None], value=float(numbers["average"]))


def solver_for(hands: Hands, contexts: Contexts, weak: Weak | None) -> ContextSolver:
    """The solver that is fastest on the device of the hands."""
    if not hands.device.startswith("cuda") or find_spec("triton") is None:
        return ContextSolver(hands, contexts, weak)
    from .fused_contexts import FusedContextSolver  # needs triton, which CPUs do without

    return FusedContextSolver(hands, contexts, weak)


# The set ------------------------------------------------------------------------------------------


def solved(
    hands: Hands,
    size: int,
    iterations: int,
    seed: int,
    weak: Weak | None = None,
    progress: Progress = lambda done: None,
) -> ContextPolicy:
    """The solution of a table with about so many contexts, after so many iterations."""
    random = torch.Generator(hands.device).manual_seed(seed)
    solver = solver_for(hands, Contexts(len(hands.bids), [hands.rung.new_empty(0)] * 2), weak)
    for smaller in (*FIRST_SETS, 1):
        solver.solve(min(FIRST_ITERATIONS, iterations))
        contexts = most_visited(hands, solver.policy(), max(size // smaller, 1), random)
        solver = solver_for(hands, contexts, weak)
    solver.solve(iterations, progress)
    return solver.policy()


def most_visited(
    hands: Hands, policy: ContextPolicy, size: int, random: torch.Generator
) -> Contexts:
    """The contexts that games by a policy visit most often, and all short ones."""
    found = [Visits(hands.device), Visits(hands.device)]
    for _ in range(0, GAMES * size, GAMES_AT_ONCE):
        for stray in range(2):
            games = min(GAMES * size, GAMES_AT_ONCE) // 2
            _play(hands, policy, found, games, stray, random)
        for visits in found:
            visits.tidy()
    counts = torch.cat([visits.counts for visits in found])
    least = counts.sort(descending=True).values[:size][-1:]
    kept = [visits.keys[visits.counts >= least] for visits in found]
    return Contexts(policy.contexts.rungs, kept)


class Visits:
    """How often contexts with the same mover were visited."""

    def __init__(self, device: str) -> None:
        self.keys = torch.zeros(0, dtype=torch.long, device=device)
        self.counts = torch.zeros(0, device=device)
        self.new: list[tuple[Tensor, Tensor]] = []

    def add(self, keys: Tensor, counts: Tensor) -> None:
        """Whole histories, and with them all contexts that they end with."""
        while len(keys):
            self.new.append((keys, counts))
            keys = keys & keys - 1
            left = keys > 0
            keys, counts = keys[left], counts[left]

    def tidy(self) -> None:
        """Count what was added."""
        keys, counts = (torch.cat(parts) for parts in zip(*self.new, strict=True))
        self.keys, which = torch.unique(torch.cat((self.keys, keys)), return_inverse=True)
        self.counts = torch.zeros(len(self.keys), device=keys.device).index_add_(
            0, which, torch.cat((self.counts, counts))
        )
        self.new = []


def _play(
    hands: Hands,
    policy: ContextPolicy,
    found: list[Visits],
    games: int,
    stray: int,
    random: torch.Generator,
) -> None:
    """Games in which nobody calls; they count by how likely the seat that does not stray bids."""
    held = [torch.multinomial(odds, games, True, generator=random) for odds in hands.odds]
    bid_set = torch.zeros(games, dtype=torch.long, device=hands.device)
    counts, standing = torch.ones(games, device=hands.device), torch.full_like(bid_set, -1)
    rungs, mover = policy.actions[:-1], 0
    while len(bid_set):
        found[mover].add(bid_set << 1 | 1, counts)
        rows = policy.rows(mover, bid_set)[:, :-1]
        legal = rungs > standing[:, None]
        odds = policy.odds(mover, rows, held[mover]) * legal
        if mover != stray:
            counts = counts * odds.sum(1)
        odds = (odds + RARE * legal) / (odds + RARE * legal).sum(1, keepdim=True).clamp(min=RARE)
        if mover == stray:
            odds = torch.lerp(odds, legal / legal.sum(1, keepdim=True).clamp(min=1), STRAYING)
        on = (counts > RARE) & legal.any(1)
        held, counts, bid_set = [hand[on] for hand in held], counts[on], bid_set[on]
        if len(bid_set):
            standing = torch.multinomial(odds[on], 1, generator=random)[:, 0]
            bid_set, mover = bid_set | 1 << standing, 1 - mover
