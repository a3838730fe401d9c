"""Policy gradients: what is noted of play, what is learnt from it, and runs that are continued."""

from __future__ import annotations

import json
from dataclasses import replace

import killing
import numpy as np
import pytest
import torch
from test_goofspiel import FILE as GOOFSPIEL

import kibitz
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net
from kibitz.recipes import any_policy, recipe
from kibitz.search.stretch import (
    LEARNER,
    Stretch,
    Worth,
    empty_later,
    empty_lessons,
    judge_all,
    result,
)
from kibitz.train.folder import RunError
from kibitz.train.policy_gradient.learner import PolicyLearner, PolicyLearning, known_error, usual
from kibitz.train.policy_gradient.loop import PolicyMethod, PolicyTraining
from kibitz.train.policy_gradient.play import StretchPlay
from kibitz.train.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")

GAME = "kuhn"
TABLES, TICKS = 24, 10


def tiny(chosen: PolicyTraining) -> PolicyTraining:
    return replace(
        chosen,
        config={"width": 16, "blocks": 1},
        learning=replace(chosen.learning, batch=32, warm_up=2, steps=40, average_decay=0.9),
        games=TABLES,
        ticks=TICKS,
        iterations=4,
        gate_every=2,
        gate_games=4,
        baselines=("random",),
    )


TINY = tiny(any_policy(GAME))


@pytest.fixture(scope="module")
def game():
    return load(GAME)


@pytest.fixture
def net(game):
    return TINY.network(game, 3)


def played(game, net, *, players=(), scripted=0, stretches=1, stray_share=0.0):
    tables = StretchPlay(game, net, TABLES, TICKS, "cpu")
    tables.begin(5, players, scripted, stray_share=stray_share)
    for _ in range(stretches):
        tables.play(net)
    return tables


# Playing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stray_share", [0.0, 0.3])
def test_what_is_noted_is_what_the_network_says(game, net, stray_share):
    """Positions, lists of actions and probabilities agree with a second look at them."""
    with torch.no_grad():
        net.policy.weight.mul_(50)  # an opinion: equal odds would hide a mix-up
    tables = played(game, net, stretches=2, stray_share=stray_share)
    learner = PolicyLearner(game, net, PolicyLearning(batch=TABLES * TICKS), "cpu", 0)
    which = torch.arange(TABLES * TICKS)
    examples = learner.examples_of(tables.stretch, learner.judged(tables.stretch), which)
    logits, values, _ = net.heads(examples.views)
    legal = examples.actions >= 0
    policy = (
        logits.gather(1, examples.actions.clamp(min=0)).masked_fill(~legal, -1e9).log_softmax(1)
    )
    again = policy.gather(1, examples.places[:, None])[:, 0]
    assert torch.allclose(again, examples.chances, atol=1e-5)
    assert again.exp().max() > 0.8
    assert again.exp().min() < 0.3
    assert torch.allclose(values[:, 0].detach(), torch.as_tensor(tables.stretch.values).flatten())


def test_actions_are_drawn_from_the_policy(game, net):
    """Of many decisions each is drawn as often as its probability says, within four deviations."""
    with torch.no_grad():
        net.policy.bias.copy_(torch.tensor([0.7, -0.7]))
    tables = played(game, net, stretches=40)
    likely = np.exp(tables.stretch.chances)
    first = tables.stretch.played == 0
    expected = np.where(first, likely, 1 - likely)
    spread = np.sqrt((expected * (1 - expected)).sum())
    assert abs(first.sum() - expected.sum()) < 4 * spread
    assert expected.mean() > 0.7


def test_whoever_strays_plays_anything(game, net):
    """Against a sure policy: half of the decisions stray, and half of those take the other way."""
    with torch.no_grad():
        net.policy.bias.copy_(torch.tensor([9.0, -9.0]))
    stretch = played(game, net, stretches=20, stray_share=0.5).stretch
    strayed, other = stretch.strayed.astype(bool), stretch.played == 1
    assert 0.35 < strayed.mean() < 0.65
    assert not other[~strayed].any()
    assert 0.3 < other[strayed].mean() < 0.7


