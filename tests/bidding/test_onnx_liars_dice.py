"""Liar's Dice networks as ONNX files: the published ones, ours, and which game they are for."""

import collections
import itertools
import json
import math
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from onnx_models import SMALL, a_model, other_game, same_weights

from kibitz import games
from kibitz.adapters.exchange import export_net, import_net
from kibitz.arena.match import match
from kibitz.bidding.beliefs import BeliefConfig, BeliefNet
from kibitz.bidding.bilinear import (
    ChildValues,
    CompBilinConfig,
    ConcatConfig,
    HandPolicyConfig,
    HandPolicyNet,
    HandValueNet,
    NetCompBilin,
    NetConcat,
)
from kibitz.bidding.onnx_file import load_onnx, save_onnx
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import liars_dice
from kibitz.nets import NetError, load_net, save_net
from kibitz.players import PlayerError, Sight, player

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto  # noqa: E402

GAME = games.load("liars_dice", opening_call=True)  # the action set of the published networks
A, B = (2, 2, 3, 5, 6), (1, 3, 4, 4, 6)
PUBLISHED = ("11", "12", "21", "22", "33", "44", "45", "51", "54", "55")
each_published = pytest.mark.parametrize("dice", PUBLISHED)


@pytest.fixture(scope="session")
def folder(models):
    return models / "liars_dice"


@pytest.fixture(scope="session")
def players(folder):
    """By the dice in a file's name: its game and the player that samples from it."""
    found = {}
    for dice in PUBLISHED:
        game = GAME.bind(dice=tuple(map(int, dice)))
        path = folder / f"model_{dice}_joker.onnx"
        found[dice] = game, player(f"net:{path},mode=sample", game)
    return found


def value(game, seated, hands, history, seat):
    view = game.look(liars_dice.position(game, hands, history), seat)
    return float(values_of(seated, view[None])[0])


def values_of(seated, views):
    """The values that a player's network gives to views."""
    return seated._judge.values.values(views)


def policy(game, seated, hands, history):
    """By action: its probability for the seat to move."""
    s = liars_dice.position(game, hands, history)
    sight = Sight(game, [s], [game.turn(s)], streams(1, "player", 1))
    judgement = seated.judge(sight)
    values, odds = judgement.values[0], judgement.policy[0]
    answers = {a: (values[i], odds[i]) for i, a in enumerate(game.legal(s))}
    assert not odds[len(answers) :].any()
    return answers


# What the published networks say ------------------------------------------------------------------


@pytest.mark.oracle("liars_dice", "cases")
def test_values_and_probabilities_are_those_of_the_oracle(oracle_case, players):
    case = oracle_case
    game, seated = players[f"{case['d1']}{case['d2']}"]
    assert case["model"] in seated.name
    hands = [(1,) * case["d1"], (1,) * case["d2"]]
    hands[case["perspective"]] = case["roll"]
    found_value = value(game, seated, hands, case["history"], case["perspective"])
    assert found_value == pytest.approx(case["value"], abs=1e-5)
    if "policy" in case:
        first, children = case["policy"]["first_action"], case["policy"]["child_values"]
        found = policy(game, seated, hands, case["history"])
        assert list(found) == list(range(first, first + len(children)))
        worths, odds = zip(*found.values(), strict=True)
        assert worths == pytest.approx(children, abs=1e-5)
        assert odds == pytest.approx(case["policy"]["probs"], abs=1e-4)


@pytest.mark.parametrize(
    ("history", "of_seat_0", "of_seat_1"),
    [
        ([], -0.0319252, -0.0532729),
        ([17], 0.0931878, -0.1804520),
        ([17, 22], -0.1069920, -0.0913389),
        ([17, 22, 60], 0.2008405, -0.9646197),
    ],
)
def test_the_worked_example_has_its_values(players, history, of_seat_0, of_seat_1):
    game, seated = players["55"]
    values = [value(game, seated, [A, B], history, seat) for seat in range(2)]
    assert values == pytest.approx([of_seat_0, of_seat_1], abs=1e-5)


def test_the_example_with_uneven_dice_has_its_value(players):
    game, seated = players["45"]
    found = value(game, seated, [(1, 1, 4, 6), (1,) * 5], [3, 16], 0)
    assert found == pytest.approx(0.0120481, abs=1e-5)


def test_the_three_likeliest_actions_are_those_of_the_specification(players):
    found = policy(*players["55"], [A, B], [17])
    best = sorted(found, key=lambda a: -found[a][1])[:3]
    assert best == [21, 23, 27]
    assert [found[a][1] for a in best] == pytest.approx([0.2800, 0.1667, 0.1570], abs=1e-4)


