"""One GPU kernel per zone, for a `ZoneNet` with one layer: the cards never leave the chip.

Run layer by layer, a network of short zones spends its time on memory traffic and in attention
kernels made for long sequences. Here a program takes a few views, carries their cards through
encoder, attention and feed-forward part, and writes one vector per view. Cards of several views lie
below each other in one tile; a mask keeps them from attending to each other.

Weights are copied when the kernels are built: call `refresh` after a step of training.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from .zones import ZoneEncoder, ZoneLayer, ZoneNet

TILE = 64  # cards per program; with 32 or 128, or with more warps, it is slower
FEATURES = 32  # a card's numbers, padded to what a tensor core takes
WARPS = 4
MASKED = tl.constexpr(-1e30)  # not minus infinity: a row that attends to nothing must stay finite


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.math.erf(x * 0.7071067811865476))


@triton.jit
def normed(x, gain, bias, WIDTH: tl.constexpr):
    """Layer norm over the last axis."""
    columns = tl.arange(0, WIDTH)
    x = x - (tl.sum(x, 1) / WIDTH)[:, None]
    x = x * tl.rsqrt(tl.sum(x * x, 1) / WIDTH + 1e-5)[:, None]
    return x * tl.load(gain + columns)[None, :] + tl.load(bias + columns)[None, :]


@triton.jit
def times(x, matrix, stride, top, left, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """x @ matrix[top : top + ROWS, left : left + COLUMNS], in float32."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = (top + rows)[:, None] * stride + (left + columns)[None, :]
    return tl.dot(x, tl.load(matrix + at))


@triton.jit
def encoded(cards, row, matrices, vectors, FEATURES: tl.constexpr, WIDTH: tl.constexpr):
    """Cards after the zone's encoder, each with the vector of its row."""
    columns = tl.arange(0, WIDTH)
    x = times(cards, matrices, WIDTH, 0, 0, FEATURES, WIDTH)
    x = gelu(x + tl.load(vectors + columns)[None, :])
    x = normed(x, vectors + WIDTH, vectors + 2 * WIDTH, WIDTH)
    return x + tl.load(vectors + 3 * WIDTH + row[:, None] * WIDTH + columns[None, :])


@triton.jit
def attended(h, alike, matrix, vector, WIDTH: tl.constexpr, HEAD: tl.constexpr, M: tl.constexpr):
    """The output of attention. matrix: query, key and value, then the output projection."""
    found = tl.zeros((M, WIDTH), tl.float32) + tl.load(
        vector + 3 * WIDTH + tl.arange(0, WIDTH)[None, :]
    )
    projection = matrix + 3 * WIDTH * WIDTH
    columns = tl.arange(0, HEAD)
    for left in range(0, WIDTH, HEAD):
        bias = vector + left + columns
        q = times(h, matrix, 3 * WIDTH, 0, left, WIDTH, HEAD) + tl.load(bias)[None, :]
        k = times(h, matrix, 3 * WIDTH, 0, WIDTH + left, WIDTH, HEAD)
        k += tl.load(bias + WIDTH)[None, :]
        v = times(h, matrix, 3 * WIDTH, 0, 2 * WIDTH + left, WIDTH, HEAD)
        v += tl.load(bias + 2 * WIDTH)[None, :]
        likeness = tl.dot((q * HEAD**-0.5).to(tl.bfloat16), tl.trans(k.to(tl.bfloat16)))
        likeness = tl.where(alike, likeness, MASKED)
        weight = tl.exp(likeness - tl.max(likeness, 1)[:, None])
        mixed = tl.dot(weight.to(tl.bfloat16), v.to(tl.bfloat16)) / tl.sum(weight, 1)[:, None]
        found += times(mixed.to(tl.bfloat16), projection, WIDTH, left, 0, HEAD, WIDTH)
    return found


