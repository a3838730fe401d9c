"""The zone network: its size, what it may see, and how it is saved."""

import dataclasses
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from kibitz.nets import NetError
from kibitz.nets.zones import LARGE, ZoneConfig, ZoneLayer, ZoneNet

pytestmark = pytest.mark.usefixtures("one_thread")

QUEUE, BAR, THATS_IT, HAND = slice(0, 85), slice(85, 493), slice(493, 901), slice(901, 969)
OPPONENT, SCALARS = slice(969, 981), slice(981, 988)
PLACE = 16  # where in a card its slot stands
STRENGTH = np.array([5, 10, 8, 11, 3, 12, 4, 2, 6, 1, 9, 7])  # by alphabetical id
POINTS = np.array([3, 3, 3, 2, 4, 2, 3, 4, 2, 4, 2, 4])


# Views ------------------------------------------------------------------------------------------


def cards(rows, species, owners):
    """A zone as section 6 writes it: filled from slot 0, places in empty slots too."""
    zone = np.zeros((rows, 17), np.float32)
    zone[:, 1] = 0.5
    zone[:, PLACE] = np.arange(rows) / (rows - 1)
    here = np.arange(len(species))
    zone[here, 0] = 1
    zone[here, 1] = owners
    zone[here, 2 + species] = 1
    zone[here, 14] = STRENGTH[species] / 12
    zone[here, 15] = POINTS[species] / 4
    return zone.reshape(-1)


def view(rng, turn):
    """A random view after `turn` turns; only the counts are true."""
    mine, yours = rng.permutation(12), rng.permutation(12)
    of_mine, of_yours = (turn + 1) // 2, turn // 2
    played = np.concatenate((mine[:of_mine], yours[:of_yours]))
    owners = np.repeat([1.0, 0.0], (of_mine, of_yours))
    order = rng.permutation(turn)
    played, owners = played[order], owners[order]
    waiting = min(turn, rng.integers(1, 5))
    entered = waiting + rng.integers(0, turn - waiting + 1)
    held = np.arange(4) < min(4, 12 - of_yours)
    opponent = np.stack((held, np.arange(4) / 3, np.zeros(4)), 1)
    hand = mine[of_mine : of_mine + 4]
    piles = max(0, 8 - of_mine) / 12, max(0, 8 - of_yours) / 12
    scalars = [*piles, len(hand) / 4, held.sum() / 4, 1, turn / 100, waiting / 5]
    parts = [
        cards(5, played[:waiting], owners[:waiting]),
        cards(24, played[waiting:entered], owners[waiting:entered]),
        cards(24, played[entered:], owners[entered:]),
        cards(4, hand, np.ones(len(hand))),
        opponent.reshape(-1),
        scalars,
    ]
    return np.concatenate(parts).astype(np.float32)


def some_views(count, seed=1, turns=range(24)):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(np.stack([view(rng, turns[i % len(turns)]) for i in range(count)]))


VIEWS = some_views(48)
FIRST = some_views(4, turns=[0])  # queue, bar and THAT'S IT are empty
FULL = torch.from_numpy(np.stack([view(np.random.default_rng(s), 12) for s in range(40)]))
FULL = FULL[(FULL[:, BAR.start] > 0) & (FULL[:, THATS_IT.start] > 0)]  # nothing is empty


def rows_swapped(views, zone, one, two, keep=()):
    """The views with two rows of a zone exchanged, but for the features in `keep`."""
    out = views.clone()
    before = views[:, zone].unflatten(1, (-1, 17))
    after = out[:, zone].unflatten(1, (-1, 17))
    moved = [feature for feature in range(17) if feature not in keep]
    after[:, one, moved], after[:, two, moved] = before[:, two][:, moved], before[:, one][:, moved]
    return out


