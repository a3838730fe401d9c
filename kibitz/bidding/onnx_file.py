"""Value networks as ONNX files, read and written without the onnx library.

A file holds one chain: `priv` and `pub` each through a layer, their product, hidden layers, tanh:
`value`. Everything else is refused. Sizes in a file are checked against its bytes: nothing larger
than the file is allocated, and no other file is opened.

An ONNX file is a protobuf message: numbered fields, each a whole number, a string of bytes, or
another message. The field numbers below are those of `onnx.proto`.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..nets import NetError, write
from ..nets.bounds import ConfigError
from ..nets.protobuf import (
    BYTES,
    VARINT,
    Fields,
    Malformed,
    byte_fields,
    fields,
    message,
    messages,
    number,
    numbers,
    text,
    texts,
)
from .bilinear import CompBilinConfig, NetCompBilin

IR_VERSION, OPSET = 7, 9  # as in the published networks
OLDEST_OPSET, NEWEST_OPSET = 7, 28  # between these no operator used here has changed its meaning
FLOAT = 1  # the number of float32 among the types of elements
MOST_BYTES = 1 << 26  # of a file: a hundred times the published networks
MOST_SHOWN = 300  # characters of an error message

Floats = NDArray[np.float32]
Layer = tuple[Floats, Floats]
"""Weight [in, out] and bias [out]."""
About = dict[str, Any]
"""What a file says about its game, as `Game.describe` does; it may lack entries."""

# Reading ------------------------------------------------------------------------------------------


def load_onnx(path: str | Path) -> tuple[NetCompBilin, About]:
    """The network in an ONNX file, and what the file says about its game.

    The number of dice of each seat may be in the file's name, as in `model_45_joker.onnx`.
    """
    try:
        contents = _contents(path)
        model = fields(contents)
        net = _net(model)
        net.sha256 = hashlib.sha256(contents).hexdigest()
        return net, _about(model, Path(path).stem, net.config)
    except Malformed as error:
        # Names in a file can be of any length, and can hold control codes for terminals.
        shown = str(error)[: 2 * MOST_SHOWN]
        why = " ".join("".join(c if c.isprintable() else " " for c in shown).split())[:MOST_SHOWN]
        raise NetError(f"{path} cannot be imported: {why}") from None


def _contents(path: str | Path) -> memoryview:
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            contents = file.read(size) if size <= MOST_BYTES else b""
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    if size > MOST_BYTES:
        raise Malformed(f"it has {size:,} bytes; kibitz reads at most {MOST_BYTES:,}")
    return memoryview(contents)


def _net(model: Fields) -> NetCompBilin:
    graph = Graph(message(model, 7))
    opsets = {text(opset, 1): number(opset, 2) for opset in messages(model, 8)}
    opset = opsets.get("", opsets.get("ai.onnx", 0))
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        known = f"{OLDEST_OPSET} to {NEWEST_OPSET}"
        raise Malformed(f"its operators are of version {opset}; kibitz knows {known}")
    if 25 in model:
        raise Malformed("it defines operators of its own")
    priv, pub, *layers = graph.chain()
    graph.check_shapes(len(priv[0]), len(pub[0]))
    widths = [len(bias) for _, bias in layers[:-1]]
    try:
        config = CompBilinConfig(len(priv[0]), len(pub[0]), tuple(widths), len(priv[1]))
    except ConfigError as error:
        raise Malformed(str(error)) from None
    net = NetCompBilin(config)
    parts = (net.priv, net.pub, *net.layers, net.value)
    for part, (weight, bias) in zip(parts, (priv, pub, *layers), strict=True):
        assert isinstance(part, nn.Linear)
        part.weight.data = torch.from_numpy(weight.T.copy())
        part.bias.data = torch.from_numpy(bias.copy())
    return net.eval()


@dataclass(frozen=True)
class Node:
    """One operator and its inputs."""

    operator: str
    inputs: list[str]
    attributes: dict[str, float]


class Graph:
    """The operators and numbers of a file, followed from `value` back to `priv` and `pub`."""

    def __init__(self, graph: Fields) -> None:
        self.followed: set[str] = set()
        self.nodes = {}
        for node in messages(graph, 1):
            if text(node, 7) not in ("", "ai.onnx") or len(texts(node, 2)) != 1:
                operator = f"{text(node, 7)}.{text(node, 4)}"
                raise Malformed(f"the operator {operator} does not belong in a chain of layers")
            self.nodes[text(node, 2)] = Node(text(node, 4), texts(node, 1), _attributes(node))
        if len(self.nodes) != len(graph.get(1, [])) or 15 in graph:
            raise Malformed("its graph is not a plain chain of layers")
        self.tensors = {text(tensor, 8): tensor for tensor in messages(graph, 5)}
        self.inputs = {text(declared, 1): declared for declared in messages(graph, 11)}
        self.outputs = {text(declared, 1): declared for declared in messages(graph, 12)}
        inputs, outputs = sorted(self.inputs.keys() - self.tensors.keys()), sorted(self.outputs)
        if (inputs, outputs) != (["priv", "pub"], ["value"]):
            raise Malformed(
                f"it computes {outputs} from {inputs}, not 'value' from 'priv' and 'pub'"
            )

    def chain(self) -> list[Layer]:
        """The layers of `priv`, of `pub`, and those after their product, in order."""
        (name,) = self._inputs("value", "Tanh")
        layers: list[Layer] = []
        while True:
            layer, name = self._layer(name)
            layers.insert(0, layer)
            (name,) = self._inputs(name, "Relu")
            if name in self.nodes and self.nodes[name].operator == "Mul":
                break
        factors = [self._layer(factor) for factor in self._inputs(name, "Mul")]
        sides = {source: layer for layer, source in factors}
        if sides.keys() != {"priv", "pub"}:
            raise Malformed(f"it multiplies {sorted(sides)}, not 'priv' and 'pub'")
        layers = [sides["priv"], sides["pub"], *layers]
        if left := self.nodes.keys() - self.followed:
            raise Malformed(f"it has operators outside the chain: {self.nodes[min(left)].operator}")
        widths = [len(layers[0][1]), *(len(bias) for _, bias in layers[2:])]
        fit = [len(weight) for weight, _ in layers[2:]] == widths[:-1]
        if not fit or len(layers[1][1]) != widths[0] or widths[-1] != 1:
            raise Malformed("its layers do not fit together")
        return layers

    def _inputs(self, name: str, operator: str) -> list[str]:
        """The inputs of the operator that computes `name`, which must be this operator."""
        node = self.nodes.get(name)
        if node is None or node.operator != operator:
            found = node.operator if node else "nothing"
            raise Malformed(f"it has {found} where {operator} should be")
        wanted = {"Tanh": 1, "Relu": 1, "Gemm": 3}.get(operator, 2)
        if len(node.inputs) != wanted or (node.attributes and operator != "Gemm"):
            raise Malformed(f"{operator} is not used as in a chain of layers")
        self._once(name)
        return node.inputs

    def _once(self, name: str) -> None:
        """Reject cycles and reused tensors."""
        if name in self.followed:
            raise Malformed(f"{name!r} is used more than once")
        self.followed.add(name)

    def _layer(self, name: str) -> tuple[Layer, str]:
        """Weight and bias of the layer that computes `name`, and the name of its input."""
        transposed = False
        if name in self.nodes and self.nodes[name].operator == "Gemm":
            source, weight, bias = self._inputs(name, "Gemm")
            transposed = _transposed(self.nodes[name].attributes)
        else:
            first, second = self._inputs(name, "Add")
            bias, product = (second, first) if second in self.tensors else (first, second)
            source, weight = self._inputs(product, "MatMul")
        matrix, row = self._numbers(weight), self._numbers(bias)
        matrix = matrix.T if transposed else matrix
        if matrix.ndim != 2 or row.shape not in ((matrix.shape[1],), (1, matrix.shape[1])):
            shapes = f"{list(matrix.shape)} and {list(row.shape)}"
            raise Malformed(f"{shapes} are not the weight and bias of a layer")
        return (matrix, row.reshape(-1)), source

    def _numbers(self, name: str) -> Floats:
        """A tensor of the file. Its shape is checked against its bytes before it is built."""
        if name not in self.tensors:
            raise Malformed(f"the numbers {name!r} are not in the file")
        self._once(name)
        tensor = self.tensors[name]
        if 13 in tensor or number(tensor, 14):
            raise Malformed(f"the numbers {name!r} are declared to be in another file")
        if number(tensor, 2) != FLOAT or 3 in tensor:
            raise Malformed(f"the numbers {name!r} are not float32")
        shape = numbers(tensor, 1)
        data = byte_fields(tensor, 9) or byte_fields(tensor, 4)
        size = sum(len(part) for part in data)
        if not 1 <= len(shape) <= 2 or 0 in shape or 4 * math.prod(shape) != size:
            raise Malformed(f"the numbers {name!r} have {size} bytes, which is not {shape} float32")
        array: Floats = np.frombuffer(b"".join(data), "<f4").reshape(shape)
        if not np.isfinite(array).all():
            raise Malformed(f"the numbers {name!r} are not all finite")
        return array

    def check_shapes(self, priv: int, pub: int) -> None:
        """See that inputs and output are declared float32 and as wide as the layers.

        Either all of them have a batch dimension, or none has.
        """
        declared = {**self.inputs, **self.outputs}
        ranks = set()
        for name, width in (("priv", priv), ("pub", pub), ("value", 1)):
            tensor = message(message(declared[name], 2), 1)
            sizes = [number(size, 1) for size in messages(message(tensor, 2), 1)]
            if number(tensor, 1) != FLOAT or len(sizes) not in (1, 2) or sizes[-1] != width:
                raise Malformed(f"{name!r} is declared as {sizes}, not as {width} float32")
            ranks.add(len(sizes))
        if len(ranks) > 1:
            raise Malformed("only a part of its inputs and outputs has a batch dimension")


def _attributes(node: Fields) -> dict[str, float]:
    """The numeric attributes of an operator; a chain of layers has no others."""
    found: dict[str, float] = {}
    for attribute in messages(node, 5):
        reals = byte_fields(attribute, 2)
        real = float(np.frombuffer(reals[-1], "<f4")[0]) if reals and len(reals[-1]) == 4 else 0.0
        found[text(attribute, 1)] = real if reals else number(attribute, 3)
    return found


def _transposed(attributes: Mapping[str, float]) -> bool:
    """Whether a Gemm holds its weight as [out, in]. Its factors must be 1."""
    plain = {"alpha": 1, "beta": 1, "transA": 0, "transB": 0}
    settings = {**plain, **attributes}
    transposed = settings["transB"] == 1
    if {**settings, "transB": 0} != plain:
        raise Malformed("Gemm is not used as in a chain of layers")
    return transposed


def _about(model: Fields, name: str, config: CompBilinConfig) -> About:
    """What a file says about its game, in the form of `Game.describe`."""
    facts = {text(entry, 1): text(entry, 2) for entry in messages(model, 14)}
    if named := re.match(r"model_(\d)(\d)_", name):
        facts = {"d1": named[1], "d2": named[2], **facts}
    for key in {"d1", "d2", "sides"} & facts.keys():
        if not re.fullmatch(r"\d{1,3}", facts[key]):
            raise Malformed(f"it says {key}={facts[key]!r}, which is not a number of dice or sides")
    options: About = {}
    if {"d1", "d2"} <= facts.keys():
        options["dice"] = (int(facts["d1"]), int(facts["d2"]))
    if "sides" in facts:
        options["sides"] = int(facts["sides"])
    if "variant" in facts:
        options["variant"] = facts["variant"]
    view = [["priv", [config.priv]], ["pub", [config.pub]]]
    named_game = {"name": facts["game"]} if "game" in facts else {}
    return {**named_game, "options": options, "view": view, "actions": config.actions}


# Writing ------------------------------------------------------------------------------------------


def save_onnx(path: str | Path, net: NetCompBilin, game: About, *, batched: bool = False) -> None:
    """Write a network with a description of its game, as `Game.describe` gives it.

    The inputs `priv` and `pub` and the output `value` are single rows or, with `batched`, any
    number of rows.
    """
    dice = game["options"]["dice"]
    about = {"game": game["name"], "d1": dice[0], "d2": dice[1]}
    about |= {key: game["options"][key] for key in ("sides", "variant")}
    model = [
        _number(1, IR_VERSION),
        _bytes(2, "kibitz"),
        _bytes(7, _graph(net, batched)),
        _bytes(8, _bytes(1, ""), _number(2, OPSET)),
        *(_bytes(14, _bytes(1, key), _bytes(2, str(value))) for key, value in about.items()),
    ]
    write(path, b"".join(model))


def _graph(net: NetCompBilin, batched: bool) -> bytes:
    """The operators in the order of the published files, and the numbers they need."""
    config, names = net.config, (f"x{i}" for i in itertools.count())
    nodes: list[bytes] = []
    tensors: list[bytes] = []

    def node(operator: str, *inputs: str, output: str = "") -> str:
        output = output or next(names)
        sources = [_bytes(1, source) for source in inputs]
        nodes.append(_bytes(1, *sources, _bytes(2, output), _bytes(4, operator)))
        return output

    def layer(name: str, part: nn.Module, source: str) -> str:
        assert isinstance(part, nn.Linear)
        weight, bias = part.weight.detach().float().cpu(), part.bias.detach().float().cpu()
        tensors.append(_tensor(f"{name}.weight", weight.T.contiguous().numpy()))
        tensors.append(_tensor(f"{name}.bias", bias.numpy()))
        return node("Add", f"{name}.bias", node("MatMul", source, f"{name}.weight"))

    x = node("Mul", layer("priv", net.priv, "priv"), layer("pub", net.pub, "pub"))
    for i, part in enumerate(net.layers):
        x = layer(f"layers.{i}", part, node("Relu", x))
    node("Tanh", layer("value", net.value, node("Relu", x)), output="value")
    inputs = (
        _declared(11, "priv", config.priv, batched),
        _declared(11, "pub", config.pub, batched),
    )
    output = _declared(12, "value", 1, batched)
    return b"".join((*nodes, _bytes(2, "value network"), *tensors, *inputs, output))


def _tensor(name: str, array: Floats) -> bytes:
    dims = [_number(1, size) for size in array.shape]
    return _bytes(
        5, *dims, _number(2, FLOAT), _bytes(8, name), _bytes(9, array.astype("<f4").tobytes())
    )


def _declared(field: int, name: str, width: int, batched: bool) -> bytes:
    """An input or output: its name, its type, its shape."""
    sizes = [_bytes(1, _bytes(2, "batch"))] if batched else []
    shape = _bytes(2, *sizes, _bytes(1, _number(1, width)))
    return _bytes(field, _bytes(1, name), _bytes(2, _bytes(1, _number(1, FLOAT), shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | VARINT) + _varint(value)


def _bytes(field: int, *parts: bytes | str) -> bytes:
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return _varint(field << 3 | BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 127:
        content.append(value & 127 | 128)
        value >>= 7
    return bytes((*content, value))
