"""Players that search with alpha-beta: what their text means, and how they use a clock."""

import time

import pytest

from kibitz.arena.table import Table
from kibitz.games import load
from kibitz.players import player
from kibitz.players.alphabeta import HARD_PARTS, RESERVE, SECONDS, SOFT_PARTS, Thinking
from kibitz.search.deepening import AlphaBeta, Limits

BLACK = ["A1", "B1", "C1", "D1", "E1", "E2"]
WHITE = ["C5", "B5", "E5", "A6", "D6", "F6"]


@pytest.fixture(scope="module")
def game():
    return load("escampe", preset="rules")


def table_after(game, placing):
    table = Table(game, seed=1)
    for cell in placing:
        table.play(cell)
    return table


def test_a_feature_that_is_switched_off_in_the_text_is_off_in_the_search(game):
    whole, less = player("alphabeta", game), player("alphabeta:without=table+pvs", game)
    assert whole._thinker().features == AlphaBeta(game).features
    assert less._thinker().features == AlphaBeta(game, without=("table", "pvs")).features


# The clock of a game ------------------------------------------------------------------------------


def test_without_a_clock_a_move_takes_what_the_text_says_or_a_fifth_of_a_second():
    assert Thinking().limits_of_move() == Limits(seconds=SECONDS)
    assert Thinking(limits=Limits(depth=4)).limits_of_move() == Limits(depth=4)


@pytest.mark.parametrize("left", [600.0, 60.0, 2.0])
def test_a_move_takes_a_share_of_what_the_clock_has_left_and_never_the_reserve(left):
    limits = Thinking().limits_of_move(left)
    assert limits.seconds == pytest.approx((left - RESERVE) / HARD_PARTS)
    assert limits.soft_seconds == pytest.approx((left - RESERVE) / SOFT_PARTS)


@pytest.mark.parametrize("left", [RESERVE, 0.01, 0.0, -3.0])
def test_a_player_with_nothing_but_the_reserve_left_answers_at_once(left):
    assert Thinking().limits_of_move(left).seconds <= 0.001


def test_with_a_clock_the_limits_of_the_text_hold_all_the_same():
    limits = Thinking(limits=Limits(depth=4, seconds=2.0)).limits_of_move(600.0)
    assert limits == Limits(depth=4, seconds=2.0, soft_seconds=1.0)
    assert Thinking(limits=Limits(seconds=20.0)).limits_of_move(9.0).seconds == 1.0


def test_a_single_legal_move_is_played_without_a_search(game, monkeypatch):
    s = game.read("nnNb--/nnb---/nb----/b-----/b-----/-----B b 0")  # Black must pass
    table = Table(game)
    table._truth = s
    monkeypatch.setattr(AlphaBeta, "search", None)
    assert table.ask(player("alphabeta", game), seconds_left=600.0) == table.actions[0]


def test_white_places_within_the_share_of_one_move(game):
    who = player("alphabeta", game)
    table = table_after(game, BLACK)
    table.ask(who, seconds_left=0.0)  # whatever must be compiled is compiled now
    who._planned.clear()
    began = time.monotonic()
    table.ask(who, seconds_left=RESERVE + HARD_PARTS * 0.05)
    assert time.monotonic() - began < 1.0  # 0.05 where nothing else runs; all plans take 0.6


def test_a_plan_that_could_not_be_looked_at_in_time_is_not_preferred(game, monkeypatch):
    who, table = player("alphabeta", game), table_after(game, BLACK)
    position, values = table.sight().imagine()[0], iter([3, 9, 5])

    def plan_value(position, plan, limits):
        if (value := next(values, None)) is None:
            time.sleep(0.06)  # the time is over within this search
            return 100
        return value

    monkeypatch.setattr(who, "_plan_value", plan_value)
    plans = [[k] for k in range(6)]
    assert who._best_plan(position, plans, Limits(seconds=0.05)) == [1]


def test_a_sight_through_another_view_shows_the_same_clock(game):
    sight = Table(game).sight(seconds_left=7.0)
    assert sight.through("pieces").seconds_left == 7.0
    assert Table(game).sight().seconds_left is None


def test_a_game_on_a_short_clock_is_played_to_its_end_in_time(game):
    who, left, table = player("alphabeta", game), [1.5, 1.5], table_after(game, [*BLACK, *WHITE])
    table.ask(who, seconds_left=0.0)  # whatever must be compiled is compiled now
    while not table.over and table.ply < 200:
        began, seat = time.monotonic(), table.turn
        action = table.ask(who, seconds_left=left[seat])
        left[seat] -= time.monotonic() - began
        table.play(action)
    assert min(left) > 0
