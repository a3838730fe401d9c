"""Looking ahead: what actions are worth, against an expectation by hand."""

from __future__ import annotations

import numpy as np
import pytest
from small_games import COIN, THREE_IN_A_ROW

from kibitz.chance import streams
from kibitz.game import CHANCE, OVER, GameError
from kibitz.games import load
from kibitz.search.expectation import Lookahead

PLIES = 100
MADN = [  # pins before their lane, a lane that fills up, and captures
    "pins: 22,3,-,- / 1,13,-,- | turn: 0 | phase: play | die: 2",
    "pins: 2,23,25,26 / 9,10,-,- | turn: 0 | phase: play | die: 1",
    "pins: 23,20,-,- / 4,8,-,- | turn: 1 | phase: play | die: 5",
]


class Judging:
    """Values that depend on the view and on the seat."""

    def __init__(self, game):
        self.game, self.asked = game, 0

    def ask(self, views):
        self.asked += len(views)
        weights = np.sin(np.arange(1, 1 + self.game.view_size * self.game.seats))
        values = np.tanh(views @ weights.reshape(-1, self.game.seats))
        return np.zeros((len(views), self.game.num_actions)), values.astype(np.float32)


def by_hand(game, s, seat, judge):
    """The expectation of a position for a seat, without any bound."""
    who = game.turn(s)
    if who == OVER:
        return game.scores(s)[seat]
    out = np.zeros(game.max_legal, np.int16)
    moves = game.moves(s) if who == CHANCE else [int(a) for a in out[: game.candidates(s, out)]]
    if who != CHANCE and len(moves) > 1:
        return float(judge.ask(game.look(s, who)[None])[1][0, (seat - who) % game.seats])
    odds = game.chances(s) if who == CHANCE else {moves[0]: 1.0}
    return sum(odds[move] * by_hand(game, after(game, s, move), seat, judge) for move in moves)


def after(game, s, *moves):
    s = game.copy(s)
    for move in moves:
        game.play(s, move)
    return s


def legal(game, states):
    counts = np.array([len(game.legal(s)) for s in states])
    listed = np.zeros((len(states), game.max_legal), np.int16)
    for row, s in zip(listed, states, strict=True):
        row[: len(game.legal(s))] = game.legal(s)
    return listed, counts


def expectations(game, positions, room, seed=1):
    judge, states = Judging(game), np.array(positions)
    seats = np.array([game.turn(s) for s in states])
    rngs = streams(seed, "player", len(states))
    found = Lookahead(game, judge, room).expectations(states, seats, legal(game, states), rngs)
    return found, judge.asked


def by_hand_all(game, s):
    """Of every legal action, by hand."""
    judge, seat = Judging(game), game.turn(s)
    return [by_hand(game, after(game, s, action), seat, judge) for action in game.legal(s)]


def madn():
    """Positions with at most four plies left, so that an expectation by hand comes to an end."""
    game = load("madn", preset="madn2", distance=6, max_plies=PLIES)
    return game, [game.read(f"{text} | plies: {PLIES - 4}") for text in MADN]


def test_actions_are_worth_their_expectation_in_madn():
    game, positions = madn()
    found, asked = expectations(game, positions, room=4096)
    for row, s in zip(found, positions, strict=True):
        wanted = by_hand_all(game, s)
        assert len(set(wanted)) > 1
        assert row[: len(wanted)] == pytest.approx(wanted, abs=1e-6)
        assert not row[len(wanted) :].any()
    assert asked > 6 * len(positions)


def test_so_are_they_with_uneven_odds_and_ends():
    game = load(COIN)
    s = after(game, game.fresh(), 0, 2)
    assert expectations(game, [s], 64)[0][0] == pytest.approx(by_hand_all(game, s), abs=1e-6)


def test_without_chance_the_next_position_is_judged_or_has_ended():
    game = load(THREE_IN_A_ROW)
    s = after(game, game.fresh(), 0, 3, 1, 4)
    found, asked = expectations(game, [s], room=1)
    wanted = by_hand_all(game, s)
    assert found[0, : len(wanted)] == pytest.approx(wanted, abs=1e-6)
    assert found[0, game.legal(s).index(2)] == 1.0  # three in a row
    assert asked == len(wanted) - 1


def test_without_room_chance_is_rolled_and_right_on_average():
    game, positions = madn()
    wanted = by_hand_all(game, positions[0])
    found, asked = expectations(game, [positions[0]] * 4000, room=1)
    means = found[:, : len(wanted)].mean(0)
    errors = found[:, : len(wanted)].std(0) / np.sqrt(len(found))
    assert (np.abs(means - wanted) < 4 * errors).all()
    assert asked <= 4000 * len(wanted)


def test_a_table_does_not_depend_on_others():
    game, positions = madn()
    judge, states, rngs = Judging(game), np.array(positions * 9), streams(5, "player", 27)
    seats, listed = np.array([game.turn(s) for s in states]), legal(game, states)
    ahead = Lookahead(game, judge, 8)
    ahead.tables = 4
    together = ahead.expectations(states, seats, listed, rngs.copy())
    for k in range(27):
        one = tuple(array[k : k + 1] for array in listed)
        rng = rngs[k : k + 1].copy()
        alone = ahead.expectations(states[k : k + 1], seats[k : k + 1], one, rng)
        assert alone[0] == pytest.approx(together[k], abs=1e-6)


def test_it_is_refused_where_something_is_hidden():
    game = load("kuhn")
    with pytest.raises(GameError, match="lookahead=8: only for games in which nothing is hidden"):
        Lookahead(game, Judging(game), 8)
