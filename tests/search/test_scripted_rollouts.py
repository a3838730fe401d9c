"""Rollouts that a compiled player of the game plays, instead of random play."""

from __future__ import annotations

import numpy as np
import pytest
from simulator import simulated
from small_games import RACE

from kibitz import devices, games, players
from kibitz.batch import Batch, IllegalAction
from kibitz.chance import streams
from kibitz.compiled import rule
from kibitz.game import GameError
from kibitz.players import PlayerError
from kibitz.search.mcts import Search, Settings

SETTINGS = Settings(simulations=60, rollout="bmu")


def positions(game, size, plies=40):
    batch = Batch(game, 4 * size, seed=5)
    batch.wander(plies)
    batch.settle()
    return batch.states[batch.turns() >= 0][:size].copy()


def grown(game, states, settings=SETTINGS, **device):
    """What a search finds, and where its streams then are."""
    rngs = streams(1, "search", len(states))
    search = Search(game, len(states), settings, **device)
    found = search.run(states.copy(), rngs)
    after = search.device.get(search.forest.rngs)
    return [a.tobytes() for a in (found.visits, found.values, found.priors, found.best, after)]


@pytest.fixture(scope="module")
def dominion():
    return games.load("dominion", kingdom="first_game", max_turns=20)


def test_trees_do_not_depend_on_threads_or_on_their_number(dominion):
    states = positions(dominion, 6)
    assert grown(dominion, states, threads=1) == grown(dominion, states, threads=2)
    fewer = Search(dominion, 2, SETTINGS).run(states[:2].copy(), streams(1, "search", 2))
    more = Search(dominion, 6, SETTINGS).run(states.copy(), streams(1, "search", 6))
    assert fewer.visits.tobytes() == more.first(2).visits.tobytes()


def test_another_player_makes_another_tree_and_random_play_has_none(dominion):
    states = positions(dominion, 4)
    by_player = [
        grown(dominion, states, Settings(simulations=60, rollout=who))
        for who in ("bmu", "bm0", "random")
    ]
    assert len({tuple(tree) for tree in by_player}) == 3
    assert by_player[2] == grown(dominion, states, Settings(simulations=60))


def test_the_players_own_choice_has_its_share_of_the_priors(dominion):
    states = positions(dominion, 4)
    found = Search(dominion, 4, SETTINGS).run(states.copy(), streams(1, "search", 4))
    chosen = Batch.of(dominion, states, streams(1, "player", 4)).choose(
        "bmu", np.array([dominion.turn(s) for s in states]), streams(1, "player", 4)
    )
    for k, count in enumerate(found.counts):
        priors = dict(zip(found.actions[k, :count], found.priors[k, :count], strict=True))
        assert priors.pop(chosen[k]) == pytest.approx(0.5 + 0.5 / count)
        assert list(priors.values()) == pytest.approx([0.5 / count] * (count - 1))


def test_what_is_hidden_does_not_move_the_search(dominion):
    states = positions(dominion, 8, plies=60)
    others = Batch.of(dominion, states.copy(), streams(4, "table", len(states)))
    others.redeal(others.turns(), streams(4, "player", len(states)))
    assert (others.states != states).any()
    assert grown(dominion, states) == grown(dominion, others.states)


def test_the_player_is_named_in_the_text_and_makes_another_player(dominion):
    texts = "mcts:sims=50", "mcts:sims=50,rollout=bmu", "mcts:sims=50,rollout=bm0"
    seated = [players.player(text, dominion) for text in texts]
    assert [player.name for player in seated] == list(texts)
    assert len({player.identity for player in seated}) == 3
    assert "prior_share" not in seated[0].identity, "what was rated before keeps its name"
    with pytest.raises(PlayerError, match=r"rollout=bmw: dominion has random, themes, bme, bmx"):
        players.player("mcts:rollout=bmw", dominion)
    with pytest.raises(PlayerError, match="no rollouts for bmu to play"):
        players.player("mcts:evaluator=uniform,rollout=bmu", dominion)
    with pytest.raises(GameError, match="no compiled player 'bmw'"):
        Search(dominion, 1, Settings(rollout="bmw"))
    with pytest.raises(GameError, match="prior_share is a share"):
        Settings(prior_share=1.5)


@rule
def cheat(s, seat, rng):
    return 77


def test_an_illegal_action_of_the_player_is_refused_with_the_position():
    import dataclasses

    race = dataclasses.replace(games.load(RACE), players={"cheat": cheat})
    batch = Batch(race, 2, seed=1)
    batch.settle()
    search = Search(race, 2, Settings(simulations=4, rollout="cheat"))
    with pytest.raises(IllegalAction, match="cheat in a rollout chose 77, which is not legal"):
        search.run(batch.states, streams(1, "search", 2))


def test_the_simulated_gpu_grows_the_same_trees():
    assert simulated(__file__) == ["equal"]


@pytest.mark.gpu
def test_a_gpu_grows_the_same_trees(dominion):
    states = positions(dominion, 64)
    assert grown(dominion, states, device="cuda") == grown(dominion, states)


if __name__ == "__main__":
    devices.WARP = 8
    game = games.load("beasty_bar")
    few = Settings(simulations=6, rollout="greedy")
    states = positions(game, 3, plies=12)
    assert grown(game, states, few) == grown(game, states, few, device="cuda")
    print("equal")
