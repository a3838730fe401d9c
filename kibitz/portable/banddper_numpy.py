"""BandDPER with NumPy: about a millisecond for one position.

network = load("banddper_weights.json")
network.evaluate("nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2").value
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .banddper import CONSTANT, FAR, FIRST, NEAR, SECOND
from .escampe import BANDS, CELLS, PERSPECTIVE, PLANES, VIEW_SIZE
from .evaluation import Evaluator
from .weights import Weights, read_weights

Floats = NDArray[np.float32]
CHANGING = [plane for plane in range(PLANES) if plane not in CONSTANT]


def load(path: str | Path, encoding: str | None = None) -> BandDper:
    """The network in `banddper_weights.json`, once it has passed its self-test."""
    network = BandDper(read_weights(path, encoding))
    network.check(path)
    return network


class BandDper(Evaluator):
    """BandDPER with arrays of float32. All large buffers are made once."""

    def __init__(self, weights: Weights) -> None:
        self.view: Floats = np.zeros(VIEW_SIZE, np.float32)
        super().__init__(weights.facts, self.view)
        shapes = weights.facts.shapes
        self._tensors = {
            name: np.array(numbers, np.float32).reshape(shapes[name])
            for name, numbers in weights.tensors.items()
        }
        near, self._near_bias = self._split_near()
        self._near = near.reshape(-1, FIRST)
        far = self._tensors["enc_conv2_w"].reshape(SECOND, FIRST, 9)
        self._far = far.transpose(2, 1, 0).reshape(-1, SECOND).copy()
        # One row more than there are cells, always zero: what lies outside the board.
        self._planes = np.zeros((2, CELLS + 1, len(CHANGING)), np.float32)
        self._cells = np.zeros((2, CELLS + 1, FIRST), np.float32)
        self._flat = np.zeros((2, SECOND, CELLS), np.float32)

    def _split_near(self) -> tuple[Floats, Floats]:
        """The first convolution by tap, changing plane and output, and its bias by cell.

        The planes of the bands never change, so what they add is part of the bias.
        """
        kernel = self._tensors["enc_conv1_w"].reshape(FIRST, PLANES, 9).transpose(2, 1, 0)
        bands = np.zeros((CELLS + 1, len(CONSTANT)), np.float32)
        bands[np.arange(CELLS), np.array(BANDS) - 1] = 1.0
        constant = np.einsum("ctb,tbo->co", bands[AROUND], kernel[:, list(CONSTANT)])
        return kernel[:, CHANGING].copy(), constant + self._tensors["enc_conv1_b"]

    def raw(self) -> float:
        tensors, view = self._tensors, self.view
        x = np.concatenate((self._encoded().reshape(-1), view[2 * PERSPECTIVE : -1]))
        clips = self.facts.inner == "clipped"
        for block in range(self.facts.blocks):
            hidden = np.maximum(self._linear(f"res{block}_l1", x), 0.0)
            hidden = np.minimum(hidden, 1.0) if clips else hidden
            x = np.clip(x + self._linear(f"res{block}_l2", hidden), 0.0, 1.0)
        hidden = np.maximum(self._linear("out1", x), 0.0)
        raw = self._linear("out2", hidden)[0] + tensors["w_forced_pass"] * view[-1]
        return float(raw)

    def _linear(self, name: str, x: Floats) -> Floats:
        product: Floats = x @ self._tensors[f"{name}_w"].T + self._tensors[f"{name}_b"]
        return product

    def _encoded(self) -> Floats:
        """The embeddings of both perspectives. [2, embedding]"""
        planes = self.view[: 2 * PERSPECTIVE].reshape(2, PLANES, CELLS)
        self._planes[:, :CELLS] = planes[:, CHANGING].transpose(0, 2, 1)
        near = self._planes[:, AROUND].reshape(2 * CELLS, -1) @ self._near
        near = near.reshape(2, CELLS, FIRST) + self._near_bias
        np.maximum(near, 0.0, out=self._cells[:, :CELLS])
        far = self._cells[:, FAR_AROUND].reshape(2 * CELLS, -1) @ self._far
        far = far.reshape(2, CELLS, SECOND) + self._tensors["enc_conv2_b"]
        np.maximum(far.transpose(0, 2, 1), 0.0, out=self._flat)
        return np.clip(self._linear("enc_proj", self._flat.reshape(2, -1)), 0.0, 1.0)


def _indices(around: list[list[int | None]]) -> NDArray[np.intp]:
    """Rows of the nine cells around each cell. [cells, 9]"""
    return np.array([[CELLS if to is None else to for to in cells] for cells in around])


AROUND, FAR_AROUND = _indices(NEAR), _indices(FAR)
