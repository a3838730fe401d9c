"""Zones as single GPU kernels: the same numbers as the network itself."""

import copy

import numpy as np
import pytest
import torch
from fused_networks import answers_after_loading, shaken

from kibitz.batch import Batch
from kibitz.games import load
from kibitz.nets.zones import ZoneConfig, ZoneNet


@pytest.mark.gpu
@pytest.mark.parametrize(
    "config",
    [ZoneConfig(), ZoneConfig(zone_positions=False), ZoneConfig(width=64, attention_heads=2)],
    ids=["default", "blind", "narrow"],
)
def test_fused_zones_are_as_near_to_the_network_as_torch_is_in_bfloat16(config):
    views = torch.from_numpy(played_views(8000)).cuda()
    views[:3] = 0.0  # tables without a single card
    net = shaken(ZoneNet(config)).cuda().eval()
    half = copy.deepcopy(net).bfloat16()
    with torch.inference_mode():
        exact, torchs, ours = net(views), half(views), half.fused()(views)
    for want, theirs, got in zip(exact, torchs, ours, strict=True):
        torch_off, off = ((answer.float() - want).abs() for answer in (theirs, got))
        assert off.mean() < 1.25 * torch_off.mean()
        assert off.max() < 2 * torch_off.max()  # a single worst number is mostly luck


@pytest.mark.gpu
def test_an_evaluator_goes_on_with_other_weights():
    other = shaken(ZoneNet(ZoneConfig(), seed=1))
    views = torch.from_numpy(played_views(64)).cuda()
    assert torch.equal(*answers_after_loading(ZoneNet(ZoneConfig()), other, views))


def played_views(count):
    batch = Batch(load("beasty_bar"), count, seed=1)
    batch.wander(12)
    batch.settle()
    views = np.zeros((count, 988), np.float32)
    batch.observe(np.zeros(count, np.int64), views)
    return views


def test_a_network_too_large_for_the_chip_stays_as_it_is():
    assert ZoneNet(ZoneConfig(layers=2)).fused() is None
    assert ZoneNet(ZoneConfig(width=256)).fused() is None
