"""Networks with two perspectives on one core, without torch: tens of microseconds per position.

Weights are the tensors of a folded network, packed once. Both perspectives of several positions go
through the layers together, so that weights are read once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..game import GameError, rule
from .tiles import COLUMNS, Floats, Rows, add_product, linear, padded_to_panels, panels, tile

SIDE = 6
CELLS = SIDE * SIDE
PLANES = 16
PERSPECTIVE = PLANES * CELLS
ESCAPES = 2
VIEW_SIZE = 2 * PERSPECTIVE + ESCAPES + 1
NEAR, FAR = 32, 64  # channels of the two convolutions
FRAMED = SIDE + 2  # a side with the empty frame that the first convolution sees
six_cells = tile(SIDE, NEAR)  # a row of the board
four_cells = tile(4, FAR)  # 4, 24 or 36 neighbouring cells see the same tap
TOGETHER = 16  # positions per pass over the weights: their activations stay in the cache


class Weights(NamedTuple):
    """A network, packed for `evaluate`."""

    planes: NDArray[np.int64]
    """Planes of a view that are read; the others are constant and part of the bias."""
    near: Floats
    """By row of the kernel a panel of [3 columns x planes] inputs."""
    near_bias: Floats
    """[cells x NEAR]"""
    far: Floats
    """By tap, [NEAR, FAR]"""
    far_bias: Floats
    """[cells x FAR]"""
    project: Floats
    project_bias: Floats
    blocks: Floats
    """The layers of all blocks, two each."""
    block_biases: Floats
    """[layers, padded width]"""
    hidden: Floats
    hidden_bias: Floats
    value: Floats
    value_bias: float
    forced_pass: float
    embedding: int
    """Numbers that stand for one perspective."""
    clips: bool
    """Whether blocks are clipped inside, too."""


class Room(NamedTuple):
    """Where `evaluate` works. Every thread needs its own."""

    framed: Floats
    near: Floats
    far: Floats
    embedded: Floats
    trunk: Floats
    inner: Floats
    head: Floats


def pack(
    tensors: Mapping[str, Floats],
    constant: Mapping[int, Floats] | None = None,
    *,
    clips: bool = False,
) -> Weights:
    """The weights of a folded network, named as in the weight files of BandDPER.

    constant: planes that are the same in every view, by number, [6, 6]. They are not read.
    clips: whether blocks are clipped inside, too.
    """
    constant = constant or {}
    embedding, blocks = len(tensors["enc_proj_b"]), sum(name.endswith("_l1_w") for name in tensors)
    layers = [f"res{block}_{layer}" for block in range(blocks) for layer in ("l1", "l2")]
    width = 2 * embedding + ESCAPES
    planes = [plane for plane in range(PLANES) if plane not in constant]
    project = tensors["enc_proj_w"].reshape(embedding, FAR, CELLS).transpose(2, 1, 0)
    no_blocks = np.zeros((0, padded_to_panels(width)), np.float32)
    return Weights(
        planes=np.array(planes, np.int64),
        near=_packed_near(tensors["enc_conv1_w"][:, planes]),
        near_bias=_near_bias(tensors, constant),
        far=tensors["enc_conv2_w"].transpose(2, 3, 1, 0).reshape(-1),
        far_bias=np.tile(tensors["enc_conv2_b"], CELLS),
        project=panels(project.reshape(-1, embedding)),
        project_bias=_padded(tensors["enc_proj_b"]),
        blocks=_joined([panels(tensors[f"{layer}_w"].T) for layer in layers]),
        block_biases=np.array([_padded(tensors[f"{layer}_b"]) for layer in layers] or no_blocks),
        hidden=panels(tensors["out1_w"].T),
        hidden_bias=_padded(tensors["out1_b"]),
        value=tensors["out2_w"][0].copy(),
        value_bias=float(tensors["out2_b"][0]),
        forced_pass=float(tensors["w_forced_pass"]),
        embedding=embedding,
        clips=clips,
    )


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate([np.zeros(0, np.float32), *parts])


def _padded(bias: Floats) -> Floats:
    padded = np.zeros(padded_to_panels(len(bias)), np.float32)
    padded[: len(bias)] = bias
    return padded


def _packed_near(kernel: Floats) -> Floats:
    """By row of the kernel, its three columns with all planes, as a framed board has them."""
    rows = kernel.transpose(2, 3, 1, 0)  # [row, column, plane, NEAR]
    return _joined([panels(row.reshape(-1, NEAR)) for row in rows])


def _near_bias(tensors: Mapping[str, Floats], constant: Mapping[int, Floats]) -> Floats:
    """The bias of the first convolution by cell, with what the constant planes add."""
    bias = np.empty((SIDE, SIDE, NEAR), np.float32)
    bias[:] = tensors["enc_conv1_b"]
    for plane, cells in constant.items():
        framed = np.pad(cells, 1)
        for down in range(3):
            for right in range(3):
                seen = framed[down : down + SIDE, right : right + SIDE]
                bias += seen[:, :, None] * tensors["enc_conv1_w"][:, plane, down, right]
    return bias.reshape(-1)


def room_for(weights: Weights, most: int = TOGETHER) -> Room:
    """Room to evaluate up to `most` positions, at most TOGETHER."""
    width = weights.block_biases.shape[1]
    sizes = {
        "framed": (FRAMED * FRAMED, len(weights.planes)),
        "near": (CELLS * NEAR,),
        "far": (2 * most, CELLS * FAR),
        "embedded": (2 * most, len(weights.project_bias)),
        "trunk": (most, width),
        "inner": (most, width),
        "head": (most, FAR),
    }
    return Room(**{name: np.zeros(size, np.float32) for name, size in sizes.items()})


def values(weights: Weights, views: Floats) -> Floats:
    """What the seat that looks expects, from -1 to 1. float32 [n] for views [n, 1155]"""
    if views.dtype != np.float32 or views.ndim != 2 or views.shape[1] != VIEW_SIZE:
        has = f"{views.dtype} {list(views.shape)}"
        raise GameError(f"views for this network are float32 [n, {VIEW_SIZE}], not {has}")
    answers = np.empty(len(views), np.float32)
    room = room_for(weights, min(max(len(views), 1), TOGETHER))
    evaluate(weights, np.ascontiguousarray(views), room, answers)
    return answers


@rule
def evaluate(weights, views, room, answers):
    """Write the values of views [n, 1155] to `answers` [n]."""
    most = room.trunk.shape[0]
    for first in range(0, answers.shape[0], most):
        count = min(most, answers.shape[0] - first)
        for row in range(2 * count):
            encode(weights, views, first + row // 2, row % 2, room, row)
        embed(weights, views, first, count, room)
        for block in range(weights.block_biases.shape[0] // 2):
            pass_block(weights, block, count, room)
        answer(weights, views, first, count, room, answers)


@rule
def encode(weights, views, position, side, room, row):
    """Write what the convolutions make of one perspective to a row of `room.far`."""
    planes = weights.planes.shape[0]
    for i in range(planes):
        at = side * PERSPECTIVE + weights.planes[i] * CELLS
        for y in range(SIDE):
            for x in range(SIDE):
                room.framed[(y + 1) * FRAMED + x + 1, i] = views[position, at + y * SIDE + x]
    copy(weights.near_bias, room.near)
    depth = 3 * planes
    for down in range(3):
        for y in range(SIDE):
            seen = (y + down) * FRAMED * planes
            at = (seen, planes, down * depth * NEAR, y * SIDE * NEAR, NEAR)
            six_cells(room.framed, weights.near, room.near, at, depth)
    rectify(room.near)
    copy(weights.far_bias, room.far[row])
    for tap in range(9):
        add_tap(weights, tap, room, row)
    rectify(room.far[row])


@rule
def copy(numbers, to):
    for i in range(numbers.shape[0]):
        to[i] = numbers[i]


@rule
def rectify(numbers):
    for i in range(numbers.shape[0]):
        numbers[i] = max(numbers[i], np.float32(0.0))


@rule
def add_tap(weights, tap, room, row):
    """Add what one tap of the second convolution sees, two cells away, where that is on the board.

    Whole rows of the board are one piece of memory.
    """
    down, right = 2 * (tap // 3) - 2, 2 * (tap % 3) - 2
    top, bottom = max(0, -down), min(SIDE, SIDE - down)
    left, length = max(0, -right), SIDE - abs(right)
    if right == 0:
        length, bottom = (bottom - top) * SIDE, top + 1
    for y in range(top, bottom):
        for to in range(y * SIDE + left, y * SIDE + left + length, 4):
            seen = to + down * SIDE + right
            at = (seen * NEAR, NEAR, tap * NEAR * FAR, (row * CELLS + to) * FAR, FAR)
            four_cells(room.near, weights.far, room.far, at, NEAR)


@rule
def embed(weights, views, first, count, room):
    """Write both embeddings and the escapes of every position to `room.trunk`."""
    padded, depth = weights.project_bias.shape[0], CELLS * FAR
    biases = Rows(weights.project_bias, 0, padded)
    out = Rows(room.embedded, 0, padded)
    linear(Rows(room.far, 0, depth), 2 * count, depth, weights.project, 0, biases, out)
    embedding = weights.embedding
    for row in range(2 * count):
        for i in range(embedding):
            number = clipped(room.embedded[row, i])
            room.trunk[row // 2, row % 2 * embedding + i] = number
    for row in range(count):
        for i in range(ESCAPES):
            room.trunk[row, 2 * embedding + i] = views[first + row, 2 * PERSPECTIVE + i]


@rule
def pass_block(weights, block, count, room):
    """Let `room.trunk` go through one residual block."""
    padded, width = room.trunk.shape[1], 2 * weights.embedding + ESCAPES
    size = width * padded
    trunk, inner = Rows(room.trunk, 0, padded), Rows(room.inner, 0, padded)
    biases = Rows(weights.block_biases, 2 * block * padded, padded)
    linear(trunk, count, width, weights.blocks, 2 * block * size, biases, inner)
    for row in range(count):
        for i in range(width):
            number = max(room.inner[row, i], np.float32(0.0))
            room.inner[row, i] = min(number, np.float32(1.0)) if weights.clips else number
    for row in range(count):
        for i in range(padded):
            room.trunk[row, i] += weights.block_biases[2 * block + 1, i]
    for panel in range(padded // COLUMNS):
        at = (2 * block + 1) * size + panel * width * COLUMNS
        part = Rows(room.trunk, panel * COLUMNS, padded)
        add_product(inner, count, weights.blocks, at, width, part)
    for row in range(count):
        for i in range(width):
            room.trunk[row, i] = clipped(room.trunk[row, i])


@rule
def answer(weights, views, first, count, room, answers):
    """Write the values of the positions in `room.trunk`."""
    padded, width = room.trunk.shape[1], 2 * weights.embedding + ESCAPES
    biases, out = Rows(weights.hidden_bias, 0, FAR), Rows(room.head, 0, FAR)
    linear(Rows(room.trunk, 0, padded), count, width, weights.hidden, 0, biases, out)
    for row in range(count):
        raw = weights.value_bias + weights.forced_pass * views[first + row, VIEW_SIZE - 1]
        for i in range(FAR):
            raw += max(room.head[row, i], np.float32(0.0)) * weights.value[i]
        answers[first + row] = np.tanh(raw)


@rule
def clipped(number):
    return min(max(number, np.float32(0.0)), np.float32(1.0))
