"""Alpha-beta: equal to plain minimax, with every feature on its own and all together."""

from pathlib import Path

import numpy as np
import pytest

from kibitz import games
from kibitz.batch import Batch
from kibitz.compiled import kernel, rule
from kibitz.game import OVER, GameError, actions, play, turn
from kibitz.search import deepening
from kibitz.search.alphabeta import desk_type, end_score, seen_before
from kibitz.search.deepening import FEATURES, AlphaBeta, Limits, mate_in, stripped, without_history
from kibitz.search.judging import NOBODY, decisive, judge_token, judged, key
from kibitz.search.transpositions import WIN

SAMPLES = Path(__file__).parent.parent / "sample_games"
POSITIONS = 500
NOT_EXACT = ("reductions", "extensions", "table")  # what may change the score at a fixed depth


@pytest.fixture(scope="module")
def escampe():
    return games.load("escampe", preset="rules")


def positions_of(game, count, seed=3, plies=20):
    """Positions of random play, a few plies after the pieces were placed."""
    batch = Batch(game, 3 * count, seed=seed)
    batch.wander(plies)
    placed = batch.states["placed"] == 12  # games that had ended begin anew
    return batch.states[(batch.turns() >= 0) & placed][:count].copy()


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


CIRCLING = "n--n--/-n----/------/bn-b-N/-bn---/-Bb--b w 1"  # E B2-B3 E B3-B2 leads back to it


def test_a_position_that_comes_again_in_a_line_is_seen(escampe):
    (desk,) = np.zeros(1, desk_type(escampe, NOBODY.note))
    for ply, name in enumerate([7, 8, 9, 10, 7, 8, 11]):
        desk.frames[ply].key = name
    assert [bool(seen_before(desk, ply)) for ply in range(7)] == [False] * 4 + [True] * 2 + [False]


@pytest.mark.parametrize("feature", [f for f in FEATURES if f not in NOT_EXACT])
def test_a_feature_that_only_saves_time_changes_no_score(escampe, expected, feature):
    states, depth, values = expected
    without = [f for f in FEATURES if f != feature and f != "leaf_rule"]
    for value, found in zip(values[:60], scores(escampe, states[:60], depth, without), strict=True):
        assert found.depth < depth or found.best.score == value


def test_hidden_hands_are_not_for_alpha_beta():
    with pytest.raises(GameError, match="nothing is hidden"):
        AlphaBeta(games.load("kuhn"))


