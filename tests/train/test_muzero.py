"""MuZero: sequences, unrolled losses, a model that is right, and runs that are continued."""

from __future__ import annotations

from dataclasses import replace

import killing
import numpy as np
import pytest
import torch
from small_games import COIN, THREE_IN_A_ROW

import kibitz
from kibitz.arena.exploitability import table_of_policy
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets.kinds import all_kinds
from kibitz.nets.latent import codes_of, odds_of_codes
from kibitz.players import player
from kibitz.recipes import any_muzero, recipe
from kibitz.search.mcts import Search, Settings
from kibitz.search.regret import solve
from kibitz.search.sequences import Sequences as Sequenced
from kibitz.train.folder import Listed, read_stored, write_tensors
from kibitz.train.muzero.learner import Sequences, UnrolledLearner, Unrolling
from kibitz.train.muzero.loop import MuZeroTraining
from kibitz.train.muzero.losses import balanced, unrolled_losses
from kibitz.train.replay import Replay, Shard
from kibitz.train.run import Run
from kibitz.train.tree_search.selfplay import SelfPlay

pytestmark = pytest.mark.usefixtures("one_thread")

GAMES = 200


def tiny(chosen: MuZeroTraining) -> MuZeroTraining:
    return replace(
        chosen,
        search=replace(chosen.search, simulations=4, considered=2),
        config={"width": 16, "blocks": 1, "dynamics_blocks": 1},
        learning=Unrolling(batch=32, unroll=3, steps=12, average_decay=0.9),
        games=16,
        steps=3,
        iterations=3,
        gate_every=3,
        gate_games=4,
        baselines=("random",),
    )


TINY = tiny(any_muzero(COIN))


@pytest.fixture(scope="module")
def game():
    return load(COIN)


@pytest.fixture(scope="module")
def replay(game):
    """Games of coin in which everybody stakes what it likes."""
    selfplay, replay = SelfPlay(game, 50, "cpu", seed=1), Replay(10_000)
    search = Search(game, 50, Settings(simulations=2, noise=0.5), evaluator="uniform")
    while selfplay.ended < GAMES:
        selfplay.move(search)
    shard = selfplay.taken()
    replay.add(shard, Listed("000001.safetensors", "", len(shard.decisions)))
    return replay


def drawn(replay, size=64, length=4, seed=1):
    rows = replay.sequences(size, length, np.random.default_rng(seed))
    return rows, Sequences.of(replay, rows)


def student(game, **learning):
    kind = all_kinds()["muzero"]
    config = kind.config(**kind.fitted(game) | {"width": 32, "blocks": 1})
    return UnrolledLearner(game, kind.net(config, 1), Unrolling(**learning), "cpu", seed=1)


# Sequences ---------------------------------------------------------------------------------------


def test_a_sequence_follows_its_game_to_the_end(replay):
    rows, (positions, alive) = drawn(replay)
    games, moves = (a.reshape(rows.shape) for a in (positions.games, positions.moves))
    assert alive[:, 0].all() and not alive[:, 2:].any()  # two decisions are a game of coin
    assert {tuple(row) for row in moves[:, :2][alive[:, 1]].tolist()} == {(0, 1)}
    assert (games[:, 0] == games[:, 1])[alive[:, 1]].all()
    assert (moves[~alive[:, 1], 0] == 1).all()


def test_the_last_throw_is_noted_with_the_result(game, replay):
    """Who threw higher has won what the other staked."""
    _, (positions, _) = drawn(replay)
    last = positions[np.flatnonzero(positions.moves == 1)]
    mine = last.last_outcomes
    theirs = np.array([int(s.face[0]) for s in last.states])
    assert set(mine.tolist()) == {0, 1, 2}
    assert (np.sign(last.scores[:, 0]) == np.sign(mine - theirs)).all()


