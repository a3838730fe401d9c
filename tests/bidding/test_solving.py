"""Decisions solved from public beliefs, and the players and the training that use them."""

import copy
import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from kibitz.arena.analysis import analyse
from kibitz.arena.exploitability import exploit, table_of_policy
from kibitz.arena.match import match
from kibitz.bidding.belief_tracker import BeliefTracker
from kibitz.bidding.beliefs import BeliefConfig, BeliefNet
from kibitz.bidding.contexts import WEAKNESS, Contexts, ContextSolver
from kibitz.bidding.every_history import policy_table
from kibitz.bidding.exact.ladder import BID, CALL, Ladder
from kibitz.bidding.hands import Hands
from kibitz.bidding.lookahead import Lookahead, Public, updated
from kibitz.bidding.solved_table import SolvedTable
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.players import player, seat_network
from kibitz.recipes import recipe
from kibitz.search.best_response import respond
from kibitz.search.regret import solve
from kibitz.search.sequences import silent
from kibitz.train.bidding import belief_play
from kibitz.train.bidding.belief_play import BeliefMethod, BeliefPlay
from kibitz.train.bidding.responses import Responses, decisions_along, responses
from kibitz.train.bidding.teachers import ContextTeacher, ExactTeacher, weak_player
from kibitz.train.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = BeliefConfig(sets=(6, 21), actions=25, width=32, depth=1, rank=4)


@pytest.fixture(scope="module")
def net():
    return BeliefNet(CONFIG, seed=3).eval()


def lookahead(net, dice):
    return Lookahead(Hands(load("liars_dice", dice=dice), "cpu"), net)


def random_public(look, standing, seed=0):
    """Tables with random beliefs."""
    random = torch.Generator().manual_seed(seed)
    beliefs = [
        torch.rand(len(standing), len(odds), generator=random).softmax(1)
        for odds in look.hands.odds
    ]
    return Public(0, torch.tensor(standing), beliefs, torch.zeros(len(standing), dtype=torch.long))


# Hands ------------------------------------------------------------------------------------------


def test_equal_hands_of_other_seats_and_tables_have_the_same_number():
    counts = {}
    for dice in itertools.product((1, 2), repeat=2):
        hands = Hands(load("liars_dice", dice=dice), "cpu")
        for seat in range(2):
            unary = hands.privs[seat][:, :-2].reshape(len(hands.privs[seat]), 6, -1)
            found = unary.sum(2)
            assert torch.equal(counts.setdefault(dice[seat], found), found)


def test_gains_are_what_the_rules_say():
    game = load("liars_dice", dice=(2, 1))
    hands = Hands(game, "cpu")
    random = np.random.default_rng(1)
    for _ in range(50):
        mine, theirs = random.integers(21), random.integers(6)
        rung = random.integers(len(hands.bids))
        s = game.copy(hands.bidding.deal[mine, theirs])
        game.play(s, hands.bids[rung])
        game.play(s, hands.call)
        assert hands.gains[rung, mine, theirs] == game.scores(s)[0]


# The network ------------------------------------------------------------------------------------


def test_the_values_of_a_table_sum_to_zero(net):
    look = lookahead(net, (1, 2))
    public = random_public(look, [-1, 3, 7])
    logits, mine, theirs = net(*public.roles, look.bids(public))
    total = (mine * public.roles[0]).sum(1) + (theirs * public.roles[1]).sum(1)
    assert logits.shape == (3, 25, 6)
    assert total.abs().max() < 1e-5


def test_a_network_comes_back_from_a_file_even_in_half_precision(net, tmp_path):
    save_net(tmp_path / "net.safetensors", copy.deepcopy(net).half(), {"game": {}})
    again, _ = load_net(tmp_path / "net.safetensors")
    assert isinstance(again, BeliefNet)
    assert again.config == CONFIG
    assert torch.equal(again.holding, net.holding.half())


# Looking ahead ----------------------------------------------------------------------------------


