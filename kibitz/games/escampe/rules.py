"""The rules of Escampe, in the order they happen at the table: placing, moving, the end."""

from __future__ import annotations

import numpy as np

from ...chance import below, mix
from ...game import CHANCE, OVER, record, rule
from ...records import RecordType
from .board import (
    BAND,
    BAND_KEY,
    BLACK,
    BLACK_KEY,
    BOARD,
    END,
    HIGH_EDGE,
    LOW_EDGE,
    MOVE,
    NOWHERE,
    ON_BAND,
    PASS,
    PIECE_KEY,
    PLACE,
    SIDE,
    START,
    WHITE,
    count,
    ends,
    lowest,
    set_of,
)
from .fair_pairs import FAIR_PAIRS
from .options import CHOSEN, FAIR, EscampeOptions
from .placements import CHOOSE, EDGE_PLACEMENTS, WHITE_PLACEMENTS, placement

PIECES = 6  # of a side: a unicorn and five paladins
ALL_PLACED = 2 * PIECES
UNICORN_KEY = 2  # the first row of PIECE_KEY that belongs to unicorns


def state(options: EscampeOptions) -> RecordType:
    """The record. Without adjudication nothing remembers how a position came about.

    It then holds one move that is never written: a record has the same fields under all options.
    """
    return record(
        "escampe",
        ("paladins", np.int64, 2),  # by side: a set of cells
        ("hash", np.uint64),
        ("unicorn", np.int8, 2),  # by side: a cell, or NOWHERE
        ("mover", np.int8),  # the side to move or to place
        ("band", np.int8),  # the band that the mover must start from; 0 for any
        ("placed", np.int8),  # pieces placed so far; Black's come first
        ("placing", np.int8),
        ("moves", np.uint8, options.max_plies if options.adjudication else 1),  # since the start
        ("ply", np.int16),  # how many moves that are
        ("first_band", np.int8),  # the band required at the start, 0 unless a position was set up
        ("occurrences", np.int8),  # how often this position has been there, this time included
        ("drawn", np.int8),  # 1: the game was drawn
    )


@rule
def start(s, options):
    for side in range(2):
        s.paladins[side] = 0
        s.unicorn[side] = NOWHERE
    for i in range(s.moves.shape[0]):
        s.moves[i] = 0
    s.hash = BLACK_KEY
    s.mover = BLACK
    s.band = s.first_band = 0
    s.placed = 0
    s.placing = options.placing
    s.ply = 0
    s.occurrences = 1
    s.drawn = 0


@rule
def turn(s):
    if s.placed < ALL_PLACED:
        return int(s.mover) if s.placing == CHOSEN else CHANCE
    if s.drawn or s.unicorn[0] == NOWHERE or s.unicorn[1] == NOWHERE:
        return OVER
    return int(s.mover)


@rule
def actions(s, out):
    if s.placed < ALL_PLACED:
        return listed(free_cells(s), PLACE, out)
    n = legal_moves(s, int(s.mover), int(s.band), out)
    if n == 0:
        out[0] = PASS
        n = 1
    return n


@rule
def count_actions(s):
    """How many actions there are, without listing them."""
    if s.placed < ALL_PLACED:
        return count(free_cells(s))
    return max(1, count_moves(s, int(s.mover), int(s.band)))


@rule
def listed(cells, first, out):
    n = 0
    while cells:
        out[n] = first + lowest(cells)
        cells &= cells - 1
        n += 1
    return n


@rule
def play(s, action):
    if s.placed == ALL_PLACED:
        move(s, action)
        if s.moves.shape[0] > 1:
            adjudicate(s, action)
    elif s.placing == FAIR:
        place_numbered(s, int(FAIR_PAIRS[action]))
    else:
        place(s, action - PLACE if s.placing == CHOSEN else action)


@rule
def score(s, out):
    out[WHITE] = out[BLACK] = 0
    for side in range(2):
        if s.unicorn[side] == NOWHERE:
            out[side] = -1
            out[1 - side] = 1


# Placing: the unicorn, then the paladins in ascending order --------------------------------------


