"""Networks as ONNX files: variations that mean the same, and what is refused."""

import random
import tracemalloc

import numpy as np
import pytest
from onnx_models import (
    SMALL,
    a_model,
    declared,
    layers_of,
    other_node,
    other_tensor,
    same_weights,
)

from kibitz.bidding import onnx_file
from kibitz.bidding.bilinear import (
    CompBilinConfig,
    NetCompBilin,
)
from kibitz.bidding.onnx_file import load_onnx
from kibitz.nets import NetError

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

# Variations that mean the same --------------------------------------------------------------------


def doc_strings(model):
    model.doc_string = model.graph.doc_string = "notes\n" * 900
    for node in model.graph.node:
        node.doc_string, node.name = "File 'train.py', line 3\n" * 50, f"node of {node.op_type}"
    for tensor in model.graph.initializer:
        tensor.doc_string = "weights"


def numbered(model):
    """Every name inside the graph becomes a number, as exporters do."""
    inner = {t.name for t in model.graph.initializer} | {n.output[0] for n in model.graph.node}
    names = {name: str(k) for k, name in enumerate(sorted(inner - {"value"}), 40)}
    for tensor in model.graph.initializer:
        tensor.name = names[tensor.name]
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]


def initializers_as_inputs(model):
    """As files of IR version 3 have them."""
    model.ir_version = 3
    for tensor in model.graph.initializer:
        kind = (tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(helper.make_tensor_value_info(*kind))


def another_domain_beside(model):
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))


def inputs_in_the_other_order(model):
    first, second = model.graph.input
    exchanged = [onnx.ValueInfoProto.FromString(v.SerializeToString()) for v in (second, first)]
    del model.graph.input[:]
    model.graph.input.extend(exchanged)


VARIATIONS = {
    "plain": {},
    "doc_strings": {"change": doc_strings},
    "numbered": {"change": numbered},
    "bias last": {"bias_last": True},
    "pub first": {"pub_first": True},
    "all operands exchanged": {"bias_last": True, "pub_first": True},
    "gemm": {"gemm": 0, "rank": 2},
    "gemm, weights turned": {"gemm": 1, "rank": 2},
    "batch": {"rank": 2},
    "floats in a list": {"floats": "list"},
    "biases of rank 2": {"bias_rank": 2, "rank": 2},
    "initializers as inputs": {"change": initializers_as_inputs},
    "another domain beside": {"change": another_domain_beside},
    "inputs in the other order": {"change": inputs_in_the_other_order},
    **{f"opset {n}": {"opset": n} for n in range(7, onnx.defs.onnx_opset_version() + 1)},
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "net.onnx"


@pytest.mark.parametrize("settings", VARIATIONS.values(), ids=VARIATIONS)
def test_the_same_chain_is_the_same_network(file, settings):
    file.write_bytes(a_model(**settings))
    onnx.checker.check_model(onnx.load(file))
    assert same_weights(load_onnx(file)[0], SMALL)


def test_a_node_need_not_stand_in_order(file):
    """Exporters do keep an order; the graph says it all without."""

    def turned(model):
        nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in model.graph.node]
        del model.graph.node[:]
        model.graph.node.extend(reversed(nodes))

    file.write_bytes(a_model(turned))
    assert same_weights(load_onnx(file)[0], SMALL)


# What is refused ----------------------------------------------------------------------------------


def renamed(old, new):
    def change(model):
        for declaration in (*model.graph.input, *model.graph.output):
            declaration.name = new if declaration.name == old else declaration.name
        for node in model.graph.node:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]

    return change


def dims(name, *sizes):
    def change(model):
        next(t for t in model.graph.initializer if t.name == name).dims[:] = sizes

    return change


def external(model):
    found = model.graph.initializer[0]
    found.ClearField("raw_data")
    found.data_location = TensorProto.EXTERNAL
    found.external_data.add(key="location", value="/etc/passwd")


def without(name):
    def change(model):
        kept = [t for t in model.graph.initializer if t.name != name]
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)

    return change


def more(*nodes):
    return lambda model: model.graph.node.extend(nodes)


