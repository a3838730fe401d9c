"""Random positions of Escampe as lines, and networks with two perspectives to try on them."""

from __future__ import annotations

import random

import numpy as np
import torch

from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.portable.escampe import VIEW_SIZE, read_position, write_view

COURSE_START = "bb----/-Bb-bb/------/------/-n-n-n/n-N-n- w 0"
COURSE_MID = "nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2"
CORNER_BLOCK = "nnNb--/nnb---/nb----/b-----/b-----/-----B b 0"


def random_lines(count, seed=1):
    """Positions with all pieces anywhere, either side to move, and any required band."""
    rng = random.Random(seed)
    return [_random_line(rng) for _ in range(count)]


def _random_line(rng):
    board = list("BbbbbbNnnnnn" + "-" * 24)
    rng.shuffle(board)
    rows = ("".join(board[first : first + 6]) for first in range(0, 36, 6))
    return f"{'/'.join(rows)} {rng.choice('wb')} {rng.randrange(4)}"


def views_of(lines, encoding="banddper-16-empty"):
    """What a network sees of these positions. float32 [n, 1155]"""
    views = np.zeros((len(lines), VIEW_SIZE), np.float32)
    for line, view in zip(lines, views, strict=True):
        write_view(read_position(line), encoding, view)
    return views


def lively(config=None, seed=3):
    """A network with statistics and biases as after training, whose values differ by position."""
    net, rng = DualViewNet(config or DualViewConfig(), seed), np.random.default_rng(seed)
    with torch.no_grad():
        for name, weights in net.state_dict().items():
            if weights.ndim > 1:
                weights *= 2  # the initial ones are small
                continue
            numbers = rng.normal(0.0, 0.2, weights.shape)
            positive = "var" in name or name.endswith("norm.weight")
            weights.copy_(torch.tensor(np.exp(numbers) if positive else numbers))
        net.forced_pass.zero_()
        raw = net.eval().raw(torch.from_numpy(views_of(random_lines(50), net.config.encoding)))
        net.value.weight *= 0.5 / raw.std()
        net.value.bias.copy_(0.5 * (net.value.bias - raw.mean()) / raw.std())
        net.forced_pass.fill_(0.75)
    return net
