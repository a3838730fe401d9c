"""Iterative deepening, compiled: window after window, on one desk or on several together.

The first desk leads: it decides which window is searched next, and keeps what was found. Other
desks help it with the same window and the same table. They all look at two numbers:

    ROUND   written by the leader: the window that it searches; a desk that is in another one joins
            it. 0: the leader has gone, and everybody leaves, to continue later
    DONE    written by helpers: the round that one of them has finished before the leader has

So threads are woken once for a search of many windows, which pays even where it lasts milliseconds.
"""

from __future__ import annotations

from ..compiled import kernel, rule
from .alphabeta import (
    DONE,
    HELPERS,
    IDLE,
    ROUND,
    WAITING,
    advance,
    begin_search,
    is_open,
    no_longer_busy,
)
from .transpositions import ENDLESS, PROVEN

WINDOW = 250  # half the width of the first window around the expected score
TOGETHER_FROM = 5  # plies: helpers of shallower searches would mostly do what is done already
ASPIRATION = 1 << 11  # the feature: windows that are narrow at first


@kernel
def deepen_all(first, end, step, desks, shared, who):
    """Let desks go on until the leader is done, waits for a network, or has used its budget."""
    for i in range(first, end, step):
        if i == 0:
            lead(desks, shared, who)
        else:
            help_leader(desks, i, shared, who)


@rule
def lead(desks, shared, who):
    desk, signals = desks[0], shared.signals
    searching = True
    while searching:
        advance(desk, shared, who)
        finished = finisher(desks, signals[DONE])
        searching = finished >= 0 and settle(desk, desks[finished], shared, who)
        signals[ROUND] = desk.round if searching else 0


@rule
def finisher(desks, done):
    """Which desk has finished the leader's window; -1 if none has."""
    desk = desks[0]
    if desk.status == IDLE:
        return 0
    return done - desk.round * HELPERS if done >= desk.round * HELPERS else -1


@rule
def settle(desk, finished, shared, who):
    """Keep what was found in a window, and open the next one. Returns whether there is one."""
    give_up(desk, shared.busy)
    desk.status = IDLE
    desk.score = finished.score
    if desk.alpha < desk.score < desk.beta or desk.width == ENDLESS:
        keep_line(desk, finished)
        if desk.depth == desk.goal or abs(desk.score) > PROVEN:
            return False
        desk.depth += 1
        desk.width = first_width(desk)
    else:
        desk.width = 4 * desk.width if desk.width < PROVEN else ENDLESS
    open_window(desk, who)
    return True


@rule
def keep_line(desk, finished):
    root = finished.frames[0]
    desk.reached = desk.depth
    desk.expected = desk.score
    desk.found_count = root.line
    for i in range(root.line):
        desk.found[i] = finished.lines[0, i]


@rule
def first_width(desk):
    narrow = desk.features & ASPIRATION and desk.depth > 2 and abs(desk.expected) < PROVEN
    return WINDOW if narrow else ENDLESS


@rule
def open_window(desk, who):
    desk.alpha = max(desk.expected - desk.width, -ENDLESS)
    desk.beta = min(desk.expected + desk.width, ENDLESS)
    desk.round += 1
    begin_search(desk, who)


@kernel
def open_all(first, end, step, desks, who):
    """Set leaders up for a search to their goals."""
    for i in range(first, end, step):
        desks[i].width = first_width(desks[i])
        open_window(desks[i], who)


@rule
def help_leader(desks, number, shared, who):
    desk, signals = desks[number], shared.signals
    now = signals[ROUND]
    while now != 0 and desk.nodes < desk.budget:
        if now != desk.round and desks[0].depth >= TOGETHER_FROM:
            join(desk, desks[0], now, shared.busy, who)
        if now == desk.round and desk.status != IDLE:
            advance(desk, shared, who)
            if desk.status == WAITING:
                return
            if desk.status == IDLE and is_open(desk, signals):
                signals[DONE] = desk.round * HELPERS + number
        desk.pauses += 1  # written, so that the signals are read again
        now = signals[ROUND]


@rule
def join(desk, leader, now, busy, who):
    """Leave a window that nobody needs any more, for the leader's."""
    give_up(desk, busy)
    desk.depth = leader.depth
    desk.alpha = leader.alpha
    desk.beta = leader.beta
    desk.round = now
    begin_search(desk, who)


@rule
def give_up(desk, busy):
    """Let others know that a desk is no longer busy with what is on its stack."""
    if desk.status == IDLE:
        return
    desk.waiting = 0  # what it has asked a network is not answered
    for ply in range(desk.ply):
        no_longer_busy(desk, busy, ply)
