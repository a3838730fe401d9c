"""The OpenSpiel door: its tests on our games, its games against ours, its solvers on ours."""

import importlib
import pickle
import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from kibitz import games
from kibitz.game import OptionError, Options, nothing_hidden
from kibitz.games.dominion import jobs

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.integration_tests import api_test  # noqa: E402
from open_spiel.python.algorithms import expected_game_score, ismcts, mcts  # noqa: E402
from open_spiel.python.algorithms.get_all_states import get_all_states  # noqa: E402
from open_spiel.python.observation import make_observation  # noqa: E402

from kibitz.adapters import open_spiel  # noqa: E402

SMALL = {"dice": (1, 1), "sides": 3, "variant": "high"}
UNIFORM = pyspiel.UniformProbabilitySampler(0.0, 1.0)


def after(table, *actions):
    """The state of a `pyspiel.Game` after these outcomes and actions."""
    state = table.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def random_states(table, seed, rounds):
    """Every state that is not a chance move in some games of random play."""
    rng = random.Random(seed)
    for _ in range(rounds):
        state = table.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                yield state
            state.apply_action(rng.choice(state.legal_actions()))
        yield state


# OpenSpiel's tests on every game ----------------------------------------------------------------


@pytest.mark.parametrize("name", games.names())
def test_random_play_finds_nothing_wrong(name):
    pyspiel.random_sim_test(open_spiel.game(name), num_sims=3, serialize=True, verbose=False)


@pytest.mark.parametrize(
    "options", [SMALL, {"dice": (2, 1), "sides": 2, "opening_call": True}, {"preset": "perudo"}]
)
def test_random_play_finds_nothing_wrong_under_other_options(options):
    table = open_spiel.game("liars_dice", **options)
    pyspiel.random_sim_test(table, num_sims=10, serialize=True, verbose=False)


def partly_walked(name):
    """OpenSpiel's test of some hundred states of a game, as a class for pytest."""

    class PartlyWalked(api_test.EnforceAPIOnPartialTreeBase):
        @classmethod
        def setUpClass(cls):
            cls.game_name, cls.game = name, open_spiel.game(name)
            super().setUpClass()

    return PartlyWalked


# pytest finds test cases by name in this module; games not written yet will have theirs.
for _name in games.names():
    globals()[f"TestSomeStatesOf_{_name}"] = partly_walked(_name)


# OpenSpiel's tests on the whole tree of small games ---------------------------------------------


class WholeTree:
    """OpenSpiel's test of a whole tree, with counts that follow from the rules by hand."""

    options: dict
    decisions_of_a_deal: int  # public states in which a seat is to move
    ends_of_a_deal: int
    hands: int
    deals: int

    @classmethod
    def setUpClass(cls):
        cls.game = open_spiel.game(cls.game_name, **cls.options)
        api_test.TOTAL_NUM_STATES[cls.game_name] = (
            1 + cls.hands,  # before the first hand is dealt, and before the second
            cls.deals * cls.decisions_of_a_deal,
            cls.deals * cls.ends_of_a_deal,
        )
        # Whoever is to move knows its hand and all that was said.
        api_test.PERFECT_RECALL_NUM_STATES[cls.game_name] = cls.hands * cls.decisions_of_a_deal
        super().setUpClass()


class TestWholeTreeOfKuhnPoker(WholeTree, api_test.EnforceAPIOnFullTreeBase):
    game_name, options = "kuhn", {}
    hands, deals = 3, 6
    decisions_of_a_deal = 4  # nothing said, p, b, pb
    ends_of_a_deal = 5  # pp, pbp, pbb, bp, bb


class TestWholeTreeOfTwoSidedDice(WholeTree, api_test.EnforceAPIOnFullTreeBase):
    game_name, options = "liars_dice", {**SMALL, "sides": 2}
    hands, deals = 2, 2 * 2
    decisions_of_a_deal = 2**4  # every set of the four bids may have been made
    ends_of_a_deal = 2**4 - 1  # and all but the empty one can be called


