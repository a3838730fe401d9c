"""Learning from labelled positions: schedule, report, the best by validation, resuming."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import killing
import numpy as np
import pytest
import torch

from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net
from kibitz.recipes import generation, recipe
from kibitz.search.labelling import Schedule, judge_values
from kibitz.train.folder import RunError, RunFolder
from kibitz.train.labelled.generate import generate
from kibitz.train.labelled.labels import Labelling
from kibitz.train.labelled.learning import LabelledMethod
from kibitz.train.labelled.report import Examined, report_text
from kibitz.train.run import Run

pytestmark = pytest.mark.usefixtures("one_thread")

DATA = "KIBITZ_TEST_POSITIONS"  # the environment has the data set, for processes that are killed
TINY = replace(
    recipe("escampe"),
    config={"blocks": 1, "embedding": 8, "dropout": 0.1},
    data=(os.environ.get(DATA, ""),),
    batch=32,
    iterations=4,
    restart=3,
)
NAME = "test_labelled_training.TINY"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("positions") / "data"
    shallow = replace(generation("escampe"), schedule=Schedule(depths=(1, 3)))
    generate(shallow, path, 500, seed=5, format="shards")
    os.environ[DATA] = str(path)
    yield path
    del os.environ[DATA]


@pytest.fixture(scope="module")
def tiny(data):
    return replace(TINY, data=(str(data),))


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    return killing.finished(NAME, tmp_path_factory.mktemp("undisturbed"))


def started(training, path, **options) -> Run:
    run = Run(training, path, seed=3, **options)
    run.close()
    return run


def method_of(run: Run) -> LabelledMethod:
    assert isinstance(run.method, LabelledMethod)
    return run.method


# Resuming ----------------------------------------------------------------------------------------


def test_a_run_that_was_killed_ends_with_the_same_numbers(undisturbed, tmp_path):
    half = killing.iteration_seconds(undisturbed) / 2
    assert killing.killed_at(NAME, tmp_path / "run", [(1, half), (2, half)]) >= 1
    assert killing.weights(tmp_path / "run") == killing.weights(undisturbed)
    once, again = (RunFolder(path).metrics() for path in (undisturbed, tmp_path / "run"))
    for name in ("loss_training", "loss_validation", "learning_rate", "passed"):
        assert [row[name] for row in again] == [row[name] for row in once]
    reports = [(path / "report.json").read_text() for path in (undisturbed, tmp_path / "run")]
    assert reports[0] == reports[1]


def test_a_run_is_not_resumed_with_other_positions(tiny, data, tmp_path):
    path = tmp_path / "run"
    started(tiny, path)
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in data.iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    started(tiny.with_data([moved]), path, resume=True)  # the same in another place
    shorter = tmp_path / "shorter"
    generate(generation("escampe"), shorter, 60, seed=5)
    with pytest.raises(RunError, match="was started with another recipe: data "):
        started(tiny.with_data([shorter]), path, resume=True)


def test_a_recipe_that_needs_data_says_so(tmp_path):
    with pytest.raises(GameError, match="give --data FOLDER, as written by kibitz generate"):
        started(recipe("escampe"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(GameError, match="learns by search, from its own games"):
        recipe("beasty_bar").with_data([tmp_path])


def test_fewer_positions_than_a_batch_are_refused(tiny, tmp_path):
    with pytest.raises(GameError, match="training needs 4096 positions or more"):
        started(replace(tiny, batch=4096), tmp_path / "run")


def test_a_network_that_reads_other_views_is_refused(tiny, tmp_path):
    with pytest.raises(GameError, match=r"\(ZoneNet\) has view_size=988; escampe needs 1155"):
        started(replace(tiny, net="zones", config={}), tmp_path / "run")


# Learning ----------------------------------------------------------------------------------------


def test_the_default_recipe_is_the_published_one():
    chosen = recipe("escampe")
    assert (chosen.batch, chosen.iterations, chosen.restart) == (256, 40, 40)
    assert (chosen.learning_rate, chosen.weight_decay) == (1e-3, 1e-4)
    assert (chosen.gradient_clip, chosen.validation_share) == (1.0, 0.1)


def test_the_learning_rate_is_that_of_cosine_annealing_with_warm_restarts(tiny, tmp_path):
    method = method_of(started(tiny, tmp_path / "run"))
    optimiser = torch.optim.AdamW([torch.zeros(1)], lr=tiny.learning_rate)
    theirs = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimiser, T_0=tiny.restart)
    for step in range(5 * method.steps_per_epoch):
        method.step = step
        theirs.step(step / method.steps_per_epoch)
        assert method.learning_rate() == pytest.approx(optimiser.param_groups[0]["lr"])


def test_the_last_incomplete_batch_of_an_epoch_is_dropped(tiny, tmp_path):
    method = method_of(started(tiny, tmp_path / "run"))
    method.iterate(1, lambda *_: None)
    assert method.step == len(method.training) // tiny.batch


def test_a_network_learns_the_positions_that_it_sees(tiny, tmp_path):
    plain = replace(tiny, config={"blocks": 1, "embedding": 16}, restart=100)
    method = method_of(started(plain, tmp_path / "run"))
    first = method.iterate(1, lambda *_: None)["loss_training"]
    for epoch in range(2, 13):
        last = method.iterate(epoch, lambda *_: None)["loss_training"]
    assert last < 0.5 * first


def test_the_best_network_by_validation_is_kept(undisturbed, tiny, tmp_path):
    rows = RunFolder(undisturbed).metrics()
    best = min(rows, key=lambda row: row["loss_validation"])
    run = Run(tiny, undisturbed, seed=3, resume=True)
    run.champion(tmp_path / "player.safetensors", {})
    run.close()
    method, (net, _) = method_of(run), load_net(tmp_path / "player.safetensors")
    method.net.load_state_dict(net.state_dict())
    errors = (method.predict(method.validation) - method.validation.targets) ** 2
    assert errors.mean() == pytest.approx(best["loss_validation"], rel=1e-5)
    assert [row["passed"] for row in rows].count(True) >= 1
    assert json.loads((undisturbed / "report.json").read_text())["epoch"] == best["iteration"]


def test_a_higher_validation_loss_does_not_pass_the_gate(tiny, tmp_path):
    run = started(tiny, tmp_path / "run")
    weight = method_of(run).net.value.bias
    best = []
    for number, loss in enumerate([0.5, 0.6, 0.5, 0.4], 1):
        weight.data.fill_(number)
        best.append(
            (run._validate({"loss_validation": loss})["passed"], run.best.value.bias.item())
        )
    assert best == [(True, 1.0), (False, 1.0), (False, 1.0), (True, 4.0)]


def test_a_network_of_the_other_encoding_is_refused(tiny, tmp_path):
    other = replace(tiny, config={"encoding": "banddper-16-reach"})
    with pytest.raises(GameError, match="encoding=banddper-16-reach; escampe needs banddper-16-e"):
        started(other, tmp_path / "run")


@pytest.mark.parametrize("name", ["default", "reach", "integer", "demo"])
def test_every_recipe_fits_its_view(data, tmp_path, name):
    chosen = replace(recipe("escampe", name), batch=64)
    started(chosen.with_data([data]), tmp_path / "run")


def test_the_curves_are_a_table_and_a_picture(undisturbed):
    head, *lines = (undisturbed / "curves.csv").read_text().splitlines()
    assert {"iteration", "loss_training", "loss_validation", "learning_rate"} <= set(
        head.split(",")
    )
    assert len(lines) == TINY.iterations
    pytest.importorskip("matplotlib")
    assert (undisturbed / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_labels_of_training_go_by_the_scale_of_the_recipe(tiny, tmp_path):
    method = method_of(started(replace(tiny, labels=Labelling(scale=50.0)), tmp_path / "run"))
    open_ = ~method.training.rows.proven
    raw = method.training.rows.columns["raw_score"][open_]
    assert method.training.targets[open_] == pytest.approx(np.tanh(raw / 50), abs=1e-6)


# The report --------------------------------------------------------------------------------------


def test_the_figures_of_a_report():
    targets = np.array([1.0, -1.0, -1.0, 0.2, 0.4, 0.6])
    examined = Examined(targets, np.abs(targets) == 1, {"pass": np.array([1, 0, 0, 0, 0, 1]) == 1})
    predicted = np.array([0.5, -0.5, 0.5, 0.1, 0.2, 0.3])
    report = examined.report({"network": predicted, "constant": np.zeros(6)})
    figures = report["all"]["network"]
    assert figures["mse"] == pytest.approx(((predicted - targets) ** 2).mean())
    assert figures["sign_accuracy"] == pytest.approx(2 / 3)
    assert figures["correlation"] == pytest.approx(1.0)
    assert report["all"]["constant"]["correlation"] is None
    assert [report[part]["positions"] for part in ("all", "pass", "no pass")] == [6, 2, 4]
    assert report["pass"]["network"]["sign_accuracy"] == 1.0
    assert report["no pass"]["network"]["sign_accuracy"] == 0.5
    assert "no pass            network             4" in report_text(report)


def test_the_linear_baseline_has_the_best_scale_of_the_training_positions(tiny, tmp_path):
    method = method_of(started(tiny, tmp_path / "run"))
    judged = judge_values(load("escampe"), "linear", method.training.states)

    def error(scale):
        return ((np.tanh(judged / scale) - method.training.targets) ** 2).mean()

    scale = method.facts["baseline_scale"]
    assert error(scale) <= min(error(0.9 * scale), error(1.1 * scale))
    linear = method.predictions["linear"]
    values = judge_values(load("escampe"), "linear", method.validation.states)
    assert linear == pytest.approx(np.tanh(values / scale), abs=1e-6)
    constant = method.predictions["constant"]
    assert constant == pytest.approx(np.full(len(linear), method.training.targets.mean()))


def test_the_report_is_about_the_held_back_positions(undisturbed):
    content = json.loads((undisturbed / "report.json").read_text())
    parts = content["report"]
    assert parts["all"]["positions"] == content["held_back"]
    both = parts["forced pass"]["positions"] + parts["no forced pass"]["positions"]
    assert both == content["held_back"]
    assert set(parts["all"]) == {"positions", "proven", "network", "constant", "linear"}
    assert Path(undisturbed / "report.txt").read_text().startswith("positions")
