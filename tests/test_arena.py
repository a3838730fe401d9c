"""Tables, matches and ratings."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kibitz.arena.match import GROUPS_IN_A_CHUNK, MatchResult, elo, match, play_chunk
from kibitz.arena.rating import ResultsError, bradley_terry, ratings, saved_match
from kibitz.arena.table import Table, recorded_options, replay
from kibitz.batch import IllegalAction
from kibitz.game import CHANCE, GameError, NotationError
from kibitz.games import load, names
from kibitz.players import Compiled, PlayerError, Sight, player


def played(game, seed=0):
    table = Table(game, seed=seed)
    while not table.over:
        table.play(table.ask(Compiled("random")))
    return table


# The table --------------------------------------------------------------------------------------


def test_a_table_throws_the_dice_before_anybody_moves():
    table = Table(load("liars_dice"), seed=1)
    assert table.turn == 0
    assert [e.seat for e in table.events] == [CHANCE] * 10


def test_the_same_seed_deals_the_same_game_and_another_seed_another():
    game = load("liars_dice")
    assert Table(game, seed=1).text() == Table(game, seed=1).text()
    assert Table(game, seed=1).text() != Table(game, seed=2).text()


def test_an_illegal_action_is_refused_with_what_was_possible_and_nothing_is_lost():
    table = Table(load("liars_dice", dice=(1, 1)), seed=1)
    table.play("2x5")
    before = table.record()
    with pytest.raises(IllegalAction, match=r"liars_dice, seat 1, ply 1: '1x1'(.|\n)*2x6, liar"):
        table.play("1x1")
    with pytest.raises(IllegalAction, match="seat 1, ply 1: 99 is not legal"):
        table.play(99)
    assert table.record() == before


def test_nothing_can_be_played_or_asked_after_the_end():
    table = played(load("kuhn"))
    with pytest.raises(IllegalAction, match="the game is over, 'bet' comes too late"):
        table.play("bet")
    with pytest.raises(GameError, match="nobody is to move"):
        table.sight()


def test_the_winner_of_an_unfinished_game_is_not_told():
    with pytest.raises(GameError, match="not over"):
        _ = Table(load("liars_dice"), seed=1).scores


@pytest.mark.parametrize("name", names())
def test_a_record_replays_to_the_same_position_at_every_ply(name):
    game = load(name)
    table = played(game, seed=5)
    again = replay(game.bind(**recorded_options(table.record())), table.record())
    assert again.text() == table.text() and again.scores == table.scores
    assert again.record() == table.record()
    for ply in range(table.ply):
        halfway = replay(game, table.record(), ply)
        assert halfway.ply == ply and halfway.turn >= 0
        assert table.record().startswith(halfway.record())


@pytest.mark.parametrize(
    ("mangle", "message"),
    [
        (lambda r: "nonsense", "this is no record"),
        (lambda r: r.replace("game: kuhn", "game: whist"), "record of 'whist', not of 'kuhn'"),
        (lambda r: r.replace("fingerprint: ", "fingerprint: 0"), "has changed since"),
        (lambda r: r + "0: bet\n", "not 0's move"),
        (lambda r: r.replace("chance: ", "chance: joker ", 1), "line 6: 'joker"),
    ],
)
def test_a_spoilt_record_is_refused_in_a_sentence(mangle, message):
    game = load("kuhn")
    with pytest.raises(NotationError, match=message):
        replay(game, mangle(played(game, seed=1).record()))


# Sights -----------------------------------------------------------------------------------------


def test_the_truth_is_not_in_a_sight():
    """Over many sights of one table, what a seat cannot know comes out in many ways."""
    game = load("liars_dice")
    table = Table(game, seed=1)
    table.play("3x6")
    hands = {tuple(table.sight()._tables.states[0].hand[0])}
    for _ in range(20):
        table.ask(Compiled("random"))
        sight = table.sight()
        hands.add(tuple(sight._tables.states[0].hand[0]))
        assert (sight._tables.states[0].hand[1] == table._truth.hand[1]).all()
    assert len(hands) > 10


def test_an_imagined_table_looks_the_same_to_the_seat_that_imagines_it():
    game = load("liars_dice")
    table = Table(game, seed=1)
    sight = table.sight()
    tables = [sight.imagine()[0] for _ in range(10)]
    assert len({t.tobytes() for t in tables}) > 1
    for each in tables:
        assert (game.look(each, 0) == sight.views[0]).all()
        assert game.legal(each) == sight.actions[0] == table.actions


def test_asking_a_player_does_not_change_the_table_or_its_dice():
    game = load("liars_dice")
    asked, left_alone = Table(game, seed=1), Table(game, seed=1)
    for _ in range(5):
        asked.ask(Compiled("honest"))
    for table in (asked, left_alone):
        table.play("1x1")
    assert asked.record() == left_alone.record()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nobody", "no player 'nobody'; there are: random, honest, threshold"),
        ("honest:depth=2", "honest has no options"),
        ("random:2", "should be like sims=200"),
    ],
)
def test_a_player_that_does_not_exist_is_refused(text, message):
    with pytest.raises(PlayerError, match=message):
        player(text, load("liars_dice"))


# Matches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in names() if load(name).players])
def test_the_first_baseline_of_a_game_is_its_strongest(name):
    """It is whom a person meets who names nobody."""
    game = load(name)
    first, *others = (*game.players, "random")
    for other in others:
        assert match(game, first, other, games=1000).low > 0.5, other


@pytest.mark.parametrize(
    ("pair", "published"), [(("honest", "threshold"), 0.575), (("honest", "random"), 0.960)]
)
def test_the_baselines_meet_their_published_results(pair, published):
    """8,000 games each there, with an interval of 0.011 either way (0.004 at 0.96)."""
    result = match(load("liars_dice"), *pair, games=8000, seed=1)
    error = (published * (1 - published) / 8000) ** 0.5
    assert result.agrees(published, error), (result.win_rate, result.standard_error)


def test_a_player_draws_level_with_itself_on_the_same_deals():
    """Both games of a pair are the same game then, so every pair is split exactly."""
    result = match(load("liars_dice"), "honest", "honest", games=400)
    assert result.win_rate == 0.5 and result.standard_error == 0


def test_exchanging_the_players_exchanges_the_result():
    game = load("liars_dice")
    one = match(game, "honest", "threshold", games=400, seed=3)
    other = match(game, "threshold", "honest", games=400, seed=3)
    assert one.win_rate == pytest.approx(1 - other.win_rate)
    assert one.by_seat[0] == pytest.approx(1 - other.by_seat[1])


def test_a_match_is_the_sum_of_its_chunks_whatever_their_size():
    game = load("liars_dice")
    seated = [player(p, game) for p in ("honest", "random")]
    whole = play_chunk(game, seated, 7, 0, 60)
    parts = play_chunk(game, seated, 7, 0, 25) + play_chunk(game, seated, 7, 25, 35)
    assert whole.rates == parts.rates and whole.points == parts.points


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """honest-threshold in 120 short matches: 95 % intervals around a long match's rate."""
    game = load("liars_dice")
    truth = match(game, "honest", "threshold", games=40_000, seed=99).win_rate
    short = [match(game, "honest", "threshold", games=200, seed=s) for s in range(120)]
    covered = np.mean([r.low <= truth <= r.high for r in short])
    assert 0.88 <= covered <= 0.99


