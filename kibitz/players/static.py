"""How networks judge positions for alpha-beta: as compiled judges, or in batches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..batch import observe_all, turns_all
from ..game import Game
from ..open_rules import Judge
from ..search.accumulator import Weights, accumulator_judge
from ..search.deepening import Outside
from ..search.dual_view import PERSPECTIVE, evaluate, pack, room_for
from ..search.judging import EVEN

CONSTANT = (4, 5, 6)  # planes of a perspective that are the same in every position

if TYPE_CHECKING:
    from ..nets.accumulator import AccumulatorNet
    from ..nets.dual_view import DualViewNet
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


def two_perspectives_judge(game: Game, net: DualViewNet) -> Outside:
    """A network with two perspectives, compiled: leaves are judged in batches, without torch."""
    from ..nets.dual_view import tensors_of

    planes = game.look(game.fresh(), 0)[:PERSPECTIVE].reshape(-1, 6, 6)
    constant = {plane: planes[plane] for plane in CONSTANT}
    weights = pack(tensors_of(net), constant, clips=net.config.inner == "clipped")
    rooms = threading.local()

    def judged(states: NDArray[np.void]) -> NDArray[np.integer]:
        if not hasattr(rooms, "own"):
            rooms.own = room_for(weights)
        answers = np.empty(len(states), np.float32)
        evaluate(weights, views_of(game, states), rooms.own, answers)
        return np.asarray(np.rint(EVEN * answers), np.int64)

    return judged


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


STATIC: dict[str, Callable[..., Judge | Outside]] = {
    "accumulator": integer_judge,
    "dual_view": two_perspectives_judge,
}
"""By the name of a kind of network; others judge in batches."""
