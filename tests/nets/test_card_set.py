"""The Dominion networks: their size, what they may see, and how they are saved."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from kibitz.nets import load_net, save_net
from kibitz.nets.card_set import (
    SCALAR_PLACES,
    SLOTS,
    CardSetConfig,
    CardSetNet,
    DesignV2Config,
    DesignV2Net,
    TokenLayer,
)
from kibitz.nets.evaluate import NetEvaluator

pytestmark = pytest.mark.usefixtures("one_thread")

# Channels that the specification leaves zero.
RESERVED = (
    "3-15, 17, 24-31, 33, 35, 46-55, 57, 59, 64-71, 73, 75, 77-87, 89, 91-95, 97, 99, 101-103, "
    "108-111, 113, 115-117, 119-127, 129, 131, 133-135, 137-139, 141-175, 226-239, 242-247, "
    "253-271, 292-299"
)
CONTROL = slice(3584, 4096)


# Views -------------------------------------------------------------------------------------------


def view(rng, cards):
    """A view [300, 128] of a game with so many cards: all but their ids is noise."""
    view = np.zeros((300, 128), np.float32)
    view.reshape(-1)[SCALAR_PLACES] = rng.uniform(-1, 1, 263)
    view[SLOTS, :cards] = rng.uniform(-1, 1, (70, cards))
    view[224, :cards] = 1
    view[225, :cards] = (np.sort(rng.permutation(512)[:cards]) + 1) / 512
    return view


def some_views(*cards, seed=1):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(np.stack([view(rng, count) for count in cards]))


VIEWS = some_views(*[17] * 6, 20, 1, 0, 24)
BASE = some_views(*[17] * 8)


def ids_of(one):
    """The ids of the cards in a view, by slot."""
    return [round(float(number) * 512) - 1 for number in one[225, one[224] > 0]]


def lively(net, seed=5):
    """Random numbers for what is born 0 or 1, so that nothing hides behind a plain beginning."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in net.named_parameters():
            if weights.ndim == 1 or name == "slot.weight":
                weights += 0.3 * torch.randn(weights.shape, generator=rng)
    return net


@pytest.fixture(scope="module")
def net():
    return lively(CardSetNet(CardSetConfig())).eval()


@pytest.fixture(scope="module")
def design():
    return lively(DesignV2Net(DesignV2Config())).eval()


@pytest.fixture(params=["net", "design"])
def either(request):
    return request.getfixturevalue(request.param)


@torch.inference_mode()
def answers(net, views):
    return torch.cat(net(views), 1)


def apart(one, two):
    return (one - two).abs().max().item()


# The size and the beginning ----------------------------------------------------------------------


def size(*parts):
    return sum(p.numel() for part in parts for p in part.parameters())


def test_the_network_has_the_parameters_of_the_specification(net):
    assert size(net) == 1_057_864
    assert size(net.card) == 27_072
    assert size(net.at_table) == 2_688
    assert size(net.scalars) == 101_248
    assert [size(layer) for layer in net.layers] == [198_272] * 4
    assert size(net.norm) == 256
    assert size(net.families) == 903 and size(net.control) == 66_048
    assert size(net.value) == 66_561


def test_the_older_design_has_the_parameters_of_the_specification(design):
    assert size(design) == 3_188_355
    assert size(design.card) == 27_072
    assert size(design.slot, design.layers, design.norm) == 809_728
    assert size(design.state) == 1_065_920
    assert size(design.policy) == 1_169_025
    assert size(design.value) == 116_610


@pytest.mark.parametrize(
    ("net_type", "config"), [(CardSetNet, CardSetConfig()), (DesignV2Net, DesignV2Config())]
)
def test_the_same_seed_gives_the_same_weights(net_type, config):
    one, same, other = (net_type(config, seed).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(one[name], same[name]) for name in one)
    for name, weights in one.items():
        assert weights.ndim == 1 or not torch.equal(weights, other[name]), name


