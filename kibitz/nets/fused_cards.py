"""One GPU kernel for a `CardSetNet`: the tokens of a view never leave the chip.

Run layer by layer, the network spends its time on memory traffic. Here a program reads the cards of
a few views, carries their tokens through all transformer layers, and writes what the heads need:
the global token, the mean of the cards, and each card's logits. Tokens of several views lie below
each other in one tile; a mask keeps them from attending to each other. A second kernel writes the
logits by action, each row once.

Weights are copied when the kernels are built: call `refresh` after a step of training.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional

from .card_set import (
    ABSENT,
    ACTIVE,
    AT_TABLE,
    FAMILIES,
    FEATURES,
    ID,
    IDS,
    PLACES,
    SCALAR_PLACES,
    CardSetNet,
    TokenLayer,
)
from .fused import MASKED, times

TILE = 64  # rows of a program: tokens of as many whole views as fit
CHUNK = 64  # columns of the hidden layer at a time
WARPS = 4
STAGES = 2  # weights are loaded so far ahead
INPUTS = tl.constexpr(64)  # a card's features, padded to what a tensor core takes
AT_TABLE_INPUTS = tl.constexpr(32)
EMBEDDED = tl.constexpr(128)  # hidden numbers of the card embedding, likewise
HIDDEN = tl.constexpr(96)  # so many of them are real
LOGITS = tl.constexpr(16)  # families, likewise
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def gelu(x):
    """Within 1e-4 of gelu: far less than bfloat16 rounds off, in far fewer instructions.

    A polynomial fitted to the normal distribution between -4.125 and 4.125, constant beyond.
    """
    near = tl.clamp(x, -4.125, 4.125)
    square = near * near
    y = square * -8.892470537820615e-10 + 7.861631240019284e-08
    y = y * square - 3.017427244630209e-06
    y = y * square + 6.661860113293872e-05
    y = y * square - 0.0009486854098841621
    y = y * square + 0.009290648169517792
    y = y * square - 0.06551453977421463
    y = y * square + 0.3984576741358697
    return x * (y * near + 0.5)


@triton.jit
def scaled(x, gain, WIDTH: tl.constexpr):
    """Layer norm over the last axis, without the bias: that is folded into the next matrix's."""
    x = x - (tl.sum(x, 1) / WIDTH)[:, None]
    x = x * tl.rsqrt(tl.sum(x * x, 1) / WIDTH + 1e-5)[:, None]
    return x * tl.load(gain + tl.arange(0, WIDTH))[None, :]


@triton.jit
def part_normed(x, gain, bias, REAL: tl.constexpr, WIDTH: tl.constexpr):
    """Layer norm over the first REAL columns; the others are zero before and after."""
    columns = tl.arange(0, WIDTH)
    x = tl.where((columns < REAL)[None, :], x - (tl.sum(x, 1) / REAL)[:, None], 0.0)
    x = x * tl.rsqrt(tl.sum(x * x, 1) / REAL + 1e-5)[:, None]
    return x * tl.load(gain + columns)[None, :] + tl.load(bias + columns)[None, :]


@triton.jit
def numbers(card, here, channels, NUMBERS: tl.constexpr):
    """A card's numbers in these channels, zero where a channel is negative. [cards, NUMBERS]"""
    at = tl.load(channels + tl.arange(0, NUMBERS))
    shown = here[:, None] & (at >= 0)[None, :]
    return tl.load(card[:, None] + at[None, :], mask=shown, other=0.0).to(tl.bfloat16)


