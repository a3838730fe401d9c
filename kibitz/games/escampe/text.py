"""What people read and write of Escampe."""

from __future__ import annotations

from .board import BAND_KEY, BLACK, BLACK_KEY, CELLS, NOWHERE, PIECE_KEY, WHITE

LETTERS = "bnBN"  # white, black paladin; white, black unicorn: blanc and noir


def parse(s, notation):
    rows, side, band = notation.split()
    cells = rows.replace("/", "")
    s.paladins[:] = 0
    s.unicorn[:] = NOWHERE
    for cell, letter in enumerate(cells):
        kind = LETTERS.find(letter)
        if kind in (0, 1):
            s.paladins[kind] |= 1 << cell
        elif kind > 1:
            s.unicorn[kind - 2] = cell
    s.mover = "wb".index(side)
    s.band = s.first_band = int(band)
    s.placed = sum(letter != "-" for letter in cells)
    s.hash = hashed(s)


def hashed(s):
    key = int(BAND_KEY[s.band])
    if s.mover == BLACK:
        key ^= int(BLACK_KEY)
    for side in (WHITE, BLACK):
        for cell in range(CELLS):
            if s.paladins[side] >> cell & 1:
                key ^= int(PIECE_KEY[side, cell])
        if s.unicorn[side] != NOWHERE:
            key ^= int(PIECE_KEY[2 + side, s.unicorn[side]])
    return key
