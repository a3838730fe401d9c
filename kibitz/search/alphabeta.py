"""Alpha-beta search of open games for two, in steps: the compiled part.

A *desk* is one thinker with everything it writes on. Its search of a position to a depth, within a
window of scores, is a stack of frames and no recursion. So it can stop at any node, because its
budget is used up or because a network has to judge positions first, and go on later as if nothing
had happened. Clocks, interruption, live analysis, batches for a network and several threads all
come from that. `deepening` has the part above it: iterations, windows, clocks.

Scores are whole numbers from the view of the seat to move: WIN minus the plies until then for a
proven victory, below PROVEN in absolute value for everything else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, rule
from ..game import OVER, actions, play, room, score, turn
from .judging import begin, decisive, follow, judged, key, urges

WIN, PROVEN, ENDLESS = 100_000, 90_000, 1 << 20
PLIES = 64  # the longest line: deeper positions are judged as they are
MOST_EXTENSIONS = 8  # in a line

# Features, each of which can be switched off to see what it is good for.
TABLE, PVS, KILLERS, HISTORY, URGES, LEAF_RULE, EXTENSIONS, REDUCTIONS, NULL_MOVE = (
    1 << bit for bit in range(9)
)
JUDGED_OUTSIDE = 1 << 9  # a network judges leaves, in batches

IDLE, RUNNING, WAITING = range(3)
ENTER, JUDGE, NEXT = range(3)  # what a frame does next
FULL, NARROW, REDUCED, SKIPPED = range(4)  # how a child is searched
NONE = -1  # no action

CONTROL = np.dtype(
    (
        np.record,
        [
            ("nodes", np.int64),  # visited so far
            ("budget", np.int64),  # stop when so many have been visited
            ("judged", np.int64),  # leaves that were judged
            ("status", np.int32),
            ("features", np.int32),
            ("ply", np.int32),
            ("depth", np.int32),  # to search the root to
            ("alpha", np.int32),
            ("beta", np.int32),
            ("score", np.int32),  # of the root, once the search is IDLE again
            ("plies_left", np.int32),  # after so many plies the game is drawn
            ("roots", np.int32),  # actions to look at, at the root
            ("partial", np.int32),  # 1: there are others, which are left out
            ("waiting", np.int32),  # positions that a network has to judge
            ("age", np.int32),  # of entries in the table
        ],
    )
)

FRAME = np.dtype(
    (
        np.record,
        [
            ("key", np.uint64),
            ("alpha", np.int32),
            ("beta", np.int32),
            ("floor", np.int32),  # alpha at the beginning
            ("best", np.int32),
            ("action", np.int16),  # the best so far
            ("depth", np.int16),  # as asked
            ("left", np.int16),  # depth with extensions
            ("count", np.int16),  # legal actions
            ("index", np.int16),  # of the next one to try
            ("line", np.int16),  # where the line of this frame ends
            ("extensions", np.int8),  # in the line so far
            ("stage", np.int8),
            ("way", np.int8),  # that the child is searched
            ("seat", np.int8),  # to move; after the end, who would
            ("over", np.int8),
        ],
    )
)


class Desk(NamedTuple):
    """What one thinker writes on; or many of them, with one more axis in front."""

    control: NDArray[np.void]
    """[1]"""
    frames: NDArray[np.void]
    """[PLIES + 1]"""
    stack: NDArray[np.void]
    """The positions of the line that is looked at. [PLIES + 1]"""
    notes: NDArray[np.void]
    """The judge's. [PLIES + 1]"""
    lists: NDArray[np.int16]
    """Legal actions. [PLIES + 1, max_legal]"""
    ranks: NDArray[np.int32]
    """The higher, the earlier an action is tried. [PLIES + 1, max_legal]"""
    lines: NDArray[np.int16]
    """The principal variation from every ply on, at its own plies. [PLIES + 1, PLIES + 1]"""
    killers: NDArray[np.int16]
    """Actions that refuted something else at a ply. [PLIES + 1, 2]"""
    history: NDArray[np.int32]
    """How often actions have refuted something, by seat. [2, num_actions]"""
    twice: NDArray[np.uint64]
    """Keys of positions that were there twice: once more is a draw. [n]"""
    asked: NDArray[np.void]
    """Positions that a network has to judge. [max_legal]"""
    asked_keys: NDArray[np.uint64]
    """[max_legal]"""
    answers: NDArray[np.int32]
    """What they are worth to the seat to move. [max_legal]"""