def own_function(model):
    function = helper.make_function(
        "", "Relu", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])], []
    )
    model.functions.append(function)


def sparse(model):
    model.graph.sparse_initializer.add()


def circle(model):
    """The first hidden layer gets what comes out of itself."""
    by_output = {n.output[0]: n for n in model.graph.node}
    first = next(n for n in model.graph.node if "W_h0" in n.input)
    by_output[first.input[0]].input[0] = next(
        n.output[0] for n in model.graph.node if first.output[0] in n.input
    )


def not_a_number(model):
    model.metadata_props.add(key="d1", value="four")


SQUARE = NetCompBilin(CompBilinConfig(32, 112, (9, 9), 9))
W, B9 = layers_of(SMALL)["priv"]
GEMM = {"gemm": 0, "rank": 2}
ALPHA = [helper.make_attribute("alpha", 2.0)]
TRANS_A = [helper.make_attribute("transA", 1)]

REFUSED = {
    "input of another name": (
        {"change": renamed("priv", "hand")},
        "computes .*value.* from .*hand",
    ),
    "output of another name": ({"change": renamed("value", "v")}, "not 'value' from 'priv'"),
    "opset 6": ({"opset": 6}, "version 6; kibitz knows 7 to"),
    "opset to come": ({"opset": onnx_file.NEWEST_OPSET + 1}, "kibitz knows 7 to"),
    "another activation": ({"activation": "Sigmoid"}, "it has Sigmoid where Relu should be"),
    "another end": (
        {"change": other_node(-1, op_type="Erf")},
        "it has Erf where Tanh should be",
    ),
    "another domain": (
        {"change": other_node(4, domain="evil")},
        "operator evil.Mul does not belong",
    ),
    "operators of its own": ({"change": own_function}, "operators of its own"),
    "a sum for the product": ({"change": other_node(4, op_type="Sub")}, "it has Sub where"),
    "an operator beside": (
        {"change": more(helper.make_node("Relu", ["priv"], ["aside"]))},
        "outside the chain: Relu",
    ),
    "an operator twice": (
        {"change": more(helper.make_node("Relu", ["priv"], ["value"]))},
        "not a plain chain",
    ),
    "two outputs of one": ({"change": other_node(5, output=["t5", "more"])}, "does not belong"),
    "a hand twice": ({"change": other_node(2, input=["priv", "W_pub"])}, "not 'priv' and 'pub'"),
    "factors": ({**GEMM, "change": other_node(0, attribute=ALPHA)}, "Gemm is not used"),
    "turned input": ({**GEMM, "change": other_node(0, attribute=TRANS_A)}, "Gemm is not used"),
    "Gemm without bias": (
        {**GEMM, "change": other_node(0, input=["priv", "W_priv"])},
        "Gemm is not",
    ),
    "sparse numbers": ({"change": sparse}, "not a plain chain"),
    "missing numbers": ({"change": without("W_h1")}, "'W_h1' are not in the file"),
    "double numbers": ({"change": other_tensor("W_priv", W.astype(np.float64))}, "not float32"),
    "NaN": ({"change": other_tensor("b_priv", B9 * np.float32("nan"))}, "not all finite"),
    "infinity": ({"change": other_tensor("b_priv", B9 + np.float32("inf"))}, "not all finite"),
    "a bias too long": (
        {"change": other_tensor("b_priv", W[0, :8].copy())},
        "are not the weight and bias",
    ),
    "layers apart": ({"change": other_tensor("W_h1", W[:5, :6].copy())}, "do not fit together"),
    "numbers of rank 3": ({"change": other_tensor("W_priv", W[None])}, "is not .* float32"),
    "other numbers than declared": ({"change": dims("W_priv", 32, 10)}, "bytes, which is not"),
    "a giant": ({"change": dims("W_priv", 1 << 40, 1 << 20)}, "bytes, which is not"),
    "a wrapping giant": ({"change": dims("W_priv", 1 << 62, 1 << 62)}, "bytes, which is not"),
    "a negative size": ({"change": dims("W_priv", -32, -9)}, "bytes, which is not"),
    "external data": ({"change": external}, "declared to be in another file"),
    "a wrong declaration": ({"change": declared("pub", [124])}, r"'pub' is declared as \[124\]"),
    "doubles declared": (
        {"change": declared("priv", [32], TensorProto.DOUBLE)},
        "'priv' is declared as",
    ),
    "rank 3": ({"change": declared("priv", [1, 1, 32])}, "'priv' is declared as"),
    "mixed ranks": ({"change": declared("priv", [1, 32])}, "has a batch dimension"),
    "a circle": ({"change": circle}, "used more than once"),
    "a layer used twice": (
        {"net": SQUARE, "change": other_node(9, input=["t8", "W_h0"])},
        "'W_h0' is used more than once",
    ),
    "dice that are no number": ({"change": not_a_number}, "d1='four'"),
}