def test_last_outcomes_survive_the_disk_and_early_shards_do_without(tmp_path, game):
    selfplay = SelfPlay(game, 8, "cpu", seed=1)
    search = Search(game, 8, Settings(simulations=2), evaluator="uniform")
    while selfplay.ended < 8:
        selfplay.move(search)
    shard = selfplay.taken()
    listed = shard.save(tmp_path / "000001.safetensors", game)
    read = Shard.read(tmp_path / "000001.safetensors", game, listed)
    assert read.results.outcomes.tolist() == shard.results.outcomes.tolist()
    assert (shard.results.outcomes >= 0).all()
    stored = read_stored(tmp_path / "000001.safetensors")
    arrays = {name: array for name, array in stored.arrays.items() if name != "ended_outcomes"}
    write_tensors(tmp_path / "000002.safetensors", arrays, stored.about)
    early = Shard.read(tmp_path / "000002.safetensors", game)
    assert set(early.results.outcomes.tolist()) == {-1}


def test_codes_are_outcomes_and_one_for_none():
    assert codes_of(np.array([-1, 0, 2]), 4).tolist() == [0, 1, 3]
    assert codes_of(np.array([-1, 0, 5]), 4).tolist() == [0, 1, 3]
    assert codes_of(np.array([-1, 0, 5]), 1).tolist() == [0, 0, 0]


def test_odds_are_those_of_the_rules_where_one_throw_comes(game, replay):
    """Not what was thrown, which says little about a coin."""
    _, batch = drawn(replay)
    examples = student(game).examples(batch)
    moved = examples.value_weights[:, 1:] > 0
    assert examples.odds[moved].tolist() == [[0, 0.5, 0.375, 0.125]] * int(moved.sum())
    assert odds_of_codes(np.array([[0.25, 0.75], [0, 0]]), 3).tolist() == [
        [0, 0.25, 0.75],
        [1, 0, 0],
    ]
    shared = odds_of_codes(np.array([[0.2, 0.3, 0.5]]), 3)  # two outcomes share a code
    assert shared[0] == pytest.approx([0, 0.7, 0.3])


# Losses ------------------------------------------------------------------------------------------


def test_targets_are_what_happened(game, replay):
    rows, batch = drawn(replay)
    examples, alive = student(game).examples(batch), rows >= 0
    steps = batch.positions.arrays()
    seats = steps["seats"].reshape(rows.shape)
    assert examples.views.shape == (64, 4, game.view_size)
    assert examples.ends.sum(1).tolist() == [1.0] * 64  # every game ends within three moves
    ended = (alive[:, :-1] & ~alive[:, 1:]).argmax(1)
    assert (examples.ends.argmax(1).numpy() == ended).all()
    assert (examples.turns[:, 0].numpy() == np.where(alive[:, 1], 1, 0)).all()
    assert (examples.codes[:, 0].numpy()[alive[:, 1]] > 0).all()  # the throw of the first seat
    # The end is worth what the game has brought, as its last mover sees it.
    scores = steps["scores"].reshape(*rows.shape, 2)[np.arange(64), ended, 0]
    shares = examples.shares[np.arange(64), ended + 1, 0].numpy()
    assert shares == pytest.approx((1 + scores / 2) / 2)
    assert (examples.value_weights.sum(1).numpy() == ended + 2).all()
    assert set(seats[:, 0].tolist()) == {0, 1}


def test_where_one_action_was_legal_no_policy_is_learnt(game, replay):
    _, batch = drawn(replay)
    batch.positions.actions[:, 1:] = -1
    assert student(game).examples(batch).policy_weights.sum() == 0
    some = student(game, forced_weight=0.5).examples(batch).policy_weights
    assert set(some[:, 0].tolist()) == {0.5}


def test_all_steps_together_count_as_much_as_the_first(game, replay):
    """With an untrained network every loss of a step is about the same."""
    learner, (_, batch) = student(game), drawn(replay)
    examples = learner.examples(batch)
    examples = examples._replace(
        value_weights=torch.ones_like(examples.value_weights),
        shares=torch.full_like(examples.shares, 0.5),
    )
    losses = unrolled_losses(learner.net, examples)
    assert losses["value"].item() == pytest.approx(2 * np.log(2), rel=0.05)


