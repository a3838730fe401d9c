"""Model folders: what is in them, what their cards say, and that both can be used."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from card_texts import header_of, run_lines
from commands import kibitz, run
from escampe_lines import lively

from kibitz.adapters import model_folder
from kibitz.adapters.exchange import player_text
from kibitz.adapters.model_folder import read_folder, write_folder
from kibitz.games import load
from kibitz.nets import NetError, load_net, save_net
from kibitz.nets.accumulator import AccumulatorConfig, AccumulatorNet
from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.players import player
from kibitz.players.champions import CHAMPIONS

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = DualViewConfig(blocks=1, embedding=6)
RUN = {
    "method": "labelled",
    "recipe": {"game": "escampe", "batch": 256, "labels": {"scale": 750.0}, "data": "0f3a"},
    "game": {},
    "fingerprint": "",
    "seed": 5,
    "start": None,
    "versions": {"torch": "2.11"},
}


@pytest.fixture
def checkpoint(tmp_path):
    """A small network of Escampe in the folder of a run."""
    path = tmp_path / "run" / "player.safetensors"
    path.parent.mkdir()
    about = {"game": load("escampe").describe(), "fingerprint": "x", "recipe": "default"}
    save_net(path, lively(SMALL), about)
    (path.parent / "run.json").write_text(json.dumps(RUN))
    losses = [{"iteration": k, "loss_validation": loss} for k, loss in enumerate((0.5, 0.25, 0.3))]
    rows = "".join(f"{json.dumps(row)}\n" for row in [*losses, {"iteration": 3}])
    (path.parent / "metrics.jsonl").write_text(rows)
    (path.parent / "curves.png").write_bytes(b"a picture")
    (path.parent / "curves.csv").write_text("iteration,loss_validation\n")
    (path.parent / "report.txt").write_text("positions  MSE\nall  0.25\n")
    return path


@pytest.fixture
def folder(checkpoint, tmp_path):
    assert write_folder(checkpoint, tmp_path / "model") == []
    return tmp_path / "model"


# What a folder holds ------------------------------------------------------------------------------


def test_the_folder_of_a_network_with_two_perspectives_has_every_file(folder, checkpoint):
    assert {file.name for file in folder.iterdir()} == {
        *("README.md", "model.safetensors", "banddper.pth", "banddper_weights.json"),
        *("training_curves.png", "training_curves.csv"),
    }
    assert (folder / "model.safetensors").read_bytes() == checkpoint.read_bytes()
    assert (folder / "training_curves.png").read_bytes() == b"a picture"


def test_the_card_says_what_the_network_is_and_how_it_was_trained(folder):
    card = (folder / "README.md").read_text()
    assert header_of(card) == {
        "license": "mit",
        "library_name": "kibitz",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["kibitz", "tabletop-games", "escampe", "dual-view"],
        "datasets": [],
    }
    net, _ = load_net(folder / "model.safetensors")
    count = sum(weights.numel() for weights in net.parameters())
    sizes = re.findall(r"^\| \S+ \| .* \| ([\d,]+) \|$", card, re.MULTILINE)
    assert f"{count:,} parameters" in card
    assert sum(int(size.replace(",", "")) for size in sizes) == count
    for row in ("batch | 256", "labels scale | 750", "seed | 5", "best validation loss | 0.25"):
        assert f"| {row} |" in card
    for part in ("![curves of the run](training_curves.png)", "all  0.25", "| embedding | 6 |"):
        assert part in card
    assert "## Matches" not in card


def test_the_six_lines_of_the_card_load_the_network_and_make_a_move(folder, monkeypatch, capsys):
    card = (folder / "README.md").read_text()
    count, shown = run_lines(card, folder, monkeypatch, capsys)
    assert count == 6
    assert int(shown) in load("escampe").legal(load("escampe").fresh())


@pytest.mark.parametrize("name", ["beasty_bar", "liars_dice", "liars_dice_exploiter"])
def test_a_champion_takes_its_matches_with_it(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnx")
    remarks = write_folder(CHAMPIONS / f"{name}.safetensors", tmp_path)
    beliefs = name == "liars_dice"
    assert bool(remarks) == beliefs == (not (tmp_path / "model.onnx").exists())
    card = (tmp_path / "README.md").read_text()
    results = json.loads((CHAMPIONS / f"{name}.json").read_text())["results"]
    assert card.count(f"| {results[0]['player']} | ") >= 1
    assert f"{results[0]['win_rate']:.6g}" in card and "| player | against |" in card
    assert run_lines(card, tmp_path, monkeypatch, capsys)[1].strip().isdecimal()


def test_without_onnx_the_folder_says_so(tmp_path, monkeypatch):
    def export_net(*_, **__):
        raise ImportError('ONNX is missing: pip install "kibitz[onnx]"')

    monkeypatch.setattr(model_folder, "export_net", export_net)
    (remark,) = write_folder(CHAMPIONS / "beasty_bar.safetensors", tmp_path)
    assert remark == 'There is no model.onnx: ONNX is missing: pip install "kibitz[onnx]"'
    assert "model.onnx" not in (tmp_path / "README.md").read_text()


def test_an_imported_network_is_not_given_a_licence_that_it_may_not_have(checkpoint, tmp_path):
    net, about = load_net(checkpoint)
    save_net(checkpoint, net, {**about, "source": "theirs.pth"})
    write_folder(checkpoint, tmp_path / "one")
    card = (tmp_path / "one" / "README.md").read_text()
    assert header_of(card)["license"] == "unknown" and "imported from `theirs.pth`" in card
    save_net(checkpoint, net, {**about, "source": "theirs.pth", "licence": "CC-BY 4.0"})
    write_folder(checkpoint, tmp_path / "two")
    assert header_of((tmp_path / "two" / "README.md").read_text())["license"] == "cc-by-4.0"


def test_whatever_a_checkpoint_says_the_tables_of_its_card_stay_tables(checkpoint, tmp_path):
    net, about = load_net(checkpoint)
    save_net(checkpoint, net, {**about, "note": "a | b\n---\n| c", "losses": [0.5, None]})
    write_folder(checkpoint, tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| note | a \\| b --- \\| c |" in card


def test_a_folder_is_written_again_without_what_is_old(folder, tmp_path):
    pytest.importorskip("onnx")
    write_folder(CHAMPIONS / "beasty_bar.safetensors", folder)
    assert {file.name for file in folder.iterdir()} == {
        *("README.md", "model.safetensors", "model.onnx"),
    }
    write_folder(folder / "model.safetensors", folder)  # in place
    assert "beasty_bar" in (folder / "README.md").read_text()


def test_a_folder_with_other_things_in_it_is_left_alone(checkpoint, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("mine")
    with pytest.raises(NetError, match="is not empty, and it is not a model folder"):
        write_folder(checkpoint, tmp_path / "mine")
    assert (tmp_path / "mine" / "README.md").read_text() == "mine"
    with pytest.raises(NetError, match="is a file, not a folder"):
        write_folder(checkpoint, checkpoint)


def test_onnx_files_of_integer_networks_take_batches_of_any_size(tmp_path):
    pytest.importorskip("onnx")
    from kibitz.adapters.onnx import load as load_onnx

    game = load("escampe").through("pieces")
    net = AccumulatorNet(AccumulatorConfig())
    save_net(tmp_path / "net.safetensors", net, {"game": game.describe()})
    assert write_folder(tmp_path / "net.safetensors", tmp_path / "model") == []
    views = np.random.default_rng(1).random((5, game.view_size), np.float32)
    logits, values = load_onnx(tmp_path / "model" / "model.onnx")[0](views)
    assert logits.shape == (5, game.num_actions)
    with torch.inference_mode():
        assert np.allclose(values, net.eval()(torch.from_numpy(views))[1], atol=1e-5)


# What is taken back -------------------------------------------------------------------------------


def test_a_folder_is_taken_back_bit_by_bit(folder, checkpoint, tmp_path):
    game = read_folder(folder, tmp_path / "again.safetensors")
    assert game.name == "escampe"
    assert (tmp_path / "again.safetensors").read_bytes() == checkpoint.read_bytes()


@pytest.mark.parametrize("left", ["banddper.pth", "banddper_weights.json"])
def test_a_folder_with_other_formats_alone_is_taken_back(folder, left, tmp_path):
    ours, _ = load_net(folder / "model.safetensors")
    for file in folder.iterdir():
        if file.name != left:
            file.unlink()
    read_folder(folder, tmp_path / "again.safetensors")
    net, about = load_net(tmp_path / "again.safetensors")
    assert about["source"] == left
    views = torch.rand(4, net.config.view_size)
    with torch.inference_mode():
        assert torch.allclose(net.raw(views), ours.raw(views), atol=1e-4)


def test_a_folder_without_a_network_is_refused(tmp_path, checkpoint):
    with pytest.raises(NetError, match=r"holds no network: it has none of model\.safetensors"):
        read_folder(tmp_path, tmp_path / "net.safetensors")
    shutil.copy(checkpoint, tmp_path / "model.safetensors")
    damaged = bytearray((tmp_path / "model.safetensors").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(damaged)
    with pytest.raises(NetError, match="is damaged"):
        read_folder(tmp_path, tmp_path / "net.safetensors")
    assert not (tmp_path / "net.safetensors").exists()


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        (None, "does not say for which game"),
        ({"name": "chess", "options": {}}, "a network of 'chess', a game of somebody's own"),
        ({"name": "escampe", "options": {"colour": 3}}, "there is no option 'colour'"),
    ],
)
def test_a_network_of_no_known_game_is_refused_before_anything_is_written(game, sentence, tmp_path):
    save_net(tmp_path / "net.safetensors", lively(SMALL), {"game": game})
    with pytest.raises(ValueError, match=sentence):
        write_folder(tmp_path / "net.safetensors", tmp_path / "model")
    assert not (tmp_path / "model").exists()


# The commands -------------------------------------------------------------------------------------


def test_the_commands_export_a_folder_and_import_it_again(checkpoint, tmp_path):
    folder, again = tmp_path / "model", tmp_path / "again.safetensors"
    run("export", str(checkpoint), "--folder", str(folder))
    shown = run("import", str(folder), str(again))
    assert f"Play it: kibitz play escampe --against alphabeta:judge={again}\n" in shown
    assert again.read_bytes() == checkpoint.read_bytes()


@pytest.mark.parametrize(
    ("net", "view", "who"),
    [
        (DualViewNet(SMALL), "default", "alphabeta:judge="),
        (DualViewNet(replace(SMALL, policy=True)), "default", "net:"),
        (AccumulatorNet(AccumulatorConfig()), "pieces", "alphabeta:judge="),
    ],
)
def test_a_network_that_prefers_no_action_plays_as_the_judge_of_a_search(net, view, who, tmp_path):
    game = load("escampe").through(view)
    assert player_text(net, game, "net.safetensors") == f"{who}net.safetensors"
    save_net(file := tmp_path / "net.safetensors", net, {"game": game.describe()})
    assert player(player_text(net, load("escampe"), file), load("escampe")).name.startswith(who[:3])


def test_a_network_of_a_game_with_secrets_plays_itself():
    net, _ = load_net(CHAMPIONS / "beasty_bar.safetensors")
    assert player_text(net, load("beasty_bar"), "x") == "net:x"


@pytest.mark.parametrize(
    "words", [[], ["net.onnx", "--folder", "x"], ["--folder", "x", "--batched"]]
)
def test_an_export_needs_a_file_or_a_folder(checkpoint, words):
    done = kibitz("export", str(checkpoint), *words)
    assert done.returncode == 2
    assert "give a file to write, or --folder and nothing else" in done.stderr
