"""Training: it learns, it survives being killed, and it refuses what it cannot use."""

from __future__ import annotations

import errno
import json
import os
import random
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import killing
import numpy as np
import pytest
import torch
from torch import nn

from kibitz import players
from kibitz.batch import Batch
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net
from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.recipes import recipe
from kibitz.search.mcts import Search, Settings
from kibitz.train import folder as folders
from kibitz.train.folder import Listed, RunError, RunFolder, read_tensors, write_tensors
from kibitz.train.league import League
from kibitz.train.replay import Decisions, Positions, Replay, Results, Shard
from kibitz.train.run import Run
from kibitz.train.tree_search.learner import Learner, Learning
from kibitz.train.tree_search.scripted import ScriptedGames
from kibitz.train.tree_search.selfplay import SelfPlay
from kibitz.train.weights import update_average

TINY = replace(
    recipe("beasty_bar", "demo"),
    config={"margin_head": True, "width": 16, "embedding": 8, "attention_heads": 2},
    search=Settings(simulations=6, root="gumbel", considered=4),
    scripted=ScriptedGames(iterations=1),
    warm_search=Settings(simulations=10),
    warm_start=2,
    learning=Learning(batch=32, warm_up=2, steps=20, average_decay=0.9),
    games=8,
    steps=3,
    iterations=4,
    gate_every=2,
    gate_games=4,
    baselines=("random",),
)

NAME = "test_train.TINY"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return killing.finished(NAME, tmp_path_factory.mktemp("undisturbed"))


def test_a_run_that_was_killed_ends_with_the_same_weights(undisturbed, tmp_path):
    half = killing.iteration_seconds(undisturbed) / 2
    assert killing.killed_at(NAME, tmp_path / "run", [(1, half), (2, half)]) == 2
    assert killing.weights(tmp_path / "run") == killing.weights(undisturbed)
    assert killing.reached(undisturbed) == TINY.iterations
    once, again = (RunFolder(path).metrics() for path in (undisturbed, tmp_path / "run"))
    assert [row["loss_policy"] for row in again] == [row["loss_policy"] for row in once]


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(10))
def test_killing_at_random_moments_changes_nothing(undisturbed, tmp_path, attempt):
    began = time.monotonic()
    killing.finished(NAME, undisturbed)  # nothing is left to do: the time to start
    start, training = time.monotonic() - began, RunFolder(undisturbed).metrics()[-1]["seconds"]
    dice = random.Random(attempt)
    moments = [start * dice.random() + 0.6 * training * dice.random() for _ in range(4)]
    died = killing.killed_at(NAME, tmp_path / "run", [(0, moment) for moment in moments])
    assert killing.weights(tmp_path / "run") == killing.weights(undisturbed)
    print(f"attempt {attempt}: killed {died} times at {[round(m, 2) for m in moments]} s, equal")


def test_a_run_stopped_by_the_clock_ends_with_the_same_weights(
    undisturbed, tmp_path, monkeypatch, one_thread
):
    """Wherever the time is up: in self-play, in a search, in learning or at the gate."""
    for session in range(100):
        run = Run(TINY, tmp_path / "run", seed=killing.SEED, resume=session > 0)
        with monkeypatch.context() as patched:
            patched.setattr("time.monotonic", killing.Moments(40 + 15 * session))
            run.train(seconds=60)
        run.close()
        if run.standing.iteration == TINY.iterations:
            break
    assert session > TINY.iterations, "most sessions end inside an iteration"
    assert killing.weights(tmp_path / "run") == killing.weights(undisturbed)
    once, again = (RunFolder(path).metrics() for path in (undisturbed, tmp_path / "run"))
    for name in ("loss_policy", "loss_value", "positions", "elo"):
        assert [row[name] for row in again] == pytest.approx([row[name] for row in once]), name


@pytest.mark.parametrize("looks", [3, 20, 40])
def test_time_that_is_up_inside_an_iteration_is_noticed_there(
    tmp_path, monkeypatch, looks, one_thread
):
    searched = replace(TINY, scripted=ScriptedGames())  # scripted games hardly look at the clock
    run = Run(searched, tmp_path / "run", seed=3)
    monkeypatch.setattr("time.monotonic", killing.Moments(looks))
    run.train(seconds=60)
    run.close()
    monkeypatch.undo()
    assert run.standing.iteration == 0 and killing.reached(tmp_path / "run") == 0
    assert [path.stem for path in RunFolder(tmp_path / "run").checkpoints()] == ["000000"]


