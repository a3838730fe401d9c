"""Files of BandDPER: what is written is read back bit by bit, and every fault is named."""

import json
import shutil

import numpy as np
import pytest
import torch
from escampe_lines import lively, random_lines, views_of

from kibitz.adapters import banddper_files, exchange
from kibitz.adapters.banddper_files import file_kind, load_banddper
from kibitz.adapters.exchange import export_net, import_net
from kibitz.nets import NetError, load_net, save_net
from kibitz.nets.dual_view import ENCODINGS, DualViewConfig, DualViewNet, tensors_of
from kibitz.portable import banddper, banddper_numpy
from kibitz.portable.escampe import PortableError, read_position
from kibitz.portable.weights import read_weights

pytestmark = pytest.mark.usefixtures("one_thread")

FOLDED = ("json", "bin", "onnx")
LINES = random_lines(200, seed=9)
VIEWS = torch.from_numpy(views_of(LINES))


@pytest.fixture(scope="module")
def net():
    return lively()


@pytest.fixture(scope="module")
def files(net, tmp_path_factory):
    """One network in a file of every kind, by the ending of its name."""
    folder = tmp_path_factory.mktemp("banddper")
    paths = {}
    for ending in (*FOLDED, "pth"):
        if ending == "onnx":
            pytest.importorskip("onnx")
        paths[ending] = folder / f"banddper_weights.{ending}"
        file_kind(paths[ending]).save(paths[ending], net)
    return paths


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small network in a JSON file, which is read fast."""
    path = tmp_path_factory.mktemp("small") / "weights.json"
    file_kind(path).save(path, lively(DualViewConfig(blocks=2, embedding=6)))
    return path.read_text()


@pytest.fixture
def contents(small):
    return json.loads(small)


# What is written is read --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FOLDED)
def test_a_folded_file_holds_every_weight_exactly(net, files, ending):
    ours, theirs = tensors_of(net), tensors_of(load_banddper(files[ending]))
    assert list(ours) == list(theirs)
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_file_of_torch_holds_the_statistics_of_learning_too(net, files):
    again = load_banddper(files["pth"])
    assert again.config == net.config
    ours, theirs = net.state_dict(), again.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_binary_file_has_the_bytes_of_the_specification(files):
    assert files["bin"].stat().st_size == 2_943_000


@pytest.mark.parametrize(
    "number", [0.0, -0.0, 1e-45, -1.1754944e-38, 3.4028235e38, 1 / 3, 16777217]
)
def test_nine_digits_make_a_float32_exact(number):
    array = np.array(number, np.float32)
    again = np.array(json.loads(banddper_files.nested(array)), np.float32)
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "config",
    [
        DualViewConfig(encoding="banddper-16-reach", embedding=16),
        DualViewConfig(blocks=1, embedding=20, inner="clipped"),
        DualViewConfig(blocks=0, policy=True, dropout=0.2),
    ],
)
@pytest.mark.parametrize("ending", FOLDED)
def test_networks_of_other_configurations_are_read_back(config, ending, tmp_path):
    net = lively(config)
    file_kind(path := tmp_path / f"weights.{ending}").save(path, net)
    again = load_banddper(path)
    views = torch.from_numpy(views_of(LINES[:20], config.encoding))
    assert torch.allclose(again.raw(views), net.raw(views), atol=1e-4)
    if ending == "json":
        for runtime in (banddper, banddper_numpy):
            network = runtime.load(path)
            found = [network.evaluate(line).raw for line in LINES[:3]]
            assert found == pytest.approx(net.raw(views[:3]).tolist(), abs=1e-4)


def test_the_self_test_covers_every_band_both_sides_and_a_forced_pass(files):
    tests = read_weights(files["json"]).facts.selftest
    positions = [read_position(test.position) for test in tests]
    assert len(tests) >= 8
    assert {position.band for position in positions} == {0, 1, 2, 3}
    assert {position.to_move for position in positions} == {0, 1}
    assert views_of([test.position for test in tests])[:, -1].any()


# All runtimes agree -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected(net):
    with torch.inference_mode():
        return net.raw(VIEWS).numpy()


def test_torch_agrees_folded_and_not(net, expected):
    with torch.inference_mode():
        assert np.abs(net.folded().raw(VIEWS).numpy() - expected).max() < 1e-4


@pytest.mark.parametrize(("runtime", "count"), [(banddper, 25), (banddper_numpy, 200)])
def test_a_portable_runtime_agrees(runtime, count, files, expected):
    network = runtime.load(files["json"])
    found = [network.evaluate(line) for line in LINES[:count]]
    assert np.abs(np.array([one.raw for one in found]) - expected[:count]).max() < 1e-4
    assert [one.value for one in found] == pytest.approx(np.tanh([one.raw for one in found]))


@pytest.mark.parametrize("count", [1, 7, 200])
def test_onnx_agrees_in_batches_of_any_size(files, expected, count):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(files["onnx"])
    assert [entry.name for entry in session.get_inputs()] == [
        *("x_me", "x_opp", "escape_me", "escape_opp", "forced_pass")
    ]
    views = VIEWS[:count].numpy()
    planes = views[:, :1152].reshape(-1, 2, 16, 6, 6)
    inputs = {"x_me": planes[:, 0], "x_opp": planes[:, 1]}
    inputs |= {"escape_me": views[:, 1152], "escape_opp": views[:, 1153]}
    (values,) = session.run(["value"], {**inputs, "forced_pass": views[:, 1154]})
    assert np.abs(values - np.tanh(expected[:count])).max() < 1e-4


# Faults -------------------------------------------------------------------------------------------

READERS = [banddper.load, banddper_numpy.load, load_banddper]


def changed(contents, change, folder):
    change(contents)
    path = folder / "changed.json"
    path.write_text(json.dumps(contents))
    return path


def drop_tensor(contents):
    del contents["tensors"]["res1_l2_b"]


def add_tensor(contents):
    contents["tensors"]["res9_l1_w"] = [0.0]


def shorten_row(contents):
    contents["tensors"]["enc_conv2_w"][5][3][1].pop()


def flatten_tensor(contents):
    contents["tensors"]["out1_w"] = contents["tensors"]["out1_w"][0]


def write_text(contents):
    contents["tensors"]["out2_w"][0][3] = "0.5"


def write_nan(contents):
    contents["tensors"]["enc_proj_w"][2][7] = float("nan")


def write_too_large(contents):
    contents["tensors"]["w_forced_pass"] = 1e39


def set_to(name, value):
    def change(contents):
        contents[name] = value

    return change


def fail_raw(contents):
    contents["selftest"][4]["raw"] += 3e-4


def fail_value(contents):
    contents["selftest"][2]["value"] -= 3e-4


def break_position(contents):
    contents["selftest"][3]["position"] = "nnN--- w 2"


def leave_seven(contents):
    del contents["selftest"][7:]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (drop_tensor, "'res1_l2_b' is missing"),
        (add_tensor, "no tensor 'res9_l1_w'"),
        (shorten_row, "'enc_conv2_w' is misshapen"),
        (flatten_tensor, "'out1_w' is misshapen"),
        (write_text, "'out2_w' is misshapen"),
        (write_nan, "'enc_proj_w' has a number that is not finite"),
        (write_too_large, "'w_forced_pass' has a number that is not finite"),
        (set_to("format", 2), "'format' is 2, not 1"),
        (set_to("model", "other"), "'model' is 'other'"),
        (set_to("encoding", "banddper-17"), "'encoding' is 'banddper-17'"),
        (set_to("board_band_map", [[1] * 6] * 6), "'board_band_map'"),
        (set_to("num_res_blocks", 1000), "'num_res_blocks' is 1000"),
        (set_to("embed_dim", "128"), "'embed_dim' is '128'"),
        (set_to("embed_dim", 64), "'enc_proj_w' is misshapen"),
        (set_to("inner_activation", "gelu"), "'inner_activation' is 'gelu'"),
        (set_to("tensors", []), "'tensors' is missing"),
        (set_to("selftest", None), "'selftest' has fewer than 8"),
        (leave_seven, "'selftest' has fewer than 8"),
        (fail_raw, "fails its self-test: 'raw'"),
        (fail_value, "fails its self-test: 'value'"),
        (break_position, "number 4 of 'selftest'"),
    ],
)
def test_a_faulty_weight_file_is_refused_by_part(contents, change, part, tmp_path):
    path = changed(contents, change, tmp_path)
    for reader in READERS:
        with pytest.raises((PortableError, NetError), match=part) as refused:
            reader(path)
        assert len(str(refused.value).splitlines()) == 1


def test_a_file_of_the_other_encoding_is_refused_where_one_is_needed(files):
    for runtime in (banddper, banddper_numpy):
        with pytest.raises(PortableError, match="'encoding' is 'banddper-16-empty', not"):
            runtime.load(files["json"], encoding="banddper-16-reach")


def test_a_changed_weight_fails_the_self_test(contents, tmp_path):
    def change(contents):
        contents["tensors"]["out2_b"][0] += 0.01

    path = changed(contents, change, tmp_path)
    for reader in READERS:
        with pytest.raises((PortableError, NetError), match="fails its self-test"):
            reader(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not complete JSON"),
        ("[1, 2", "not complete JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "nested too deeply|not complete JSON"),
        (b"\xff\xfe\x00", "not a text"),
    ],
)
def test_what_is_not_json_is_refused(text, why, tmp_path):
    path = tmp_path / "weights.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for reader in READERS:
        with pytest.raises((PortableError, NetError), match=why):
            reader(path)


def test_truncated_json_is_refused(small, tmp_path):
    path = tmp_path / "weights.json"
    path.write_text(small[:-4000])
    for reader in READERS:
        with pytest.raises((PortableError, NetError), match="not complete JSON"):
            reader(path)


def test_a_missing_file_is_refused(tmp_path):
    for ending in ("json", "bin", "onnx", "pth"):
        with pytest.raises(NetError, match="cannot be read"):
            load_banddper(tmp_path / f"nothing.{ending}")
    with pytest.raises(NetError, match=r"ends in \.json"):
        load_banddper(tmp_path / "weights.txt")


# Faults of the other kinds ------------------------------------------------------------------------


@pytest.fixture
def binary(files, tmp_path):
    """A copy of the binary file and its header."""
    for path in (files["bin"], banddper_files.header_of(files["bin"])):
        shutil.copy(path, tmp_path)
    return tmp_path / files["bin"].name


def test_a_truncated_binary_file_is_refused(binary):
    binary.write_bytes(binary.read_bytes()[:-4])
    with pytest.raises(NetError, match="has 2,942,996 bytes, not 2,943,000"):
        load_banddper(binary)


def test_a_binary_file_with_numbers_that_are_not_finite_is_refused(binary):
    numbers = np.frombuffer(binary.read_bytes(), "<f4").copy()
    numbers[-1] = np.inf
    binary.write_bytes(numbers.tobytes())
    with pytest.raises(NetError, match="'w_forced_pass' has a number that is not finite"):
        load_banddper(binary)


def test_a_binary_file_with_a_slightly_changed_weight_is_refused(binary):
    numbers = np.frombuffer(binary.read_bytes(), "<f4").copy()
    numbers[-1] += 1e-6
    binary.write_bytes(numbers.tobytes())
    with pytest.raises(NetError, match="'sha256'"):
        load_banddper(binary)


def test_a_header_with_other_tensors_is_refused(binary):
    path = banddper_files.header_of(binary)
    header = json.loads(path.read_text())
    header["tensors"]["out2_w"] = [64, 1]
    path.write_text(json.dumps(header))
    with pytest.raises(NetError, match="'tensors' are not those"):
        load_banddper(binary)


def test_a_faulty_onnx_file_is_refused_by_part(files, tmp_path):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "weights.onnx"

    def refused(why, change):
        model = onnx.load(files["onnx"])
        change(model)
        path.write_bytes(model.SerializeToString())
        with pytest.raises(NetError, match=why):
            load_banddper(path)

    refused("'enc_conv1_w' is missing", lambda model: model.graph.initializer.pop(0))
    refused("not an ONNX file of banddper", lambda model: model.metadata_props.pop())
    array = np.zeros((2, 2), np.float32)
    other = onnx.numpy_helper.from_array(array, "out2_b")
    last = {entry: i for i, entry in enumerate(tensors_of(load_banddper(files["onnx"])))}["out2_b"]
    refused("'out2_b' is misshapen", lambda model: model.graph.initializer[last].CopyFrom(other))
    double = onnx.numpy_helper.from_array(array.astype(np.float64), "out2_b")
    refused("float32", lambda model: model.graph.initializer[last].CopyFrom(double))
    path.write_bytes(files["onnx"].read_bytes()[:-1000])
    with pytest.raises(NetError, match="not an ONNX file"):
        load_banddper(path)


class Pickled:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("the file's code was run",))


def test_a_file_of_torch_runs_no_code(tmp_path):
    path = tmp_path / "banddper.pth"
    torch.save({"format": 1, "model": "banddper", "config": Pickled()}, path)
    with pytest.raises(NetError, match="not a complete file of weights"):
        load_banddper(path)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda c: c.pop("model"), "'format' and 'model'"),
        (lambda c: c.pop("config"), "'config' or 'state_dict' is missing"),
        (lambda c: c["config"].update(blocks=-1), "blocks=-1"),
        (lambda c: c["config"].update(encoding="other"), "encoding='other'"),
        (lambda c: c["config"].update(colour=3), "colour"),
        (lambda c: c["config"].update(blocks=2), "'blocks.2.first.bias' is not part"),
        (lambda c: c["state_dict"].pop("value.bias"), "'value.bias' is missing"),
        (lambda c: c["state_dict"].update({"value.bias": torch.zeros(2)}), "'value.bias' is missh"),
        (lambda c: c["state_dict"].update({"value.bias": "text"}), "'value.bias' is not a tensor"),
        (lambda c: c["state_dict"]["value.bias"].fill_(torch.nan), "'value.bias' has a number"),
    ],
)
def test_a_faulty_file_of_torch_is_refused_by_part(files, change, part, tmp_path):
    contents = torch.load(files["pth"], weights_only=True)
    change(contents)
    torch.save(contents, path := tmp_path / "banddper.pth")
    with pytest.raises(NetError, match=part):
        load_banddper(path)


def test_a_truncated_file_of_torch_is_refused(files, tmp_path):
    path = tmp_path / "banddper.pth"
    path.write_bytes(files["pth"].read_bytes()[:-1000])
    with pytest.raises(NetError, match="not a complete file of weights"):
        load_banddper(path)


# The runtimes -------------------------------------------------------------------------------------


def test_a_position_is_evaluated_once(files, monkeypatch):
    network = banddper_numpy.load(files["json"])
    first = network.evaluate(LINES[0])
    monkeypatch.setattr(network, "raw", lambda: pytest.fail("it was known"))
    assert network.evaluate(LINES[0]) == network.evaluate(read_position(LINES[0])) == first


def test_the_oldest_position_is_forgotten_when_the_cache_is_full(files, monkeypatch):
    monkeypatch.setattr("kibitz.portable.evaluation.CACHED", 3)
    network = banddper_numpy.BandDper(read_weights(files["json"]))
    for line in LINES[:4]:
        network.evaluate(line)
    assert list(network._known) == [read_position(line) for line in LINES[1:4]]


def test_an_untrained_network_can_be_written(tmp_path):
    file_kind(path := tmp_path / "weights.json").save(path, DualViewNet(DualViewConfig()))
    assert banddper_numpy.load(path).evaluate(LINES[0]).raw == pytest.approx(0.0, abs=1.0)


@pytest.mark.parametrize("ending", FOLDED)
def test_a_network_with_numbers_that_are_not_finite_is_not_written(ending, tmp_path):
    net = lively(DualViewConfig(embedding=5))
    with torch.no_grad():
        net.hidden.bias[3] = torch.inf
    with pytest.raises(NetError, match="'out1_b' has numbers that are not finite"):
        file_kind(ending := tmp_path / f"weights.{ending}").save(ending, net)
    assert not list(tmp_path.iterdir())


# The command line's way in and out ----------------------------------------------------------------


class Described:
    """A game as far as a checkpoint describes it."""

    name, viewed = "escampe", "default"

    def through(self, view):
        self.viewed = view
        return self

    def describe(self):
        return {"name": self.name, "viewed": self.viewed, "options": {}}


@pytest.mark.parametrize("ending", [*FOLDED, "pth"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_checkpoint_is_exported_and_imported(ending, encoding, tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "load", lambda name: Described())
    net = lively(DualViewConfig(encoding, embedding=5))
    save_net(checkpoint := tmp_path / "net.safetensors", net, {})
    export_net(checkpoint, file := tmp_path / f"weights.{ending}")
    game = import_net(file, again := tmp_path / "again.safetensors")
    assert game.viewed == ("default" if encoding == ENCODINGS[0] else encoding)
    read, about = load_net(again)
    assert about["game"] == game.describe()
    views = torch.from_numpy(views_of(LINES[:5], encoding))
    assert torch.allclose(read.raw(views), net.raw(views), atol=1e-4)


def test_a_checkpoint_is_not_exported_to_a_file_of_another_kind(tmp_path):
    save_net(checkpoint := tmp_path / "net.safetensors", lively(DualViewConfig(embedding=5)), {})
    with pytest.raises(NetError, match=r"ends in \.json"):
        export_net(checkpoint, tmp_path / "weights.txt")