@triton.jit
def embedded(card, here, channels, matrix, vector, WIDTH: tl.constexpr):
    """Tokens of cards from their features and their numbers at this table."""
    hidden, columns = tl.arange(0, EMBEDDED), tl.arange(0, WIDTH)
    x = times(numbers(card, here, channels, INPUTS), matrix, EMBEDDED, 0, 0, INPUTS, EMBEDDED)
    x += tl.load(vector + hidden)[None, :]
    x = gelu(part_normed(x, vector + EMBEDDED, vector + 2 * EMBEDDED, HIDDEN, EMBEDDED))
    matrix, vector = matrix + INPUTS * EMBEDDED, vector + 3 * EMBEDDED
    x = times(x.to(tl.bfloat16), matrix, EMBEDDED, 0, 0, EMBEDDED, EMBEDDED)
    x += tl.load(vector + hidden)[None, :]
    x = gelu(part_normed(x, vector + EMBEDDED, vector + 2 * EMBEDDED, HIDDEN, EMBEDDED))
    matrix, vector = matrix + EMBEDDED * EMBEDDED, vector + 3 * EMBEDDED
    x = times(x.to(tl.bfloat16), matrix, WIDTH, 0, 0, EMBEDDED, WIDTH)
    x = scaled(x + tl.load(vector + columns)[None, :], vector + WIDTH, WIDTH)
    at_table = numbers(card, here, channels + INPUTS, AT_TABLE_INPUTS)
    x += times(at_table, matrix + EMBEDDED * WIDTH, WIDTH, 0, 0, AT_TABLE_INPUTS, WIDTH)
    return x + tl.load(vector + 2 * WIDTH + columns)[None, :]


@triton.jit
def halves(x, M: tl.constexpr, HALF: tl.constexpr):
    """The left and the right half of a matrix: a thread has as many columns of either."""
    return tl.split(tl.permute(tl.reshape(x, (M, 2, HALF)), (0, 2, 1)))


@triton.jit
def masks(view, seen, CODES: tl.constexpr):
    """Two matrices whose product is 0 where a token may attend to another, else MASKED.

    Adding a product takes fewer instructions than a comparison for each pair of tokens.
    """
    is_own = view[:, None] == tl.arange(0, CODES)[None, :]
    barred = tl.where(is_own & seen[:, None], 0.0, MASKED)
    return tl.where(is_own, 1.0, 0.0).to(tl.bfloat16), barred.to(tl.bfloat16)


@triton.jit
def mixed(q, k, v, own, barred):
    """What the tokens of one head attend to. own, barred: see `masks`."""
    likeness = tl.dot(own, tl.trans(barred), tl.dot(q, tl.trans(k)))
    weight = tl.exp2(likeness - tl.max(likeness, 1)[:, None])
    found = tl.dot(weight.to(tl.bfloat16), v) * (1.0 / tl.sum(weight, 1))[:, None]
    return found.to(tl.bfloat16)


@triton.jit
def attended(
    x, own, barred, matrix, vector, WIDTH: tl.constexpr, HEAD: tl.constexpr, M: tl.constexpr
):
    """x with what it attends to, head by head. matrix: see `attention_parts`."""
    h = scaled(x, vector, WIDTH).to(tl.bfloat16)
    x += tl.load(vector + 2 * WIDTH + tl.arange(0, WIDTH))[None, :]
    projection, bias = matrix + 3 * WIDTH * WIDTH, vector + WIDTH
    for left in range(0, WIDTH, HEAD):
        head = matrix + 3 * WIDTH * left
        q, k = halves(times(h, head, 2 * HEAD, 0, 0, WIDTH, 2 * HEAD), M, HEAD)
        v = times(h, head + 2 * WIDTH * HEAD, HEAD, 0, 0, WIDTH, HEAD).to(tl.bfloat16)
        q += tl.load(bias + left + tl.arange(0, HEAD))[None, :]
        q, k = (q * (HEAD**-0.5 * LOG2_E)).to(tl.bfloat16), k.to(tl.bfloat16)
        x += times(mixed(q, k, v, own, barred), projection, WIDTH, left, 0, HEAD, WIDTH)
    return x


@triton.jit
def fed(x, matrix, vector, WIDTH: tl.constexpr, CHUNK: tl.constexpr):
    """x with its feed-forward part. matrix: up, then down."""
    h = scaled(x, vector, WIDTH).to(tl.bfloat16)
    x += tl.load(vector + 5 * WIDTH + tl.arange(0, WIDTH))[None, :]
    for left in range(0, 4 * WIDTH, CHUNK):
        hidden = times(h, matrix, 4 * WIDTH, 0, left, WIDTH, CHUNK)
        hidden = gelu(hidden + tl.load(vector + WIDTH + left + tl.arange(0, CHUNK))[None, :])
        x += times(hidden.to(tl.bfloat16), matrix + 4 * WIDTH * WIDTH, WIDTH, left, 0, CHUNK, WIDTH)
    return x