def test_the_newest_weights_play_at_once(tmp_path, one_thread):
    """Each iteration begins with the average that the one before has left, gate or no gate."""
    training = replace(TINY, scripted=ScriptedGames(), warm_start=0, iterations=3, gate_every=9)
    run = Run(training, tmp_path / "run", seed=3)
    playing, averages = [], [weight_of(run.method.average)]
    learn = run.method.learn

    def noted(stage):
        playing.append(weight_of(run.method._evaluator.net))
        learn(stage)
        averages.append(weight_of(run.method.average))

    run.method.learn = noted
    run.train()
    run.close()
    assert playing == averages[:-1] and len(set(averages)) == 4


def weight_of(net: nn.Module) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in net.state_dict().values())


def test_a_run_writes_what_people_look_at(undisturbed):
    about = json.loads((undisturbed / "run.json").read_text())
    assert about["game"]["name"] == "beasty_bar" and "torch" in about["versions"]
    assert (undisturbed / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list((undisturbed / "board").iterdir())
    assert not list(undisturbed.rglob("*.pkl")) and not list(undisturbed.rglob("*.pt"))


def test_only_a_few_checkpoints_are_kept(undisturbed):
    assert len(RunFolder(undisturbed).checkpoints()) == folders.KEPT


def resumed(path: Path) -> Run:
    return Run(TINY, path, seed=3, resume=True)


@pytest.fixture
def copied(undisturbed, tmp_path):
    import shutil

    return Path(shutil.copytree(undisturbed, tmp_path / "run"))


@pytest.mark.parametrize("damage", [lambda b: b[:1000], lambda b: b"", lambda b: b"x" * len(b)])
def test_a_damaged_checkpoint_gets_a_sentence_and_stays_as_it_is(copied, damage):
    newest = RunFolder(copied).checkpoints()[-1]
    newest.write_bytes(damage(newest.read_bytes()))
    before = {f: f.read_bytes() for f in copied.rglob("*.safetensors")}
    with pytest.raises(RunError, match=r"000004\.safetensors is damaged"):
        resumed(copied)
    assert before == {f: f.read_bytes() for f in copied.rglob("*.safetensors")}


def test_a_run_of_another_game_is_refused(copied):
    file = copied / "run.json"
    about = json.loads(file.read_text())
    other = load("kuhn")
    about |= {"fingerprint": other.fingerprint, "game": other.describe()}
    file.write_text(json.dumps(about))
    with pytest.raises(RunError, match="is a run of kuhn, not of beasty_bar"):
        resumed(copied)


def test_a_run_is_not_started_twice_nor_resumed_with_another_recipe(copied):
    with pytest.raises(RunError, match="holds a run already; give --resume"):
        Run(TINY, copied, seed=3)
    with pytest.raises(RunError, match="started with another seed: 3"):
        Run(TINY, copied, seed=4, resume=True)
    with pytest.raises(RunError, match="started with another recipe"):
        Run(replace(TINY, steps=9), copied, seed=3, resume=True)


def test_a_second_process_on_the_same_folder_is_refused(tmp_path):
    first, second = RunFolder(tmp_path), RunFolder(tmp_path)
    first.lock()
    with pytest.raises(RunError, match="is being trained by another process"):
        second.lock()
    first.unlock()
    second.lock()


def test_a_full_disk_gets_a_sentence_and_loses_nothing(tmp_path, monkeypatch):
    file = tmp_path / "checkpoint"
    folders.write_whole(file, b"good")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="the disk is full"):
        folders.write_whole(file, b"never written")
    assert file.read_bytes() == b"good"
    assert [f.name for f in tmp_path.iterdir()] == ["checkpoint"]


def test_a_trained_player_sits_down_and_another_game_refuses_it(copied, tmp_path):
    run = resumed(copied)
    run.champion(tmp_path / "p.safetensors", {"recipe": "tiny"})
    run.close()
    net, about = load_net(tmp_path / "p.safetensors")
    assert about["recipe"] == "tiny" and not net.training
    game = load("beasty_bar")
    from kibitz.arena.match import match

    assert match(game, f"net:{tmp_path}/p.safetensors", "random", games=20, seed=0).games == 20
    assert match(game, f"net:{tmp_path}/p.safetensors,sims=4", "random", games=4, seed=0).games == 4
    with pytest.raises(GameError, match="was trained for name beasty_bar, not kuhn"):
        players.player(f"net:{tmp_path}/p.safetensors", load("kuhn"))


