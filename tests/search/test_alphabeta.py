"""Alpha-beta: equal to plain minimax, with every feature on its own and all together."""

import numpy as np
import pytest

from kibitz import games
from kibitz.batch import Batch
from kibitz.compiled import kernel, rule
from kibitz.game import OVER, GameError, actions, play, turn
from kibitz.search.alphabeta import WIN, end_score
from kibitz.search.deepening import FEATURES, AlphaBeta, Limits
from kibitz.search.judging import NOBODY, decisive, judge_token, judged, key

POSITIONS = 500
NOT_EXACT = ("reductions", "extensions", "table")  # what may change the score at a fixed depth


@pytest.fixture(scope="module")
def escampe():
    return games.load("escampe", preset="rules", placing="drawn")


def positions_of(game, count, seed=3, plies=8):
    """Positions of random play, at several distances from the start."""
    batch = Batch(game, 2 * count, seed=seed)
    batch.settle()
    batch.wander(plies)
    batch.settle()
    return batch.states[batch.turns() >= 0][:count].copy()


@rule
def minimax(stack, notes, lists, keys, who, ply, depth):
    """The value of a position to the seat to move, by looking at everything."""
    s = stack[ply]
    keys[ply] = key(s)
    for earlier in range(ply - 2, -1, -1):
        if keys[earlier] == keys[ply]:
            return 0
    if ply > 0 and decisive(s) >= 0:
        return WIN - ply - 1
    if depth == 0:
        return judged(who, s, notes[0])
    best = -2 * WIN
    seat, count = turn(s), actions(s, lists[ply])
    for i in range(count):
        stack[ply + 1] = stack[ply]
        child = stack[ply + 1]
        play(child, lists[ply, i])
        mover = turn(child)
        if mover == OVER:
            value = end_score(child, seat, ply + 1)
        else:
            value = minimax(stack, notes, lists, keys, who, ply + 1, depth - 1)
            if mover != seat:
                value = -value
        best = max(best, value)
    return best


@kernel
def minimax_all(first, end, step, states, stack, notes, lists, keys, who, depth, values):
    for i in range(first, end, step):
        stack[0] = states[i]
        values[i] = minimax(stack, notes, lists, keys, who, 0, depth)


def minimax_values(game, states, judge, depth):
    plies = depth + 1
    values = np.zeros(len(states), np.int64)
    minimax_all(
        0,
        len(states),
        1,
        states,
        np.zeros(plies + 1, game.state),
        np.zeros(1, judge.note),
        np.zeros((plies, game.max_legal), np.int16),
        np.zeros(plies, np.uint64),
        judge_token(game, judge),
        depth,
        values,
    )
    return values


@pytest.fixture(scope="module")
def expected(escampe):
    states, judge = positions_of(escampe, POSITIONS), escampe.open_rules.judges["linear"]
    depth = 3
    return states, depth, minimax_values(escampe, states, judge, depth)


def scores(game, states, depth, without, judge="linear"):
    thinker = AlphaBeta(game, judge, slots=1 << 12, without=without)
    return [thinker.search(s, Limits(depth=depth)) for s in states]


def test_at_a_fixed_depth_the_score_is_that_of_minimax(escampe, expected):
    states, depth, values = expected
    assert len(states) == POSITIONS
    for s, value, found in zip(
        states, values, scores(escampe, states, depth, NOT_EXACT), strict=True
    ):
        if found.depth == depth:  # or it has found a forced win before, which minimax sees, too
            assert found.best.score == value, escampe.text(s)
        else:
            assert abs(found.best.score) > 90_000 and np.sign(found.best.score) == np.sign(value)


@pytest.mark.parametrize("feature", [f for f in FEATURES if f not in NOT_EXACT])
def test_a_feature_that_only_saves_time_changes_no_score(escampe, expected, feature):
    states, depth, values = expected
    without = [f for f in FEATURES if f != feature and f != "leaf_rule"]
    for value, found in zip(values[:60], scores(escampe, states[:60], depth, without), strict=True):
        assert found.depth < depth or found.best.score == value


def test_hidden_hands_are_not_for_alpha_beta():
    with pytest.raises(GameError, match="nothing is hidden"):
        AlphaBeta(games.load("kuhn"))


def test_a_search_without_a_judge_sees_the_end():
    assert NOBODY.value is not None