def all_hands(dice):
    """Every hand and how many rolls show it."""
    for hand in itertools.combinations_with_replacement(range(1, 7), dice):
        repeats = collections.Counter(hand).values()
        yield hand, math.factorial(dice) // math.prod(map(math.factorial, repeats))


@pytest.mark.parametrize(
    ("dice", "means"),
    {
        "55": (-0.03819, 0.02872),
        "11": (-0.04092, 0.04032),
        "12": (-0.18147, 0.18078),
        "21": (0.10701, -0.10394),
        "22": (-0.03341, 0.03233),
        "33": (-0.03849, 0.03605),
        "44": (-0.03221, 0.03142),
        "45": (-0.05829, 0.05888),
        "54": (-0.00141, 0.00139),
        "51": (0.22357, -0.22085),
    }.items(),
)
def test_start_values_are_those_of_the_specification(players, dice, means):
    game, seated = players[dice]
    for seat, mean in enumerate(means):
        views, rolls = [], []
        for hand, count in all_hands(int(dice[seat])):
            hands = [(1,) * int(n) for n in dice]
            hands[seat] = hand
            views.append(game.look(liars_dice.position(game, hands), seat))
            rolls.append(count)
        average = np.average(values_of(seated, np.stack(views)), weights=rolls)
        assert sum(rolls) == 6 ** int(dice[seat])
        assert average == pytest.approx(mean, abs=1e-5)


def test_nobody_opens_with_the_call(players):
    game, seated = players["55"]
    odds = [policy(game, seated, [hand, B], [])[60][1] for hand, _ in all_hands(5)]
    assert len(odds) == 252 and not any(odds)


# There and back -----------------------------------------------------------------------------------


