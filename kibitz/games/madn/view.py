"""What networks see: planes of cells, or the same with every constant plane as one number.

Everything is turned so that the seat's own start field is cell 0 of the ring; the goal lanes
follow, its own first and then round the table.
"""

from __future__ import annotations

import numpy as np

from ...game import layout, room, rule
from ...records import RecordType
from .board import DIE, EXCHANGE, HOME, PINS, controlled, ring_place, side
from .knowledge import sees_hand
from .options import KINDS, LANE, MadnOptions
from .rules import FACES

# Rows of cells: pins by player, next one first; single pins of the player whose pins the seat
# moves; all pins of friends; all pins of foes.
MORE_ROWS = PINS + 2


def number_count(players: int, with_cards: bool) -> int:
    """Numbers of a position beside its cells: what is constant over a plane."""
    shared = 2 * players + 1
    return shared + (17 * players + 2 * KINDS + 2 if with_cards else FACES + FACES * players)


def view(options: MadnOptions) -> RecordType:
    """The compact view, which is the default one: 907 numbers for DOG."""
    players = options.num_players
    return layout(
        ("cells", (players + MORE_ROWS, options.cells)),
        ("numbers", number_count(players, options.enable_cards)),
    )


def planes(options: MadnOptions) -> RecordType:
    """Planes only: 25 x 56 for MADN, 43 x 56 for dMADN, 117 x 80 for DOG."""
    players = options.num_players
    constant = number_count(players, options.enable_cards)
    if not options.enable_cards:  # the numbers of the die and of the stocks are not both needed
        constant -= FACES * players if options.enable_dice else FACES
    return layout(("cells", (players + MORE_ROWS + constant, options.cells)))


room_for_numbers = room(
    np.float32, lambda game: number_count(game.seats, "hands" in (game.state.names or ()))
)


# Cells -------------------------------------------------------------------------------------------


@rule
def cell_seen(s, seat, owner, place):
    """The cell of a pin that is not at home, as a seat sees the board."""
    if place <= s.ring:
        return ring_place(s, owner, place, seat) - 1
    players = s.pins.shape[0]
    return LANE * ((owner - seat + players) % players) + place - 1


@rule
def show_cells(s, seat, view):
    """Write the first rows, which have pins. All views have rows of cells."""
    players, rows = s.pins.shape[0], view.cells
    for row in range(players + MORE_ROWS):
        for cell in range(rows.shape[1]):
            rows[row, cell] = 0
    moved = controlled(s, seat)
    for owner in range(players):
        team_row = players + PINS + (0 if side(s, owner) == side(s, seat) else 1)
        for pin in range(PINS):
            place = int(s.pins[owner, pin])
            if place != HOME:
                cell = cell_seen(s, seat, owner, place)
                rows[(owner - seat + players) % players, cell] = 1
                rows[team_row, cell] = 1
                if owner == moved:
                    rows[players + pin, cell] = 1


# Numbers -----------------------------------------------------------------------------------------


@rule
def write_shared(s, seat, out):
    """Pins at home by player, whether the seat moves its partner's pins, and which seat it is."""
    players = s.pins.shape[0]
    for k in range(players):
        at_home = 0
        for pin in range(PINS):
            at_home += 1 if s.pins[(seat + k) % players, pin] == HOME else 0
        out[k] = at_home / PINS
        out[players + 1 + k] = 1 if k == seat else 0
    out[players] = 1 if controlled(s, seat) != seat else 0
    return 2 * players + 1


@rule
def write_steps(s, seat, out):
    """Without cards: the die, one-hot, and the stocks by player."""
    players, n = s.pins.shape[0], write_shared(s, seat, out)
    for face in range(FACES):
        out[n + face] = 1 if s.die == face + 1 else 0
    n += FACES
    for k in range(players):
        for value in range(FACES):
            out[n] = int(s.stock[(seat + k) % players, value]) / 4
            n += 1


@rule
def write_cards(s, seat, out):
    """Hands, which hands are shown, how many cards, cards played, the gift, and the round."""
    players, n = s.pins.shape[0], write_shared(s, seat, out)
    for k in range(players):
        who = (seat + k) % players
        seen = sees_hand(s, seat, who)
        for kind in range(KINDS):
            out[n + KINDS * k + kind] = int(s.hands[who, kind]) / 6 if seen else 0
        out[n + KINDS * players + k] = 1 if seen else 0
        out[n + (KINDS + 1) * players + k] = int(s.held[who]) / 6
    n += (KINDS + 2) * players
    for kind in range(KINDS):
        out[n + kind] = int(s.played[kind]) / 8
        out[n + KINDS + kind] = 1 if s.given[seat] == kind else 0
    n += 2 * KINDS
    for k in range(players):
        out[n + k] = 1 if (seat + k) % players == s.round_starter else 0
    out[n + players] = 1 if s.phase == EXCHANGE else 0
    out[n + players + 1] = int(s.dealt_size) / 6


@rule
def fill(rows, first, numbers, begin, end):
    """Write numbers as constant planes."""
    for i in range(begin, end):
        for cell in range(rows.shape[1]):
            rows[first + i - begin, cell] = numbers[i]


# Views -------------------------------------------------------------------------------------------


@rule
def observe_steps(s, seat, view):
    numbers = room_for_numbers(s)
    show_cells(s, seat, view)
    write_steps(s, seat, numbers)
    for i in range(numbers.shape[0]):
        view.numbers[i] = numbers[i]


@rule
def observe_cards(s, seat, view):
    numbers = room_for_numbers(s)
    show_cells(s, seat, view)
    write_cards(s, seat, numbers)
    for i in range(numbers.shape[0]):
        view.numbers[i] = numbers[i]


@rule
def observe_step_planes(s, seat, view):
    players = s.pins.shape[0]
    numbers, first, shared = room_for_numbers(s), players + MORE_ROWS, 2 * players + 1
    show_cells(s, seat, view)
    write_steps(s, seat, numbers)
    fill(view.cells, first, numbers, 0, shared)
    begin = shared if s.mode == DIE else shared + FACES
    end = shared + FACES if s.mode == DIE else shared + FACES + FACES * players
    fill(view.cells, first + shared, numbers, begin, end)


@rule
def observe_card_planes(s, seat, view):
    numbers = room_for_numbers(s)
    show_cells(s, seat, view)
    write_cards(s, seat, numbers)
    fill(view.cells, s.pins.shape[0] + MORE_ROWS, numbers, 0, numbers.shape[0])
