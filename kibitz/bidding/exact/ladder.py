"""Games of rising bids between two hidden hands, solved with vectors over all hands.

Each seat has a hand. In turn they bid, always higher than before, or call the standing bid. The
call ends the game; the hands and the standing bid decide what the bidder gets. So the set of bids
is the whole public history: with B bids there are 2^B sets, and the k-th lowest bid of a set is by
seat k mod 2.

A set is written as a number with the *lowest* bid in the *highest* bit. The sets after it have more
bits below its lowest one: everything after the set m with lowest bit j lies between m and m + 2^j.
Counting upwards walks through the tree, parents first, and each subtree is one stretch of memory. A
*block* is such a stretch. Threads walk different blocks; the sets that begin blocks, the *heads*,
are entered before and finished after. Heads with equally many bids are a *level*. A level depends
only on the level before it (when entering) or after it (when finishing), so all its heads and hands
are done at once. A CPU has few heads and long blocks, which need little memory. A GPU has memory
and needs threads: there every set is a head, and a thread has one hand of it.

A table has two rows of hands for each set m: [0, m] is the weight of the bid that led to m, for the
hands of the seat that bid it; [1, m] is the weight of calling there.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...devices import Array, device_named
from ...game import Game, kernel, rule
from ...search.matching import STEP, moved
from ...search.sequences import Policy, Progress, Strategy, TooLarge, silent, table_of
from .bidding_game import BiddingGame, bids_and_call

BID, CALL = 0, 1
VALUE, BEST, LEARN = range(3)  # what a walk is for
# What it knows at a place, by hand: the other seat's reach, how weights become probabilities (two
# numbers), the other seat's reach where the call is made, and what the call gains.
REACH, SCALE, EQUAL, CALLED, GAIN = range(5)
MOST_BYTES = 3 << 30  # per table; a solver has two
HEAD_BITS = 6  # 64 blocks, enough for any number of CPU threads to share evenly
LEAST_BITS = 8  # of a block: shorter ones do not pay for a thread
ROWS = 1 << 14  # information sets per call of a policy
NO_STEP = np.zeros(1, STEP)
ONE = 1  # see `product`


class Task(NamedTuple):
    """What a walk is for."""

    bids: int  # of the game
    block_bits: int
    seat: int
    purpose: int  # VALUE, BEST or LEARN
    mine: int  # the number of the seat's hands
    theirs: int  # the number of the other's hands
    one: int  # see `product`


class Tables(NamedTuple):
    """Strategies, and what they gained in the step before."""

    weights: Strategy
    gains: Strategy
    average: Strategy


class Facts(NamedTuple):
    """What a walk must know about the game, from the side of one seat."""

    kinds: Array  # of the seat's hands [bids, hands]
    scores: Array  # of a kind, against each hand of the other seat [bids, kinds, hands]
    odds: Array  # of the other's hands [hands]
    heads: Array  # by level [blocks]


class Room(NamedTuple):
    """What a walk keeps on its way. There is a *place* per number of bids since a block's head."""

    places: Array  # what it knows there, REACH to GAIN, by hand [places, 5, hands]
    values: Array  # of sets, by the seat's hand; see `row` [rows, hands]
    prices: Array  # what a call gains at a place, by kind of hand [places, kinds]


