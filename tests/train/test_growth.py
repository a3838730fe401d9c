"""An option that grows during a run: hands are hidden more and more often."""

from __future__ import annotations

from dataclasses import replace

import killing
import numpy as np
import pytest
from small_games import PEEK

from kibitz.game import GameError, OptionError
from kibitz.games import load
from kibitz.recipes import any_muzero, recipe
from kibitz.train.folder import RunFolder
from kibitz.train.muzero.learner import Unrolling
from kibitz.train.replay import Shard
from kibitz.train.run import Run
from kibitz.train.tree_search.growth import Growth

pytestmark = pytest.mark.usefixtures("one_thread")

CHOSEN = any_muzero(PEEK)
TINY = replace(
    CHOSEN,
    growth=Growth("hide", share=0.5),
    search=replace(CHOSEN.search, simulations=4, considered=2),
    config={"width": 16, "blocks": 1, "dynamics_blocks": 1},
    learning=Unrolling(batch=32, unroll=2, steps=12, average_decay=0.9),
    games=16,
    steps=3,
    iterations=4,
    gate_every=4,
    gate_games=4,
    baselines=("random",),
)


def begun_with(path):
    """By shard: the probabilities of hiding with which its games began."""
    game = load(PEEK)
    shards = [Shard.read(shard, game).decisions for shard in RunFolder(path).shards()]
    return [np.unique(shard.states["hide"]).tolist() for shard in shards]


def test_a_probability_grows_evenly_and_stays_one():
    growth = Growth("hide", share=0.5)
    assert [growth.probability(i, 8) for i in range(1, 9)] == [0, 0.25, 0.5, 0.75, 1, 1, 1, 1]
    assert Growth("hide", share=1.0).probability(100, 100) == pytest.approx(0.99)
    game = load(PEEK)
    assert growth.game(game, 2, 8).options.hide == "0.250"
    assert Growth().game(game, 2, 8) is game


def test_an_option_that_cannot_grow_is_refused(tmp_path):
    with pytest.raises(OptionError, match="no option 'hides'"):
        Run(replace(TINY, growth=Growth("hides")), tmp_path / "run", seed=1)
    with pytest.raises(GameError, match="share=0"):
        Growth("hide", share=0)


def test_games_begin_with_what_the_iteration_says(tmp_path):
    run = Run(TINY, tmp_path / "run", seed=1)
    run.train()
    run.close()
    # What begins in an iteration is played in the next: all games of peek have two decisions.
    assert begun_with(tmp_path / "run") == [[0], [0], [50], [100]]


def test_a_growing_run_in_many_pieces_ends_with_the_same_weights(tmp_path):
    """Also where tables and replay hold games that began with other options than the next."""
    assert killing.ends_alike_in_pieces(TINY, tmp_path)


def test_runs_without_growth_are_described_as_before(tmp_path):
    assert "growth" not in replace(TINY, growth=Growth()).described()
    assert TINY.described()["growth"] == {"option": "hide", "share": 0.5}


def test_dog_has_a_recipe_that_hides_hands_more_and_more():
    chosen = recipe("dog", "dropout")
    game = load(chosen.game, **chosen.options).through(chosen.view)
    assert game.options.reveal == "own"  # at the gate, too
    first, last = (chosen.grown(game, i) for i in (1, chosen.iterations))
    assert (first.options.reveal, last.options.reveal) == ("0.000", "1.000")
    assert first.viewed == game.viewed and first.state == game.state


@pytest.mark.slow  # compiles self-play and search for a game with cards
def test_hands_of_cards_are_hidden_more_and_more(tmp_path):
    small = {"preset": "cards_plain", "num_players": 2, "distance": 7, "max_plies": 40}
    chosen = replace(
        recipe("madn", "dropout"),
        options=small,
        config={"width": 8, "blocks": 1, "dynamics_blocks": 1},
        **{name: getattr(TINY, name) for name in ("search", "learning", "games", "steps")},
        **{name: getattr(TINY, name) for name in ("iterations", "gate_every", "gate_games")},
        baselines=("random",),
    )
    for resume in (False, True):
        run = Run(chosen, tmp_path / "run", seed=1, resume=resume)
        run.train(seconds=None if resume else 5.0)
        run.close()
    game = load("madn", **small)
    shards = [Shard.read(path, game) for path in run.folder.shards()]
    hidden = np.concatenate([shard.decisions.states["hidden_per_mille"] for shard in shards])
    assert {0, 500, 1000} <= set(hidden.tolist())
