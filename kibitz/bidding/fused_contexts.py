"""Solving by contexts with one GPU kernel per walk and part: regrets are read once or twice.

Run by torch, a walk writes policies, values and what it adds up to memory, each as large as the
table of regrets. Here they stay on the chip. To know a policy without a pass over all actions, the
sum of each hand's positive regrets is kept from the step before.

A tile has a few actions by all hands of a seat, padded to a power of two. Contexts beside each
other end with the same bids, so the same contexts mostly follow them: while a program goes through
its contexts, it adds up in registers what goes to the same place, and then adds it once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..search.matching import Step
from .contexts import NEGLIGIBLE, ContextPolicy, Contexts, ContextSolver, Part, Weak
from .hands import Hands

LEAST = tl.constexpr(NEGLIGIBLE)


class Tile(NamedTuple):
    """What one program works on."""

    actions: int  # at a time
    contexts: int  # one after the other
    warps: int


SPREAD = Tile(actions=4, contexts=8, warps=4)
LEARN = Tile(actions=4, contexts=1, warps=4)

# Every part has its own sizes; kernels are not compiled again for each.
SIZES = ["bids", "legal", "first", "row"]
NUMBERS = ["above", "below", "average"]  # of a step


@triton.jit
def policy_of(weights, total, there):
    """By regret matching, 0 where nothing is. [actions, hands]"""
    return tl.where(there, tl.maximum(weights, LEAST) / total[None, :], 0.0)


@triton.jit
def rows_of(table, places, columns, there, WIDTH: tl.constexpr):
    """Rows of a table, 0 where nothing is. [places, columns]"""
    at = places.to(tl.int64)[:, None] * WIDTH + columns[None, :]
    return tl.load(table + at, mask=there, other=0.0)


@triton.jit
def add_rows(table, places, columns, sums, chosen, WIDTH: tl.constexpr):
    """Add the chosen rows of sums to rows of a table that other programs add to as well."""
    at = places.to(tl.int64)[:, None] * WIDTH + columns[None, :]
    there = chosen[:, None] & (columns < WIDTH)[None, :]
    tl.atomic_add(table + at, sums, mask=there, sem="relaxed")


@triton.jit
def row_of(table, place, columns, WIDTH: tl.constexpr):
    """One row of a table, 0 behind its end. [columns]"""
    return tl.load(table + place * WIDTH + columns, mask=columns < WIDTH, other=0.0)


@triton.jit
def total_of(totals, place, columns, WIDTH: tl.constexpr):
    """The sums of positive regrets in a context, 1 where nothing is. [columns]"""
    return tl.load(totals + place * WIDTH + columns, mask=columns < WIDTH, other=1.0)


@triton.jit
def add_both(
    own_after,
    other_after,
    place,
    to_own,
    to_other,
    chosen,
    HANDS: tl.constexpr,
    OTHERS: tl.constexpr,
):
    """Add the chosen rows to what is known of both seats."""
    add_rows(other_after, place, tl.arange(0, to_other.shape[1]), to_other, chosen, HANDS)
    add_rows(own_after, place, tl.arange(0, to_own.shape[1]), to_own, chosen, OTHERS)


@triton.jit
def moved(sums, left, more):
    """Sums of rows, begun anew where they have been left, and what comes next."""
    return tl.where(left[:, None], 0.0, sums) + more


@triton.jit(do_not_specialize=["count", *SIZES])
def spread_kernel(
    regrets,  # the mover's [rows, HANDS]
    totals,  # the sums of its positive regrets [contexts, HANDS]
    own, other, own_after, other_after,  # how likely hands are, as in the solver
    own_weak, other_weak, own_weak_to, other_weak_to,  # the same of weak players
    following,  # int32 [count, bids]
    mistakes, weak,  # of the mover [bids, HANDS]; what a weak one does [legal, HANDS]
    share, count, bids, legal,
    first, row,  # context of the part, and its row of the regrets
    HANDS: tl.constexpr, OTHERS: tl.constexpr, BLOCK: tl.constexpr, OTHER_BLOCK: tl.constexpr,
    ACTIONS: tl.constexpr, CONTEXTS: tl.constexpr, WEAK: tl.constexpr,
):  # fmt: skip
    hand, other_hand = tl.arange(0, BLOCK), tl.arange(0, OTHER_BLOCK)
    # Programs that run together have different bids, so that few add to the same places at once.
    tiles = tl.cdiv(bids, ACTIONS)
    bid = tl.program_id(0) % tiles * ACTIONS + tl.arange(0, ACTIONS)
    legal_bid = bid < bids
    there = legal_bid[:, None] & (hand < HANDS)[None, :]
    by_mistake = rows_of(mistakes, bid, hand, there, HANDS)
    start = tl.program_id(0) // tiles * CONTEXTS
    place = tl.load(following + start * bids + bid, mask=legal_bid, other=0)
    to_other = tl.zeros((ACTIONS, BLOCK), tl.float32)
    to_own = tl.zeros((ACTIONS, OTHER_BLOCK), tl.float32)
    weak_other, weak_own = to_other, to_own
    for at in range(start, tl.minimum(start + CONTEXTS, count)):
        context = (first + at).to(tl.int64)
        reach = row_of(own, context, hand, HANDS)
        weights = rows_of(regrets, row + at * legal + bid, hand, there, HANDS)
        policy = policy_of(weights, total_of(totals, context, hand, HANDS), there)
        bidders = (share * policy + by_mistake) * reach[None, :]
        bid_odds, odds = tl.sum(bidders, 1), tl.sum(reach, 0)
        after = tl.load(following + at * bids + bid, mask=legal_bid, other=0)
        left = after != place
        if WEAK:
            weak_reach = row_of(own_weak, context, hand, HANDS)
            weak_bidders = rows_of(weak, bid, hand, there, HANDS) * weak_reach[None, :]
            bid_odds, odds = bid_odds + tl.sum(weak_bidders, 1), odds + tl.sum(weak_reach, 0)
        odds = (bid_odds / tl.maximum(odds, LEAST))[:, None]
        add_both(own_after, other_after, place, to_own, to_other, left, HANDS, OTHERS)
        to_other = moved(to_other, left, bidders)
        to_own = moved(to_own, left, odds * row_of(other, context, other_hand, OTHERS)[None, :])
        if WEAK:
            add_both(own_weak_to, other_weak_to, place, weak_own, weak_other, left, HANDS, OTHERS)
            weak_other = moved(weak_other, left, weak_bidders)
            others = row_of(other_weak, context, other_hand, OTHERS)
            weak_own = moved(weak_own, left, odds * others[None, :])
        place = after
    add_both(own_after, other_after, place, to_own, to_other, legal_bid, HANDS, OTHERS)
    if WEAK:
        add_both(own_weak_to, other_weak_to, place, weak_own, weak_other, legal_bid, HANDS, OTHERS)


@triton.jit
def values_of(other_after, after, bid, call, hand, held, HANDS: tl.constexpr):
    """What the mover's hands get by actions: where they are no bids, by a call. [actions, hands]"""
    values = rows_of(other_after, after, hand, bid[:, None] & held[None, :], HANDS)
    return tl.where(bid[:, None], values, call[None, :])


