"""Belief play: solutions of tables that teach a network, and what it learns from them."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from kibitz.arena.exploitability import exploit
from kibitz.bidding.beliefs import BeliefConfig, BeliefNet
from kibitz.bidding.contexts import WEAKNESS, Contexts, ContextSolver, from_bytes, to_bytes
from kibitz.bidding.every_history import after_bids, policies_after, policy_table
from kibitz.bidding.exact.ladder import BID, CALL, Ladder, fits
from kibitz.bidding.hands import Hands
from kibitz.bidding.lookahead import Lookahead, joined
from kibitz.bidding.weakness import won_from
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net
from kibitz.players import player, seat_network
from kibitz.recipes import recipe
from kibitz.search.best_response import respond
from kibitz.search.regret import solve
from kibitz.train.bidding import belief_play
from kibitz.train.bidding.belief_play import BeliefMethod, BeliefPlay, ByContexts, Decisions
from kibitz.train.bidding.responses import Responses, decisions_along, responses
from kibitz.train.bidding.teachers import (
    ContextTeacher,
    ExactTeacher,
    PlayerTeacher,
    weak_player,
)
from kibitz.train.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = BeliefConfig(sets=(6, 21), actions=25, width=32, depth=1, rank=4)
SMALL = BeliefPlay(
    game="liars_dice",
    options={"dice": (1, 1), "sides": 3},
    config={"width": 64, "depth": 2, "rank": 8},
    average_decay=0.99,
    tables=(128, 64),
    rounds=2,
    steps=60,
    batch=128,
    iterations=6,
    gate_every=3,
    gate_games=200,
)


@pytest.fixture(scope="module")
def net():
    return BeliefNet(CONFIG, seed=3).eval()


def lookahead(net, dice):
    return Lookahead(Hands(load("liars_dice", dice=dice), "cpu"), net)


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


def test_a_solution_keeps_a_byte_per_probability():
    """Small ones matter: who never bluffs is not believed."""
    odds = torch.rand(2000, 25, generator=torch.Generator().manual_seed(1)).pow(8)
    odds /= odds.sum(1, keepdim=True)
    kept = to_bytes(odds.clone())
    assert kept.dtype == torch.uint8
    assert (from_bytes(kept).sqrt() - odds.sqrt()).abs().max() < 0.501 / 255
    assert (from_bytes(kept).sum(1) - 1).abs().max() < 0.02
    assert (from_bytes(kept)[odds > 1e-5] > 0).all()


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


def test_seats_may_be_weak_players_from_beginning_to_end():
    game = load("liars_dice", dice=(2, 1), sides=3)
    hands = Hands(game, "cpu")
    honest = weak_player(hands, "honest")
    assert torch.equal(honest[1][1:].sum(1), torch.ones(9, 3)), "it has one answer to every bid"
    assert (honest[1][9, -1] == 1).all() and (honest[0][0, -1] == 0).all()
    solver = ContextSolver(hands, Contexts(9), honest)
    solver._spread()
    first = torch.isin(solver.contexts.keys[1], (2 << torch.arange(9)) + 1)  # the first bids
    after, after_weak = solver.other[1][first], solver.other_weak[1][first]
    assert torch.allclose(after, (1 - WEAKNESS) * hands.odds[0] / 9, atol=1e-6)
    assert torch.allclose(after_weak, WEAKNESS * hands.odds[0] * honest[0][0, :-1], atol=1e-8)
    # Who has not moved may be one still, and both seats have come there equally often.
    assert torch.allclose(
        solver.own_weak[1][first], solver.own[1][first] * WEAKNESS / (1 - WEAKNESS)
    )
    mine = solver.own[1][first].sum(1) + solver.own_weak[1][first].sum(1)
    assert torch.allclose(mine, after.sum(1) + after_weak.sum(1), atol=1e-6)


def test_who_expects_a_weak_player_wins_more_from_it_and_loses_little():
    game = load("liars_dice", dice=(1, 1))
    hands = Hands(game, "cpu")
    honest, won, lost = weak_player(hands, "honest"), [], []
    for weak in ("", "honest"):
        teacher = ContextTeacher(hands, 1000, 80, 1, weak)
        won.append(won_from(hands, teacher.solution, honest))
        lost.append(exploited_teacher(game, teacher))
    assert won[1] - won[0] > 0.02
    assert lost[1] - lost[0] < 0.005


def test_the_mean_of_several_solutions_is_learnt():
    """They remember different contexts, and each finds them in its own games."""
    hands = Hands(load("liars_dice", dice=(1, 2), sides=3), "cpu")
    recipe = replace(SMALL, contexts=(ByContexts(60, iterations=5, solutions=2),))
    teacher = recipe.teachers([hands], 1, lambda *_: None)[0]
    first, second = (solution.solution.contexts.keys for solution in teacher.solutions)
    assert any(not torch.equal(*keys) for keys in zip(first, second, strict=True))
    look = Lookahead(hands, BeliefNet(BeliefConfig((3, 6), 10, width=8, depth=1, rank=2)))
    public = look.opening().after(torch.tensor([2]), look.prior(look.opening())[:, 2])
    played = torch.stack([solution.policy(public) for solution in teacher.solutions])
    assert (played[0] - played[1]).abs().max() > 1e-3
    assert torch.allclose(teacher.policy(public), played.mean(0), atol=1e-6)


def test_a_player_teaches_what_it_plays_after_the_same_bids(net):
    look = lookahead(net, (1, 2))
    teacher = PlayerTeacher(look.hands, lambda made, beliefs: policies_after(look, made))
    one_bid = after_bids(look, look.opening(), [(0, 4), (0, 2)])
    several = joined(
        [
            one_bid,
            after_bids(look, after_bids(look, one_bid, [(1, 3)]), [(0, 7)]),
            one_bid.part(torch.tensor([1])),
        ]
    )
    assert several.bid_set.tolist() == [1 << 4, 1 << 2, 1 << 2 | 1 << 3 | 1 << 7, 1 << 2]
    # Beliefs are the player's own, not those that it is asked with.
    asked = replace(several, beliefs=[torch.ones_like(belief) for belief in several.beliefs])
    assert torch.allclose(teacher.policy(asked), look.prior(several), atol=1e-5)


def test_the_mean_with_the_network_at_the_start_is_learnt(tmp_path):
    taught = replace(
        SMALL,
        others=({"dice": (1, 2)},),
        beside_start=(("honest",), ()),
        steps=2,
        rounds=1,
        iterations=1,
    )
    method = Run(taught, tmp_path, seed=1).method
    method.iterate(1, lambda *_: None)
    assert method.step == len(method.teachers) == 2
    start = Lookahead(method.all_hands[0], method.start)
    public = start.opening().after(torch.tensor([1]), start.prior(start.opening())[:, 1])
    honest = weak_player(method.all_hands[0], "honest")[1][2]
    mean = (start.prior(public)[0] + honest) / 2
    assert torch.allclose(method.teachers[0].policy(public)[0], mean, atol=1e-5)
    kept = Lookahead(method.all_hands[1], method.start)
    assert torch.allclose(
        method.teachers[1].policy(kept.opening()), kept.prior(kept.opening()), atol=1e-5
    )
    assert "start.holding" in method.arrays(), "a resumed run must know it"


def test_contexts_that_have_no_room_are_halved(monkeypatch):
    def solved(hands, contexts, *settings):
        if contexts > 30:
            raise torch.OutOfMemoryError
        return "solution"

    monkeypatch.setattr(belief_play, "ContextTeacher", solved)
    taught = replace(SMALL, contexts=(ByContexts(100, iterations=7),))
    said, hands = [], Hands(load("liars_dice", dice=(1, 1)), "cpu")
    found = taught.teachers([hands], 1, lambda *words: said.append(words))
    assert [teacher.solutions for teacher in found] == [["solution"]]
    tried = [f"solving 6 against 6 hands with {n} contexts, iteration" for n in (100, 50, 25)]
    assert said == [(activity, 0, 7) for activity in tried]


def test_a_run_says_that_it_solves_tables(tmp_path):
    taught = replace(
        SMALL,
        contexts=(ByContexts(50, iterations=2),),
        steps=2,
        rounds=1,
        iterations=1,
    )
    said = []
    run = Run(taught, tmp_path, seed=1)
    assert not run.method.teachers
    run.train(stage=lambda *words: said.append(words))
    first = "solving 3 against 3 hands with 50 contexts, iteration"
    assert [words for words in said if words[0] == first] == [(first, n, 2) for n in range(3)]


def test_every_round_plays_the_tables_that_have_shares_and_draws_further_ones(tmp_path):
    five = tuple({"dice": dice} for dice in ((1, 2), (2, 1), (2, 2), (1, 3), (3, 1)))
    training = replace(SMALL, others=five, shares=(0.3, 0.2), others_per_round=2)
    method = Run(training, tmp_path, seed=1).method
    method._begin(1)
    rounds = [method._drawn() for _ in range(40)]
    assert all(drawn[:2] == [0, 1] and len({*drawn}) == 4 for drawn in rounds)
    assert {table for drawn in rounds for table in drawn} == {*range(6)}
    assert method._shares([0, 1, 3, 5]) == pytest.approx([0.3, 0.2, 0.25, 0.25])


def test_a_network_learns_the_game_from_a_solution_with_contexts(tmp_path):
    taught = replace(
        SMALL,
        contexts=(ByContexts(600, iterations=60),),
        learning_rate=3e-3,
        iterations=2,
        gate_every=1,
    )
    run = Run(taught, tmp_path, seed=1)
    first, last = (run.method.iterate(n, lambda *_: None)["loss_policy_3_3"] for n in (1, 2))
    assert last < first / 2
    assert exploited(run) < 0.1


def test_a_table_that_is_too_large_must_have_contexts():
    hands = [Hands(load("liars_dice", dice=dice), "cpu") for dice in ((1, 1), (1, 3))]
    with pytest.raises(GameError, match=r"24 bids, 6 and 56 hands are too many .* contexts"):
        replace(SMALL, exact_iterations=2).teachers(hands, 1, lambda *_: None)


def test_a_network_learns_several_tables(tmp_path):
    taught = replace(
        SMALL,
        options={"dice": (2, 1), "sides": 3},
        others=({"dice": (1, 1)},),
        shares=(0.2, 0.8),
        exact_iterations=100,
        tables=(16, 256),
        iterations=4,
        gate_every=4,
    )
    run = Run(taught, tmp_path, seed=1)
    figures = [run.method.iterate(iteration, lambda *_: None) for iteration in range(1, 5)]
    game = load("liars_dice", dice=(1, 1), sides=3)
    who = seat_network(game, run.method.average, mode="sample")
    lost = exploit(game, who).response.exploitability
    assert lost < 0.08
    assert figures[-1]["exploitability_3_3"] == pytest.approx(lost, abs=1e-4)
    assert "exploitability_3_3" not in figures[0], "only at the gate"


def test_the_large_recipe_solves_every_table():
    """A champion may sit down with any dice, so each of its tables has a teacher."""
    large = recipe("liars_dice", "large")
    tables = [large.options, *large.others]
    assert {table["dice"] for table in tables} == {*itertools.product(range(1, 6), repeat=2)}
    hands = [Hands(load("liars_dice", **table), "cpu") for table in tables]
    assert len(large.contexts) == len(tables)
    exactly = [each for by, each in zip(large.contexts, hands, strict=True) if by is None]
    assert all(fits(len(each.bids), max(map(len, each.odds))) for each in exactly)


def test_one_seat_strays_and_only_the_other_learns():
    game = load("liars_dice", dice=(1, 1), sides=3)
    method = BeliefMethod(replace(SMALL, explore=1.0, min_survival=1.0), game, "cpu", seed=1)
    method._begin(1)
    hands = method.all_hands[0]
    teacher = ExactTeacher(hands, 10)
    look = Taught(hands, method.average)
    look.teacher = BidsTwo()
    public = look.opening(64)
    faithful, straying = (
        method._continuing(look, public, strays=strays).standing for strays in (False, True)
    )
    assert (faithful == 2).all() and len(straying.unique()) > 1
    method.teachers, method.lookahead = [teacher], lambda hands: look
    first, second = method.play(0, 64)
    opening = first.bids < 0
    assert opening.sum() == 32, "seat 0 learns to open where seat 1 strays, and nowhere else"
    assert torch.allclose(first.policy[opening][0].float(), teacher.policy(public)[0], atol=1e-3)
    assert (second.bids >= 0).all() and len(second.bids.unique()) > 1, "any bid may come first"


class BidsTwo:
    """Bids the third lowest with all hands."""

    def policy(self, public):
        bids = torch.zeros(len(public.standing), 7, 3)
        bids[:, 2] = 1
        return bids


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
    method.teachers = [ExactTeacher(hands, 10)]
    method._respond(1, lambda *_: None)
    played = method.responses[0].histories
    method.responses = [Responses(([(1, 2)], [(1, 2, 4)]), 0.0)]
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


def test_tensor_cores_are_for_what_is_recorded_alone():
    asked = belief_play.on_tensor_cores()(torch.get_float32_matmul_precision)
    assert asked() == asked() == "high"
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.gpu
def test_recorded_steps_learn_the_same(monkeypatch):
    """A GPU replays one recording per shape of table, and none may lose what another leaves."""
    monkeypatch.setattr(belief_play, "WARM_UP", 1)
    game = load("liars_dice", dice=(1, 1), sides=3)
    training = replace(SMALL, others=({"dice": (1, 2)},), learning_rate=2e-3)
    here, there = (BeliefMethod(training, game, device, seed=1) for device in ("cpu", "cuda"))
    here._begin(1)
    here.teachers = [ExactTeacher(hands, 10) for hands in here.all_hands]
    batches = [here._batch(part) for table in range(2) for part in here.play(table, 64)]
    losses = [
        (here.learn(batch), there.learn(Decisions(*(part.cuda() for part in batch))).cpu())
        for batch in 10 * batches
    ]
    assert len(there.gradients._recordings) == 3, "tables of one shape share a recording"
    ours, theirs = (torch.stack(side) for side in zip(*losses, strict=True))
    assert (ours[-4:, 0] < 0.7 * ours[:4, 0]).all(), "enough was learnt to tell"
    assert torch.allclose(ours, theirs, rtol=0.03, atol=2e-3)
