"""Positions of Escampe in plain Python: reading them, their moves, and what BandDPER sees.

>>> position = read_position("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
>>> sorted(landings(position, WHITE))[:3], escapes(position, WHITE)
([6, 13, 23], 3)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

SIDE = 6
CELLS = SIDE * SIDE
# By cell, A1 to F1, then A2 and so on: a piece moves as many steps as the band of its cell.
BAND_MAP = (
    (1, 2, 2, 3, 1, 2),
    (3, 1, 3, 1, 3, 2),
    (2, 3, 1, 2, 1, 3),
    (2, 1, 3, 2, 3, 1),
    (1, 3, 1, 3, 1, 2),
    (3, 2, 2, 1, 3, 2),
)
BANDS = tuple(band for row in BAND_MAP for band in row)
WHITE, BLACK = 0, 1
COLOURS = ("white", "black")
PALADINS = 5
LETTERS = (("B", "b"), ("N", "n"))  # unicorn and paladin, by colour

EMPTY, REACH = "banddper-16-empty", "banddper-16-reach"
ENCODINGS = (EMPTY, REACH)
PLANES = 16
PERSPECTIVE = PLANES * CELLS  # numbers that one side sees
VIEW_SIZE = 2 * PERSPECTIVE + 3  # both sides, two escapes, forced pass
MOST_ESCAPES = 16
CENTRE = 2  # row and column that my unicorn is moved to in the last plane


class PortableError(ValueError):
    """A position or a file that cannot be used; the message says which part and why."""


class Position(NamedTuple):
    """A position in which both unicorns stand. It is also the key of a cache."""

    paladins: tuple[int, int]
    """By colour: bit i is cell i."""
    unicorns: tuple[int, int]
    """By colour: a cell."""
    to_move: int
    """WHITE or BLACK."""
    band: int
    """Of the cells that the side to move must move from; 0 for any."""

    def pieces(self, colour: int) -> int:
        """The cells of one colour, as bits."""
        return self.paladins[colour] | 1 << self.unicorns[colour]


class Writable(Protocol):
    """A list or an array of numbers."""

    def __setitem__(self, place: int, number: float, /) -> None: ...


def read_position(text: str) -> Position:
    """The position of a line such as `nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2`."""
    parts = text.split()
    if len(parts) != 3:
        raise PortableError(f"{text.strip()[:60]!r}: a position is a board, a side and a band")
    board, side, band = parts
    rows = board.split("/")
    if len(rows) != SIDE:
        raise PortableError(f"{board[:60]!r}: a board has {SIDE} rows, not {len(rows)}")
    for number, row in enumerate(rows, 1):
        _check_row(number, row)
    if side.lower() not in ("w", "b"):
        raise PortableError(f"the side to move is w or b, not {side[:20]!r}")
    if band not in ("0", "1", "2", "3"):
        raise PortableError(f"the required band is 0, 1, 2 or 3, not {band[:20]!r}")
    white, black = (_standing(colour, "".join(rows)) for colour in (WHITE, BLACK))
    paladins, unicorns = zip(white, black, strict=True)
    return Position(paladins, unicorns, WHITE if side.lower() == "w" else BLACK, int(band))


def _check_row(number: int, row: str) -> None:
    if len(row) != SIDE:
        raise PortableError(f"row {number} has {len(row)} cells, not {SIDE}")
    for letter in row:
        if letter not in "-BbNn":
            raise PortableError(f"row {number} has the character {letter!r}; there are - B b N n")


def _standing(colour: int, board: str) -> tuple[int, int]:
    """The paladins of one colour, as bits, and the cell of its unicorn."""
    unicorn, paladin = LETTERS[colour]
    for kind, letter, wanted in (("unicorns", unicorn, 1), ("paladins", paladin, PALADINS)):
        if (count := board.count(letter)) != wanted:
            raise PortableError(f"{COLOURS[colour]} has {count} {kind}, not {wanted}")
    paladins = sum(1 << cell for cell, letter in enumerate(board) if letter == paladin)
    return paladins, board.index(unicorn)


# Moves ------------------------------------------------------------------------------------------


def _paths(cell: int, steps: int, passed: int) -> Iterator[tuple[int, int]]:
    """Ends of all paths from a cell that visit no cell twice, with the cells passed, as bits."""
    row, column = divmod(cell, SIDE)
    for down, right in ((-1, 0), (0, -1), (0, 1), (1, 0)):
        to = cell + SIDE * down + right
        inside = 0 <= row + down < SIDE and 0 <= column + right < SIDE
        if not inside or passed >> to & 1:
            continue
        if steps == 1:
            yield to, passed
        else:
            yield from _paths(to, steps - 1, passed | 1 << to)


def _paths_from(start: int) -> tuple[tuple[int, int], ...]:
    """End cell and cells in between, as bits, of every path of the length that a cell asks for."""
    paths = _paths(start, BANDS[start], 1 << start)
    return tuple(sorted({(end, passed & ~(1 << start)) for end, passed in paths}))


PATHS = tuple(map(_paths_from, range(CELLS)))


def cells_of(bits: int) -> list[int]:
    return [cell for cell in range(CELLS) if bits >> cell & 1]


def reached(start: int, occupied: int) -> set[int]:
    """Cells at the end of a free path; a piece may stand on them."""
    return {end for end, between in PATHS[start] if not between & occupied}


def landings(position: Position, colour: int) -> set[int]:
    """Cells on which some legal move of a colour ends, under the band of the position."""
    occupied = position.pieces(WHITE) | position.pieces(BLACK)
    unicorn, target = position.unicorns[colour], position.unicorns[1 - colour]
    found = set()
    for start in movable(position, colour):
        for end in reached(start, occupied):
            if not occupied >> end & 1 or (end == target and start != unicorn):
                found.add(end)
    return found


def movable(position: Position, colour: int) -> list[int]:
    """Pieces of a colour that stand on the required band: all of them if it is 0."""
    own = cells_of(position.pieces(colour))
    return [cell for cell in own if position.band in (0, BANDS[cell])]


def escapes(position: Position, colour: int) -> int:
    """How many empty cells a unicorn can reach, whatever band is required."""
    occupied = position.pieces(WHITE) | position.pieces(BLACK)
    ends = reached(position.unicorns[colour], occupied)
    return sum(1 for end in ends if not occupied >> end & 1)


# What the network sees --------------------------------------------------------------------------


def write_view(position: Position, encoding: str, out: Writable) -> None:
    """Write both perspectives, the side to move first, then escapes and forced pass.

    out: VIEW_SIZE numbers, in the order of the network's inputs.
    """
    me = position.to_move
    for place in range(2 * PERSPECTIVE):
        out[place] = 0.0
    write_planes(position, me, encoding, out, 0)
    write_planes(position, 1 - me, encoding, out, PERSPECTIVE)
    out[2 * PERSPECTIVE] = escapes(position, me) / MOST_ESCAPES
    out[2 * PERSPECTIVE + 1] = escapes(position, 1 - me) / MOST_ESCAPES
    out[2 * PERSPECTIVE + 2] = 0.0 if landings(position, me) else 1.0


def write_planes(position: Position, me: int, encoding: str, out: Writable, first: int) -> None:
    """Write the 16 planes that one colour sees to `first` and after. They must be zero before."""
    other = 1 - me
    mine, theirs = (cells_of(position.paladins[colour]) for colour in (me, other))
    unicorn = position.unicorns[me]
    planes = [mine, [unicorn], theirs, [position.unicorns[other]]]
    planes += [[cell for cell in range(CELLS) if BANDS[cell] == band] for band in (1, 2, 3)]
    planes.append(movable(position, me))
    ends = _landing_cells(position, me, encoding)
    planes += [[cell for cell in ends if BANDS[cell] == band] for band in (1, 2, 3)]
    for plane, cells in enumerate(planes):
        for cell in cells:
            out[first + plane * CELLS + cell] = 1.0
    for plane, colour in ((11, me), (12, other)):
        _write_shares(cells_of(position.pieces(colour)), out, first + plane * CELLS)
    for cell in theirs:
        row, column = cell // SIDE - unicorn // SIDE, cell % SIDE - unicorn % SIDE
        row, column = row + CENTRE, column + CENTRE
        if 0 <= row < SIDE and 0 <= column < SIDE:
            out[first + 15 * CELLS + row * SIDE + column] = 1.0


def _landing_cells(position: Position, colour: int, encoding: str) -> list[int]:
    if encoding == REACH:
        return sorted(landings(position, colour))
    return cells_of(~(position.pieces(WHITE) | position.pieces(BLACK)))


def _write_shares(pieces: list[int], out: Writable, first: int) -> None:
    """Pieces in each row divided by six and, two planes later, in each column."""
    rows, columns = [0] * SIDE, [0] * SIDE
    for cell in pieces:
        rows[cell // SIDE] += 1
        columns[cell % SIDE] += 1
    for cell in range(CELLS):
        out[first + cell] = rows[cell // SIDE] / SIDE
        out[first + 2 * CELLS + cell] = columns[cell % SIDE] / SIDE
