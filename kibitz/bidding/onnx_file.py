"""Value networks as ONNX files, read and written without the library of that name.

A file holds one chain: `priv` and `pub` each through a layer, their product, hidden layers, tanh:
`value`. All else is refused. What a file says of itself is believed only where the bytes are there:
nothing is allocated that is larger than the file, and no other file is ever opened.

An ONNX file is a protobuf message: numbered fields, each a whole number, some bytes, or a message
again. The numbers below are those of `onnx.proto`.
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
from torch import nn

from ..nets import NetError, write
from ..nets.bounds import ConfigError
from .bilinear import CompBilinConfig, NetCompBilin

IR_VERSION, OPSET = 7, 9  # as in the published networks
OLDEST_OPSET, NEWEST_OPSET = 7, 28  # between these no operator used here has changed its meaning
FLOAT = 1  # the number of float32 among the types of elements
MOST_BYTES = 1 << 26  # of a file: a hundred times the published networks
MOST_TOLD = 300  # characters of what is wrong with a file
MOST_FIELDS = 256  # of a message, so that no file can fill the memory with empty ones; ours has 40

Floats = np.ndarray[Any, np.dtype[np.float32]]
Fields = dict[int, list[Any]]  # by number: whole numbers and memoryviews, in order
Layer = tuple[Floats, Floats]  # weight [in, out], bias [out]


class Malformed(NetError):
    """What is wrong with a file, before it is known which one."""


# Protobuf -----------------------------------------------------------------------------------------

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5  # kinds of fields


def fields(message: memoryview) -> Fields:
    """The fields of a message. Messages inside stay bytes until somebody looks into them."""
    found: Fields = {}
    at = 0
    for _ in range(MOST_FIELDS):
        if at == len(message):
            return found
        tag, at = varint(message, at)
        number, kind = tag >> 3, tag & 7
        value: Any
        if kind == VARINT:
            value, at = varint(message, at)
        elif kind in (EIGHT_BYTES, BYTES, FOUR_BYTES):
            size = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, 0)
            if kind == BYTES:
                size, at = varint(message, at)
            if size > len(message) - at:
                raise Malformed("it is no ONNX file, or is not all there")
            value, at = message[at : at + size], at + size
        else:
            raise Malformed("it is no ONNX file")
        found.setdefault(number, []).append(value)
    raise Malformed(f"a part of it has more than {MOST_FIELDS} fields")


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """A whole number at a place, seven bits a byte, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise Malformed("it is no ONNX file, or is not all there")
        byte, at = message[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise Malformed("it is no ONNX file")


def messages(parent: Fields, number: int) -> list[Fields]:
    return [fields(part) for part in _of_kind(memoryview, parent, number)]


def message(parent: Fields, number: int) -> Fields:
    """A message that must be there, once."""
    found = messages(parent, number)
    if len(found) != 1:
        raise Malformed("it is no ONNX file")
    return found[0]


def texts(parent: Fields, number: int) -> list[str]:
    try:
        return [str(part, "utf-8") for part in _of_kind(memoryview, parent, number)]
    except UnicodeDecodeError:
        raise Malformed("a name in it is not UTF-8") from None


def text(parent: Fields, number: int) -> str:
    return "".join(texts(parent, number)[-1:])


def numbers(parent: Fields, number: int) -> list[int]:
    """Whole numbers, written one by one or packed together."""
    found: list[int] = []
    for part in parent.get(number, []):
        if isinstance(part, int):
            found.append(part)
            continue
        at = 0
        while at < len(part) and len(found) < MOST_FIELDS:
            value, at = varint(part, at)
            found.append(value)
    return found


def number(parent: Fields, number: int) -> int:
    return int(next(reversed(_of_kind(int, parent, number)), 0))


def _of_kind(kind: type, parent: Fields, number: int) -> list[Any]:
    found = parent.get(number, [])
    if not all(isinstance(part, kind) for part in found):
        raise Malformed("it is no ONNX file")
    return found


# Reading ------------------------------------------------------------------------------------------


def load_onnx(path: str | Path) -> tuple[NetCompBilin, dict[str, Any]]:
    """The network in an ONNX file, and what the file tells of its game, as `Game.describe` does.

    What it does not tell is left out. How many dice each seat has may stand in the file's name, as
    in `model_45_joker.onnx`.
    """
    try:
        contents = _contents(path)
        model = fields(contents)
        net = _net(model)
        net.sha256 = hashlib.sha256(contents).hexdigest()
        return net, _told(model, Path(path).stem, net.config)
    except Malformed as error:
        # Names in a file can be of any length, and can hold codes that terminals obey.
        told = str(error)[: 2 * MOST_TOLD]
        why = " ".join("".join(c if c.isprintable() else " " for c in told).split())[:MOST_TOLD]
        raise NetError(f"{path} cannot be taken in: {why}") from None


def _contents(path: str | Path) -> memoryview:
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            contents = file.read(size) if size <= MOST_BYTES else b""
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    if size > MOST_BYTES:
        raise Malformed(f"it has {size:,} bytes; we read {MOST_BYTES:,} at most")
    return memoryview(contents)


def _net(model: Fields) -> NetCompBilin:
    graph = Graph(message(model, 7))
    opsets = {text(each, 1): number(each, 2) for each in messages(model, 8)}
    opset = opsets.get("", opsets.get("ai.onnx", 0))
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        known = f"{OLDEST_OPSET} to {NEWEST_OPSET}"
        raise Malformed(f"its operators are of version {opset}; we know {known}")
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
    """One operator: what it is and what goes in."""

    operator: str
    inputs: list[str]
    attributes: dict[str, float]


class Graph:
    """The operators and numbers of a file, followed from `value` back to `priv` and `pub`."""

    def __init__(self, graph: Fields) -> None:
        self.followed: set[str] = set()
        self.nodes = {}
        for each in messages(graph, 1):
            if text(each, 7) not in ("", "ai.onnx") or len(texts(each, 2)) != 1:
                raise Malformed(f"there should be no operator {text(each, 7)}.{text(each, 4)}")
            self.nodes[text(each, 2)] = Node(text(each, 4), texts(each, 1), _attributes(each))
        if len(self.nodes) != len(graph.get(1, [])) or 15 in graph:
            raise Malformed("its graph is no plain chain of layers")
        self.tensors = {text(each, 8): each for each in messages(graph, 5)}
        self.inputs = {text(each, 1): each for each in messages(graph, 11)}
        self.outputs = {text(each, 1): each for each in messages(graph, 12)}
        names = sorted(self.inputs.keys() - self.tensors.keys()), sorted(self.outputs)
        if names != (["priv", "pub"], ["value"]):
            raise Malformed(f"it makes {names[1]} of {names[0]}, not 'value' of 'priv' and 'pub'")

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
        met = [self._layer(each) for each in self._inputs(name, "Mul")]
        sides = {source: layer for layer, source in met}
        if sides.keys() != {"priv", "pub"}:
            raise Malformed(f"it multiplies {sorted(sides)}, not 'priv' and 'pub'")
        layers = [sides["priv"], sides["pub"], *layers]
        if left := self.nodes.keys() - self.followed:
            raise Malformed(f"operators beside the chain: {self.nodes[min(left)].operator}")
        widths = [len(layers[0][1]), *(len(bias) for _, bias in layers[2:])]
        fit = [len(weight) for weight, _ in layers[2:]] == widths[:-1]
        if not fit or len(layers[1][1]) != widths[0] or widths[-1] != 1:
            raise Malformed("its layers do not fit together")
        return layers

    def _inputs(self, name: str, operator: str) -> list[str]:
        """What goes into the operator that makes `name`, which must be this one."""
        node = self.nodes.get(name)
        if node is None or node.operator != operator:
            found = node.operator if node else "nothing"
            raise Malformed(f"where {operator} should be there is {found}")
        wanted = {"Tanh": 1, "Relu": 1, "Gemm": 3}.get(operator, 2)
        if len(node.inputs) != wanted or (node.attributes and operator != "Gemm"):
            raise Malformed(f"{operator} is not used as in a chain of layers")
        self._once(name)
        return node.inputs

    def _once(self, name: str) -> None:
        """Whoever comes by twice runs in circles, or makes much of few bytes."""
        if name in self.followed:
            raise Malformed(f"{name!r} is used more than once")
        self.followed.add(name)

    def _layer(self, name: str) -> tuple[Layer, str]:
        """Weight and bias of the layer that makes `name`, and what goes into it."""
        turned = False
        if name in self.nodes and self.nodes[name].operator == "Gemm":
            source, weight, bias = self._inputs(name, "Gemm")
            turned = _turned(self.nodes[name].attributes)
        else:
            first, second = self._inputs(name, "Add")
            bias, product = (second, first) if second in self.tensors else (first, second)
            source, weight = self._inputs(product, "MatMul")
        matrix, row = self._numbers(weight), self._numbers(bias)
        matrix = matrix.T if turned else matrix
        if matrix.ndim != 2 or row.shape not in ((matrix.shape[1],), (1, matrix.shape[1])):
            shapes = f"{list(matrix.shape)} and {list(row.shape)}"
            raise Malformed(f"{shapes} are no weight and bias of a layer")
        return (matrix, row.reshape(-1)), source

    def _numbers(self, name: str) -> Floats:
        """A tensor of the file. Its shape is checked against its bytes before it is made."""
        if name not in self.tensors:
            raise Malformed(f"the numbers {name!r} are not in the file")
        self._once(name)
        tensor = self.tensors[name]
        if 13 in tensor or number(tensor, 14):
            raise Malformed(f"the numbers {name!r} are said to be in another file")
        if number(tensor, 2) != FLOAT or 3 in tensor:
            raise Malformed(f"the numbers {name!r} are not float32")
        shape = numbers(tensor, 1)
        data = _of_kind(memoryview, tensor, 9) or _of_kind(memoryview, tensor, 4)
        size = sum(len(part) for part in data)
        if not 1 <= len(shape) <= 2 or 0 in shape or 4 * math.prod(shape) != size:
            raise Malformed(f"the numbers {name!r} have {size} bytes, which is not {shape} float32")
        array: Floats = np.frombuffer(b"".join(data), "<f4").reshape(shape)
        if not np.isfinite(array).all():
            raise Malformed(f"the numbers {name!r} are not all finite")
        return array

    def check_shapes(self, priv: int, pub: int) -> None:
        """Inputs and output are declared float32 and as wide as the layers, with a batch or not."""
        declared = {**self.inputs, **self.outputs}
        ranks = set()
        for name, width in (("priv", priv), ("pub", pub), ("value", 1)):
            tensor = message(message(declared[name], 2), 1)
            sizes = [number(size, 1) for size in messages(message(tensor, 2), 1)]
            if number(tensor, 1) != FLOAT or len(sizes) not in (1, 2) or sizes[-1] != width:
                raise Malformed(f"{name!r} is declared as {sizes}, not as {width} float32")
            ranks.add(len(sizes))
        if len(ranks) > 1:
            raise Malformed("some of its inputs and outputs have a batch and some have none")


def _attributes(node: Fields) -> dict[str, float]:
    """Numbers that go with an operator; others there are none in a chain of layers."""
    found: dict[str, float] = {}
    for each in messages(node, 5):
        reals = _of_kind(memoryview, each, 2)
        real = float(np.frombuffer(reals[-1], "<f4")[0]) if reals and len(reals[-1]) == 4 else 0.0
        found[text(each, 1)] = real if reals else number(each, 3)
    return found


def _turned(attributes: Mapping[str, float]) -> bool:
    """Whether a Gemm holds its weight as [out, in]. Its factors must do nothing."""
    plain = {"alpha": 1, "beta": 1, "transA": 0, "transB": 0}
    told = {**plain, **attributes}
    turned = told["transB"] == 1
    if {**told, "transB": 0} != plain:
        raise Malformed("Gemm is not used as in a chain of layers")
    return turned


def _told(model: Fields, name: str, config: CompBilinConfig) -> dict[str, Any]:
    """What a file says of its game, in the form of `Game.describe`."""
    told = {text(each, 1): text(each, 2) for each in messages(model, 14)}
    if named := re.match(r"model_(\d)(\d)_", name):
        told = {"d1": named[1], "d2": named[2], **told}
    for key in {"d1", "d2", "sides"} & told.keys():
        if not re.fullmatch(r"\d{1,3}", told[key]):
            raise Malformed(f"it says {key}={told[key]!r}, which is no number of dice or sides")
    options: dict[str, Any] = {}
    if {"d1", "d2"} <= told.keys():
        options["dice"] = (int(told["d1"]), int(told["d2"]))
    if "sides" in told:
        options["sides"] = int(told["sides"])
    if "variant" in told:
        options["variant"] = told["variant"]
    view = [["priv", [config.priv]], ["pub", [config.pub]]]
    named_game = {"name": told["game"]} if "game" in told else {}
    return {**named_game, "options": options, "view": view, "actions": config.actions}


# Writing ------------------------------------------------------------------------------------------


def save_onnx(
    path: str | Path, net: NetCompBilin, game: Mapping[str, Any], *, batched: bool = False
) -> None:
    """Write a network with the game it plays, as `Game.describe` tells that.

    The inputs `priv` and `pub` and the output `value` are single rows, or with `batched` any number
    of rows.
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

    def node(operator: str, *inputs: str, makes: str = "") -> str:
        made = makes or next(names)
        told = [_bytes(1, each) for each in inputs]
        nodes.append(_bytes(1, *told, _bytes(2, made), _bytes(4, operator)))
        return made

    def layer(name: str, part: nn.Module, source: str) -> str:
        assert isinstance(part, nn.Linear)
        weight, bias = part.weight.detach().float().cpu(), part.bias.detach().float().cpu()
        tensors.append(_tensor(f"{name}.weight", weight.T.contiguous().numpy()))
        tensors.append(_tensor(f"{name}.bias", bias.numpy()))
        return node("Add", f"{name}.bias", node("MatMul", source, f"{name}.weight"))

    x = node("Mul", layer("priv", net.priv, "priv"), layer("pub", net.pub, "pub"))
    for i, part in enumerate(net.layers):
        x = layer(f"layers.{i}", part, node("Relu", x))
    node("Tanh", layer("value", net.value, node("Relu", x)), makes="value")
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
    told = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return _varint(field << 3 | BYTES) + _varint(len(told)) + told


def _varint(value: int) -> bytes:
    told = bytearray()
    while value > 127:
        told.append(value & 127 | 128)
        value >>= 7
    return bytes((*told, value))
