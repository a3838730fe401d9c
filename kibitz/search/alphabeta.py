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
from numpy.typing import DTypeLike, NDArray

from ..compiled import kernel, rule
from ..game import OVER, Game, actions, play, room, score, turn
from .judging import begin, count, decisive, follow, judged, key, skip, urges
from .transpositions import (
    ENDLESS,
    PROVEN,
    WIN,
    cuts,
    entry_action,
    entry_depth,
    entry_score,
    keep,
    probe,
    remembered,
)

PLIES = 64  # the longest line: deeper positions are judged as they are
MOST_EXTENSIONS = 8  # in a line
MOST_TWICE = 32  # positions of a game that were there twice

# Features, each of which can be switched off to see what it is good for.
TABLE, PVS, KILLERS, HISTORY, URGES, LEAF_RULE, EXTENSIONS, REDUCTIONS, NULL_MOVE = (
    1 << bit for bit in range(9)
)
JUDGED_OUTSIDE = 1 << 9  # a network judges leaves, in batches
TOGETHER = 1 << 10  # several desks search one position
SKIP_FROM = 3  # plies left, from which handing the move over is tried, so many plies less deep
ROUND, DONE, SIGNALS = 16, 17, 32  # where they are among the signals, and how many there are
HELPERS = 64  # desks of a search are numbered below it
DEFERRED = -1  # the rank of an action that another desk was busy with
DEFERRED_FROM = 4  # plies left: shallower searches are not worth the trouble

SPREAD = np.uint64(0x9E3779B97F4A7C15)  # an odd number: what it multiplies is spread over 64 bits

IDLE, RUNNING, WAITING = range(3)
ENTER, JUDGE, NEXT = range(3)  # what a frame does next
FULL, NARROW, REDUCED, SKIPPED = range(4)  # how a child is searched
NONE = -1  # no action

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
            ("deferred", np.int16),  # actions left for later, because other desks search them
            ("line", np.int16),  # where the line of this frame ends
            ("extensions", np.int8),  # in the line so far
            ("stage", np.int8),
            ("way", np.int8),  # that the child is searched
            ("seat", np.int8),  # to move; after the end, who would
            ("over", np.int8),
            ("skips", np.int8),  # 1: the move may be handed over here, to see whether it matters
        ],
    )
)


def desk_type(game: Game, note: DTypeLike) -> np.dtype[np.void]:
    """What one thinker writes on: one record, so that it travels as one pointer.

    note: the type of the judge's notes.
    """
    plies, legal = PLIES + 1, game.max_legal
    return np.dtype(
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
                ("goal", np.int32),  # the depth to reach, window by window
                ("width", np.int32),  # half the width of the window
                ("expected", np.int32),  # the score at the depth that was reached
                ("reached", np.int32),  # the depth that was searched completely
                ("found_count", np.int32),  # actions of the line that was found there
                ("round", np.int64),  # the number of the window; see `iterations`
                ("pauses", np.int64),  # while there was nothing to do
                ("plies_left", np.int32),  # after so many plies the game is drawn
                ("roots", np.int32),  # actions to look at, at the root
                ("partial", np.int32),  # 1: there are others, which are left out
                ("waiting", np.int32),  # positions that a network has to judge
                ("twice_count", np.int32),
                ("epoch", np.int32),  # of the search: entries of others do not count
                ("twice", np.uint64, MOST_TWICE),  # keys that were there twice: now a draw
                ("frames", FRAME, plies),
                ("stack", game.state, plies),  # the positions of the line that is looked at
                ("notes", note, plies),
                ("ranks", np.int32, (plies, legal)),  # the higher, the earlier it is tried
                ("lists", np.int16, (plies, legal)),  # legal actions
                ("found", np.int16, plies),  # the line that was found
                ("lines", np.int16, (plies, plies)),  # principal variations, at their own plies
                ("killers", np.int16, (plies, 2)),  # actions that refuted siblings at a ply
                ("history", np.int32, (2, game.num_actions)),  # what actions have refuted, by seat
                ("asked", game.state, legal),  # positions that a network has to judge
                ("asked_keys", np.uint64, legal),
                ("answers", np.int32, legal),  # what they are worth to the seat to move
            ],
        )
    )


