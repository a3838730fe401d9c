"""The network with two perspectives: its size, its beginning, and folding."""

import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from escampe_lines import lively, random_lines, views_of
from torch import nn

from kibitz.nets import load_net, save_net
from kibitz.nets.bounds import ConfigError
from kibitz.nets.dual_view import ENCODINGS, Block, DualViewConfig, DualViewNet, view_of
from kibitz.nets.evaluate import NetEvaluator
from kibitz.nets.kinds import all_kinds, kind_of

pytestmark = pytest.mark.usefixtures("one_thread")

VIEWS = torch.from_numpy(views_of(random_lines(1000, seed=5)))


@pytest.fixture(scope="module")
def net():
    return lively()


def size(*parts):
    return sum(p.numel() for part in parts for p in part.parameters())


def test_the_network_has_the_parameters_of_the_specification():
    net = DualViewNet(DualViewConfig())
    assert size(net) == 739_294
    assert size(net.encoder) == 318_624
    assert [size(block) for block in net.blocks] == [134_676] * 3
    assert (size(net.hidden), size(net.value)) == (16_576, 65)
    assert sum(buffer.numel() for buffer in net.buffers()) == 3_544


def test_a_folded_network_has_the_numbers_of_the_specification(net):
    folded = net.folded()
    assert size(folded) == 735_750
    assert not list(folded.buffers())
    assert size(folded.folded()) == 735_750


def test_folding_changes_no_value(net):
    """In float64: float32 loses up to 1e-5 on the way, by another sum on every machine."""
    exact = copy.deepcopy(net).double()
    with torch.inference_mode():
        plain, folded = exact(VIEWS)[1], exact.folded()(VIEWS)[1]
    assert plain.std() > 0.2  # the positions differ
    assert (plain - folded).abs().max() < 2e-7  # values come out in float32


def test_folding_is_done_in_float64(net):
    """Each weight is the closest float32 to the exact product."""
    layer, norm = net.encoder.near, net.encoder.near_norm
    scale = norm.weight.double() / (norm.running_var.double() + 1e-5).sqrt()
    exact = layer.weight.double() * scale.reshape(-1, 1, 1, 1)
    assert torch.equal(net.folded().encoder.near.weight, exact.float())


def test_the_initial_weights_are_those_of_the_specification():
    net = DualViewNet(DualViewConfig(policy=True))
    for part in net.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            inputs, outputs = part.weight.shape[1], part.weight.shape[0]
            cells = math.prod(part.weight.shape[2:])
            bound = 0.5 * math.sqrt(6 / (cells * (inputs + outputs)))
            assert part.weight.abs().max() <= bound
            assert part.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.15)
            assert not part.bias.any()
    norms = {name: weights for name, weights in net.state_dict().items() if "norm" in name}
    assert all(
        (weights == name.endswith(("weight", "var"))).all() for name, weights in norms.items()
    )
    assert net.forced_pass.item() == 0.0


def test_the_seed_gives_the_weights():
    one, same, other = (DualViewNet(DualViewConfig(), seed).hidden.weight for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_the_two_seats_have_opposite_values_and_all_actions_are_equally_likely(net):
    with torch.inference_mode():
        logits, values = net(VIEWS[:40])
    assert logits.shape == (40, 259) and not logits.any()
    assert torch.equal(values[:, 0], -values[:, 1])
    assert torch.equal(values[:, 0], net.raw(VIEWS[:40]).tanh())


def test_a_policy_is_one_more_linear_layer():
    net = DualViewNet(DualViewConfig(policy=True)).eval()
    assert size(net) == 739_294 + 259 * (258 + 1)
    with torch.inference_mode():
        logits, _, margin = net.heads(VIEWS[:4])
    assert logits.std() > 0.0 and margin is None


def test_a_forced_pass_adds_its_weight(net):
    views = VIEWS[:8].clone()
    views[:, -1] = 0.0
    before = net.raw(views)
    views[:, -1] = 1.0
    assert torch.allclose(net.raw(views) - before, net.forced_pass, atol=1e-6)


def test_both_perspectives_go_through_one_encoder(net):
    planes = VIEWS[:6, : 2 * 576].reshape(-1, 2, 16, 6, 6)
    found = [net.encoder(planes[:, side]) for side in (0, 1)]
    trunk = DualViewNet(DualViewConfig(blocks=0)).eval()
    trunk.encoder.load_state_dict(net.encoder.state_dict())
    assert torch.allclose(trunk.trunk(VIEWS[:6]), torch.cat((*found, VIEWS[:6, -3:-1]), 1))


def test_the_inner_activation_of_a_block_can_be_clipped():
    x = torch.full((1, 258), 0.5)
    for inner, largest in (("relu", 5.0), ("clipped", 1.0)):
        block = Block(DualViewConfig(inner=inner, folded=True))
        nn.init.eye_(block.first.weight)
        nn.init.eye_(block.second.weight)
        nn.init.constant_(block.first.bias, 4.5)
        nn.init.constant_(block.second.bias, -largest)
        assert torch.equal(block(x), x)


def test_dropout_acts_in_training_only():
    net = DualViewNet(DualViewConfig(dropout=0.2))
    assert not torch.equal(net.train().raw(VIEWS[:64]), net.raw(VIEWS[:64]))
    assert torch.equal(net.eval().raw(VIEWS[:64]), net.raw(VIEWS[:64]))


@pytest.mark.parametrize("form", ["plain", "folded"])
def test_a_network_is_saved_with_its_statistics(net, form, tmp_path):
    chosen = net.folded() if form == "folded" else net
    save_net(file := tmp_path / "net.safetensors", chosen, {})
    again, _ = load_net(file)
    assert again.config == chosen.config
    assert torch.equal(again.raw(VIEWS[:8]), chosen.raw(VIEWS[:8]))


def test_it_guides_a_search(net):
    views = VIEWS[:16]  # as many as are answered at a time: other numbers are summed in other ways
    _, values = NetEvaluator(net).ask(views.numpy())
    assert kind_of(net).guides_search
    assert np.allclose(values[:, 0], net.raw(views).tanh().detach(), atol=1e-6)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_view_of_another_encoding_does_not_fit_though_its_sizes_do(encoding):
    game = SimpleNamespace(view_size=1155, num_actions=259, seats=2, viewed=view_of(encoding))
    config, kind = DualViewConfig(encoding), all_kinds()["dual_view"]
    assert all(getattr(config, name) == size for name, size in kind.sizes(game).items())
    game.viewed = view_of(next(other for other in ENCODINGS if other != encoding))
    unfit = [name for name, size in kind.sizes(game).items() if getattr(config, name) != size]
    assert unfit == ["encoding"]


def test_it_answers_in_half_precision_as_on_a_gpu(net):
    half = copy.deepcopy(net).to(torch.bfloat16)
    with torch.inference_mode():
        logits, values = half(VIEWS[:20])
        assert logits.dtype == values.dtype == torch.float32
        assert (values - net(VIEWS[:20])[1]).abs().max() < 0.2


@pytest.mark.parametrize(
    "field",
    [
        {"encoding": "banddper-16"},
        {"inner": "gelu"},
        {"blocks": -1},
        {"embedding": 0},
        {"embedding": 1 << 20},
        {"dropout": 1.0},
        {"policy": 1},
        {"folded": None},
        {"actions": 0},
    ],
)
def test_a_configuration_without_sense_is_refused_by_field(field):
    with pytest.raises(ConfigError, match=next(iter(field))):
        DualViewConfig(**field)