class Ladder(BiddingGame):
    """A game of rising bids as arrays over all histories.

    device: where it is walked, "cpu" or "cuda"; a GPU needs memory for ten tables.
    block_bits: a block has 2^block_bits sets; None chooses for the device.
    """

    seats = 2

    def __init__(self, game: Game, device: str = "cpu", block_bits: int | None = None) -> None:
        check_size(game, len(bids_and_call(game)[0]))
        super().__init__(game)
        check_size(game, len(self.bids), max(self.deal.shape))
        self.probe()
        self.device = device_named(device)
        self.block_bits = self._usual_bits() if block_bits is None else block_bits
        self.blocks = 1 << len(self.bids) - self.block_bits
        self._pack()
        self._make_room()

    def _usual_bits(self) -> int:
        if self.device.name == "cuda":
            return 0
        bids = len(self.bids)
        return bids - HEAD_BITS if bids >= HEAD_BITS + LEAST_BITS else bids

    def _make_room(self) -> None:
        """Allocate what a walk keeps on its way; see below."""
        places, wide = self.blocks * (self.block_bits + 1), max(self.deal.shape)
        self.room = Room(
            self.device.empty((places, 5, wide), np.float64),
            self.device.empty((self.blocks + places * self.block_bits, wide), np.float64),
            self.device.empty((places, self.facts[0].scores.shape[1]), np.float64),
        )

    def _pack(self) -> None:
        """Put what a walk must know on the device, by seat.

        Hands with the same scores when a bid is called are one *kind*, whose value is computed
        once. Heads are in the order of their levels.
        """
        sizes = np.bitwise_count(np.arange(self.blocks))
        heads = self.device.put(np.argsort(sizes, kind="stable"))
        self.levels = list(pairwise([0, *np.cumsum(np.bincount(sizes)).tolist()]))
        wide, bids = max(self.deal.shape), len(self.bids)
        self.start = np.zeros((2, wide))
        kinds = np.zeros((2, bids, wide), np.int64)  # of a seat's hands, by bid
        scores = np.zeros((2, bids, 0, wide))  # of a kind against each hand of the other seat
        for seat in range(2):
            self.start[seat, : self.deal.shape[seat]] = self.odds[seat]
            for b in range(bids):
                rows = self.gains[b] if seat == 0 else self.gains[b].T
                alike, which = np.unique(rows, axis=0, return_inverse=True)
                more = max(len(alike) - scores.shape[2], 0)
                scores = np.pad(scores, [(0, 0), (0, 0), (0, more), (0, 0)])
                kinds[seat, b, : len(which.reshape(-1))] = which.reshape(-1)
                scores[seat, b, : len(alike), : alike.shape[1]] = alike
        put = self.device.put
        self.facts = [
            Facts(put(kinds[seat]), put(scores[seat]), put(self.start[1 - seat]), heads)
            for seat in range(2)
        ]

    # strategies

    def zeros(self) -> Strategy:
        """The table of a player without preferences, on the device."""
        table: Strategy = self.device.empty(self._table_shape(), np.float32)
        return table

    def _table_shape(self) -> tuple[int, int, int]:
        return 2, 1 << len(self.bids), max(self.deal.shape)

    def ask(self, policy: Policy, progress: Progress = silent) -> Strategy:
        """The table of a policy, on the device."""
        table: Strategy = np.zeros(self._table_shape(), np.float32)
        size = 1 << len(self.bids)
        chunk = max(ROWS // table.shape[2], 1)
        for first in range(0, size, chunk):
            self._ask(policy, np.arange(first, min(first + chunk, size)), table)
            progress(min(first + chunk, size) / size)
        table = self.device.put(table)
        return table

    def _ask(self, policy: Policy, sets: NDArray[np.int64], table: Strategy) -> None:
        """Write the odds of a policy at these sets of bids."""
        has_bid = sets[:, None] >> np.arange(len(self.bids))[::-1] & 1  # [sets, bids]
        mover = has_bid.sum(1) % 2
        holds = np.arange(table.shape[2]) < np.array(self.deal.shape)[mover][:, None]
        which, hands = holds.nonzero()
        seats = mover[which]
        states = self.deal[np.where(seats == 0, hands, 0), np.where(seats == 1, hands, 0)]
        tables = table_of(self.game, states)
        for b, bid in enumerate(self.bids):
            tables.play(np.where(has_bid[which, b], bid, -1), check=False)
        odds = policy(states, seats)
        last = np.where(has_bid.any(1), len(self.bids) - 1 - has_bid[:, ::-1].argmax(1), -1)[which]
        for b in range(len(self.bids)):
            rows = np.flatnonzero(last < b)
            after = sets[which[rows]] + (1 << len(self.bids) - 1 - b)
            table[BID, after, hands[rows]] = odds[rows, b - last[rows] - 1]
        rows = np.flatnonzero(last >= 0)
        place = len(self.bids) - 1 - last[rows]
        table[CALL, sets[which[rows]], hands[rows]] = odds[rows, place]

    def value(self, table: Strategy, seat: int, *, best: bool) -> float:
        """A seat's value if both play by `table` or, with `best`, only the other seat does."""
        self._walk(BEST if best else VALUE, seat, (table, table, table), NO_STEP)
        return float(self.device.get(self.room.values[0]) @ self.start[seat])

    def learn(
        self,
        seat: int,
        weights: Strategy,
        gains: Strategy,
        average: Strategy,
        step: NDArray[np.void],
    ) -> None:
        """One step of a seat; the other seat's policy goes into its average."""
        self._walk(LEARN, seat, (weights, gains, average), step)

    def _walk(
        self,
        purpose: int,
        seat: int,
        tables: tuple[Strategy, Strategy, Strategy],
        step: NDArray[np.void],
    ) -> None:
        """Walk through all histories, for one seat."""
        hands = self.deal.shape[seat], self.deal.shape[1 - seat]
        task = Task(len(self.bids), self.block_bits, seat, purpose, *hands, ONE)
        put, launch, facts = self.device.put, self.device.launch, self.facts[seat]
        arguments = task, Tables(*map(put, tables)), facts, self.room, put(step)
        kinds, wide = facts.scores.shape[1:]
        for first, end in self.levels:
            launch(enter_heads, (end - first) * wide, first, *arguments)
        launch(price_heads, self.blocks * kinds, *arguments)
        if self.block_bits:
            self.device.run(walk_blocks, self.blocks, *arguments)
        for first, end in reversed(self.levels):
            launch(finish_heads, (end - first) * wide, first, *arguments)


def fits(bids: int, hands: int) -> bool:
    """Whether there is room for a table of so many bids and hands."""
    return 8 * hands << bids <= MOST_BYTES


def check_size(game: Game, bids: int, hands: int = 1) -> None:
    if not fits(bids, hands):
        raise TooLarge(
            f"{game.name} under these options has 2^{bids} histories of bids, and a table of them "
            f"does not fit into {MOST_BYTES >> 30} GiB; choose options that make it smaller, or "
            "measure strength by a match"
        )


# The walk. Rules get whole arrays and a place: slicing costs more than the work itself. They have
# loops of zero length instead of branches: with more than a few exits numba counts references to
# the arrays, which took a fifth of the time.


@rule
def size_of(bid_set):
    """The number of bids in a set. The compiler turns this loop into one instruction."""
    n = 0
    while bid_set:
        bid_set &= bid_set - 1
        n += 1
    return n


@rule
def lowest(bid_set, bids):
    """The number of the lowest bit, which is the highest bid; `bids` if there is none."""
    return size_of((bid_set & -bid_set) - 1) if bid_set else bids


@rule
def product(a, b, task):
    """a * b, rounded before anything is added to it.

    A GPU fuses a product and a sum and rounds once; where regrets are equal, the last bit decides
    what is played. A factor of 1 that the compiler does not know prevents the fusion.
    """
    return a * b * task.one


@rule
def row(bid_set, bit, up, task):
    """The row of values of a set with this lowest bit, whose parent is in place `up`.

    Each head has a row; in a block, each bit in each place has one.
    """
    bids, bits = task.bids, task.block_bits
    return bid_set >> bits if bit >= bits else (1 << bids - bits) + up * bits + bit


@rule
def enter(bid_set, here, up, task, tables, room, steps):
    """Enter a set of bids from its parent; whether the other seat ever reaches it."""
    own, learns, theirs = size_of(bid_set) % 2 != task.seat, task.purpose == LEARN, task.theirs
    weights, average, places = tables.weights, tables.average, room.places
    for h in range(theirs if own else 0):  # the last bid was its own
        places[here, REACH, h] = places[up, REACH, h]
    total_reach = 0.0
    for h in range(0 if own else theirs):
        part = max(weights[BID, bid_set, h], 0.0) * places[up, SCALE, h] + places[up, EQUAL, h]
        places[here, REACH, h] = places[up, REACH, h] * part
        total_reach += places[here, REACH, h]
    for h in range(theirs if learns and not own else 0):
        average[BID, bid_set, h] += product(steps[0].average, places[here, REACH, h], task)
    return own or total_reach > 0.0


@rule
def scale_weights(bid_set, here, task, tables, room):
    """How a weight w becomes a probability, w * SCALE + EQUAL, by hand of the seat to move.

    The walk is fast because its vectors have no branches and no divisions.
    """
    weights, places, bit = tables.weights, room.places, lowest(bid_set, task.bids)
    hands = task.mine if size_of(bid_set) % 2 == task.seat else task.theirs
    for h in range(hands):
        places[here, SCALE, h] = max(weights[CALL, bid_set, h], 0.0) if bid_set else 0.0
    for i in range(bit):
        for h in range(hands):
            places[here, SCALE, h] += max(weights[BID, bid_set + (1 << i), h], 0.0)
    for h in range(hands):
        total = places[here, SCALE, h]
        places[here, SCALE, h] = 1.0 / total if total > 0.0 else 0.0
        places[here, EQUAL, h] = 0.0 if total > 0.0 else 1.0 / (bit + (1 if bid_set else 0))


@rule
def weigh_call(bid_set, here, task, tables, room, steps):
    """The other seat's reach where the call is made, by its hand."""
    seat, purpose, theirs = task.seat, task.purpose, task.theirs
    weights, average, places = tables.weights, tables.average, room.places
    own = size_of(bid_set) % 2 == seat
    for h in range(theirs):
        part = max(weights[CALL, bid_set, h], 0.0) * places[here, SCALE, h] + places[here, EQUAL, h]
        places[here, CALLED, h] = places[here, REACH, h] * (1.0 if own else part)
    for h in range(theirs if purpose == LEARN and not own else 0):
        average[CALL, bid_set, h] += product(steps[0].average, places[here, CALLED, h], task)


@rule
def price_call(bid_set, here, task, facts, room):
    """The value of the call, by kind of the seat's hand."""
    bids, seat, theirs = task.bids, task.seat, task.theirs
    scores, places, prices = facts.scores, room.places, room.prices
    bid, own = bids - 1 - lowest(bid_set, bids), size_of(bid_set) % 2 == seat
    for kind in range(scores.shape[1]):
        price = 0.0
        for h in range(theirs):
            price += scores[bid, kind, h] * places[here, CALLED, h]
        prices[here, kind] = -price if own else price


@rule
def finish(bid_set, here, up, task, tables, facts, room, steps):
    """Finish a set of bids: its value goes into its row, by hand of the seat."""
    value_row = row(bid_set, lowest(bid_set, task.bids), up, task)
    gain_call(bid_set, here, task, facts, room)
    if size_of(bid_set) % 2 != task.seat:
        sum_values(bid_set, here, value_row, task, room)
    elif task.purpose == BEST:
        best_value(bid_set, here, value_row, task, room)
    else:
        mean_value(bid_set, here, value_row, task, tables, room)
        if task.purpose == LEARN:
            improve(bid_set, here, value_row, task, tables, room, steps)


@rule
def gain_call(bid_set, here, task, facts, room):
    """The value of the call, by the seat's hand; unset before the first bid."""
    kinds, places, prices = facts.kinds, room.places, room.prices
    bid = task.bids - 1 - lowest(bid_set, task.bids)
    for h in range(task.mine if bid_set else 0):
        places[here, GAIN, h] = prices[here, kinds[bid, h]]


@rule
def sum_values(bid_set, here, value_row, task, room):
    """The value where the other seat moves: its policy is already in its reach."""
    bit, mine, places, values = lowest(bid_set, task.bids), task.mine, room.places, room.values
    for h in range(mine):
        values[value_row, h] = places[here, GAIN, h] if bid_set else 0.0
    for i in range(bit):
        then = row(bid_set + (1 << i), i, here, task)
        for h in range(mine):
            values[value_row, h] += values[then, h]


@rule
def best_value(bid_set, here, value_row, task, room):
    bit, mine, places, values = lowest(bid_set, task.bids), task.mine, room.places, room.values
    for h in range(mine):
        values[value_row, h] = places[here, GAIN, h] if bid_set else -inf
    for i in range(bit):
        then = row(bid_set + (1 << i), i, here, task)
        for h in range(mine):
            values[value_row, h] = max(values[value_row, h], values[then, h])


@rule
def mean_value(bid_set, here, value_row, task, tables, room):
    bit, mine = lowest(bid_set, task.bids), task.mine
    weights, places, values = tables.weights, room.places, room.values
    for h in range(mine):
        part = max(weights[CALL, bid_set, h], 0.0) * places[here, SCALE, h] + places[here, EQUAL, h]
        values[value_row, h] = product(part, places[here, GAIN, h], task) if bid_set else 0.0
    for i in range(bit):
        after, then = bid_set + (1 << i), row(bid_set + (1 << i), i, here, task)
        for h in range(mine):
            part = max(weights[BID, after, h], 0.0) * places[here, SCALE, h]
            part += places[here, EQUAL, h]
            values[value_row, h] += product(part, values[then, h], task)


@rule
def improve(bid_set, here, value_row, task, tables, room, steps):
    """Move each weight by what its action gains over the value of the set, in row `value_row`."""
    bit, mine, step = lowest(bid_set, task.bids), task.mine, steps[0]
    weights, gains, places, values = tables.weights, tables.gains, room.places, room.values
    for i in range(bit):
        after, then = bid_set + (1 << i), row(bid_set + (1 << i), i, here, task)
        for h in range(mine):
            gain = values[then, h] - values[value_row, h]
            weights[BID, after, h] = moved(weights[BID, after, h], gains[BID, after, h], gain, step)
            if step.predictive:
                gains[BID, after, h] = gain
    for h in range(mine if bid_set else 0):
        gain = places[here, GAIN, h] - values[value_row, h]
        weights[CALL, bid_set, h] = moved(
            weights[CALL, bid_set, h], gains[CALL, bid_set, h], gain, step
        )
        if step.predictive:
            gains[CALL, bid_set, h] = gain


@rule
def skip(bid_set, up, task, room):
    """Skip a set of bids that the other seat never reaches: its value is 0."""
    values, value_row = room.values, row(bid_set, lowest(bid_set, task.bids), up, task)
    for h in range(task.mine):
        values[value_row, h] = 0.0


@rule
def may_skip(task, steps):
    """Whether nothing changes in sets that the other seat never reaches."""
    step = steps[0]
    keeps = step.above == 1.0 and (step.below == 0.0 or step.below == 1.0)
    return task.purpose != LEARN or (keeps and step.predictive == 0.0)


@rule
def reached(here, task, room):
    """Whether the other seat ever reaches this place."""
    places = room.places
    for h in range(task.theirs):
        if places[here, REACH, h] > 0.0:
            return True
    return False


# Blocks, one per thread


@kernel
def walk_blocks(first, end, step, task, tables, facts, room, steps):
    skips = may_skip(task, steps)
    for block in range(first, end, step):
        if not skips or reached(block * (task.block_bits + 1), task, room):
            walk(block, skips, task, tables, facts, room, steps)


@rule
def walk(block, skips, task, tables, facts, room, steps):
    """Walk all sets of a block except its head."""
    head, place = block << task.block_bits, block * (task.block_bits + 1)
    bid_set, stop = head + 1, head + (1 << task.block_bits)
    while bid_set < stop:
        here, last = place + size_of(bid_set - head), bid_set
        if enter(bid_set, here, here - 1, task, tables, room, steps) or not skips:
            scale_weights(bid_set, here, task, tables, room)
            bid_set += 1
        else:
            skip(bid_set, here - 1, task, room)
            last, bid_set = bid_set & (bid_set - 1), bid_set + (bid_set & -bid_set)
        while last > head and last + (last & -last) == bid_set:  # its subtree is done
            here = place + size_of(last - head)
            weigh_call(last, here, task, tables, room, steps)
            price_call(last, here, task, facts, room)
            finish(last, here, here - 1, task, tables, facts, room, steps)
            last &= last - 1


# Heads, one hand of a head per thread. `level` is the place in the list of heads where a level
# begins.


@rule
def with_hand(h, task, tables, facts, room):
    """Task, tables, facts and room as if this hand were the only one."""
    mine, theirs = (1 if h < task.mine else 0), (1 if h < task.theirs else 0)
    weights, gains, average = tables
    kinds, scores, odds, heads = facts
    places, values, prices = room
    one = slice(h, h + 1)
    return (
        Task(task.bids, task.block_bits, task.seat, task.purpose, mine, theirs, task.one),
        Tables(weights[:, :, one], gains[:, :, one], average[:, :, one]),
        Facts(kinds[:, one], scores, odds[one], heads),
        Room(places[:, :, one], values[:, one], prices),
    )


@rule
def with_kind(kind, facts, room):
    """Facts and room as if the seat had only hands of this kind."""
    kinds, scores, odds, heads = facts
    places, values, prices = room
    one = slice(kind, kind + 1)
    return Facts(kinds, scores[:, one], odds, heads), Room(places, values, prices[:, one])


@kernel
def enter_heads(first, end, step, level, task, tables, facts, room, steps):
    skips, places, wide = may_skip(task, steps), task.block_bits + 1, room.values.shape[1]
    for i in range(first, end, step):
        head = facts.heads[level + i // wide]
        own_task, own_tables, own_facts, own_room = with_hand(i % wide, task, tables, facts, room)
        bid_set, here, up = head << task.block_bits, head * places, (head & (head - 1)) * places
        if head == 0:
            own_room.places[here, REACH, 0] = own_facts.odds[0]
            scale_weights(bid_set, here, own_task, own_tables, own_room)
        elif skips and not reached(up, task, room):
            own_room.places[here, REACH, 0] = 0.0
        else:
            enter(bid_set, here, up, own_task, own_tables, own_room, steps)
            scale_weights(bid_set, here, own_task, own_tables, own_room)
            weigh_call(bid_set, here, own_task, own_tables, own_room, steps)


@kernel
def price_heads(first, end, step, task, tables, facts, room, steps):
    kinds = room.prices.shape[1]
    for i in range(first, end, step):
        head, bits = i // kinds, task.block_bits
        own_facts, own_room = with_kind(i % kinds, facts, room)
        if head:
            price_call(head << bits, head * (bits + 1), task, own_facts, own_room)


@kernel
def finish_heads(first, end, step, level, task, tables, facts, room, steps):
    """The value of the game ends up in row 0."""
    skips, places, wide = may_skip(task, steps), task.block_bits + 1, room.values.shape[1]
    for i in range(first, end, step):
        head = facts.heads[level + i // wide]
        own_task, own_tables, own_facts, own_room = with_hand(i % wide, task, tables, facts, room)
        bid_set, here, up = head << task.block_bits, head * places, (head & (head - 1)) * places
        if skips and not reached(here, task, room):
            skip(bid_set, up, own_task, own_room)
        else:
            finish(bid_set, here, up, own_task, own_tables, own_facts, own_room, steps)