def test_after_the_highest_bid_all_hands_call_and_values_are_exact(net):
    look = lookahead(net, (2, 1))
    top = len(look.hands.bids) - 1
    public = random_public(look, [top, top])
    solved = look.solve(public, 3, 0.5, 0.05)
    assert torch.equal(solved.policy[:, -1], torch.ones(2, 21))
    mine, theirs = public.roles
    gains = look.hands.gains[top]
    assert torch.allclose(solved.values[0], -(theirs @ gains.T), atol=1e-6)
    assert torch.allclose(solved.values[1], mine @ gains, atol=1e-6)


def test_the_values_of_a_solution_sum_to_zero(net):
    look = lookahead(net, (2, 2))
    public = random_public(look, [-1, 0, 5, 20])
    solved = look.solve(public, 4, 0.5, 0.05)
    mine, theirs = public.roles
    total = (mine * solved.values[0]).sum(1) + (theirs * solved.values[1]).sum(1)
    assert total.abs().max() < 1e-3  # beliefs tremble, the policy does not
    assert torch.allclose(solved.policy.sum(1), torch.ones(4, 21), atol=1e-5)
    assert (solved.policy * ~look.legal(public)[:, :, None]).abs().max() == 0


def test_hands_move_towards_higher_values(net):
    """Without a magnet the policy is the network's own, times exponentials of the values."""
    look = lookahead(net, (1, 1))
    public = random_public(look, [4])
    step_size, before = 0.25, look.prior(public)
    unchanged = look.solve(public, 0, step_size, 0.0)
    assert torch.allclose(unchanged.policy, before, atol=1e-6)
    mine, theirs = public.roles
    values = torch.full((1, 13, 6), -torch.inf)
    values[:, -1] = -(look.hands.gains[4] @ theirs[0])
    for rung in range(5, 12):
        belief = updated(mine, before[:, rung])
        x = net.trunk(net.embed(0, theirs) + net.embed(1, belief), torch.tensor([rung]))
        values[:, rung] = net.hand_values(x, theirs, belief)[1].detach()
    wanted = (before.log() + step_size * values).softmax(1)
    assert torch.allclose(look.solve(public, 1, step_size, 0.0).policy, wanted, atol=1e-4)


def test_time_ends_the_rounds(net):
    look = lookahead(net, (1, 1))
    public = random_public(look, [-1])
    hurried = look.solve(public, 10**9, 0.5, 0.01, seconds=0.02)
    assert torch.allclose(hurried.policy.sum(1), torch.ones(1, 6), atol=1e-5)


# Beliefs and players ----------------------------------------------------------------------------


def test_beliefs_follow_from_what_each_hand_would_have_bid(net):
    look = lookahead(net, (1, 2))
    tracker = BeliefTracker(look, look.prior, rows=4)
    bids = (2, 5, 9)
    public = look.opening()
    for rung in bids:
        policy = look.prior(public)
        public = public.after(torch.tensor([rung]), policy[:, rung])
    odds = tracker.odds([bids], np.array([13]))
    assert public.mover == 1
    assert np.allclose(odds[0], look.prior(public)[0, :, 13], atol=1e-5)


def test_only_the_present_decision_is_solved(net):
    look, asked = lookahead(net, (1, 2)), []

    def decide(public):
        asked.append(public.standing.tolist())
        return look.prior(public)

    BeliefTracker(look, decide, rows=1).odds([(2, 5, 9)], np.array([13]))
    assert asked == [[9]]


def test_an_answer_does_not_depend_on_what_else_was_asked(net):
    look = lookahead(net, (1, 1))
    histories = [(), (3,), (3, 4), (0, 1, 2), (5, 11)]
    hands = np.array([0, 1, 2, 3, 4])
    together = BeliefTracker(look, look.prior, rows=4).odds(histories, hands)
    for k, history in enumerate(histories):
        alone = BeliefTracker(look, look.prior, rows=4).odds([history], hands[k : k + 1])
        assert np.array_equal(alone[0], together[k])


