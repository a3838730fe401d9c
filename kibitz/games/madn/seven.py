"""The hot seven: seven steps over up to four pins, which send home what they pass.

The parts are carried out one after another, and their order can matter: a pin that leaves its start
field opens the way for another, and one that is passed goes home. All orders are possible; that a
distribution is legal takes one that works. Most pins are too far apart to meet, and then no order
needs to be tried.
"""

from __future__ import annotations

import itertools

import numpy as np

from ...game import rule
from .board import HOME, PINS, START, on_ring, partner, ring_place, side, stands

SEVEN = 7
PLACE_BITS, PART_BITS, TERRAIN_BITS, SET_BITS = 10, 3, 12, 8  # per pin, packed into one number
RUN = 15  # of a pin's terrain: steps before the next wall; then a bit per step that hits a partner
ILLEGAL = -1

DISTRIBUTED = [
    parts for parts in itertools.product(range(SEVEN + 1), repeat=PINS) if sum(parts) == SEVEN
]
PARTS = np.array(
    [sum(part << PART_BITS * pin for pin, part in enumerate(parts)) for parts in DISTRIBUTED],
    np.int16,
)
# By a set of pins: how many distributions move no other pin, and their numbers.
_FITTING = [
    [
        n
        for n, parts in enumerate(DISTRIBUTED)
        if not any(parts[k] for k in range(PINS) if not pins >> k & 1)
    ]
    for pins in range(1 << PINS)
]
FITTING_COUNT = np.array([len(numbers) for numbers in _FITTING], np.int16)
FITTING = np.array(
    [numbers + [0] * (len(DISTRIBUTED) - len(numbers)) for numbers in _FITTING], np.int16
)
# By how many parts there are: their orders, lexicographically.
_ORDERS = [list(itertools.permutations(range(parts))) for parts in range(PINS + 1)]
ORDER_COUNT = np.array([len(orders) for orders in _ORDERS], np.int8)
ORDERS = np.zeros((PINS + 1, 24, PINS), np.int8)
for _parts, _orders in enumerate(_ORDERS):
    ORDERS[_parts, : len(_orders), :_parts] = _orders


# Places of four pins as one number ---------------------------------------------------------------


@rule
def packed(s, player):
    places = 0
    for pin in range(PINS):
        places |= int(s.pins[player, pin]) << PLACE_BITS * pin
    return places


@rule
def at(places, pin):
    return places >> PLACE_BITS * pin & (1 << PLACE_BITS) - 1


@rule
def placed(places, pin, place):
    return places & ~((1 << PLACE_BITS) - 1 << PLACE_BITS * pin) | place << PLACE_BITS * pin


@rule
def part_of(parts, pin):
    return parts >> PART_BITS * pin & SEVEN


@rule
def moving(parts):
    """The pins that have a part, two bits each, and how many they are."""
    pins, n = 0, 0
    for pin in range(PINS):
        if part_of(parts, pin):
            pins |= pin << 2 * n
            n += 1
    return pins, n


# One part ----------------------------------------------------------------------------------------


@rule
def terrain(s, player):
    """What the other players' pins mean for each pin, which no part of a seven changes.

    Walls are immune. Partners can be sent home only where landing on them is allowed anyway.
    """
    packed_terrain = 0
    for pin in range(PINS):
        place, run, barred = int(s.pins[player, pin]), SEVEN, 0
        if not on_ring(s, place):
            continue
        for owner in range(s.pins.shape[0]):
            if owner == player:
                continue
            if s.start_block and stands(s, owner, START):
                run = min(run, ahead_of(s, place, ring_place(s, owner, START, player)) - 1)
            if not s.friendly_fire and side(s, owner) == side(s, player):
                barred |= steps_onto(s, player, place, owner)
        packed_terrain |= (run | barred << 4) << TERRAIN_BITS * pin
    return packed_terrain


@rule
def ahead_of(s, place, other):
    """Steps on the ring from one place to another."""
    return other - place if other >= place else other - place + int(s.ring)


