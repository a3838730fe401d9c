"""Networks as ONNX files, for runtimes without torch. Needs the extra `onnx`.

>>> import tempfile, torch
>>> from kibitz.nets.zones import ZoneConfig, ZoneNet
>>> with tempfile.TemporaryDirectory() as folder:
...     export(f"{folder}/zones.onnx", ZoneNet(ZoneConfig()), {"game": "beasty_bar"})
...     net, about = load(f"{folder}/zones.onnx")
>>> logits, values = net(np.zeros((3, 988), np.float32))
>>> logits.shape, values.shape, about
((3, 124), (3, 2), {'game': 'beasty_bar'})
"""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..nets import NetError, contents_of, write
from ..nets.exported import beside_the_graph

try:
    import onnx
    import onnxruntime
except ImportError as error:
    raise ImportError('ONNX is missing: pip install "kibitz[onnx]"') from error

INPUT, OUTPUTS = "views", ["logits", "values"]
OPSET = 18

Floats = NDArray[np.float32]


def export(path: str | Path, net: nn.Module, about: Mapping[str, object]) -> None:
    """Write a network of `kibitz.nets` as an ONNX model of float32 for batches of any size.

    The model has one input, `views` [batch, view_size], and the outputs `logits` and `values`.
    `about` (anything that JSON can hold) is stored in it, and all that `load_exported` needs to
    read the network again.
    """
    config: Any = net.config
    twin = copy.deepcopy(net).cpu().float().eval()
    model = onnx.load_from_string(traced(twin, torch.zeros(2, config.view_size)))
    metadata, weights = contents_of(path, twin, about)
    in_graph = {tensor.name for tensor in model.graph.initializer}
    if more := beside_the_graph(weights, in_graph):
        metadata["weights"] = more
    onnx.helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    write(path, model.SerializeToString())


def traced(net: nn.Module, views: torch.Tensor) -> bytes:
    """The network in ONNX's own format, from running it once."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        # torch's newer exporter needs onnxscript; the older one warns on every call that it is old.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            net,
            (views,),
            file := Path(folder) / "net.onnx",
            input_names=[INPUT],
            output_names=OUTPUTS,
            dynamic_axes={name: {0: "batch"} for name in (INPUT, *OUTPUTS)},
            opset_version=OPSET,
            dynamo=False,
            do_constant_folding=False,  # it would rename weights; runtimes fold by themselves
        )
        return file.read_bytes()


def load(
    path: str | Path, threads: int = 1
) -> tuple[Callable[[Floats], tuple[Floats, Floats]], dict[str, object]]:
    """A function from views to logits and values, as the network's own, and its `about`."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(str(path), options)
        about = json.loads(session.get_modelmeta().custom_metadata_map["about"])
    except Exception as error:  # onnxruntime has many kinds of errors
        why = " ".join(str(error).split())
        raise NetError(f"{path} is not an ONNX model saved by kibitz: {why}") from error
    return lambda views: tuple(session.run(OUTPUTS, {INPUT: views})), about
