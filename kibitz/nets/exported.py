"""Networks in ONNX files that kibitz has written: read again without the onnx library.

Such a file is a graph for other runtimes, and holds what a checkpoint does: its metadata is that of
`save_net`, its tensors have the names of the weights. Weights that the graph does not need, or that
equal others, are in the entry `weights` of the metadata, as safetensors in base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from . import About, Net, NetError, TensorInfo, net_of
from .protobuf import (
    Fields,
    Malformed,
    byte_fields,
    fields,
    messages,
    number,
    numbers,
    text,
)

FLOAT = 1  # the number of float32 among the types of elements
MOST_PARTS = 1 << 16  # operators and tensors of a graph
MOST_BYTES = 1 << 30  # of a file


def is_exported(path: str | Path) -> bool:
    """Whether a file is an ONNX file that says which kind of network it holds."""
    try:
        return "net" in _metadata(_model(path))
    except (OSError, NetError):
        return False


def load_exported(path: str | Path) -> tuple[Net, About]:
    """The network in an ONNX file that kibitz has exported, and its `about`."""
    try:
        model = _model(path)
        metadata, weights = _metadata(model), _tensors(model)
        weights |= _more(metadata.pop("weights", ""))
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    except Malformed as error:
        raise NetError(f"{path} cannot be imported: {error}") from None
    header = {name: TensorInfo("F32", [*tensor.shape]) for name, tensor in weights.items()}
    return net_of(path, metadata, header, lambda: weights)


def beside_the_graph(weights: Mapping[str, Tensor], in_graph: set[str]) -> str:
    """The entry of the metadata for weights that are not tensors of the graph."""
    more = {name: tensor for name, tensor in weights.items() if name not in in_graph}
    return base64.b64encode(safetensors.torch.save(more)).decode() if more else ""


def _model(path: str | Path) -> Fields:
    with Path(path).open("rb") as file:
        contents = file.read(MOST_BYTES + 1)
    if len(contents) > MOST_BYTES:
        raise Malformed(f"it has more than {MOST_BYTES:,} bytes")
    return fields(memoryview(contents))


def _metadata(model: Fields) -> dict[str, str]:
    return {text(entry, 1): text(entry, 2) for entry in messages(model, 14)}


def _tensors(model: Fields) -> dict[str, Tensor]:
    """The float32 tensors of the graph, by name."""
    (graph,) = byte_fields(model, 7)[:1] or [memoryview(b"")]
    stored = [fields(part) for part in byte_fields(fields(graph, MOST_PARTS), 5)]
    return {text(part, 8): _tensor(part) for part in stored if number(part, 2) == FLOAT}


def _tensor(stored: Fields) -> Tensor:
    """Its shape is checked against its bytes before it is built."""
    shape, contents = numbers(stored, 1), b"".join(byte_fields(stored, 9))
    size = 4
    for length in shape:
        size *= length
    if 13 in stored or len(contents) != size:
        raise Malformed(f"the weights {text(stored, 8)!r} are not in the file")
    return torch.from_numpy(np.frombuffer(contents, "<f4").reshape(shape).copy())


def _more(entry: str) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(base64.b64decode(entry, validate=True)) if entry else {}
    except (binascii.Error, safetensors.SafetensorError):
        raise Malformed("the weights beside its graph cannot be read") from None
