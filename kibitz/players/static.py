"""How networks judge positions for alpha-beta: as compiled judges, or in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..batch import observe_all, turns_all
from ..game import Game
from ..open_rules import Judge
from ..search.accumulator import Weights, accumulator_judge
from ..search.deepening import Outside
from ..search.judging import EVEN

if TYPE_CHECKING:
    from ..nets.accumulator import AccumulatorNet
    from ..nets.net import PolicyNet


def integer_judge(game: Game, net: AccumulatorNet) -> Judge:
    """A small network in integers, which follows a search move by move."""
    columns, hidden, last = net.columns, net.hidden, net.last

    def numbers(tensor: object) -> NDArray[np.float64]:
        return np.asarray(tensor.detach().cpu().double().numpy())  # type: ignore[attr-defined]

    return accumulator_judge(
        Weights(
            numbers(columns.weight).T,
            numbers(columns.bias),
            numbers(hidden.weight),
            numbers(hidden.bias),
            numbers(last.weight)[0],
            float(numbers(last.bias)[0]),
        )
    )


def batch_judge(game: Game, net: PolicyNet) -> Outside:
    """Any network with values: positions are judged in batches, by the views that it reads."""
    import torch

    net.eval()

    @torch.inference_mode()
    def judged(states: NDArray[np.void]) -> NDArray[np.integer]:
        views = views_of(game, states)
        _, values = net(torch.from_numpy(views))
        return np.asarray(np.rint(EVEN * values[:, 0].numpy()), np.int64)

    return judged


def views_of(game: Game, states: NDArray[np.void]) -> NDArray[np.float32]:
    """What the seats to move see. [n, view_size]"""
    turns, views = np.zeros(len(states), np.int64), np.zeros(len(states), game.view)
    turns_all(0, len(states), 1, states, turns)
    observe_all(0, len(states), 1, states, turns, views)
    return views.view(np.float32).reshape(len(states), -1)


STATIC: dict[str, Callable[..., Judge | Outside]] = {"accumulator": integer_judge}
"""By the name of a kind of network; others judge in batches."""