@pytest.fixture(scope="module")
def saved(net, tmp_path_factory):
    path = tmp_path_factory.mktemp("nets") / "beliefs.safetensors"
    save_net(path, net, {"game": load("liars_dice", dice=(2, 2)).describe()})
    return path


@pytest.mark.parametrize(
    "text",
    ["net:{}", "net:{},mode=sample", "net:{},rounds=2", "net:{},seconds=0.01"],
)
@pytest.mark.parametrize("dice", [(1, 1), (2, 1), (2, 2)])
def test_one_network_plays_tables_of_several_sizes(saved, text, dice):
    game = load("liars_dice", dice=dice)
    assert match(game, text.format(saved), "honest", games=8, seed=0).games == 8


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ("net:{}", {"dice": (3, 1)}, "was not made for 56 against 6 hands"),
        ("net:{}", {"dice": (1, 1), "variant": "normal"}, "was trained for variant joker"),
        ("net:{}", {"dice": (1, 1), "opening_call": True}, "can end before the first bid"),
        ("net:{},sims=4", {"dice": (1, 1)}, "cannot guide a tree search"),
        ("net:{},rounds=x", {"dice": (1, 1)}, "rounds is a whole number"),
        ("net:{},rounds=-1", {"dice": (1, 1)}, "rounds is a whole number"),
        ("net:{},seconds=-1", {"dice": (1, 1)}, "seconds is a number, finite and above 0"),
    ],
)
def test_a_belief_network_refuses_what_it_cannot_do_in_a_sentence(saved, text, options, why):
    with pytest.raises(GameError, match=why):
        player(text.format(saved), load("liars_dice", **options))


def test_every_history_at_once_is_what_a_player_answers_one_by_one(saved):
    game = load("liars_dice", dice=(2, 1), sides=3)
    ladder = Ladder(game)
    small = BeliefNet(BeliefConfig(sets=(3, 6), actions=10, width=16, depth=1, rank=4), seed=3)
    who = seat_network(game, small, mode="sample")
    at_once = who.table(ladder, silent)
    assert np.allclose(at_once, table_of_policy(ladder, who.odds), atol=1e-5)
    assert seat_network(game, small).table(ladder, silent) is None, "it draws otherwise"


def test_a_bid_that_hardly_any_hand_makes_says_little():
    belief = torch.tensor([[0.5, 0.5]])
    assert torch.allclose(updated(belief, torch.tensor([[1e-7, 1e-5]])), belief, atol=0.01)
    assert updated(belief, torch.tensor([[0.1, 0.9]]))[0, 1] > 0.89


def test_looking_ahead_makes_the_champion_harder_to_exploit():
    game = load("liars_dice", dice=(1, 1))
    lost = [
        exploit(game, text).response.exploitability
        for text in ("champion", "champion:rounds=16", "champion:rounds=64")
    ]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] <= 0.03 and lost[2] <= 0.015


def test_at_a_small_table_every_decision_is_part_of_one_strategy_for_the_game(saved):
    game = load("liars_dice", dice=(1, 1))
    ladder, who = Ladder(game), player(f"net:{saved},mode=sample,rounds=16", game)
    table = who.table(ladder, silent)
    asked = table_of_policy(ladder, who.odds)  # decision by decision
    for seat in range(2):
        wanted = ladder.value(table, seat, best=True)
        assert ladder.value(asked, seat, best=True) == pytest.approx(wanted, abs=1e-4)


def test_a_solution_that_has_just_begun_is_not_played(net):
    table = SolvedTable(load("liars_dice", dice=(1, 1)), rounds=15, seconds=None)
    otherwise = np.full((1, 13), 1 / 12)
    assert table.odds([()], np.array([0]), otherwise) is otherwise


def test_the_beliefs_of_a_player_are_shown(saved):
    game = load("liars_dice", dice=(2, 1))
    position = game.text(game.read("2,3 / 5 : 2x3"))
    first, second = analyse(game, position, who=f"net:{saved}").beliefs
    assert (first.seat, second.seat) == (0, 1)
    assert sum(first.counts) == pytest.approx(2) and sum(second.counts) == pytest.approx(1)
    assert second.counts == pytest.approx([1 / 6] * 6), "it has not bid yet"
    assert len({round(count, 4) for count in first.counts}) > 1
    assert len(first.likeliest[0][0].split()) == 2