class TestWholeTreeOfThreeSidedDice(WholeTree, api_test.EnforceAPIOnFullTreeBase):
    game_name, options = "liars_dice", SMALL
    hands, deals = 3, 3 * 3
    decisions_of_a_deal = 2**6
    ends_of_a_deal = 2**6 - 1


# Against OpenSpiel's own games ------------------------------------------------------------------


@pytest.mark.parametrize(("dice", "sides"), [(1, 3), (2, 6), (5, 6)])
def test_liars_dice_is_the_game_that_openspiel_plays(dice, sides):
    theirs = pyspiel.load_game(f"liars_dice(players=2,numdice={dice},dice_sides={sides})")
    ours = open_spiel.game("liars_dice", dice=(dice, dice), sides=sides, variant="high")
    rng = random.Random(dice)
    for _ in range(2000):
        a, b = theirs.new_initial_state(), ours.new_initial_state()
        while not a.is_terminal():
            assert b.current_player() == a.current_player(), str(b)
            assert b.legal_actions() == a.legal_actions(), str(b)
            action = rng.choice(a.legal_actions())
            a.apply_action(action)
            b.apply_action(action)
        assert b.is_terminal() and b.returns() == a.returns(), str(b)


def test_kuhn_poker_is_the_game_that_openspiel_plays():
    theirs = get_all_states(pyspiel.load_game("kuhn_poker"), include_chance_states=True)
    ours = get_all_states(open_spiel.game("kuhn"), include_chance_states=True)

    def partition(states):
        return {
            history: (
                s.current_player(),
                s.legal_actions(),
                s.chance_outcomes() if s.is_chance_node() else None,
                s.returns() if s.is_terminal() else None,
            )
            for history, s in states.items()
        }

    assert len(ours) == 58 and partition(ours) == partition(theirs)


# OpenSpiel's algorithms on our games ------------------------------------------------------------


def solved_value(table, iterations):
    """What seat 0 gets when both play the average policy of CFR+."""
    solver = pyspiel.CFRPlusSolver(table)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    return expected_game_score.policy_value(table.new_initial_state(), [policy, policy])[0]


def test_solving_kuhn_poker_costs_the_first_seat_one_eighteenth():
    value = solved_value(open_spiel.game("kuhn"), iterations=100)
    assert value == pytest.approx(-1 / 18, abs=2e-4)


def test_solving_three_sided_dice_gives_the_first_seat_one_ninth():
    value = solved_value(open_spiel.game("liars_dice", **SMALL), iterations=60)
    assert value == pytest.approx(1 / 9, abs=2e-3)


def test_information_set_search_calls_with_the_king():
    table = open_spiel.game("kuhn")
    rng = np.random.RandomState(1)
    search = ismcts.ISMCTSBot(
        table, mcts.RandomRolloutEvaluator(1, rng), uct_c=2.0, max_simulations=200, random_state=rng
    )
    assert search.step(after(table, 1, 2, 1)) == 1  # queen against king, and seat 0 has bet


# Information states -----------------------------------------------------------------------------


def test_strings_are_equal_exactly_where_a_seat_cannot_tell_histories_apart():
    states = get_all_states(open_spiel.game("liars_dice", **SMALL))
    truth_of, string_of = {}, {}
    for state in states.values():
        for seat in range(2):
            history, infostate = state.history(), state.information_state_string(seat)
            truth = (seat, history[seat], tuple(history[2:]))  # its own die and what was said
            assert truth_of.setdefault(infostate, truth) == truth
            assert string_of.setdefault(truth, infostate) == infostate
    assert len(truth_of) == 2 * 3 * (64 + 63)


def test_an_action_is_its_number_to_its_seat_and_news_to_others():
    state = after(open_spiel.game("kuhn"), 0, 2, 1)
    latest = [state.information_state_string(seat).split()[-1] for seat in range(2)]
    assert latest[0].startswith("1.") and latest[1].startswith("0:bet.")


def test_a_seat_does_not_notice_the_card_of_another():
    table = open_spiel.game("kuhn")
    before, later = after(table, 0), after(table, 0, 1)
    assert later.information_state_string(0) == before.information_state_string(0)


