"""What networks see of Escampe: section 5 of its specification, and its numbers of section 11."""

import random

import numpy as np
import pytest
from escampe_book import (
    GAME,
    MID,
    RULES,
    START,
    board_of,
    encoded_by_the_book,
    escapes_by_the_book,
    legal_by_the_book,
    one_line,
    swapped,
)
from oracle_files import oracle_list

from kibitz.game import CHANCE
from kibitz.games import load

REACH, PIECES = GAME.through("banddper-16-reach"), GAME.through("pieces")
CORNER_BLOCK = "nnNb--/nnb---/nb----/b-----/b-----/-----B b 0"


def parts(game, s, seat):
    """Both stacks of planes, the escapes and the forced pass."""
    numbers = game.look(s, seat)
    planes = numbers[: 2 * 576].reshape(2, 16, 6, 6)
    return planes[0], planes[1], numbers[1152:1154], numbers[1154]


def sums(planes):
    return [round(float(plane.sum(dtype=np.float64)), 4) for plane in planes]


def test_sizes_are_those_of_the_specification():
    assert [game.view_size for game in (GAME, REACH, PIECES)] == [1155, 1155, 2 * 148]
    assert list(GAME.views) == ["banddper-16-reach", "pieces", "default"]


def test_the_handouts_middle_game_has_the_printed_sums():
    me, opponent, escapes, forced_pass = parts(GAME, GAME.read(MID), 0)
    assert sums(me) == [5, 1, 5, 1, 12, 12, 12, 3, 10, 6, 8, 6, 6, 6, 6, 3] == sums(opponent)
    assert escapes.tolist() == [3 / 16, 2 / 16] and forced_pass == 0


def test_the_handouts_opening_has_the_printed_sums():
    me, opponent, escapes, _ = parts(GAME, GAME.read(START), 0)
    assert sums(me)[7:11] == [6, 10, 8, 6]
    assert (sums(me)[15], sums(opponent)[15]) == (2, 0)
    assert escapes.tolist() == [2 / 16, 1 / 16]


def test_the_corner_block_has_the_printed_numbers():
    _, _, escapes, forced_pass = parts(GAME, GAME.read(CORNER_BLOCK), 1)
    assert escapes.tolist() == [0, 3 / 16] and forced_pass == 1


@pytest.mark.parametrize("game", [GAME, REACH], ids=["empty", "reach"])
def test_planes_are_those_of_the_book(game):
    notations = [one_line(case) for case in oracle_list("escampe", "legal_moves")[:60]]
    for notation in [START, MID, CORNER_BLOCK, *notations]:
        for seat in (0, 1):
            me, opponent, escapes, forced_pass = parts(game, GAME.read(notation), seat)
            for planes, side in ((me, seat), (opponent, 1 - seat)):
                expected = encoded_by_the_book(notation, side, reach=game is REACH)
                assert np.array_equal(planes, expected), (notation, side)
            expected = [escapes_by_the_book(notation, side) / 16 for side in (seat, 1 - seat)]
            assert escapes.tolist() == expected
            assert forced_pass == (legal_by_the_book(notation) == ["E"])


def test_exchanging_the_colours_and_the_side_to_move_changes_no_number():
    notations = [one_line(case) for case in oracle_list("escampe", "positions")]
    for notation in [START, MID, *notations]:
        s, t = GAME.read(notation), GAME.read(swapped(notation))
        for game in (GAME, REACH, PIECES):
            for seat in (0, 1):
                assert game.look(s, seat).tobytes() == game.look(t, 1 - seat).tobytes()


def test_the_other_seat_sees_the_same_with_perspectives_exchanged():
    s = GAME.read(CORNER_BLOCK)
    for game in (GAME, REACH):
        me, opponent, escapes, forced_pass = parts(game, s, 1)
        other = parts(game, s, 0)
        assert np.array_equal(other[0], opponent) and np.array_equal(other[1], me)
        assert np.array_equal(other[2], escapes[::-1])
        assert other[3] == forced_pass == 1  # of the side to move, whoever looks


def test_features_are_pieces_by_cell_and_the_required_band():
    cells, side, band = board_of(MID)
    features = PIECES.look(GAME.read(MID), side).reshape(2, 148)
    for k, letters in enumerate(("bBnN", "nNbB")):
        for kind, letter in enumerate(letters):
            expected = [cells[cell // 6, cell % 6] == letter for cell in range(36)]
            assert features[k, 36 * kind :][:36].tolist() == expected
        assert features[k, 144:].tolist() == [band == b for b in range(4)]


def test_views_work_while_pieces_are_placed_and_after_the_end():
    game, dice = load("escampe", placing="drawn"), random.Random(4)
    s = game.fresh()
    while game.turn(s) == CHANCE:
        for seat in (0, 1):
            for view in game.views:
                assert np.isfinite(game.through(view).look(s, seat)).all()
            me, _, escapes, forced_pass = parts(game, s, seat)
            assert sums(me)[1] == (s.unicorn[seat] >= 0) and forced_pass == 0
            assert (escapes[0] == 0) or s.unicorn[seat] >= 0
        game.play(s, dice.choice(game.moves(s)))
    end = RULES.read(f"{MID} F6-E5 A1-A2 C2-C1")
    assert parts(RULES, end, 1)[3] == 0 and not parts(RULES, end, 1)[0][[1, 15]].any()