# Training ---------------------------------------------------------------------------------------


def test_a_teacher_plays_the_solution_after_the_same_bids():
    game = load("liars_dice", dice=(1, 1))
    hands = Hands(game, "cpu")
    teacher, solved = ExactTeacher(hands, 40), solve(Ladder(game), 40)
    look = Lookahead(hands, BeliefNet(CONFIG, seed=3))
    opening = look.opening()
    policy = teacher.policy(opening)[0]
    bids = solved.average[BID, [1 << 11 - rung for rung in range(12)]]
    assert np.allclose(policy[:-1], bids / bids.sum(0), atol=1e-5) and (policy[-1] == 0).all()
    bid = opening.after(torch.tensor([2]), policy[None, 2])
    assert (bid.mover, bid.bid_set.tolist()) == (1, [1 << 2])
    answer = teacher.policy(bid)[0]
    assert (answer[:3] == 0).all(), "only higher bids and the call are legal"
    calls = solved.average[CALL, 1 << 9]
    raises = solved.average[BID, [(1 << 9) + (1 << 11 - rung) for rung in range(3, 12)]]
    assert np.allclose(answer[-1], calls / (calls + raises.sum(0)), atol=1e-5)


class Taught(Lookahead):
    """Plays by a teacher."""

    teacher = None

    def prior(self, public, low=0):
        return self.teacher.policy(public)


def exploited_teacher(game, teacher):
    look, form = Taught(Hands(game, "cpu"), BeliefNet(CONFIG, seed=3)), Ladder(game)
    look.teacher = teacher
    return respond(form, policy_table(form, look)).exploitability


def test_seats_that_remember_every_bid_play_the_equilibrium():
    game = load("liars_dice", dice=(2, 1), sides=2)
    teacher = ContextTeacher(Hands(game, "cpu"), 1000, iterations=80, seed=1)
    assert len(teacher.solution.contexts) > 60
    assert exploited_teacher(game, teacher) < 0.02  # both seats expect mistakes


def test_the_more_seats_remember_the_less_they_are_exploited():
    game = load("liars_dice", dice=(1, 1))
    hands, lost = Hands(game, "cpu"), []
    for contexts in Contexts(12), Contexts(12, [torch.arange(2, 1 << 13, 2)] * 2):
        solver = ContextSolver(hands, contexts)
        solver.solve(30)
        teacher = object.__new__(ContextTeacher)
        teacher.solution = solver.policy()
        lost.append(exploited_teacher(game, teacher))
    assert 0.2 > lost[0] > 3 * lost[1]


def test_seats_forget_the_first_bids_of_contexts_that_are_not_in_the_set():
    made = torch.tensor([0b10110, 0b00110, 0b10111]) << 1  # without what is before them
    contexts = Contexts(6, [made, made])
    asked = torch.tensor([0b10110, 0b00110, 0b11110, 0b10111, 0b01011, 0b100000]) << 1 | 1
    for mover in range(2):
        found = contexts.keys[mover][contexts.find(mover, asked)]
        whole = mover == 0  # after two bids it is seat 0 who knows that they are all
        expected = 0b10110 << 1, 0b00110 << 1 | whole, 0b11000 << 1, 0b10111 << 1, 0b01010 << 1
        assert found[:5].tolist() == [*expected]
        assert found[5] == (0b100000 << 1) + (not whole)


def test_contexts_follow_each_other_upwards():
    """Walks go from standing bid to standing bid: nothing leads back."""
    hands = Hands(load("liars_dice", dice=(1, 2), sides=3), "cpu")
    solver = ContextSolver(hands, ContextTeacher(hands, 300, 1, seed=1).solution.contexts)
    for part in solver.parts:
        keys = solver.contexts.keys[1 - part.mover][part.following]
        for bid, after in enumerate(keys.T, part.standing + 1):
            assert (after >> bid + 1 == 1).all()
        mine = solver.contexts.keys[part.mover][part.at]
        assert (mine >> part.standing + 1 == 1).all()


