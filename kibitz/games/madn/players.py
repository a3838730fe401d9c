"""Players that need no learning. They look one action ahead, and at no hand but their own.

How far a pin has come is its place; in the lane one more if pins must pass their start field. All
sums are whole numbers, so that every machine chooses the same.
"""

from __future__ import annotations

import math

import numpy as np

from ...chance import below
from ...game import Planned, room, room_for_actions, rule
from . import cards, rules
from .board import DIE, EXCHANGE, HOME, PINS, controlled, side

RUNNER, RULES, GREEDY = range(3)  # what a player goes by
FIRST, ANY, SOFT = range(3)  # of equal actions: the first, or any; or by how good each one is

PLAN = np.dtype((np.record, [("goes_by", np.int64), ("of_equals", np.int64)]))

INTO_LANE, OUT_OF_MANY, OUT_OF_FEW, FOE_HOME, FRIEND_HOME = 5, 3, 2, 2, -3
MANY = 2  # pins at home
IN_LANE, IN_PLAY = 20, 15

# Of SOFT: the weight exp(-d / 0.25), where d is how much worse an action is than the best one, for
# d in steps of 1 / 256.
STEPS, PER_TEMPERATURE = 4096, 64
WEIGHTS = np.array([round(2**30 * math.exp(-i / PER_TEMPERATURE)) for i in range(STEPS)], np.int64)

room_for_pins = room(np.int64, lambda game: PINS * game.seats)
room_for_values = room(np.int64, lambda game: game.max_legal)


# How good a position is, compared with the one before -------------------------------------------


@rule
def progress(s, place):
    return place + int(s.gate) - int(s.ring) if place > s.ring else place


@rule
def keep_pins(s, before):
    for player in range(s.pins.shape[0]):
        for pin in range(PINS):
            before[PINS * player + pin] = s.pins[player, pin]


@rule
def put_back(s, before):
    for player in range(s.pins.shape[0]):
        for pin in range(PINS):
            s.pins[player, pin] = before[PINS * player + pin]


@rule
def farthest_moved(s, player, before):
    """The runner: how far the farthest pin has come that was moved."""
    most = 0
    for pin in range(PINS):
        if s.pins[player, pin] != before[PINS * player + pin]:
            most = max(most, progress(s, int(s.pins[player, pin])))
    return most


@rule
def gains(s, player, before):
    """The rules: pins that come into the lane or out, pins sent home, and steps / ring.

    In units of a step, so that the number is whole.
    """
    points, steps, at_home = 0, 0, 0
    for pin in range(PINS):
        at_home += 1 if before[PINS * player + pin] == HOME else 0
    for owner in range(s.pins.shape[0]):
        for pin in range(PINS):
            was, now = int(before[PINS * owner + pin]), int(s.pins[owner, pin])
            if was != HOME and now == HOME:
                points += FRIEND_HOME if side(s, owner) == side(s, player) else FOE_HOME
            if owner == player:
                steps += progress(s, now) - progress(s, was)
                if now > s.ring and was <= s.ring:
                    points += INTO_LANE
                if was == HOME and now != HOME:
                    points += OUT_OF_MANY if at_home >= MANY else OUT_OF_FEW
    return points * int(s.ring) + steps


@rule
def balance(s, player):
    """The greedy one: the friends' pins against the foes', times the number of foes."""
    players, friends, foes, in_play = s.pins.shape[0], 0, 0, 0
    enemies = players - 2 if s.teams else players - 1
    for owner in range(players):
        for pin in range(PINS):
            place = int(s.pins[owner, pin])
            worth = progress(s, place) + (IN_LANE if place > s.ring else 0)
            if side(s, owner) == side(s, player):
                friends += worth
            else:
                foes += worth
            in_play += 1 if owner == player and place != HOME else 0
    return enemies * (friends + IN_PLAY * in_play) - foes


@rule
def judged(s, player, before, goes_by):
    if goes_by == RUNNER:
        return farthest_moved(s, player, before)
    return gains(s, player, before) if goes_by == RULES else balance(s, player)


# Choosing ----------------------------------------------------------------------------------------


@rule
def chosen(values, n, of_equals, ring, rng):
    """The number of an action, by the values of all."""
    best, equals = 0, 0
    for i in range(n):
        if values[i] > values[best]:
            best, equals = i, 1
        elif values[i] == values[best]:
            equals += 1
            if of_equals == ANY and below(rng, equals) == 0:
                best = i
    if of_equals != SOFT:
        return best
    most, total = int(values[best]), 0
    for i in range(n):
        worse = (most - int(values[i])) * 4 * PER_TEMPERATURE // ring
        values[i] = WEIGHTS[worse] if worse < STEPS else 0
        total += int(values[i])
    # A draw below `total`, which may need more than the 32 bits of one.
    left = total * below(rng, 1 << 20) >> 20
    for i in range(n):
        left -= int(values[i])
        if left < 0:
            return i
    return best


@rule
def follow_steps(s, seat, rng, plan):
    """A player with a die or a stock."""
    legal, values, before = room_for_actions(s), room_for_values(s), room_for_pins(s)
    n, player = rules.actions(s, legal), controlled(s, int(s.mover))
    if n == 1:
        return int(legal[0])
    keep_pins(s, before)
    for i in range(n):
        pin, value = int(legal[i]), int(s.die)
        if s.mode != DIE:
            pin, value = pin // rules.FACES, pin % rules.FACES + 1
        rules.move_to(s, player, pin, rules.landing(s, player, pin, value))
        values[i] = judged(s, player, before, plan.goes_by)
        put_back(s, before)
    return int(legal[chosen(values, n, plan.of_equals, int(s.ring), rng)])


@rule
def follow_cards(s, seat, rng, plan):
    """A player with cards."""
    legal, values, before = room_for_actions(s), room_for_values(s), room_for_pins(s)
    n, player = cards.actions(s, legal), controlled(s, int(s.mover))
    if n == 1:
        return int(legal[0])
    keep_pins(s, before)
    for i in range(n):
        values[i] = 0
        if s.phase != EXCHANGE:
            cards.carry_out(s, player, int(legal[i]))
            values[i] = judged(s, player, before, plan.goes_by)
            put_back(s, before)
    return int(legal[chosen(values, n, plan.of_equals, int(s.ring), rng)])


def _plan(goes_by, of_equals):
    plans = np.zeros(1, PLAN)
    plans[0] = goes_by, of_equals
    return plans[0]


PLANS = {
    "runner": _plan(RUNNER, FIRST),
    "rules_greedy": _plan(RULES, FIRST),
    "rules": _plan(RULES, SOFT),
    "greedy": _plan(GREEDY, ANY),
}
# The strongest first: runners win races for one, but not the team games with cards.
STEP_PLAYERS = {name: Planned(follow_steps, plan) for name, plan in PLANS.items()}
CARD_PLAYERS = {name: Planned(follow_cards, PLANS[name]) for name in reversed(PLANS)}