class Shared(NamedTuple):
    """What all desks of a search share.

    Threads write without asking each other. An entry whose key has been written by one and whose
    data by another does not pass the check, because what is stored is their exclusive or.
    """

    table: NDArray[np.uint64]
    """Transpositions: a key and an entry each. [slots, 2]"""
    values: NDArray[np.uint64]
    """What a network has said of positions: a key and a value each. [slots, 2]"""
    busy: NDArray[np.uint64]
    """What desks are busy with: keys of positions with actions. Others try something else first,
    as in T. Kerrigan's simplified ABDADA. [slots]"""
    signals: NDArray[np.int64]
    """At ROUND, the number of the window that is searched; a desk stops as soon as it is not its
    own. At DONE, a round times HELPERS, plus the helper that has finished it. The rest keeps others
    away from the cache line that all threads read at every node."""


room_for_scores = room(np.float32, lambda game: game.seats)


@rule
def advance(desk, shared, who):
    """Go on until the window is searched, a network is needed, or the budget or round is over."""
    if desk.status == IDLE:
        return
    desk.status = RUNNING
    while desk.status == RUNNING and desk.nodes < desk.budget and is_open(desk, shared.signals):
        stage = desk.frames[desk.ply].stage
        if stage == ENTER:
            value = enter(desk, shared, who)
        elif stage == JUDGE:
            value = judge(desk, shared, who)
        else:
            value = go_on(desk, shared)
        if value != ENDLESS:
            leave(desk, shared.busy, value)


@rule
def is_open(desk, signals):
    """Whether a desk's window is still searched, and nobody has finished it."""
    return signals[ROUND] == desk.round and signals[DONE] < desk.round * HELPERS


@rule
def begin_search(desk, who):
    """Set a desk up for a search of the position at the bottom of its stack."""
    root, s = desk.frames[0], desk.stack[0]
    begin(who, s, desk.notes[0])
    desk.ply = 0
    desk.status = RUNNING
    root.key = key(s)
    root.alpha = root.floor = desk.alpha
    root.beta = desk.beta
    root.depth = root.left = desk.depth
    root.seat = turn(s)
    root.over = 0
    root.extensions = 0
    root.skips = 0
    root.action = NONE
    root.stage = ENTER


# One node ----------------------------------------------------------------------------------------


@rule
def enter(desk, shared, who):
    """Look at a position for the first time. Returns its value, or ENDLESS while it is open."""
    ply = desk.ply
    s, f = desk.stack[ply], desk.frames[ply]
    desk.nodes += 1
    f.line = ply
    if ply > 0:
        if f.over:
            return end_score(s, f.seat, ply)
        f.key = key(s)
        if ply >= desk.plies_left or seen_before(desk, ply):
            return 0
        if desk.features & LEAF_RULE:
            action = decisive(s)
            if action >= 0:
                desk.lines[ply, ply] = action
                f.line = ply + 1
                return WIN - ply - 1
    found = NONE
    if desk.features & TABLE and f.depth > 0:
        entry = probe(shared.table, f.key, desk.epoch)
        if entry != 0:
            found = entry_action(entry)
            if ply > 0 and entry_depth(entry) >= f.depth and cuts(entry, f, ply):
                return entry_score(entry, ply)
    if f.left > 0:
        f.count = desk.roots if ply == 0 else actions(s, desk.lists[ply])
    extends = ply > 0 and desk.features & EXTENSIONS and f.extensions < MOST_EXTENSIONS
    if extends and (f.count if f.left > 0 else count(s)) == 1:
        f.extensions += 1
        f.left += 1
        if f.left == 1:
            f.count = actions(s, desk.lists[ply])
    if ply > 0:
        take_note(desk, ply, who)
    if f.left <= 0 or ply == PLIES:
        f.stage = JUDGE
        return ENDLESS
    rank(desk, found)
    f.best = -ENDLESS
    f.action = NONE
    f.index = f.deferred = 0
    f.way = FULL
    f.stage = NEXT
    narrow = f.beta - f.alpha == 1 and f.left >= SKIP_FROM and abs(f.beta) < PROVEN
    f.skips = 1 if f.skips and narrow and desk.features & NULL_MOVE else 0
    return ENDLESS


