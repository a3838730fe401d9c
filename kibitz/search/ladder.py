"""Games of climbing bids between two hidden hands, solved a vector of hands at a time.

Each seat has a hand. In turn they bid, always higher than before, or call the standing bid; the
call ends the game, and the hands and the standing bid say what the bidder gets. So the bids made
are a set and the set is the whole public history: with B bids there are 2^B of them, and who made
the k-th lowest is k mod 2.

A set is written as a number with the *lowest* bid in the *highest* bit. What can follow a set then
has more bits below its lowest one: everything after the set m with lowest bit j lies between m and
m + 2^j. Counting upwards is a walk through the tree, parents first, and each part of the tree is
one stretch of memory. A *block* is such a stretch; threads walk different blocks, and the sets that
begin blocks, the *heads*, are entered before and finished after.

A table has two rows of hands for each set m: [0, m] is the weight of the bid that led to m, for the
hands of the seat that made it; [1, m] is the weight of calling there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..batch import Cpu
from ..game import CHANCE, OVER, Game, GameError, kernel, rule
from .matching import STEP, moved
from .sequences import Policy, Progress, Table, TooLarge, deals, silent, table_of

BID, CALL = 0, 1
VALUE, BEST, LEARN = range(3)  # what a walk is for
MOST_BYTES = 3 << 30  # for a table; a solver has two
HEAD_BITS = 6  # 64 blocks, enough for any number of threads to share evenly
LEAST_BITS = 8  # of a block; a shorter one is not worth a thread
ROWS = 1 << 14  # information sets that a policy is asked about at a time
PROBES = 64  # histories on which a ladder is compared with the rules
NO_STEP = np.zeros(1, STEP)


class NoLadder(GameError):
    """A game with other than climbing bids and a call."""


def _rungs(game: Game) -> tuple[list[int], int]:
    """The bids from low to high, and the call."""
    s = game.fresh()
    while game.turn(s) == CHANCE:
        game.play(s, game.moves(s)[0])
    if game.seats == 2 and game.zero_sum and game.turn(s) == 0:
        bids = game.legal(s)
        game.play(s, bids[-1])
        if game.turn(s) == 1 and len(calls := game.legal(s)) == 1 and calls[0] > bids[-1]:
            return bids, calls[0]
    raise NoLadder(f"{game.name} is not a game of climbing bids")


class Ladder:
    """A game of climbing bids as arrays, read off its rules."""

    seats = 2

    def __init__(self, game: Game) -> None:
        self.game = game
        self.bids, self.call = _rungs(game)
        self._check_size(hands=1)
        self.deal, self.odds = self._deal()
        self._check_size(hands=max(self.deal.shape))
        self.gains = self._gains()
        self._probe()
        self._pack()
        heads = HEAD_BITS if len(self.bids) >= HEAD_BITS + LEAST_BITS else 0
        self.blocks, self.block_bits = 1 << heads, len(self.bids) - heads
        places, wide = self.blocks * (self.block_bits + 1), max(self.deal.shape)
        self.room = (
            np.zeros((places, wide)),
            np.zeros((places, 2, wide)),
            np.zeros((places, len(self.bids) + 1, wide)),
            np.zeros((places, 3, wide)),
        )

    def _check_size(self, hands: int) -> None:
        if 8 * hands << len(self.bids) > MOST_BYTES:
            raise TooLarge(
                f"{self.game.name} under these options has 2^{len(self.bids)} histories of bids, "
                f"and a table of them does not fit into {MOST_BYTES >> 30} GiB; choose options "
                "that make it smaller, or measure strength by a match"
            )

    # reading the rules

    def _deal(self) -> tuple[Any, list[Any]]:
        """A table for each pair of hands [hands, hands], and by seat how likely its hands are."""
        states, likely = deals(self.game)
        names = [table_of(self.game, states).known(np.full(len(states), k)) for k in range(2)]
        hands = [np.unique(name, return_inverse=True)[1].reshape(-1) for name in names]
        odds = [np.bincount(hand, likely) for hand in hands]
        together = np.zeros([len(each) for each in odds])
        np.add.at(together, tuple(hands), likely)
        if not np.allclose(together, np.outer(*odds), atol=1e-12):
            raise NoLadder(f"{self.game.name}: what one seat holds tells about the other's hand")
        deal = np.zeros(together.shape, self.game.state)
        deal[hands[0], hands[1]] = states
        return deal, odds

    def _gains(self) -> Any:
        """What the bidder gets when a bid is called. [bids, hands, hands]"""
        found = np.zeros((len(self.bids), *self.deal.shape))
        for b, bid in enumerate(self.bids):
            for bidder in range(2 if b else 1):
                path = [bid, self.call] if bidder == 0 else [self.bids[0], bid, self.call]
                got = self._played_out(path)[..., bidder]
                if bidder and not (got == found[b]).all():
                    raise NoLadder(f"{self.game.name}: a bid is worth more to one of the seats")
                found[b] = got
        return found

    def _played_out(self, path: list[int]) -> Any:
        """The scores after these actions, for each pair of hands."""
        tables = table_of(self.game, self.deal.reshape(-1).copy())
        for action in path:
            tables.play(np.full(tables.size, action), check=False)
        if not (tables.turns() == OVER).all():
            raise NoLadder(f"{self.game.name} does not end with a call")
        return tables.scores().reshape(*self.deal.shape, 2)

    def _probe(self) -> None:
        """Compare longer histories, of which there are too many to try all, with the rules."""
        rng = np.random.default_rng(1)
        for _ in range(PROBES):
            made = np.flatnonzero(rng.random(len(self.bids)) < rng.random())
            pair = tuple(int(rng.integers(size)) for size in self.deal.shape)
            s = self.game.copy(self.deal[pair])
            for bid in made:
                self.game.play(s, self.bids[bid])
            above = [*self.bids[made[-1] + 1 :], self.call] if len(made) else self.bids
            if self.game.turn(s) != len(made) % 2 or self.game.legal(s) != above:
                raise NoLadder(f"{self.game.name} is more than climbing bids: {self.game.text(s)}")
            if len(made):
                self.game.play(s, self.call)
                if self.game.scores(s)[1 - len(made) % 2] != self.gains[made[-1]][pair]:
                    raise NoLadder(f"{self.game.name}: more than the last bid counts")

    def _pack(self) -> None:
        """Hands that fare alike when a bid is called are one kind: their worth is found once."""
        wide, bids = max(self.deal.shape), len(self.bids)
        self.start = np.zeros((2, wide))
        self.kinds = np.zeros((2, bids, wide), np.int64)  # of a seat's hands, by bid
        self.worth = np.zeros((2, bids, 0, wide))  # of a kind against each hand of the other seat
        for seat in range(2):
            self.start[seat, : self.deal.shape[seat]] = self.odds[seat]
            for b in range(bids):
                rows = self.gains[b] if seat == 0 else self.gains[b].T
                alike, kinds = np.unique(rows, axis=0, return_inverse=True)
                more = max(len(alike) - self.worth.shape[2], 0)
                self.worth = np.pad(self.worth, [(0, 0), (0, 0), (0, more), (0, 0)])
                self.kinds[seat, b, : len(kinds.reshape(-1))] = kinds.reshape(-1)
                self.worth[seat, b, : len(alike), : alike.shape[1]] = alike

    # strategies

    def zeros(self) -> Table:
        """The table of who has no preference."""
        return np.zeros((2, 1 << len(self.bids), max(self.deal.shape)), np.float32)

    def ask(self, policy: Policy, progress: Progress = silent) -> Table:
        """The table of a policy."""
        table, size = self.zeros(), 1 << len(self.bids)
        chunk = max(ROWS // table.shape[2], 1)
        for first in range(0, size, chunk):
            self._ask(policy, np.arange(first, min(first + chunk, size)), table)
            progress(min(first + chunk, size) / size)
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
        return self._walk(BEST if best else VALUE, seat, table)

    def learn(self, seat: int, weights: Table, gains: Table, average: Table, step: Any) -> None:
        """One step of a seat, and what the other played goes into its average."""
        self._walk(LEARN, seat, weights, gains, average, step)

    def _walk(
        self,
        purpose: int,
        seat: int,
        table: Table,
        gains: Table | None = None,
        average: Table | None = None,
        step: Any = NO_STEP,
    ) -> float:
        """Through all histories, from the side of one seat; what it gets."""
        hands = self.deal.shape[seat], self.deal.shape[1 - seat]
        task = len(self.bids), self.block_bits, seat, purpose, *hands
        tables = table, table if gains is None else gains, table if average is None else average
        facts = self.kinds[seat], self.worth[seat]
        self.room[0][0] = self.start[1 - seat]
        arguments = task, tables, facts, self.room, step
        Cpu(1).run(enter_heads, self.blocks, *arguments)
        Cpu().run(walk_blocks, self.blocks, *arguments)
        Cpu(1).run(finish_heads, self.blocks, *arguments)
        return float(self.room[2][0, len(self.bids)] @ self.start[seat])


# The walk. `task` is (bids, bits of a block, seat, purpose, its hands, the other's hands), `tables`
# (weights, last gains, average), `facts` (kinds, worth) and `room` what is remembered on the way:
# in one *place* for each number of bids since a block's head, how likely the other seat comes here
# by hand, how weights become probabilities, the values of what can follow by bit, and the call.
# Rules get arrays whole, with a place: making parts of them costs more than what is done there.


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
def enter(made, here, up, task, tables, room, steps):
    """Come to a set of bids from the one before; whether the other seat ever does."""
    seat, purpose, theirs = task[2], task[3], task[5]
    weights, average, reach, scale = tables[0], tables[2], room[0], room[1]
    if size_of(made) % 2 != seat:  # the last bid was its own
        for h in range(theirs):
            reach[here, h] = reach[up, h]
        return True
    comes = 0.0
    for h in range(theirs):
        part = max(weights[BID, made, h], 0.0) * scale[up, 0, h] + scale[up, 1, h]
        reach[here, h] = reach[up, h] * part
        comes += reach[here, h]
    if purpose == LEARN:
        for h in range(theirs):
            average[BID, made, h] += steps[0].average * reach[here, h]
    return comes > 0.0


@rule
def scale_weights(made, here, task, tables, room):
    """How a weight w becomes a probability, w * scale[0] + scale[1], by hand of the seat to move.

    Vectors without branches or divisions are what makes the walk fast.
    """
    weights, scale, bit = tables[0], room[1], lowest(made, task[0])
    hands = task[4] if size_of(made) % 2 == task[2] else task[5]
    for h in range(hands):
        scale[here, 0, h] = max(weights[CALL, made, h], 0.0) if made else 0.0
    for i in range(bit):
        for h in range(hands):
            scale[here, 0, h] += max(weights[BID, made + (1 << i), h], 0.0)
    for h in range(hands):
        some = scale[here, 0, h] > 0.0
        scale[here, 1, h] = 0.0 if some else 1.0 / (bit + (1 if made else 0))
        scale[here, 0, h] = 1.0 / scale[here, 0, h] if some else 0.0


@rule
def value_call(made, here, task, tables, facts, room, steps):
    """What the call is worth, by hand of the seat: called[0]."""
    bids, _, seat, purpose, mine, theirs = task
    weights, average, kinds, worth = tables[0], tables[2], facts[0], facts[1]
    reach, scale, called = room[0], room[1], room[3]
    bid, own = bids - 1 - lowest(made, bids), size_of(made) % 2 == seat
    for h in range(theirs):
        part = max(weights[CALL, made, h], 0.0) * scale[here, 0, h] + scale[here, 1, h]
        called[here, 1, h] = reach[here, h] * (1.0 if own else part)
    if purpose == LEARN and not own:
        for h in range(theirs):
            average[CALL, made, h] += steps[0].average * called[here, 1, h]
    for kind in range(worth.shape[1]):
        got = 0.0
        for h in range(theirs):
            got += worth[bid, kind, h] * called[here, 1, h]
        called[here, 2, kind] = -got if own else got
    for h in range(mine):
        called[here, 0, h] = called[here, 2, kinds[bid, h]]


@rule
def finish(made, here, up, task, tables, facts, room, steps):
    """Leave a set of bids for good: its value goes up, by hand of the seat."""
    bids, _, seat, purpose, mine, _ = task
    weights, scale, values, called = tables[0], room[1], room[2], room[3]
    bit = lowest(made, bids)
    if made:
        value_call(made, here, task, tables, facts, room, steps)
    if size_of(made) % 2 != seat:
        for h in range(mine):
            values[up, bit, h] = called[here, 0, h] if made else 0.0
        for i in range(bit):
            for h in range(mine):
                values[up, bit, h] += values[here, i, h]
    elif purpose == BEST:
        for h in range(mine):
            values[up, bit, h] = called[here, 0, h] if made else values[here, 0, h]
        for i in range(bit):
            for h in range(mine):
                values[up, bit, h] = max(values[up, bit, h], values[here, i, h])
    else:
        for h in range(mine):
            part = max(weights[CALL, made, h], 0.0) * scale[here, 0, h] + scale[here, 1, h]
            values[up, bit, h] = part * called[here, 0, h] if made else 0.0
        for i in range(bit):
            after = made + (1 << i)
            for h in range(mine):
                part = max(weights[BID, after, h], 0.0) * scale[here, 0, h] + scale[here, 1, h]
                values[up, bit, h] += part * values[here, i, h]
        if purpose == LEARN:
            improve(made, here, up, task, tables, room, steps)


@rule
def improve(made, here, up, task, tables, room, steps):
    """Each weight moves by what its action gains."""
    weights, gains, values, called = tables[0], tables[1], room[2], room[3]
    bit, mine, step = lowest(made, task[0]), task[4], steps[0]
    for i in range(bit):
        after = made + (1 << i)
        for h in range(mine):
            gain = values[here, i, h] - values[up, bit, h]
            weights[BID, after, h] = moved(weights[BID, after, h], gains[BID, after, h], gain, step)
            if step.predictive:
                gains[BID, after, h] = gain
    for h in range(mine if made else 0):
        gain = called[here, 0, h] - values[up, bit, h]
        weights[CALL, made, h] = moved(weights[CALL, made, h], gains[CALL, made, h], gain, step)
        if step.predictive:
            gains[CALL, made, h] = gain


@rule
def leave(made, up, task, room):
    """Pass by a set of bids to which the other seat never comes: it is worth nothing."""
    values, bit = room[2], lowest(made, task[0])
    for h in range(task[4]):
        values[up, bit, h] = 0.0


@rule
def may_leave(task, steps):
    """Whether nothing changes where the other seat never comes: nothing is forgotten there."""
    step = steps[0]
    keeps = step.above == 1.0 and (step.below == 0.0 or step.below == 1.0)
    return task[3] != LEARN or (keeps and step.predictive == 0.0)


@kernel
def enter_heads(first, end, step, task, tables, facts, room, steps):
    places = task[1] + 1
    for block in range(first, end, step):
        made, here, up = block << task[1], block * places, (block & (block - 1)) * places
        if block:
            enter(made, here, up, task, tables, room, steps)
        scale_weights(made, here, task, tables, room)


@kernel
def walk_blocks(first, end, step, task, tables, facts, room, steps):
    leaves = may_leave(task, steps)
    for block in range(first, end, step):
        if not leaves or comes(block * (task[1] + 1), task, room):
            walk(block, leaves, task, tables, facts, room, steps)


@rule
def comes(here, task, room):
    """Whether the other seat ever comes here."""
    reach = room[0]
    for h in range(task[5]):
        if reach[here, h] > 0.0:
            return True
    return False


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
            finish(last, here, here - 1, task, tables, facts, room, steps)
            last &= last - 1


@kernel
def finish_heads(first, end, step, task, tables, facts, room, steps):
    """The value of the game ends up in place 0, where a bit more than there are bids would be."""
    leaves, places = may_leave(task, steps), task[1] + 1
    for block in range(end - 1, first - 1, -step):
        made, here, up = block << task[1], block * places, (block & (block - 1)) * places
        if leaves and not comes(here, task, room):
            leave(made, up, task, room)
        else:
            finish(made, here, up, task, tables, facts, room, steps)