def lively(net, seed=5):
    """Random numbers for what is born 0 or 1, so that nothing hides behind a plain beginning."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in net.named_parameters():
            if weights.ndim == 1:
                weights += 0.3 * torch.randn(weights.shape, generator=rng)
            elif name == "card.species.weight":
                weights[:-1] += torch.randn(weights[:-1].shape, generator=rng)
    return net


@pytest.fixture(scope="module")
def net():
    return lively(ZoneNet(ZoneConfig())).eval()


@torch.inference_mode()
def answers(net, views):
    return torch.cat(net(views), 1)


def apart(one, two):
    return (one - two).abs().max().item()


# The size and the beginning ----------------------------------------------------------------------


def size(*parts):
    return sum(p.numel() for part in parts for p in part.parameters())


def test_the_default_network_has_the_parameters_of_the_specification():
    assert size(ZoneNet(ZoneConfig())) == 1_308_573


def test_the_large_network_has_the_parameters_of_the_specification():
    assert size(ZoneNet(LARGE)) == 17_035_709
    assert size(ZoneNet(dataclasses.replace(LARGE, deep_value=True))) == 17_332_925


def test_every_part_has_the_parameters_of_the_specification(net):
    assert size(net.card) == 9_184
    assert size(net.opponent_card) == 768
    assert [size(zone) for zone in net.zones.values()] == [198_400] * 5
    assert size(net.scalars) == 1_024
    assert [size(part) for part in net.fusion] == [213_888, 33_536, 33_536]
    assert (size(net.policy), size(net.value)) == (16_316, 8_321)


def test_the_parts_of_a_view_are_where_the_specification_puts_them():
    config = ZoneConfig()
    assert config.view_size == 988
    assert np.cumsum([0, *config.sizes]).tolist() == [0, 85, 493, 901, 969, 981, 988]


def test_weights_have_names_that_can_be_read():
    names = set(ZoneNet(ZoneConfig(margin_head=True)).state_dict())
    assert names >= {
        "card.species.weight",
        "card.mix.bias",
        "opponent_card.linear.weight",
        "zones.queue.layers.0.qkv.weight",
        "zones.thats_it.layers.0.down.bias",
        "zones.opponents.empty",
        "scalars.weight",
        "fusion.0.carry.weight",
        "policy.out.weight",
        "value.hidden.weight",
        "margin.out.bias",
    }


def test_a_new_network_begins_as_the_specification_says():
    net = ZoneNet(ZoneConfig())
    for name, part in net.named_modules():
        if isinstance(part, nn.Linear):
            bound = (6 / sum(part.weight.shape)) ** 0.5
            assert 0.9 * bound < part.weight.abs().max() <= bound, name
            assert not part.bias.any(), name
        if isinstance(part, nn.LayerNorm):
            assert (part.weight == 1).all() and not part.bias.any(), name
    species = net.card.species.weight
    assert species[:-1].std().item() == pytest.approx(0.02, rel=0.15)
    assert not species[-1].any()
    assert not any(zone.empty.any() for zone in net.zones.values())


def test_the_same_seed_gives_the_same_weights():
    one, same, other = (ZoneNet(ZoneConfig(), seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["scalars.weight"], other["scalars.weight"])


# The same numbers as the specification, written plainly -------------------------------------------


def torch_layer(layer):
    """torch's own transformer layer with the weights of ours."""
    width = layer.out.in_features
    theirs = nn.TransformerEncoderLayer(
        width, layer.heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
    )
    names = {
        "self_attn.in_proj_": "qkv.",
        "self_attn.out_proj.": "out.",
        "linear1.": "up.",
        "linear2.": "down.",
        "norm1.": "attention_norm.",
        "norm2.": "feed_norm.",
    }
    ours = layer.state_dict()
    parts = {a + end: ours[b + end] for a, b in names.items() for end in ("weight", "bias")}
    theirs.load_state_dict(parts)
    return theirs