def test_the_most_visited_contexts_are_where_games_go():
    hands = Hands(load("liars_dice", dice=(1, 1)), "cpu")
    small, large = (ContextTeacher(hands, n, 1, seed=1).solution.contexts for n in (300, 900))
    assert abs(len(small) - 400) < 200 < len(large) - len(small)
    for mover in range(2):
        keys = large.keys[mover]
        longer = keys[keys & keys - 1 > 0]
        assert torch.isin(longer & longer - 1, keys).all(), "what a context ends with is in the set"


def test_seats_expect_mistakes_like_those_of_weak_players():
    game = load("liars_dice", dice=(2, 1), sides=3)
    hands = Hands(game, "cpu")
    honest = weak_player(hands, "honest")
    assert torch.equal(honest[1][1:].sum(1), torch.ones(9, 3)), "it has one answer to every bid"
    assert (honest[1][9, -1] == 1).all() and (honest[0][0, -1] == 0).all()
    solver = ContextSolver(hands, Contexts(9), [honest])
    solver._spread()
    keys = solver.contexts.keys[1]
    after = solver.other[1][torch.isin(keys, (2 << torch.arange(9)) + 1)]  # the first bids
    bids = (1 - WEAKNESS) / 9 + WEAKNESS * honest[0][0, :-1]
    assert torch.allclose(after, hands.odds[0] * bids, atol=1e-6)


def test_contexts_that_have_no_room_are_halved(monkeypatch):
    def solved(hands, contexts, *settings):
        if contexts > 30:
            raise torch.OutOfMemoryError
        return "solution"

    monkeypatch.setattr(belief_play, "ContextTeacher", solved)
    taught = replace(SMALL, contexts=(100,), context_iterations=(7,))
    said, hands = [], Hands(load("liars_dice", dice=(1, 1)), "cpu")
    found = taught.teachers([hands], 1, lambda *words: said.append(words))
    assert found == {0: "solution"}
    tried = [f"solving 6 against 6 hands with {n} contexts, iteration" for n in (100, 50, 25)]
    assert said == [(activity, 0, 7) for activity in tried]


def test_a_run_says_that_it_solves_tables(tmp_path):
    taught = replace(
        SMALL, contexts=(50,), context_iterations=(2,), steps=2, rounds=1, iterations=1
    )
    said = []
    run = Run(taught, tmp_path, seed=1)
    assert not run.method.teachers
    run.train(stage=lambda *words: said.append(words))
    first = "solving 3 against 3 hands with 50 contexts, iteration"
    assert [words for words in said if words[0] == first] == [(first, n, 2) for n in range(3)]


def test_steps_are_shared_by_the_bids_of_taught_tables(tmp_path):
    taught = replace(
        SMALL,
        others=({"dice": (1, 2)}, {"dice": (2, 2)}, {"dice": (1, 3)}),
        contexts=(50, 50, 50),
        context_iterations=(1, 1, 1),
        game_share=0.3,
        taught_share=0.5,
    )
    method = Run(taught, tmp_path, seed=1).method
    method.teachers = taught.teachers(method.all_hands, 1, lambda *_: None)
    assert [*method.teachers] == [0, 1, 2]
    assert method._shares([0, 1, 2, 3]) == pytest.approx([0.3, 0.5 * 9 / 21, 0.5 * 12 / 21, 0.2])


def test_a_network_learns_the_game_from_a_solution_with_contexts(tmp_path):
    taught = replace(
        SMALL,
        contexts=(600,),
        context_iterations=(60,),
        policy_weight=1.0,
        learning_rate=3e-3,
        iterations=2,
        gate_every=1,
    )
    run = Run(taught, tmp_path, seed=1)
    first, last = (run.method.iterate(n, lambda *_: None)["loss_policy_3_3"] for n in (1, 2))
    assert last < first / 2
    assert exploited(run) < 0.1