@triton.jit
def fed_mean(x, h, mine, matrix, vector, WIDTH: tl.constexpr, CHUNK: tl.constexpr):
    """Each view's mean of x plus the feed-forward part of h, or the empty zone's vector.

    The mean of a linear layer is the layer of the mean, so means go through the last one.
    mine: which cards are a view's. matrix: up, then down.
    """
    columns = tl.arange(0, WIDTH)
    card_counts = tl.sum(mine.to(tl.float32), 1)
    share = (1.0 / tl.maximum(card_counts, 1.0))[:, None]
    mine16 = mine.to(tl.bfloat16)
    mean = tl.dot(mine16, x.to(tl.bfloat16)) * share
    for left in range(0, 4 * WIDTH, CHUNK):
        hidden = times(h, matrix, 4 * WIDTH, 0, left, WIDTH, CHUNK)
        hidden = gelu(hidden + tl.load(vector + left + tl.arange(0, CHUNK))[None, :])
        pooled = tl.dot(mine16, hidden.to(tl.bfloat16)) * share
        mean += times(
            pooled.to(tl.bfloat16), matrix + 4 * WIDTH * WIDTH, WIDTH, left, 0, CHUNK, WIDTH
        )
    mean += tl.load(vector + 4 * WIDTH + columns)[None, :]
    empty = tl.load(vector + 5 * WIDTH + columns)[None, :]
    return tl.where((card_counts > 0.5)[:, None], mean, empty)


