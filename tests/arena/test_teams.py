"""Partners: seats that share a team, who meets whom in a match, and what counts as a win."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from small_games import PARTNERS

from kibitz.arena.match import MatchResult, line_ups, match, play_chunk, summed
from kibitz.contract import check
from kibitz.game import GameError
from kibitz.games import load, names
from kibitz.players import Scripted

FAULTS = Path(__file__).parent.parent / "contract" / "faults"


@pytest.fixture(scope="module")
def two():
    """Two teams of two."""
    return load(PARTNERS)


@pytest.fixture(scope="module")
def three(two):
    """Three teams of two."""
    return two.bind(teams=3)


# What a game says about its teams -----------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_without_partners_every_seat_is_a_team_and_nothing_is_said_of_it(name):
    game = load(name)
    assert game.teams == tuple(range(game.seats)) and game.captains == list(game.teams)
    assert "teams" not in game.describe(), "networks of before would no longer load"


def test_partners_are_part_of_what_a_game_is(two):
    assert two.teams == (0, 1, 0, 1) and two.captains == [0, 1]
    assert two.describe()["teams"] == [0, 1, 0, 1]
    beside = dataclasses.replace(two.sizes, teams=(0, 0, 1, 1))
    assert dataclasses.replace(two, shape=beside).fingerprint != two.fingerprint


@pytest.mark.parametrize(
    ("teams", "message"),
    [
        ((0, 1, 0), "teams has one number per seat: 4 of them, not 3"),
        ((0, 1, 0, 1, 0), "4 of them, not 5"),
        ((1, 2, 1, 2), r"numbered from 0 without a gap, not \(1, 2, 1, 2\)"),
        ((0, 2, 0, 2), "numbered from 0 without a gap"),
        ((0, -1, 0, -1), "numbered from 0 without a gap"),
        (("a", "b", "a", "b"), "numbered from 0 without a gap"),
    ],
)
def test_teams_that_make_no_sense_are_refused_in_a_sentence(two, teams, message):
    with pytest.raises(GameError, match=message):
        dataclasses.replace(two.sizes, teams=teams)


def test_a_game_with_teams_of_wrong_length_is_not_loaded():
    with pytest.raises(GameError, match="one number per seat: 2 of them, not 3"):
        load(FAULTS / "teams_of_wrong_length.py")


def test_a_game_with_partners_keeps_its_promises():
    promises = ["partners_score_the_same", "scores_stay_in_bounds", "players_do_not_peek"]
    for teams in (2, 3):
        for result in check(PARTNERS, options={"teams": teams}, games=20, only=promises):
            assert result.passed and not result.message, result.message


def test_partners_who_score_differently_break_the_promise(tmp_path):
    source = PARTNERS.read_text(encoding="utf-8")
    own = source.replace("int(s.die[(seat + teams) % (2 * teams)])", "int(s.die[seat])")
    (tmp_path / "own.py").write_text(own, encoding="utf-8")
    (result,) = check(tmp_path / "own.py", games=20, only=["partners_score_the_same"])
    assert own != source and not result.passed
    assert "the scores of teams (0, 1, 0, 1) are [" in result.message


def test_the_promise_about_partners_is_not_tried_without_any():
    (result,) = check("kuhn", games=20, only=["partners_score_the_same"])
    assert result.passed and "every seat is a team of its own" in result.message


# Who meets whom -----------------------------------------------------------------------------------


def seats(game, players):
    """Who sits where in the games of a group."""
    return line_ups(game, players)[:, game.teams].tolist()


def test_two_players_meet_as_whole_teams_each_team_in_turn(two, three):
    assert seats(two, 2) == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert seats(three, 2) == [[0, 1, 1, 0, 1, 1], [1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 1, 0]]
    assert seats(three, 3)[1] == [2, 0, 1, 2, 0, 1]


def test_only_distinct_rotations_are_played():
    """Four seats and two players, who sit alternately: two of four rotations are the same."""
    game = load("beasty_bar", players=4)
    assert seats(game, 2) == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert len(seats(game, 3)) == len(seats(game, 4)) == 4


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_player_starts_equally_often_and_has_every_team_equally_often(two, players):
    rows = line_ups(two.bind(teams=4), players)
    counts = [Counter(column) for column in rows.T.tolist()]
    assert all(count == counts[0] for count in counts)


def test_a_player_has_both_seats_of_its_team(two):
    """`cautious` wins as a pair against a pair; nobody sits beside an opponent."""
    result = match(two, "cautious", "random", games=2000, seed=1)
    assert result.low > 0.6 and result.games == 2000
    assert result.by_seat[0] == result.by_seat[2] and result.by_seat[1] == result.by_seat[3]
    assert result.elo == pytest.approx(match(two.bind(teams=3), "cautious", "random").elo, abs=40)


def test_who_brings_nobody_to_play_against_is_told(two):
    with pytest.raises(GameError, match="partners seats 2 to 2 players, not 3"):
        match(two, "random", "random", "random")
    together = dataclasses.replace(two, shape=dataclasses.replace(two.sizes, teams=(0, 0, 0, 0)))
    with pytest.raises(GameError, match="one team, which has nobody to play against"):
        match(together, "random", "random")


# Wins and scores ----------------------------------------------------------------------------------


def of_one_group(game, scores, players):
    chunk = summed(game, np.array(scores, np.float32), line_ups(game, players), groups=1)
    return MatchResult(game.name, tuple("abcd"[:players]), 0, chunk, game.score_range)


def test_wins_are_first_places_and_not_the_mean_score():
    """One seat against three that comes second every time has won nothing."""
    game = load("beasty_bar", players=4)
    second = [np.roll([1 / 3, 1, -1 / 3, -1], r) for r in range(4)]
    result = of_one_group(game, second, 4)
    assert result.win_rate == 0 and result.mean_score == pytest.approx(1 / 3)
    assert result.wins(1).mean == 1 and result.draws == 0


def test_a_shared_first_place_is_divided():
    game = load("beasty_bar", players=4)
    shared = [np.roll([2 / 3, 2 / 3, -1 / 3, -1], r) for r in range(3)] + [np.zeros(4)]
    result = of_one_group(game, shared, 4)
    assert [result.wins(k).mean for k in range(4)] == [0.4375, 0.4375, 0.0625, 0.0625]
    assert result.draws == 1


def test_wins_of_all_teams_of_a_player_are_its_own(three):
    """The first player has one team of three, the other two; a group is three games."""
    rows = [[1, 0, -1] * 2, [0, 1, -1] * 2, [0.5, 0.5, -1] * 2]
    result = of_one_group(three, rows, 2)
    assert [result.wins(k).mean for k in range(2)] == pytest.approx([2 / 3, 1 / 3])
    assert result.mean_score == pytest.approx((1 + 1 - 1) / 3)
    assert result.score(1).mean == pytest.approx((-0.5 - 0.5 + 0.5) / 3)
    assert result.by_seat == [1, 1, 0, 1, 1, 0]
    assert result.as_json()["by_player"][1]["teams"] == 2


def test_luck_alone_is_worth_no_elo_however_many_teams_there_are(three):
    """Each team wins once: the first player has won one game of three with one team of three."""
    rows = [[1, 0, -1] * 2, [1, 0, -1] * 2, [1, 0, -1] * 2]
    result = of_one_group(three, rows, 2)
    assert result.win_rate == pytest.approx(1 / 3)
    assert result.even_rate == pytest.approx(0.5) and result.elo == pytest.approx(0)


def test_with_chips_who_has_more_has_won(coin):
    """One game is won by two chips, the other lost by one: half of the games, and half a chip."""
    result = of_one_group(coin, [[2, -2], [1, -1]], 2)
    assert result.win_rate == 0.5 and result.mean_score == 0.5


def test_with_two_seats_the_win_rate_follows_from_the_mean_score():
    game = load("beasty_bar")
    result = match(game, "greedy", "random", games=400, seed=1)
    score = result.score()
    assert result.win_rate == pytest.approx((1 + score.mean) / 2)
    assert result.low == pytest.approx((1 + score.low) / 2)
    assert result.high == pytest.approx((1 + score.high) / 2)


def test_the_interval_of_a_score_stays_within_what_can_be_scored(coin):
    sweep = of_one_group(coin, [[2, -2], [-2, 2]], 2).score()
    assert sweep.mean == 2 and -2 < sweep.low < 2 and sweep.high == 2


def test_wilsons_interval_is_used_where_a_group_is_one_game(coin):
    """Three of four games won: 0.30 to 0.95, as the textbooks have it."""
    chunk = summed(coin, np.array([[1, -1]] * 3 + [[-1, 1]], np.float32), np.zeros((4, 2), int), 4)
    chunk = dataclasses.replace(chunk, wins=[3.0], win_squares=[3.0])
    wins = MatchResult("coin", ("a",), 0, chunk).wins()
    assert (wins.low, wins.high) == pytest.approx((0.3006, 0.9544), abs=1e-4)


def test_a_match_of_four_is_the_sum_of_its_chunks(two):
    game = two.bind(teams=4)
    seated = [Scripted(name) for name in ("cautious", "random", "cautious", "random")]
    whole = play_chunk(game, seated, 7, 0, 60)
    parts = play_chunk(game, seated, 7, 0, 25) + play_chunk(game, seated, 7, 25, 35)
    assert whole.wins == pytest.approx(parts.wins) and whole.teams == parts.teams == [1] * 4
    assert whole.scores == pytest.approx(parts.scores) and whole.games == parts.games == 240
