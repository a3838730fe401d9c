"""Escampe in words: positions, moves, placements, and the board as a seat sees it."""

from __future__ import annotations

import re

import numpy as np

from ...game import CHANCE, OVER, NotationError, squeezed
from ...options import shown
from .board import (
    BAND,
    BLACK,
    BOARD,
    CELLS,
    END,
    HIGH_EDGE,
    LOW_EDGE,
    MOST_MOVES,
    MOVE,
    NOWHERE,
    PASS,
    PLACE,
    SIDE,
    START,
    WHITE,
    ends,
    set_of,
)
from .fair_pairs import FAIR_PAIRS
from .laws import FLAWS, flaw, hash_of
from .options import FAIR
from .placements import EDGE_PLACEMENTS, PALADINS, WHITE_PLACEMENTS, placement, placement_number
from .rules import ALL_PLACED, PIECES, actions, edge, free_cells, pieces, play, turn
from .view import in_reach

LETTERS = "bnBN"  # white, black paladin; white, black unicorn: blanc and noir
EMPTY = "-"
SIDES = ("White", "Black")
COLUMNS = "ABCDEF"
NAMES = [f"{COLUMNS[cell % SIDE]}{cell // SIDE + 1}" for cell in range(CELLS)]
UNICORN_TAKEN = "unicorn taken"
LIKE = "bb----/-Bb-bb/------/------/-n-n-n/n-N-n- w 0"
HIGH_FIRST = 4 * SIDE  # the first cell of rows 5 and 6


# Positions ---------------------------------------------------------------------------------------


def text(s):
    """The position at the start and the moves since then; without adjudication there are none."""
    paladins, unicorn = [int(cells) for cells in s.paladins], [int(cell) for cell in s.unicorn]
    moves = [int(action) for action in s.moves[: s.ply]]
    side = int(s.mover)
    for action in reversed(moves):
        _take_back(paladins, unicorn, 1 - side, action)
        side = 1 - side
    band = int(s.first_band) if moves else int(s.band)
    position = f"{board_text(paladins, unicorn)} {'wb'[side]} {band}"
    return " ".join([position, *(move_text(action) for action in moves)])


def _take_back(paladins, unicorn, side, action):
    """Take back a move of a side; only the last move of a game can have taken the unicorn."""
    if action == PASS:
        return
    start, end = int(START[action]), int(END[action])
    if unicorn[side] == end:
        unicorn[side] = start
        return
    paladins[side] ^= 1 << start | 1 << end
    if unicorn[1 - side] == NOWHERE:
        unicorn[1 - side] = end


def board_text(paladins, unicorn):
    """Six rows of letters, joined by "/"."""
    letters = [EMPTY] * CELLS
    for side in (WHITE, BLACK):
        for cell in cells_in(paladins[side]):
            letters[cell] = LETTERS[side]
        if unicorn[side] != NOWHERE:
            letters[unicorn[side]] = LETTERS[2 + side]
    return "/".join("".join(letters[SIDE * row :][:SIDE]) for row in range(SIDE))


def cells_in(cells: int) -> list[int]:
    """The cells of a set, ascending."""
    return [cell for cell in range(CELLS) if int(cells) >> cell & 1]


def parse(s, notation):
    """Set up the position, then play the moves that follow it."""
    board, side, band, *moves = notation.split() + [""] * (3 - len(notation.split()))
    if side.lower() not in ("w", "b") or band == "":
        raise NotationError(f"{shown(notation)} is not like '{LIKE}'")
    if band not in ("0", "1", "2", "3"):
        raise NotationError(f"{shown(notation)}: the required band is 0 to 3, not {shown(band)}")
    rows = board.split("/")
    if len(rows) != SIDE:
        raise NotationError(f"{shown(notation)}: a board has {SIDE} rows, not {len(rows)}")
    for number, row in enumerate(rows, 1):
        check_row(row, f"{shown(notation)}: row {number}")
    _set_pieces(s, "".join(rows))
    s.mover, s.band = "wb".index(side.lower()), int(band)
    if s.moves.shape[0] > 1:
        s.first_band = s.band
    s.hash = hash_of(s)
    if number := flaw(s, s):  # before it is played on
        raise NotationError(f"{shown(notation)}: {FLAWS[number - 1]}")
    for word in moves:
        play(s, parse_action(s, word))