def test_a_search_without_a_judge_sees_no_more_than_the_end(escampe):
    s = escampe.read("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
    thinker = AlphaBeta(escampe, NOBODY)
    found = thinker.search(s, Limits(depth=3))
    assert found.mate_in == 3 and found.best.score == WIN - 3


@pytest.mark.oracle("escampe", "forced_wins")
def test_every_forced_win_is_found_with_all_first_moves_that_keep_it(escampe, oracle_case):
    """To the depth of the oracle, without reductions, which may look past a win."""
    board, side, band = (oracle_case[name] for name in ("board", "to_move", "required_band"))
    s = escampe.read(f"{'/'.join(board)} {side[0]} {band}")
    plies, wanted = oracle_case["win_in_plies"], oracle_case["first_moves"]
    thinker = AlphaBeta(escampe, "linear", without=["reductions", "extensions"])
    found = thinker.search(s, Limits(depth=plies or 7), lines=72 if plies else 1)
    if plies is None:
        assert found.mate_in is None or not 0 < found.mate_in <= 7
        return
    keeping = [line for line in found.lines if mate_in(line.score) == plies]
    assert found.mate_in == plies
    assert sorted(escampe.action_text(s, line.action) for line in keeping) == sorted(wanted)


def test_the_line_that_is_expected_can_be_played(escampe, expected):
    states, _, _ = expected
    for s in states[:20]:
        found = AlphaBeta(escampe).search(s, Limits(depth=5))
        s, line = escampe.copy(s), found.best.actions
        assert line[0] == found.best.action
        for action in line:
            assert action in escampe.legal(s)
            escampe.play(s, action)


def test_a_search_in_steps_is_the_search_at_once(escampe, expected):
    """Budgets of nodes stop it after every so many, and it goes on as if nothing had happened."""
    states, _, _ = expected
    for s in states[:10]:
        whole = AlphaBeta(escampe).search(s, Limits(depth=6))
        thinker = AlphaBeta(escampe)
        again = thinker.search(s, Limits(depth=6, seconds=1000.0, soft_seconds=1000.0))
        assert (whole.lines, whole.nodes) == (again.lines, again.nodes)


def test_a_network_that_judges_in_batches_gives_the_scores_of_the_same_judge(escampe, expected):
    states, depth, _ = expected
    linear = escampe.open_rules.judges["linear"]
    token, note = judge_token(escampe, linear), np.zeros(1, linear.note)[0]

    def outside(positions):
        return np.array([judged(token, s, note) for s in positions])

    for s in states[:40]:
        one = AlphaBeta(escampe, linear).search(s, Limits(depth=depth))
        other = AlphaBeta(escampe, outside).search(s, Limits(depth=depth))
        assert one.lines == other.lines
        assert one.judged == 0 or other.judged > 0


def test_threads_find_the_same_wins(escampe):
    s = escampe.read("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
    assert AlphaBeta(escampe, threads=2).search(s, Limits(depth=5)).mate_in == 3


def test_nodes_and_seconds_end_a_search(escampe):
    s = escampe.read("bb----/-Bb-bb/------/------/-n-n-n/n-N-n- w 0")
    assert AlphaBeta(escampe, NOBODY).search(s, Limits(nodes=1000)).nodes <= 1000
    assert AlphaBeta(escampe, NOBODY).search(s, Limits(seconds=0.05)).depth >= 1


def test_a_position_that_was_there_twice_is_a_draw(escampe, expected, monkeypatch):
    s = next(s for s in expected[0] if len(escampe.legal(s)) > 5)
    after = escampe.copy(s)
    escampe.play(after, escampe.legal(s)[2])
    twice = np.array([key(after)], np.uint64)
    monkeypatch.setattr(deepening, "without_history", lambda game, s: (s, twice, 1 << 20))
    found = AlphaBeta(escampe).search(s, Limits(depth=1), lines=72)
    scores = {line.action: line.score for line in found.lines}
    assert scores[escampe.legal(s)[2]] == 0 and sum(score == 0 for score in scores.values()) == 1


def test_a_search_knows_what_was_there_twice_and_how_long_the_game_may_last():
    game = games.load("escampe")
    s, bare = game.read(CIRCLING), stripped(game)
    trip = ["E", "B2-B3", "E", "B3-B2"]  # back to the same position
    for plies, text in enumerate([*trip, trip[0]]):
        position, twice, plies_left = without_history(bare, s)
        assert plies_left == 200 - plies and position.hash == s.hash
        assert twice.size == 0  # an occurrence counts when the position is left
        game.play(s, game.read_action(s, text))
    assert len(without_history(bare, s)[1]) == 1


@pytest.mark.parametrize("without", [(), FEATURES])
def test_three_in_a_row_is_a_draw(without):
    game = games.load(SAMPLES / "three_in_a_row.py")
    found = AlphaBeta(game, without=without).search(game.fresh(), Limits(depth=9))
    assert found.best.score == 0 and found.mate_in is None


def test_three_in_a_row_is_won_from_a_fork():
    game = games.load(SAMPLES / "three_in_a_row.py")
    s = game.fresh()
    for cell in (0, 1, 4):  # a corner, an edge, the centre: the corner's other end must be stopped
        game.play(s, cell)
    assert AlphaBeta(game).search(s, Limits(depth=7)).mate_in == -4


def test_a_game_that_says_nothing_to_searches_is_searched_all_the_same():
    """Nim: who leaves a multiple of four has won."""
    nim = games.load(SAMPLES / "nim.py")
    found = AlphaBeta(nim).search(nim.fresh(), Limits(depth=8))
    assert found.best.action == 2 and found.mate_in == 3


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"depth": 0}, "depth=0"),
        ({"depth": 1000}, "depth=1000"),
        ({"nodes": 0}, "nodes is above 0"),
        ({"seconds": -1.0}, "seconds is above 0"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits, sentence):
    with pytest.raises(GameError, match=sentence):
        Limits(**limits)


def test_unknown_judges_and_features_are_refused(escampe):
    with pytest.raises(GameError, match="no judge 'quadratic'; it has: linear"):
        AlphaBeta(escampe, "quadratic")
    with pytest.raises(GameError, match="no feature 'luck'"):
        AlphaBeta(escampe, without=["luck"])


def test_a_position_of_a_game_with_other_options_is_refused(escampe):
    other = games.load("escampe", preset="rules", placing="drawn")
    with pytest.raises(GameError, match="a game with other options"):
        AlphaBeta(escampe).search(other.fresh(), Limits(depth=1))


def test_null_moves_find_forced_wins_all_the_same(escampe):
    s = escampe.read("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2")
    assert AlphaBeta(escampe, null_move=True).search(s, Limits(depth=5)).mate_in == 3


def test_null_moves_save_nodes_where_they_are_allowed(escampe, expected):
    states, _, _ = expected
    nodes = [
        sum(AlphaBeta(escampe, null_move=on).search(s, Limits(depth=7)).nodes for s in states[:60])
        for on in (False, True)
    ]
    assert nodes[0] != nodes[1]  # it does something; whether it helps is for the bench to say


def test_several_threads_end_every_search(escampe, expected):
    """Helpers finish windows at any moment, also when the leader is about to go."""
    states, _, _ = expected
    thinker = AlphaBeta(escampe, threads=2)
    for s in states[:200]:
        found = thinker.search(s, Limits(depth=7))
        assert found.depth == 7 or found.mate_in is not None
        assert found.best.action in escampe.legal(s)
