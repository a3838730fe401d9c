"""Networks: they know shapes and no game. A file of weights says which network it belongs to."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from ..game import GameError
from .kinds import Kind as Kind
from .kinds import all_kinds as all_kinds
from .kinds import kind_of as kind_of
from .net import Config
from .net import Net as Net

FORMAT = "kibitz net 1"
FLOATS = ("F16", "BF16", "F32", "F64")

About = dict[str, Any]
"""What a file says about its network: a JSON object with the game, the recipe and so on."""


class TensorInfo(NamedTuple):
    """What the header of a file says about one tensor."""

    dtype: str
    shape: list[int]


class NetError(GameError):
    """A file that holds no network, or not the one that was saved."""


def save_net(path: str | Path, net: nn.Module, about: About) -> None:
    """Write weights, configuration and `about` as one safetensors file.

    The file is written completely or not at all; until then the old file at `path` stays.
    """
    metadata, tensors = contents_of(path, net, about)
    write(path, safetensors.torch.save(tensors, metadata))


def contents_of(
    path: str | Path, net: nn.Module, about: Mapping[str, object]
) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What a file at `path` says about a network, and its weights."""
    kind = kind_of(net)
    if kind is None:
        known = ", ".join(all_kinds())
        raise NetError(f"{path}: a {type(net).__name__} cannot be saved, only {known}")
    tensors = {name: tensor.contiguous().cpu() for name, tensor in net.state_dict().items()}
    config = cast("Net", net).config
    metadata = {
        "format": FORMAT,
        "net": kind.name,
        "config": json.dumps(dataclasses.asdict(config)),
        "about": json.dumps(about),
    }
    metadata["sha256"] = digest(metadata, tensors)
    return metadata, tensors


def load_net(path: str | Path) -> tuple[Net, About]:
    """The network in a file of `save_net`, in evaluation mode on the CPU, and its `about`.

    Weights are read only if the configuration and the shapes in the file agree: a small file
    cannot ask for a large network. The network's `sha256` is the hash of the whole file.
    """
    metadata, header = read_header(path)
    return net_of(path, metadata, header, lambda: read(path)[1])


def net_of(
    path: str | Path,
    metadata: dict[str, str],
    header: dict[str, TensorInfo],
    read_tensors: Callable[[], dict[str, Tensor]],
) -> tuple[Net, About]:
    """The network that metadata describes, from weights that are read once everything else fits."""
    kind, config, about = _described(path, metadata)
    _check_shapes(path, kind, config, header)
    tensors = read_tensors()
    sha256 = metadata.pop("sha256", "")
    if sha256 != digest(metadata, tensors):
        raise NetError(f"{path} is damaged: its contents are not what was saved")
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise NetError(f"{path}: the weights {name!r} are not all finite")
    net: Net = kind.net(config)
    net.to(next((tensor.dtype for tensor in tensors.values()), None)).load_state_dict(tensors)
    net.sha256 = sha256
    return net.eval(), about


def _described(path: str | Path, metadata: dict[str, str]) -> tuple[Kind, Config, About]:
    """Kind, configuration and `about` of a file, from its metadata."""
    if metadata.get("format") != FORMAT:
        raise NetError(f"{path} holds weights, but kibitz did not save them: {FORMAT!r} is missing")
    kind = all_kinds().get(metadata.get("net", ""))
    if kind is None:
        known = ", ".join(all_kinds())
        raise NetError(
            f"{path} holds a network of the kind {metadata.get('net')!r}; kibitz knows {known}, "
            "and others by their file: net:PATH,code=FILE.py"
        )
    fields, about = _json_object(path, metadata, "config"), _json_object(path, metadata, "about")
    try:
        return kind, kind.config(**as_tuples(fields)), about
    except (TypeError, ValueError, RecursionError) as error:
        raise _unfit(path, str(error)) from error


def _json_object(path: str | Path, metadata: dict[str, str], name: str) -> About:
    """An entry of the metadata that must be a JSON object."""
    if name not in metadata:
        raise _unfit(path, f"its metadata has no {name!r}")
    try:
        value = json.loads(metadata[name])
    except (ValueError, RecursionError):
        raise _unfit(path, f"its {name!r} is not JSON") from None
    if not isinstance(value, dict):
        raise _unfit(path, f"its {name!r} is not a JSON object")
    return value


def _check_shapes(
    path: str | Path, kind: Kind, config: Config, header: dict[str, TensorInfo]
) -> None:
    """Compare the file with the network that its configuration describes, without building it."""
    try:
        with torch.device("meta"):  # shapes without memory behind them
            wanted = kind.net(config).state_dict()
    except (KeyError, RuntimeError) as error:
        raise _unfit(path, str(error)) from error
    dtypes = {tensor.dtype for tensor in header.values()}
    if others := dtypes - {*FLOATS}:
        raise NetError(f"{path}: its weights are {', '.join(sorted(others))}, not floating point")
    if len(dtypes) > 1:
        raise NetError(f"{path}: its weights are of different types")
    if odd := sorted(wanted.keys() ^ header.keys()):
        lacks = "lacks" if odd[0] in wanted else "has"
        raise _unfit(path, f"it {lacks} weights {odd[0]!r}")
    for name, (_, shape) in header.items():
        if shape != [*wanted[name].shape]:
            raise _unfit(path, f"{name!r} is {shape}, not {[*wanted[name].shape]}")


def _unfit(path: str | Path, why: str) -> NetError:
    return NetError(f"{path} does not fit this version of kibitz: {' '.join(why.split())}")


def read_header(path: str | Path) -> tuple[dict[str, str], dict[str, TensorInfo]]:
    """Metadata, and dtype and shape of each tensor, of a safetensors file. Reads no weights."""
    with _opened(path) as file:
        slices = {name: file.get_slice(name) for name in sorted(file.keys())}
        return file.metadata() or {}, {
            name: TensorInfo(part.get_dtype(), part.get_shape()) for name, part in slices.items()
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
        raise NetError(f"{path} is not a complete safetensors file: {why}") from error


def write(path: str | Path, contents: bytes) -> None:
    """Write a file in one step, so that no reader ever sees half of it."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise NetError(f"{path} cannot be written: it exists and is not a regular file")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def digest(metadata: dict[str, str], tensors: dict[str, Tensor]) -> str:
    """A hash of everything in a file: safetensors itself does not notice a changed weight."""
    hashed = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        hashed.update(f"{name} {tensors[name].dtype} {[*tensors[name].shape]}".encode())
        hashed.update(tensors[name].view(-1).view(torch.uint8).numpy().data)
    return hashed.hexdigest()


def as_tuples(fields: About) -> About:
    """Fields from JSON with tuples instead of lists, as configurations have them."""
    return {name: _as_tuple(value) for name, value in fields.items()}


def _as_tuple(value: object) -> object:
    if isinstance(value, dict):
        return as_tuples(value)
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
