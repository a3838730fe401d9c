"""Compiled inference of networks with two perspectives: the same values as torch, in less time."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from escampe_lines import lively, random_lines, views_of

from kibitz.bench import dual_view
from kibitz.game import GameError
from kibitz.nets.dual_view import DualViewConfig, tensors_of
from kibitz.portable.escampe import BAND_MAP
from kibitz.search import tiles
from kibitz.search.dual_view import TOGETHER, evaluate, pack, room_for, values

pytestmark = pytest.mark.usefixtures("one_thread")

HERE = Path(__file__).parent
BANDS = {3 + band: (np.array(BAND_MAP) == band).astype(np.float32) for band in (1, 2, 3)}
LINES = random_lines(200, seed=11)


def expected(net, views):
    with torch.inference_mode():
        return net(torch.from_numpy(views))[1][:, 0].numpy()


@pytest.fixture(scope="module")
def net():
    return lively()


@pytest.fixture(scope="module")
def weights(net):
    return pack(tensors_of(net), BANDS)


@pytest.mark.parametrize("count", [1, 2, 3, TOGETHER, TOGETHER + 1, 200])
def test_any_number_of_positions_has_the_values_of_torch(net, weights, count):
    views = views_of(LINES[:count])
    found = values(weights, views)
    assert found.dtype == np.float32 and found.shape == (count,)
    assert np.abs(found - expected(net, views)).max() < 1e-4


def test_no_positions_have_no_values(weights):
    assert values(weights, np.zeros((0, 1155), np.float32)).shape == (0,)


@pytest.mark.parametrize(
    "config",
    [
        DualViewConfig(encoding="banddper-16-reach"),
        DualViewConfig(inner="clipped"),
        DualViewConfig(blocks=1, embedding=20),
        DualViewConfig(blocks=0, embedding=1),
    ],
    ids=["reach", "clipped", "small", "smallest"],
)
def test_networks_of_other_configurations_have_the_values_of_torch(config):
    net = lively(config)
    packed = pack(tensors_of(net), BANDS, clips=config.inner == "clipped")
    views = views_of(LINES[:40], config.encoding)
    assert np.abs(values(packed, views) - expected(net, views)).max() < 1e-4


def test_planes_that_are_not_called_constant_are_read(net):
    views = views_of(LINES[:20])
    views[:, 4 * 36 : 7 * 36] = np.random.default_rng(1).random((20, 3 * 36))
    assert np.abs(values(pack(tensors_of(net)), views) - expected(net, views)).max() < 1e-4
    assert np.abs(values(pack(tensors_of(net), BANDS), views) - expected(net, views)).max() > 1e-3


def test_room_can_be_used_again(net, weights):
    room, answers = room_for(weights, 3), np.empty(7, np.float32)
    for first in (0, 7, 14):
        views = views_of(LINES[first : first + 7])
        evaluate(weights, views, room, answers)
        assert np.abs(answers - expected(net, views)).max() < 1e-4


def test_views_need_not_be_contiguous(net, weights):
    views = views_of(LINES[:20])[::2]
    assert np.abs(values(weights, views) - expected(net, views)).max() < 1e-4


@pytest.mark.parametrize(
    "views", [np.zeros((2, 1154), np.float32), np.zeros((2, 1155)), np.zeros(1155, np.float32)]
)
def test_views_of_another_shape_or_type_are_refused(weights, views):
    with pytest.raises(GameError, match=r"float32 \[n, 1155\]"):
        values(weights, views)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(7, 13, 40), (1, 1, 32), (4, 258, 258)])
def test_a_layer_is_a_product_of_matrices_plus_a_bias(rows, depth, columns):
    rng = np.random.default_rng(3)
    x, weights = (rng.random(size, np.float32) for size in ((rows, depth), (depth, columns)))
    padded = tiles.padded_to_panels(columns)
    bias, out = rng.random(padded, np.float32), np.full((rows, padded), 9, np.float32)
    given, written = tiles.Rows(x, 0, depth), tiles.Rows(out, 0, padded)
    panels = tiles.panels(weights)
    tiles.linear(given, rows, depth, panels, 0, tiles.Rows(bias, 0, padded), written)
    assert np.allclose(out[:, :columns], x @ weights + bias[:columns], rtol=1e-5)
    assert np.array_equal(out[:, columns:], np.tile(bias[columns:], (rows, 1)))


def test_the_bench_measures_both_in_turns(monkeypatch):
    monkeypatch.setattr(dual_view, "TURNS", 2)
    result = dual_view.bench_compiled_net()
    assert result.parameters == 739_294
    for size in (1, 16):
        ratio = result.compiled_us[size] / result.torch_us[size]
        assert result.ratio[size] == ratio > 0


def test_the_debugger_runs_the_same_code(weights):
    """Without compilation the tiles are plain NumPy."""
    code = (
        "import test_dual_view_values as t\n"
        "packed = t.pack(t.tensors_of(t.lively()), t.BANDS)\n"
        "print(*t.values(packed, t.views_of(t.LINES[:2])))"
    )
    paths = [HERE, HERE.parent / "support", os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    found = np.array(done.stdout.split(), np.float32)
    assert np.abs(found - values(weights, views_of(LINES[:2]))).max() < 1e-4
