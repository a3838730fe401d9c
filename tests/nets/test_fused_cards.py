"""A set of cards as one GPU kernel: the same numbers as the network itself."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from fused_networks import answers_after_loading, shaken

from kibitz.batch import Batch
from kibitz.games import load
from kibitz.nets.card_set import CardSetConfig, CardSetNet

SMALL = CardSetConfig(slots=17, width=64, attention_heads=2, layers=1)


def played_views(count):
    batch = Batch(load("dominion"), count, seed=1)
    batch.wander(40)
    batch.settle()
    views = np.zeros((count, 38_400), np.float32)
    batch.observe(np.zeros(count, np.int64), views)
    return torch.from_numpy(views)


def errors(answers, exact):
    """How far logits of cards in the game and values are off."""
    listed = exact[0] > -1e8
    assert torch.equal(answers[0] > -1e8, listed)
    assert answers[0][~listed].eq(-1e9).all()
    return [(answers[0] - exact[0])[listed].abs(), (answers[1] - exact[1]).abs()]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "config",
    [
        CardSetConfig(slots=17),
        CardSetConfig(),
        CardSetConfig(slots=17, width=64, attention_heads=2, layers=2),
    ],
    ids=["champion", "default", "narrow"],
)
@torch.inference_mode()
def test_fused_cards_are_as_near_to_the_network_as_torch_is_in_bfloat16(config):
    views = played_views(4001).cuda()
    views[:3] = 0.0  # tables without a single card
    net = shaken(CardSetNet(config)).cuda()
    half = copy.deepcopy(net).bfloat16()
    exact = net(views)
    pairs = zip(errors(half(views), exact), errors(half.fused()(views), exact), strict=True)
    for torch_off, off in pairs:
        assert off.mean() < 1.25 * torch_off.mean()
        assert off.max() < 2 * torch_off.max()  # a single worst number is mostly luck


@pytest.mark.gpu
@torch.inference_mode()
def test_a_view_alone_is_the_view_in_a_batch():
    views = played_views(64).cuda()
    fused = shaken(CardSetNet(CardSetConfig(slots=17))).to("cuda", torch.bfloat16).fused()
    logits, values = fused(views)
    for count in (1, 2, 3, 7, 50):
        few_logits, few_values = fused(views[:count])
        assert torch.allclose(few_logits, logits[:count], atol=0.03)
        assert torch.allclose(few_values, values[:count], atol=0.03)
    assert fused(views[:0])[0].shape == (0, 4096)


@pytest.mark.gpu
def test_an_evaluator_goes_on_with_other_weights():
    config = CardSetConfig(slots=17)
    other, views = shaken(CardSetNet(config, seed=1)), played_views(64).cuda()
    assert torch.equal(*answers_after_loading(CardSetNet(config), other, views))


@pytest.mark.gpu
def test_networks_that_do_not_fit_on_the_chip_stay_as_they_are():
    for sizes in (
        {"width": 256},
        {"width": 32, "attention_heads": 2},
        {"width": 64},
        {"attention_heads": 2},
        {"slots": 64},
    ):
        assert CardSetNet(CardSetConfig(**sizes, layers=1)).cuda().fused() is None, sizes


def test_there_are_no_kernels_without_a_gpu():
    assert CardSetNet(CardSetConfig()).fused() is None


def test_an_interpreted_kernel_says_what_the_network_says():
    """In a process of its own: triton decides when it is imported whether it interprets."""
    pytest.importorskip("triton", reason="comes with torch for GPUs")
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def repair_the_interpreter():
    """Triton 3.6 interprets bfloat16 as the integers that hold it, and cuts instead of rounding."""
    from triton import language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    dot, cast = InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl

    def widened(part):
        if part.dtype.scalar != tl.bfloat16:
            return part
        return TensorHandle((part.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

    def rounded(self, part, kind):
        if part.dtype.scalar != tl.float32 or kind.scalar != tl.bfloat16:
            return cast(self, part, kind)
        half = torch.tensor(part.data).bfloat16().view(torch.int16)
        return TensorHandle(half.numpy().view(np.uint16), tl.bfloat16)

    InterpreterBuilder.create_dot = lambda self, a, b, *rest: dot(
        self, widened(a), widened(b), *rest
    )
    InterpreterBuilder.cast_impl = rounded


@torch.inference_mode()
def interpret():
    from kibitz.nets import fused_cards
    from kibitz.nets.fused_cards import FusedCards

    torch.set_num_threads(1)
    repair_the_interpreter()
    views = played_views(9)  # not a multiple of the views in a tile
    views[1] = 0.0
    views[2, 224 * 128 + 5] = 0.0  # an empty slot between cards
    net = shaken(CardSetNet(SMALL))
    half = copy.deepcopy(net).bfloat16()
    fused = FusedCards(half)
    assert fused(views[:0])[0].shape == (0, 4096)
    check(fused, half, net, views)
    other = shaken(CardSetNet(SMALL, seed=1))
    half.load_state_dict(other.state_dict())
    fused.refresh()
    check(fused, half, other, views)
    fused_cards.TILE = 128
    check(FusedCards(half), half, other, views[:7])


def check(fused, half, net, views):
    exact = net(views)
    with torch.backends.mkldnn.flags(enabled=False):  # see the test of half precision
        pairs = zip(errors(half(views), exact), errors(fused(views), exact), strict=True)
    for torch_off, off in pairs:
        assert off.mean() < 1.5 * torch_off.mean()
        assert off.max() < 2 * torch_off.max()


if __name__ == "__main__":
    interpret()
