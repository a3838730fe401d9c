"""Networks: they know shapes and no game. A file of weights says which network it belongs to."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from ..game import GameError
from .kinds import Kind as Kind
from .kinds import all_kinds as all_kinds
from .kinds import kind_of as kind_of

FORMAT = "kibitz net 1"


class NetError(GameError):
    """A file that is no network, or no longer the one that was saved."""


def save_net(path: str | Path, net: nn.Module, about: dict[str, Any]) -> None:
    """Write weights, configuration and `about` (anything JSON) as one safetensors file.

    The file is there as a whole or not at all: what was at `path` before stays until then.
    """
    kind = kind_of(net)
    if kind is None:
        known = ", ".join(all_kinds())
        raise NetError(f"{path}: a {type(net).__name__} cannot be saved, only {known}")
    tensors = {name: tensor.contiguous().cpu() for name, tensor in net.state_dict().items()}
    config: Any = net.config
    told = {
        "format": FORMAT,
        "net": kind.name,
        "config": json.dumps(dataclasses.asdict(config)),
        "about": json.dumps(about),
    }
    told["sha256"] = digest(told, tensors)
    write(path, safetensors.torch.save(tensors, told))


def load_net(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """The network in a file of `save_net`, set to evaluate and on the CPU, and its `about`.

    Weights are read only after the configuration and the shapes in the file have been found to
    agree: a small file cannot ask for a large network. The network's `sha256` is the hash of
    everything in the file.
    """
    facts, parts = read_header(path)
    kind, config, about = _described(path, facts)
    _check_shapes(path, kind, config, parts)
    _, tensors = read(path)
    sha256 = facts.pop("sha256", None)
    if sha256 != digest(facts, tensors):
        raise NetError(f"{path} is damaged: its contents are not what was saved")
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise NetError(f"{path}: the weights {name!r} are not all finite")
    net = kind.net(config)
    net.to(next((tensor.dtype for tensor in tensors.values()), None)).load_state_dict(tensors)
    net.sha256 = sha256
    return net.eval(), about


def _described(path: str | Path, facts: dict[str, str]) -> tuple[Kind, Any, dict[str, Any]]:
    """Kind, configuration and `about` of a file, from its metadata."""
    if facts.get("format") != FORMAT:
        raise NetError(f"{path} holds weights, but kibitz did not save them: {FORMAT!r} is missing")
    kind = all_kinds().get(facts.get("net", ""))
    if kind is None:
        known = ", ".join(all_kinds())
        raise NetError(f"{path} holds a net of the kind {facts.get('net')!r}; we know {known}")
    fields, about = _json_object(path, facts, "config"), _json_object(path, facts, "about")
    try:
        return kind, kind.config(**as_tuples(fields)), about
    except (TypeError, ValueError, RecursionError) as error:
        raise _unfit(path, str(error)) from error


def _json_object(path: str | Path, facts: dict[str, str], name: str) -> dict[str, Any]:
    """A part of the metadata that has to be a JSON object."""
    if name not in facts:
        raise _unfit(path, f"its metadata has no {name!r}")
    try:
        value = json.loads(facts[name])
    except (ValueError, RecursionError):
        raise _unfit(path, f"its {name!r} is not JSON") from None
    if not isinstance(value, dict):
        raise _unfit(path, f"its {name!r} is not a JSON object")
    return value


def _check_shapes(path: str | Path, kind: Kind, config: Any, parts: dict[str, Part]) -> None:
    """Compare the file with the network that its configuration describes, without building it."""
    try:
        with torch.device("meta"):  # shapes without memory behind them
            wanted = kind.net(config).state_dict()
    except (KeyError, RuntimeError) as error:
        raise _unfit(path, str(error)) from error
    if kinds := {dtype for dtype, _ in parts.values()} - {*FLOATS}:
        raise NetError(f"{path}: its weights are {', '.join(sorted(kinds))}, not floating point")
    if len({dtype for dtype, _ in parts.values()}) > 1:
        raise NetError(f"{path}: its weights are of different types")
    if odd := sorted(wanted.keys() ^ parts.keys()):
        lacks = "lacks" if odd[0] in wanted else "has"
        raise _unfit(path, f"it {lacks} weights {odd[0]!r}")
    for name, (_, shape) in parts.items():
        if shape != [*wanted[name].shape]:
            raise _unfit(path, f"{name!r} is {shape}, not {[*wanted[name].shape]}")


def _unfit(path: str | Path, why: str) -> NetError:
    return NetError(f"{path} does not fit this version of kibitz: {' '.join(why.split())}")


Part = tuple[str, list[int]]  # the type and the shape of a tensor
FLOATS = ("F16", "BF16", "F32", "F64")


def read_header(path: str | Path) -> tuple[dict[str, str], dict[str, Part]]:
    """Metadata, and type and shape of each tensor, of a safetensors file. Reads no weights."""
    with _opened(path) as file:
        parts = {name: file.get_slice(name) for name in sorted(file.keys())}
        return file.metadata() or {}, {
            name: (part.get_dtype(), part.get_shape()) for name, part in parts.items()
        }


def read(path: str | Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Metadata and tensors of a safetensors file."""
    with _opened(path) as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in sorted(file.keys())}


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    if Path(path).is_dir():
        raise NetError(f"{path} cannot be read: it is a folder")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            yield file
    except OSError as error:
        missing = not Path(path).exists()
        why = "there is no such file" if missing else error.strerror or error
        raise NetError(f"{path} cannot be read: {why}") from error
    except safetensors.SafetensorError as error:
        why = str(error).rpartition("header: ")[2]
        raise NetError(f"{path} is no safetensors file, or is not all there: {why}") from error


def write(path: str | Path, contents: bytes) -> None:
    """Put a file in its place in one step, so that nobody ever meets half of it."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise NetError(f"{path} cannot be written: it is there already, and is not a plain file")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def digest(told: dict[str, str], tensors: dict[str, Tensor]) -> str:
    """A hash of everything in a file: safetensors itself would not notice a changed weight."""
    everything = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name in sorted(tensors):
        everything.update(f"{name} {tensors[name].dtype} {[*tensors[name].shape]}".encode())
        everything.update(tensors[name].view(-1).view(torch.uint8).numpy().data)
    return everything.hexdigest()


def as_tuples(value: Any) -> Any:
    """What came out of JSON with tuples for lists, as configurations have them."""
    if isinstance(value, dict):
        return {name: as_tuples(part) for name, part in value.items()}
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value