def test_half_of_the_gradient_goes_through_each_step(game, replay, monkeypatch):
    """The loss two steps on alone: at the first latent its gradient is half of the whole one."""
    learner, (_, batch) = student(game), drawn(replay)
    examples, sizes = learner.examples(batch), []
    represent = learner.net.represent
    only = torch.zeros_like(examples.value_weights)
    only[:, 2] = 1
    examples = examples._replace(value_weights=only, shares=torch.full_like(examples.shares, 0.9))
    for kept in (None, 1.0):
        if kept is not None:
            monkeypatch.setattr("kibitz.train.muzero.losses.KEPT_GRADIENT", kept)
        first = represent(examples.views[:, 0]).detach().requires_grad_()
        learner.net.represent = lambda views, first=first: first
        unrolled_losses(learner.net, examples)["value"].backward()
        sizes.append(first.grad.norm().item())
    learner.net.represent = represent
    assert sizes[0] / sizes[1] == pytest.approx(0.5, rel=1e-3)


def test_a_rare_end_counts_as_much_as_all_that_goes_on():
    logits, happened = torch.zeros(1, 100), torch.zeros(1, 100)
    happened[0, 7] = 1
    logits[0, 7] = 3.0
    loss = balanced(logits, happened, torch.ones(1, 100))
    assert loss.item() == pytest.approx(0.5 * np.log(2) + 0.5 * np.log1p(np.exp(-3.0)), abs=1e-5)
    nothing = balanced(logits, torch.zeros(1, 100), torch.zeros(1, 100))
    assert nothing.item() == 0


def test_the_model_of_a_game_is_learnt(game, replay):
    """Odds of the coin, whose turn it is, when it ends, and who has won."""
    learner = student(game, batch=128, unroll=2, learning_rate=4e-3, steps=200)
    first, last = None, None
    for seed in range(160):
        _, batch = drawn(replay, 128, 3, seed)
        last = learner.learn(batch)
        first = first or last
    assert all(last[name] < 0.9 * first[name] for name in ("value", "turn", "end", "chance"))
    net, (rows, batch) = learner.net.eval(), drawn(replay, 128, 3, 1)
    examples = learner.examples(batch)
    with torch.no_grad():
        latents = net.represent(examples.views[:, 0])
        after = net.act(latents, examples.played[:, 0])
        odds = net.odds(after).softmax(1).mean(0).tolist()
        outlook = net.judge(net.settle(latents, after, examples.codes[:, 0]))
    assert odds == pytest.approx([0, 0.5, 0.375, 0.125], abs=0.08)
    over = examples.ends[:, 0] > 0
    assert ((outlook.ends > 0) == over).float().mean() > 0.99
    assert (outlook.turns.argmax(1) == examples.turns[:, 0])[~over].float().mean() > 0.99
    won = net.values(outlook.scores)[over, 0].numpy()
    truth = batch.positions.scores.reshape(*rows.shape, 2)[over.numpy(), 0, 0]
    assert np.abs(won - truth).mean() < 0.25


# Runs --------------------------------------------------------------------------------------------


def test_any_game_can_be_trained_and_its_player_sits_down(tmp_path, capsys):
    text = kibitz.train(COIN, tmp_path / "run", recipe="muzero", change=tiny, seed=1)
    table = load(COIN)
    for more in ("", ",sims=6", ",sims=6,model=rules"):
        assert kibitz.match(table, text + more, "random", games=12, seed=1).games == 12
    with pytest.raises(GameError, match="model=both: there are own, rules"):
        kibitz.match(table, f"{text},sims=6,model=both", "random", games=2)
    with pytest.raises(GameError, match="only a search has a model"):
        kibitz.match(table, f"{text},model=own", "random", games=2)
    assert "iteration 3" in capsys.readouterr().out


def test_a_run_in_many_pieces_ends_with_the_same_weights(tmp_path):
    assert killing.ends_alike_in_pieces(TINY, tmp_path)


def test_a_network_that_imagines_nothing_is_refused(tmp_path):
    with pytest.raises(GameError, match=r"ResidualNet\) imagines nothing"):
        Run(replace(TINY, net="residual", config={}), tmp_path / "run", seed=1)


def test_games_with_a_recipe_of_their_own_have_it_as_well():
    assert recipe("madn", "muzero").net == recipe("dog", "muzero").net == "muzero_ring"
    assert recipe("dog", "muzero", reveal="all").options == {"preset": "dog", "reveal": "all"}
    assert recipe("beasty_bar", "muzero").net == recipe(THREE_IN_A_ROW, "muzero").net == "muzero"
    with pytest.raises(GameError, match=r"has no recipe 'none'; it has: .*any, muesli, muzero"):
        recipe("beasty_bar", "none")


