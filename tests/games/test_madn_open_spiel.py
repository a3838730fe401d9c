"""MADN move for move with OpenSpiel's `maedn`."""

import itertools
import random

import pytest
from madn_book import cells

from kibitz import games
from kibitz.game import CHANCE, OVER
from kibitz.games.madn.board import HOME

pyspiel = pytest.importorskip("pyspiel")

TABLES = [(0, 2), (0, 1), (0, 1, 2), (0, 1, 2, 3)]  # the start fields
SAME_RULES = {"enable_jumping_in_goal": True, "enable_rethrow": False}
CORNERS = [(4, 0), (4, 4), (0, 4), (0, 6), (4, 6), (4, 10), (6, 10), (6, 6), (10, 6), (10, 4)]
CORNERS += [(6, 4), (6, 0), (4, 0)]


def ring_in_drawing():
    """Row and column of every ring cell, from the start field of seat 0."""
    path = []
    for (row, column), (to_row, to_column) in itertools.pairwise(CORNERS):
        steps = max(abs(to_row - row), abs(to_column - column))
        down, right = (to_row - row) // steps, (to_column - column) // steps
        path += [(row + i * down, column + i * right) for i in range(steps)]
    return path


RING = ring_in_drawing()
LANES = [[(5, 1 + j), (1 + j, 5), (5, 9 - j), (9 - j, 5)] for j in range(4)]


def drawn_cells(drawing, seats):
    """The pins in play of every player, as cells that all count alike, sorted."""
    rows = [line.ljust(21) for line in drawing.splitlines()[:11]]
    found = []
    for player, seat in enumerate(seats):
        places = [*RING, *(LANES[j][seat] for j in range(4))]
        mine = [i for i, (r, c) in enumerate(places) if rows[r][2 * c] == str(player + 1)]
        found.append([i if i < 40 else i + 4 * player for i in mine])
    return found


def same_action(s, pin):
    """The number that `maedn` gives to the move of a pin."""
    place = int(s.pins[s.mover, pin])
    return 1 if place == HOME else place + 1


def loaded(layout, **options):
    return games.load("madn", num_players=len(layout), sectors=4, layout=layout, **options)


def compare(layout, dice):
    """Play one random game in both; returns how many decisions and passes on a six there were."""
    game = loaded(layout, **SAME_RULES)
    theirs = pyspiel.load_game(game.open_spiel(game.options))
    s, t, decisions, handed_back = game.fresh(), theirs.new_initial_state(), 0, 0
    while game.turn(s) != OVER:
        if game.turn(s) == CHANCE:
            assert t.is_chance_node()
            face = dice.randrange(6)
            game.play(s, face)
            t.apply_action(face)
            continue
        decisions += 1
        assert game.turn(s) == t.current_player()
        legal = game.legal(s)
        names = {0} if legal == [4] else {same_action(s, pin) for pin in legal}
        assert names == set(t.legal_actions())
        action, six, mover = dice.choice(legal), s.die == 6, int(s.mover)
        t.apply_action(0 if action == 4 else same_action(s, action))
        game.play(s, action)
        if action == 4 and six and game.turn(s) != OVER:  # there the same player throws again
            s.mover, handed_back = mover, handed_back + 1
        if decisions % 10 == 0:
            assert drawn_cells(str(t), layout) == [sorted({*row} - {-1}) for row in cells(s)]
    assert t.is_terminal()
    wins = [1.0 if score == 1 else -1.0 for score in game.scores(s)]
    assert [1.0 if score > 0 else -1.0 for score in t.returns()] == wins
    return decisions, handed_back


@pytest.mark.parametrize("layout", [(0, 2), (0, 1), (0, 1, 2, 3)])
def test_random_games_go_as_in_open_spiel(layout):
    dice = random.Random(7)
    played = [compare(layout, dice) for _ in range(4)]
    assert sum(decisions for decisions, _ in played) > 100


@pytest.mark.slow
@pytest.mark.parametrize("layout", TABLES)
def test_a_thousand_random_games_go_as_in_open_spiel(layout):
    dice = random.Random(8)
    played = [compare(layout, dice) for _ in range(1000 // len(TABLES))]
    assert sum(handed_back for _, handed_back in played) > 10


@pytest.mark.parametrize("layout", TABLES)
def test_speed_is_compared_with_the_same_board_there(layout):
    game = loaded(layout)  # rules need not be the same for that
    assert pyspiel.load_game(game.open_spiel(game.options)).num_players() == len(layout)


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "dmadn"},
        {"preset": "dog"},
        {"preset": "madn_teams"},
        {"distance": 12},
        {"num_players": 3},
        {"num_players": 3, "sectors": 4, "layout": (0, 1, 3)},
    ],
)
def test_a_race_that_open_spiel_does_not_have_is_compared_with_none(options):
    game = games.load("madn", **options)
    assert game.open_spiel(game.options) is None