def plainly(net, views):
    """Section 8 word by word: a table of species, torch's layers, the mean at the end."""
    *zones, scalars = views.split(net.config.sizes, 1)
    parts = []
    for (name, encoder), zone in zip(net.zones.items(), zones, strict=True):
        rows = zone.unflatten(1, (-1, 3 if name == "opponents" else 17))
        x = plain_opponents(net, rows) if name == "opponents" else plain_cards(net, rows)
        if name == "queue":
            x = x + plain_positions(5, net.config.width)
        parts.append(
            torch.stack(
                [plain_mean(encoder, *one) for one in zip(x, rows[..., 0] >= 0.5, strict=True)]
            )
        )
    table = net.fusion(torch.cat((*parts, nn.functional.gelu(net.scalars(scalars))), 1))
    value = net.value(table).tanh()
    return torch.cat((net.policy(table), value, -value), 1)


def plain_cards(net, rows):
    species = torch.where(rows[..., 0] < 0.5, 12, rows[..., 2:14].argmax(-1))
    numbers = net.card.numbers(torch.cat((rows[..., :2], rows[..., 14:]), -1))
    mixed = net.card.mix(torch.cat((net.card.species(species), numbers), -1))
    return net.card.norm(nn.functional.gelu(mixed))


def plain_opponents(net, rows):
    return net.opponent_card.norm(nn.functional.gelu(net.opponent_card.linear(rows)))