@rule
def take_note(desk, ply, who):
    """The judge's note of a position that nothing has cut off: most are, so it waits until then."""
    above = desk.frames[ply - 1]
    if above.way == SKIPPED:
        begin(who, desk.stack[ply], desk.notes[ply])
    else:
        action = desk.lists[ply - 1, above.index - 1]
        follow(who, desk.stack[ply - 1], action, desk.notes[ply - 1], desk.notes[ply])


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
    for i in range(desk.twice_count):
        if desk.twice[i] == hashed:
            return True
    return False


@rule
def rank(desk, found):
    """Which actions to try first: the table's, those that refuted siblings, then by history."""
    ply, features = desk.ply, desk.features
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
    """The value of a leaf, or ENDLESS if a network has to judge it and its siblings first."""
    ply = desk.ply
    s = desk.stack[ply]
    if not desk.features & JUDGED_OUTSIDE:
        desk.judged += 1
        return judged(who, s, desk.notes[ply])
    hashed = desk.frames[ply].key
    for i in range(desk.waiting):
        if desk.asked_keys[i] == hashed:
            return desk.answers[i]
    value = remembered(shared.values, hashed)
    if value != ENDLESS:
        return value
    desk.waiting = 0
    ask(desk, s, hashed)
    if ply > 0:
        ask_siblings(desk, shared)
    desk.judged += desk.waiting
    desk.status = WAITING
    return ENDLESS


@rule
def ask(desk, s, hashed):
    desk.asked[desk.waiting] = s
    desk.asked_keys[desk.waiting] = hashed
    desk.waiting += 1


@rule
def ask_siblings(desk, shared):
    """Ask about the positions that come next, if they are leaves and not known."""
    ply = desk.ply
    parent, spare = desk.frames[ply - 1], desk.stack[PLIES]
    for i in range(parent.index, parent.count):
        if desk.waiting == desk.asked.shape[0]:
            return
        desk.stack[PLIES] = desk.stack[ply - 1]
        play(spare, desk.lists[ply - 1, i])
        hashed = key(spare)
        if (
            turn(spare) != OVER
            and decisive(spare) < 0
            and remembered(shared.values, hashed) == ENDLESS
        ):
            ask(desk, spare, hashed)


@rule
def go_on(desk, shared):
    """Try the next action of a node. Returns its value once there is none."""
    ply = desk.ply
    f = desk.frames[ply]
    if f.skips:
        f.skips = 0
        hand_over(desk, f)
        return ENDLESS
    if f.index == f.count:
        if desk.features & TABLE and f.depth > 0 and not (ply == 0 and desk.partial):
            keep(shared.table, f, ply, desk.epoch)
        return f.best
    take_next(desk.lists[ply], desk.ranks[ply], f.index, f.count)
    action = desk.lists[ply, f.index]
    if is_shared(desk, f, f.index):
        tag = busy_tag(desk, f.key, action)
        if desk.ranks[ply, f.index] > DEFERRED and is_busy(shared.busy, tag):
            desk.ranks[ply, f.index] = DEFERRED
            f.deferred += 1
            return ENDLESS
        shared.busy[busy_slot(shared.busy, tag)] = tag
    f.deferred -= 1 if desk.ranks[ply, f.index] == DEFERRED else 0
    f.index += 1
    desk.stack[ply + 1] = desk.stack[ply]
    play(desk.stack[ply + 1], action)
    child = desk.frames[ply + 1]
    mover = turn(desk.stack[ply + 1])
    child.over = 1 if mover == OVER else 0
    child.seat = 1 - f.seat if mover == OVER else mover
    child.skips = 1
    f.way = FULL
    if f.index > 1 and desk.features & PVS:
        f.way = NARROW
    if is_late(desk, f, ply):
        f.way = REDUCED
    descend(desk, f, child)
    return ENDLESS


