"""Games of climbing bids between two hidden hands, solved a vector of hands at a time.

Each seat has a hand. In turn they bid, always higher than before, or call the standing bid; the
call ends the game, and the hands and the standing bid say what the bidder gets. So the bids made
are a set and the set is the whole public history: with B bids there are 2^B of them, and who made
the k-th lowest is k mod 2.

A set is written as a number with the *lowest* bid in the *highest* bit. What can follow a set then
has more bits below its lowest one: everything after the set m with lowest bit j lies between m and
m + 2^j. Counting upwards is a walk through the tree, parents first, and each part of the tree is
one stretch of memory. A *block* is such a stretch; threads walk different blocks, and the sets that
begin blocks, the *heads*, are entered before and finished after. Heads of equally many bids wait
only for those with fewer, or with more: they are a *level*, and all of it is done at once, hand by
hand. A CPU has few heads and long blocks, which need little room. A GPU has room and wants threads:
there every set is a head, and a thread has one of its hands.

A table has two rows of hands for each set m: [0, m] is the weight of the bid that led to m, for the
hands of the seat that made it; [1, m] is the weight of calling there.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from ...devices import device_named
from ...game import Game, kernel, rule
from ...search.matching import STEP, moved
from ...search.sequences import Policy, Progress, Table, TooLarge, silent, table_of
from .climb import Climb, rungs

BID, CALL = 0, 1
VALUE, BEST, LEARN = range(3)  # what a walk is for
REACH, SCALE, EQUAL, CALLED, GAIN = range(5)  # what it knows of a place, by hand
MOST_BYTES = 3 << 30  # for a table; a solver has two
HEAD_BITS = 6  # 64 blocks, enough for any number of CPU threads to share evenly
LEAST_BITS = 8  # of a block; a shorter one is not worth a thread
ROWS = 1 << 14  # information sets that a policy is asked about at a time
NO_STEP = np.zeros(1, STEP)
ONE = 1  # see `product`


class Ladder(Climb):
    """A game of climbing bids as arrays with room for all histories.

    device: where it is walked, "cpu" or "cuda"; a GPU needs memory for ten tables.
    block_bits: a block is 2^block_bits sets; the device says how many unless told.
    """

    seats = 2

    def __init__(self, game: Game, device: str = "cpu", block_bits: int | None = None) -> None:
        check_size(game, len(rungs(game)[0]))
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
        """What a walk remembers on the way; see there."""
        places, wide = self.blocks * (self.block_bits + 1), max(self.deal.shape)
        self.room = (
            self.device.empty((places, 5, wide), np.float64),
            self.device.empty((self.blocks + places * self.block_bits, wide), np.float64),
            self.device.empty((places, self.facts[0][1].shape[1]), np.float64),
        )

    def _pack(self) -> None:
        """By seat, what a walk must know. Hands that fare alike when a bid is called are one kind.

        The worth of a kind is found once. Heads are in the order of their levels.
        """
        sizes = np.bitwise_count(np.arange(self.blocks))
        heads = self.device.put(np.argsort(sizes, kind="stable"))
        self.levels = list(pairwise([0, *np.cumsum(np.bincount(sizes)).tolist()]))
        wide, bids = max(self.deal.shape), len(self.bids)
        self.start = np.zeros((2, wide))
        kinds = np.zeros((2, bids, wide), np.int64)  # of a seat's hands, by bid
        worth = np.zeros((2, bids, 0, wide))  # of a kind against each hand of the other seat
        for seat in range(2):
            self.start[seat, : self.deal.shape[seat]] = self.odds[seat]
            for b in range(bids):
                rows = self.gains[b] if seat == 0 else self.gains[b].T
                alike, which = np.unique(rows, axis=0, return_inverse=True)
                more = max(len(alike) - worth.shape[2], 0)
                worth = np.pad(worth, [(0, 0), (0, 0), (0, more), (0, 0)])
                kinds[seat, b, : len(which.reshape(-1))] = which.reshape(-1)
                worth[seat, b, : len(alike), : alike.shape[1]] = alike
        self.facts = [
            tuple(map(self.device.put, (kinds[k], worth[k], self.start[1 - k], heads)))
            for k in range(2)
        ]

    # strategies

    def zeros(self) -> Table:
        """The table of who has no preference, on the device."""
        table: Table = self.device.empty(self._table_shape(), np.float32)
        return table

    def _table_shape(self) -> tuple[int, int, int]:
        return 2, 1 << len(self.bids), max(self.deal.shape)

    def ask(self, policy: Policy, progress: Progress = silent) -> Table:
        """The table of a policy, on the device."""
        table: Table = np.zeros(self._table_shape(), np.float32)
        size = 1 << len(self.bids)
        chunk = max(ROWS // table.shape[2], 1)
        for first in range(0, size, chunk):
            self._ask(policy, np.arange(first, min(first + chunk, size)), table)
            progress(min(first + chunk, size) / size)
        table = self.device.put(table)
        return table

    def _ask(self, policy: Policy, sets: Any, table: Table) -> None:
        """Write the odds of a policy at these sets of bids."""
        made = sets[:, None] >> np.arange(len(self.bids))[::-1] & 1  # [sets, bids]
        mover = made.sum(1) % 2
        holds = np.arange(table.shape[2]) < np.array(self.deal.shape)[mover][:, None]
        which, hands = holds.nonzero()
        seats = mover[which]
        states = self.deal[np.where(seats == 0, hands, 0), np.where(seats == 1, hands, 0)]
        tables = table_of(self.game, states)
        for b, bid in enumerate(self.bids):
            tables.play(np.where(made[which, b], bid, -1), check=False)
        told = policy(states, seats)
        last = np.where(made.any(1), len(self.bids) - 1 - made[:, ::-1].argmax(1), -1)[which]
        for b in range(len(self.bids)):
            rows = np.flatnonzero(last < b)
            after = sets[which[rows]] + (1 << len(self.bids) - 1 - b)
            table[BID, after, hands[rows]] = told[rows, b - last[rows] - 1]
        rows = np.flatnonzero(last >= 0)
        place = len(self.bids) - 1 - last[rows]
        table[CALL, sets[which[rows]], hands[rows]] = told[rows, place]

    def value(self, table: Table, seat: int, *, best: bool) -> float:
        """What a seat gets where both play by `table` or, with `best`, the other does."""
        self._walk(BEST if best else VALUE, seat, (table, table, table), NO_STEP)
        return float(self.device.get(self.room[1][0]) @ self.start[seat])

    def learn(self, seat: int, weights: Table, gains: Table, average: Table, step: Any) -> None:
        """One step of a seat, and what the other played goes into its average."""
        self._walk(LEARN, seat, (weights, gains, average), step)

    def _walk(self, purpose: int, seat: int, tables: tuple[Table, ...], step: Any) -> None:
        """Through all histories, from the side of one seat."""
        hands = self.deal.shape[seat], self.deal.shape[1 - seat]
        task = len(self.bids), self.block_bits, seat, purpose, *hands, ONE
        put, launch, facts = self.device.put, self.device.launch, self.facts[seat]
        arguments = task, tuple(map(put, tables)), facts, self.room, put(step)
        kinds, wide = facts[1].shape[1:]
        for first, end in self.levels:
            launch(enter_heads, (end - first) * wide, first, *arguments)
        launch(price_heads, self.blocks * kinds, *arguments)
        if self.block_bits:
            self.device.run(walk_blocks, self.blocks, *arguments)
        for first, end in reversed(self.levels):
            launch(finish_heads, (end - first) * wide, first, *arguments)


def check_size(game: Game, bids: int, hands: int = 1) -> None:
    if 8 * hands << bids > MOST_BYTES:
        raise TooLarge(
            f"{game.name} under these options has 2^{bids} histories of bids, and a table of them "
            f"does not fit into {MOST_BYTES >> 30} GiB; choose options that make it smaller, or "
            "measure strength by a match"
        )


# The walk. `task` is (bids, bits of a block, seat, purpose, its hands, the other's hands, 1),
# `tables` (weights, last gains, average), `facts` (kinds, worth, the other's odds, heads) and
# `room`, what is remembered on the way, (places, values, prices). There is a *place* for each
# number of bids since a block's head. By hand it has how likely the other seat comes here (REACH),
# how weights become probabilities (SCALE, EQUAL), how likely the other seat is where the call is
# made (CALLED), and what the call gains (GAIN); by kind of hand, the same gain (prices). Values
# have a `row` each.
# Rules get arrays whole, with a place: making parts of them costs more than what is done there.
# They have loops of no length rather than branches: with more than a few ways out, numba counts who
# holds the arrays, which took a fifth of the time.


@rule
def size_of(made):
    """How many bids are in a set. The compiler knows this loop: it is one instruction."""
    n = 0
    while made:
        made &= made - 1
        n += 1
    return n


@rule
def lowest(made, bids):
    """The number of the lowest bit, which is the highest bid; `bids` if there is none."""
    return size_of((made & -made) - 1) if made else bids


@rule
def product(a, b, task):
    """a * b, rounded before anything is added to it.

    A GPU multiplies and adds in one step that rounds once, and where regrets are equal the last bit
    decides what is played. So that step gets a factor of 1 of which the compiler does not know.
    """
    return a * b * task[6]


@rule
def row(made, bit, up, task):
    """Where the value of a set with this lowest bit is kept, which follows the one in place `up`.

    Heads have a row each; in a block, there is one for each bit in each place.
    """
    bids, bits = task[0], task[1]
    return made >> bits if bit >= bits else (1 << bids - bits) + up * bits + bit


@rule
def enter(made, here, up, task, tables, room, steps):
    """Come to a set of bids from the one before; whether the other seat ever does."""
    own, learns, theirs = size_of(made) % 2 != task[2], task[3] == LEARN, task[5]
    weights, average, places = tables[0], tables[2], room[0]
    for h in range(theirs if own else 0):  # the last bid was its own
        places[here, REACH, h] = places[up, REACH, h]
    comes = 0.0
    for h in range(0 if own else theirs):
        part = max(weights[BID, made, h], 0.0) * places[up, SCALE, h] + places[up, EQUAL, h]
        places[here, REACH, h] = places[up, REACH, h] * part
        comes += places[here, REACH, h]
    for h in range(theirs if learns and not own else 0):
        average[BID, made, h] += product(steps[0].average, places[here, REACH, h], task)
    return own or comes > 0.0


@rule
def scale_weights(made, here, task, tables, room):
    """How a weight w becomes a probability, w * SCALE + EQUAL, by hand of the seat to move.

    Vectors without branches or divisions are what makes the walk fast.
    """
    weights, places, bit = tables[0], room[0], lowest(made, task[0])
    hands = task[4] if size_of(made) % 2 == task[2] else task[5]
    for h in range(hands):
        places[here, SCALE, h] = max(weights[CALL, made, h], 0.0) if made else 0.0
    for i in range(bit):
        for h in range(hands):
            places[here, SCALE, h] += max(weights[BID, made + (1 << i), h], 0.0)
    for h in range(hands):
        total = places[here, SCALE, h]
        places[here, SCALE, h] = 1.0 / total if total > 0.0 else 0.0
        places[here, EQUAL, h] = 0.0 if total > 0.0 else 1.0 / (bit + (1 if made else 0))


@rule
def weigh_call(made, here, task, tables, room, steps):
    """How likely the other seat is where the call is made, by its hand."""
    seat, purpose, theirs = task[2], task[3], task[5]
    weights, average, places = tables[0], tables[2], room[0]
    own = size_of(made) % 2 == seat
    for h in range(theirs):
        part = max(weights[CALL, made, h], 0.0) * places[here, SCALE, h] + places[here, EQUAL, h]
        places[here, CALLED, h] = places[here, REACH, h] * (1.0 if own else part)
    for h in range(theirs if purpose == LEARN and not own else 0):
        average[CALL, made, h] += product(steps[0].average, places[here, CALLED, h], task)


@rule
def price_call(made, here, task, facts, room):
    """What the call is worth, by kind of the seat's hand."""
    bids, seat, theirs = task[0], task[2], task[5]
    worth, places, prices = facts[1], room[0], room[2]
    bid, own = bids - 1 - lowest(made, bids), size_of(made) % 2 == seat
    for kind in range(worth.shape[1]):
        got = 0.0
        for h in range(theirs):
            got += worth[bid, kind, h] * places[here, CALLED, h]
        prices[here, kind] = -got if own else got