@pytest.mark.parametrize(("settings", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_without_such_a_chain_is_refused_in_a_sentence(file, settings, message):
    file.write_bytes(a_model(**settings))
    with pytest.raises(NetError, match=message) as refusal:
        load_onnx(file)
    assert str(refusal.value).startswith(f"{file} cannot be imported: ")
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 500


def test_a_name_of_any_length_and_content_makes_a_short_plain_sentence(file):
    file.write_bytes(a_model(other_node(-1, op_type="Long\n\x1b[2J" * 90_000)))
    with pytest.raises(NetError, match=r"it has Long \[2JLong") as refusal:
        load_onnx(file)
    assert len(str(refusal.value)) < 500 and str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "not an ONNX file"),
        (b"\x00", "not a complete ONNX file"),
        (b"PK\x03\x04 not a model at all", "ONNX file"),
        (b"\xff" * 30, "not an ONNX file"),
        (b"\x3a\xff\xff\xff\xff\x7f", "not a complete ONNX file"),
        (b"{'a': 1}" * 40, "ONNX file"),
        (b"\x08\x07" * 5000, "more than 256 fields"),
    ],
)
def test_a_file_in_another_format_is_refused(file, contents, message):
    file.write_bytes(contents)
    with pytest.raises(NetError, match=message):
        load_onnx(file)


def test_a_part_of_a_file_is_never_accepted(file):
    whole = a_model()
    for size in (*range(0, 400), *range(400, len(whole), 41), len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(NetError):
            load_onnx(file)


def test_damage_makes_another_network_or_a_sentence_and_nothing_else(file):
    whole, dice, refused = a_model(), random.Random(8), 0
    for _ in range(600):
        damaged = bytearray(whole)
        for _ in range(dice.choice((1, 1, 2, 30))):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        file.write_bytes(damaged)
        try:
            net, _ = load_onnx(file)
            assert all(p.isfinite().all() for p in net.parameters())
        except NetError:
            refused += 1
    assert refused > 60


def memory_used(work):
    tracemalloc.start()
    try:
        with pytest.raises(NetError):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a giant", "a wrapping giant", "external data", "a circle"])
def test_hostile_files_cost_no_memory(file, name):
    file.write_bytes(a_model(**REFUSED[name][0]))
    assert memory_used(lambda: load_onnx(file)) < 20 * file.stat().st_size + (1 << 20)


@pytest.mark.parametrize(("nodes", "fields"), [(1 << 20, 0), (250, 1 << 12), (250, 250)])
def test_many_empty_parts_cost_no_memory(file, nodes, fields):
    """A graph of nodes that have nothing but inputs without a name."""
    node = b"\x0a\x00" * fields
    graph = (b"\x0a" + onnx_file._varint(len(node)) + node) * nodes
    file.write_bytes(b"\x3a" + onnx_file._varint(len(graph)) + graph)
    assert memory_used(lambda: load_onnx(file)) < 2 * file.stat().st_size + (16 << 20)


def test_a_file_too_large_is_not_read(file):
    with file.open("wb") as sparse_file:
        sparse_file.truncate(1 << 40)
    assert memory_used(lambda: load_onnx(file)) < 1 << 20


@pytest.mark.parametrize("name", ["missing.onnx", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    with pytest.raises(NetError, match="cannot be read"):
        load_onnx(tmp_path / name)