def test_a_clean_sweep_still_has_an_interval():
    result = match(load("liars_dice", die_loss="loser"), "honest", "random", games=40)
    assert result.win_rate == 1.0 and 0.8 < result.low < 1.0


@pytest.mark.parametrize("die_loss", ["loser", "winner"])
def test_a_match_in_rounds_is_won_by_who_wins_rounds(die_loss):
    rounds = match(load("liars_dice", die_loss=die_loss), "honest", "threshold", games=2000)
    single = match(load("liars_dice"), "honest", "threshold", games=2000)
    assert rounds.games == 2000
    assert rounds.win_rate > single.win_rate > 0.5, "more rounds tell the better player more surely"


def test_elo_of_a_rate():
    assert elo(0.5) == 0
    assert elo(0.75) == pytest.approx(190.85, abs=0.01)
    assert elo(1.0) == float("inf") and elo(0.0) == float("-inf")


class Stubborn:
    name = "stubborn"

    def choose(self, sight: Sight) -> list[int]:
        return [77] * len(sight)


def test_an_illegal_choice_of_a_player_stops_the_match_and_names_the_players():
    with pytest.raises(IllegalAction, match=r"77 is not legal(.|\n)*stubborn"):
        match(load("kuhn"), Stubborn(), "random", games=10)


def test_a_match_needs_players_and_games():
    with pytest.raises(GameError, match="seats 2 to 2 players, not 3"):
        match(load("kuhn"), "random", "random", "random")
    with pytest.raises(GameError, match="at least one game, not 0"):
        match(load("kuhn"), "random", "random", games=0)