@triton.jit
def look_ahead(
    regrets,  # of this context [legal, HANDS]
    following,
    own_after,
    other_after,
    weak,  # what weak players do [legal, HANDS]
    total,  # of positive regrets, by hand
    reach,
    weak_reach,
    call,  # what hands get by it
    bids,
    legal,
    HANDS: tl.constexpr,
    OTHERS: tl.constexpr,
    BLOCK: tl.constexpr,
    OTHER_BLOCK: tl.constexpr,
    ACTIONS: tl.constexpr,
    WEAK: tl.constexpr,
):
    """What the mover's hands get; and the other's by bids, times the odds of the context."""
    hand, other_hand = tl.arange(0, BLOCK), tl.arange(0, OTHER_BLOCK)
    held, other_held = hand < HANDS, other_hand < OTHERS
    # Sums over actions stay apart by their place in a tile: threads exchange them once, at the end.
    worths = tl.zeros((ACTIONS, BLOCK), tl.float32)
    to_others = tl.zeros((ACTIONS, OTHER_BLOCK), tl.float32)
    for low in range(0, legal, ACTIONS):
        action = low + tl.arange(0, ACTIONS)
        bid, there = action < bids, (action < legal)[:, None] & held[None, :]
        after = tl.load(following + action, mask=bid, other=0)
        policy = policy_of(rows_of(regrets, action, hand, there, HANDS), total, there)
        worths += policy * values_of(other_after, after, bid, call, hand, held, HANDS)
        others = rows_of(own_after, after, other_hand, bid[:, None] & other_held[None, :], OTHERS)
        acting = policy * reach[None, :]
        if WEAK:
            acting += rows_of(weak, action, hand, there, HANDS) * weak_reach[None, :]
        to_others += tl.sum(acting, 1)[:, None] * others
    return tl.sum(worths, 0), tl.sum(to_others, 0)