def runtime(path, view, priv, batched):
    """What onnxruntime says of views."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if batched:
        return session.run(["value"], {"priv": view[:, :priv], "pub": view[:, priv:]})[0][:, 0]
    return [session.run(["value"], {"priv": v[:priv], "pub": v[priv:]})[0][0] for v in view]


def views_of(game, count=40):
    """Views of both seats, in all stages of a round."""
    dice, found = random.Random(3), []
    for k in range(count):
        s = liars_dice.position(
            game, [[dice.randint(1, 6) for _ in range(n)] for n in game.options.dice]
        )
        for _ in range(k % 5):
            if game.turn(s) >= 0:
                game.play(s, dice.choice(game.legal(s)[:12]))
        found.append(game.look(s, k % 2))
    return np.stack(found)


@pytest.mark.parametrize("batched", [False, True])
@each_published
def test_published_networks_go_in_and_out_unchanged(folder, players, tmp_path, dice, batched):
    original, game = folder / f"model_{dice}_joker.onnx", players[dice][0]
    checkpoint, again = tmp_path / "net.safetensors", tmp_path / "again.onnx"
    assert import_net(original, checkpoint).options.dice == tuple(map(int, dice))
    export_net(checkpoint, again, batched=batched)
    net, about = load_onnx(again)
    assert same_weights(load_onnx(original)[0], net)
    assert same_weights(load_net(checkpoint)[0], net)
    assert about["name"] == "liars_dice"
    assert about["options"] == {"dice": game.options.dice, "sides": 6, "variant": "joker"}
    views = views_of(game)
    ours = ChildValues(net).values(views)
    assert ours == pytest.approx(runtime(original, views, net.config.priv, False), abs=1e-5)
    assert ours == pytest.approx(runtime(again, views, net.config.priv, batched), abs=1e-5)


@each_published
def test_our_files_have_the_nodes_of_the_published_ones(folder, players, tmp_path, dice):
    original = onnx.load(folder / f"model_{dice}_joker.onnx")
    net, _ = load_onnx(folder / f"model_{dice}_joker.onnx")
    save_onnx(tmp_path / "net.onnx", net, players[dice][0].describe())
    ours = onnx.load(tmp_path / "net.onnx")
    assert wiring(ours.graph) == wiring(original.graph)
    assert [shape_of(v) for v in (*ours.graph.input, *ours.graph.output)] == [
        shape_of(v) for v in (*original.graph.input, *original.graph.output)
    ]


def wiring(graph):
    """The operators in order, with what goes in by where it comes from or by its shape."""
    by_output = {node.output[0]: i for i, node in enumerate(graph.node)}
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    return [
        (node.op_type, [by_output.get(name, shapes.get(name, name)) for name in node.input])
        for node in graph.node
    ]


def shape_of(declared):
    kind = declared.type.tensor_type
    return declared.name, kind.elem_type, [d.dim_param or d.dim_value for d in kind.shape.dim]


UNEVEN = games.load("liars_dice", dice=(4, 5))


@pytest.mark.parametrize("batched", [False, True])
def test_our_files_keep_the_contract(tmp_path, batched):
    save_onnx(path := tmp_path / "net.onnx", SMALL, UNEVEN.describe(), batched=batched)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 7
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 9)]
    operators = ["MatMul", "Add", "MatMul", "Add", "Mul", "Relu"]
    operators += ["MatMul", "Add", "Relu"] * 3 + ["MatMul", "Add", "Tanh"]
    assert [node.op_type for node in model.graph.node] == operators
    assert {p.key: p.value for p in model.metadata_props} == {
        "game": "liars_dice", "d1": "4", "d2": "5", "sides": "6", "variant": "joker"
    }  # fmt: skip
    batch = ["batch"] if batched else []
    assert [shape_of(v) for v in (*model.graph.input, *model.graph.output)] == [
        (name, TensorProto.FLOAT, [*batch, size])
        for name, size in (("priv", 32), ("pub", 112), ("value", 1))
    ]
    assert same_weights(load_onnx(path)[0], SMALL)
    views = views_of(UNEVEN)
    values = ChildValues(SMALL).values(views)
    assert values == pytest.approx(runtime(path, views, 32, batched), abs=1e-5)


# Which game a file is for -------------------------------------------------------------------------


def net_for(priv, pub):
    return NetCompBilin(CompBilinConfig(priv, pub, (4,), 5))


@pytest.mark.parametrize(
    ("name", "sizes", "options", "dice"),
    [
        ("net", (32, 124), {}, (5, 5)),
        ("net", (8, 28), {}, (1, 1)),
        ("model_45_joker", (32, 112), {}, (4, 5)),
        ("model_54_joker", (32, 112), {}, (5, 4)),
        ("net", (32, 112), {"dice": "5,4"}, (5, 4)),
        ("net", (32, 112), {"dice": (4, 5)}, (4, 5)),
        ("net", (8, 28), {"sides": "3", "variant": "high"}, (2, 2)),
        ("net", (8, 52), {"sides": "3", "variant": "stairs"}, (2, 2)),
    ],
)
def test_the_game_follows_from_shapes_and_name(tmp_path, name, sizes, options, dice):
    file, out = tmp_path / f"{name}.onnx", tmp_path / "net.safetensors"
    file.write_bytes(a_model(net=net_for(*sizes)))
    game = import_net(file, out, **options)
    assert game.options.dice == dice
    assert load_net(out)[1] == {
        "game": json.loads(json.dumps(game.describe())),
        "source": file.name,
    }
    assert player(f"net:{out}", game).name == "net:net.safetensors"


@pytest.mark.parametrize(
    ("name", "sizes", "options", "message"),
    [
        ("net", (32, 112), {}, "which seat opens: add --option dice=4,5 or dice=5,4"),
        ("net", (33, 124), {}, "priv 33 and pub 124, which liars_dice does not have with any dice"),
        ("net", (32, 122), {}, "does not have"),
        ("net", (32, 124), {"dice": "4,5"}, "does not have with dice=4,5"),
        ("model_45_joker", (32, 112), {"dice": "5,4"}, r"is for dice \(4, 5\), not for \(5, 4\)"),
        ("model_44_joker", (32, 112), {}, "does not have with dice"),
        ("net", (32, 124), {"sides": "4"}, "does not have with sides=4"),
        ("net", (32, 124), {"faces": "6"}, "there is no option 'faces'"),
    ],
)
def test_a_file_for_an_unknown_game_is_refused(tmp_path, name, sizes, options, message):
    file = tmp_path / f"{name}.onnx"
    file.write_bytes(a_model(net=net_for(*sizes)))
    with pytest.raises(GameError, match=message):
        import_net(file, tmp_path / "net.safetensors", **options)
    assert not (tmp_path / "net.safetensors").exists()


def test_what_a_file_says_of_itself_goes_before_its_name(tmp_path):
    save_onnx(file := tmp_path / "model_54_joker.onnx", SMALL, UNEVEN.describe())
    assert import_net(file, tmp_path / "net.safetensors").options.dice == (4, 5)


def test_a_network_of_another_game_is_refused(tmp_path, file):
    file.write_bytes(a_model(other_game))
    with pytest.raises(NetError, match="a network of kuhn, not of liars_dice"):
        import_net(file, tmp_path / "net.safetensors", dice="4,5")
    with pytest.raises(PlayerError, match="trained for name kuhn, not liars_dice"):
        player(f"net:{file}", UNEVEN)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("model_45_joker", {"dice": (5, 4)}, r"trained for dice \(4, 5\), not \(5, 4\)"),
        ("net", {"dice": (5, 5)}, "trained for view"),
        ("net", {"dice": (4, 4)}, "trained for view"),
    ],
)
def test_a_file_for_another_table_does_not_sit_down(tmp_path, name, options, message):
    (tmp_path / f"{name}.onnx").write_bytes(a_model())
    with pytest.raises(PlayerError, match=message):
        player(f"net:{tmp_path}/{name}.onnx", games.load("liars_dice", **options))


def test_only_what_has_a_form_is_handed_out(tmp_path):
    out = tmp_path / "net.onnx"
    save_net(
        one := tmp_path / "one", NetConcat(ConcatConfig(hidden=(3,))), {"game": GAME.describe()}
    )
    with pytest.raises(NetError, match="NetConcat; only NetCompBilin can be exported"):
        export_net(one, out)
    save_net(two := tmp_path / "two", SMALL, {})
    with pytest.raises(NetError, match="does not say for which options of liars_dice"):
        export_net(two, out)
    save_net(three := tmp_path / "three", BeliefNet(BeliefConfig((6,), 13, width=4)), {})
    with pytest.raises(NetError, match="holds a network of beliefs, which cannot be exported"):
        export_net(three, out)
    assert not out.exists()


@pytest.mark.parametrize("net_type", [HandPolicyNet, HandValueNet])
def test_policy_networks_are_exported(net_type, tmp_path):
    from kibitz.adapters.onnx import load as loaded

    net = net_type(HandPolicyConfig(priv=8, pub=28, interaction=8, hidden=(8,)), 1)
    save_net(file := tmp_path / "net", net, {"note": 1})
    export_net(file, out := tmp_path / "net.onnx")
    model, about = loaded(out)
    assert about == {"note": 1}
    views = np.random.default_rng(1).integers(0, 2, (5, 36)).astype(np.float32)
    for ours, theirs in zip(net(torch.from_numpy(views)), model(views), strict=True):
        assert np.abs(ours.detach().numpy() - theirs).max() < 1e-4


# The command line, and matches --------------------------------------------------------------------


def kibitz(*words):
    command = [sys.executable, "-m", "kibitz", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_line_imports_and_exports(tmp_path):
    (tmp_path / "net.onnx").write_bytes(a_model())
    files = tmp_path / "net.onnx", tmp_path / "net.safetensors", tmp_path / "again.onnx"
    asked = kibitz("import", *files[:2])
    assert asked.returncode == 2 and "add --option dice=4,5 or dice=5,4" in asked.stderr
    done = kibitz("import", *files[:2], "--option", "dice=4,5")
    assert done.returncode == 0 and f"--against net:{files[1]} -o dice=4,5" in done.stdout
    assert kibitz("export", *files[1:], "--batched").returncode == 0
    assert same_weights(load_onnx(files[2])[0], SMALL)
    assert shape_of(onnx.load(files[2]).graph.output[0]) == ("value", 1, ["batch", 1])


@pytest.mark.parametrize("command", ["import", "export"])
def test_the_commands_have_help_with_an_example(command):
    shown = " ".join(kibitz(command, "--help").stdout.split())
    assert re.search(f"Examples?: kibitz {command} ", shown)


def test_an_onnx_file_plays_as_its_checkpoint_does(folder, tmp_path):
    shutil.copy(folder / "model_22_joker.onnx", file := tmp_path / "net.onnx")
    import_net(file, tmp_path / "net.safetensors")
    game = games.load("liars_dice", dice=(2, 2))
    rates = [
        match(game, f"net:{tmp_path}/net.{kind},mode=sample", "honest", games=200, seed=0).win_rate
        for kind in ("onnx", "safetensors")
    ]
    assert rates[0] == rates[1]


REFERENCE_ERROR = 0.011 / 1.96  # of 8,000 games


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "two", "rate"),
    [
        ("sample", "honest", 0.462),
        ("sample", "threshold", 0.562),
        ("sample", "argmax", 0.429),
        ("sample", "random", 0.972),
        ("argmax", "honest", 0.592),
        ("argmax", "threshold", 0.685),
    ],
)
def test_win_rates_are_those_of_the_specification(folder, one, two, rate):
    path = folder / "model_55_joker.onnx"
    names = [f"net:{path},mode={p}" if p in ("sample", "argmax") else p for p in (one, two)]
    result = match(games.load("liars_dice"), *names, games=8000, seed=1)
    assert result.agrees(rate, REFERENCE_ERROR), result.win_rate


@pytest.fixture
def file(tmp_path):
    return tmp_path / "net.onnx"