# Results in a file ------------------------------------------------------------------------------


def test_a_saved_match_equals_a_match_and_is_not_played_twice(tmp_path, monkeypatch):
    file, game = tmp_path / "r.sqlite", load("liars_dice")
    first = saved_match(file, game, "honest", "random", games=1400, seed=2)
    assert first.total == match(game, "honest", "random", games=1400, seed=2).total
    monkeypatch.setattr("kibitz.arena.match.play_chunk", None)  # playing again would fail
    again = saved_match(file, game, "Honest", "random", games=1400, seed=2)
    assert again.total == first.total


def test_a_longer_match_counts_no_game_twice(tmp_path):
    file, game = tmp_path / "r.sqlite", load("kuhn")
    for games in (300, 2 * GROUPS_IN_A_CHUNK + 200, 100):
        saved_match(file, game, "random", "random", games=games)
        saved_match(file, load("liars_dice"), "honest", "random", games=games)
    (title, rated), *_ = [(t, r) for t, r in ratings(file).items() if t.startswith("liars_dice")]
    assert "dice" in title
    assert rated[0].games == 2 * GROUPS_IN_A_CHUNK + 200 + 1, "and the half points of the prior"


def test_a_match_killed_at_any_moment_leaves_a_sound_file_and_goes_on(tmp_path):
    file = tmp_path / "r.sqlite"
    code = (
        "import sys; from kibitz.arena.rating import saved_match; from kibitz.games import load; "
        "saved_match(sys.argv[1], load('liars_dice'), 'honest', 'threshold', games=400_000, seed=4)"
    )
    killed = 0
    for pause in (0.0, 0.05, 0.2):
        process = subprocess.Popen([sys.executable, "-c", code, str(file)])
        while not (file.exists() and _chunk_count(file) > killed):
            assert process.poll() is None, "ended before it could be killed"
            time.sleep(0.01)
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with sqlite3.connect(file) as db:
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        killed = _chunk_count(file)
    games = 2 * GROUPS_IN_A_CHUNK * (killed + 1)
    result = saved_match(file, load("liars_dice"), "honest", "threshold", games=games, seed=4)
    undisturbed = match(load("liars_dice"), "honest", "threshold", games=games, seed=4)
    assert result.total == undisturbed.total


def _chunk_count(file: Path) -> int:
    with sqlite3.connect(file) as db:
        try:
            return int(db.execute("select count(*) from chunks").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("Dear diary, " * 100)
    with pytest.raises(ResultsError, match=r"letter\.txt cannot be used as a file of results"):
        saved_match(file, load("kuhn"), "random", "random", games=2)
    assert file.read_text().startswith("Dear diary")


def test_ratings_need_a_file(tmp_path):
    with pytest.raises(ResultsError, match="there is no file"):
        ratings(tmp_path / "none.sqlite")


def test_ratings_put_players_where_their_results_say():
    rated = bradley_terry({("a", "b"): 750, ("b", "a"): 250, ("b", "c"): 640, ("c", "b"): 360})
    assert [r.player for r in rated] == ["a", "b", "c"]
    by = {r.player: r.elo for r in rated}
    assert by["a"] - by["b"] == pytest.approx(elo(0.75), abs=0.5)
    assert by["b"] - by["c"] == pytest.approx(elo(0.64), abs=0.5)
    assert sum(by.values()) == pytest.approx(0, abs=1e-6)


def test_a_result_is_told_to_machines_with_the_promised_names():
    told = match(load("kuhn"), "random", "random", games=20).as_json()
    assert {"win_rate", "low", "high", "games", "draws"} <= told.keys()
    assert json.loads(json.dumps(told)) == told


def test_a_table_of_three_plays_every_rotation():
    """Three seats and two players: the sums of a hand-made chunk come out right."""
    from kibitz.arena.match import _summed

    who = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    scores = np.array([[1, 0, -1], [1, -1, 0], [0.5, 0.5, -1]], np.float32)

    class ThreeSeats:
        seats, score_range = 3, (-1.0, 1.0)

    chunk = _summed(ThreeSeats(), 2, scores, who, groups=1)
    result = MatchResult("three", ("a", "b"), 0, chunk)
    mine = np.array([1, -1, 1, -1, 0.5, -1])
    assert result.win_rate == pytest.approx((mine.mean() + 1) / 2)
    assert chunk.points == [[0, 2.5], [3.5, 0]], (
        "six comparisons between a and b, one of them drawn"
    )