@rule
def edge(s):
    """The cells that the mover may place on. Black chooses its edge with its first piece."""
    if s.placed == 0:
        return LOW_EDGE | HIGH_EDGE
    black_is_low = LOW_EDGE >> int(s.unicorn[BLACK]) & 1
    return LOW_EDGE if black_is_low == (s.mover == BLACK) else HIGH_EDGE


@rule
def free_cells(s):
    """Where the next piece may go, so that the paladins after it find room beyond."""
    side = int(s.mover)
    if s.unicorn[side] == NOWHERE:
        return edge(s)
    free, kept = beyond(s), 0
    for _ in range(count(free) - to_come(s)):
        kept |= free & -free
        free &= free - 1
    return kept


@rule
def beyond(s):
    """The cells of the edge beyond the mover's last paladin, without its unicorn's."""
    side = int(s.mover)
    free, last = edge(s) & ~(1 << int(s.unicorn[side])), int(s.paladins[side])
    while free and free & -free <= last:
        free &= free - 1
    return free


@rule
def to_come(s):
    """How many paladins the mover has to place after the next one."""
    return PIECES - 1 - int(s.placed) % PIECES


@rule
def place(s, cell):
    side = int(s.mover)
    if s.unicorn[side] == NOWHERE:
        s.unicorn[side] = cell
        s.hash ^= PIECE_KEY[UNICORN_KEY + side, cell]
    else:
        s.paladins[side] |= set_of(cell)
        s.hash ^= PIECE_KEY[side, cell]
    s.placed += 1
    if s.placed == PIECES:
        s.mover = WHITE
        s.hash ^= BLACK_KEY