def flops(net, cards):
    """Multiplications and additions of one evaluation: with weights, and of attention."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        net(some_views(cards))
    aten = torch.ops.aten
    counts = counter.get_flop_counts()["Global"]
    weights = counts[aten.addmm] + counts.get(aten.mm, 0)
    return weights / 1e6, counts[aten.bmm] / 1e6


@pytest.mark.parametrize(("slots", "reference"), [(17, 29.8), (32, 54.3), (128, 210.9)])
def test_an_evaluation_costs_what_the_specification_says(slots, reference):
    """The reference counts products with weights alone; attention multiplies tokens with tokens."""
    weights, attention = flops(CardSetNet(CardSetConfig(slots=slots)), 17)
    assert weights == pytest.approx(reference, rel=0.01)
    tokens = 1 + slots
    pairs = 4 * 2 * (2 * tokens * tokens * 128)  # layers x (scores, mixing)
    mean = 2 * slots * 128
    assert attention == pytest.approx((pairs + mean) / 1e6, rel=1e-6)


@pytest.mark.parametrize(("slots", "reference"), [(17, 32.9), (128, 246.4)])
def test_an_evaluation_of_the_older_design_costs_what_the_specification_says(slots, reference):
    net = DesignV2Net(DesignV2Config(slots=slots, dropout=0.0))
    assert sum(flops(net, 17)) == pytest.approx(reference, rel=0.01)


# What goes in ------------------------------------------------------------------------------------


def reserved():
    for part in RESERVED.split(", "):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_the_layout_is_that_of_the_specification():
    assert len(SLOTS) == len(set(SLOTS)) == 70
    assert len(SCALAR_PLACES) == len(set(SCALAR_PLACES)) == 263
    assert len(SLOTS) * 17 + len(SCALAR_PLACES) == 1_453
    scalar_channels = {place // 128 for place in SCALAR_PLACES}
    assert not scalar_channels & {*SLOTS}
    assert scalar_channels | {*SLOTS} == {*range(300)} - {*reserved()}


def places_that_matter(net, views):
    """Where a change in a view would change the answer [300, 128]."""
    views = views.clone().requires_grad_()
    logits, values = net(views)
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(2))
    ((logits * weights)[logits > -1e8].sum() + values[:, 0].sum()).backward()
    return views.grad.ne(0).any(0)


def test_the_network_looks_at_every_place_of_the_layout_and_at_no_other(net):
    expected = torch.zeros(300, 128, dtype=torch.bool)
    expected.view(-1)[SCALAR_PLACES] = True
    expected[[channel for channel in SLOTS if channel not in (224, 225)], :17] = True
    assert torch.equal(places_that_matter(net, BASE), expected)


def test_the_older_design_looks_at_state_and_features(design):
    expected = torch.zeros(300, 128, dtype=torch.bool)
    expected[:32] = True
    expected[176:224, :17] = True
    assert torch.equal(places_that_matter(design, BASE), expected)


def test_what_stands_in_an_empty_slot_does_not_matter(either):
    scribbled = VIEWS.clone()
    slots = [channel for channel in SLOTS if channel not in (*range(16, 24), 224)]
    for one in scribbled:
        one[slots, int(one[224].sum()) :] = 0.7
    one, other = answers(either, VIEWS), answers(either, scribbled)
    held = VIEWS[:, 224].any(1)  # with all slots empty, the older design sees the first
    assert apart(one[held], other[held]) < 1e-5


def test_views_may_be_flat(either):
    assert torch.equal(answers(either, VIEWS), answers(either, VIEWS.flatten(1)))


# What comes out ----------------------------------------------------------------------------------


def test_torch_compiles_the_network_as_a_whole():
    """A training may ask for it: nothing in it may depend on numbers that only the host knows."""
    views, small = some_views(6, 17), CardSetNet(CardSetConfig(slots=17, layers=1)).eval()
    compiled = torch.compile(small.heads, fullgraph=True, dynamic=False, backend="eager")
    plain = small.heads(views)
    for one, other in zip(plain[:2], compiled(views)[:2], strict=True):
        assert torch.equal(one, other)


def torch_layer(layer):
    """Torch's own layer with the weights of ours."""
    before = isinstance(layer, TokenLayer)
    norms = "attention_norm feed_norm" if before else "after_attention after_feed"
    theirs = nn.TransformerEncoderLayer(
        128, 8, 512, 0.0, functional.gelu, batch_first=True, norm_first=before
    )
    attention = theirs.self_attn
    ours = [getattr(layer, name) for name in (*norms.split(), "out", "up", "down")]
    parts = (theirs.norm1, theirs.norm2, attention.out_proj, theirs.linear1, theirs.linear2)
    for one, other in zip(parts, ours, strict=True):
        one.load_state_dict(other.state_dict())
    with torch.no_grad():
        attention.in_proj_weight.copy_(layer.qkv.weight)
        attention.in_proj_bias.copy_(layer.qkv.bias)
    return theirs


