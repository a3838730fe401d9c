"""Weights of BandDPER from `banddper_weights.json`, checked number by number.

Batch normalisation is already part of these weights. Any fault is an error that names its part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .escampe import BAND_MAP, CELLS, ENCODINGS, PLANES, PortableError

FORMAT, MODEL = 1, "banddper"
CHANNELS = (32, 64)  # of the two convolutions
HEAD = 64
MOST_BLOCKS, MOST_EMBEDDING = 64, 4095
FEWEST_TESTS = 8
LARGEST = 3.4028234663852886e38  # of float32
INNER = ("relu", "clipped")

Shape = tuple[int, ...]


class SelfTest(NamedTuple):
    """A position and what the network says about it."""

    position: str
    raw: float
    """Before tanh."""
    value: float


class Facts(NamedTuple):
    """All that a weight file says beside its tensors."""

    encoding: str
    blocks: int
    embedding: int
    inner: str
    """Activation inside a block."""
    selftest: tuple[SelfTest, ...]

    @property
    def width(self) -> int:
        """Numbers that go through the residual blocks."""
        return 2 * self.embedding + 2

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor, in the order of the file."""
        first, second = CHANNELS
        width = self.width
        shapes: dict[str, Shape] = {
            "enc_conv1_w": (first, PLANES, 3, 3),
            "enc_conv1_b": (first,),
            "enc_conv2_w": (second, first, 3, 3),
            "enc_conv2_b": (second,),
            "enc_proj_w": (self.embedding, second * CELLS),
            "enc_proj_b": (self.embedding,),
        }
        for block in range(self.blocks):
            for layer in ("l1", "l2"):
                shapes[f"res{block}_{layer}_w"] = (width, width)
                shapes[f"res{block}_{layer}_b"] = (width,)
        head = {"out1_w": (HEAD, width), "out1_b": (HEAD,), "out2_w": (1, HEAD), "out2_b": (1,)}
        return {**shapes, **head, "w_forced_pass": ()}


class Weights(NamedTuple):
    """The contents of a weight file."""

    facts: Facts
    tensors: dict[str, list[float]]
    """By name, row by row."""


def read_weights(path: str | Path, encoding: str | None = None) -> Weights:
    """The weights in a JSON file.

    encoding: what the caller encodes positions by, if it can do only one.
    """
    contents = read_json(path)
    facts = read_facts(path, contents, encoding)
    given = contents.get("tensors")
    if not isinstance(given, dict):
        raise PortableError(f"{path}: 'tensors' is missing or not an object")
    check_names(path, facts, given)
    tensors: dict[str, list[float]] = {name: [] for name in facts.shapes}
    for name, shape in facts.shapes.items():
        _append(f"{path}: the tensor {name!r}", given[name], shape, tensors[name])
    return Weights(facts, tensors)


def read_json(path: str | Path) -> dict[str, object]:
    """The JSON object in a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise PortableError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise PortableError(f"{path} is not JSON: it is not a text") from None
    try:
        contents = json.loads(text)
    except RecursionError:
        raise PortableError(f"{path} is not JSON of weights: it is nested too deeply") from None
    except ValueError as error:
        raise PortableError(f"{path} is not complete JSON: {error}") from None
    if not isinstance(contents, dict):
        raise PortableError(f"{path} is not a JSON object")
    return contents


def read_facts(
    path: str | Path, contents: Mapping[str, object], encoding: str | None = None
) -> Facts:
    """What a file says beside its tensors, if this version of the format can use it."""
    for name, wanted in (("format", FORMAT), ("model", MODEL)):
        if contents.get(name) != wanted:
            raise PortableError(f"{path}: {name!r} is {_shown(contents, name)}, not {wanted!r}")
    named = contents.get("encoding")
    if named not in ENCODINGS or (encoding is not None and named != encoding):
        wanted_here = encoding or " or ".join(ENCODINGS)
        raise PortableError(
            f"{path}: 'encoding' is {_shown(contents, 'encoding')}, not {wanted_here}"
        )
    if contents.get("board_band_map") != [list(row) for row in BAND_MAP]:
        raise PortableError(f"{path}: 'board_band_map' is missing or of another board")
    if contents.get("inner_activation", "relu") not in INNER:
        shown = _shown(contents, "inner_activation")
        raise PortableError(f"{path}: 'inner_activation' is {shown}, not {' or '.join(INNER)}")
    return Facts(
        str(named),
        _whole(path, contents, "num_res_blocks", 0, MOST_BLOCKS),
        _whole(path, contents, "embed_dim", 1, MOST_EMBEDDING),
        str(contents.get("inner_activation", "relu")),
        tuple(_self_tests(path, contents.get("selftest"))),
    )


def check_names(path: str | Path, facts: Facts, given: Mapping[str, object]) -> None:
    """All tensors of the network, and no others."""
    for name in facts.shapes:
        if name not in given:
            raise PortableError(f"{path}: the tensor {name!r} is missing")
    for name in given:
        if name not in facts.shapes:
            raise PortableError(f"{path}: there is no tensor {name[:40]!r} in this network")


def _self_tests(path: str | Path, given: object) -> list[SelfTest]:
    if not isinstance(given, list) or len(given) < FEWEST_TESTS:
        raise PortableError(f"{path}: 'selftest' has fewer than {FEWEST_TESTS} positions")
    tests = []
    for number, entry in enumerate(given, 1):
        what = f"{path}: number {number} of 'selftest'"
        if not isinstance(entry, dict) or not isinstance(entry.get("position"), str):
            raise PortableError(f"{what} has no position")
        numbers: list[float] = []
        for name in ("raw", "value"):
            _append(f"{what}, {name!r},", entry.get(name), (), numbers)
        tests.append(SelfTest(entry["position"], *numbers))
    return tests


def _append(what: str, given: object, shape: Shape, out: list[float]) -> None:
    """Append all numbers of a nested list once they are known to be of this shape and finite."""
    if not shape:
        given, shape = [given], (1,)
    if not isinstance(given, list) or len(given) != shape[0]:
        has = f"{len(given)} entries" if isinstance(given, list) else "no list"
        raise PortableError(f"{what} is misshapen: it has {has} where {shape[0]} belong")
    if len(shape) > 1:
        for part in given:
            _append(what, part, shape[1:], out)
        return
    for number in given:
        if type(number) is not float and type(number) is not int:
            raise PortableError(f"{what} is misshapen: it has {str(number)[:20]!r} for a number")
        if not -LARGEST <= number <= LARGEST:
            raise PortableError(f"{what} has a number that is not finite")
    out.extend(map(float, given))


def _whole(
    path: str | Path, contents: Mapping[str, object], name: str, least: int, most: int
) -> int:
    number = contents.get(name)
    if type(number) is not int or not least <= number <= most:
        shown = _shown(contents, name)
        raise PortableError(f"{path}: {name!r} is {shown}, not a whole number {least} to {most}")
    return number


def _shown(contents: Mapping[str, object], name: str) -> str:
    return repr(contents[name])[:40] if name in contents else "missing"


def facts_json(facts: Facts) -> dict[str, object]:
    """The inverse of `read_facts`."""
    return {
        "format": FORMAT,
        "model": MODEL,
        "encoding": facts.encoding,
        "num_res_blocks": facts.blocks,
        "embed_dim": facts.embedding,
        "inner_activation": facts.inner,
        "board_band_map": [list(row) for row in BAND_MAP],
        "selftest": [test._asdict() for test in facts.selftest],
    }


def is_close(one: float, other: float, within: float) -> bool:
    """Whether two answers agree; not a number agrees with nothing."""
    return math.isfinite(one) and abs(one - other) <= within
