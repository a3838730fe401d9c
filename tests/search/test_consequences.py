"""What actions lead to: exact odds where one outcome of chance comes before the next decision."""

from __future__ import annotations

import numpy as np
import pytest
from small_games import COIN, THREE_IN_A_ROW

from kibitz.game import CHANCE, OVER
from kibitz.games import load
from kibitz.search.consequences import consequences


def after(game, s, *moves):
    for move in moves:
        game.play(s, move)
    return s


def test_a_throw_has_the_odds_of_the_rules():
    game = load(COIN)
    states = np.array([game.fresh(), after(game, game.fresh(), 0, 2)])
    before = states.tobytes()
    found = consequences(game, states, np.array([0, 1]))
    assert found.odds.tolist() == [[0.5, 0.375, 0.125]] * 2 and found.exact.all()
    assert [game.turn(s) for s in found.states] == [CHANCE] * 2
    assert states.tobytes() == before


def test_no_chance_is_certain_too():
    game = load(THREE_IN_A_ROW)
    s = after(game, game.fresh(), 0, 3, 1, 4)
    found = consequences(game, np.array([s, s]), np.array([2, 5]))
    assert found.exact.all() and not found.odds.any()
    assert [game.turn(t) for t in found.states] == [OVER, 1]


def test_a_die_that_may_be_thrown_three_times_is_one_event():
    """All home: 1 and 6 come with 76 of 216 after up to three throws."""
    game = load("madn", preset="madn_teams", enable_initial_free_pin=False)
    s = after(game, game.fresh(), 2)
    assert game.legal(s) == [4]  # a 3 brings nothing out
    found = consequences(game, np.array([s]), np.array([4]))
    assert found.exact.all()
    assert found.odds[0] == pytest.approx(np.array([76, 16, 16, 16, 16, 76]) / 216)


@pytest.mark.slow
def test_a_deal_of_many_cards_is_not():
    game = load("madn", preset="cards_plain", num_players=2, distance=7)
    s, rng = game.fresh(), np.random.default_rng(1)
    seen = []
    while game.turn(s) != OVER and len(seen) < 40:
        if game.turn(s) == CHANCE:
            game.play(s, int(rng.choice(game.num_outcomes, p=game.chances(s))))
            continue
        action = int(rng.choice(game.legal(s)))
        found = consequences(game, np.array([s]), np.array([action]))
        game.play(s, action)
        dealt = game.turn(s) == CHANCE
        assert found.exact[0] == (not dealt)
        seen.append(dealt)
    assert True in seen and False in seen