class Shared(NamedTuple):
    """What all threads of a search share: a transposition table, and values by a network.

    Threads write without asking each other. An entry whose key has been written by one and whose
    data by another does not pass the check, because what is stored is their exclusive or.
    """

    keys: NDArray[np.uint64]
    data: NDArray[np.uint64]
    value_keys: NDArray[np.uint64]
    values: NDArray[np.uint64]


room_for_scores = room(np.float32, lambda game: game.seats)


@kernel
def advance_all(first, end, step, desks, shared, who):
    """Let desks go on until they are done, wait for a network, or have used their budget."""
    for i in range(first, end, step):
        advance(
            Desk(
                desks.control[i],
                desks.frames[i],
                desks.stack[i],
                desks.notes[i],
                desks.lists[i],
                desks.ranks[i],
                desks.lines[i],
                desks.killers[i],
                desks.history[i],
                desks.twice[i],
                desks.asked[i],
                desks.asked_keys[i],
                desks.answers[i],
            ),
            shared,
            who,
        )


@rule
def advance(desk, shared, who):
    control = desk.control[0]
    if control.status == IDLE:
        return
    control.status = RUNNING
    while control.status == RUNNING and control.nodes < control.budget:
        stage = desk.frames[control.ply].stage
        if stage == ENTER:
            enter(desk, shared, who)
        elif stage == JUDGE:
            judge(desk, shared, who)
        else:
            go_on(desk, shared, who)


@kernel
def begin_all(first, end, step, desks, who):
    """Set desks up for a search of the positions at the bottom of their stacks."""
    for i in range(first, end, step):
        control, root = desks.control[i, 0], desks.frames[i, 0]
        s = desks.stack[i, 0]
        begin(who, s, desks.notes[i, 0])
        control.ply = 0
        control.status = RUNNING
        root.key = key(s)
        root.alpha = root.floor = control.alpha
        root.beta = control.beta
        root.depth = root.left = control.depth
        root.seat = turn(s)
        root.over = 0
        root.extensions = 0
        root.stage = ENTER


# One node ----------------------------------------------------------------------------------------


@rule
def enter(desk, shared, who):
    """Look at a position for the first time: it may be decided, drawn, known, or a leaf."""
    control = desk.control[0]
    ply = control.ply
    s, f = desk.stack[ply], desk.frames[ply]
    control.nodes += 1
    f.line = ply
    if ply > 0:
        if f.over:
            leave(desk, shared, end_score(s, f.seat, ply))
            return
        f.key = key(s)
        if ply >= control.plies_left or seen_before(desk, ply):
            leave(desk, shared, 0)
            return
        if control.features & LEAF_RULE:
            action = decisive(s)
            if action >= 0:
                desk.lines[ply, ply] = action
                f.line = ply + 1
                leave(desk, shared, WIN - ply - 1)
                return
    found = NONE
    if control.features & TABLE and f.depth > 0:
        entry = probe(shared, f.key)
        if entry != 0:
            found = entry_action(entry)
            if ply > 0 and entry_depth(entry) >= f.depth and cuts(entry, f, ply):
                leave(desk, shared, entry_score(entry, ply))
                return
    f.count = control.roots if ply == 0 else NONE
    if ply > 0 and control.features & EXTENSIONS and f.extensions < MOST_EXTENSIONS:
        f.count = actions(s, desk.lists[ply])
        if f.count == 1:
            f.left += 1
            f.extensions += 1
    if f.left <= 0 or ply == PLIES:
        f.stage = JUDGE
        return
    if f.count == NONE:
        f.count = actions(s, desk.lists[ply])
    rank(desk, found)
    f.best = -ENDLESS
    f.action = NONE
    f.index = 0
    f.way = FULL
    f.stage = NEXT


@rule
def end_score(s, seat, ply):
    scores = room_for_scores(s)
    score(s, scores)
    if scores[seat] > 0.0:
        return WIN - ply
    return ply - WIN if scores[seat] < 0.0 else 0


@rule
def seen_before(desk, ply):
    """Whether a position was there before in this line, or twice in the game."""
    hashed = desk.frames[ply].key
    for earlier in range(ply - 2, -1, -1):
        if desk.frames[earlier].key == hashed:
            return True
    for i in range(desk.twice.shape[0]):
        if desk.twice[i] == hashed:
            return True
    return False


@rule
def rank(desk, found):
    """Which actions to try first: the table's, those that refuted siblings, then by history."""
    control = desk.control[0]
    ply, features = control.ply, control.features
    f, legal, ranks = desk.frames[ply], desk.lists[ply], desk.ranks[ply]
    for i in range(f.count):
        ranks[i] = 0
    if features & URGES:
        urges(desk.stack[ply], legal, f.count, ranks)
    first, second = desk.killers[ply, 0], desk.killers[ply, 1]
    for i in range(f.count):
        if features & HISTORY:
            ranks[i] += 256 * desk.history[f.seat, legal[i]]
        if features & KILLERS and (legal[i] == first or legal[i] == second):
            ranks[i] = (1 << 29) + (1 if legal[i] == first else 0)
        if legal[i] == found:
            ranks[i] = 1 << 30


