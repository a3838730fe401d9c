"""ONNX files of small networks for the tests: one chain of layers, and ways to change it."""

import pytest
import torch

from kibitz.bidding.bilinear import (
    CompBilinConfig,
    NetCompBilin,
)

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

SMALL = NetCompBilin(CompBilinConfig(32, 112, (7, 6, 5), 9), seed=5).eval()


def same_weights(one, two):
    pairs = zip(one.state_dict().items(), two.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


def layers_of(net):
    parts = {"priv": net.priv, "pub": net.pub}
    parts |= {f"h{i}": layer for i, layer in enumerate(net.layers)} | {"v": net.value}
    return {
        name: (part.weight.detach().numpy().T.copy(), part.bias.detach().numpy().copy())
        for name, part in parts.items()
    }


def a_model(
    change=lambda model: None,
    *,
    net=SMALL,
    gemm=None,
    bias_last=False,
    pub_first=False,
    opset=9,
    rank=1,
    floats="raw",
    bias_rank=1,
    activation="Relu",
):
    """The chain as somebody else might write it, as bytes; `change` has the last word."""
    nodes, tensors = [], []

    def other_node(operator, *inputs, **attributes):
        nodes.append(helper.make_node(operator, inputs, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def keep(name, array):
        array = array.reshape((1,) * (bias_rank - array.ndim) + array.shape)
        tensor = numpy_helper.from_array(array, name)
        if floats == "list":
            tensor = helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.reshape(-1))
        tensors.append(tensor)

    def layer(name, source):
        weight, bias = layers_of(net)[name]
        keep(f"W_{name}", weight.T.copy() if gemm == 1 else weight)
        keep(f"b_{name}", bias)
        if gemm is not None:
            turned = {"transB": 1} if gemm else {}
            return other_node("Gemm", source, f"W_{name}", f"b_{name}", **turned)
        operands = [f"b_{name}", other_node("MatMul", source, f"W_{name}")]
        return other_node("Add", *(operands[::-1] if bias_last else operands))

    sides = [layer("priv", "priv"), layer("pub", "pub")]
    x = other_node("Mul", *(sides[::-1] if pub_first else sides))
    for i in range(len(net.layers)):
        x = layer(f"h{i}", other_node(activation, x))
    other_node("Tanh", layer("v", other_node(activation, x)))
    nodes[-1].output[0] = "value"
    batch = [None] * (rank - 1)
    declared = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [*batch, size])
        for name, size in (("priv", net.config.priv), ("pub", net.config.pub), ("value", 1))
    ]
    graph = helper.make_graph(nodes, "somebody", declared[:2], declared[2:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    change(model)
    return model.SerializeToString()


def other_node(k, **changes):
    def change(model):
        for name, value in changes.items():
            field = getattr(model.graph.node[k], name)
            if isinstance(field, str):
                setattr(model.graph.node[k], name, value)
            else:
                del field[:]
                field.extend(value)

    return change


def declared(name, shape, kind=TensorProto.FLOAT):
    def change(model):
        for declaration in (*model.graph.input, *model.graph.output):
            if declaration.name == name:
                declaration.CopyFrom(helper.make_tensor_value_info(name, kind, shape))

    return change


def other_tensor(name, array):
    def change(model):
        found = next(t for t in model.graph.initializer if t.name == name)
        found.CopyFrom(numpy_helper.from_array(array, name))

    return change


def other_game(model):
    model.metadata_props.add(key="game", value="kuhn")