@triton.jit(do_not_specialize=["count"])  # compiling takes seconds
def card_kernel(
    views,  # float32 [count, VIEW]
    table,  # bfloat16 [count, WIDTH]: the global token
    channels,  # int32: where a card's features are, and its numbers at this table
    matrices,  # bfloat16, see `packed`
    vectors,  # float32, likewise
    both,  # bfloat16 [count, 2 * WIDTH]: out comes the global token, then the mean of the cards
    families,  # float32 [count, TOKENS - 1, LOGITS]: each card's logits
    count,
    VIEW: tl.constexpr,
    ACTIVE: tl.constexpr,  # where a view says which slots hold cards
    TOKENS: tl.constexpr,  # of a view
    WIDTH: tl.constexpr,
    HEAD: tl.constexpr,
    LAYERS: tl.constexpr,
    M: tl.constexpr,  # rows of a tile
    CODES: tl.constexpr,  # more than views of a tile, 16 or more for the tensor cores
    CHUNK: tl.constexpr,
):
    rows, columns = tl.arange(0, M), tl.arange(0, WIDTH)
    view, token = rows // TOKENS, rows % TOKENS
    number = (tl.program_id(0) * (M // TOKENS) + view).to(tl.int64)
    here = (view < M // TOKENS) & (number < count)
    is_card = here & (token > 0)
    card = views + number * VIEW + token - 1
    held = is_card & (tl.load(card + ACTIVE, mask=is_card, other=0.0) >= 0.5)
    is_table = here & (token == 0)
    own, barred = masks(view, held | is_table, CODES)

    x = embedded(card, is_card, channels, matrices, vectors, WIDTH)
    given = table + number[:, None] * WIDTH + columns[None, :]
    x = tl.where(is_table[:, None], tl.load(given, mask=is_table[:, None], other=0.0), x)
    matrix = matrices + (INPUTS + EMBEDDED) * EMBEDDED + (EMBEDDED + AT_TABLE_INPUTS) * WIDTH
    vector = vectors + 6 * EMBEDDED + 3 * WIDTH
    for _ in range(LAYERS):
        x = attended(x, own, barred, matrix, vector, WIDTH, HEAD, M)
        x = fed(x, matrix + 4 * WIDTH * WIDTH, vector + 3 * WIDTH, WIDTH, CHUNK)
        matrix += 12 * WIDTH * WIDTH
        vector += 9 * WIDTH

    h = (scaled(x, vector, WIDTH) + tl.load(vector + WIDTH + columns)[None, :]).to(tl.bfloat16)
    family = tl.arange(0, LOGITS)
    logits = times(h, matrix, LOGITS, 0, 0, WIDTH, LOGITS)
    logits += tl.load(vector + 2 * WIDTH + family)[None, :]
    slot = families + (number * (TOKENS - 1) + token - 1) * LOGITS
    tl.store(slot[:, None] + family[None, :], logits, mask=is_card[:, None])
    to = both + number[:, None] * (2 * WIDTH) + columns[None, :]
    tl.store(to, h, mask=is_table[:, None])
    tl.store(to + WIDTH, mean(h, view, held), mask=is_table[:, None])


@triton.jit
def mean(h, view, held):
    """In each row the mean of its view's cards, zeros if it has none."""
    mine = tl.where((view[:, None] == view[None, :]) & held[None, :], 1.0, 0.0)
    cards = tl.maximum(tl.sum(mine, 1), 1.0)
    return (tl.dot(mine.to(tl.bfloat16), h) / cards[:, None]).to(tl.bfloat16)


@triton.jit
def spread_kernel(
    views,  # float32 [count, VIEW]
    families,  # float32 [count, SLOTS, LOGITS]
    control,  # bfloat16 [count, IDS]
    out,  # float32 [count, (FAMILIES + 1) * IDS]
    VIEW: tl.constexpr,
    ACTIVE: tl.constexpr,
    ID: tl.constexpr,
    SLOTS: tl.constexpr,
    ROWS: tl.constexpr,  # SLOTS padded to a power of two
    FAMILIES: tl.constexpr,
    IDS: tl.constexpr,
    ABSENT: tl.constexpr,
):
    number = tl.program_id(0).to(tl.int64)
    row, ids = out + number * (FAMILIES + 1) * IDS, tl.arange(0, IDS)
    for family in tl.static_range(FAMILIES):
        tl.store(row + family * IDS + ids, tl.full((IDS,), ABSENT, tl.float32))
    tl.store(row + FAMILIES * IDS + ids, tl.load(control + number * IDS + ids).to(tl.float32))
    slots, family = tl.arange(0, ROWS), tl.arange(0, LOGITS)
    card = views + number * VIEW + slots
    held = tl.load(card + ACTIVE, mask=slots < SLOTS, other=0.0) >= 0.5
    id_ = (tl.load(card + ID, mask=held, other=0.0) * IDS + 0.5).to(tl.int32) - 1
    written = (held & (id_ >= 0) & (id_ < IDS))[:, None] & (family < FAMILIES)[None, :]
    at = (number * SLOTS + slots)[:, None] * LOGITS + family[None, :]
    logits = tl.load(families + at, mask=written, other=0.0)
    tl.debug_barrier()  # other threads wrote ABSENT there
    tl.store(row + family[None, :] * IDS + id_[:, None], logits, mask=written)


class FusedCards:
    """A network as kernels, with its weights at the time of building or refreshing."""

    def __init__(self, net: CardSetNet) -> None:
        config, self.net = net.config, net
        self.weights = packed(net)
        self.channels = slot_channels().to(net.places.device)
        self.views_together = TILE // (config.slots + 1)
        shared = {"VIEW": config.view_size, "ACTIVE": ACTIVE * PLACES}
        self.sizes = shared | {
            "TOKENS": config.slots + 1,
            "WIDTH": config.width,
            "HEAD": config.width // config.attention_heads,
            "LAYERS": config.layers,
            "M": TILE,
            "CODES": triton.next_power_of_2(max(16, self.views_together + 1)),
            "CHUNK": CHUNK,
            "num_warps": WARPS,
            "num_stages": STAGES,
        }
        self.spread_sizes = shared | {
            "ID": ID * PLACES,
            "SLOTS": config.slots,
            "ROWS": triton.next_power_of_2(config.slots),
            "FAMILIES": FAMILIES,
            "IDS": IDS,
            "ABSENT": ABSENT,
        }

    def refresh(self) -> None:
        """Copy the network's weights again, into the same memory."""
        for to, new in zip(self.weights, packed(self.net), strict=True):
            to.copy_(new)

    def __call__(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of float32 views, as the network itself gives them in bfloat16."""
        views = views.flatten(1)
        both, families = self.transformed(views, self.table(views))
        value = self.net.value(both).float().tanh()
        return self.logits(views, both, families), torch.cat((value, -value), 1)

    def table(self, views: Tensor) -> Tensor:
        """The global token before the first layer. bfloat16 [count, width]"""
        scalars = views[:, self.net.places[: len(SCALAR_PLACES)]]
        table: Tensor = self.net.scalars(scalars.to(torch.bfloat16))
        return table

    def transformed(self, views: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        """The global token and the mean of the cards side by side, and each card's logits."""
        count, config = len(views), self.net.config
        both = table.new_empty(count, 2 * config.width)
        families = views.new_empty(count, config.slots, LOGITS.value)
        grid = (triton.cdiv(count, self.views_together),)
        if count:
            card_kernel[grid](
                views, table, self.channels, *self.weights, both, families, count, **self.sizes
            )
        return both, families

    def logits(self, views: Tensor, both: Tensor, families: Tensor) -> Tensor:
        """Logits by action. float32 [count, 4096]"""
        control = self.net.control(both[:, : self.net.config.width])
        logits = views.new_empty(len(views), (FAMILIES + 1) * IDS)
        if len(views):
            spread_kernel[(len(views),)](views, families, control, logits, **self.spread_sizes)
        return logits


def packed(net: CardSetNet) -> tuple[Tensor, Tensor]:
    """All matrices, input by output, one after another; and all vectors."""
    matrices, vectors = zip(*parts_of(net), strict=True)
    return (
        torch.cat([m.detach().reshape(-1) for part in matrices for m in part]).to(torch.bfloat16),
        torch.cat([v.detach().reshape(-1) for part in vectors for v in part]).float(),
    )


def parts_of(net: CardSetNet) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """Matrices and vectors of the card embedding, of each layer, and of what comes after."""
    yield embedding_parts(net)
    for layer in net.layers:
        assert isinstance(layer, TokenLayer)
        yield attention_parts(layer)
        yield feed_parts(layer)
    weight, bias = (padded(part, (LOGITS,)) for part in (net.families.weight, net.families.bias))
    yield [weight.T], [net.norm.weight, net.norm.bias, bias]


def embedding_parts(net: CardSetNet) -> tuple[list[Tensor], list[Tensor]]:
    """Three layers and what is known of a card at this table; bias, gain and bias of each norm."""
    first, second, last = (part for part in net.card if isinstance(part, nn.Linear))
    norms = [part for part in net.card if isinstance(part, nn.LayerNorm)]
    matrices = [
        padded(first.weight, (EMBEDDED, INPUTS)).T,
        padded(second.weight, (EMBEDDED, EMBEDDED)).T,
        padded(last.weight.T, (EMBEDDED,)),
        padded(net.at_table.weight.T, (AT_TABLE_INPUTS,)),
    ]
    vectors = [
        padded(vector, (EMBEDDED,))
        for linear, norm in ((first, norms[0]), (second, norms[1]))
        for vector in (linear.bias, norm.weight, norm.bias)
    ]
    # Both are added to the token: one vector in float32 does for the two.
    bias = norms[2].bias.float() + net.at_table.bias.float()
    return matrices, [*vectors, last.bias, norms[2].weight, bias]


def attention_parts(layer: TokenLayer) -> tuple[list[Tensor], list[Tensor]]:
    """By head: query and key side by side, then value. At last the output's matrix.

    The norm's bias goes into the biases after it. That of the keys changes no weight of attention;
    that of the values comes out as it is, since the weights sum to 1: it is part of the output's.
    """
    norm, qkv, out = layer.attention_norm, layer.qkv, layer.out
    matrices = []
    for part in qkv.weight.unflatten(0, (3, layer.heads, -1)).unbind(1):
        matrices += [part[:2].flatten(0, 1).T, part[2].T]
    query, _, value = folded(qkv, norm).chunk(3)
    bias = functional.linear(value, out.weight.float(), out.bias.float())
    return [*matrices, out.weight.T], [norm.weight, query, bias]


def feed_parts(layer: TokenLayer) -> tuple[list[Tensor], list[Tensor]]:
    """Up and down; gain and two biases."""
    norm = layer.feed_norm
    vectors = [norm.weight, folded(layer.up, norm), layer.down.bias]
    return [layer.up.weight.T, layer.down.weight.T], vectors


def folded(linear: nn.Linear, norm: nn.LayerNorm) -> Tensor:
    """The bias of a layer that takes over the bias of the norm in front of it, in float32."""
    return functional.linear(norm.bias.float(), linear.weight.float(), linear.bias.float())


def padded(part: Tensor, sizes: tuple[tl.constexpr, ...]) -> Tensor:
    """A matrix or vector with zeros behind, so that its first axes have these sizes."""
    first = [size.value for size in sizes]
    whole = part.new_zeros(*first, *part.shape[len(first) :])
    whole[tuple(slice(size) for size in part.shape)] = part
    return whole


def slot_channels() -> Tensor:
    """Where a card's features begin in a view, then its numbers at this table; -1 where none."""
    parts = []
    for channels, size in ((FEATURES, INPUTS), (AT_TABLE, AT_TABLE_INPUTS)):
        places = [channel * PLACES for channel in channels]
        parts += [*places, *[-1] * (size.value - len(places))]
    return torch.tensor(parts, dtype=torch.int32)