def test_straying_is_not_learnt_from_and_says_nothing_about_earlier_decisions(game, net):
    """Whoever strays had an expectation of its own; to the others it says nothing at all."""
    tables = played(game, net, stretches=2, stray_share=0.3)
    learner = PolicyLearner(game, net, PolicyLearning(batch=TABLES, trace=1.0), "cpu", 0)
    stretch, lessons = tables.stretch, learner.judged(tables.stretch)
    strayed = stretch.strayed.astype(bool)
    assert (lessons.weights[strayed] == 0).all()
    assert np.isnan(lessons.values[strayed]).all()
    own = others = 0
    for i, tick in np.argwhere(~strayed):
        rest = slice(tick + 1, None)
        if not strayed[i, rest].any() or stretch.ended[i, tick]:
            continue
        seat, at = stretch.seats[i, tick], tick + 1 + int(strayed[i, rest].argmax())
        again = np.flatnonzero(stretch.seats[i, tick + 1 : at + 1] == seat)
        if stretch.ended[i, tick:at].any():
            continue
        if not len(again):
            others += 1
            assert lessons.weights[i, tick] == 0
            assert np.isnan(lessons.values[i, tick]).all()
        elif again[-1] == at - tick - 1:
            own += 1
            gain = stretch.values[i, at] - stretch.values[i, tick]
            assert lessons.gains[i, tick] == pytest.approx(gain, abs=1e-6)
    assert own
    assert others


def test_the_same_seed_plays_the_same_games(game, net):
    one, other = (played(game, net, players=("random",), scripted=9, stretches=2) for _ in range(2))
    for name in Stretch._fields:
        assert np.array_equal(getattr(one.stretch, name), getattr(other.stretch, name)), name


def test_compiled_players_have_all_seats_but_the_learners(game, net):
    tables = played(game, net, players=("random",), scripted=9, stretches=2)
    stretch, seated = tables.stretch, tables.tables.seated
    assert ((seated[:9] == LEARNER).sum(1) == 1).all()
    assert (seated[9:] == LEARNER).all()
    ended = stretch.ended.astype(bool)
    assert (stretch.opponents[:9][ended[:9]] == 0).all()
    assert (stretch.opponents[9:][ended[9:]] == LEARNER).all()
    assert set(tables.results()) == {"random"}
    assert abs(tables.results()["random"]) <= 2


def test_three_seats_have_their_own_scores():
    """Every seat of Goofspiel is learnt for from its own result."""
    game = load(GOOFSPIEL, players=3, cards=4)
    own = TINY.network(game, 0)
    tables = played(game, own, players=("matching",), scripted=12, stretches=2)
    learner = PolicyLearner(game, own, PolicyLearning(batch=64, trace=1.0), "cpu", 0)
    lessons, stretch = learner.judged(tables.stretch), tables.stretch
    i, tick = (int(k[0]) for k in np.nonzero(stretch.ended & stretch.valued))
    for back in range(tick + 1):
        seat = int(stretch.seats[i, back])
        wanted = stretch.scores[i, tick][(seat + np.arange(3)) % 3]
        assert lessons.values[i, back] == pytest.approx(wanted, abs=1e-5)


# Learning --------------------------------------------------------------------------------------


def surprises(stretch, i, trace):
    """Gains of a table by their definition: sums over the later surprises of the same seat."""
    ticks, found = stretch.seats.shape[1], {}
    for tick in range(ticks):
        seat, gain, weight, at = int(stretch.seats[i, tick]), 0.0, 1.0, tick
        while True:
            nexts = [
                k
                for k in range(at, ticks)
                if stretch.ended[i, k] or (k > at and stretch.seats[i, k] == seat)
            ]
            if not nexts:
                break
            k = nexts[0]
            over = stretch.ended[i, k] and not (k > at and stretch.seats[i, k] == seat)
            later = stretch.scores[i, k, seat] if over else stretch.values[i, k]
            gain += weight * (later - stretch.values[i, at])
            weight, at = weight * trace, k
            found[tick] = gain
            if over:
                break
    return found


