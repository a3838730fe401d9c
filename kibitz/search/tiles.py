"""Products of small matrices at the full speed of one core, for compiled inference.

Left to itself, the compiler writes every partial sum back to memory. A *tile* keeps its sums in
vector registers: a few rows of the result, COLUMNS wide. So weights are packed into panels of that
many columns, one panel after the other, each row by row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from ..game import rule

LANES = 16  # numbers of a vector; narrower machines split them
COLUMNS = 2 * LANES
FUSED = ("contract",)  # one rounding for product and sum, where the machine can do that

Floats = NDArray[np.float32]
Value: TypeAlias = Any  # llvmlite's
NUMBER, VECTOR = ir.FloatType(), ir.VectorType(ir.FloatType(), LANES)
PLACE = ir.IntType(64)


class Rows(NamedTuple):
    """Rows of numbers in an array of float32."""

    numbers: Floats
    at: int
    """Where the first row begins, counted in numbers."""
    step: int
    """From one row to the next."""


def panels(matrix: Floats) -> Floats:
    """A matrix [depth, columns] in panels, with zeros up to a multiple of COLUMNS, flat."""
    depth, columns = matrix.shape
    padded = np.zeros((depth, padded_to_panels(columns)), np.float32)
    padded[:, :columns] = matrix
    return padded.reshape(depth, -1, COLUMNS).transpose(1, 0, 2).reshape(-1).copy()


def padded_to_panels(columns: int) -> int:
    return -(-columns // COLUMNS) * COLUMNS


def tile(rows: int, columns: int = COLUMNS) -> Callable[..., None]:
    """A compiled function that adds the product of `rows` rows and one panel to the result.

    `f(x, panel, out, (x_at, x_step, panel_at, out_at, out_step), depth)`, all arrays C-contiguous.
    """
    if numba.config.DISABLE_JIT:
        return functools.partial(_interpreted, rows, columns)

    @intrinsic  # type: ignore[untyped-decorator]
    def product(
        typing_context: object,
        x: types.Array,
        panel: types.Array,
        out: types.Array,
        at: Value,
        depth: Value,
    ) -> tuple[Value, Callable[..., Value]]:
        def generate(
            context: Value, builder: Value, signature: Value, args: Sequence[Value]
        ) -> Value:
            kinds, arrays = signature.args[:3], args[:3]
            pointers = [
                context.make_array(kind)(context, builder, array).data
                for kind, array in zip(kinds, arrays, strict=True)
            ]
            at = cgutils.unpack_tuple(builder, args[3], 5)
            _write_tile(builder, (rows, columns), pointers, at, args[4])
            return context.get_dummy_value()

        assert all(
            array.layout == "C" and array.dtype == types.float32 for array in (x, panel, out)
        )
        places = types.UniTuple(types.int64, 5)
        return types.void(x, panel, out, places, types.int64), generate

    return product  # type: ignore[no-any-return]


def _write_tile(
    builder: Value,
    size: tuple[int, int],
    pointers: Sequence[Value],
    at: Sequence[Value],
    depth: Value,
) -> None:
    """Write the code of a tile: load the sums, add one row of the panel after the other, store."""
    (rows, columns), (x, panel, out) = size, pointers
    x_at, x_step, panel_at, out_at, out_step = at
    vectors = columns // LANES
    sums = []  # a row's vectors in memory, with the variables that become registers
    for row in range(rows):
        first = builder.add(out_at, builder.mul(out_step, PLACE(row)))
        for vector in range(vectors):
            place = _vector_at(builder, out, first, vector)
            sums.append((place, cgutils.alloca_once(builder, VECTOR)))
            builder.store(builder.load(place, align=4), sums[-1][1])
    with cgutils.for_range(builder, depth) as loop:
        first = builder.add(panel_at, builder.mul(loop.index, PLACE(columns)))
        weights = [
            builder.load(_vector_at(builder, panel, first, vector), align=4)
            for vector in range(vectors)
        ]
        for row in range(rows):
            place = builder.add(builder.add(x_at, builder.mul(x_step, PLACE(row))), loop.index)
            factor = _spread(builder, builder.load(builder.gep(x, [place])))
            for vector, weight in enumerate(weights):
                total = sums[row * vectors + vector][1]
                added = builder.fmul(factor, weight, flags=FUSED)
                builder.store(builder.fadd(builder.load(total), added, flags=FUSED), total)
    for place, total in sums:
        builder.store(builder.load(total), place, align=4)


def _vector_at(builder: Value, base: Value, first: Value, vector: int) -> Value:
    """A pointer to one of the vectors that begin at number `first` of an array."""
    number = builder.gep(base, [builder.add(first, PLACE(vector * LANES))])
    return builder.bitcast(number, VECTOR.as_pointer())


def _spread(builder: Value, number: Value) -> Value:
    """A vector that has `number` in all lanes."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    single = builder.insert_element(nothing, number, ir.IntType(32)(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, nothing, lanes)


def _interpreted(
    rows: int,
    columns: int,
    x: Floats,
    panel: Floats,
    out: Floats,
    at: Sequence[int],
    depth: int,
) -> None:
    """What a tile does, for the debugger."""
    x_at, x_step, panel_at, out_at, out_step = at
    x, panel, out = x.reshape(-1), panel.reshape(-1), out.reshape(-1)
    weights = panel[panel_at : panel_at + depth * columns].reshape(depth, columns)
    for row in range(rows):
        first = x_at + row * x_step
        to = out_at + row * out_step
        out[to : to + columns] += x[first : first + depth] @ weights


four_rows, two_rows, one_row = tile(4), tile(2), tile(1)


@rule
def add_product(x, rows, panel, panel_at, depth, out):
    """Add to `rows` rows of `out`, COLUMNS wide, the product of those of `x` with one panel.

    x, out: Rows.
    """
    row = 0
    while row + 4 <= rows:
        at = (x.at + row * x.step, x.step, panel_at, out.at + row * out.step, out.step)
        four_rows(x.numbers, panel, out.numbers, at, depth)
        row += 4
    if row + 2 <= rows:
        at = (x.at + row * x.step, x.step, panel_at, out.at + row * out.step, out.step)
        two_rows(x.numbers, panel, out.numbers, at, depth)
        row += 2
    if row < rows:
        at = (x.at + row * x.step, x.step, panel_at, out.at + row * out.step, out.step)
        one_row(x.numbers, panel, out.numbers, at, depth)


@rule
def linear(x, rows, depth, weights, weights_at, biases, out):
    """Write to `out` the layer of `rows` rows of `x`: a bias and the product with all panels.

    biases: Rows, of which the first is used. The panels cover its `step` numbers.
    """
    given, written = biases.numbers.reshape(-1), out.numbers.reshape(-1)
    for row in range(rows):
        for column in range(biases.step):
            written[out.at + row * out.step + column] = given[biases.at + column]
    for first in range(0, biases.step, COLUMNS):
        part = Rows(out.numbers, out.at + first, out.step)
        add_product(x, rows, weights, weights_at + first * depth, depth, part)
