"""Networks as files: what is saved comes back, and what is not ours is refused."""

import dataclasses
import errno
import io
import json
import os
import pickle

import pytest
import safetensors.torch
import torch
from test_zones import lively
from torch import nn

from kibitz import nets
from kibitz.nets import NetError, load_net, save_net
from kibitz.nets.zones import ZoneConfig, ZoneNet

SMALL = ZoneConfig(width=16, attention_heads=2, embedding=8, zone_positions=False)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_saved_network_comes_back_bit_by_bit(kind, tmp_path):
    net = lively(ZoneNet(SMALL)).to(kind)
    about = {"game": "beasty_bar", "steps": 7, "rates": [0.1, None]}
    save_net(tmp_path / "net.safetensors", net, about)
    again, told = load_net(tmp_path / "net.safetensors")
    assert told == about and again.config == SMALL and not again.training
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


def altered(path, **told):
    """The same weights with something else written about them, as a careful forger would."""
    facts, tensors = nets.read(path)
    facts |= told
    facts["sha256"] = nets.digest({k: v for k, v in facts.items() if k != "sha256"}, tensors)
    return safetensors.torch.save(tensors, facts)


def one_bit_wrong(path):
    contents = bytearray(path.read_bytes())
    contents[-1000] ^= 1
    return bytes(contents)


UNFIT = json.dumps(dataclasses.asdict(dataclasses.replace(SMALL, width=32)))


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        (lambda path: path.read_bytes()[:-1], "not all there"),
        (lambda path: path.read_bytes()[:500], "not all there"),
        (lambda path: b"", "no safetensors file"),
        (lambda path: b"once upon a time" * 99, "no safetensors file"),
        (lambda path: pickle.dumps({"weights": [1.0] * 99}), "no safetensors file"),
        (lambda path: pickled(ZoneNet(SMALL)), "no safetensors file"),
        (one_bit_wrong, "is damaged"),
        (lambda path: safetensors.torch.save({"a": torch.zeros(2)}), "kibitz did not save them"),
        (lambda path: altered(path, format="kibitz net 9"), "kibitz did not save them"),
        (lambda path: altered(path, net="trilinear"), "'trilinear'; we know"),
        (lambda path: altered(path, config='{"depth": 3}'), "does not fit.*'depth'"),
        (lambda path: altered(path, config=UNFIT), "does not fit.*size mismatch"),
        (lambda path: altered(path, config="[7"), "does not fit"),
        (lambda path: altered(path, about="{"), "does not fit"),
    ],
)
def test_a_file_that_is_not_ours_or_not_whole_is_refused_in_a_sentence(saved, contents, told):
    saved.write_bytes(contents(saved))
    with pytest.raises(NetError, match=told) as refusal:
        load_net(saved)
    assert str(saved) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    with pytest.raises(NetError, match="cannot be read"):
        load_net(tmp_path / name)


def test_only_our_networks_are_saved(tmp_path):
    with pytest.raises(NetError, match="a Linear cannot be saved, only zones"):
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