@pytest.mark.parametrize("trace", [0.0, 0.6, 1.0])
def test_gains_are_the_later_surprises_of_the_same_seat(game, net, trace):
    stretch = played(game, net, players=("random",), scripted=9, stretches=2).stretch
    learner = PolicyLearner(game, net, PolicyLearning(batch=32, trace=trace), "cpu", 0)
    lessons = learner.judged(stretch)
    for i in range(TABLES):
        found = surprises(stretch, i, trace)
        assert np.flatnonzero(lessons.weights[i]).tolist() == sorted(found)
        for tick, gain in found.items():
            assert lessons.gains[i, tick] == pytest.approx(gain, abs=1e-5)
            if i >= 9:
                expected = stretch.values[i, tick] + gain
                assert lessons.values[i, tick, 0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("scripted", [9, TABLES])
def test_values_are_those_of_games_between_equals_if_there_are_any(game, net, scripted):
    stretch = played(game, net, players=("random",), scripted=scripted, stretches=2).stretch
    learner = PolicyLearner(game, net, PolicyLearning(batch=32), "cpu", 0)
    lessons = learner.judged(stretch)
    valued = np.arange(TABLES) >= (9 if scripted == 9 else 0)
    known = lessons.weights > 0
    assert known[:9].any() and known[9:].any()
    assert np.isnan(lessons.values[~valued]).all() and np.isnan(lessons.margins[~valued]).all()
    assert not np.isnan(lessons.values[valued][known[valued], 0]).any()
    assert (lessons.gains[:9] != 0).any(), "moves are learnt there all the same"


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        ([0.2, 1.0, -0.2, -1.0], [-1 / 3, 1, -1 / 3, -1 / 3]),
        ([0.5, 0.5, 0.0, -1.0], [1 / 3, 1 / 3, -1 / 3, -1 / 3]),
        ([0.0, 0.0, 0.0, 0.0], [0, 0, 0, 0]),
        ([0.3, 0.3, 0.3, -0.9], [1 / 9, 1 / 9, 1 / 9, -1 / 3]),
        ([1.0, -1.0], [1, -1]),
    ],
)
def test_a_first_place_is_shared(scores, wanted):
    scores = np.array(scores, np.float32)
    found = [result(scores, scores, seat, Worth(0.0, 1.0, 1)) for seat in range(len(scores))]
    assert found == pytest.approx(wanted)
    by_margin = [result(scores, scores, seat, Worth(1.0, 1.0, 1)) for seat in range(len(scores))]
    assert by_margin == pytest.approx(scores)


@pytest.mark.parametrize("max_plies", [40, 2000])  # nobody has won, or somebody
def test_the_score_of_four_alone_is_the_first_place(max_plies):
    """MADN's score counts nothing else: weights that learnt it have learnt first places."""
    game = load("madn", max_plies=max_plies)
    batch, rngs = Batch(game, 32, seed=1), streams(1, "player", 64).reshape(32, 2)
    batch.contest("random", "runner", np.zeros((32, 4), np.int64), rngs)
    places = Worth(0.0, 1.0, 1)
    for scores in batch.scores():
        found = [result(scores, scores, seat, places) for seat in range(4)]
        assert found == pytest.approx(scores)
        assert sum(found) == pytest.approx(0, abs=1e-6)
        assert sorted(found) == pytest.approx([-1 / 3] * 3 + [1] if max_plies > 40 else [0] * 4)


def test_values_reach_first_places():
    """One seat at 1 and three at -1/3: the value head comes as near as one likes."""
    game = load("madn")
    own = recipe("madn", "first").network(game, 0)
    with torch.no_grad():
        own.value.weight.zero_()
        own.value.bias.copy_(torch.atanh(torch.tensor([0.999, -1 / 3, -1 / 3, -1 / 3])))
        _, values, _ = own.heads(torch.zeros(1, game.view_size))
    assert values[0].tolist() == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3], abs=2e-3)