@rule
def steps_onto(s, player, place, owner):
    """The steps, 1 to 7, that end on a pin of another player: bits 0 to 6."""
    steps = 0
    for pin in range(PINS):
        there = int(s.pins[owner, pin])
        if on_ring(s, there):
            ahead = ahead_of(s, place, ring_place(s, owner, there, player))
            if 1 <= ahead <= SEVEN:
                steps |= 1 << ahead - 1
    return steps


@rule
def lane_is_free(s, places, start, to):
    for pin in range(PINS):
        place = at(places, pin)
        if place == to or (start < place < to and place > s.ring and not s.jumping):
            return False
    return True


@rule
def part_moved(s, places, ground, pin, steps):
    """Where the own pins are after one part, and how many ring cells it passed; or ILLEGAL.

    ground: the `terrain`.
    """
    ring, gate, place = int(s.ring), int(s.gate), at(places, pin)
    if place == HOME:
        return ILLEGAL, 0
    if place > ring:
        to = place + steps
        if to > ring + PINS or not lane_is_free(s, places, place, to):
            return ILLEGAL, 0
        return placed(places, pin, to), 0
    run = ground >> TERRAIN_BITS * pin & RUN
    if s.start_block and place != START and own_stands(places, START):
        run = min(run, ring - place)
    into, to, passed = place + steps - gate, place + steps, steps
    if 1 <= into <= PINS and gate - place <= run and lane_is_free(s, places, place, ring + into):
        to, passed = ring + into, gate - place
    else:
        if steps > run or (to > ring and not s.circular):
            return ILLEGAL, 0
        to = to - ring if to > ring else to
        friend = own_stands(places, to) or ground >> TERRAIN_BITS * pin + 3 + steps & 1
        if friend and not s.friendly_fire:
            return ILLEGAL, 0
    if s.friendly_fire:
        places = without_passed(s, places, place, passed)
    return placed(places, pin, to), passed


@rule
def own_stands(places, place):
    for pin in range(PINS):
        if at(places, pin) == place:
            return True
    return False


@rule
def without_passed(s, places, place, passed):
    """The own pins after those within `passed` cells ahead of a place have gone home."""
    for pin in range(PINS):
        there = at(places, pin)
        if on_ring(s, there) and 1 <= ahead_of(s, place, there) <= passed:
            places = placed(places, pin, HOME)
    return places


# All parts ---------------------------------------------------------------------------------------


@rule
def some_order_works(s, places, ground, parts):
    pins, n = moving(parts)
    for order in range(ORDER_COUNT[n]):
        tried = places
        for i in range(n):
            pin = pins >> 2 * int(ORDERS[n, order, i]) & 3
            tried, _ = part_moved(s, tried, ground, pin, part_of(parts, pin))
            if tried == ILLEGAL:
                break
        if tried != ILLEGAL:
            return True
    return False


@rule
def first_steps(s, places, ground):
    """The steps that each pin can go if it moves first, and which it could go at best.

    Two sets with eight bits per pin; bit 0, to stay, is always in both.
    """
    now, ever, ring = 0, 0, int(s.ring)
    for pin in range(PINS):
        place, can, could = at(places, pin), 1, 1
        run = ground >> TERRAIN_BITS * pin & RUN
        for steps in range(1, SEVEN + 1 if place != HOME else 1):
            if part_moved(s, places, ground, pin, steps)[0] != ILLEGAL:
                can |= 1 << steps
                could |= 1 << steps
            elif place > ring:
                could |= (1 if place + steps <= ring + PINS else 0) << steps
            elif steps <= run or 1 <= place + steps - int(s.gate) <= PINS:
                could |= 1 << steps
        now |= can << SET_BITS * pin
        ever |= could << SET_BITS * pin
    return now, ever


@rule
def can_meet(s, places):
    """Whether parts of a seven can get in each other's way."""
    near_lane = 0
    for pin in range(PINS):
        place = at(places, pin)
        near_lane += 1 if place + SEVEN > s.gate and place != HOME else 0
        for other in range(pin + 1, PINS if on_ring(s, place) else 0):
            there = at(places, other)
            if on_ring(s, there):
                ahead = ahead_of(s, place, there)
                if ahead <= SEVEN or int(s.ring) - ahead <= SEVEN:
                    return True
    return near_lane > 1