def check_row(row, where):
    """Refuse a row of letters that is none."""
    if len(row) != SIDE:
        raise NotationError(f"{where} has {SIDE} cells, not {len(row)}")
    if unknown := set(row) - {EMPTY, *LETTERS}:
        letters = ", ".join(LETTERS)
        raise NotationError(f"{where} has {shown(min(unknown))}; a cell is {letters} or {EMPTY}")


def _set_pieces(s, letters):
    """Put pieces on the board, and refuse more of a kind than there are."""
    for kind, letter in enumerate(LETTERS):
        cells = [cell for cell in range(CELLS) if letters[cell] == letter]
        side, most = kind % 2, PALADINS if kind < 2 else 1
        if len(cells) > most:
            has = f"{most} {'paladins' if kind < 2 else 'unicorn'} ({letter})"
            raise NotationError(f"{SIDES[side]} has {has}, not {len(cells)}: {letters}")
        if kind < 2:
            s.paladins[side] = sum(1 << cell for cell in cells)
        else:
            s.unicorn[side] = cells[0] if cells else NOWHERE
    # The unicorn is placed first: a side with all its paladins and no unicorn has lost it.
    s.placed = sum(
        PIECES if letters.count(LETTERS[side]) == PALADINS else _placed(letters, side)
        for side in (WHITE, BLACK)
    )


def _placed(letters, side):
    return letters.count(LETTERS[side]) + letters.count(LETTERS[2 + side])


# Moves -------------------------------------------------------------------------------------------


def move_text(action):
    return "E" if action == PASS else f"{NAMES[START[action]]}-{NAMES[END[action]]}"


def action_text(s, action):
    """ "B1-D1", "E" for a pass; while pieces are placed "unicorn C6", then "A6"."""
    if s.placed == ALL_PLACED:
        return move_text(action)
    if s.placing == FAIR:
        return " ".join(_pair_texts(int(FAIR_PAIRS[action])))
    cell = action if turn(s) == CHANCE else action - PLACE
    return f"unicorn {NAMES[cell]}" if s.unicorn[s.mover] == NOWHERE else NAMES[cell]


def news(s, seat, move):
    """Everybody sees everything; a move that ends the game says so."""
    words = action_text(s, move)
    if s.placed < ALL_PLACED:
        return words
    if move == PASS:
        return f"{words} ({SIDES[s.mover]} cannot move)"
    takes = END[move] == s.unicorn[1 - s.mover]
    return f"{words} takes the unicorn" if takes else words


def parse_action(s, typed):
    """The action, or at a chance move the outcome, that a text names."""
    words = squeezed(typed).upper()
    if turn(s) == OVER:
        raise NotationError(f"{shown(typed)}: the game is over")
    if s.placed < ALL_PLACED and s.placing == FAIR:
        return _parse_pair(typed)
    if s.placed < ALL_PLACED:
        cell = _parse_place(s, typed, words)
        return cell if turn(s) == CHANCE else PLACE + cell
    if words in ("E", "PASS"):
        return _checked_pass(s, typed)
    cells = re.fullmatch(r"([^-]{2})-?([^-]{2})", words)
    if not cells:
        raise NotationError(f"{shown(typed)} is not a move such as B1-D1, or E to pass")
    return _checked_move(s, typed, *(parse_cell(cell) for cell in cells.groups()))


def parse_cell(name):
    if name.upper() not in NAMES:
        raise NotationError(f"{shown(name)} is not a cell; cells are A1 to F6")
    return NAMES.index(name.upper())


def _checked_pass(s, typed):
    if in_reach(s, int(s.mover)):
        raise NotationError(f"{shown(typed)}: {SIDES[s.mover]} can move, so it must not pass")
    return PASS