def test_an_event_that_lays_something_open_is_told_with_what_it_laid_open():
    assert open_spiel.extended("0.a", ".b", "1:7") != open_spiel.extended("0.a", ".c", "1:7")


def puts_back_unseen(s):
    """Whether the seat to move chooses a card for its deck that nobody else sees."""
    k = int(s.depth) - 1
    hidden = k >= 0 and (s.job[k] == jobs.ORDER_LOOKED or not s.open[k])
    return hidden and s.job[k] in (jobs.TOPDECK, jobs.ORDER_LOOKED)


def test_a_seat_is_not_told_what_another_puts_on_its_deck_unseen():
    """What an Artisan or a Sentry puts back, in random play."""
    table, met = open_spiel.game("dominion", kingdom="deck_top"), 0
    for state in random_states(table, seed=1, rounds=8):
        if not state.is_terminal() and puts_back_unseen(state.s):
            other = 1 - state.current_player()
            strings = [
                state.child(a).information_state_string(other) for a in state.legal_actions()
            ]
            assert len({infostate.split()[-1].partition(".")[0] for infostate in strings}) == 1
            met += len(strings) > 1
    assert met > 5


def overlap(one, other):
    """Which part of a hand is in another one of the same size."""
    return np.minimum(one, other).sum() / one.sum()


def test_a_resampled_hand_is_no_more_like_the_truth_than_like_another_though_its_seat_is_to_move():
    table, with_truth, with_twin = open_spiel.game("dominion", kingdom="deck_top"), [], []
    sampler = random.Random(1).random
    for state in random_states(table, seed=2, rounds=3):
        mover = state.current_player()
        if mover >= 0 and state.s.depth == 0 and state.s.hand[mover].sum() > 2:
            one, other = (state.resample_from_infostate(1 - mover, sampler).s for _ in range(2))
            with_truth.append(overlap(state.s.hand[mover], one.hand[mover]))
            with_twin.append(overlap(other.hand[mover], one.hand[mover]))
    assert len(with_truth) > 100
    assert np.mean(with_truth) < np.mean(with_twin) + 0.03
    assert np.mean(with_truth) < 0.75, "where hands were kept both would be 1"


@pytest.mark.parametrize("name", games.names())
def test_a_resampled_table_is_the_same_to_the_seat(name):
    for state in random_states(open_spiel.game(name), seed=2, rounds=2):
        for seat in range(state.num_players()):
            twin = state.resample_from_infostate(seat, UNIFORM)
            assert twin.information_state_string(seat) == state.information_state_string(seat)
            if not state.is_terminal():  # at the end hands may lie open
                assert twin.observation_string(seat) == state.observation_string(seat)
            assert twin.observation_tensor(seat) == state.observation_tensor(seat)
            assert twin.current_player() == state.current_player()


def test_a_resampled_table_has_every_hand_that_the_seat_thinks_possible():
    state = after(open_spiel.game("kuhn"), 1, 2, 0)
    twins = {str(state.resample_from_infostate(0, UNIFORM)) for _ in range(60)}
    assert twins == {"qj p", "qk p"}


def test_a_resampled_table_names_what_the_other_seats_know():
    state = after(open_spiel.game("kuhn"), 1, 2, 0)
    twins = [state.resample_from_infostate(0, UNIFORM) for _ in range(60)]
    infostates = {str(twin): twin.information_state_string(1) for twin in twins}
    assert infostates["qj p"] != infostates["qk p"]


# Views and options ------------------------------------------------------------------------------


def test_an_observation_is_the_view():
    table = open_spiel.game("liars_dice", **SMALL)
    state, seen = after(table, 0, 2, 3), make_observation(table)
    seen.set_from(state, 1)
    assert (seen.tensor == games.load("liars_dice", **SMALL).look(state.s, 1)).all()


def test_an_observation_has_the_parts_of_the_view_by_name():
    table = open_spiel.game("kuhn")
    seen = make_observation(table)
    seen.set_from(after(table, 0, 2, 1), 1)
    assert {name: part.tolist() for name, part in seen.dict.items()} == {
        "card": [0, 0, 1],
        "bets": [[0, 1], [0, 0], [0, 0]],
    }