@rule
def finish(made, here, up, task, tables, facts, room, steps):
    """Leave a set of bids for good: its value goes into its row, by hand of the seat."""
    whole = row(made, lowest(made, task[0]), up, task)
    gain_call(made, here, task, facts, room)
    if size_of(made) % 2 != task[2]:
        sum_values(made, here, whole, task, room)
    elif task[3] == BEST:
        best_value(made, here, whole, task, room)
    else:
        mean_value(made, here, whole, task, tables, room)
        if task[3] == LEARN:
            improve(made, here, whole, task, tables, room, steps)


@rule
def gain_call(made, here, task, facts, room):
    """What the call is worth, by the seat's hand; nothing where no bid is to be called."""
    kinds, places, prices = facts[0], room[0], room[2]
    bid = task[0] - 1 - lowest(made, task[0])
    for h in range(task[4] if made else 0):
        places[here, GAIN, h] = prices[here, kinds[bid, h]]


@rule
def sum_values(made, here, whole, task, room):
    """The other seat moves: that it does so is in its reach."""
    bit, mine, places, values = lowest(made, task[0]), task[4], room[0], room[1]
    for h in range(mine):
        values[whole, h] = places[here, GAIN, h] if made else 0.0
    for i in range(bit):
        then = row(made + (1 << i), i, here, task)
        for h in range(mine):
            values[whole, h] += values[then, h]


