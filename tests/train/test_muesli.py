"""Muesli: walks that say what moves do, a model that is learnt from them, and continued runs."""

from __future__ import annotations

from dataclasses import replace

import killing
import numpy as np
import pytest
import torch
from small_games import COIN

import kibitz
from kibitz.arena.imagined import model_quality
from kibitz.game import OVER, GameError
from kibitz.games import load
from kibitz.nets import save_net
from kibitz.nets.latent import codes_of
from kibitz.recipes import any_muesli, recipe
from kibitz.train.muesli.learner import Imagining, MuesliLearner
from kibitz.train.muesli.loop import MuesliMethod, MuesliTraining
from kibitz.train.muzero.losses import unrolled_losses

pytestmark = pytest.mark.usefixtures("one_thread")

TABLES, TICKS, WALKS = 24, 10, 48


def tiny(chosen: MuesliTraining) -> MuesliTraining:
    return replace(
        chosen,
        config={"width": 16, "blocks": 1, "dynamics_blocks": 1},
        learning=replace(chosen.learning, batch=64, warm_up=2, steps=40, average_decay=0.9),
        imagining=Imagining(walks=WALKS, unroll=3, any_share=0.5),
        games=TABLES,
        ticks=TICKS,
        iterations=4,
        gate_every=2,
        gate_games=4,
        opponents=(),
        baselines=("random",),
    )


def begun(game_name, **options):
    """A learner with a stretch of play to learn from, and positions to begin walks at."""
    game = load(game_name, **options)
    method = MuesliMethod(tiny(any_muesli(game_name, **options)), game, "cpu", 3)
    method.tables.play(method.learner.net)
    return method.learner, method.tables.stretch, torch.arange(WALKS)


@pytest.fixture(params=["kuhn", "coin", "three seats"], scope="module")
def walked(request):
    names = {"kuhn": ("kuhn", {}), "coin": (COIN, {})}
    seats = "examples/goofspiel.py", {"players": 3, "cards": 4}
    name, options = names.get(request.param, seats)
    learner, stretch, which = begun(name, **options)
    return learner, stretch, which, learner.walked(stretch.words, which)


