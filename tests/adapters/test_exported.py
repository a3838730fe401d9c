"""Networks that kibitz exports to ONNX come back, sit down, and say what is wrong with them."""

import base64

import numpy as np
import pytest
import torch
from small_games import COIN

from kibitz.adapters.exchange import export_net, import_net
from kibitz.arena.match import match
from kibitz.games import load
from kibitz.nets import NetError, all_kinds, load_net, save_net
from kibitz.nets.exported import is_exported, load_exported
from kibitz.players import player

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

GAMES = {
    "residual": ("kuhn", {}),
    "zones": ("beasty_bar", {"margin_head": True}),
    "card_set": ("dominion", {"margin_head": True, "width": 16, "attention_heads": 2, "layers": 1}),
    "design_v2": ("dominion", {}),
    "dual_view": ("escampe", {"policy": True}),
    "accumulator": ("escampe", {}),
}


def saved(path, kind_name: str = "residual", name=None):
    """An untrained network of a kind, as a checkpoint: many of its weights are equal."""
    default, config = GAMES[kind_name]
    kind, game = all_kinds()[kind_name], load(name or default)
    game = game.through("pieces") if kind_name == "accumulator" else game
    net = kind.net(kind.config(**{**kind.fitted(game), **config}), 5)
    save_net(path, net, {"game": game.describe(), "iterations": 3})
    return game


@pytest.mark.parametrize("kind_name", GAMES)
def test_what_is_exported_comes_back(kind_name, tmp_path):
    one, file, again = (tmp_path / name for name in ("a.safetensors", "a.onnx", "b.safetensors"))
    game = saved(one, kind_name)
    export_net(one, file)
    imported = import_net(file, again)
    assert imported is not None and imported.fingerprint == game.fingerprint
    (before, about), (after, said) = load_net(one), load_net(again)
    assert after.config == before.config and said == {**about, "source": "a.onnx"}
    assert after.state_dict().keys() == before.state_dict().keys()
    for name, weights in before.state_dict().items():
        assert torch.equal(after.state_dict()[name], weights), name


def test_an_exported_network_computes_the_same_without_torch(tmp_path):
    game = saved(tmp_path / "a.safetensors")
    export_net(tmp_path / "a.safetensors", tmp_path / "a.onnx")
    net, _ = load_net(tmp_path / "a.safetensors")
    views = np.random.default_rng(1).random((7, game.view_size), np.float32)
    session = onnxruntime.InferenceSession(str(tmp_path / "a.onnx"))
    for theirs, ours in zip(
        session.run(None, {"views": views}), net(torch.tensor(views)), strict=True
    ):
        assert np.allclose(theirs, ours.detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("more", ["", ",sims=8"])
def test_an_exported_network_sits_down_as_its_checkpoint_does(more, tmp_path):
    game = saved(tmp_path / "a.safetensors")
    export_net(tmp_path / "a.safetensors", tmp_path / "a.onnx")
    import_net(tmp_path / "a.onnx", tmp_path / "b.safetensors")
    scores = [
        match(
            game, player(f"net:{tmp_path}/{file}{more}", game), "random", games=40, seed=2
        ).score()
        for file in ("a.safetensors", "a.onnx", "b.safetensors")
    ]
    assert scores[0] == scores[1] == scores[2]


def test_a_network_of_a_game_from_outside_comes_back(tmp_path):
    game = saved(tmp_path / "a.safetensors", name=COIN)
    export_net(tmp_path / "a.safetensors", tmp_path / "a.onnx")
    assert import_net(tmp_path / "a.onnx", tmp_path / "b.safetensors") is None
    assert player(f"net:{tmp_path}/b.safetensors", game).name == "net:b.safetensors"


def changed(path, **props):
    """The file with other metadata; None removes an entry."""
    model = onnx.load(str(path))
    facts = {entry.key: entry.value for entry in model.metadata_props} | props
    onnx.helper.set_model_props(model, {k: v for k, v in facts.items() if v is not None})
    return model.SerializeToString()


def other_weights(path):
    model = onnx.load(str(path))
    raw = bytearray(model.graph.initializer[0].raw_data)
    raw[2] ^= 1
    model.graph.initializer[0].raw_data = bytes(raw)
    return model.SerializeToString()


def cut_weights(path):
    model = onnx.load(str(path))
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (lambda path: path.read_bytes()[:-9], "complete ONNX file"),
        (lambda path: b"", "kibitz did not save them"),
        (lambda path: changed(path, net="other"), "of the kind 'other'; kibitz knows"),
        (lambda path: changed(path, config="[]"), "'config' is not a JSON object"),
        (lambda path: changed(path, weights=None), "lacks weights"),
        (lambda path: changed(path, weights="%"), "beside its graph cannot be read"),
        (lambda path: changed(path, weights=base64.b64encode(b"x").decode()), "beside its graph"),
        (lambda path: changed(path, about="{}"), "is damaged"),
        (other_weights, "is damaged"),
        (cut_weights, "are not in the file"),
    ],
)
def test_a_damaged_export_is_refused_in_a_sentence(contents, message, tmp_path):
    saved(tmp_path / "a.safetensors")
    file = tmp_path / "a.onnx"
    export_net(tmp_path / "a.safetensors", file)
    file.write_bytes(contents(file))
    with pytest.raises(NetError, match=message) as refusal:
        load_exported(file)
    assert str(file) in str(refusal.value) and "\n" not in str(refusal.value)


def test_options_of_an_exported_network_are_in_its_file(tmp_path):
    saved(tmp_path / "a.safetensors")
    export_net(tmp_path / "a.safetensors", tmp_path / "a.onnx")
    with pytest.raises(NetError, match="leave --option out"):
        import_net(tmp_path / "a.onnx", tmp_path / "b.safetensors", players=3)
    assert is_exported(tmp_path / "a.onnx") and not is_exported(tmp_path / "a.safetensors")
    assert not is_exported(tmp_path / "nothing.onnx")