@rule
def best_value(made, here, whole, task, room):
    bit, mine, places, values = lowest(made, task[0]), task[4], room[0], room[1]
    for h in range(mine):
        values[whole, h] = places[here, GAIN, h] if made else -inf
    for i in range(bit):
        then = row(made + (1 << i), i, here, task)
        for h in range(mine):
            values[whole, h] = max(values[whole, h], values[then, h])


@rule
def mean_value(made, here, whole, task, tables, room):
    bit, mine = lowest(made, task[0]), task[4]
    weights, places, values = tables[0], room[0], room[1]
    for h in range(mine):
        part = max(weights[CALL, made, h], 0.0) * places[here, SCALE, h] + places[here, EQUAL, h]
        values[whole, h] = product(part, places[here, GAIN, h], task) if made else 0.0
    for i in range(bit):
        after, then = made + (1 << i), row(made + (1 << i), i, here, task)
        for h in range(mine):
            part = max(weights[BID, after, h], 0.0) * places[here, SCALE, h]
            part += places[here, EQUAL, h]
            values[whole, h] += product(part, values[then, h], task)


@rule
def improve(made, here, whole, task, tables, room, steps):
    """Each weight moves by what its action gains over the value of the set, which is in `whole`."""
    bit, mine, step = lowest(made, task[0]), task[4], steps[0]
    weights, gains, places, values = tables[0], tables[1], room[0], room[1]
    for i in range(bit):
        after, then = made + (1 << i), row(made + (1 << i), i, here, task)
        for h in range(mine):
            gain = values[then, h] - values[whole, h]
            weights[BID, after, h] = moved(weights[BID, after, h], gains[BID, after, h], gain, step)
            if step.predictive:
                gains[BID, after, h] = gain
    for h in range(mine if made else 0):
        gain = places[here, GAIN, h] - values[whole, h]
        weights[CALL, made, h] = moved(weights[CALL, made, h], gains[CALL, made, h], gain, step)
        if step.predictive:
            gains[CALL, made, h] = gain


