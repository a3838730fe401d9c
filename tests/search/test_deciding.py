"""Trees stop once their choice is known: the same choice, with fewer simulations."""

import numpy as np
import pytest
from search_tables import Opinions, wandered

from kibitz.arena.match import match
from kibitz.chance import streams
from kibitz.players.searching import TreeSearch
from kibitz.search.deciding import decide, parts, stops_early
from kibitz.search.mcts import Search, Settings

SIMULATIONS = 60


def searching(game, size, evaluator=None, **options):
    settings = Settings(simulations=SIMULATIONS)
    return Search(game, size, settings, evaluator=evaluator or Opinions(game), threads=1, **options)


@pytest.mark.parametrize("leaves", [1, 7, 100])
@pytest.mark.parametrize("strength", [1, 4])
def test_the_choice_is_that_of_the_whole_search(liars, leaves, strength):
    states, opinions = wandered(liars, 200), Opinions(liars, strength)
    search = searching(liars, 200, opinions, leaves=leaves)
    decided = decide(search, states, streams(1, "search", 200))
    whole = searching(liars, 200, opinions, leaves=leaves).run(states, streams(1, "search", 200))
    assert decided.actions.tolist() == whole.best.tolist()


def test_those_who_hesitate_go_on_in_a_smaller_search(liars):
    opinions = Opinions(liars, strength=20)
    decide(searching(liars, 256, opinions), wandered(liars, 256), streams(1, "search", 256))
    assert {256, 128} <= set(opinions.rows)
    assert sum(opinions.rows) < 256 * SIMULATIONS


def test_a_stream_does_not_depend_on_who_else_is_searched(liars):
    states, rngs = wandered(liars, 200), streams(1, "search", 200)
    together = decide(searching(liars, 200), states, rngs)
    few = slice(150, 160)
    alone = decide(searching(liars, 10), states[few], rngs[few])
    assert together.actions[few].tolist() == alone.actions.tolist()
    assert np.array_equal(together.rngs[few], alone.rngs)
    assert np.array_equal(rngs, streams(1, "search", 200))  # they were not moved


def test_searches_without_visits_to_count_run_to_their_end(liars):
    for settings in (Settings(root="gumbel"), Settings(noise=0.2), Settings(seconds=1.0)):
        assert not stops_early(Search(liars, 4, settings, evaluator=Opinions(liars)))
    assert not stops_early(Search(liars, 4, Settings()))  # one kernel makes whole rollouts
    halving = Search(liars, 4, Settings(simulations=20, root="gumbel"), evaluator=Opinions(liars))
    decided = decide(halving, wandered(liars, 4), streams(1, "search", 4))
    again = Search(liars, 4, halving.settings, evaluator=halving.evaluator)
    found = again.run(wandered(liars, 4), rngs := streams(1, "search", 4))
    assert decided.actions.tolist() == found.best.tolist()
    assert np.array_equal(decided.rngs, rngs)


@pytest.mark.parametrize("simulations", [1, 2, 3, 60, 128, 800])
@pytest.mark.parametrize("leaves", [1, 7, 8])
def test_parts_are_whole_batches_of_leaves_and_sum_to_all_simulations(simulations, leaves):
    *before, _ = counts = [*parts(simulations, leaves)]
    assert 1 + sum(counts) == simulations
    assert all(count % leaves == 0 for count in before)


def test_a_player_asks_its_network_less_often_than_if_it_may_not_stop(liars):
    asked = []
    for seconds in (None, 1e6):  # a clock rules stopping out
        opinions, settings = Opinions(liars, strength=20), Settings(simulations=24, seconds=seconds)
        who = TreeSearch(liars, settings, opinions, "opinions", leaves=1)
        match(liars, who, "random", games=2, seed=3)
        asked.append(sum(opinions.rows))
    assert asked[0] < asked[1]