def test_imagined_latents_are_drawn_to_those_of_the_views_that_came(game, replay):
    apart = {}
    for weight in (0.0, 2.0):
        learner = student(game, batch=64, unroll=1, learning_rate=3e-3, consistency=weight)
        for seed in range(40):
            losses = learner.learn(drawn(replay, 64, 2, seed)[1])
        assert ("latent" in losses) == (weight > 0)
        examples = learner.examples(drawn(replay, 64, 2, 99)[1])
        apart[weight] = unrolled_losses(learner.net, examples, 1.0)["latent"].item()
    assert apart[2.0] < 0.5 * apart[0.0]


def first_seat_value(who):
    """What a player gets in Kuhn poker as the first seat against an equilibrium, exactly."""
    form = Sequenced(load("kuhn"))
    table = solve(form, iterations=2000).average.copy()

    def only_choice(sight):
        return np.asarray(sight.legal[0] == who.choose(sight)[:, None], float)

    chosen = table_of_policy(form, only_choice)
    for first, choices in zip(
        form.first[form.owner == 0], form.choices[form.owner == 0], strict=True
    ):
        table[first : first + choices] = chosen[first : first + choices]
    return form.value(table, 0, best=False)


def test_the_first_seat_is_measured_against_the_equilibrium():
    """Betting with everything costs; never betting costs more."""

    class Always:
        def __init__(self, action):
            self.name, self.action = "always", action

        def choose(self, sight):
            return np.full(len(sight), self.action)

    assert first_seat_value(Always(1)) == pytest.approx(-1 / 9, abs=3e-3)
    assert first_seat_value(Always(0)) == pytest.approx(-2 / 9, abs=3e-3)


@pytest.mark.slow  # two or three minutes
def test_kuhn_poker_is_learnt_to_its_value(tmp_path):
    """A bluff cannot be seen: the model learns what it is worth from results alone."""
    Run(replace(recipe("kuhn", "muzero"), iterations=80), tmp_path / "run", seed=1).train()
    file = max((tmp_path / "run" / "league").iterdir())
    for more in ("", ",sims=50"):
        value = first_seat_value(player(f"net:{file}{more}", load("kuhn")))
        assert value > -1 / 18 - 0.03, more


def test_the_smoke_recipe_of_madn_runs(tmp_path):
    """With less of everything. Whether it learns, the slow test below sees."""
    run, rows = Run(tiny(recipe("madn", "smoke", max_plies=20)), tmp_path, seed=1), []
    run.train(progress=rows.append)
    run.close()
    assert all(np.isfinite(rows[-1][f"loss_{name}"]) for name in ("policy", "value", "turn", "end"))


@pytest.mark.slow  # minutes on one core
def test_the_smoke_recipe_of_madn_lowers_the_loss(tmp_path):
    run = Run(replace(recipe("madn", "smoke"), iterations=4, gate_every=5), tmp_path, seed=1)
    rows = []
    run.train(progress=rows.append)
    run.close()
    for name in ("policy", "value", "turn", "end"):
        assert rows[-1][f"loss_{name}"] < rows[0][f"loss_{name}"], name


@pytest.mark.slow  # compiles self-play and search for one more game
def test_a_run_with_a_die_in_many_pieces_ends_with_the_same_weights(tmp_path):
    chosen = tiny(recipe("madn", "muzero", preset="madn", max_plies=60))
    assert killing.ends_alike_in_pieces(chosen, tmp_path)


@pytest.mark.slow  # compiles self-play and search for two more records
def test_the_ladder_from_dmadn_to_dog_is_climbed_with_the_same_weights(tmp_path, capsys):
    ladder = ["dmadn", "dmadn_teams", "madn_teams", "cards_plain", "dog_nojoker", "dog_solo", "dog"]
    start, said = None, []
    for preset in ladder:
        options = {"preset": preset, "max_plies": 40}
        settings = {"options": options, "change": tiny, "seed": 1, "start": start}
        kibitz.train("madn", tmp_path / preset, recipe="muzero", **settings)
        start = tmp_path / preset / "player.safetensors"
        said.append(capsys.readouterr().out)
    assert "tensors were carried" not in said[0]
    for words in said[1:]:
        assert "tensors were carried" in words and "iteration 3" in words
