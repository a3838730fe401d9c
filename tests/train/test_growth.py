"""An option that grows during a run: hands are hidden more and more often."""

from __future__ import annotations

from dataclasses import replace

import killing
import numpy as np
import pytest
from small_games import PEEK

from kibitz.arena.match import match
from kibitz.game import GameError, OptionError
from kibitz.games import load
from kibitz.recipes import any_muzero, any_policy, recipe
from kibitz.train.folder import RunFolder
from kibitz.train.muzero.learner import Unrolling
from kibitz.train.policy_gradient.learner import PolicyLearning
from kibitz.train.policy_gradient.loop import PolicyMethod
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

SMALL_CARDS = {"preset": "cards_plain", "num_players": 2, "distance": 7, "max_plies": 40}
WITHOUT_SEARCH = replace(
    any_policy(PEEK),
    growth=TINY.growth,
    config={"width": 16, "blocks": 1},
    learning=PolicyLearning(batch=32, warm_up=2, steps=40, average_decay=0.9),
    games=16,
    ticks=4,
    opponent_share=0.3,
    **{name: getattr(TINY, name) for name in ("iterations", "gate_every", "gate_games")},
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


@pytest.mark.parametrize("chosen", [TINY, WITHOUT_SEARCH])
def test_runs_without_growth_are_described_as_before(chosen):
    assert "growth" not in replace(chosen, growth=Growth()).described()
    assert chosen.described()["growth"] == {"option": "hide", "share": 0.5}


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_games_without_a_search_begin_with_what_the_iteration_says(device):
    """The first of a stretch has begun at the end of the one before; each has two decisions."""
    method, found = PolicyMethod(WITHOUT_SEARCH, load(PEEK), device, 1), []
    for iteration in range(1, 5):
        method.iterate(iteration, lambda *_: None)
        words = method.tables.device.get(method.tables.stretch.words)
        states = words[WITHOUT_SEARCH.games // 2 :].reshape(-1).view(method.game.state)
        found.append(np.unique(states["hide"]).tolist())
    assert found == [[0], [0, 50], [50, 100], [100]]


def test_growing_policy_gradients_in_many_pieces_end_with_the_same_weights(tmp_path):
    assert killing.ends_alike_in_pieces(WITHOUT_SEARCH, tmp_path)


def test_dog_has_a_recipe_that_hides_hands_more_and_more():
    chosen = recipe("dog", "dropout")
    game = load(chosen.game, **chosen.options).through(chosen.view)
    assert game.options.reveal == "own"  # at the gate, too
    first, last = (chosen.grown(game, i) for i in (1, chosen.iterations))
    assert (first.options.reveal, last.options.reveal) == ("0.000", "1.000")
    assert first.viewed == game.viewed and first.state == game.state


@pytest.mark.slow  # compiles play for a game with cards; others show that options grow
def test_a_dealt_hand_is_hidden_as_its_game_began(tmp_path):
    """A run of the recipe in two pieces. What comes of it sits down whatever is revealed."""
    chosen = replace(
        recipe("madn", "dropout"),
        options=SMALL_CARDS,
        opponents=("runner",),
        **{n: getattr(WITHOUT_SEARCH, n) for n in ("config", "learning", "games", "ticks")},
        **{n: getattr(TINY, n) for n in ("iterations", "gate_every", "gate_games")},
        baselines=("random",),
    )
    chosen, probabilities = replace(chosen, games=64, ticks=32), []

    def note(row):
        probabilities.append(set(run.method.tables.tables.states["hidden_per_mille"].tolist()))
        if row["iteration"] == 2:
            raise KeyboardInterrupt

    run = Run(chosen, tmp_path / "run", seed=1)
    with pytest.raises(KeyboardInterrupt):
        run.train(progress=note)
    run.close()
    run = Run(chosen, tmp_path / "run", seed=1, resume=True)
    run.train(progress=note)
    run.close()
    assert probabilities == [{0}, {500}, {1000}, {1000}]  # games are shorter than a stretch
    game = load("madn", **SMALL_CARDS)
    opened = load("madn", **SMALL_CARDS, reveal="all")
    text = f"net:{run.folder.member(run.standing.league.members[-1])}"
    for table, who in ((game, text), (opened, text), (game, f"{text},deals=2")):
        assert match(table, who, "random", games=4, seed=1).games == 4


@pytest.mark.slow  # compiles self-play and search for a game with cards
def test_hands_of_cards_are_hidden_more_and_more(tmp_path):
    small = SMALL_CARDS
    chosen = replace(
        recipe("madn", "muzero"),
        growth=Growth("reveal", share=0.5),
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
