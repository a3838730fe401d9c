"""Positions of Escampe in data files: sets of cells, cells, the required band, the side to move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...notation import Column, Numbers, PositionColumns
from .board import BAND_KEY, BLACK, BLACK_KEY, BOARD, CELLS, PASS, PIECE_KEY, WHITE
from .rules import ALL_PLACED, PIECES, UNICORN_KEY

COLOURS = ("white", "black")
BY_NAME = {
    "white_paladins": Column(
        np.int64, "cells of White's five paladins; bit i is cell i, A1 = 0, B1 = 1, ..., F6 = 35"
    ),
    "black_paladins": Column(np.int64, "cells of Black's five paladins, bit by bit"),
    "white_unicorn": Column(np.int8, "cell of White's unicorn, 0 to 35"),
    "black_unicorn": Column(np.int8, "cell of Black's unicorn, 0 to 35"),
    "required_band": Column(
        np.int8, "rings of the cells that the side to move must move from, 1 to 3; 0 for any"
    ),
    "white_to_move": Column(np.bool_, "whether White is to move"),
}


def write(states: NDArray[np.void]) -> Numbers:
    sides = {
        f"{colour}_{piece}": states[field][:, side]
        for piece, field in (("paladins", "paladins"), ("unicorn", "unicorn"))
        for side, colour in enumerate(COLOURS)
    }
    return {**sides, "required_band": states["band"], "white_to_move": states["mover"] == WHITE}


def read(columns: Numbers, states: NDArray[np.void]) -> None:
    for side, colour in enumerate(COLOURS):
        states["paladins"][:, side] = columns[f"{colour}_paladins"]
        states["unicorn"][:, side] = columns[f"{colour}_unicorn"]
    states["band"] = columns["required_band"]
    states["mover"] = np.where(columns["white_to_move"], WHITE, BLACK)
    states["placed"] = ALL_PLACED
    states["hash"] = hashes(states)


def hashes(states: NDArray[np.void]) -> NDArray[np.uint64]:
    hashed: NDArray[np.uint64] = BAND_KEY[states["band"]] ^ np.where(
        states["mover"] == BLACK, BLACK_KEY, 0
    )
    for side in range(2):
        hashed ^= PIECE_KEY[UNICORN_KEY + side, states["unicorn"][:, side]]
        for cell in range(CELLS):
            there = states["paladins"][:, side] >> cell & 1
            hashed ^= np.where(there, PIECE_KEY[side, cell], 0)
    return hashed


def problems(columns: Numbers) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    cells = np.zeros(len(columns["required_band"]), np.int64)
    for colour in COLOURS:
        paladins, unicorn = columns[f"{colour}_paladins"], columns[f"{colour}_unicorn"]
        yield f"{colour}_paladins has a bit above {CELLS - 1}", (paladins & ~BOARD) != 0
        yield (
            f"{colour}_paladins does not have {PIECES - 1} cells",
            np.bitwise_count(paladins & BOARD) != PIECES - 1,
        )
        yield (
            f"{colour}_unicorn is not a cell from 0 to {CELLS - 1}",
            (unicorn < 0) | (unicorn >= CELLS),
        )
        cells |= paladins & BOARD | np.int64(1) << np.clip(unicorn, 0, CELLS - 1).astype(np.int64)
    yield "two pieces stand on one cell", np.bitwise_count(cells) != ALL_PLACED
    band = columns["required_band"]
    yield "required_band is not 0, 1, 2 or 3", (band < 0) | (band > 3)


def must_pass(legal: NDArray[np.int16]) -> NDArray[np.bool_]:
    return np.asarray(legal[:, 0] == PASS)


COLUMNS = PositionColumns(BY_NAME, write, read, problems, groups={"forced pass": must_pass})