@triton.jit
def improve(
    regrets,  # of this context [legal, HANDS]
    average,
    following,
    other_after,
    total,
    reach,
    call,
    worth,
    step,  # see `NUMBERS`
    bids,
    legal,
    HANDS: tl.constexpr,
    BLOCK: tl.constexpr,
    ACTIONS: tl.constexpr,
):
    """Update regrets and average, as torch does in `_improve`. The sums of positive regrets."""
    hand = tl.arange(0, BLOCK)
    held = hand < HANDS
    above, below, weight = tl.load(step), tl.load(step + 1), tl.load(step + 2)
    sums = tl.zeros((ACTIONS, BLOCK), tl.float32)
    for low in range(0, legal, ACTIONS):
        action = low + tl.arange(0, ACTIONS)
        bid, there = action < bids, (action < legal)[:, None] & held[None, :]
        cells = action[:, None] * HANDS + hand[None, :]
        weights = tl.load(regrets + cells, mask=there, other=0.0)
        before = tl.load(average + cells, mask=there, other=0.0)
        after = tl.load(following + action, mask=bid, other=0)
        values = values_of(other_after, after, bid, call, hand, held, HANDS)
        played = policy_of(weights, total, there) * reach[None, :]
        tl.store(average + cells, before + weight * played, mask=there)
        weights += values - worth[None, :]
        weights *= tl.where(weights > 0.0, above, below)
        tl.store(regrets + cells, weights, mask=there)
        sums += tl.where(there, tl.maximum(weights, LEAST), 0.0)
    return tl.sum(sums, 0)


@triton.jit(do_not_specialize=SIZES)
def learn_kernel(
    regrets, average,  # the mover's [rows, HANDS]
    totals,  # the sums of its positive regrets [contexts, HANDS]
    own,  # how likely the mover's hands are; what they get is written there [contexts, HANDS]
    other,  # the same of the other's [contexts, OTHERS]
    own_after,  # what the other's hands get after a bid [contexts, OTHERS]
    other_after,  # and what the mover's get [contexts, HANDS]
    own_weak,  # how likely the mover is a weak player with each hand [contexts, HANDS]
    following,  # int32 [contexts of the part, bids]
    weak,  # what weak players do [legal, HANDS]
    lost,  # what a call costs the mover's hands, times the odds of the context
    won,  # what the other's hands get by calls, times these odds
    step,  # see `NUMBERS`
    bids, legal, first, row,
    HANDS: tl.constexpr, OTHERS: tl.constexpr, BLOCK: tl.constexpr, OTHER_BLOCK: tl.constexpr,
    ACTIONS: tl.constexpr,
    WEAK: tl.constexpr,  # whether there are weak players
    LEARNS: tl.constexpr,  # whether the mover does
):  # fmt: skip
    hand, other_hand = tl.arange(0, BLOCK), tl.arange(0, OTHER_BLOCK)
    held, other_held = hand < HANDS, other_hand < OTHERS
    at = tl.program_id(0).to(tl.int64)
    context, cells = first + at, (row + at * legal) * HANDS
    mine, theirs = context * HANDS + hand, context * OTHERS + other_hand
    regrets, average, following = regrets + cells, average + cells, following + at * bids
    reach = tl.load(own + mine, mask=held, other=0.0)
    odds, weak_reach = tl.sum(reach, 0), reach
    if WEAK:
        weak_reach = tl.load(own_weak + mine, mask=held, other=0.0)
        odds += tl.sum(weak_reach, 0)
    odds = tl.maximum(odds, LEAST)
    total = tl.load(totals + mine, mask=held, other=1.0)
    call = -tl.load(lost + at * HANDS + hand, mask=held, other=0.0) / odds
    worth, to_others = look_ahead(
        regrets, following, own_after, other_after, weak, total, reach, weak_reach, call,
        bids, legal, HANDS, OTHERS, BLOCK, OTHER_BLOCK, ACTIONS, WEAK,
    )  # fmt: skip
    called = tl.load(won + at * OTHERS + other_hand, mask=other_held, other=0.0)
    tl.store(own + mine, worth, mask=held)
    tl.store(other + theirs, (to_others + called) / odds, mask=other_held)
    if LEARNS:
        sums = improve(
            regrets, average, following, other_after, total, reach, call, worth, step,
            bids, legal, HANDS, BLOCK, ACTIONS,
        )  # fmt: skip
        tl.store(totals + mine, sums, mask=held)


def by_turn(mover: int, own: list[Tensor], other: list[Tensor]) -> tuple[Tensor, ...]:
    """The tables of contexts with this mover, then those of the contexts after them."""
    return own[mover], other[mover], own[1 - mover], other[1 - mover]