def test_only_tables_that_fit_are_solved():
    def solves(dice, bids):
        hands = Hands(load("liars_dice", dice=dice), "cpu")
        return replace(recipe("liars_dice", "refine"), exact_bids=bids).solves(hands)

    assert solves((2, 1), 18) and not solves((2, 1), 17)
    assert solves((2, 2), 24) and not solves((1, 3), 24)


def test_a_network_learns_solved_tables_beside_others(tmp_path):
    taught = replace(
        SMALL,
        options={"dice": (2, 1), "sides": 3},
        others=({"dice": (1, 1)},),
        others_per_round=0,
        exact_bids=6,
        exact_iterations=100,
        taught_share=0.8,
        game_share=0.2,
        tables=(16, 256),
        policy_weight=1.0,
        keep=True,
        iterations=4,
        gate_every=4,
    )
    run = Run(taught, tmp_path, seed=1)
    look = Lookahead(run.method.all_hands[0], copy.deepcopy(run.method.average))
    before = look.prior(look.opening())
    figures = [run.method.iterate(iteration, lambda *_: None) for iteration in range(1, 5)]
    game = load("liars_dice", dice=(1, 1), sides=3)
    who = seat_network(game, run.method.average, mode="sample")
    lost = exploit(game, who).response.exploitability
    assert lost < 0.08
    assert figures[-1]["exploitability_3_3"] == pytest.approx(lost, abs=1e-4)
    assert "exploitability_3_3" not in figures[0], "only at the gate"
    look = Lookahead(run.method.all_hands[0], run.method.average)
    assert (look.prior(look.opening()) - before).abs().max() < 0.1, "the other one stays the same"
    assert "kept.holding" in run.method.arrays(), "a resumed run must know it"


def test_with_a_teacher_one_seat_strays_and_only_the_other_learns():
    game = load("liars_dice", dice=(1, 1), sides=3)
    method = BeliefMethod(replace(SMALL, explore=1.0, min_survival=1.0), game, "cpu", seed=1)
    method._begin(1)
    hands = method.all_hands[0]
    look, teacher = method.lookahead(hands), ExactTeacher(hands, 10)
    public = look.opening(64)
    learnt, _ = method.decide(look, public, teacher, strays=False)
    assert learnt is not None and len(learnt) == 64
    assert method.decide(look, public, teacher, strays=True)[0] is None
    bids_two = torch.zeros(64, len(hands.bids) + 1, 3)
    bids_two[:, 2] = 1
    faithful, straying = (
        method._continuing(look, public, bids_two, strays).standing for strays in (False, True)
    )
    assert (faithful == 2).all() and len(straying.unique()) > 1
    found = method.play(0, 64)  # nobody teaches: both stray, and both learn
    method.teachers = {0: teacher}
    taught = method.play(0, 64)
    assert len(found) == len(taught) == 2 and len(taught[0]) < len(found[0])


def test_a_responder_looks_for_the_errors_of_a_network(net):
    """What it wins is most of what a perfect opponent wins, and its games say where."""
    look = lookahead(net, (1, 1))
    found = responses(look, 400, seed=1)
    assert found == responses(look, 400, seed=1) != responses(look, 400, seed=2)
    form = Ladder(look.hands.bidding.game)
    most = respond(form, policy_table(form, look)).exploitability
    assert 0.8 * most < found.won < 1.1 * most
    for seat, histories in enumerate(found.histories):
        assert len(histories) == 400 and all([*made] == sorted({*made}) for made in histories)
        chosen = {made[1 - seat] for made in histories if len(made) > 1 - seat}
        assert len(chosen) < 12, "a responder bids what is best with its hand, not anything"