@rule
def fits(steps, parts):
    """Whether every part is in the set of its pin's steps."""
    for pin in range(PINS):
        if not steps >> SET_BITS * pin + part_of(parts, pin) & 1:
            return False
    return True


@rule
def list_sevens(s, player, first, only_attacks, out, n):
    """Write the legal distributions behind the first `n` actions; returns how many there are."""
    places, ground = packed(s, player), terrain(s, player)
    now, ever = first_steps(s, places, ground)
    meet, movable = can_meet(s, places), 0
    for pin in range(PINS):
        movable |= (1 if ever >> SET_BITS * pin & 254 else 0) << pin
    for i in range(FITTING_COUNT[movable]):
        number = int(FITTING[movable, i])
        parts = int(PARTS[number])
        if meet:
            legal = fits(ever, parts) and some_order_works(s, places, ground, parts)
        else:
            legal = fits(now, parts)
        if legal and (not only_attacks or attacks_with(s, player, parts)):
            out[n] = first + number
            n += 1
    return n


# What becomes of it ------------------------------------------------------------------------------


@rule
def passed_pins(s, player, place, passed, owner):
    """The pins of another player within `passed` cells ahead of a place: a bit per pin."""
    met = 0
    for pin in range(PINS):
        there = int(s.pins[owner, pin])
        ahead = ahead_of(s, place, ring_place(s, owner, there, player))
        if on_ring(s, there) and 1 <= ahead <= passed:
            met |= 1 << pin
    return met


@rule
def cost(s, player, ground, parts, order):
    """What ranks orders: friends sent home, then own pins outside the lane; ILLEGAL if it fails."""
    pins, n = moving(parts)
    places, partners = packed(s, player), 0
    other = partner(s, player)
    for i in range(n):
        pin = pins >> 2 * int(ORDERS[n, order, i]) & 3
        place = at(places, pin)
        places, passed = part_moved(s, places, ground, pin, part_of(parts, pin))
        if places == ILLEGAL:
            return ILLEGAL
        if s.friendly_fire and other != player:
            partners |= passed_pins(s, player, place, passed, other)
    friends, outside = 0, 0
    for pin in range(PINS):
        friends += partners >> pin & 1
        friends += 1 if at(places, pin) == HOME and s.pins[player, pin] != HOME else 0
        outside += 1 if at(places, pin) <= s.ring else 0
    return (PINS + 1) * friends + outside


@rule
def best_order(s, player, ground, parts):
    """The order that a seven is carried out in; the first of those that rank equal."""
    _, n = moving(parts)
    best, least = 0, ILLEGAL
    for order in range(ORDER_COUNT[n]):
        rank = cost(s, player, ground, parts, order)
        if rank != ILLEGAL and (least == ILLEGAL or rank < least):
            best, least = order, rank
    return best


@rule
def attacks_with(s, player, parts):
    """Whether a legal distribution sends a foe home."""
    ground = terrain(s, player)
    pins, n = moving(parts)
    order, places = best_order(s, player, ground, parts), packed(s, player)
    for i in range(n):
        pin = pins >> 2 * int(ORDERS[n, order, i]) & 3
        place = at(places, pin)
        places, passed = part_moved(s, places, ground, pin, part_of(parts, pin))
        for owner in range(s.pins.shape[0]):
            met = passed_pins(s, player, place, passed, owner)
            if met and side(s, owner) != side(s, player):
                return True
    return False


@rule
def play_seven(s, player, number):
    """Carry out a legal distribution."""
    parts, ground = int(PARTS[number]), terrain(s, player)
    pins, n = moving(parts)
    order = best_order(s, player, ground, parts)
    for i in range(n):
        pin = pins >> 2 * int(ORDERS[n, order, i]) & 3
        place = int(s.pins[player, pin])
        places, passed = part_moved(s, packed(s, player), ground, pin, part_of(parts, pin))
        for owner in range(s.pins.shape[0]):
            if s.friendly_fire or side(s, owner) != side(s, player):
                met = passed_pins(s, player, place, passed, owner)
                for k in range(PINS):
                    if met >> k & 1:
                        s.pins[owner, k] = HOME
        s.pins[player, pin] = at(places, pin)
