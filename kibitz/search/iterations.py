"""Iterative deepening, compiled: window after window, on one desk or on several together.

The first desk leads: it decides which window is searched next, and keeps what was found. Other
desks help it with the same window and the same table. They all look at one number, the round:

    round > 0   the window that the leader searches; a desk that is in another one joins it
    round = 0   the leader has gone: everybody leaves, to continue later
    round < 0   a helper has finished its window before the leader has

So threads are woken once for a search of many windows, which pays even where it lasts milliseconds.
"""

from __future__ import annotations

import numpy as np

from ..compiled import kernel, rule
from .alphabeta import (
    ENDLESS,
    IDLE,
    PROVEN,
    ROUND,
    WAITING,
    advance,
    begin_search,
    busy_slot,
    is_busy,
)

WINDOW = 250  # half the width of the first window around the expected score
ASPIRATION = 1 << 11  # the feature: windows that are narrow at first
HELPERS = 64  # helpers are numbered below it


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
    desk = desks[0]
    searching = True
    while searching:
        advance(desk, shared, who)
        finished = finisher(desks, shared.signals[ROUND])
        if finished >= 0:
            searching = settle(desk, desks[finished], shared, who)
        else:  # a helper has finished an earlier round, or it is time to go
            searching = shared.signals[ROUND] != desk.round
        shared.signals[ROUND] = desk.round if searching else 0


@rule
def finisher(desks, signal):
    """Which desk has finished the leader's window; -1 if none has."""
    desk = desks[0]
    if desk.status == IDLE:
        return 0
    helper = np.int64(-signal) % HELPERS
    if signal >= 0 or np.int64(-signal) // HELPERS != desk.round:
        return -1
    other = desks[helper]
    same = other.depth == desk.depth and other.alpha == desk.alpha and other.beta == desk.beta
    return helper if same else -1


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
    desk = desks[number]
    while True:
        signal = shared.signals[ROUND]
        if signal == 0 or desk.nodes >= desk.budget:
            return
        if signal > 0 and signal != desk.round:
            join(desk, desks[0], signal, shared.busy, who)
        if signal > 0 and desk.status != IDLE:
            advance(desk, shared, who)
            if desk.status == WAITING:
                return
            if desk.status == IDLE and shared.signals[ROUND] == desk.round:
                shared.signals[ROUND] = -(desk.round * HELPERS + number)
        desk.pauses += 1  # written, so that the signal is read again


@rule
def join(desk, leader, signal, busy, who):
    """Leave a window that nobody needs any more, for the leader's."""
    give_up(desk, busy)
    desk.depth = leader.depth
    desk.alpha = leader.alpha
    desk.beta = leader.beta
    desk.round = signal
    for seat in range(2):  # what the leader has learnt about actions helps to sort them
        for action in range(desk.history.shape[1]):
            desk.history[seat, action] = leader.history[seat, action]
    for ply in range(desk.killers.shape[0]):
        desk.killers[ply, 0] = leader.killers[ply, 0]
        desk.killers[ply, 1] = leader.killers[ply, 1]
    begin_search(desk, who)


@rule
def give_up(desk, busy):
    """Let others know that a desk is no longer busy with what is on its stack."""
    if desk.status == IDLE:
        return
    for ply in range(desk.ply):
        f = desk.frames[ply]
        action = desk.lists[ply, max(f.index, 1) - 1]
        if is_busy(busy, f.key, action):
            busy[busy_slot(busy, f.key, action)] = 0
