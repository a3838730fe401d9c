"""BandDPER in plain Python: about a tenth of a second for one position.

network = load("banddper_weights.json")
network.evaluate("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2").value
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from pathlib import Path

from .escampe import BANDS, CELLS, PERSPECTIVE, PLANES, SIDE, VIEW_SIZE
from .evaluation import Evaluator
from .weights import CHANNELS, Weights, read_weights

CONSTANT = (4, 5, 6)  # the planes of the bands, which never change
FIRST, SECOND = CHANNELS
Rows = list[list[float]]


def load(path: str | Path, encoding: str | None = None) -> BandDper:
    """The network in `banddper_weights.json`, once it has passed its self-test."""
    network = BandDper(read_weights(path, encoding))
    network.check(path)
    return network


class BandDper(Evaluator):
    """BandDPER with lists of numbers. All buffers are made once."""

    def __init__(self, weights: Weights) -> None:
        self.view = [0.0] * VIEW_SIZE
        super().__init__(weights.facts, self.view)
        tensors, width = weights.tensors, weights.facts.width
        self._near = kernels(tensors["enc_conv1_w"], FIRST, PLANES)
        self._near_bias = cell_biases(self._near, tensors["enc_conv1_b"])
        self._far = [
            [kernel[tap] for tap in range(9) for kernel in out] for out in _by_output(tensors)
        ]
        self._far_bias = tensors["enc_conv2_b"]
        self._project = rows(tensors["enc_proj_w"], SECOND * CELLS), tensors["enc_proj_b"]
        self._blocks = [
            [
                (rows(tensors[f"res{block}_{layer}_w"], width), tensors[f"res{block}_{layer}_b"])
                for layer in ("l1", "l2")
            ]
            for block in range(weights.facts.blocks)
        ]
        self._hidden = rows(tensors["out1_w"], width), tensors["out1_b"]
        self._out = tensors["out2_w"], tensors["out2_b"][0]
        self._forced_pass = tensors["w_forced_pass"][0]
        self._cells = [[0.0] * FIRST for _ in range(CELLS)]
        self._nothing = [0.0] * FIRST  # what lies outside the board
        self._flat = [0.0] * (SECOND * CELLS)

    def raw(self) -> float:
        view = self.view
        x = self._encoded(0) + self._encoded(PERSPECTIVE) + view[2 * PERSPECTIVE : -1]
        for first, second in self._blocks:
            hidden = linear(*first, x)
            inner = relu(hidden) if self.facts.inner == "relu" else clipped(hidden)
            x = clipped([a + b for a, b in zip(x, linear(*second, inner), strict=True)])
        weights, bias = self._out
        hidden = relu(linear(*self._hidden, x))
        raw: float = bias + self._forced_pass * view[-1] + sum(map(mul, weights, hidden))
        return raw

    def _encoded(self, first: int) -> list[float]:
        """The embedding of the perspective that begins at `first` in the view."""
        self._convolve_near(first)
        nothing, cells, flat = self._nothing, self._cells, self._flat
        for cell in range(CELLS):
            seen: list[float] = []
            for neighbour in FAR[cell]:
                seen += nothing if neighbour is None else cells[neighbour]
            for channel, kernel in enumerate(self._far):
                total = sum(map(mul, kernel, seen)) + self._far_bias[channel]
                flat[channel * CELLS + cell] = total if total > 0.0 else 0.0
        return clipped(linear(*self._project, flat))

    def _convolve_near(self, first: int) -> None:
        """The first convolution, input by input: most inputs are zero."""
        for total, bias in zip(self._cells, self._near_bias, strict=True):
            total[:] = bias
        for plane in range(PLANES):
            if plane in CONSTANT:
                continue
            for cell in range(CELLS):
                number = self.view[first + plane * CELLS + cell]
                if number:
                    add_input(self._cells, self._near[plane], cell, number)
        for total in self._cells:
            total[:] = relu(total)


def _by_output(tensors: dict[str, list[float]]) -> list[Rows]:
    """The second convolution by output and input channel: nine numbers each."""
    flat = rows(tensors["enc_conv2_w"], 9)
    return [flat[FIRST * out : FIRST * (out + 1)] for out in range(SECOND)]


def kernels(flat: Sequence[float], outputs: int, inputs: int) -> list[Rows]:
    """A convolution of 3 x 3 by input channel, tap and output channel."""
    return [
        [[flat[(out * inputs + plane) * 9 + tap] for out in range(outputs)] for tap in range(9)]
        for plane in range(inputs)
    ]


def cell_biases(near: list[Rows], bias: Sequence[float]) -> Rows:
    """The bias of the first convolution by cell, with what the constant planes add."""
    biases = [list(bias) for _ in range(CELLS)]
    for cell, band in enumerate(BANDS):
        add_input(biases, near[CONSTANT[band - 1]], cell, 1.0)
    return biases


def add_input(totals: Rows, kernel: Rows, cell: int, number: float) -> None:
    """Add what one input adds to the outputs around it."""
    for tap, to in enumerate(NEAR[cell]):
        if to is not None:
            weights, total = kernel[8 - tap], totals[to]  # seen from `to`, the input is opposite
            for channel, weight in enumerate(weights):
                total[channel] += number * weight


def neighbours(distance: int) -> list[list[int | None]]:
    """By cell the nine cells around it, row by row; None outside the board."""
    around: list[list[int | None]] = []
    for cell in range(CELLS):
        row, column = divmod(cell, SIDE)
        places = [
            (row + down * distance, column + right * distance)
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
        ]
        around.append(
            [r * SIDE + c if 0 <= r < SIDE and 0 <= c < SIDE else None for r, c in places]
        )
    return around


NEAR, FAR = neighbours(1), neighbours(2)


def rows(flat: list[float], length: int) -> Rows:
    return [flat[first : first + length] for first in range(0, len(flat), length)]


def linear(weights: Rows, biases: list[float], x: list[float]) -> list[float]:
    return [sum(map(mul, row, x)) + bias for row, bias in zip(weights, biases, strict=True)]


def relu(x: list[float]) -> list[float]:
    return [number if number > 0.0 else 0.0 for number in x]


def clipped(x: list[float]) -> list[float]:
    return [min(max(number, 0.0), 1.0) for number in x]
