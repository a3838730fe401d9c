"""A network of integers that follows a search: equal to torch, and to itself from scratch."""

import numpy as np
import pytest
import torch
from search_tables import wandered as anywhere

from kibitz import games
from kibitz.game import OVER, GameError
from kibitz.nets.accumulator import AccumulatorConfig, AccumulatorNet
from kibitz.players.static import integer_judge, views_of
from kibitz.search.accumulator import ONE, UNIT, begin, follow, whole
from kibitz.search.deepening import AlphaBeta, Limits, stripped
from kibitz.search.judging import EVEN, judge_token, judged


@pytest.fixture(scope="module")
def game():
    return games.load("escampe", preset="rules").through("pieces")


@pytest.fixture(scope="module")
def net():
    return AccumulatorNet(AccumulatorConfig(), seed=3).eval()


def wandered(game, size):
    """Positions of random play, a few plies after the pieces were placed."""
    states = anywhere(game, 2 * size, plies=18)
    return states[states["placed"] == 12][:size]


def started(judge, s):
    note = np.zeros(1, judge.note)[0]
    begin(s, judge.plan, note)
    return note


def test_integers_say_what_torch_says(game, net):
    """Weights are rounded to 1/255 and 1/1024, which costs about a hundredth."""
    judge, states = integer_judge(game, net), wandered(game, 200)
    token = judge_token(game, judge)
    ours = np.array([judged(token, s, started(judge, s)) for s in states]) / EVEN
    with torch.no_grad():
        theirs = net(torch.from_numpy(views_of(game, states)))[1][:, 0].numpy()
    assert np.abs(ours - theirs).max() < 0.02 and np.corrcoef(ours, theirs)[0, 1] > 0.99


def test_a_note_that_follows_moves_is_the_note_begun_anew(game, net):
    judge, rng = integer_judge(game, net), np.random.default_rng(1)
    for s in wandered(game, 20):
        note = started(judge, s)
        for _ in range(30):
            if game.turn(s) == OVER:
                break
            action, after = int(rng.choice(game.legal(s))), np.zeros(1, judge.note)[0]
            follow(s, action, judge.plan, note, after)
            game.play(s, action)
            assert (after.sums == started(judge, s).sums).all()
            note = after


def test_the_search_finds_with_it_what_it_finds_when_leaves_are_judged_outside(game, net):
    judge = integer_judge(game, net)
    token = judge_token(game, judge)

    def outside(states):
        return np.array([judged(token, s, started(judge, s)) for s in states])

    for s in wandered(game, 10):
        inside = AlphaBeta(game, judge).search(s, Limits(depth=3))
        assert AlphaBeta(game, outside).search(s, Limits(depth=3)).lines == inside.lines


def test_colours_may_be_exchanged(game, net):
    """The same position with all pieces and the move exchanged has the same value."""
    judge = integer_judge(game, net)
    token, bare = judge_token(game, judge), stripped(game)
    for s in wandered(game, 20):
        text = bare.text(s).split()
        swapped = text[0].translate(str.maketrans("bnBN", "nbNB"))
        other = bare.read(f"{swapped} {'b' if text[1] == 'w' else 'w'} {text[2]}")
        assert judged(token, s, started(judge, s)) == judged(token, other, started(judge, other))


def test_weights_that_would_overflow_are_refused():
    assert whole(np.array([1.0, -2.0]), ONE, 2047).tolist() == [255, -510]
    assert whole(np.array([0.5]), UNIT, 2047).tolist() == [512]
    for bad in (np.array([1e6]), np.array([np.nan])):
        with pytest.raises(GameError, match="do not fit into a network of integers"):
            whole(bad, ONE, 2047)