@torch.no_grad()
def plainly(net, one):
    """Section 11 word by word for one view: no padding, no batch, no mask."""
    ids = ids_of(one)
    features = one[176:224, : len(ids)].T
    rows = [16, 18, 19, 20, 21, 22, 23, 32, 44, 45, 56, 72, 88, 100, 104, 105, 106, 107, 112, 130]
    x = net.card(features) + net.at_table(one[rows, : len(ids)].T)
    x = torch.cat((net.scalars(one.reshape(-1)[SCALAR_PLACES])[None], x))[None]
    for layer in net.layers:
        x = torch_layer(layer)(x)
    table, *cards = net.norm(x)[0]
    mean = torch.stack(cards).mean(0) if cards else torch.zeros(128)
    value = net.value(torch.cat((table, mean))).tanh()
    logits = torch.full((4096,), -1e9)
    for id_, card in zip(ids, cards, strict=True):
        for family, logit in enumerate(net.families(card)):
            logits[family * 512 + id_] = logit
    logits[CONTROL] = net.control(table)
    return torch.cat((logits, value, -value))


def test_the_network_says_what_the_specification_says(net):
    assert apart(answers(net, VIEWS), torch.stack([plainly(net, one) for one in VIEWS])) < 1e-5


@torch.no_grad()
def design_plainly(net, one):
    """The table of section 11 for one view with cards."""
    cards = len(ids_of(one))
    x = (net.card(one[176:224, :cards].T) + net.slot.weight[:cards])[None]
    for layer in net.layers:
        x = torch_layer(layer)(x)
    x = net.norm(x)[0]
    state = net.state(one[:32].reshape(-1))

    def head(part):
        pooled = (part.pool(x).softmax(0) * x).sum(0)
        return part.answer(torch.cat((pooled, state)))

    value = head(net.value).tanh()
    return torch.cat((head(net.policy), value, -value))


def test_the_older_design_says_what_the_specification_says(design):
    held = VIEWS[VIEWS[:, 224].any(1)]
    expected = torch.stack([design_plainly(design, one) for one in held])
    assert apart(answers(design, held), expected) < 1e-5


def test_values_are_counted_from_the_seat_that_looks(either):
    logits, values = either(VIEWS)
    assert logits.shape == (len(VIEWS), 4096) and values.shape == (len(VIEWS), 2)
    assert logits.dtype == values.dtype == torch.float32
    assert torch.equal(values[:, 0], -values[:, 1])
    assert values.abs().max() < 1


def test_cards_that_are_not_in_the_game_get_no_logit(net):
    logits, _ = net(VIEWS)
    for one, row in zip(VIEWS, logits, strict=True):
        actions = [family * 512 + id_ for family in range(7) for id_ in ids_of(one)]
        assert row.gt(-1e8).nonzero().flatten().tolist() == [*sorted(actions), *range(3584, 4096)]
        assert row[row < -1e8].eq(-1e9).all()


def test_the_first_and_the_last_id_have_their_places(net):
    views = BASE.clone()
    views[:, 225, 0], views[:, 225, 16] = 1 / 512, 1.0
    logits, _ = net(views)
    assert logits[:, [0, 511, 6 * 512, 7 * 512 - 1]].gt(-1e8).all()


@pytest.mark.parametrize("moved", [17, 24])
def test_the_order_of_the_slots_does_not_matter(net, moved):
    """17: the cards change places; 24: cards lie behind empty slots too."""
    order = torch.randperm(moved, generator=torch.Generator().manual_seed(1))
    assert not torch.equal(order, torch.arange(moved))
    shuffled = BASE.clone()
    for channel in SLOTS:
        shuffled[:, channel, :moved] = BASE[:, channel, order]
    assert apart(answers(net, BASE), answers(net, shuffled)) < 1e-5
    with torch.inference_mode():
        assert apart(torch.cat(net.trimmed(shuffled), 1), answers(net, BASE)) < 1e-5