def test_nothing_is_learnt_from_what_is_not_known():
    gains, weights = torch.tensor([1.0, 3.0, 1e6]), torch.tensor([1.0, 1.0, 0.0])
    assert usual(gains, weights)[:2].tolist() == pytest.approx([-1.0, 1.0])
    found, wanted = torch.tensor([1.0, 2.0]), torch.tensor([torch.nan, 5.0])
    assert known_error(found, wanted) == 9.0


def test_a_step_makes_good_decisions_likelier_and_no_further_than_allowed(game, net):
    """Many steps on one stretch stop where the clip says, in both directions."""
    learning = PolicyLearning(batch=TABLES * TICKS, learning_rate=1e-2, warm_up=0, entropy=0.0)
    tables, which = played(game, net), torch.arange(TABLES * TICKS)
    learner = PolicyLearner(game, net, learning, "cpu", 0)
    lessons = learner.judged(tables.stretch)
    examples = learner.examples_of(tables.stretch, lessons, which)
    before = learner.learn(examples)["policy"]
    for _ in range(30):
        after = learner.learn(examples)["policy"]
    assert after < before - 0.02
    assert after > -learning.clip


def test_the_reward_for_entropy_falls_with_the_learning_rate(game, net):
    learner = PolicyLearner(game, net, PolicyLearning(warm_up=5, steps=50, batch=32), "cpu", 0)
    stretch, which = played(game, net).stretch, torch.arange(32)
    lessons, found = learner.judged(stretch), []
    for learner.step in (0, 5, 50):
        examples = learner.examples_of(stretch, lessons, which)
        found.append((float(examples.entropy), learner.learning_rate()))
    start = PolicyLearning().entropy, PolicyLearning().learning_rate
    assert found[0] == pytest.approx((start[0], start[1] / 5))
    assert found[1] == pytest.approx(start)
    assert found[2] == pytest.approx((start[0] / 10, start[1] / 10))


@pytest.mark.parametrize(("kept", "middle"), [(0.1, 0.275), (0.5, 0.375), (1.0, 0.5)])
def test_the_reward_for_entropy_falls_to_what_is_kept(game, net, kept, middle):
    learning = PolicyLearning(entropy=0.5, entropy_kept=kept, warm_up=10, steps=110, batch=32)
    learner, found = PolicyLearner(game, net, learning, "cpu", 0), []
    for learner.step in (0, 60, 110, 500):
        found.append(learner.entropy())
    assert found == pytest.approx([0.5, middle, 0.5 * kept, 0.5 * kept])


def test_it_learns_to_beat_a_given_player(tmp_path):
    """Against somebody who plays anything at all, knowing one's card is worth a quarter a game."""
    chosen = replace(TINY, opponents=("random",), opponent_share=1.0, games=128, iterations=60)
    chosen = replace(chosen, learning=PolicyLearning(batch=256, learning_rate=5e-3, warm_up=5))
    method = PolicyMethod(chosen, load(GAME), "cpu", 1)
    scores = [method.iterate(k, lambda *_: None)["score_random"] for k in range(60)]
    assert abs(np.mean(scores[:3])) < 0.2
    assert np.mean(scores[-20:]) > 0.25


def test_opponents_may_have_options():
    """Those that the game has only with other options stay away."""
    game = load("madn", preset="madn_teams", max_plies=60)
    names = "expectimax:depth=1", "expectimax:depth=2", "nobody:depth=1"
    chosen = replace(TINY, opponents=names, opponent_share=1.0, ticks=16)
    method = PolicyMethod(chosen, game, "cpu", 1)
    assert method.tables.players == [list(names[:2])]
    found = method.iterate(0, lambda *_: None)
    assert "score_expectimax:depth=1" in found and "score_nobody:depth=1" not in found


# Runs ------------------------------------------------------------------------------------------


def test_a_run_in_parts_comes_to_the_same_weights(tmp_path):
    chosen = replace(TINY, opponents=("random",), opponent_share=0.3)
    assert killing.ends_alike_in_pieces(chosen, tmp_path)