@rule
def leave(made, up, task, room):
    """Pass by a set of bids to which the other seat never comes: it is worth nothing."""
    values, whole = room[1], row(made, lowest(made, task[0]), up, task)
    for h in range(task[4]):
        values[whole, h] = 0.0


@rule
def may_leave(task, steps):
    """Whether nothing changes where the other seat never comes: nothing is forgotten there."""
    step = steps[0]
    keeps = step.above == 1.0 and (step.below == 0.0 or step.below == 1.0)
    return task[3] != LEARN or (keeps and step.predictive == 0.0)


@rule
def comes(here, task, room):
    """Whether the other seat ever comes here."""
    places = room[0]
    for h in range(task[5]):
        if places[here, REACH, h] > 0.0:
            return True
    return False


# Blocks, a thread each


@kernel
def walk_blocks(first, end, step, task, tables, facts, room, steps):
    leaves = may_leave(task, steps)
    for block in range(first, end, step):
        if not leaves or comes(block * (task[1] + 1), task, room):
            walk(block, leaves, task, tables, facts, room, steps)


@rule
def walk(block, leaves, task, tables, facts, room, steps):
    """All sets of a block but its head."""
    head, place = block << task[1], block * (task[1] + 1)
    made, stop = head + 1, head + (1 << task[1])
    while made < stop:
        here, last = place + size_of(made - head), made
        if enter(made, here, here - 1, task, tables, room, steps) or not leaves:
            scale_weights(made, here, task, tables, room)
            made += 1
        else:
            leave(made, here - 1, task, room)
            last, made = made & (made - 1), made + (made & -made)
        while last > head and last + (last & -last) == made:  # nothing more follows it
            here = place + size_of(last - head)
            weigh_call(last, here, task, tables, room, steps)
            price_call(last, here, task, facts, room)
            finish(last, here, here - 1, task, tables, facts, room, steps)
            last &= last - 1


