"""A player of Escampe that needs no learning."""

from __future__ import annotations

from ...chance import below
from ...game import room_for_actions, rule
from .board import (
    BAND,
    BOARD,
    END,
    NOWHERE,
    ON_BAND,
    PASS,
    PLACE,
    SIDE,
    START,
    count,
    landing_cells,
    lowest,
    set_of,
)
from .rules import ALL_PLACED, actions, beyond, free_cells, pieces, to_come

ATTEMPTS = 50  # at drawing paladins that cover all bands; one in two does
# Cells of rows 2 and 5 that a paladin on the opposite edge reaches in three steps ahead: a unicorn
# there can be taken with the first move.
EXPOSED = sum(1 << c for c in range(SIDE, 2 * SIDE) if BAND[c + 3 * SIDE] == 3)
EXPOSED |= sum(1 << c for c in range(4 * SIDE, 5 * SIDE) if BAND[c - 3 * SIDE] == 3)


@rule
def greedy(s, seat, rng):
    """Takes the unicorn if it can; else avoids moves that let its own be taken; else at random."""
    if s.placed < ALL_PLACED:
        return PLACE + cell_to_place_on(s, rng)
    legal = room_for_actions(s)
    best, safest, equals = PASS, -1, 0
    for i in range(actions(s, legal)):
        action = int(legal[i])
        if action != PASS and END[action] == s.unicorn[1 - seat]:
            return action
        safe = 0 if action == PASS or leaves_unicorn_to_be_taken(s, seat, action) else 1
        if safe > safest:
            best, safest, equals = action, safe, 1
        elif safe == safest:
            equals += 1
            if below(rng, equals) == 0:
                best = action
    return best


@rule
def leaves_unicorn_to_be_taken(s, seat, action):
    """Whether the other side can take the unicorn after a move of this seat."""
    start, end = int(START[action]), int(END[action])
    unicorn = end if s.unicorn[seat] == start else int(s.unicorn[seat])
    occupied = pieces(s, 0) | pieces(s, 1)
    empty = BOARD & ~(occupied ^ (set_of(start) | set_of(end)))
    hunters, prey = int(s.paladins[1 - seat]), set_of(unicorn)
    return landing_cells(hunters, NOWHERE, int(BAND[end]), empty, prey) & prey != 0


# Placing: any placement that covers all bands, with the unicorn out of sight ---------------------


@rule
def cell_to_place_on(s, rng):
    if s.unicorn[s.mover] == NOWHERE:
        cells = free_cells(s) & ~EXPOSED
        for _ in range(below(rng, count(cells))):
            cells &= cells - 1
        return lowest(cells)
    drawn = paladins_to_come(s, rng)
    for _ in range(ATTEMPTS):
        if covers_all_bands(drawn | pieces(s, int(s.mover))):
            break
        drawn = paladins_to_come(s, rng)
    return lowest(drawn)


@rule
def paladins_to_come(s, rng):
    """Cells for all paladins that are not placed yet; every such set is equally likely."""
    free, left, drawn = beyond(s), to_come(s) + 1, 0
    while left:
        if below(rng, count(free)) < left:
            drawn |= free & -free
            left -= 1
        free &= free - 1
    return drawn


@rule
def covers_all_bands(cells):
    for band in range(1, 4):
        if cells & int(ON_BAND[band]) == 0:
            return False
    return True
