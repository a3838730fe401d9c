"""The learner: values of all seats, partners, margins, and networks without a margin."""

from __future__ import annotations

import numpy as np
import pytest
from small_games import COIN, PARTNERS
from test_goofspiel import FILE as GOOFSPIEL

from kibitz.batch import Batch
from kibitz.game import Game
from kibitz.games import load
from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.nets.kinds import all_kinds
from kibitz.train.replay import Positions
from kibitz.train.tree_search.learner import Learner, Learning, effects_of_a_gain

pytestmark = pytest.mark.usefixtures("one_thread")


def positions(game: Game, scores, value=0.0, margin=0.0) -> Positions:
    """The first decision of a game, a row for every line of scores."""
    batch = Batch(game, len(scores), seed=1)
    batch.settle()
    actions, counts = batch.actions()
    legal = np.arange(game.max_legal) < counts[:, None]
    rows = len(scores)
    return Positions(
        states=batch.states.copy(),
        seats=batch.turns().astype(np.int8),
        actions=np.where(legal, actions, -1).astype(np.int16),
        policy=(legal / counts[:, None]).astype(np.float32),
        value=np.full(rows, value, np.float32),
        games=np.arange(rows),
        moves=np.zeros(rows, np.int32),
        played=actions[:, 0].astype(np.int16),
        outcomes=np.full(rows, -1, np.int32),
        scores=np.array(scores, np.float32),
        margin=np.full(rows, margin, np.float32),
    )


def learner(game: Game, **learning: float) -> Learner:
    kind = all_kinds()["residual"]
    net = kind.net(kind.config(**kind.fitted(game)), 1)
    settings = {"learning_rate": 1e-2, "warm_up": 1, "average_decay": 0.5, **learning}
    return Learner(game, net, Learning(**settings), "cpu", seed=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("players", "scores"), [(3, [1, -0.25, -0.75]), (4, [-1, 0.5, 0.2, 0.3])])
def test_values_of_all_seats_are_learnt(players, scores):
    game = load(GOOFSPIEL, players=players, cards=4)
    student, batch = learner(game, search_share=0.0), positions(game, [scores] * 8)
    for _ in range(150):
        student.learn(batch)
    _, values = student.average(student.views(batch))
    assert np.allclose(values.detach().numpy(), scores, atol=0.05)


def test_what_the_search_found_is_taken_from_the_others_in_equal_parts():
    game = load(GOOFSPIEL, players=3, cards=4)
    batch = positions(game, [[1.0, 0.0, -1.0]], value=0.2)
    targets = learner(game, search_share=0.5).value_targets(batch)
    assert np.allclose(targets, [[0.6, 0.2, -0.8]])


def test_partners_gain_together():
    effects = effects_of_a_gain(load(PARTNERS))
    assert effects.tolist() == [[1, -1, 1, -1]] * 4
    assert effects_of_a_gain(load(GOOFSPIEL, players=3)).tolist() == [[1, -0.5, -0.5]] * 3


def test_a_share_of_the_margin_is_part_of_the_value():
    game = load(COIN)
    batch = positions(game, [[1.0, -1.0]], value=0.0, margin=10.0)
    settings = {"search_share": 0.0, "margin_share": 0.25, "margin_scale": 20.0}
    targets = learner(game, **settings).value_targets(batch)
    assert np.allclose(targets, [[0.875, -0.875]])


def test_margins_beyond_what_a_network_can_say_are_cut():
    game = load(COIN)
    batch = positions(game, [[1.0, -1.0]], margin=50.0)
    student = learner(game, margin_scale=20.0)
    examples = student.examples(batch)
    heads = student.net.heads(examples.views)
    losses = student.losses(examples, heads.policy, heads.value, heads.margin)
    assert losses["margin"].item() == pytest.approx((1 - heads.margin[0].item()) ** 2, abs=1e-5)


def test_a_network_without_a_margin_can_learn():
    game = load("escampe", placing="drawn")
    net = DualViewNet(DualViewConfig(blocks=1, embedding=8, policy=True))
    student = Learner(game, net, Learning(warm_up=1), "cpu", seed=1)
    assert student.learn(positions(game, [[1, -1]] * 4)).keys() == {"policy", "value"}