@rule
def judge(desk, shared, who):
    """The value of a leaf; where a network judges, its siblings are asked about with it."""
    control = desk.control[0]
    ply = control.ply
    s = desk.stack[ply]
    if not control.features & JUDGED_OUTSIDE:
        control.judged += 1
        leave(desk, shared, judged(who, s, desk.notes[ply]))
        return
    hashed = desk.frames[ply].key
    for i in range(control.waiting):
        if desk.asked_keys[i] == hashed:
            leave(desk, shared, desk.answers[i])
            return
    value = remembered(shared, hashed)
    if value != ENDLESS:
        leave(desk, shared, value)
        return
    control.waiting = 0
    ask(desk, s, hashed)
    if ply > 0:
        ask_siblings(desk, shared)
    control.judged += control.waiting
    control.status = WAITING


@rule
def ask(desk, s, hashed):
    control = desk.control[0]
    desk.asked[control.waiting] = s
    desk.asked_keys[control.waiting] = hashed
    control.waiting += 1


@rule
def ask_siblings(desk, shared):
    """Ask about the positions that come next, if they are leaves and not known."""
    ply = desk.control[0].ply
    parent, spare = desk.frames[ply - 1], desk.stack[PLIES]
    for i in range(parent.index, parent.count):
        if desk.control[0].waiting == desk.asked.shape[0]:
            return
        desk.stack[PLIES] = desk.stack[ply - 1]
        play(spare, desk.lists[ply - 1, i])
        hashed = key(spare)
        if turn(spare) != OVER and decisive(spare) < 0 and remembered(shared, hashed) == ENDLESS:
            ask(desk, spare, hashed)


@rule
def go_on(desk, shared, who):
    """Try the next action of a node, or leave it."""
    control = desk.control[0]
    ply = control.ply
    f = desk.frames[ply]
    if f.index == f.count:
        if control.features & TABLE and f.depth > 0 and not (ply == 0 and control.partial):
            keep(shared, f, ply, control.age)
        leave(desk, shared, f.best)
        return
    take_next(desk.lists[ply], desk.ranks[ply], f.index, f.count)
    action = desk.lists[ply, f.index]
    f.index += 1
    desk.stack[ply + 1] = desk.stack[ply]
    play(desk.stack[ply + 1], action)
    follow(who, desk.stack[ply], action, desk.notes[ply], desk.notes[ply + 1])
    child = desk.frames[ply + 1]
    mover = turn(desk.stack[ply + 1])
    child.over = 1 if mover == OVER else 0
    child.seat = 1 - f.seat if mover == OVER else mover
    f.way = FULL
    if f.index > 1 and control.features & PVS:
        f.way = NARROW
    if is_late(desk, f, ply):
        f.way = REDUCED
    descend(desk, f, child)


@rule
def take_next(legal, ranks, index, count):
    """Put the action with the highest rank at `index`."""
    best = index
    for i in range(index + 1, count):
        if ranks[i] > ranks[best]:
            best = i
    legal[index], legal[best] = legal[best], legal[index]
    ranks[index], ranks[best] = ranks[best], ranks[index]


@rule
def is_late(desk, f, ply):
    """Whether an action comes so late that it is first searched less deep."""
    quiet = desk.ranks[ply, f.index - 1] < 1 << 29
    return desk.control[0].features & REDUCTIONS and f.left >= 3 and f.index > 3 and quiet


@rule
def descend(desk, f, child):
    """Enter the child of a node with the window and depth of the way that it is searched."""
    narrow = f.way == NARROW or (f.way == REDUCED and desk.control[0].features & PVS)
    low, high = f.alpha, f.alpha + 1 if narrow else f.beta
    same = child.seat == f.seat
    child.alpha = child.floor = low if same else -high
    child.beta = high if same else -low
    child.depth = f.left - (1 + (1 if f.index <= 8 else 2) if f.way == REDUCED else 1)
    child.left = child.depth
    child.extensions = f.extensions
    child.stage = ENTER
    desk.control[0].ply += 1


@rule
def leave(desk, shared, value):
    """Return from a node to the one above."""
    control = desk.control[0]
    ply = control.ply
    if ply == 0:
        control.score = value
        control.status = IDLE
        return
    control.ply = ply - 1
    f, child = desk.frames[ply - 1], desk.frames[ply]
    if child.seat != f.seat:
        value = -value
    if f.way == REDUCED and value > f.alpha:
        f.way = NARROW if control.features & PVS else FULL
        descend(desk, f, child)
    elif f.way == NARROW and f.alpha < value < f.beta:
        f.way = FULL
        descend(desk, f, child)
    else:
        accept(desk, value)