class FusedContextSolver(ContextSolver):
    """The same numbers up to rounding, in a fraction of the time on a GPU."""

    def __init__(self, hands: Hands, contexts: Contexts, weak: Weak | None = None) -> None:
        super().__init__(hands, contexts, weak)
        # By mover: the sums of positive regrets, for regret matching. [contexts, hands]
        self.totals = [self._zeros(*own.shape) for own in self.own]
        for part in self.parts:
            legal = self.layouts[part.mover].legal[part.standing + 1]
            self.totals[part.mover][part.at] = NEGLIGIBLE * legal
        self.step = self._zeros(len(NUMBERS))
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}  # by the seat that learns

    def _numbers(self, legal: int, hands: int) -> int:
        return hands  # of calls; all else stays on the chip

    def policy(self) -> ContextPolicy:
        self.totals, self.graphs = [], {}
        return super().policy()

    def _turn(self, seat: int, step: Step) -> None:
        """The kernels of a turn are launched at once: there are hundreds, and many are short.

        The first time they are launched one by one, since they are compiled then.
        """
        if self.iterations == 1 or not self.step.is_cuda:
            super()._turn(seat, step)
            return
        self._set(step)
        if seat not in self.graphs:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._spread()
                super()._learn(seat, step)
            self.graphs[seat] = graph
        self.graphs[seat].replay()

    def _set(self, step: Step) -> None:
        """Give kernels the numbers of a step."""
        self.step.copy_(torch.tensor([float(step[0][name]) for name in NUMBERS]))

    def _learn(self, seat: int, step: Step) -> None:
        self._set(step)
        super()._learn(seat, step)

    def _spread_part(self, part: Part) -> None:
        count, bids = part.following.shape
        programs = triton.cdiv(count, SPREAD.contexts) * triton.cdiv(bids, SPREAD.actions)
        spread_kernel[(programs,)](
            self.regrets[part.mover],
            *self._tables(part.mover),
            *self._weak_tables(part.mover),
            part.following,
            part.mistakes,
            part.weak,
            self.share,
            count,
            *self._place(part),
            **self._widths(part.mover, SPREAD),
            CONTEXTS=SPREAD.contexts,
            WEAK=self.weak is not None,
        )

    def _learn_part(self, part: Part, step: Step | None) -> None:
        learn_kernel[(len(part.following),)](
            self.regrets[part.mover],
            self.average[part.mover],
            *self._tables(part.mover),
            self._weak_tables(part.mover)[0],
            part.following,
            part.weak,
            *self._calls(part),
            self.step,
            *self._place(part),
            **self._widths(part.mover, LEARN),
            WEAK=self.weak is not None,
            LEARNS=step is not None,
        )

    def _calls(self, part: Part) -> tuple[Tensor, Tensor]:
        """What a call costs the mover's hands, and what the other's get, times the context's odds.

        Matrix products are left to torch.
        """
        own, other, totals = (
            tables[part.mover][part.at] for tables in (self.own, self.other, self.totals)
        )
        if part.standing < 0:
            return 0 * own, 0 * other
        called = self.gains[1 - part.mover][part.standing]
        regrets = self.layouts[part.mover].part(self.regrets[part.mover], part.standing)
        calls = regrets[part.rows, -1].clamp(min=NEGLIGIBLE).div_(totals).mul_(own)
        if self.weak is not None:
            calls += part.weak[-1] * self.own_weak[part.mover][part.at]
            other = other + self.other_weak[part.mover][part.at]
        return other @ called, calls @ called.T

    def _tables(self, mover: int) -> tuple[Tensor, ...]:
        """What both kernels read about all contexts with this mover and those after them."""
        return self.totals[mover], *by_turn(mover, self.own, self.other)

    def _weak_tables(self, mover: int) -> tuple[Tensor, ...]:
        """How likely seats are weak players; where there are none, whatever is not read."""
        if self.weak is None:
            return by_turn(mover, self.own, self.other)
        return by_turn(mover, self.own_weak, self.other_weak)

    def _place(self, part: Part) -> tuple[int, int, int, int]:
        """A part's sizes and where it begins, as in `SIZES`."""
        layout = self.layouts[part.mover]
        legal = layout.legal[part.standing + 1]
        row = layout.ends[part.standing + 1] + part.rows.start * legal
        return part.following.shape[1], legal, part.at.start, row

    def _widths(self, mover: int, tile: Tile) -> dict[str, Any]:
        hands, others = self.own[mover].shape[1], self.other[mover].shape[1]
        return {
            "HANDS": hands,
            "OTHERS": others,
            "BLOCK": triton.next_power_of_2(hands),
            "OTHER_BLOCK": triton.next_power_of_2(others),
            "ACTIONS": tile.actions,
            "num_warps": tile.warps,
        }