def plain_positions(rows, width):
    out = torch.zeros(rows, width)
    for p in range(rows):
        for i in range(width // 2):
            angle = p / 10_000 ** (2 * i / width)
            out[p, 2 * i], out[p, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return out


def plain_mean(encoder, x, present):
    """One zone of one view: without padding there is nothing to mask."""
    if not present.any():
        return encoder.empty
    x = x[present][None]
    for layer in encoder.layers:
        x = torch_layer(layer)(x)
    return x[0].mean(0)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_network_says_what_the_specification_says(layers):
    net = lively(ZoneNet(ZoneConfig(layers=layers, width=64, embedding=16))).eval()
    with torch.no_grad():
        assert apart(answers(net, VIEWS[:24:2]), plainly(net, VIEWS[:24:2])) < 1e-5


@pytest.mark.parametrize("rows", [1, 5, 24])
def test_a_layer_is_torchs_pre_norm_layer(rows):
    rng = torch.Generator().manual_seed(3)
    ours = lively(ZoneLayer(128, 4, dropout=0.0))
    theirs = torch_layer(ours)
    x = torch.randn(32, rows, 128, generator=rng)
    seen = torch.rand(32, rows, generator=rng) < 0.5
    seen[:, 0] |= ~seen.any(1)
    expected = theirs(x, src_key_padding_mask=~seen)
    assert apart(ours(x, seen)[seen], expected[seen]) < 1e-5


def test_the_mean_may_be_taken_before_the_last_matrix():
    """Training with dropout takes it after, everything else before."""
    net = lively(ZoneNet(ZoneConfig(dropout=1e-12)))
    assert apart(torch.cat(net.train()(VIEWS), 1), torch.cat(net.eval()(VIEWS), 1)) < 1e-5


# What it sees ------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True])
def test_empty_zones_give_finite_numbers(training):
    net = ZoneNet(ZoneConfig()).train(training)
    for views in (FIRST, torch.zeros(3, 988), VIEWS):
        logits, values = net(views)
        assert logits.isfinite().all() and values.isfinite().all()
        (logits.square().mean() + values.square().mean()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())


def test_an_empty_zone_is_its_learned_vector(net):
    for name, zone in net.zones.items():
        x = torch.randn(3, 4, 128)
        empty = torch.zeros(3, 4, dtype=torch.bool)
        assert torch.equal(zone(x, empty), zone.empty.expand(3, -1)), name


def test_a_view_alone_is_the_view_in_a_batch(net):
    together = answers(net, VIEWS)
    alone = torch.cat([answers(net, one[None]) for one in VIEWS])
    assert apart(together, alone) < 1e-5


def test_values_are_counted_from_the_seat_that_looks(net):
    logits, values = net(VIEWS)
    assert logits.shape == (48, 124) and values.shape == (48, 2)
    assert logits.dtype == values.dtype == torch.float32
    assert torch.equal(values[:, 0], -values[:, 1])
    assert values.abs().max() < 1


def test_reordering_the_hand_changes_the_policy(net):
    """The slots now mean other cards."""
    swapped = rows_swapped(FULL, HAND, 0, 2, keep=[PLACE])
    assert (answers(net, FULL) - answers(net, swapped)).abs().amax(1).min() > 1e-3


@pytest.mark.parametrize("zone", [BAR, THATS_IT, HAND])
def test_rows_may_be_permuted_if_the_place_travels_with_the_card(net, zone):
    last = 3 if zone == HAND else 20  # an empty row in the piles
    assert apart(answers(net, FULL), answers(net, rows_swapped(FULL, zone, 0, last))) < 1e-5


def test_piles_show_the_order_of_arrival_unless_told_not_to(net):
    blind = lively(ZoneNet(ZoneConfig(zone_positions=False))).eval()
    two = FULL[(FULL[:, BAR.start + 17] > 0) & (FULL[:, THATS_IT.start + 17] > 0)]
    assert len(two) > 5
    for zone in (BAR, THATS_IT):
        swapped = rows_swapped(two, zone, 0, 1, keep=[PLACE])
        assert apart(answers(blind, two), answers(blind, swapped)) < 1e-5
        assert (answers(net, two) - answers(net, swapped)).abs().amax(1).min() > 1e-5
    swapped = rows_swapped(two, HAND, 0, 1, keep=[PLACE])
    assert (answers(blind, two) - answers(blind, swapped)).abs().amax(1).min() > 1e-3


def test_the_order_of_the_queue_matters(net):
    """Even where the place would travel with the card."""
    two = VIEWS[VIEWS[:, 17] > 0]
    for keep in ([], [PLACE]):
        swapped = rows_swapped(two, QUEUE, 0, 1, keep)
        assert (answers(net, two) - answers(net, swapped)).abs().amax(1).min() > 1e-3


def test_how_many_cards_the_opponent_holds_matters(net):
    fewer = FULL.clone()
    fewer[:, OPPONENT.start + 9] = 0
    assert (answers(net, FULL) - answers(net, fewer)).abs().amax(1).min() > 1e-3


def test_what_stands_in_an_empty_row_does_not_matter(net):
    scribbled = VIEWS.clone()
    for zone, features in ((QUEUE, 17), (BAR, 17), (THATS_IT, 17), (HAND, 17), (OPPONENT, 3)):
        rows = scribbled[:, zone].unflatten(1, (-1, features))
        rows[..., 1:][rows[..., 0] == 0] = 0.7
    assert not torch.equal(scribbled, VIEWS)
    assert apart(answers(net, VIEWS), answers(net, scribbled)) < 1e-5


def test_leaving_out_empty_rows_changes_nothing(net):
    with torch.inference_mode():
        for views in (VIEWS, FIRST, FULL[:1], VIEWS[:0]):
            logits, values = net.trimmed(views, together=20)
            assert torch.allclose(torch.cat((logits, values), 1), answers(net, views), atol=1e-5)


def test_a_card_may_lie_behind_an_empty_row(net):
    moved = rows_swapped(FULL, BAR, 0, 23)
    with torch.inference_mode():
        assert apart(torch.cat(net.trimmed(moved), 1), answers(net, moved)) < 1e-5


# Other tables and other heads --------------------------------------------------------------------


def test_three_seats_have_three_values():
    piles = (("queue", 5), ("bar", 36), ("thats_it", 36), ("hand", 4))
    config = ZoneConfig(zones=piles, opponents=8, scalars=9, seats=3)
    logits, values = ZoneNet(config).eval()(torch.rand(6, config.view_size))
    assert config.view_size == 81 * 17 + 8 * 3 + 9
    assert logits.shape == (6, 124) and values.shape == (6, 3)
    assert values.abs().max() < 1


def test_the_margin_head_is_for_training_alone():
    plain, more = ZoneNet(ZoneConfig()), ZoneNet(ZoneConfig(margin_head=True))
    assert size(more) - size(plain) == 128 * 64 + 64 + 64 + 1
    assert plain.heads(VIEWS).margin is None
    more.eval()
    heads = more.heads(VIEWS)
    assert heads.margin.shape == (48,) and heads.margin.abs().max() < 1
    assert torch.equal(heads.policy, more(VIEWS)[0])
    assert torch.equal(heads.value, more(VIEWS)[1])


@pytest.mark.parametrize("config", [ZoneConfig(margin_head=True), ZoneConfig(deep_value=True)])
def test_gradients_reach_every_parameter(config):
    net = ZoneNet(config)
    views = torch.cat((FULL, torch.zeros(2, 988)))  # full zones, and empty ones for `empty`
    policy, value, margin = net.heads(views)
    loss = policy.square().sum() + (value[:, 0] - 0.5).square().sum()
    (loss if margin is None else loss + (margin - 0.5).square().sum()).backward()
    for name, weights in net.named_parameters():
        assert weights.grad is not None and weights.grad.isfinite().all(), name
        assert weights.grad.any(), name
    *species, no_card = net.card.species.weight.grad
    assert all(row.any() for row in species) and not no_card.any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"zones": (("bar", 2), ("bar", 3))}, "name of its own"),
        ({"zones": (("opponents", 2),), "ordered": (), "piles": ()}, "name of its own"),
        ({"ordered": ("line",)}, "no zone line"),
        ({"attention_heads": 3}, "not a multiple of 3"),
        ({"opponents": 0}, "one row"),
        ({"seats": 1}, "two seats"),
    ],
)
def test_an_impossible_configuration_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ZoneConfig(**wrong)