@rule
def accept(desk, value):
    """What an action is worth, for sure or as far as it matters."""
    control = desk.control[0]
    ply = control.ply
    f = desk.frames[ply]
    if value <= f.best:
        return
    f.best = value
    if value <= f.alpha:
        return
    action = desk.lists[ply, f.index - 1]
    f.action = action
    f.alpha = value
    if f.beta - f.floor > 1:
        desk.lines[ply, ply] = action
        f.line = max(desk.frames[ply + 1].line, ply + 1)
        for i in range(ply + 1, f.line):
            desk.lines[ply, i] = desk.lines[ply + 1, i]
    if value >= f.beta:
        f.index = f.count
        refutes(desk, action)


@rule
def refutes(desk, action):
    """Remember an action that was too good for the other seat."""
    control = desk.control[0]
    f, killers = desk.frames[control.ply], desk.killers[control.ply]
    if killers[0] != action:
        killers[1] = killers[0]
        killers[0] = action
    past = desk.history[f.seat, action] + f.left * f.left
    desk.history[f.seat, action] = min(past, (1 << 20) - 1)


# The table: an entry is a score, a depth, a bound, an action and an age in one number ------------

AT_MOST, AT_LEAST, EXACT = 1, 2, 3
SCORE_OFFSET = 1 << 19


@rule
def probe(shared, hashed):
    """The entry of a position, or 0."""
    slot = np.int64(hashed & np.uint64(shared.keys.shape[0] - 1))
    for i in range(2):
        data = shared.data[slot ^ i]
        if shared.keys[slot ^ i] ^ data == hashed:
            return np.int64(data)
    return np.int64(0)


@rule
def entry_score(entry, ply):
    """Victories are stored by their distance from the entry's own position."""
    value = (entry & 0xFFFFF) - SCORE_OFFSET
    if value > PROVEN:
        return value - ply
    return value + ply if value < -PROVEN else value


@rule
def entry_depth(entry):
    return entry >> 20 & 0xFF


@rule
def entry_action(entry):
    return (entry >> 30 & 0xFFFF) - 1


@rule
def cuts(entry, f, ply):
    """Whether an entry answers what a frame asks."""
    bound, value = entry >> 28 & 3, entry_score(entry, ply)
    if bound == EXACT:
        return True
    return value >= f.beta if bound == AT_LEAST else value <= f.alpha


@rule
def keep(shared, f, ply, age):
    """Store what a frame has found, in place of something older or not as deep."""
    value = f.best
    if value > PROVEN:
        value += ply
    elif value < -PROVEN:
        value -= ply
    bound = AT_LEAST if f.best >= f.beta else EXACT if f.best > f.floor else AT_MOST
    depth = min(max(f.depth, 0), 255)
    entry = (value + SCORE_OFFSET) | depth << 20 | bound << 28 | (f.action + 1) << 30 | age << 46
    slot = np.int64(f.key & np.uint64(shared.keys.shape[0] - 1))
    chosen, least = slot, 1 << 30
    for i in range(2):
        data = np.int64(shared.data[slot ^ i])
        worth = entry_depth(data) + (256 if data >> 46 & 0xFF == age else 0)
        if shared.keys[slot ^ i] ^ shared.data[slot ^ i] == f.key:
            worth = -1
        if worth < least:
            chosen, least = slot ^ i, worth
    shared.data[chosen] = np.uint64(entry)
    shared.keys[chosen] = f.key ^ np.uint64(entry)


@rule
def remembered(shared, hashed):
    """What a network has said of a position, or ENDLESS."""
    slot = np.int64(hashed & np.uint64(shared.value_keys.shape[0] - 1))
    value = shared.values[slot]
    return np.int64(value) - WIN if shared.value_keys[slot] ^ value == hashed else ENDLESS


@kernel
def answer_all(first, end, step, desks, shared):
    """Remember the answers of a network, and let the desks go on."""
    for i in range(first, end, step):
        control = desks.control[i, 0]
        if control.status != WAITING:
            continue
        control.status = RUNNING
        for j in range(control.waiting):
            hashed, value = desks.asked_keys[i, j], np.uint64(desks.answers[i, j] + WIN)
            slot = np.int64(hashed & np.uint64(shared.value_keys.shape[0] - 1))
            shared.values[slot] = value
            shared.value_keys[slot] = hashed ^ value