def test_a_run_begins_with_a_given_network(copied, tmp_path):
    run = resumed(copied)
    run.champion(start := tmp_path / "p.safetensors", {})
    run.close()
    started = Run(TINY, tmp_path / "started", seed=3, start=start)
    started.close()
    for part in (started.best, started.method.average):
        for name, weights in load_net(start)[0].state_dict().items():
            assert torch.equal(part.state_dict()[name], weights), name
    with pytest.raises(RunError, match="started with another start"):
        Run(TINY, tmp_path / "started", seed=3, resume=True)
    other = replace(TINY, config={"width": 32, "embedding": 8})
    wider = Run(other, tmp_path / "other", seed=3, start=start)
    wider.close()
    assert "of another shape" in wider.remarks[-1] and "not used: margin" in wider.remarks[-1]


# The parts ---------------------------------------------------------------------------------------


def shard_of(count: int) -> Shard:
    """First decisions of games, which have all ended in a draw."""
    game = load("beasty_bar", early_stop=True)
    actions = np.full((count, game.max_legal), -1, np.int16)
    actions[:, :2] = 3, 5
    batch = Batch(game, count, seed=0)
    batch.settle()
    games, nothing = np.arange(count), np.zeros((count, game.seats), np.float32)
    decisions = Decisions(
        states=batch.states,
        seats=np.zeros(count, np.int8),
        actions=actions,
        policy=(actions >= 0) / np.float32(2),
        value=np.arange(count, dtype=np.float32),
        games=games,
        moves=np.zeros(count, np.int32),
        played=np.full(count, 3, np.int16),
        outcomes=np.full(count, -1, np.int32),
    )
    return Shard(decisions, Results(games, nothing, nothing.copy()))


def positions_of(count: int) -> Positions:
    shard = shard_of(count)
    margin = np.zeros(count, np.float32)
    return Positions(**shard.decisions.arrays(), scores=shard.results.scores, margin=margin)


def test_positions_come_back_from_disk_as_they_were(tmp_path):
    there, game = shard_of(5), load("beasty_bar", early_stop=True)
    listed = there.save(tmp_path / "000001.safetensors", game)
    back = Shard.read(tmp_path / "000001.safetensors", game, listed)
    assert listed.rows == 5
    for part in ("decisions", "results"):
        saved, read = (getattr(shard, part).arrays() for shard in (there, back))
        assert all(read[name].tobytes() == array.tobytes() for name, array in saved.items())


def test_a_damaged_shard_gets_a_sentence(tmp_path):
    (tmp_path / "shard").write_bytes(b"nothing of the kind")
    with pytest.raises(RunError, match="shard is damaged"):
        Shard.read(tmp_path / "shard", load("beasty_bar"))


def test_the_replay_has_the_newest_positions_and_forgets_shards_without_any():
    replay = Replay(10)
    for number in range(5):
        shard = shard_of(4)
        shard.decisions.value += 10 * number
        replay.add(shard, Listed(f"{number:06d}.safetensors", "", 4))
    assert len(replay) == 10
    assert [shard.number for shard in replay.listed] == [2, 3, 4]
    rows = replay.sample(200, np.random.default_rng(1))
    assert set(rows.value) == {22, 23, *range(30, 34), *range(40, 44)}


def parts_of(shard: Shard, cuts: list[int]) -> Replay:
    """A replay of this shard's decisions in several shards; all results are in the last one."""
    replay = Replay(10)
    for number, (first, end) in enumerate(pairwise([0, *cuts, len(shard.decisions)]), 1):
        last = end == len(shard.decisions)
        part = Shard(shard.decisions[first:end], shard.results if last else shard.results[:0])
        replay.add(part, Listed(f"{number:06d}.safetensors", "", end - first))
        assert len(replay) == (10 if last else 0)
    return replay


