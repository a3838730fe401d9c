"""Networks with two perspectives as the files of BandDPER: JSON, binary, ONNX and torch's own.

All but torch's file hold the folded network without a policy, and a self-test. What is read from
them is a folded network: it plays, but learning needs the statistics that only `.pth` and the
checkpoints of kibitz keep.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..nets import NetError, as_tuples, write
from ..nets.bounds import ConfigError
from ..nets.dual_view import DualViewConfig, DualViewNet, Tensors, state_names, tensors_of
from ..portable.escampe import VIEW_SIZE, PortableError
from ..portable.evaluation import Evaluator
from ..portable.weights import (
    FORMAT,
    MODEL,
    Facts,
    SelfTest,
    check_names,
    facts_json,
    read_facts,
    read_json,
    read_weights,
)

# Every band, both sides, a forced pass, a position after a pass, captures on both sides.
TESTED = (
    "bb----/-Bb-bb/------/------/-n-n-n/n-N-n- w 0",
    "nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2",
    "-nN-n-/n-n--n/------/------/b-b--b/b-Bb-- w 0",
    "nnNb--/nnb---/nb----/b-----/b-----/-----B b 0",
    "-n--nN/--n---/-nb-n-/B---b-/------/-b-b-b b 1",
    "-B-b-b/bn-bb-/------/---n--/--n--n/-N---n b 2",
    "-----n/--nb--/---N--/--nbB-/bnbbn-/------ b 3",
    "---n--/-B--n-/-n-bbn/-bN---/-nb---/-b---- w 3",
    "--b--b/-n--nb/b--bB-/--n---/N--n--/----n- b 0",
    "------/b-B-bb/--nbN-/-n----/-n--n-/--b-n- b 3",
    "b-----/-b--bb/--b--B/-----n/n---N-/--nnn- w 1",
    "-n-N--/bb----/---nnn/---nB-/b-----/----bb w 3",
)


class TorchRuntime(Evaluator):
    """A network of torch at positions, as the portable runtimes are."""

    def __init__(self, net: DualViewNet, facts: Facts) -> None:
        self.view = np.zeros(VIEW_SIZE, np.float32)
        super().__init__(facts, self.view)
        self.net = net.eval()

    @torch.inference_mode()
    def raw(self) -> float:
        return self.net.raw(torch.from_numpy(self.view)[None]).item()


def exported(net: DualViewNet) -> tuple[Facts, Tensors]:
    """What a folded file holds of a network: facts with a self-test, and the weights."""
    config, tensors = net.config, tensors_of(net)
    for name, array in tensors.items():
        if not np.isfinite(array).all():
            raise NetError(
                f"the network cannot be exported: {name!r} has numbers that are not finite"
            )
    facts = Facts(config.encoding, config.blocks, config.embedding, config.inner, ())
    runtime = TorchRuntime(net_of(facts, tensors), facts)
    tests = tuple(SelfTest(line, *runtime.evaluate(line)) for line in TESTED)
    return facts._replace(selftest=tests), tensors


def net_of(facts: Facts, tensors: Tensors) -> DualViewNet:
    """The folded network with these weights."""
    net = DualViewNet(
        DualViewConfig(
            encoding=facts.encoding,
            blocks=facts.blocks,
            embedding=facts.embedding,
            inner=facts.inner,
            folded=True,
        )
    )
    names = state_names(facts.blocks)
    weights = {names[name]: torch.tensor(array) for name, array in tensors.items()}
    net.load_state_dict(weights)
    return net.eval()


def tested(path: str | Path, facts: Facts, tensors: Tensors) -> DualViewNet:
    """The network of a file, once its weights are checked and it has passed the self-test."""
    check_names(path, facts, tensors)
    for name, shape in facts.shapes.items():
        if tensors[name].shape != shape:
            has, wants = [*tensors[name].shape], [*shape]
            raise NetError(f"{path}: the tensor {name!r} is misshapen: it is {has}, not {wants}")
        if not np.isfinite(tensors[name]).all():
            raise NetError(f"{path}: the tensor {name!r} has a number that is not finite")
    net = net_of(facts, tensors)
    TorchRuntime(net, facts).check(path)
    return net


# JSON -------------------------------------------------------------------------------------------


def save_json(path: str | Path, net: DualViewNet) -> None:
    """Write `banddper_weights.json`, the file that all portable runtimes read."""
    facts, tensors = exported(net)
    head = json.dumps(facts_json(facts), indent=1)
    body = ",\n".join(f'"{name}":{nested(array)}' for name, array in tensors.items())
    write(path, f'{head[:-2]},\n "tensors": {{\n{body}\n}}\n}}\n'.encode())


def nested(array: NDArray[np.float32]) -> str:
    """Nested lists of numbers with the nine digits that make a float32 exact."""
    if array.ndim:
        return f"[{','.join(map(nested, array))}]"
    return repr(float(f"{array:.9g}"))


def load_json(path: str | Path) -> DualViewNet:
    """The network in `banddper_weights.json`, folded."""
    facts, numbers = read_weights(path)
    tensors = {
        name: np.array(numbers[name], np.float32).reshape(shape)
        for name, shape in facts.shapes.items()
    }
    return tested(path, facts, tensors)


# Binary -----------------------------------------------------------------------------------------


def header_of(path: str | Path) -> Path:
    """The JSON file beside a binary file."""
    return Path(f"{path}.json")


def save_bin(path: str | Path, net: DualViewNet) -> None:
    """Write all weights as little-endian float32 and, to `PATH.json`, what they are."""
    facts, tensors = exported(net)
    numbers = b"".join(array.astype("<f4").tobytes() for array in tensors.values())
    header = facts_json(facts)
    header["tensors"] = {name: list(array.shape) for name, array in tensors.items()}
    header["sha256"] = hashlib.sha256(numbers).hexdigest()
    write(path, numbers)
    write(header_of(path), json.dumps(header, indent=1).encode())


def load_bin(path: str | Path) -> DualViewNet:
    """The network in a file of `save_bin`, folded."""
    header = read_json(header_of(path))
    facts = read_facts(header_of(path), header)
    shapes = facts.shapes
    if header.get("tensors") != {name: list(shape) for name, shape in shapes.items()}:
        raise NetError(f"{header_of(path)}: 'tensors' are not those of this network")
    try:
        contents = Path(path).read_bytes()
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    counts = [int(np.prod(shape)) for shape in shapes.values()]
    if len(contents) != 4 * sum(counts):
        raise NetError(f"{path} has {len(contents):,} bytes, not {4 * sum(counts):,}")
    parts = np.split(np.frombuffer(contents, "<f4"), np.cumsum(counts)[:-1])
    tensors = {
        name: part.astype(np.float32).reshape(shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }
    net = tested(path, facts, tensors)
    if header.get("sha256") != hashlib.sha256(contents).hexdigest():
        raise NetError(f"{path} is damaged: 'sha256' in {header_of(path)} is of other contents")
    return net


# torch ------------------------------------------------------------------------------------------


def save_pth(path: str | Path, net: DualViewNet) -> None:
    """Write `banddper.pth`: configuration and state, with the statistics that learning needs."""
    config, state = dataclasses.asdict(net.config), net.state_dict()
    contents = {"format": FORMAT, "model": MODEL, "config": config, "state_dict": state}
    torch.save(contents, file := io.BytesIO())
    write(path, file.getvalue())


def load_pth(path: str | Path) -> DualViewNet:
    """The network in a file of `save_pth`. Nothing in the file is run."""
    contents = _unpickled(path)
    if contents.get("format") != FORMAT or contents.get("model") != MODEL:
        raise NetError(f"{path}: 'format' and 'model' are not {FORMAT} and {MODEL!r}")
    fields, state = contents.get("config"), contents.get("state_dict")
    if not isinstance(fields, dict) or not isinstance(state, dict):
        raise NetError(f"{path}: 'config' or 'state_dict' is missing")
    try:
        config = DualViewConfig(**as_tuples(fields))
    except (TypeError, ConfigError) as error:
        raise NetError(f"{path}: 'config' does not describe a network: {error}") from None
    _check_state(path, config, state)
    net = DualViewNet(config)
    net.load_state_dict(state)
    return net.eval()


def _unpickled(path: str | Path) -> dict[str, object]:
    try:
        contents = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception:  # damaged archives raise errors of many kinds
        raise NetError(f"{path} is not a complete file of weights that torch has saved") from None
    if not isinstance(contents, dict):
        raise NetError(f"{path} holds weights, but not of {MODEL}")
    return contents


def _check_state(path: str | Path, config: DualViewConfig, state: dict[str, object]) -> None:
    """Compare the weights with the network that the configuration describes."""
    with torch.device("meta"):  # shapes without memory behind them
        wanted = DualViewNet(config).state_dict()
    for name in sorted(wanted.keys() | state.keys()):
        if name not in wanted or name not in state:
            why = "is missing" if name in wanted else "is not part of this network"
            raise NetError(f"{path}: the tensor {str(name)[:60]!r} {why}")
        tensor = state[name]
        if not isinstance(tensor, Tensor) or tensor.dtype != torch.float32:
            raise NetError(f"{path}: {name!r} is not a tensor of float32")
        if tensor.shape != wanted[name].shape:
            has, wants = [*tensor.shape], [*wanted[name].shape]
            raise NetError(f"{path}: the tensor {name!r} is misshapen: it is {has}, not {wants}")
        if not tensor.isfinite().all():
            raise NetError(f"{path}: the tensor {name!r} has a number that is not finite")


# By the ending of a file's name -------------------------------------------------------------------


def _save_onnx(path: str | Path, net: DualViewNet) -> None:
    from .banddper_onnx import save_onnx

    save_onnx(path, net)


def _load_onnx(path: str | Path) -> DualViewNet:
    from .banddper_onnx import load_onnx

    return load_onnx(path)


class FileKind(NamedTuple):
    """How one kind of file is written and read."""

    save: Callable[[str | Path, DualViewNet], None]
    load: Callable[[str | Path], DualViewNet]


FILE_KINDS = {
    ".json": FileKind(save_json, load_json),
    ".bin": FileKind(save_bin, load_bin),
    ".onnx": FileKind(_save_onnx, _load_onnx),
    ".pth": FileKind(save_pth, load_pth),
}


def file_kind(path: str | Path) -> FileKind:
    """The kind of file that the ending of a name stands for."""
    ending = Path(path).suffix.lower()
    if ending not in FILE_KINDS:
        raise NetError(f"{path}: a file of {MODEL} ends in {', '.join(FILE_KINDS)}")
    return FILE_KINDS[ending]


def load_banddper(path: str | Path) -> DualViewNet:
    """The network in a file of any of these kinds."""
    try:
        return file_kind(path).load(path)
    except PortableError as error:
        raise NetError(str(error)) from None