def test_the_older_design_knows_slots_by_their_numbers(design):
    swapped = BASE.clone()
    swapped[:, 176:226, [0, 1]] = BASE[:, 176:226, [1, 0]]
    assert apart(answers(design, BASE), answers(design, swapped)) > 1e-3


@pytest.mark.parametrize("training", [False, True])
def test_an_empty_view_gives_finite_numbers(either, training):
    twin = copy.deepcopy(either).train(training)
    logits, values = twin(torch.zeros(3, 300, 128))
    assert logits.isfinite().all() and values.isfinite().all()
    (logits[:, CONTROL].square().mean() + values.square().mean()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in twin.parameters())


def test_a_view_alone_is_the_view_in_a_batch(either):
    alone = torch.cat([answers(either, one[None]) for one in VIEWS])
    assert apart(answers(either, VIEWS), alone) < 1e-5


def test_leaving_out_empty_slots_changes_nothing(either):
    with torch.inference_mode():
        for views in (VIEWS, BASE, VIEWS[8:9], VIEWS[:0]):
            trimmed = torch.cat(either.trimmed(views, together=3), 1)
            assert torch.allclose(trimmed, answers(either, views), atol=1e-5)


def test_a_card_that_the_network_cannot_see_is_told(net):
    with pytest.raises(ValueError, match="a view uses 25 slots, but the network reads 24"):
        net.trimmed(some_views(17, 25))


def test_more_slots_are_the_same_network():
    few, many = (CardSetNet(CardSetConfig(slots=slots)).eval() for slots in (24, 128))
    assert apart(answers(few, VIEWS), answers(many, VIEWS)) < 1e-5
    assert answers(many, some_views(128))[0, :3584].gt(-1e8).sum() == 7 * 128


def test_an_evaluator_gets_logits_and_values_by_seat(either):
    logits, values = NetEvaluator(either)(VIEWS.flatten(1))
    assert (
        apart(torch.from_numpy(np.concatenate((logits, values), 1)), answers(either, VIEWS)) < 1e-5
    )


# Where it looks ----------------------------------------------------------------------------------


def test_attention_is_what_torch_computes(net):
    inputs = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
        for layer in net.layers
    ]
    answers(net, VIEWS)
    for hook in hooks:
        hook.remove()
    looks = net.attention(VIEWS)
    assert looks.shape == (len(VIEWS), 4, 8, 25, 25)
    empty = functional.pad(VIEWS[:, 224, :24] == 0, (1, 0))
    for number, (layer, x) in enumerate(zip(net.layers, inputs, strict=True)):
        x = layer.attention_norm(x.clone())
        _, expected = torch_layer(layer).self_attn(
            x, x, x, key_padding_mask=empty, average_attn_weights=False
        )
        assert apart(looks[:, number], expected) < 1e-5


def test_nobody_looks_at_an_empty_slot(net):
    looks = net.attention(BASE)
    assert looks.sum(4).allclose(torch.ones(()))
    assert looks[..., :18].gt(0).all() and looks[..., 18:].eq(0).all()


# Training ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [(CardSetNet, CardSetConfig), (DesignV2Net, DesignV2Config)])
def test_dropout_is_for_training_alone(kinds):
    kind, config = kinds
    net = kind(config())
    assert not torch.equal(*(net.train()(BASE)[1] for _ in range(2)))
    assert torch.equal(*(net.eval()(BASE)[1] for _ in range(2)))
    without = kind(config(dropout=0.0))
    assert apart(torch.cat(without.train()(BASE), 1), answers(without.eval(), BASE)) < 1e-5


