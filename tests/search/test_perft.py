"""Perft: all sequences of moves, against the counts of independent engines."""

from pathlib import Path

import pytest

from kibitz import games
from kibitz.game import GameError
from kibitz.search.perft import divided, perft

SAMPLES = Path(__file__).parent.parent / "sample_games"
THREE_IN_A_ROW = [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]  # games of 9 moves


@pytest.fixture(scope="module")
def escampe():
    return games.load("escampe", preset="rules")


def at(game, position):
    board, side, band = (position[name] for name in ("board", "to_move", "required_band"))
    return game.read(f"{'/'.join(board)} {side[0]} {band}")


@pytest.mark.oracle("escampe", "positions")
def test_the_oracle_counts_as_we_do(escampe, oracle_case):
    s = at(escampe, oracle_case)
    for row in oracle_case["perft"]:
        found = perft(escampe, s, row["depth"])
        assert (found.nodes, found.ended) == (row["nodes"], row["captures"])
        assert perft(escampe, s, row["depth"], bulk=True).nodes == row["nodes"]


def test_all_placements_are_counted_from_the_empty_board(escampe):
    """Black's and White's placements, piece by piece, in one order each."""
    assert perft(escampe, escampe.fresh(), 6).nodes == 11_088


def test_three_in_a_row_has_the_counts_that_everybody_finds():
    game = games.load(SAMPLES / "three_in_a_row.py")
    counts = [perft(game, game.fresh(), depth).nodes for depth in range(10)]
    assert counts == THREE_IN_A_ROW
    assert [perft(game, game.fresh(), d, bulk=True).nodes for d in range(10)] == THREE_IN_A_ROW


def test_outcomes_of_chance_count_like_moves():
    kuhn = games.load("kuhn")
    assert [perft(kuhn, kuhn.fresh(), depth).nodes for depth in range(6)] == [1, 3, 6, 12, 24, 12]
    assert perft(kuhn, kuhn.fresh(), 4).ended == 18
    assert divided(kuhn, kuhn.fresh(), 4) == {0: 8, 1: 8, 2: 8}


def test_a_game_that_is_over_has_no_moves():
    kuhn = games.load("kuhn")
    over = kuhn.read("kq pp")
    assert perft(kuhn, over, 0).nodes == 1 and perft(kuhn, over, 2).nodes == 0


def test_a_depth_below_zero_is_refused():
    kuhn = games.load("kuhn")
    with pytest.raises(GameError, match="depth of 0 to 64"):
        perft(kuhn, kuhn.fresh(), -1)
    with pytest.raises(GameError, match="at least 1"):
        divided(kuhn, kuhn.fresh(), 0)