def test_the_positions_of_a_replay_do_not_depend_on_its_shards():
    whole, parts = parts_of(shard_of(12), []), parts_of(shard_of(12), [1, 7])
    a, b = (replay.sample(50, np.random.default_rng(1)).value for replay in (whole, parts))
    assert (a == b).all() and set(a) <= set(range(2, 12))


def test_a_decision_is_learnt_from_once_its_game_has_ended():
    shard, replay = shard_of(4), Replay(10)
    shard.decisions.games[:] = 7, 8, 7, 9
    shard.decisions.seats[:] = 0, 0, 1, 0
    shard.decisions.actions[2, 1:] = -1  # nobody searched there
    one, other = ([[1.0, -1.0]], [[0.5, -0.5]])
    for number, ended in ((1, []), (2, [7])):
        n = len(ended)
        results = Results(
            np.array(ended, int), *(np.array(x[:n], "f4").reshape(n, 2) for x in (one, other))
        )
        listed = Listed(f"{number:06d}.safetensors", "", 4 if number == 1 else 0)
        replay.add(Shard(shard.decisions[: listed.rows], results), listed)
    rows = replay.sample(100, np.random.default_rng(1))
    assert len(replay) == 2 and set(rows.games) == {7}
    second = rows.seats == 1
    assert (rows.scores == np.where(second[:, None], [-1.0, 1.0], [1.0, -1.0])).all()
    assert (rows.margin == np.where(second, -0.5, 0.5)).all()
    assert (rows.value[second] == -1.0).all() and (rows.value[~second] == 0.0).all()


def replay_of(game, settings: Settings, games: int) -> Replay:
    """The decisions of so many games, played at as many tables."""
    selfplay, replay = SelfPlay(game, games, "cpu", seed=1), Replay(10_000)
    search = Search(game, games, settings)
    while selfplay.ended < games:
        selfplay.move(search)
    shard = selfplay.taken()
    assert shard is not None
    replay.add(shard, Listed("000001.safetensors", "", len(shard.decisions)))
    return replay


def test_the_learner_fits_a_batch():
    """A hundred steps on one batch: policy and value errors fall far."""
    from kibitz.nets import all_kinds
    from kibitz.nets.evaluate import NetEvaluator

    game = load("beasty_bar", early_stop=True)
    replay = replay_of(game, Settings(simulations=20), games=16)
    config, net = all_kinds()["zones"].config, all_kinds()["zones"].net
    small = net(config(width=32, embedding=16, attention_heads=2, margin_head=True, dropout=0.0))
    learning = Learning(learning_rate=3e-3, warm_up=5, steps=400)
    learner = Learner(game, small, learning, "cpu", seed=1)
    batch = replay.sample(64, np.random.default_rng(1))
    first = learner.learn(batch)
    for _ in range(100):
        last = learner.learn(batch)
    assert last["value"] < 0.3 * first["value"] and last["policy"] < first["policy"] - 0.1
    views = learner.views(batch)
    logits, values = NetEvaluator(learner.net)(views)
    assert logits.shape == (64, 124) and np.isfinite(values).all()
    assert torch.isfinite(views).all()


def test_the_average_keeps_the_given_share_of_its_weights():
    average, net = (nn.Linear(1, 1, bias=False) for _ in range(2))
    for step, kept in ((0, 0.1), (1_000_000, 0.9)):
        nn.init.constant_(average.weight, 1.0)
        nn.init.constant_(net.weight, 0.0)
        update_average(average, net, 0.9, step)
        assert average.weight.item() == pytest.approx(kept)


def test_the_average_has_the_statistics_of_batch_normalisation():
    average, net = (DualViewNet(DualViewConfig(blocks=0, embedding=1)) for _ in range(2))
    nn.init.constant_(net.encoder.near_norm.running_mean, 2.0)
    update_average(average, net, 0.5, 1_000_000)
    assert (average.encoder.near_norm.running_mean == 1.0).all()


def test_losses_are_about_legal_actions_and_the_score_of_the_seat_itself():
    game, rows = load("beasty_bar", early_stop=True), positions_of(4)
    rows.scores[:], rows.value[:], rows.margin[:] = (1.0, -1.0), -1.0, 0.5
    learner = Learner(game, nn.Linear(1, 1), Learning(search_share=0.25), "cpu", seed=1)
    logits = torch.zeros(4, game.num_actions)
    logits[:, 0] = 50.0  # not legal, and what a missing action would be taken for
    values = torch.tensor([[0.5, -0.5]] * 4)
    losses = learner.losses(learner.examples(rows), logits, values, torch.full((4,), 0.5))
    assert float(losses["policy"]) == pytest.approx(np.log(2))
    assert float(losses["value"]) == pytest.approx(0) == float(losses["margin"])