# Heads, a thread for each hand of each. `level` is where the list of heads comes to those with
# equally many bids.


@rule
def with_hand(h, task, tables, facts, room):
    """Task, tables, facts and room as if this hand were the only one."""
    mine, theirs = (1 if h < task[4] else 0), (1 if h < task[5] else 0)
    weights, gains, average = tables
    kinds, worth, odds, heads = facts
    places, values, prices = room
    one = slice(h, h + 1)
    return (
        (task[0], task[1], task[2], task[3], mine, theirs, task[6]),
        (weights[:, :, one], gains[:, :, one], average[:, :, one]),
        (kinds[:, one], worth, odds[one], heads),
        (places[:, :, one], values[:, one], prices),
    )


@rule
def with_kind(kind, facts, room):
    """Facts and room as if the seat had only hands of this kind."""
    kinds, worth, odds, heads = facts
    places, values, prices = room
    one = slice(kind, kind + 1)
    return (kinds, worth[:, one], odds, heads), (places, values, prices[:, one])


@kernel
def enter_heads(first, end, step, level, task, tables, facts, room, steps):
    leaves, places, wide = may_leave(task, steps), task[1] + 1, room[1].shape[1]
    for i in range(first, end, step):
        head = facts[3][level + i // wide]
        own_task, own_tables, own_facts, own_room = with_hand(i % wide, task, tables, facts, room)
        made, here, up = head << task[1], head * places, (head & (head - 1)) * places
        if head == 0:
            own_room[0][here, REACH, 0] = own_facts[2][0]
            scale_weights(made, here, own_task, own_tables, own_room)
        elif leaves and not comes(up, task, room):
            own_room[0][here, REACH, 0] = 0.0
        else:
            enter(made, here, up, own_task, own_tables, own_room, steps)
            scale_weights(made, here, own_task, own_tables, own_room)
            weigh_call(made, here, own_task, own_tables, own_room, steps)


@kernel
def price_heads(first, end, step, task, tables, facts, room, steps):
    kinds = room[2].shape[1]
    for i in range(first, end, step):
        head = i // kinds
        own_facts, own_room = with_kind(i % kinds, facts, room)
        if head:
            price_call(head << task[1], head * (task[1] + 1), task, own_facts, own_room)


@kernel
def finish_heads(first, end, step, level, task, tables, facts, room, steps):
    """The value of the game ends up in row 0."""
    leaves, places, wide = may_leave(task, steps), task[1] + 1, room[1].shape[1]
    for i in range(first, end, step):
        head = facts[3][level + i // wide]
        own_task, own_tables, own_facts, own_room = with_hand(i % wide, task, tables, facts, room)
        made, here, up = head << task[1], head * places, (head & (head - 1)) * places
        if leaves and not comes(here, task, room):
            leave(made, up, own_task, own_room)
        else:
            finish(made, here, up, own_task, own_tables, own_facts, own_room, steps)
