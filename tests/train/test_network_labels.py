"""Positions that a network of integers labels, and networks that cannot."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from commands import kibitz, run

from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.nets.accumulator import AccumulatorConfig, AccumulatorNet
from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.players import PlayerError
from kibitz.players.static import integer_judge
from kibitz.recipes import generation
from kibitz.search.deepening import AlphaBeta, Limits, stripped
from kibitz.search.judging import EVEN
from kibitz.search.labelling import Schedule
from kibitz.search.transpositions import PROVEN
from kibitz.train.labelled import generate as generating
from kibitz.train.labelled.files import read_data
from kibitz.train.labelled.generate import generate
from kibitz.train.labelled.labels import Labelling
from kibitz.train.labelled.rows import DataError

ESCAMPE = load("escampe")
SHALLOW = replace(generation("escampe"), schedule=Schedule(depths=(1, 3)))


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(generating, "GAMES_PER_CALL", 8)
    monkeypatch.setattr(generating, "CALLS_PER_FILE", 4)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Files of two networks of integers, and of one that is none."""
    folder, pieces = tmp_path_factory.mktemp("networks"), ESCAMPE.through("pieces").describe()
    for seed in (3, 4):
        net = AccumulatorNet(AccumulatorConfig(), seed)
        save_net(folder / f"{seed}.safetensors", net, {"game": pieces})
    other = DualViewNet(DualViewConfig(blocks=1, embedding=6))
    save_net(folder / "dual.safetensors", other, {"game": ESCAMPE.describe()})
    return folder


@pytest.fixture
def judged(networks):
    return replace(SHALLOW, judge=str(networks / "3.safetensors"))


@pytest.fixture
def data(judged, tmp_path):
    generate(judged, tmp_path / "data", 200, seed=5)
    return tmp_path / "data"


def test_a_label_is_what_alpha_beta_finds_with_the_network_at_its_depth(data, networks):
    rows, bad = read_data(ESCAMPE, [data])
    game = stripped(ESCAMPE).through("pieces")
    net, _ = load_net(networks / "3.safetensors")
    thinker = AlphaBeta(game, integer_judge(game, net), slots=1 << 12)
    depths = rows.columns["label_depth"]
    found = [
        thinker.search(s, Limits(depth=int(depth))).best.score
        for s, depth in zip(rows.states, depths, strict=True)
    ]
    scores, proven = np.array(found), np.abs(found) > PROVEN
    assert not bad and 20 < proven.sum() < 180
    assert (rows.proven == proven).all()
    assert (rows.columns["raw_score"][proven] == scores[proven]).all()
    assert (rows.columns["score"][proven] == np.sign(scores[proven])).all()
    assert rows.columns["score"][~proven] == pytest.approx(scores[~proven] / EVEN, abs=1e-6)


def test_training_learns_the_values_of_the_network_that_labelled(data, judged):
    """Points are such that a network of the next round is taught what this one said."""
    rows, _ = read_data(ESCAMPE, [data])
    targets = Labelling(scale=judged.scale).targets(rows, judged.scale)
    assert targets == pytest.approx(rows.columns["score"], abs=1e-6)


def test_the_data_set_names_the_network_by_its_hash(data, networks):
    net, _ = load_net(networks / "3.safetensors")
    about = json.loads((data / "data.json").read_text())
    assert about["generation"]["judge"] == f"network {net.sha256}"
    assert f"| judge | network {net.sha256} |" in (data / "README.md").read_text()


def test_a_data_set_is_continued_by_the_same_network_wherever_it_lies(data, networks, tmp_path):
    moved = shutil.copy(networks / "3.safetensors", tmp_path / "moved.safetensors")
    new = generate(replace(SHALLOW, judge=str(moved)), data, 300, seed=5, resume=True)
    assert 100 <= new < 300


def test_another_network_cannot_continue_a_data_set(data, networks):
    other = replace(SHALLOW, judge=str(networks / "4.safetensors"))
    sentence = r"was started with another judge: network \w+, not network \w+$"
    with pytest.raises(DataError, match=sentence):
        generate(other, data, 300, seed=5, resume=True)
    with pytest.raises(DataError, match=r"another judge: network \w+, not linear$"):
        generate(SHALLOW, data, 300, seed=5, resume=True)


def test_a_network_that_is_not_of_integers_cannot_label(networks, tmp_path):
    slow = replace(SHALLOW, judge=str(networks / "dual.safetensors"))
    with pytest.raises(DataError, match=r"dual\.safetensors: only a network of integers can label"):
        generate(slow, tmp_path / "data", 100)
    assert not (tmp_path / "data").exists()


def test_a_judge_that_is_neither_known_nor_a_file_is_refused(tmp_path):
    with pytest.raises(PlayerError, match="there is no such file, and escampe has linear"):
        generate(replace(SHALLOW, judge="nobody"), tmp_path / "data", 100)
    assert not (tmp_path / "data").exists()


def test_the_command_labels_with_a_network(networks, tmp_path):
    words = ("generate", "escampe", "--positions", "50", "--depth", "1", "--out")
    judge = ("--judge", str(networks / "3.safetensors"))
    assert "50 new positions" in run(*words, str(tmp_path / "data"), *judge)
    for wrong, sentence in (
        ("dual.safetensors", "only a network of integers can label positions"),
        ("missing.safetensors", "there is no such file"),
    ):
        done = kibitz(*words, str(tmp_path / "no"), "--judge", str(networks / wrong))
        assert done.returncode == 2 and sentence in done.stderr
        assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "no").exists()