@pytest.mark.parametrize("seat", [0, 1])
def test_the_decisions_of_a_game_come_with_the_beliefs_of_its_bids(net, seat):
    look = lookahead(net, (1, 2))
    games = [(), (2,), (0, 3, 4), (0, 3, 4, 9), (5, 7, 8)]
    found = {}
    for public in decisions_along(look, games, seat):
        assert public.mover == seat
        for bid_set, belief in zip(public.bid_set.tolist(), public.roles[0], strict=True):
            found.setdefault(bid_set, []).append(belief)
    prefixes = [made[:n] for made in games for n in range(seat, len(made) + 1, 2)]
    wanted = Counter(sum(1 << rung for rung in made) for made in prefixes)
    assert {bid_set: len(beliefs) for bid_set, beliefs in found.items()} == wanted
    after = look.opening().after(torch.tensor([0]), look.prior(look.opening())[:, 0])
    if seat == 0:
        after = after.after(torch.tensor([3]), look.prior(after)[:, 3])
    belief = found[1 + 8 * (seat == 0)][0]
    assert torch.allclose(belief, after.roles[0][0], atol=1e-6)


def test_decisions_of_responders_games_are_learnt_from_the_teacher():
    game = load("liars_dice", dice=(1, 1), sides=3)
    shares = {"response_share": 0.5, "response_games": 40}
    method = BeliefMethod(replace(SMALL, **shares), game, "cpu", seed=1)
    method._begin(1)
    hands = method.all_hands[0]
    method.teachers = {0: ExactTeacher(hands, 10)}
    method._respond(1, lambda *_: None)
    played = method.responses[0].histories
    method.responses = {0: Responses(([(1, 2)], [(1, 2, 4)]), 0.0)}
    look, taught = method.lookahead(hands), method.play(0, 64)
    assert len(played[0]) == len(played[1]) == 40
    third = look.opening()
    for rung in (1, 2):
        third = third.after(torch.tensor([rung]), look.prior(third)[:, rung])
    same = (taught[0].mine - third.roles[0]).abs().amax(1) < 1e-6
    same &= taught[0].bids == look.bids(third)
    assert same.sum() >= 16, "a quarter of 64 tables, where seat 0 learns"
    policy = method.teachers[0].policy(third)[0]
    assert (taught[0].policy[same] - policy).abs().max() < 1e-3


SMALL = BeliefPlay(
    game="liars_dice",
    options={"dice": (1, 1), "sides": 3},
    magnet=(0.1, 0.03),
    config={"width": 64, "depth": 2, "rank": 8},
    solve_rounds=8,
    tables=(128, 64),
    rounds=2,
    steps=60,
    batch=128,
    iterations=6,
    gate_every=3,
    gate_games=200,
)


def exploited(run):
    trained = run.player(run.method.average, "trained")
    return exploit(run.game, trained).response.exploitability


def test_a_belief_network_learns(tmp_path):
    run = Run(SMALL, tmp_path, seed=1)
    before, _ = exploited(run), run.train()
    assert before > 0.4
    assert exploited(run) < 0.1
    run.champion(path := tmp_path / "player.safetensors", {})
    net, _ = load_net(path)
    assert net.holding.dtype == torch.float16, "the file is half as large"
    written = player(f"net:{path},mode=sample", run.game)
    assert exploit(run.game, written).response.exploitability < 0.1


@pytest.mark.parametrize("dice", [(5, 5), (1, 4), (3, 2)])
def test_the_champion_sits_down_at_every_round_of_a_match(dice):
    game = load("liars_dice", dice=dice)
    assert match(game, "champion", "honest", games=1000, seed=0).win_rate > 0.45
    assert match(game, "champion:rounds=2", "random", games=4, seed=0).games == 4


@pytest.mark.parametrize("who", ["champion", "exploiter"])
def test_a_match_is_played_from_the_first_die_lost_to_the_last(who):
    game = load("liars_dice", die_loss="loser")
    assert match(game, who, "random", games=20, seed=0).win_rate > 0.8


def test_the_large_recipe_has_a_table_for_every_round_of_a_match():
    large = recipe("liars_dice", "large")
    pairs = {tuple(options["dice"]) for options in (large.options, *large.others)}
    assert pairs == set(itertools.product(range(1, 6), repeat=2))
