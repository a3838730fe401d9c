"""The example of a game outside the package: Goofspiel, the same as OpenSpiel's."""

import random
from pathlib import Path

import numpy as np
import pytest

from kibitz.arena.match import match
from kibitz.chance import streams
from kibitz.contract import check
from kibitz.game import CHANCE, ONLOOKER, OVER, GameError
from kibitz.games import load
from kibitz.search.mcts import Search, Settings

FILE = Path(__file__).parent.parent / "examples" / "goofspiel.py"
PLAYOUTS = {
    (2, 4): 200,
    (2, 8): 200,
    (2, 13): 100,
    (3, 5): 200,
    (3, 13): 50,
    (4, 4): 200,
    (4, 8): 50,
}


def pairs(game, table, dice):
    """Both games position by position, through one game of random play."""
    s, state = game.fresh(), table.new_initial_state()
    while game.turn(s) != OVER:
        yield s, state
        move = dice.choice(game.moves(s))
        game.play(s, move)
        state.apply_action(move)
    yield s, state


@pytest.mark.parametrize(("players", "cards"), PLAYOUTS)
def test_it_plays_as_open_spiel_does(players, cards):
    pyspiel = pytest.importorskip("pyspiel")
    game = load(FILE, players=players, cards=cards)
    table = pyspiel.load_game(game.open_spiel(game.options))
    dice = random.Random(f"{players} {cards}")
    for _ in range(PLAYOUTS[players, cards]):
        for s, state in pairs(game, table, dice):
            over = game.turn(s) == OVER
            assert state.is_terminal() == over
            if over:
                assert np.allclose(game.scores(s), state.returns(), atol=1e-6)
                continue
            assert (game.turn(s) == CHANCE) == state.is_chance_node()
            assert game.moves(s) == sorted(state.legal_actions())
            if game.turn(s) == CHANCE:
                theirs = dict(state.chance_outcomes())
                assert np.allclose([p for p in game.chances(s) if p], [*theirs.values()])
            else:
                assert game.turn(s) == state.current_player()


def test_there_are_a_thousand_play_outs():
    assert sum(PLAYOUTS.values()) == 1000


@pytest.mark.parametrize(
    "players", [*(pytest.param(few, marks=pytest.mark.slow) for few in (2, 3)), 4]
)
def test_it_keeps_every_promise(players):
    broken = [
        r for r in check(FILE, games=10, options={"players": players, "cards": 4}) if not r.passed
    ]
    assert not broken, broken


def after(*moves, **options):
    game = load(FILE, **options)
    s = game.fresh()
    for move in moves:
        game.play(s, move)
    return game, s


def test_a_bid_is_a_secret_until_all_have_bid():
    game, s = after(6, players=3)  # prize 7
    assert game.news(s, 0, 2) == "bid 3"
    assert game.news(s, 1, 2) == game.news(s, 1, 5) == "seat 0 has bid"
    game.play(s, 2)
    game.play(s, 4)
    assert game.seen(s, ONLOOKER) == game.seen(after(6, 3, 3, players=3)[1], ONLOOKER)
    for seat in (0, 1, 2, ONLOOKER):
        assert game.news(s, seat, 7) == "bids: seat 0 3, seat 1 5, seat 2 8"
    game.play(s, 7)
    assert s.points.tolist() == [0, 0, 7]


def test_tied_top_bids_discard_the_prize():
    _, s = after(6, 3, 3, 1, players=3)
    assert s.points.tolist() == [0, 0, 0] and s.prize == 0


def test_the_last_round_plays_itself():
    game, s = after(*(0, 0, 1), *(1, 1, 0), *(2, 2, 3), cards=4)
    assert game.turn(s) == OVER  # 1 and 3 to seat 1; 2 and, with its last card, 4 to seat 0
    assert s.points.tolist() == [6, 4] and game.scores(s) == [1, -1]


def test_winners_share():
    game = load(FILE, players=4)
    s = game.fresh()
    s.rounds = 8
    s.points[:] = (9, 9, 1, 0)
    assert np.allclose(game.scores(s), [0.5, 0.5, -0.5, -0.5])
    s.points[:] = 9
    assert game.scores(s) == [0, 0, 0, 0]


def test_bidding_the_value_of_the_prize_wins_nine_games_of_ten_against_random():
    result = match(load(FILE), "matching", "random", games=4000, seed=1)
    assert 0.90 < result.win_rate < 0.95


@pytest.mark.parametrize("options", [{"players": 5}, {"players": 1}, {"cards": 3}, {"cards": 14}])
def test_other_sizes_are_refused(options):
    with pytest.raises(GameError, match=r"players|cards"):
        load(FILE, **options)


@pytest.mark.parametrize("players", [2, 4])
def test_in_a_search_nobody_answers_a_bid_that_is_still_secret(players):
    """The first bidder's tree has one decision of the second bidder, whatever it has bid itself."""
    game, s = after(6, players=players)
    search = Search(game, 1, Settings(simulations=100), evaluator="uniform")
    search.run(np.array([s]), streams(1, "search", 1))
    names = set(search.forest.nodes["name"][0].tolist())
    second = [after(6, bid, players=players)[1] for bid in range(8)]
    assert {int(game.known(t, 1)) for t in second} < names
    assert len({int(game.known(t, 1)) for t in second}) == 1
    assert not names & {int(game.known(t, 0)) for t in second}


def test_in_a_search_others_draw_their_secret_bids():
    """Bidding 4 for the prize of 4 is clearly best, but whoever bids at the same time may err."""
    game, s = after(*(0, 0, 1), *(1, 1, 0), 3, cards=4)
    search = Search(game, 1, Settings(simulations=400))
    search.run(np.array([s]), streams(1, "search", 1))
    game.play(s, 2)
    nodes, edges = search.forest.nodes[0], search.forest.edges[0]
    node = nodes[nodes["name"] == game.known(s, 1)][0]
    visits = edges["visits"][node["edge"] : node["edge"] + 2]
    assert visits.sum() > 300 and 0.4 < visits[0] / visits.sum() < 0.6
