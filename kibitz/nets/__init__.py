"""Networks: they know shapes and no game. A file of weights says which network it belongs to."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from ..game import GameError
from .beliefs import BeliefConfig, BeliefNet
from .bilinear import VALUE_NETS, HandPolicyConfig, HandPolicyNet, HandWorthNet
from .card_set import CardSetConfig, CardSetNet, DesignV2Config, DesignV2Net
from .zones import ZoneConfig, ZoneNet

NETS: dict[str, tuple[type[Any], type[Any]]] = {
    "zones": (ZoneConfig, ZoneNet),
    **VALUE_NETS,
    "hand_policy": (HandPolicyConfig, HandPolicyNet),
    "hand_worth": (HandPolicyConfig, HandWorthNet),
    "beliefs": (BeliefConfig, BeliefNet),
    "card_set": (CardSetConfig, CardSetNet),
    "design_v2": (DesignV2Config, DesignV2Net),
}
"""By the name in a file: the class of the configuration and the class of the network."""

FORMAT = "kibitz net 1"


class NetError(GameError):
    """A file that is no network, or no longer the one that was saved."""


def save_net(path: str | Path, net: nn.Module, about: dict[str, Any]) -> None:
    """Write weights, configuration and `about` (anything JSON) as one safetensors file.

    The file is there as a whole or not at all: what was at `path` before stays until then.
    """
    kind = next((kind for kind, (_, made) in NETS.items() if type(net) is made), None)
    if kind is None:
        raise NetError(f"{path}: a {type(net).__name__} cannot be saved, only {', '.join(NETS)}")
    tensors = {name: tensor.contiguous().cpu() for name, tensor in net.state_dict().items()}
    config: Any = net.config
    told = {
        "format": FORMAT,
        "net": kind,
        "config": json.dumps(dataclasses.asdict(config)),
        "about": json.dumps(about),
    }
    told["sha256"] = digest(told, tensors)
    write(path, safetensors.torch.save(tensors, told))


def load_net(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """The network in a file of `save_net`, set to evaluate and on the CPU, and its `about`."""
    told, tensors = read(path)
    if told.get("format") != FORMAT:
        raise NetError(f"{path} holds weights, but kibitz did not save them: {FORMAT!r} is missing")
    if told.get("net") not in NETS:
        raise NetError(f"{path} holds a net of the kind {told.get('net')!r}; we know {[*NETS]}")
    if told.pop("sha256", None) != digest(told, tensors):
        raise NetError(f"{path} is damaged: its contents are not what was saved")
    config_type, net_type = NETS[told["net"]]
    try:
        net = net_type(config_type(**as_tuples(json.loads(told["config"]))))
        net.to(next((t.dtype for t in tensors.values()), None)).load_state_dict(tensors)
        about: dict[str, Any] = json.loads(told["about"])
    except (TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())
        raise NetError(f"{path} does not fit this version of kibitz: {why}") from error
    return net.eval(), about


def read(path: str | Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Metadata and tensors of a safetensors file."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return file.metadata() or {}, {
                name: file.get_tensor(name) for name in sorted(file.keys())
            }
    except OSError as error:
        raise NetError(f"{path} cannot be read: {error.strerror or error}") from error
    except safetensors.SafetensorError as error:
        why = str(error).rpartition("header: ")[2]
        raise NetError(f"{path} is no safetensors file, or is not all there: {why}") from error


def write(path: str | Path, contents: bytes) -> None:
    """Put a file in its place in one step, so that nobody ever meets half of it."""
    path = Path(path)
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
