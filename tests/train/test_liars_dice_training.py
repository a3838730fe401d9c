"""Training for Liar's Dice: all methods learn, resume exactly, and agree with the rules."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import killing
import numpy as np
import pytest
import torch

from kibitz import players
from kibitz.arena.exploitability import exploit, exploitability, policy_of
from kibitz.arena.match import match
from kibitz.bidding.bilinear import above
from kibitz.bidding.hands import Hands
from kibitz.game import GameError
from kibitz.games import liars_dice, load
from kibitz.nets import load_net
from kibitz.recipes import recipe
from kibitz.train.bidding.belief_play import ByContexts
from kibitz.train.bidding.memory import Memory
from kibitz.train.folder import RunError, RunFolder
from kibitz.train.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = {"dice": (1, 1), "sides": 3}
PUBLISHED = replace(
    recipe("liars_dice", "published"),
    options=TINY,
    config={"interaction": 16, "hidden": (16,)},
    iterations=2,
    steps=20,
    gate_every=2,
    gate_games=20,
)
REMEMBERED = replace(
    recipe("liars_dice", "demo"),
    options=TINY,
    config={"interaction": 32, "hidden": (32,)},
    histories=64,
    plays=200,
    megabytes=4,
    steps=300,
    iterations=2,
    gate_every=2,
    gate_games=20,
)
BELIEFS = replace(
    recipe("liars_dice", "large"),
    options=TINY,
    others=({**TINY, "dice": (1, 2)},),
    contexts=(),  # both are solved exactly
    exact_iterations=10,
    response_share=0.0,
    config={"width": 32, "depth": 1, "rank": 4},
    tables=(64, 32),
    rounds=2,
    steps=20,
    batch=64,
    iterations=2,
    gate_every=2,
    gate_games=20,
)
TAUGHT = replace(
    BELIEFS,
    contexts=(ByContexts(50, iterations=5, solutions=2),),
    response_share=0.5,
    response_games=20,
)
RESPONSE = replace(
    recipe("liars_dice", "response"),
    options=TINY,
    config={"interaction": 32, "hidden": (32,)},
    against=("honest", "threshold", "threshold"),
    tables=256,
    extra_hands=2,
    rounds=4,
    steps=4,
    iterations=2,
    gate_every=2,
    gate_games=20,
)
ALL_METHODS = pytest.mark.parametrize(
    "training",
    [PUBLISHED, REMEMBERED, BELIEFS, TAUGHT, RESPONSE],
    ids=["published", "remembered", "beliefs", "taught", "response"],
)


def begun(training, device="cpu", seed=1):
    game = load("liars_dice", **training.options)
    return training.begin(game, None, device, seed)


def seated(method):
    return players.seat_network(method.game, method.average, mode=method.recipe.mode)


def exploited(method) -> float:
    return exploitability(method.game, policy_of(seated(method)))


def silent(activity, done, total):
    pass


# Learning ----------------------------------------------------------------------------------------


def test_remembered_regrets_come_near_to_equilibrium():
    """A perfect opponent wins more than a third of the stake before, and hardly any after."""
    method = begun(REMEMBERED)
    assert exploited(method) > 0.35
    method.iterate(1, silent)
    assert exploited(method) < 0.06


def test_the_published_method_learns():
    # With ten times the published rate, eight seeds end at 0.07 to 0.44 of their first
    # exploitability. With the published rate, 600 steps end at 0.3 to 1.0, depending on the seed.
    method = begun(replace(PUBLISHED, steps=600, rate=40.0))
    before = exploited(method)
    method.iterate(1, silent)
    assert exploited(method) < 0.6 * before


@pytest.mark.parametrize("opponent", ["honest", "threshold"])
def test_a_trained_response_wins_as_much_as_the_exact_best_response(opponent):
    settings = {"rounds": 200, "learning_rate": 1e-2, "iterations": 1}
    options = {"dice": (1, 1)}
    method = begun(replace(RESPONSE, against=(opponent,), options=options, **settings))
    method.iterate(1, silent)
    result = match(method.game, seated(method), opponent, games=4000, seed=0)
    most = exploit(method.game, opponent).response.exploitability
    assert most > 0.4
    assert abs(result.mean_score - most) < 2 * (result.high - result.low)  # of rates, from 0 to 1


def test_only_the_training_of_a_response_takes_opponents():
    assert RESPONSE.with_opponents(["random"]).against == (*RESPONSE.against, "random")
    with pytest.raises(GameError, match="regret play learns from itself"):
        PUBLISHED.with_opponents(["random"])


@pytest.mark.parametrize("seat", [0, 1])
def test_the_target_of_a_call_is_its_score_for_all_hands(seat):
    training = replace(RESPONSE, against=("honest",), tables=64, rounds=1, iterations=1)
    method = begun(training)
    targets, hands = method.play(seat), method.hands
    called = targets.action == hands.call
    assert called.any() and (targets.value[called] == targets.call[called]).all()
    assert targets.stands[called].all() and (targets.call[~targets.stands] == 0).all()
    assert set(targets.value[called].unique().tolist()) <= {-1.0, 1.0}
    assert targets.value.shape == (len(targets.action), 1 + training.extra_hands)
    assert torch.isfinite(targets.value).all()


ITERATIONS = {"iterations": 4, "baselines": ("random",)}
KILLED_PUBLISHED = replace(PUBLISHED, **ITERATIONS)
KILLED_REMEMBERED = replace(REMEMBERED, plays=20, steps=30, **ITERATIONS)
KILLED_BELIEFS = replace(BELIEFS, **ITERATIONS)
KILLED_TAUGHT = replace(TAUGHT, **ITERATIONS)
KILLED_RESPONSE = replace(RESPONSE, **ITERATIONS)


@pytest.mark.parametrize(
    "name",
    [
        "KILLED_TAUGHT",
        pytest.param("KILLED_BELIEFS", marks=pytest.mark.slow),
        pytest.param("KILLED_REMEMBERED", marks=pytest.mark.slow),
        pytest.param("KILLED_PUBLISHED", marks=pytest.mark.slow),
        pytest.param("KILLED_RESPONSE", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_was_killed_ends_with_the_same_weights(name, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run = Run(globals()[name], whole, seed=killing.SEED)
    run.train()
    run.close()
    dice = random.Random()  # another moment in each run: none may change anything
    moment = dice.randint(1, 2), dice.random() * killing.iteration_seconds(whole)
    assert killing.killed_at(f"{Path(__file__).stem}.{name}", parts, [moment]) == 1, moment
    assert killing.weights(parts) == killing.weights(whole), moment
    assert killing.reached(whole) == ITERATIONS["iterations"]
    once, again = (RunFolder(path).metrics() for path in (whole, parts))
    for column in ("loss_value", "elo"):
        assert [row[column] for row in again] == [row[column] for row in once], moment


@ALL_METHODS
def test_a_trained_player_sits_down(training, tmp_path):
    run = Run(training, tmp_path / "run", seed=0)
    run.champion(tmp_path / "p.safetensors", {})
    run.close()
    trained = f"net:{tmp_path}/p.safetensors,mode=sample"
    assert match(run.game, trained, "random", games=20, seed=0).games == 20
    with pytest.raises(GameError, match="was trained for"):
        players.player(trained, load("liars_dice"))


def test_a_run_that_stops_before_its_first_gate_gives_the_newest_player(tmp_path):
    run = Run(
        replace(PUBLISHED, iterations=1), tmp_path / "run", seed=0
    )  # the gate comes after two
    run.train()
    run.champion(tmp_path / "p.safetensors", {})
    run.close()
    newest, untrained = run.method.average.state_dict(), run.best.state_dict()
    written = load_net(tmp_path / "p.safetensors")[0].state_dict()
    assert all(torch.equal(written[name], newest[name]) for name in written)
    assert not all(torch.equal(written[name], untrained[name]) for name in written)


def test_a_run_is_not_resumed_with_other_dice(tmp_path):
    Run(PUBLISHED, tmp_path / "run", seed=0).close()
    other = replace(PUBLISHED, options={"dice": (1, 2), "sides": 3})
    with pytest.raises(RunError, match=r"is a run of liars_dice with dice \[1, 1\], not \[1, 2\]"):
        Run(other, tmp_path / "run", resume=True)


# The published method ----------------------------------------------------------------------------


def test_the_learning_rate_falls_as_published():
    published = recipe("liars_dice", "published")
    assert published.learning_rate(0) == pytest.approx(1e-3)
    assert published.learning_rate(4000) == pytest.approx(5e-4)
    assert published.learning_rate(210_010) == pytest.approx(4 / 214_010)


def test_few_deals_are_each_played_once_and_many_are_drawn():
    method = begun(PUBLISHED)
    hands = {liars_dice.text(s) for s in method.deal().host()}
    assert hands == {f"{a} / {b}" for a in (1, 2, 3) for b in (1, 2, 3)}
    many = begun(replace(PUBLISHED, options={"dice": (1, 2)}))  # 216 ways
    assert many.all_deals is None and many.deal().size == 100


def test_samples_are_all_states_of_the_games_for_both_seats():
    method = begun(PUBLISHED)
    batch = method.deal()
    views, scores = method.play(batch)
    wanted = []
    for end in batch.host():
        faces = [np.flatnonzero(hand) + 1 for hand in end["hand"]]
        history = liars_dice.history(end)
        for length in range(len(history) + 1):
            s = liars_dice.position(method.game, faces, history[:length])
            for seat in range(2):
                view = method.game.look(s, seat)
                wanted.append((view.tobytes(), float(method.game.scores(end)[seat])))
    found = [
        (view.numpy().tobytes(), float(score)) for view, score in zip(views, scores, strict=True)
    ]
    assert sorted(found) == sorted(wanted)


# All hands at once -------------------------------------------------------------------------------


def test_hands_are_as_likely_as_dice_fall():
    hands = Hands(load("liars_dice", dice=(1, 2)), "cpu")
    assert [len(odds) for odds in hands.odds] == [6, 21]
    pairs = sorted(hands.odds[1].tolist())
    assert pairs == pytest.approx([1 / 36] * 6 + [2 / 36] * 15)


def test_the_value_of_a_call_is_what_the_dice_say():
    """Joker, one die each: "one 4" holds against a hidden die with chance 1/3, or surely."""
    hands = Hands(load("liars_dice", dice=(1, 1)), "cpu")
    unread = hands.odds[1][None]
    values = hands.when_called(torch.tensor([3]), 0, unread)[0]
    shown = hands.privs[0][:, :6].argmax(1) + 1
    for face, value in zip(shown.tolist(), values.tolist(), strict=True):
        assert value == pytest.approx(1.0 if face in (1, 4) else 2 / 6 - 4 / 6)


def test_a_place_in_the_memory_has_one_history():
    memory = Memory(0, hands=1, actions=1, pub=2, device="cpu")  # eight places
    keys = torch.arange(40)
    for _ in range(8):
        places, new = memory.find(keys, torch.stack((2.0 * keys, keys), 1))
    held = memory.holds(places, keys)
    assert held.sum() == 8 and len(set(places[held].tolist())) == 8 and (new <= held).all()
    assert (memory.histories[places[held], 0] == 2.0 * keys[held]).all()
    assert (places[~held] == 8).all() and memory.keys[8] < 0 and not memory.histories[8].any()
    again, new = memory.find(keys[held], torch.zeros(8, 2))
    assert (again == places[held]).all() and not new.any()


def test_a_game_without_rising_bids_is_refused():
    with pytest.raises(GameError, match="kuhn"):
        Hands(load("kuhn"), "cpu")


def test_the_actions_above_a_history_are_the_legal_ones():
    game = load("liars_dice", **TINY)
    for history in ([], [0], [1, 4], [5]):
        s = liars_dice.position(game, [(1,), (2,)], history)
        view = torch.from_numpy(np.array([game.look(s, len(history) % 2)]).view(np.float32))
        assert above(view.reshape(1, -1)[:, 5:])[0].nonzero().reshape(-1).tolist() == game.legal(s)


# On a GPU ----------------------------------------------------------------------------------------


@pytest.mark.gpu
@ALL_METHODS
def test_the_same_code_learns_on_a_gpu(training):
    few = {name: 5 for name in ("steps", "plays") if hasattr(training, name)}
    small = replace(training, **few)
    here, there = begun(small), begun(small, "cuda")
    assert here.iterate(1, silent).keys() == there.iterate(1, silent).keys()
    assert all(p.device.type == "cuda" for p in there.average.parameters())
    for ours, theirs in zip(here.average.parameters(), there.average.parameters(), strict=True):
        assert ours.shape == theirs.shape and torch.isfinite(theirs).all()
