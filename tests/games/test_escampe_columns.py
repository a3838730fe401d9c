"""Positions of Escampe in data files."""

import numpy as np
import pytest

from kibitz import games
from kibitz.batch import Batch, check_positions

NAMES = [
    "white_paladins",
    "black_paladins",
    "white_unicorn",
    "black_unicorn",
    "required_band",
    "white_to_move",
]


@pytest.fixture(scope="module")
def escampe():
    return games.load("escampe", preset="rules", placing="drawn")


@pytest.fixture(scope="module")
def states(escampe):
    batch = Batch(escampe, 500, seed=3)
    batch.settle()
    batch.wander(9)
    batch.settle()
    return batch.states[batch.turns() >= 0]


def read(game, columns):
    states = np.repeat(np.array([game.fresh()]), len(columns["required_band"]))
    game.columns.read(columns, states)
    return states


def test_a_position_has_six_columns_as_everybody_names_them(escampe, states):
    assert list(escampe.columns.by_name) == NAMES == list(escampe.columns.write(states))
    meanings = [column.meaning for column in escampe.columns.by_name.values()]
    assert all(meanings) and len({*meanings}) == len(NAMES)


def test_what_was_written_is_read_back_byte_for_byte(escampe, states):
    assert read(escampe, escampe.columns.write(states)).tobytes() == states.tobytes()


def test_the_columns_of_a_known_position():
    game = games.load("escampe", preset="rules")
    s = game.read("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
    columns = {n: c[0] for n, c in game.columns.write(np.array([s])).items()}
    white = [8, 17, 18, 26, 35]
    black = [0, 1, 20, 21, 30]
    assert columns == {
        "white_paladins": sum(1 << cell for cell in white),
        "black_paladins": sum(1 << cell for cell in black),
        "white_unicorn": 32,
        "black_unicorn": 2,
        "required_band": 2,
        "white_to_move": True,
    }


def test_what_is_read_can_be_played(escampe, states):
    check_positions(escampe, read(escampe, escampe.columns.write(states)), "the columns")


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("white_paladins", 1 << 36 | 0b11110, "white_paladins has a bit above 35"),
        ("black_paladins", -1, "black_paladins has a bit above 35"),
        ("black_paladins", 0b1111, "black_paladins does not have 5 cells"),
        ("white_unicorn", 36, "white_unicorn is not a cell from 0 to 35"),
        ("black_unicorn", -1, "black_unicorn is not a cell from 0 to 35"),
        ("black_unicorn", 2**60, "black_unicorn is not a cell from 0 to 35"),
        ("required_band", 4, "required_band is not 0, 1, 2 or 3"),
        ("required_band", -1, "required_band is not 0, 1, 2 or 3"),
    ],
)
def test_a_bad_number_is_named(escampe, states, column, value, problem):
    columns = {n: np.array(c, np.int64) for n, c in escampe.columns.write(states[:9]).items()}
    columns[column][4] = value
    found = [what for what, rows in escampe.columns.problems(columns) if rows[4]]
    assert found[0] == problem
    for _, rows in escampe.columns.problems(columns):
        assert not np.delete(rows, 4).any()


@pytest.mark.parametrize("other", ["white_paladins", "black_unicorn"])
def test_pieces_on_one_cell_are_noticed(escampe, states, other):
    columns = {n: np.array(c, np.int64) for n, c in escampe.columns.write(states[:1]).items()}
    if other == "black_unicorn":
        columns["white_unicorn"][0] = columns["black_unicorn"][0]
    else:
        columns["black_paladins"][0] = columns["white_paladins"][0]
    problems = [what for what, rows in escampe.columns.problems(columns) if rows[0]]
    assert problems == ["two pieces stand on one cell"]


def test_a_forced_pass_is_a_group_of_its_own(escampe, states):
    legal, counts = Batch.of(
        escampe, states.copy(), np.zeros(len(states), Batch(escampe, 1).rngs.dtype)
    ).actions()
    passes = escampe.columns.groups["forced pass"](legal)
    assert 0.05 < passes.mean() < 0.3
    assert (counts[passes] == 1).all()
