"""The network over a ring: shapes, what it looks at, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kibitz.batch import Batch
from kibitz.games import load
from kibitz.nets.bounds import ConfigError
from kibitz.nets.kinds import all_kinds
from kibitz.nets.ring_policy import RingPolicyConfig, RingPolicyNet

SMALL = RingPolicyConfig(
    view_size=5 * 20 + 6,
    actions=7,
    rows=5,
    cells=20,
    ring=16,
    first_pin=2,
    pins=2,
    seats=3,
    width=12,
    blocks=3,
)


@pytest.mark.parametrize("preset", ["madn", "madn_teams", "dmadn_teams", "dog"])
def test_it_fits_every_preset(preset):
    game = load("madn", preset=preset)
    net = RingPolicyNet(RingPolicyConfig(**all_kinds()["ring"].fitted(game))).eval()
    batch = Batch(game, 4, seed=1)
    batch.settle()
    views = torch.from_numpy(np.asarray(batch.observe(batch.turns())))
    logits, values = net(views)
    assert logits.shape == (4, game.num_actions)
    assert values.shape == (4, game.seats)
    assert values.sum(1).abs().max() < 1e-5
    again = net.trimmed(views, 3)
    assert torch.allclose(logits, again[0], atol=1e-5)
    assert torch.allclose(values, again[1], atol=1e-5)


def test_the_same_seed_gives_the_same_network():
    views = torch.rand(3, SMALL.view_size)
    one, other, third = (RingPolicyNet(SMALL, seed).eval()(views)[0] for seed in (1, 1, 2))
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def test_a_ring_has_no_seam():
    """Before cells are told apart by their number, a turned ring gives the same values."""
    net = RingPolicyNet(SMALL, 1).eval()
    views = torch.rand(4, SMALL.view_size)
    cells = views[:, :100].unflatten(1, (5, 20)).clone()
    cells[:, :, :16] = cells[:, :, :16].roll(5, 2)
    turned = torch.cat([cells.flatten(1), views[:, 100:]], 1)
    assert torch.allclose(net(views)[1], net(turned)[1], atol=1e-5)
    assert not torch.allclose(net(views)[0], net(turned)[0], atol=1e-5)


def test_it_sees_everything():
    """Every number of a view changes something."""
    net = RingPolicyNet(SMALL, 1).eval()
    views = torch.rand(1, SMALL.view_size, requires_grad=True)
    heads = net.heads(views)
    (heads.policy.square().sum() + heads.value.square().sum()).backward()
    assert views.grad is not None
    assert (views.grad != 0).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [("ring", 7), ("ring", 21), ("ring", 9.5), ("rows", 6), ("pins", 4), ("first_pin", -1)],
)
def test_what_describes_no_network_is_refused(field, value):
    with pytest.raises(ConfigError, match=f"{field}="):
        replace(SMALL, **{field: value})
