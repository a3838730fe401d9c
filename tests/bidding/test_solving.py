"""Decisions solved from public beliefs, and the players that use them."""

import copy
import itertools

import numpy as np
import pytest
import torch

from kibitz.arena.analysis import analyse
from kibitz.arena.exploitability import exploit, table_of_policy
from kibitz.arena.match import match
from kibitz.bidding.belief_tracker import BeliefTracker
from kibitz.bidding.beliefs import BeliefConfig, BeliefNet
from kibitz.bidding.exact.ladder import Ladder
from kibitz.bidding.hands import Hands
from kibitz.bidding.lookahead import Lookahead, Public, updated
from kibitz.bidding.solved_table import SolvedTable
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.players import player, seat_network
from kibitz.search.sequences import silent

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


def test_a_champion_knows_what_its_moves_are_worth():
    """With one die each: seat 0 loses 0.0214 points per game, and a call's worth is exact."""
    game = load("liars_dice", dice=(1, 1))
    openings = [analyse(game, f"{die} / 1 :", "champion") for die in range(1, 7)]
    assert np.mean([thought.value for thought in openings]) == pytest.approx(-0.0214, abs=0.01)
    for thought in openings:  # nothing is worth much more than what it plays
        assert max(move.value for move in thought.candidates) < thought.value + 0.1
    # Seat 1 has a 3: the bid is true if seat 0 has a 3 or a 1, which counts as any face.
    thought = analyse(game, "1 / 3 : 2x3", "champion")
    call = next(move for move in thought.candidates if move.text == "liar")
    assert call.value == pytest.approx(1 - 2 * sum(np.take(thought.beliefs[0].counts, [0, 2])))


# Training ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dice", [(5, 5), (1, 4), (3, 2)])
def test_the_champion_sits_down_at_every_round_of_a_match(dice):
    game = load("liars_dice", dice=dice)
    assert match(game, "champion", "honest", games=1000, seed=0).win_rate > 0.45
    assert match(game, "champion:rounds=2", "random", games=4, seed=0).games == 4


@pytest.mark.parametrize("who", ["champion", "exploiter"])
def test_a_match_is_played_from_the_first_die_lost_to_the_last(who):
    game = load("liars_dice", die_loss="loser")
    assert match(game, who, "random", games=20, seed=0).win_rate > 0.8