@pytest.mark.parametrize("kinds", [(CardSetNet, CardSetConfig), (DesignV2Net, DesignV2Config)])
def test_the_margin_head_is_for_training_alone(kinds):
    kind, config = kinds
    plain, more = kind(config()).eval(), kind(config(margin_head=True)).eval()
    assert plain.heads(BASE).margin is None
    heads = more.heads(BASE)
    assert heads.margin.shape == (8,) and heads.margin.abs().max() < 1
    assert torch.equal(heads.policy, more(BASE)[0])
    assert torch.equal(heads.value, more(BASE)[1])


@pytest.mark.parametrize("kinds", [(CardSetNet, CardSetConfig), (DesignV2Net, DesignV2Config)])
def test_gradients_reach_every_parameter(kinds):
    kind, config = kinds
    net = kind(config(margin_head=True)).eval()  # dropout could set gradients to zero by chance
    policy, value, margin = net.heads(BASE)
    loss = policy[policy > -1e8].square().sum() + (value[:, 0] - 0.5).square().sum()
    (loss + (margin - 0.5).square().sum()).backward()
    for name, weights in net.named_parameters():
        assert weights.grad is not None and weights.grad.isfinite().all(), name
        assert weights.grad.any(), name


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"slots": 0}, "from 1 to 128"),
        ({"slots": 129}, "from 1 to 128"),
        ({"attention_heads": 7}, "not a multiple of 7"),
    ],
)
def test_an_impossible_configuration_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        CardSetConfig(**wrong)


# Compilation, export, half precision, files ------------------------------------------------------


@torch.inference_mode()
def test_the_network_is_one_graph(either):
    whole = torch.compile(either, fullgraph=True, backend="aot_eager")
    assert apart(torch.cat(whole(VIEWS), 1), answers(either, VIEWS)) < 1e-5


@pytest.mark.slow
@torch.inference_mode()
def test_the_compiled_network_says_the_same(either):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the compiler itself
        compiled = torch.compile(either, fullgraph=True)
        assert apart(torch.cat(compiled(VIEWS), 1), answers(either, VIEWS)) < 1e-5


def test_the_onnx_model_says_the_same_for_any_batch(either, tmp_path):
    onnx = pytest.importorskip("kibitz.adapters.onnx")
    onnx.export(tmp_path / "net.onnx", either, {"game": "dominion"})
    model, about = onnx.load(tmp_path / "net.onnx")
    assert about == {"game": "dominion"}
    for views in (VIEWS, BASE[:1], torch.zeros(3, 300, 128)):
        exported = torch.cat(
            [torch.from_numpy(part) for part in model(views.flatten(1).numpy())], 1
        )
        assert apart(exported, answers(either, views)) < 1e-4


@pytest.mark.filterwarnings("ignore:TF32")
@torch.inference_mode()
def test_half_precision_is_close():
    net = CardSetNet(CardSetConfig()).eval()
    exact = net(VIEWS)
    # Some virtual machines promise tile instructions for bfloat16 that they do not have, and
    # oneDNN believes them.
    with torch.backends.mkldnn.flags(enabled=False):
        close = net.bfloat16()(VIEWS)
    for one, other, most in zip(exact, close, (0.1, 0.03), strict=True):
        assert other.dtype == torch.float32
        assert apart(one, other) < most


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_saved_network_comes_back_bit_by_bit(either, kind, tmp_path):
    net = copy.deepcopy(either).to(kind)
    save_net(tmp_path / "net.safetensors", net, {"game": "dominion"})
    again, about = load_net(tmp_path / "net.safetensors")
    assert about == {"game": "dominion"} and again.config == net.config and not again.training
    assert again.state_dict().keys() == net.state_dict().keys()
    for name, weights in net.state_dict().items():
        assert torch.equal(again.state_dict()[name], weights), name


@pytest.mark.gpu
@torch.inference_mode()
def test_a_gpu_records_the_network_and_says_nearly_the_same(either):
    views = some_views(*[17] * 64)
    exact = answers(either, views)
    twin, room = copy.deepcopy(either).to("cuda", torch.bfloat16), torch.zeros_like(views).cuda()
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        twin(room)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits, values = twin(room)
    room.copy_(views)
    graph.replay()
    assert logits.cpu().gt(-1e8).equal(exact[:, :4096].gt(-1e8))
    assert apart(torch.cat((logits, values), 1).cpu(), exact) < 0.3