@rule
def hand_over(desk, f):
    """Look, less deep, what happens if nothing is done: if that is good enough, actions are."""
    ply = desk.ply
    child = desk.frames[ply + 1]
    desk.stack[ply + 1] = desk.stack[ply]
    skip(desk.stack[ply + 1])
    child.seat = 1 - f.seat
    child.over = child.skips = 0
    child.alpha = child.floor = -f.beta
    child.beta = 1 - f.beta
    child.depth = child.left = f.left - SKIP_FROM
    child.extensions = f.extensions
    child.stage = ENTER
    f.way = SKIPPED
    desk.ply += 1


@rule
def is_shared(desk, f, index):
    """Whether desks tell each other that they search an action: not the first, nor near leaves."""
    return desk.features & TOGETHER and f.left >= DEFERRED_FROM and index > 0


@rule
def busy_tag(desk, hashed, action):
    """The name of an action in the window that is searched: other windows' names are forgotten."""
    return hashed ^ np.uint64((desk.round << 16) + action + 1) * SPREAD


@rule
def busy_slot(busy, tag):
    return np.int64(tag & np.uint64(busy.shape[0] - 1))


@rule
def is_busy(busy, tag):
    return busy[busy_slot(busy, tag)] == tag


@rule
def no_longer_busy(desk, busy, ply):
    """Let others know that a desk has left the action that it searched last at a ply."""
    f = desk.frames[ply]
    if is_shared(desk, f, f.index - 1):
        tag = busy_tag(desk, f.key, desk.lists[ply, f.index - 1])
        if is_busy(busy, tag):
            busy[busy_slot(busy, tag)] = 0


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
def place(f):
    """The place of a node's action in their order, as one desk alone would try them."""
    return f.index + f.deferred


@rule
def is_late(desk, f, ply):
    """Whether an action comes so late that it is first searched less deep."""
    quiet = desk.ranks[ply, f.index - 1] < 1 << 29
    return desk.features & REDUCTIONS and f.left >= 3 and place(f) > 3 and quiet


@rule
def descend(desk, f, child):
    """Enter the child of a node with the window and depth of the way that it is searched."""
    narrow = f.way == NARROW or (f.way == REDUCED and desk.features & PVS)
    low, high = f.alpha, f.alpha + 1 if narrow else f.beta
    same = child.seat == f.seat
    child.alpha = child.floor = low if same else -high
    child.beta = high if same else -low
    child.depth = f.left - (1 + (1 if place(f) <= 8 else 2) if f.way == REDUCED else 1)
    child.left = child.depth
    child.extensions = f.extensions
    child.stage = ENTER
    desk.ply += 1


@rule
def leave(desk, busy, value):
    """Return from a node to the one above."""
    ply = desk.ply
    if ply == 0:
        desk.score = value
        desk.status = IDLE
        return
    desk.ply = ply - 1
    f, child = desk.frames[ply - 1], desk.frames[ply]
    if child.seat != f.seat:
        value = -value
    if f.way == SKIPPED:
        if value >= f.beta:
            f.best = value
            f.index = f.count
    elif f.way == REDUCED and value > f.alpha:
        f.way = NARROW if desk.features & PVS else FULL
        descend(desk, f, child)
    elif f.way == NARROW and f.alpha < value < f.beta:
        f.way = FULL
        descend(desk, f, child)
    else:
        no_longer_busy(desk, busy, ply - 1)
        accept(desk, value)


@rule
def accept(desk, value):
    """What an action is worth, for sure or as far as it matters."""
    ply = desk.ply
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
    f, killers = desk.frames[desk.ply], desk.killers[desk.ply]
    if killers[0] != action:
        killers[1] = killers[0]
        killers[0] = action
    past = desk.history[f.seat, action] + f.left * f.left
    desk.history[f.seat, action] = min(past, (1 << 20) - 1)


@kernel
def answer_all(first, end, step, desks, shared):
    """Remember the answers of a network, and let the desks go on."""
    for i in range(first, end, step):
        desk = desks[i]
        if desk.status != WAITING:
            continue
        desk.status = RUNNING
        for j in range(desk.waiting):
            hashed, value = desk.asked_keys[j], np.uint64(desk.answers[j] + WIN)
            slot = np.int64(hashed & np.uint64(shared.values.shape[0] - 1))
            shared.values[slot, 1] = value
            shared.values[slot, 0] = hashed ^ value