# Compilation, export, half precision --------------------------------------------------------------


@torch.inference_mode()
def test_the_network_is_one_graph(net):
    whole = torch.compile(net, fullgraph=True, backend="aot_eager")
    assert apart(torch.cat(whole(VIEWS), 1), answers(net, VIEWS)) < 1e-5


@pytest.mark.slow
@torch.inference_mode()
def test_the_compiled_network_says_the_same(net):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the compiler itself
        compiled = torch.compile(net, fullgraph=True)
        for views in (VIEWS, FIRST):
            assert apart(torch.cat(compiled(views), 1), answers(net, views)) < 1e-5


@pytest.fixture(scope="module")
def exported(net, tmp_path_factory):
    onnx = pytest.importorskip("kibitz.adapters.onnx")
    path = tmp_path_factory.mktemp("onnx") / "zones.onnx"
    onnx.export(path, net, {"game": "beasty_bar"})
    return path


def test_the_onnx_model_says_the_same_for_any_batch(net, exported):
    from kibitz.adapters import onnx

    model, about = onnx.load(exported)
    assert about == {"game": "beasty_bar"}
    for views in (VIEWS, VIEWS[:1], FIRST, torch.zeros(3, 988)):
        exported = torch.cat([torch.from_numpy(part) for part in model(views.numpy())], 1)
        assert apart(exported, answers(net, views)) < 1e-5


def test_a_file_that_is_no_onnx_model_is_refused(exported, tmp_path):
    from kibitz.adapters import onnx

    for name, contents in (("cut", exported.read_bytes()[:-9000]), ("text", b"no model")):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(NetError, match=f"{name} is not an ONNX model"):
            onnx.load(tmp_path / name)
    with pytest.raises(NetError, match="missing"):
        onnx.load(tmp_path / "missing")


@pytest.mark.filterwarnings("ignore:TF32")
@torch.inference_mode()
def test_half_precision_is_close():
    net = ZoneNet(ZoneConfig()).eval()
    exact = net(VIEWS)
    # Some virtual machines promise tile instructions for bfloat16 that they do not have, and
    # oneDNN believes them.
    with torch.backends.mkldnn.flags(enabled=False):
        close = net.bfloat16()(VIEWS)
    for one, other, most in zip(exact, close, (0.1, 0.03), strict=True):
        assert other.dtype == torch.float32
        assert apart(one, other) < most
