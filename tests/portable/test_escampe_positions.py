"""Positions in plain Python: moves of independent engines, and sums of the specification."""

import pytest
from escampe_lines import CORNER_BLOCK, COURSE_MID, COURSE_START, random_lines, views_of

from kibitz.portable.escampe import (
    BANDS,
    EMPTY,
    PATHS,
    REACH,
    PortableError,
    landings,
    read_position,
)


def sums(line, side, encoding=EMPTY):
    view = views_of([line], encoding)[0]
    return view[576 * side : 576 * (side + 1)].reshape(16, 36).sum(1).round(4).tolist()


def cell(text):
    return 6 * (int(text[1]) - 1) + ord(text[0]) - ord("A")


def test_the_paths_are_as_many_as_the_specification_counts():
    assert [BANDS.count(band) for band in (1, 2, 3)] == [12, 12, 12]
    assert sum(map(len, PATHS)) == 392
    assert sum(len({end for end, _ in paths}) for paths in PATHS) == 222


@pytest.mark.oracle("escampe", "legal_moves")
def test_the_landing_cells_are_those_of_independent_engines(oracle_case):
    board, side = "/".join(oracle_case["board"]), oracle_case["to_move"][0]
    position = read_position(line := f"{board} {side} {oracle_case['required_band']}")
    ends = {cell(move[3:]) for move in oracle_case["moves"] if move != "E"}
    assert landings(position, position.to_move) == ends
    assert views_of([line])[0, -1] == (not ends)


def test_the_planes_have_the_sums_of_the_specification():
    expected = [5, 1, 5, 1, 12, 12, 12, 3, 10, 6, 8, 6, 6, 6, 6, 3]
    assert sums(COURSE_MID, 0) == sums(COURSE_MID, 1) == expected
    assert sums(COURSE_START, 0)[7:11] == [6, 10, 8, 6]
    assert (sums(COURSE_START, 0)[15], sums(COURSE_START, 1)[15]) == (2, 0)


@pytest.mark.parametrize(
    ("line", "numbers"),
    [(COURSE_MID, [3, 2, 0]), (COURSE_START, [2, 1, 0]), (CORNER_BLOCK, [0, 3, 16])],
)
def test_escapes_and_forced_pass_are_those_of_the_specification(line, numbers):
    assert (16 * views_of([line])[0, -3:]).tolist() == numbers


@pytest.mark.parametrize("encoding", [EMPTY, REACH])
def test_exchanging_the_colours_changes_no_number(encoding):
    lines = random_lines(100)
    exchange = str.maketrans("BbNn", "NnBb")
    swapped = []
    for line in lines:
        board, side, band = line.split()
        swapped.append(f"{board.translate(exchange)} {'b' if side == 'w' else 'w'} {band}")
    assert (views_of(lines, encoding) == views_of(swapped, encoding)).all()


def test_the_encodings_differ_in_the_landing_cells_only():
    empty, reach = (views_of(random_lines(100), encoding) for encoding in (EMPTY, REACH))
    planes = (empty != reach)[:, :-3].reshape(-1, 2, 16, 36).any((0, 1, 3))
    assert planes.nonzero()[0].tolist() == [8, 9, 10]


def test_landing_cells_of_the_second_encoding_are_the_ends_of_legal_moves():
    for line in random_lines(50):
        position = read_position(line)
        view = views_of([line], REACH)[0]
        for side, colour in enumerate((position.to_move, 1 - position.to_move)):
            marked = view[576 * side :][8 * 36 : 11 * 36].reshape(3, 36).sum(0)
            assert set(marked.nonzero()[0].tolist()) == landings(position, colour)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("", "a position is a board"),
        (COURSE_MID[:-2], "a position is a board"),
        (COURSE_MID.replace("/n-B--b", ""), "6 rows, not 5"),
        (COURSE_MID.replace("/n-B--b", "/n-B-b"), "row 6 has 5 cells"),
        (COURSE_MID.replace("nnN---", "nxN---"), "row 1 has the character 'x'"),
        (COURSE_MID.replace("nnN---", "nn----"), "black has 0 unicorns"),
        (COURSE_MID.replace("--b---/-----b", "--B---/-----b"), "white has 2 unicorns"),
        (COURSE_MID.replace("nnN---", "n-N---"), "black has 4 paladins"),
        (COURSE_MID.replace(" w ", " x "), "w or b, not 'x'"),
        (COURSE_MID.replace(" 2", " 4"), "0, 1, 2 or 3, not '4'"),
    ],
)
def test_a_broken_position_is_refused_by_part(line, part):
    with pytest.raises(PortableError, match=part):
        read_position(line)