def test_a_player_passes_the_gate_with_the_even_rate_that_the_recipe_asks_for(
    tmp_path, monkeypatch
):
    """One team of three wins a third of the games by luck alone: an even rate of one half."""
    run = Run(replace(TINY, gate_rate=0.6), tmp_path / "run", seed=3)
    passed = {}
    for run.standing.iteration, rate in ((2, 0.59), (4, 0.6)):
        result = SimpleNamespace(win_rate=0.4, even_rate=rate)
        monkeypatch.setattr("kibitz.train.run.match", lambda *_, r=result, **settings: r)
        passed[rate] = run._gate(lambda *stage: None)["passed"]
    run.close()
    assert passed == {0.59: False, 0.6: True} and run.standing.league.members == [0, 4]
    assert run.standing.league.points[0] == (2, 0, 0.59 * TINY.gate_games)


def test_a_run_is_not_resumed_with_another_seed(tmp_path):
    Run(TINY, tmp_path / "run", seed=3).close()
    with pytest.raises(RunError, match="started with another seed: 3"):
        Run(TINY, tmp_path / "run", seed=4, resume=True)


def test_a_file_of_arrays_with_one_changed_bit_is_refused(tmp_path):
    path = tmp_path / "000001.safetensors"
    write_tensors(path, {"weights": np.arange(4.0)}, {"why": "a test"})
    assert read_tensors(path)[1] == {"why": "a test"}
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(RunError, match="its contents are not what was saved"):
        read_tensors(path)


def test_equal_arrays_are_equal_files_and_a_single_number_stays_one(tmp_path):
    """The library shuffles metadata, and NumPy makes a list of a number that it is to order."""
    paths = [tmp_path / f"{k}.safetensors" for k in range(20)]
    for path in paths:
        write_tensors(path, {"weight": np.array(2.5), "others": np.arange(3)}, {"why": "a test"})
    assert len({path.read_bytes() for path in paths}) == 1
    arrays, _ = read_tensors(paths[0])
    assert arrays["weight"].shape == () and arrays["weight"] == 2.5


def test_a_replay_names_the_shards_that_it_could_not_load(tmp_path):
    game, replay, folder = load("beasty_bar", early_stop=True), Replay(10), RunFolder(tmp_path)
    folder.shard(1).parent.mkdir()
    there = shard_of(4).save(folder.shard(1), game)
    problems = replay.load(folder, [there, Listed("000002.safetensors", "0" * 64, 4)], game)
    assert len(replay) == 4 and list(problems) == [folder.shard(2)]


def test_a_lock_removes_what_a_killed_save_has_left(tmp_path):
    for name in (".run.json.12", ".gitignore"):
        (tmp_path / name).write_bytes(b"half")
    folder = RunFolder(tmp_path)
    folder.lock()
    folder.unlock()
    assert not (tmp_path / ".run.json.12").exists() and (tmp_path / ".gitignore").exists()


def test_a_shard_of_impossible_states_is_refused(tmp_path):
    game, shard = load("beasty_bar", early_stop=True), shard_of(4)
    path, states = tmp_path / "000001.safetensors", shard.decisions.states
    states["hand"][2, 0] = states["hand"][2, 1]
    shard.save(path, game)
    with pytest.raises(RunError, match="state 2 is no position"):
        Shard.read(path, game)


def test_a_recipe_that_does_not_exist_is_refused():
    with pytest.raises(GameError, match="there is no game 'whist'"):
        recipe("whist")
    with pytest.raises(
        GameError, match="no recipe 'fast'; it has: default, continued, final, demo"
    ):
        recipe("beasty_bar", "fast")


# What comes with the package ---------------------------------------------------------------------

CHAMPIONS = sorted(players.champions.CHAMPIONS.glob("*.safetensors"))
SLOW = [pytest.mark.slow]
LONG_GAMES = {"dominion", "escampe", "escampe_banddper", "madn_dog"}  # or slow searches


