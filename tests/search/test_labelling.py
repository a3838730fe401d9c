"""Labelled positions of half-random games: what alpha-beta finds, whoever plays beside."""

import numpy as np
import pytest

from kibitz import games
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.search.deepening import AlphaBeta, Limits
from kibitz.search.labelling import UNDECIDED, Labeller, Schedule, judge_values
from kibitz.search.transpositions import PROVEN

GAMES = 64


@pytest.fixture(scope="module")
def escampe():
    return games.load("escampe", preset="rules", placing="drawn")


@pytest.fixture(scope="module")
def labeller(escampe):
    return Labeller(escampe, "linear", Schedule())


@pytest.fixture(scope="module")
def played(labeller):
    return labeller.play(streams(1, "training", GAMES))


def test_a_label_is_what_alpha_beta_finds_at_its_depth(escampe, played):
    thinker = AlphaBeta(escampe, "linear", slots=1 << 12)
    for s, label in zip(played.states, played.labels, strict=True):
        found = thinker.search(s, Limits(depth=int(label["depth"])))
        assert (found.best.score, found.depth) == (label["score"], label["depth"])


def test_an_open_position_is_searched_five_to_seven_plies_deep(played):
    open_ = np.abs(played.labels["score"]) <= PROVEN
    assert set(played.labels["depth"][open_]) == {5, 6, 7}
    assert played.labels["depth"].min() == 1  # a unicorn that can be taken at once


def test_the_games_of_a_call_follow_from_their_streams_alone(labeller, played):
    late = labeller.play(streams(1, "training", 16, 48))
    there = played.games >= 48
    assert late.states.tobytes() == played.states[there].tobytes()
    assert late.labels.tobytes() == played.labels[there].tobytes()


def test_positions_are_labelled_from_ply_five_to_the_stop(played):
    assert played.labels["ply"].min() == 5
    assert 60 < played.labels["ply"].max() < 99


def test_black_has_placed_on_either_edge(escampe):
    first = Labeller(escampe, "linear", Schedule(first_ply=0, labelled=1.0, depths=(1, 1)))
    found = first.play(streams(2, "training", GAMES))
    black = found.states["paladins"][found.labels["ply"] == 0, 1]
    assert len(black) == GAMES
    assert 10 < (black < 1 << 12).sum() < GAMES - 10


def test_the_result_is_that_of_the_side_to_move(escampe):
    """Without random moves a proven position ends as it was proven."""
    sure = Labeller(escampe, "linear", Schedule(random_moves=0.0, move_depth=3, depths=(3, 3)))
    labels = sure.play(streams(3, "training", GAMES)).labels
    proven = np.abs(labels["score"]) > PROVEN
    assert proven.sum() > 50
    assert (labels["result"][proven] == np.sign(labels["score"][proven])).all()


def test_a_game_that_was_stopped_has_no_result(escampe):
    short = Labeller(escampe, "linear", Schedule(first_ply=0, depths=(1, 1), stops=(1, 1)))
    labels = short.play(streams(4, "training", GAMES)).labels
    assert (labels["result"] == UNDECIDED).mean() > 0.7


def test_judging_without_a_search_is_what_the_judge_says(escampe, played):
    values = judge_values(escampe, "linear", played.states)
    linear = escampe.open_rules.judges["linear"]
    for s, value in zip(played.states[:20], values, strict=False):
        assert linear.value(s, linear.plan, np.zeros(1, linear.note)[0]) == value


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"random_moves": 1.5}, "random_moves=1.5: it is a share"),
        ({"depths": (7, 5)}, "depths=7-5: they rise"),
        ({"depths": (0, 5)}, "depths=0-5: they rise"),
        ({"labelled": 0.0}, "no position would be labelled"),
        ({"first_ply": 60}, "no position would be labelled"),
        ({"move_depth": 0}, "move_depth=0"),
        ({"move_depth": 57}, "from 1 to 56 plies"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_refused(wrong, sentence):
    with pytest.raises(GameError, match=sentence):
        Schedule(**wrong)