def _checked_move(s, typed, start, end):
    """The number of a move, or a sentence that says why it cannot be made."""
    side, name, rings = SIDES[s.mover], NAMES[start], int(BAND[start])
    mine, empty = pieces(s, int(s.mover)), BOARD & ~(pieces(s, WHITE) | pieces(s, BLACK))
    why, prey = "", int(s.unicorn[1 - s.mover])
    if not mine >> start & 1:
        why = f"{name} is empty" if empty >> start & 1 else f"the piece on {name} is not {side}'s"
    elif s.band and rings != s.band:
        why = f"{side} must move from a cell of band {s.band}, and {name} has band {rings}"
    elif MOVE[start, end] < 0:
        steps = f"{rings} step{'s' * (rings > 1)}"
        why = f"a piece moves {steps} from {name}, and that does not lead to {NAMES[end]}"
    elif end == prey and start == s.unicorn[s.mover]:
        why = "a unicorn takes nothing, only paladins take the unicorn"
    elif end != prey and not empty >> end & 1:
        why = f"{NAMES[end]} is occupied; only the enemy unicorn can be taken"
    elif not ends(start, empty) >> end & 1:
        why = f"every path from {name} to {NAMES[end]} is blocked"
    if why:
        raise NotationError(f"{shown(typed)}: {why}")
    return int(MOVE[start, end])


# Placing -----------------------------------------------------------------------------------------


def rows_text(edges):
    """The rows of one edge or of both, in words."""
    rows = {LOW_EDGE: "rows 1 and 2", HIGH_EDGE: "rows 5 and 6"}
    return rows.get(int(edges), "rows 1 and 2, or on rows 5 and 6")


def _parse_place(s, typed, words):
    """The cell of the next piece, or a sentence that says why it cannot go there."""
    unicorn_next = s.unicorn[s.mover] == NOWHERE
    cell = parse_cell(words.removeprefix("UNICORN" if unicorn_next else "PALADIN"))
    if set_of(cell) & free_cells(s):
        return cell
    if not set_of(cell) & edge(s):
        raise NotationError(f"{shown(typed)}: {SIDES[s.mover]} places on {rows_text(edge(s))}")
    if set_of(cell) & pieces(s, int(s.mover)):
        raise NotationError(f"{shown(typed)}: {NAMES[cell]} is occupied")
    free = ", ".join(NAMES[cell] for cell in cells_in(free_cells(s)))
    raise NotationError(
        f"{shown(typed)}: paladins are placed in ascending order, A1 to F6, so that all find room; "
        f"the next one can go to {free}"
    )


def placement_text(unicorn, paladins):
    """ "C6/A6/B5/D5/E6/F5": the unicorn, then the paladins in the order of their cells."""
    return "/".join(NAMES[cell] for cell in [unicorn, *cells_in(paladins)])


def parse_placement(notation: str) -> tuple[int, int]:
    """The unicorn's cell and the set of paladins of a whole placement."""
    cells = [parse_cell(name) for name in squeezed(notation).upper().split("/")]
    if len(cells) != PIECES:
        raise NotationError(f"{shown(notation)}: a placement has {PIECES} cells, not {len(cells)}")
    if twice := [NAMES[cell] for cell in cells if cells.count(cell) > 1]:
        raise NotationError(f"{shown(notation)}: {twice[0]} stands there more than once")
    for cell in cells:
        if not set_of(cell) & (LOW_EDGE | HIGH_EDGE):
            rows = rows_text(LOW_EDGE | HIGH_EDGE)
            raise NotationError(
                f"{shown(notation)}: {NAMES[cell]} is on no edge; a side places on {rows}"
            )
    if len({bool(set_of(cell) & LOW_EDGE) for cell in cells}) > 1:
        raise NotationError(f"{shown(notation)}: all six pieces stand on one edge, not on both")
    return cells[0], sum(set_of(cell) for cell in cells[1:])