def test_an_observation_in_words_is_what_the_seat_sees():
    state = after(open_spiel.game("kuhn"), 0, 2, 1)
    assert state.observation_string(1) == "You hold the king. Bets so far: bet."


def test_there_is_no_observation_of_public_things_alone():
    kind = pyspiel.IIGObservationType(
        perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE
    )
    assert make_observation(open_spiel.game("kuhn"), kind) is None


def test_options_are_parameters():
    open_spiel.register_all()
    by_text = pyspiel.load_game("kibitz_liars_dice(dice=1;1,sides=3,variant=high)")
    assert by_text == open_spiel.game("liars_dice", **SMALL)


def test_a_tuple_of_one_number_stays_a_text():
    text = f"game(dice={open_spiel._joined((5,))})"
    assert open_spiel._commas(pyspiel.game_parameters_from_string(text)["dice"]) == "5"


def test_parameters_that_make_no_game_are_refused():
    open_spiel.register("liars_dice")
    with pytest.raises(OptionError, match="one die or more"):
        pyspiel.load_game("kibitz_liars_dice(dice=0;1)")


def test_a_game_is_registered_by_its_file(tmp_path):
    (tmp_path / "mine.py").write_text("from kibitz.games.kuhn import GAME\n")
    assert open_spiel.register(tmp_path / "mine.py") == "kibitz_kuhn"


def test_the_type_tells_what_kind_of_game_it_is():
    kind, game_type = pyspiel.GameType, open_spiel.game("kuhn").get_type()
    assert game_type.dynamics == kind.Dynamics.SEQUENTIAL
    assert game_type.chance_mode == kind.ChanceMode.EXPLICIT_STOCHASTIC
    assert game_type.information == kind.Information.IMPERFECT_INFORMATION
    assert game_type.utility == kind.Utility.ZERO_SUM


def test_a_game_without_dice_or_secrets_is_said_to_have_none():
    board = SimpleNamespace(
        name="board",
        seats=2,
        num_outcomes=0,
        redeal=nothing_hidden,
        zero_sum=False,
        perfect_recall=True,
    )
    kind, game_type = pyspiel.GameType, open_spiel.game_type(board, Options())
    assert game_type.chance_mode == kind.ChanceMode.DETERMINISTIC
    assert game_type.information == kind.Information.PERFECT_INFORMATION
    assert game_type.utility == kind.Utility.GENERAL_SUM


def test_actions_have_the_words_of_the_game():
    state = after(open_spiel.game("kuhn"), 0, 2)
    assert [state.action_to_string(a) for a in state.legal_actions()] == ["pass", "bet"]


def test_an_illegal_action_is_refused_in_openspiels_words():
    state = after(open_spiel.game("kuhn"), 0, 2)
    with pytest.raises(pyspiel.SpielError, match=r"illegal action \(5\)"):
        state.apply_action_with_legality_check(5)


def test_thirds_sum_to_zero_as_closely_as_openspiel_asks():
    scores = [1.0, *[open_spiel.exact(float(np.float32(-1 / 3)))] * 3]
    assert sum(scores) == pytest.approx(0, abs=1e-9)


# Other processes --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere():
    """A pickled state, opened in a process that has registered nothing."""
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    table = pickle.dumps(after(open_spiel.game("kuhn"), 2, 1, 0))
    return subprocess.run([sys.executable, "-c", code], input=table, capture_output=True)


def test_a_pickled_table_opens_in_another_process(elsewhere):
    assert elsewhere.stdout == b"kq p\n"


def test_a_process_that_registered_a_game_ends_in_peace(elsewhere):
    assert elsewhere.returncode == 0, elsewhere.stderr.decode()


def test_without_openspiel_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "kibitz.adapters.open_spiel")
    with pytest.raises(ImportError, match=r'pip install "kibitz\[adapters\]"'):
        importlib.import_module("kibitz.adapters.open_spiel")