def test_walks_follow_the_rules(walked):
    """Played again by the rules, with the codes as outcomes, every walk comes to the same turns."""
    learner, stretch, which, found = walked
    game, codes = learner.game, learner.config.codes
    ticks = stretch.words.shape[1]
    for row in range(WALKS):
        words = stretch.words[int(which[row]) // ticks, int(which[row]) % ticks]
        s = np.array(words).view(game.state)[0]
        for move in range(found.played.shape[1]):
            if not found.value_weights[row, move + 1]:
                break
            mover, action = game.turn(s), int(found.played[row, move])
            assert action in game.legal(s)
            game.play(s, action)
            while game.turn(s) == -1:
                code = int(found.codes[row, move])
                outcomes = np.flatnonzero(codes_of(np.arange(game.num_outcomes), codes) == code)
                chances = [o for o in outcomes if game.chances(s)[o] > 0]
                game.play(s, int(chances[0]))
            if game.turn(s) == OVER:
                assert found.ends[row, move] == 1
                assert found.goes_on[row, move] == 0
                share = learner.results(torch.tensor(game.scores(s))[None], torch.tensor([[mover]]))
                assert torch.allclose(found.shares[row, move + 1], share[0, 0].float())
                break
            assert found.goes_on[row, move] == 1
            assert (mover + int(found.turns[row, move])) % game.seats == game.turn(s)


def test_the_model_is_taught_what_the_network_says(walked):
    """Shares and policy are the network's own for the positions that came."""
    learner, _, _, found = walked
    logits, shares = learner.said(learner.looks[1])
    goes_on = found.goes_on[:, 0] > 0
    assert goes_on.any()
    assert torch.allclose(found.shares[goes_on, 1], shares[goes_on], atol=1e-6)
    listed = found.listed[:, 1]
    chosen = logits.gather(1, listed.clamp(min=0)).masked_fill(listed < 0, -1e9).softmax(1)
    assert torch.allclose(found.policy[goes_on, 1], chosen[goes_on], atol=1e-6)
    assert (found.policy_weights[:, 0] == 0).all()
    assert (found.value_weights[:, 0] == 0).all()


def test_odds_are_those_of_the_rules():
    learner, stretch, which = begun(COIN)
    found = learner.walked(stretch.words, which)
    moved = found.value_weights[:, 1:] > 0
    assert torch.allclose(found.odds[moved].sum(1), torch.ones(int(moved.sum())))
    thrown = moved & (found.codes > 0)
    assert thrown.any()
    assert torch.allclose(found.odds[thrown][:, 1:], torch.tensor([[0.5, 0.375, 0.125]]))


def test_a_share_of_the_moves_is_anything():
    learner, stretch, which = begun("kuhn")
    with torch.no_grad():
        learner.net.policy.weight.zero_()
        learner.net.policy.bias.copy_(torch.tensor([9.0, -9.0]))
    taken = {}
    for share in (0.0, 0.5):
        learner.imagining = replace(learner.imagining, any_share=share)
        taken[share] = (learner.walked(stretch.words, which).played[:, 0] == 1).float().mean()
    assert taken[0.0] == 0
    assert 0.1 < taken[0.5] < 0.45


def test_a_model_of_the_game_is_learnt(tmp_path):
    """Whose turn it is, when the game ends, and the odds of the coin."""
    chosen = any_muesli(COIN)
    chosen = replace(
        tiny(chosen),
        config={"width": 48, "blocks": 1, "dynamics_blocks": 1},
        learning=replace(chosen.learning, batch=240, learning_rate=4e-3, warm_up=5, steps=500),
        imagining=Imagining(walks=240, unroll=3),
        iterations=50,
        gate_every=200,
    )
    text = kibitz.train(COIN, tmp_path / "run", recipe="muesli", change=lambda _: chosen, seed=1)
    found = model_quality(load(COIN), text.removeprefix("net:"), games=40, seed=2)
    assert found.ends.share == found.goes_on.share == 1
    assert all(share.share == 1 for share in found.turns.values())
    assert found.chance_kl < 0.01


def opinionated(learner, stretch, which):
    """Give an untrained network values that are far apart, whatever they are worth."""
    net = learner.net
    learner.walked(stretch.words, which)
    with torch.no_grad():
        net.value.weight.mul_(100)
        scores = torch.cat([net.judge(net.represent(views)).scores for views in learner.looks[:2]])
        net.value.bias.sub_(scores.mean(0))


def parts_of_the_model(net, views):
    """The parameters that neither policy nor value of a view comes from."""
    said = sum(out.sum() for out in net(views))
    gradients = torch.autograd.grad(said, list(net.parameters()), allow_unused=True)
    return [p for p, g in zip(net.parameters(), gradients, strict=True) if g is None]


def test_the_model_comes_to_the_values_that_the_network_sees_after_moves(tmp_path):
    """The network's values are held fixed; the model learns them from walks, by the move alone."""
    learner, stretch, which = begun(COIN)
    opinionated(learner, stretch, which)
    net, rng, file = learner.net, torch.Generator().manual_seed(1), tmp_path / "net.safetensors"
    parts = parts_of_the_model(net, learner.looks[0])
    optimizer = torch.optim.Adam(parts, lr=4e-3)
    for learner.step in range(400):
        which = torch.randint(TABLES * TICKS, (WALKS,), generator=rng)
        losses = unrolled_losses(net, learner.walked(stretch.words, which))
        gradients = torch.autograd.grad(torch.stack(list(losses.values())).sum(), parts)
        for parameter, gradient in zip(parts, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
    save_net(file, net, {"game": learner.game.describe()})
    found = model_quality(learner.game, str(file), games=40, seed=2)
    assert found.moves.true / found.moves.count > 0.01  # the values are far apart
    assert found.moves.correlation > 0.95


def test_a_run_in_parts_comes_to_the_same_weights(tmp_path):
    assert killing.ends_alike_in_pieces(tiny(any_muesli("kuhn")), tmp_path)


def test_the_player_sits_down_and_searches_what_it_imagines(tmp_path):
    text = kibitz.train("kuhn", tmp_path / "run", recipe="muesli", change=tiny, seed=2)
    for player in (text, f"{text},sims=8", f"{text},sims=8,model=rules"):
        assert kibitz.match(load("kuhn"), player, "random", games=4, seed=1).games == 4


def test_every_game_has_it():
    assert isinstance(recipe("beasty_bar", "muesli"), MuesliTraining)
    assert recipe("dog", "muesli").options == {"preset": "dog"}


def test_networks_that_imagine_nothing_are_refused():
    chosen = replace(tiny(any_muesli("kuhn")), net="residual", config={"width": 16, "blocks": 1})
    with pytest.raises(GameError, match="imagines nothing"):
        MuesliMethod(chosen, load("kuhn"), "cpu", 1)


def test_more_walks_than_positions_are_refused():
    with pytest.raises(GameError, match="fewer positions than walks"):
        replace(tiny(any_muesli("kuhn")), imagining=Imagining(walks=65))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["kuhn", "beasty_bar"])
def test_a_gpu_walks_and_learns(name):
    """Walks from the same positions are the same wherever the same actions are drawn."""
    learner, stretch, which = begun(name)
    here = learner.walked(stretch.words, which)
    there = MuesliLearner(
        learner.game, learner.net.cpu(), learner.learning, learner.imagining, "cuda", 3
    )
    found = there.walked(there.lanes.put(stretch.words), which.cuda())
    same = (here.played[:, 0] == found.played[:, 0].cpu()) & (here.value_weights[:, 1] > 0)
    assert same.float().mean() > 0.8  # probabilities in bfloat16 draw otherwise at times
    for field in ("codes", "turns", "ends", "goes_on"):
        mine, other = (getattr(x, field)[:, 0].cpu()[same] for x in (here, found))
        assert torch.equal(mine, other), field
    assert torch.allclose(here.odds[same, 0], found.odds[:, 0].cpu()[same])
    method = MuesliMethod(tiny(any_muesli(name)), load(name), "cuda", 3)
    for iteration in range(1, 3):
        assert np.isfinite(method.iterate(iteration, lambda *_: None)["loss_model_value"])