def check_opposite(notation, black, white):
    """Refuse White's placement on Black's edge. Each is given by the cell of its unicorn."""
    if (black < CELLS // 2) == (white < CELLS // 2):
        own = rows_text(LOW_EDGE if black >= CELLS // 2 else HIGH_EDGE)
        raise NotationError(f"{shown(notation)}: that is Black's edge; White places on {own}")


def _pair_texts(pair):
    black, white = divmod(pair, WHITE_PLACEMENTS)
    firsts = (0, HIGH_FIRST) if black < EDGE_PLACEMENTS else (HIGH_FIRST, 0)
    numbers = (black % EDGE_PLACEMENTS, white)
    return [placement_text(*placement(*both)) for both in zip(numbers, firsts, strict=True)]


def _parse_pair(typed):
    """The outcome that has these two placements, Black's and White's."""
    notations = typed.split()
    if len(notations) != 2:
        raise NotationError(f"{shown(typed)} is not two placements, Black's and White's")
    (unicorn, paladins), (other, others) = map(parse_placement, notations)
    check_opposite(notations[1], unicorn, other)
    low = unicorn < CELLS // 2
    first, second = (0, HIGH_FIRST) if low else (HIGH_FIRST, 0)
    black = placement_number(unicorn, paladins, first) + (0 if low else EDGE_PLACEMENTS)
    pair = black * WHITE_PLACEMENTS + placement_number(other, others, second)
    outcomes = np.flatnonzero(pair == FAIR_PAIRS)
    if not len(outcomes):
        raise NotationError(f"{shown(typed)} is not one of the {len(FAIR_PAIRS):,} fair pairs")
    return int(outcomes[0])


# The board as a seat sees it ---------------------------------------------------------------------


def seen(s, seat):
    """Pieces and rings of all cells; for the seat to move, a star where its pieces can go."""
    mine = turn(s) == seat
    starred = (free_cells(s) if s.placed < ALL_PLACED else in_reach(s, seat)) if mine else 0
    letters = board_text(s.paladins, s.unicorn).replace("/", "").replace(EMPTY, " ")
    lines = ["     " + "    ".join(COLUMNS)]
    for row in range(SIDE):
        cells = range(SIDE * row, SIDE * row + SIDE)
        drawn = [f"{letters[c]}{BAND[c]}{'*' if starred >> c & 1 else ' '}" for c in cells]
        lines.append(f"{row + 1}   " + "  ".join(drawn).rstrip())
    owners = [f"{SIDES[side]}{' (you)' * (side == seat)}" for side in (WHITE, BLACK)]
    lines += [
        f"{owner}: {LETTERS[k + 2]} unicorn, {LETTERS[k]} paladins"
        for k, owner in enumerate(owners)
    ]
    lines.append(standing(s) + (" (* marks where its pieces can go)" if starred else ""))
    return "\n".join([*lines, *(_targets(s) if mine else [])])


def standing(s):
    """Who is to move and from where, or how the game ended."""
    side = SIDES[s.mover]
    if turn(s) == OVER:
        reason = ending(s)
        taken = f"{SIDES[1 - s.mover]} has taken the unicorn"
        return taken if reason == UNICORN_TAKEN else f"Drawn: {reason}"
    if s.placed < ALL_PLACED:
        piece = "its unicorn" if s.unicorn[s.mover] == NOWHERE else "a paladin"
        return f"{side} places {piece}, on {rows_text(edge(s))}"
    rings = ("any cell", "a cell with 1 ring", "a cell with 2 rings", "a cell with 3 rings")
    return f"{side} moves from {rings[s.band]}"


def ending(s):
    """Why a game is over."""
    if s.unicorn[s.mover] == NOWHERE:
        return UNICORN_TAKEN
    if s.occurrences == 3:
        return "third occurrence of a position"
    passed = s.ply > 1 and s.moves[s.ply - 1] == s.moves[s.ply - 2] == PASS
    return "two passes in a row" if passed else f"{s.ply} plies"


def _targets(s):
    """A line for every piece that can move, with the cells that it can reach."""
    legal = np.zeros(MOST_MOVES, np.int16)
    moves = legal[: actions(s, legal)].tolist() if s.placed == ALL_PLACED else []
    starts = dict.fromkeys(START[action] for action in moves if action != PASS)
    return [
        f"  {NAMES[start]} to {', '.join(NAMES[END[a]] for a in moves if START[a] == start)}"
        for start in starts
    ] or (["  no piece can move: E passes"] if moves else [])