@triton.jit
def zone_kernel(
    views,  # float32 [count, VIEW]
    matrices,  # bfloat16, see `packed`
    vectors,  # float32, likewise
    out,  # bfloat16 [count, OUT]
    count,
    VIEW: tl.constexpr,
    AT: tl.constexpr,  # where the zone begins in a view
    ROWS: tl.constexpr,  # its cards
    NUMBERS: tl.constexpr,  # numbers of a card
    OUT: tl.constexpr,
    OUT_AT: tl.constexpr,
    WIDTH: tl.constexpr,
    HEAD: tl.constexpr,
    APART: tl.constexpr,  # rows per view in a tile: ROWS padded to a power of two
    M: tl.constexpr,  # rows of a tile
    GROUPS: tl.constexpr,  # views of a tile, 16 or more for the tensor cores
    FEATURES: tl.constexpr,
    CHUNK: tl.constexpr,
):
    rows, features, columns = tl.arange(0, M), tl.arange(0, FEATURES), tl.arange(0, WIDTH)
    view, row = rows // APART, rows % APART
    number = tl.program_id(0) * (M // APART) + view
    here = (row < ROWS) & (number < count)
    card = views + number.to(tl.int64) * VIEW + AT + row * NUMBERS
    cards = tl.load(
        card[:, None] + features[None, :],
        mask=here[:, None] & (features < NUMBERS)[None, :],
        other=0.0,
    )
    present = here & (tl.load(card, mask=here, other=0.0) >= 0.5)
    alike = (view[:, None] == view[None, :]) & present[None, :]

    x = encoded(cards.to(tl.bfloat16), row, matrices, vectors, FEATURES, WIDTH)
    matrix, vector = matrices + FEATURES * WIDTH, vectors + (3 + APART) * WIDTH
    h = normed(x, vector, vector + WIDTH, WIDTH).to(tl.bfloat16)
    x += attended(h, alike, matrix, vector + 2 * WIDTH, WIDTH, HEAD, M)
    h = normed(x, vector + 6 * WIDTH, vector + 7 * WIDTH, WIDTH).to(tl.bfloat16)
    groups = tl.arange(0, GROUPS)
    mine = (groups[:, None] == view[None, :]) & present[None, :]
    mean = fed_mean(x, h, mine, matrix + 4 * WIDTH * WIDTH, vector + 8 * WIDTH, WIDTH, CHUNK)
    number = tl.program_id(0) * (M // APART) + groups
    kept = (groups < M // APART) & (number < count)
    to = out + number.to(tl.int64)[:, None] * OUT + OUT_AT + columns[None, :]
    tl.store(to, mean.to(tl.bfloat16), mask=kept[:, None])


class FusedZones:
    """A network with fused zones, with its weights at the time of building or refreshing."""

    def __init__(self, net: ZoneNet) -> None:
        config, self.net = net.config, net
        self.width = config.width
        self.parts = len(config.zones) + 2  # opponents and scalars
        self.weights = [packed(*parts) for parts in zones_of(net)]
        self.sizes: list[dict[str, int]] = []
        at, rest = 0, {"VIEW": config.view_size, "OUT": self.parts * self.width}
        rest |= {"WIDTH": self.width, "HEAD": self.width // config.attention_heads}
        rest |= {"FEATURES": FEATURES, "CHUNK": 64, "num_warps": WARPS}
        for k, rows in enumerate([*(rows for _, rows in config.zones), config.opponents]):
            numbers, apart = config.sizes[k] // rows, triton.next_power_of_2(rows)
            tile = max(TILE, apart)
            self.sizes.append(
                rest
                | {"AT": at, "ROWS": rows, "NUMBERS": numbers, "OUT_AT": k * self.width}
                | {"APART": apart, "M": tile, "GROUPS": max(16, tile // apart)}
            )
            at += config.sizes[k]

    def refresh(self) -> None:
        """Copy the network's weights again, into the same memory."""
        for old, parts in zip(self.weights, zones_of(self.net), strict=True):
            for to, new in zip(old, packed(*parts), strict=True):
                to.copy_(new)

    def __call__(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of float32 views, as the network itself gives them in bfloat16."""
        count, width = len(views), self.width
        table = views.new_empty(count, self.parts * width, dtype=torch.bfloat16)
        for weights, sizes in zip(self.weights, self.sizes, strict=True):
            programs = triton.cdiv(count, sizes["M"] // sizes["APART"])
            zone_kernel[(programs,)](views, *weights, table, count, **sizes)
        scalars = views[:, -self.net.config.scalars :].to(torch.bfloat16)
        table[:, -width:] = nn.functional.gelu(self.net.scalars(scalars))
        return self.net.answer(self.net.fusion(table))


def zones_of(net: ZoneNet) -> Iterator[tuple[Tensor, Tensor, nn.LayerNorm, ZoneEncoder, int]]:
    """By zone: weight, bias and norm of its card encoder, the zone's encoder, and its rows."""
    config = net.config
    weight, bias = net.card.folded()
    for name, rows in config.zones:
        shown = weight
        if name in config.piles and not config.zone_positions:
            shown = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
        yield shown, bias, net.card.norm, _encoder(net, name), rows
    face_down = net.opponent_card
    encoder = _encoder(net, "opponents")
    yield face_down.linear.weight, face_down.linear.bias, face_down.norm, encoder, config.opponents


def _encoder(net: ZoneNet, name: str) -> ZoneEncoder:
    encoder = net.zones[name]
    assert isinstance(encoder, ZoneEncoder)
    return encoder


def packed(
    weight: Tensor, bias: Tensor, norm: nn.LayerNorm, encoder: ZoneEncoder, rows: int
) -> tuple[Tensor, Tensor]:
    """All matrices of a zone, input by output, one after another; and all its vectors."""
    width, apart = len(bias), triton.next_power_of_2(rows)
    first = torch.zeros(FEATURES, width, device=bias.device)
    first[: weight.shape[1]] = weight.T
    places = torch.zeros(apart, width, device=bias.device)
    if encoder.places is not None:
        places[: len(encoder.places)] = encoder.places
    (layer,) = encoder.layers
    assert isinstance(layer, ZoneLayer)
    matrices = [first, *(part.weight.T for part in (layer.qkv, layer.out, layer.up, layer.down))]
    vectors = [bias, norm.weight, norm.bias, places]
    vectors += [layer.attention_norm.weight, layer.attention_norm.bias]
    vectors += [layer.qkv.bias, layer.out.bias]
    vectors += [layer.feed_norm.weight, layer.feed_norm.bias, layer.up.bias, layer.down.bias]
    vectors.append(encoder.empty)
    return (
        torch.cat([m.detach().reshape(-1) for m in matrices]).to(torch.bfloat16),
        torch.cat([v.detach().reshape(-1) for v in vectors]).float(),
    )
