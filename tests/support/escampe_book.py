"""Escampe by the book: legal moves and encodings, written a second time and plainly.

No sets of cells and no tables: a board is a dictionary from (row, column) to a letter.
"""

from __future__ import annotations

import numpy as np

from kibitz.games import load

GAME = load("escampe")
RULES = load("escampe", preset="rules")
BANDS = ["122312", "313132", "231213", "213231", "131312", "322132"]
START = "bb----/-Bb-bb/------/------/-n-n-n/n-N-n- w 0"
MID = "nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2"
MINE = {0: "bB", 1: "nN"}  # by side: paladin, unicorn


def one_line(case):
    """The one-line notation of a position of the oracles."""
    return f"{'/'.join(case['board'])} {case['to_move'][0]} {case['required_band']}"


def swapped(notation):
    """The same position with the colours of all pieces and the side to move exchanged."""
    board, side, band = notation.split()
    return f"{board.translate(str.maketrans('bnBN', 'nbNB'))} {'wb'[side == 'w']} {band}"


def board_of(notation):
    board, side, band = notation.split()
    rows = board.split("/")
    cells = {(r, c): rows[r][c] for r in range(6) for c in range(6)}
    return cells, "wb".index(side), int(band)


def rings(cell):
    return int(BANDS[cell[0]][cell[1]])


def name(cell):
    return f"{'ABCDEF'[cell[1]]}{cell[0] + 1}"


def paths(start):
    """All self-avoiding walks from a cell, as long as it has rings."""
    walks = [[start]]
    for _ in range(rings(start)):
        walks = [
            [*walk, (r, c)] for walk in walks for r, c in neighbours(walk[-1]) if (r, c) not in walk
        ]
    return walks


def neighbours(cell):
    r, c = cell
    near = [(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]
    return [(a, b) for a, b in near if 0 <= a < 6 and 0 <= b < 6]


def reached(cells, start, allowed):
    """The ends of all open paths from a cell that hold one of the letters."""
    return {
        walk[-1]
        for walk in paths(start)
        if all(cells[step] == "-" for step in walk[1:-1]) and cells[walk[-1]] in allowed
    }


def legal_by_the_book(notation):
    cells, side, band = board_of(notation)
    moves = moves_of(cells, side, band)
    return sorted(f"{name(start)}-{name(end)}" for start, end in moves) or ["E"]


def moves_of(cells, side, band):
    paladin, unicorn = MINE[side]
    prey = MINE[1 - side][1]
    return [
        (start, end)
        for start, letter in cells.items()
        if letter in (paladin, unicorn) and band in (0, rings(start))
        for end in reached(cells, start, "-" if letter == unicorn else "-" + prey)
    ]


def encoded_by_the_book(notation, side, reach=False):
    """The sixteen planes of section 5, seen from a side."""
    cells, _, band = board_of(notation)
    (paladin, unicorn), (enemy, enemy_unicorn) = MINE[side], MINE[1 - side]
    mine, theirs = {paladin, unicorn}, {enemy, enemy_unicorn}
    ends = {end for _, end in moves_of(cells, side, band)}
    landing = ends if reach else {cell for cell, letter in cells.items() if letter == "-"}
    home = next((cell for cell, letter in cells.items() if letter == unicorn), None)
    planes = np.zeros((16, 6, 6), np.float32)
    for cell, letter in cells.items():
        r, c = cell
        for channel, wanted in enumerate((paladin, unicorn, enemy, enemy_unicorn)):
            planes[channel][cell] = letter == wanted
        planes[3 + rings(cell)][cell] = 1
        planes[7][cell] = letter in mine and band in (0, rings(cell))
        planes[7 + rings(cell)][cell] = cell in landing
        for channel, owned in ((11, mine), (12, theirs)):
            planes[channel][cell] = sum(cells[r, k] in owned for k in range(6)) / 6
            planes[channel + 2][cell] = sum(cells[k, c] in owned for k in range(6)) / 6
        if home and letter == enemy:
            at = r + 2 - home[0], c + 2 - home[1]
            if 0 <= at[0] < 6 and 0 <= at[1] < 6:
                planes[15][at] = 1
    return planes


def escapes_by_the_book(notation, side):
    cells, _, _ = board_of(notation)
    home = next(cell for cell, letter in cells.items() if letter == MINE[side][1])
    return len(reached(cells, home, "-"))