def table_of(card):
    """A table that a champion is made for."""
    options = dict(card.get("only_for", {}))
    if "dice" in options:
        options["dice"] = tuple(options["dice"])
    return load(card["game"], **options)


@pytest.mark.parametrize("path", CHAMPIONS, ids=lambda path: path.stem)
def test_a_champion_is_small_has_a_card_and_sits_down(path):
    card = json.loads(path.with_suffix(".json").read_text())
    assert path.stat().st_size < 8_000_000
    assert {"game", "recipe", "device", "seconds", "results"} <= card.keys()
    for result in card["results"]:
        assert result["low"] <= result["win_rate"] <= result["high"] and result["games"] > 0
    for name in card["players"]:
        assert players.player(name, table_of(card)).name == name


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=SLOW * (p.stem in LONG_GAMES), id=p.stem) for p in CHAMPIONS]
)
def test_a_champion_beats_random_play(path):
    """Where luck decides much, as often as its card says; four errors of 100 games are 0.2."""
    from kibitz.arena.match import match

    card = json.loads(path.with_suffix(".json").read_text())
    text = next(iter(card["players"].values())).format(file=path)
    quick = text.replace("lookahead=64", "lookahead=4")  # 64 take a minute
    quick = f"{quick},depth=2" if quick.startswith("alphabeta") else quick
    game, stated = table_of(card), [r for r in card["results"] if r["against"] == "random"]
    bar = min([0.85, *(row["win_rate"] - 0.2 for row in stated)])
    others = ["random"] * (len(game.captains) - 1)
    assert match(game, quick, *others, games=100, seed=0).win_rate > max(bar, 1 / (len(others) + 1))


def test_there_are_champions():
    champions = [
        "beasty_bar",
        "dmadn_teams",
        "dominion",
        "escampe",
        "escampe_banddper",
        "liars_dice",
        "liars_dice_exploiter",
        "madn",
        "madn_dog",
        "madn_teams",
    ]
    assert [path.stem for path in CHAMPIONS] == champions
    assert sum(path.stat().st_size for path in CHAMPIONS) < 40_000_000


@pytest.mark.parametrize(
    ("who", "options", "file"),
    [
        ("champion", {}, "liars_dice"),
        ("champion", {"dice": (4, 5)}, "liars_dice"),
        ("exploiter", {}, "liars_dice_exploiter"),
        ("exploiter", {"die_loss": "loser"}, "liars_dice_exploiter"),
        ("exploiter", {"dice": (4, 5)}, "liars_dice"),
        ("exploiter", {"variant": "high"}, "liars_dice"),
    ],
)
def test_the_network_at_a_table_is_the_one_made_for_it(who, options, file):
    assert players.champions.card_of(load("liars_dice", **options), who).file.stem == file


def test_a_game_without_a_champion_says_which_have_one():
    with pytest.raises(GameError, match="kuhn has no champion; there are champions of: beasty_bar"):
        players.player("champion", load("kuhn"))


# The league ------------------------------------------------------------------------------------


def test_rivals_are_the_latest_member_and_earlier_ones_evenly_spread():
    league = League(members=[0, 2, 4, 6, 8, 10])
    assert league.rivals(2) == [0, 4, 10]
    assert league.rivals(9) == [0, 2, 4, 6, 8, 10]
    assert League().rivals(2) == [0]


def test_elo_is_measured_from_the_untrained_player():
    league = League(members=[0, 5])
    league.note(5, 0, 10 / 11, 11_000_000)
    league.note(9, 5, 10 / 11, 11_000_000)
    assert league.elo(0) == 0.0
    assert league.elo(5) == pytest.approx(400.0, abs=0.01)  # ten to one is what 400 means
    assert league.elo(9) == pytest.approx(800.0, abs=0.02)


def test_players_that_passed_the_gate_can_be_played_against(undisturbed):
    rows = [row for row in RunFolder(undisturbed).metrics() if "passed" in row]
    passed = [0, *(row["iteration"] for row in rows if row["passed"])]
    assert [int(f.stem) for f in sorted((undisturbed / "league").iterdir())] == passed
    for iteration in passed:
        _, about = load_net(RunFolder(undisturbed).member(iteration))
        assert about["iteration"] == iteration
    assert [row["iteration"] for row in rows] == [2, 4]
