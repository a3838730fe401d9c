"""Files of Escampe: a position as a board file, and a whole game as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypedDict

from ...game import OVER, Game, NotationError, State
from ...options import shown
from .board import BLACK, PLACE, SIDE, WHITE
from .rules import ALL_PLACED, play, turn
from .text import (
    action_text,
    board_text,
    cells_in,
    check_opposite,
    check_row,
    ending,
    parse_action,
    parse_placement,
    placement_text,
)

COLOURS = ("white", "black")
RESULTS = (*COLOURS, "draw", None)  # None: the game is not over


class GameFile(TypedDict):
    """A game in JSON."""

    placements: dict[str, object]
    moves: list[str]
    result: str | None
    reason: str | None


# Board files -------------------------------------------------------------------------------------


def write_board(s: State) -> str:
    """A board file: six numbered rows; the side to move and the required band are comments."""
    rows = board_text(s.paladins, s.unicorn).split("/")
    lines = ["%  ABCDEF", *(f"{i:02} {row} {i:02}" for i, row in enumerate(rows, 1))]
    lines += [f"% to_move={COLOURS[s.mover]}", f"% required_band={s.band}"]
    return "\n".join(lines) + "\n"


def read_board(game: Game, content: str) -> State:
    """The position in a board file; without the comments White is to move from any band."""
    rows: dict[int, str] = {}
    side, band = COLOURS[WHITE], "0"
    for number, line in enumerate(content.splitlines(), 1):
        where = f"line {number}"
        if comment := re.fullmatch(r"%\s*(to_move|required_band)\s*=\s*(\S*)\s*", line.lower()):
            side, band = (comment[2], band) if comment[1] == "to_move" else (side, comment[2])
        elif line.strip() and not line.startswith("%"):
            row, letters = _board_row(line, where)
            if row in rows:
                raise NotationError(f"{where}: row {row} is there twice")
            rows[row] = letters
    if missing := [str(row) for row in range(1, SIDE + 1) if row not in rows]:
        raise NotationError(f"a board file has six rows; row {missing[0]} is missing")
    if side not in COLOURS:
        raise NotationError(f"to_move={side}: White or Black is to move")
    board = "/".join(rows[row] for row in sorted(rows))
    return game.read(f"{board} {'wb'[COLOURS.index(side)]} {band}")


def _board_row(line: str, where: str) -> tuple[int, str]:
    words = line.split()
    if len(words) != 3 or words[0] != words[2] or not re.fullmatch("0?[1-6]", words[0]):
        raise NotationError(f"{where}: {shown(line)} is not a row such as '01 bb---- 01'")
    check_row(words[1], f"{where}: row {int(words[0])}")
    return int(words[0]), words[1]


# Games -------------------------------------------------------------------------------------------


def game_text(game: Game, moves: Sequence[int]) -> str:
    """A game as JSON. moves: actions, and where chance places the pieces its outcomes."""
    s, words = game.fresh(), []
    placements: dict[str, str] = {}
    for move in moves:
        if s.placed == ALL_PLACED:
            words.append(action_text(s, move))
        game.play(s, move)
        if s.placed == ALL_PLACED and not placements:
            for side in (BLACK, WHITE):
                cells = int(s.unicorn[side]), int(s.paladins[side])
                placements[COLOURS[side]] = placement_text(*cells)
    if not placements:
        raise NotationError("a game can be written once all pieces are placed")
    over = turn(s) == OVER
    content = {
        "game": game.name,
        "placements": placements,
        "moves": words,
        "result": _result(game, s) if over else None,
        "reason": ending(s) if over else None,
    }
    return json.dumps(content, indent=1) + "\n"


def _result(game: Game, s: State) -> str:
    white = game.scores(s)[WHITE]
    return "draw" if white == 0 else COLOURS[WHITE if white > 0 else BLACK]


def parse_game(game: Game, content: str) -> list[int]:
    """The actions of a game in JSON, each of which is checked."""
    record = _checked_record(content)
    if game.num_outcomes > 1:
        raise NotationError("a game in JSON is read where players place: with placing=chosen")
    actions = _placing_actions(record["placements"])
    s = game.fresh()
    for action in actions:
        play(s, action)
    for number, word in enumerate(record["moves"], 1):
        try:
            action = parse_action(s, word)
        except NotationError as error:
            raise NotationError(f"move {number}: {error}") from None
        play(s, action)
        actions.append(action)
    if turn(s) == OVER and record["result"] != _result(game, s):
        result, wrong = _result(game, s), record["result"]
        raise NotationError(f"the result is {result} after these moves, not {shown(wrong)}")
    return actions


def _checked_record(content: str) -> GameFile:
    """The JSON object of a game, once its parts are known to be of the right types."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NotationError(f"this is not JSON: {error}") from None
    for part in GameFile.__annotations__:
        if not isinstance(record, dict) or part not in record:
            raise NotationError(
                f"a game has placements, moves, result and reason; no {part!r} here"
            )
    if not isinstance(record["placements"], dict):
        raise NotationError("placements: an object with the texts of 'black' and 'white'")
    moves = record["moves"]
    if not isinstance(moves, list) or not all(isinstance(word, str) for word in moves):
        raise NotationError("moves: a list of texts such as 'B1-D1'")
    if record["result"] not in RESULTS:
        given = shown(record["result"])
        raise NotationError(f"result: 'white', 'black' or 'draw', or null, not {given}")
    checked: GameFile = record
    return checked


def _placing_actions(placements: dict[str, object]) -> list[int]:
    """The actions that place all pieces, Black's first."""
    actions, unicorns = [], []
    for colour in ("black", "white"):
        notation = placements.get(colour)
        if not isinstance(notation, str):
            raise NotationError(f"placements: Black places, then White; {colour}'s text is missing")
        unicorn, paladins = parse_placement(notation)
        unicorns.append(unicorn)
        actions += [PLACE + cell for cell in [unicorn, *cells_in(paladins)]]
    check_opposite(str(placements["white"]), *unicorns)
    return actions
