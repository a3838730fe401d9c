"""How pins move: forward, out, four back, in exchange; and who is sent home."""

from __future__ import annotations

from ...game import rule
from .board import ENDED, HOME, NOBODY, PINS, START, all_in_lane, partner, ring_place, side, stands

NOWHERE = 0  # no move leads home
FAR = 1000  # more than any ring has


@rule
def free_run(s, player, place):
    """Steps on the ring before the next wall: a pin on its own start field, if those are immune.

    The cell under the pin itself is no wall for it.
    """
    if not s.start_block:
        return FAR
    run = FAR
    for owner in range(s.pins.shape[0]):
        if stands(s, owner, START):
            ahead = ring_place(s, owner, START, player) - place
            if ahead < 0:
                ahead += int(s.ring)
            if 0 < ahead <= run:
                run = ahead - 1
    return run


@rule
def lane_is_open(s, player, start, to):
    """Whether a pin gets from place `start` to the lane cell `to`, as far as the lane goes."""
    for pin in range(PINS):
        place = int(s.pins[player, pin])
        if place == to or (start < place < to and place > s.ring and not s.jumping):
            return False
    return True


@rule
def friend_stands(s, player, place):
    """Whether a pin of the player or of its partner stands on a ring cell."""
    if stands(s, player, place):
        return True
    if not s.teams:
        return False
    other = partner(s, player)
    return stands(s, other, ring_place(s, player, place, other))


@rule
def forward(s, player, place, steps, run):
    """Where a pin gets to, or NOWHERE. run: its `free_run`; entering the lane is not optional."""
    ring, gate = int(s.ring), int(s.gate)
    if place > ring:
        to = place + steps
        return to if to <= ring + PINS and lane_is_open(s, player, place, to) else NOWHERE
    into, to = place + steps - gate, place + steps
    if 1 <= into <= PINS and gate - place <= run and lane_is_open(s, player, place, ring + into):
        return ring + into
    if steps > run or (to > ring and not s.circular):
        return NOWHERE
    if to > ring:
        to -= ring
    return NOWHERE if not s.friendly_fire and friend_stands(s, player, to) else to


@rule
def may_come_out(s, player):
    if stands(s, player, START):
        return False
    return s.friendly_fire != 0 or not friend_stands(s, player, START)


@rule
def four_back(s, player, place):
    """Where a pin gets to by four steps back, or NOWHERE. It never goes back into the lane."""
    ring, to = int(s.ring), place - 4
    if place == HOME or place > ring or (to < START and not s.circular):
        return NOWHERE
    if to < START:
        to += ring
    for owner in range(s.pins.shape[0] if s.start_block else 0):
        if stands(s, owner, START):
            behind = place - ring_place(s, owner, START, player)
            if behind < 0:
                behind += ring
            if 1 <= behind <= 4:
                return NOWHERE
    return NOWHERE if not s.friendly_fire and friend_stands(s, player, to) else to


@rule
def foe_stands(s, player, place):
    """Whether a pin on a ring cell would be sent home as a foe."""
    if place > s.ring:
        return False
    for other in range(s.pins.shape[0]):
        is_foe = side(s, other) != side(s, player)
        if is_foe and stands(s, other, ring_place(s, player, place, other)):
            return True
    return False


@rule
def move_to(s, player, pin, to):
    """Put a pin down; whoever stands there goes home. Only a move that is legal lands on a pin."""
    if to <= s.ring:
        for other in range(s.pins.shape[0]):
            there = ring_place(s, player, to, other)
            for k in range(PINS):
                if s.pins[other, k] == there:
                    s.pins[other, k] = HOME
    s.pins[player, pin] = to


@rule
def has_won(s, player):
    """Whether the team of a player has all its pins in the lanes."""
    return all_in_lane(s, player) and (not s.teams or all_in_lane(s, partner(s, player)))


@rule
def count_ply(s, moved):
    """After an action: 1 if it was the last one. moved: the player whose pins were moved."""
    s.plies += 1
    if has_won(s, moved):
        s.winner = side(s, moved)
    elif s.plies < s.max_plies:
        return 0
    s.phase = ENDED
    return 1


@rule
def score(s, out):
    """The mean of the comparisons with all other teams: the winner beats each, others are equal."""
    players = s.pins.shape[0]
    others = (players // 2 if s.teams else players) - 1
    for player in range(players):
        if s.winner == NOBODY:
            out[player] = 0.0
        else:
            out[player] = 1.0 if side(s, player) == s.winner else -1.0 / others
