"""Networks with two perspectives as ONNX files of BandDPER. Needs the extra `onnx`.

The model takes `x_me` and `x_opp` [batch, 16, 6, 6], `escape_me`, `escape_opp` and `forced_pass`
[batch], and gives `value` [batch]. Its tensors are named as in `banddper_weights.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ..nets import NetError, write
from ..nets.dual_view import DualViewNet, Tensors
from ..portable.weights import Facts, facts_json, read_facts
from .banddper_files import exported, tested

try:
    import onnx
    from onnx import helper, numpy_helper
except ImportError as error:
    raise ImportError('ONNX is missing: pip install "kibitz[onnx]"') from error

IR_VERSION, OPSET = 9, 18
PLANES = ("x_me", "x_opp")
SCALARS = ("escape_me", "escape_opp", "forced_pass")
OUTPUT = "value"
CONSTANTS: Tensors = {
    "zero": np.array(0, np.float32),
    "one": np.array(1, np.float32),
}
SECOND_AXIS = "second_axis"


def save_onnx(path: str | Path, net: DualViewNet) -> None:
    """Write the folded network, for batches of any size."""
    facts, tensors = exported(net)
    planes = [_declared(name, "batch", 16, 6, 6) for name in PLANES]
    graph = helper.make_graph(
        _nodes(facts),
        "banddper",
        [*planes, *(_declared(name, "batch") for name in SCALARS)],
        [_declared(OUTPUT, "batch")],
        [
            *(numpy_helper.from_array(array, name) for name, array in tensors.items()),
            *(numpy_helper.from_array(array, name) for name, array in CONSTANTS.items()),
            numpy_helper.from_array(np.array([1], np.int64), SECOND_AXIS),
        ],
    )
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, ir_version=IR_VERSION, opset_imports=[opset])
    helper.set_model_props(model, {"about": json.dumps(facts_json(facts))})
    onnx.checker.check_model(model, full_check=True)
    write(path, model.SerializeToString())


def _declared(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


class Chain:
    """Operators one after the other; `x` is what the last one has written."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        x = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [x], **attributes))
        return x

    def linear(self, name: str, x: str) -> str:
        return self.add("Gemm", x, f"{name}_w", f"{name}_b", transB=1)

    def conv(self, name: str, x: str, reach: int) -> str:
        shape = {"pads": [reach] * 4, "dilations": [reach] * 2}
        return self.add("Relu", self.add("Conv", x, f"{name}_w", f"{name}_b", **shape))

    def clipped(self, x: str) -> str:
        return self.add("Clip", x, *CONSTANTS)


def _nodes(facts: Facts) -> list[onnx.NodeProto]:
    """The network, operator by operator. Both perspectives go through one encoder together."""
    chain = Chain()
    x = chain.conv("enc_conv1", chain.add("Concat", *PLANES, axis=0), 1)
    x = chain.add("Flatten", chain.conv("enc_conv2", x, 2), axis=1)
    x = chain.clipped(chain.linear("enc_proj", x))
    chain.nodes.append(helper.make_node("Split", [x], ["mine", "theirs"], axis=0, num_outputs=2))
    escapes = [chain.add("Unsqueeze", name, SECOND_AXIS) for name in SCALARS[:2]]
    x = chain.add("Concat", "mine", "theirs", *escapes, axis=1)
    for block in range(facts.blocks):
        hidden = chain.linear(f"res{block}_l1", x)
        hidden = chain.add("Relu", hidden) if facts.inner == "relu" else chain.clipped(hidden)
        x = chain.clipped(chain.add("Add", x, chain.linear(f"res{block}_l2", hidden)))
    x = chain.linear("out2", chain.add("Relu", chain.linear("out1", x)))
    x = chain.add("Squeeze", x, SECOND_AXIS)
    x = chain.add("Add", x, chain.add("Mul", SCALARS[2], "w_forced_pass"))
    return [*chain.nodes, helper.make_node("Tanh", [x], [OUTPUT])]


def load_onnx(path: str | Path) -> DualViewNet:
    """The network in a file of `save_onnx`, folded."""
    try:
        model = onnx.load_model(path, load_external_data=False)
        (about,) = (entry.value for entry in model.metadata_props if entry.key == "about")
        contents = json.loads(about)
        assert isinstance(contents, dict)
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception:  # protobuf has many kinds of errors
        raise NetError(f"{path} is not an ONNX file of banddper saved by kibitz") from None
    return tested(path, read_facts(path, contents), _tensors(path, model.graph))


def _tensors(path: str | Path, graph: onnx.GraphProto) -> Tensors:
    tensors = {}
    for entry in graph.initializer:
        if entry.name in CONSTANTS or entry.name == SECOND_AXIS:
            continue
        if entry.data_type != onnx.TensorProto.FLOAT or len(entry.external_data):
            raise NetError(f"{path}: the tensor {entry.name!r} is not in the file as float32")
        try:
            tensors[entry.name] = numpy_helper.to_array(entry)
        except ValueError:
            raise NetError(f"{path}: the tensor {entry.name!r} is misshapen") from None
    return tensors
