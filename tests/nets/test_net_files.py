"""Networks as files: what is saved comes back, and what is not ours is refused."""

import dataclasses
import errno
import io
import json
import math
import os
import pickle
import subprocess
import sys

import pytest
import safetensors.torch
import torch
from test_zones import lively
from torch import nn

from kibitz import nets
from kibitz.bidding.beliefs import BeliefConfig
from kibitz.bidding.bilinear import CompBilinConfig, HandPolicyConfig, ValueConfig
from kibitz.nets import NetError, load_net, save_net
from kibitz.nets.bounds import ConfigError
from kibitz.nets.card_set import CardSetConfig, CardSetNet, DesignV2Config
from kibitz.nets.residual import ResidualConfig
from kibitz.nets.zones import ZoneConfig, ZoneNet

SMALL = ZoneConfig(width=16, attention_heads=2, embedding=8, zone_positions=False)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_saved_network_comes_back_bit_by_bit(kind, tmp_path):
    net = lively(ZoneNet(SMALL)).to(kind)
    about = {"game": "beasty_bar", "steps": 7, "rates": [0.1, None]}
    save_net(tmp_path / "net.safetensors", net, about)
    again, loaded_about = load_net(tmp_path / "net.safetensors")
    assert loaded_about == about and again.config == SMALL and not again.training
    assert again.state_dict().keys() == net.state_dict().keys()
    for name, weights in net.state_dict().items():
        assert again.state_dict()[name].dtype == kind
        assert torch.equal(again.state_dict()[name], weights), name
    assert [file.name for file in tmp_path.iterdir()] == ["net.safetensors"]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "net.safetensors"
    save_net(path, ZoneNet(SMALL), {"game": "beasty_bar"})
    return path


def pickled(net):
    out = io.BytesIO()
    torch.save(net.state_dict(), out)
    return out.getvalue()


def altered(path, convert=lambda tensor: tensor, lacks="", **changes):
    """The file with other metadata or weights and a right hash, as a careful forger would do it."""
    facts, tensors = nets.read(path)
    facts = {key: value for key, value in (facts | changes).items() if value is not None}
    tensors = {name: convert(tensor) for name, tensor in tensors.items() if name != lacks}
    facts["sha256"] = nets.digest({k: v for k, v in facts.items() if k != "sha256"}, tensors)
    return safetensors.torch.save(tensors, facts)


def one_bit_wrong(path):
    contents = bytearray(path.read_bytes())
    contents[-1000] ^= 1
    return bytes(contents)


def unfit(**changes):
    """A configuration as a file would hold it, with fields that no network could be built with."""
    return json.dumps(dataclasses.asdict(SMALL) | changes)


