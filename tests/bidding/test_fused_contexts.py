"""Contexts solved by GPU kernels as by torch: pytest -m gpu tests/bidding/test_fused_contexts.py

Without a GPU, triton's interpreter shows that the kernels compute the same, in a process of its
own: it is chosen when triton is imported.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import product

import pytest
import torch

from kibitz.bidding.contexts import VARIANT, Contexts, ContextSolver, solved
from kibitz.bidding.hands import Hands
from kibitz.games import load
from kibitz.search.matching import step_of
from kibitz.train.bidding.teachers import weak_player

# Float32 sums in another order. Both ways start from the same regrets at every walk, since matching
# divides rounding errors by the sums of regrets: paths of several steps part where these are small.
NEAR = 1e-5


@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
def test_interpreted_kernels_compute_what_torch_does():
    run = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert run.returncode == 0, run.stdout


def mend():
    """Triton 3.6 makes an int of an array with one element. NumPy 2.4 refuses that."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def mended(tensor, scope):
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = mended


def interpret():
    from kibitz.bidding import fused_contexts

    mend()
    torch.set_num_threads(1)
    # Several tiles and programs, the last of them with less to do.
    fused_contexts.SPREAD = fused_contexts.Tile(actions=2, contexts=3, warps=4)
    fused_contexts.LEARN = fused_contexts.Tile(actions=4, contexts=1, warps=4)
    hands = Hands(load("liars_dice", dice=(2, 1), sides=2), "cpu")
    longer = torch.arange(1 << 5) << 2
    for weak in (None, weak_player(hands, "honest")):
        compare(hands, Contexts(6, [longer, longer]), 2, weak)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dice", "size", "weak"),
    [((1, 2), 1000, "honest"), ((2, 2), 5000, ""), ((3, 3), 20_000, "honest")],
    ids=str,
)
def test_kernels_compute_what_torch_does(dice, size, weak):
    hands = Hands(load("liars_dice", dice=dice), "cuda")
    contexts = solved(hands, size, 3, seed=1).contexts
    compare(hands, contexts, 5, weak_player(hands, weak) if weak else None)


@pytest.mark.gpu
def test_turns_whose_kernels_are_launched_at_once_are_the_same():
    from kibitz.bidding.fused_contexts import FusedContextSolver

    hands = Hands(load("liars_dice", dice=(2, 2)), "cuda")
    contexts = solved(hands, 5000, 3, seed=1).contexts
    at_once, one_by_one = (FusedContextSolver(hands, contexts) for _ in range(2))
    at_once.solve(2)  # the first iteration compiles, the second captures
    assert sorted(at_once.graphs) == [0, 1]
    for t, seat in product((3, 4), range(2)):
        copy(at_once, one_by_one, "regrets", "average", "totals")
        step = step_of(VARIANT, t)
        at_once._turn(seat, step)
        one_by_one._spread()
        one_by_one._learn(seat, step)
        assert_near(at_once, one_by_one, "own", "other", "regrets", "totals", least=1.0)
        assert_near(at_once, one_by_one, "average")


def compare(hands, contexts, iterations, weak=None):
    """Every table after each walk, both ways."""
    from kibitz.bidding.fused_contexts import FusedContextSolver  # needs triton

    ours, theirs = (kind(hands, contexts, weak) for kind in (FusedContextSolver, ContextSolver))
    for t, seat in product(range(1, iterations + 1), range(2)):
        for solver in (ours, theirs):
            solver._spread()
        assert_near(ours, theirs, "own", "other", "own_weak", "other_weak")
        for solver in (ours, theirs):
            solver._learn(seat, step_of(VARIANT, t))
        # A regret may be small because large values cancel: they are compared by the largest.
        assert_near(ours, theirs, "own", "other", "regrets", least=1.0)
        assert_near(ours, theirs, "average")
        copy(ours, theirs, "regrets", "average")
    for got, want in zip(ours.policy().tables, theirs.policy().tables, strict=True):
        assert torch.equal(got, want), "it is the same average"


def copy(one, other, *names):
    for name in names:
        for table, new in zip(getattr(other, name), getattr(one, name), strict=True):
            table.copy_(new)


def assert_near(ours, theirs, *names, least=1e-12):
    """Every number is near to torch's, by the largest of its row or by the least that counts."""
    for name in names:
        for got, want in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            scale = want.abs().amax(1, keepdim=True).clamp(min=least)
            off = ((got - want).abs() / scale).max().item()
            assert off < NEAR, f"{name}: {off}"


if __name__ == "__main__":
    interpret()