@pytest.mark.parametrize(
    ("name", "which", "options"),
    [(GAME, "policy", {}), (GOOFSPIEL, "default", {"players": 3, "cards": 4})],
)
def test_the_player_sits_down(name, which, options, tmp_path):
    settings = {"recipe": which, "change": tiny, "options": options}
    text = kibitz.train(name, tmp_path / "run", seed=2, **settings)
    others = ["random"] * (options.get("players", 2) - 1)
    assert kibitz.match(load(name, **options), text, *others, games=6, seed=1).games == 6


def test_where_everybody_passes_the_gate_the_newest_plays(tmp_path):
    run = Run(replace(TINY, iterations=3, gate_rate=0.0), tmp_path / "run", seed=1)
    run.train()
    run.champion(tmp_path / "p.safetensors", {})
    run.close()
    assert run.standing.league.members == [0, 2]
    newest = run.method.average.half().state_dict()
    for name, weights in load_net(tmp_path / "p.safetensors")[0].state_dict().items():
        assert torch.equal(weights, newest[name]), name


def test_a_run_from_before_entropy_was_kept_goes_on(tmp_path):
    Run(TINY, tmp_path / "run", seed=1).close()
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert "entropy_kept" not in about["recipe"]["learning"]  # as runs were always described
    Run(TINY, tmp_path / "run", resume=True).close()
    lasting = replace(TINY, learning=replace(TINY.learning, entropy_kept=1.0))
    with pytest.raises(RunError, match="another recipe"):
        Run(lasting, tmp_path / "run", resume=True)


@pytest.mark.parametrize("name", ["madn", "dominion"])
def test_games_have_their_own(name):
    assert isinstance(recipe(name, "policy"), PolicyTraining)


def test_too_few_decisions_are_refused():
    with pytest.raises(GameError, match="fewer decisions than a step of learning needs"):
        replace(TINY, games=2)


def test_a_checkpoint_of_other_tables_is_refused(game, net):
    tables, arrays = StretchPlay(game, net, TABLES, TICKS, "cpu"), played(game, net).arrays()
    tables.begin(5, (), 0)
    tables.restore(arrays)
    with pytest.raises(ValueError, match="does not play here"):
        tables.restore({**arrays, "seated": np.full_like(arrays["seated"], 7)})
    with pytest.raises(ValueError, match="not stretches at 24 tables"):
        tables.restore({**arrays, "seated": arrays["seated"][:3]})


@pytest.mark.gpu
def test_a_gpu_plays_and_learns(game, net):
    """One stretch on both devices: the same games as long as the same actions are drawn."""
    stretches = {}
    for device in ("cpu", "cuda"):
        tables = StretchPlay(game, net, TABLES, TICKS, device)
        tables.begin(5, ("random",), 9)
        tables.play(net)
        stretches[device] = Stretch(*map(tables.device.get, tables.stretch))
        learner = PolicyLearner(game, net, PolicyLearning(batch=64, compiled=True), device, 0)
        which = torch.arange(64, device=device)
        for _ in range(6):
            examples = learner.examples_of(tables.stretch, learner.judged(tables.stretch), which)
            assert np.isfinite(learner.learn(examples)["policy"])
    same = stretches["cpu"].played == stretches["cuda"].played
    assert same[:, 0].mean() > 0.9  # probabilities in bfloat16 draw otherwise at times
    first = same[:, 0]
    assert (stretches["cpu"].seats[first, 1] == stretches["cuda"].seats[first, 1]).mean() > 0.9
    lessons = {}
    for device in ("cpu", "cuda"):  # advantages of one stretch are the same everywhere
        tables = StretchPlay(game, net, TABLES, TICKS, device)
        given = Stretch(*map(tables.device.put, stretches["cpu"]))
        later, found = (
            empty_later(tables.device, game, TABLES),
            empty_lessons(tables.device, game, TABLES, TICKS),
        )
        tables.device.run(judge_all, TABLES, given, later, found, 0.9, Worth(0.0, 1.0, 0))
        lessons[device] = tables.device.get(found.gains)
    assert np.allclose(lessons["cpu"], lessons["cuda"], atol=1e-6)