def mixed(tensor):
    return tensor.half() if tensor.ndim == 1 else tensor


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (lambda path: path.read_bytes()[:-1], "not a complete safetensors file"),
        (lambda path: path.read_bytes()[:500], "not a complete safetensors file"),
        (lambda path: b"", "not a complete safetensors file"),
        (lambda path: b"once upon a time" * 99, "not a complete safetensors file"),
        (lambda path: pickle.dumps({"weights": [1.0] * 99}), "not a complete safetensors file"),
        (lambda path: pickled(ZoneNet(SMALL)), "not a complete safetensors file"),
        (one_bit_wrong, "is damaged"),
        (lambda path: safetensors.torch.save({"a": torch.zeros(2)}), "kibitz did not save them"),
        (lambda path: altered(path, format="kibitz net 9"), "kibitz did not save them"),
        (lambda path: altered(path, net="trilinear"), "'trilinear'; kibitz knows"),
        (lambda path: altered(path, config='{"depth": 3}'), "does not fit.*'depth'"),
        (
            lambda path: altered(path, config=unfit(width=32)),
            r"does not fit.*'card.mix.bias' is \[16\], not \[32\]",
        ),
        (lambda path: altered(path, config="[7"), "'config' is not JSON"),
        (lambda path: altered(path, config="[7]"), "'config' is not a JSON object"),
        (lambda path: altered(path, config="[" * 99_999), "'config' is not JSON"),
        (lambda path: altered(path, config=None), "has no 'config'"),
        (lambda path: altered(path, about="{"), "'about' is not JSON"),
        (lambda path: altered(path, about="[]"), "'about' is not a JSON object"),
        (lambda path: altered(path, about=None), "has no 'about'"),
        (lambda path: altered(path, config=unfit(width=0)), "width=0: width is a whole number"),
        (lambda path: altered(path, config=unfit(width=True)), "width=True"),
        (lambda path: altered(path, config=unfit(width=16.0)), "width=16.0"),
        (lambda path: altered(path, config=unfit(dropout=math.nan)), "dropout=nan"),
        (lambda path: altered(path, config=unfit(dropout="x")), "dropout='x'"),
        (lambda path: altered(path, config=unfit(layers=10**6)), "layers=1000000.*from 1 to 64"),
        (lambda path: altered(path, config=unfit(layers=60)), "layers=60.*over all zones"),
        (
            lambda path: altered(path, config=unfit(zones=[["keys", 1]], ordered=[], piles=[])),
            "fit",
        ),
        (lambda path: altered(path, config=unfit(zones=5)), "zones=5"),
        (lambda path: altered(path, config=unfit(ordered=[["queue"]])), "ordered="),
        (lambda path: altered(path, convert=lambda t: t.int()), "are I32, not floating point"),
        (lambda path: altered(path, convert=lambda t: t / 0), "are not all finite"),
        (lambda path: altered(path, convert=mixed), "of different types"),
        (lambda path: altered(path, lacks="scalars.bias"), "lacks weights 'scalars.bias'"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_in_a_sentence(saved, contents, message):
    saved.write_bytes(contents(saved))
    with pytest.raises(NetError, match=message) as refusal:
        load_net(saved)
    assert str(saved) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ValueConfig(priv=10**9),
        lambda: ValueConfig(hidden=[100]),
        lambda: ValueConfig(hidden=(100,) * 65),
        lambda: ValueConfig(hidden=(True,)),
        lambda: CompBilinConfig(interaction=8193),
        lambda: HandPolicyConfig(pub="124"),
        lambda: BeliefConfig(sets=()),
        lambda: BeliefConfig(sets=(6, 6)),
        lambda: BeliefConfig(depth=65),
        lambda: BeliefConfig(rank=0),
        lambda: CardSetConfig(layers=0),
        lambda: CardSetConfig(width=8200),
        lambda: CardSetConfig(attention_heads=0),
        lambda: CardSetConfig(margin_head=1),
        lambda: DesignV2Config(dropout=1.0),
        lambda: ZoneConfig(species=0),
        lambda: ZoneConfig(width=3, attention_heads=1),
        lambda: ZoneConfig(seats=1000),
        lambda: ZoneConfig(zones=(("hand", 10**9),), ordered=(), piles=()),
        lambda: ZoneConfig(opponents=-1),
        lambda: ResidualConfig(view_size=0, actions=2),
        lambda: ResidualConfig(view_size=2, actions=10**9),
        lambda: ResidualConfig(view_size=2, actions=2, seats=0),
        lambda: ResidualConfig(view_size=2, actions=2, blocks=65),
        lambda: ResidualConfig(view_size=2, actions=2, largest_score=math.inf),
        lambda: ResidualConfig(view_size=2, actions=2, largest_score=True),
        lambda: ResidualConfig(view_size=2, actions=2, zero_sum=1),
    ],
)
def test_every_configuration_refuses_what_it_cannot_build(wrong):
    with pytest.raises(ConfigError, match=r"\w+="):
        wrong()


def test_a_small_file_that_asks_for_a_large_network_gets_no_memory(tmp_path):
    """All sizes within bounds, together 40 GB: the shapes in the file do not agree."""
    path = tmp_path / "net.safetensors"
    save_net(path, CardSetNet(CardSetConfig(width=8, attention_heads=1, layers=1)), {})
    config = dataclasses.asdict(CardSetConfig(width=8192, attention_heads=1, layers=64))
    path.write_bytes(altered(path, config=json.dumps(config)))
    code = (
        "import resource, sys; from kibitz.nets import NetError, load_net\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: load_net(sys.argv[1])\n"
        "except NetError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    refusal, kilobytes = done.stdout.splitlines()
    assert "does not fit" in refusal and int(kilobytes) < 100_000


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    with pytest.raises(NetError, match="cannot be read"):
        load_net(tmp_path / name)


def test_only_our_networks_are_saved(tmp_path):
    with pytest.raises(NetError, match=r"a Linear cannot be saved, only .*zones"):
        save_net(tmp_path / "net.safetensors", nn.Linear(2, 2), {})


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(saved, monkeypatch, step):
    """A full disk is noticed while writing, while syncing, or when the name is given."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full(io.FileIO):
        write = full

    before = saved.read_bytes()
    if step == "write":
        monkeypatch.setattr("pathlib.Path.open", lambda path, mode: Full(path, mode))
    else:
        monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        save_net(saved, ZoneNet(SMALL, seed=9), {})
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == [saved.name]
