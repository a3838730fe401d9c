"""The n-th visits of all root actions with the same deal and the same draws."""

import numpy as np
import pytest

from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.games import load
from kibitz.search.mcts import Search, Settings

GAME = load("beasty_bar")
TREES = 200


@pytest.fixture(scope="module")
def states():
    batch = Batch(GAME, 2 * TREES, seed=4)
    batch.wander(8)
    batch.settle()
    _, counts = batch.actions()
    return batch.states[(batch.turns() >= 0) & (counts > 2)][:TREES].copy()


def found(states, seed, root="gumbel", **settings):
    way = Settings(simulations=16, root=root, considered=4, explore=1e3, **settings)
    return Search(GAME, len(states), way).run(states, streams(seed, "search", len(states)))


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_luck_cancels_between_actions(states, root):
    """Over many seeds the difference of two actions' values varies less than with own deals."""
    spread = {}
    for same in (False, True):
        searches = [found(states, seed, root, same_deals=same) for seed in range(12)]
        both = np.array([(f.visits[:, :2] > 0).all(1) for f in searches]).all(0)
        assert both.sum() > 10
        difference = np.array([(f.values[:, 0] - f.values[:, 1])[both] for f in searches])
        spread[same] = difference.var(0).mean()
    assert spread[True] < 0.9 * spread[False]


def test_a_search_is_the_same_for_the_same_seed_and_hides_what_is_hidden(states):
    once, again = (found(states, 3, same_deals=True) for _ in range(2))
    assert once.visits.tobytes() == again.visits.tobytes()
    others = Batch.of(GAME, states.copy(), streams(4, "table", len(states)))
    others.redeal(others.turns(), streams(4, "player", len(states)))
    assert (others.states != states).any()
    assert found(others.states, 3, same_deals=True).visits.tobytes() == once.visits.tobytes()


def test_two_searches_in_a_row_share_no_numbers(states):
    way = Settings(simulations=16, same_deals=True)
    search, rngs = Search(GAME, len(states), way), streams(1, "search", len(states))
    starts = []
    for _ in range(2):
        search.run(states, rngs)
        starts.append(search.selection.starts.copy())
    assert (starts[1] - starts[0] >= 1 << 32).all()