@rule
def place_numbered(s, pair):
    """Both placements at once: Black's number times White's count, plus White's number."""
    for index in (pair // WHITE_PLACEMENTS, pair % WHITE_PLACEMENTS):
        low = index < EDGE_PLACEMENTS if s.placed == 0 else edge(s) == LOW_EDGE
        unicorn, paladins = placement(index % EDGE_PLACEMENTS, 0 if low else 4 * SIDE)
        place(s, unicorn)
        while paladins:
            place(s, lowest(paladins))
            paladins &= paladins - 1


@rule
def odds(s, out):
    """Every placement is equally likely, however it is drawn."""
    for outcome in range(out.shape[0]):
        out[outcome] = 1.0 / out.shape[0] if s.placing == FAIR else 0.0
    if s.placing == FAIR or s.placed == ALL_PLACED:
        return
    cells = free_cells(s)
    places = count(cells)
    if s.unicorn[s.mover] != NOWHERE:
        cells = beyond(s)
        places = CHOOSE[count(cells), to_come(s) + 1]
    while cells:
        cell = lowest(cells)
        cells &= cells - 1
        ways = 1 if s.unicorn[s.mover] == NOWHERE else CHOOSE[count(cells), to_come(s)]
        out[cell] = ways / places


@rule
def roll(s, rng):
    if s.placing == FAIR:
        outcome = below(rng, FAIR_PAIRS.shape[0])
    elif s.unicorn[s.mover] == NOWHERE:
        cells = edge(s)
        for _ in range(below(rng, count(cells))):
            cells &= cells - 1
        outcome = lowest(cells)
    else:  # each cell in turn, with the chance that a set of so many paladins has it
        cells = beyond(s)
        while below(rng, count(cells)) > to_come(s):
            cells &= cells - 1
        outcome = lowest(cells)
    play(s, outcome)
    return outcome


# Moving ------------------------------------------------------------------------------------------


@rule
def pieces(s, side):
    return int(s.paladins[side]) | set_of(s.unicorn[side])


@rule
def legal_moves(s, side, band, out):
    """The moves of a side, required to start from a band, in ascending order; a pass is none."""
    empty = BOARD & ~(pieces(s, WHITE) | pieces(s, BLACK))
    starts = pieces(s, side) & int(ON_BAND[band])
    prey = 1 << int(s.unicorn[1 - side])  # only paladins take, and only the unicorn
    n = 0
    while starts:
        cell = lowest(starts)
        starts &= starts - 1
        targets = ends(cell, empty) & (empty if cell == s.unicorn[side] else empty | prey)
        while targets:
            out[n] = MOVE[cell, lowest(targets)]
            targets &= targets - 1
            n += 1
    return n


@rule
def count_moves(s, side, band):
    """How many moves a side has; 0 if it must pass."""
    empty = BOARD & ~(pieces(s, WHITE) | pieces(s, BLACK))
    starts = pieces(s, side) & int(ON_BAND[band])
    prey = 1 << int(s.unicorn[1 - side])
    n = 0
    while starts:
        cell = lowest(starts)
        starts &= starts - 1
        n += count(ends(cell, empty) & (empty if cell == s.unicorn[side] else empty | prey))
    return n


@rule
def move(s, action):
    side, band = int(s.mover), arrival_band(action)
    if action != PASS:
        cell, end = int(START[action]), int(END[action])
        if s.unicorn[side] == cell:
            s.unicorn[side] = end
            s.hash ^= PIECE_KEY[UNICORN_KEY + side, cell] ^ PIECE_KEY[UNICORN_KEY + side, end]
        else:
            s.paladins[side] ^= 1 << cell | 1 << end
            s.hash ^= PIECE_KEY[side, cell] ^ PIECE_KEY[side, end]
            if s.unicorn[1 - side] == end:
                s.unicorn[1 - side] = NOWHERE
                s.hash ^= PIECE_KEY[UNICORN_KEY + 1 - side, end]
    s.hash ^= BAND_KEY[s.band] ^ BAND_KEY[band] ^ BLACK_KEY
    s.band = band
    s.mover = 1 - side


# Adjudication: games that go round in circles ----------------------------------------------------


@rule
def adjudicate(s, action):
    """Write a move down that was played, and see whether the game is drawn."""
    s.moves[s.ply] = action
    s.ply += 1
    white, black = int(s.unicorn[WHITE]), int(s.unicorn[BLACK])
    s.occurrences = 1 + earlier(s, int(s.ply), s.hash, white, black)
    if white != NOWHERE and black != NOWHERE:
        s.drawn = is_drawn(s, int(s.ply), int(s.occurrences))


@rule
def is_drawn(s, ply, occurrences):
    """Whether a game without a winner is drawn after so many plies."""
    if occurrences == 3 or ply == s.moves.shape[0]:
        return 1
    return 1 if ply > 1 and s.moves[ply - 1] == PASS and s.moves[ply - 2] == PASS else 0


@rule
def earlier(s, plies, now, white, black):
    """How often the position after so many plies was there before.

    now: its hash; white, black: the cells of the unicorns.
    """
    hashed, found = now, 0
    for ply in range(plies - 1, -1, -1):
        hashed, white, black = taken_back(s, ply, hashed, white, black)
        found += hashed == now
    return found


@rule
def taken_back(s, ply, hashed, white, black):
    """The hash and the unicorns' cells before the move number `ply`, from those after it."""
    side, action = side_at(s, ply), int(s.moves[ply])
    hashed ^= BAND_KEY[band_at(s, ply)] ^ BAND_KEY[arrival_band(action)] ^ BLACK_KEY
    if action != PASS:
        cell, end, kind = int(START[action]), int(END[action]), side
        if end == (white if side == WHITE else black):
            kind += UNICORN_KEY
            white, black = (cell, black) if side == WHITE else (white, cell)
        hashed ^= PIECE_KEY[kind, cell] ^ PIECE_KEY[kind, end]
    return hashed, white, black


@rule
def side_at(s, ply):
    """The side that was to move after so many plies."""
    return (int(s.mover) + int(s.ply) - ply) % 2


@rule
def band_at(s, ply):
    """The band that was required after so many plies."""
    return int(s.first_band) if ply == 0 else arrival_band(int(s.moves[ply - 1]))


@rule
def arrival_band(action):
    """The band that a move or a pass requires of the other side."""
    return 0 if action == PASS else int(BAND[END[action]])


# What tells positions apart ----------------------------------------------------------------------


@rule
def key(s):
    """The position as far as its future goes."""
    return s.hash


@rule
def known(s, seat):
    return mix(s.hash, 4 * int(s.occurrences) + seat) | np.uint64(1)
