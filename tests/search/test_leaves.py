"""Several leaves of one tree at a time: all counted, none left behind, and the same for a seed."""

import pytest
from search_tables import Opinions, at, positions, wandered

from kibitz.arena.match import match
from kibitz.arena.table import Table
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.players import explain
from kibitz.players.searching import LEAVES, TreeSearch
from kibitz.search.leaves import put_aside_all, take_back_all
from kibitz.search.mcts import Search, Settings
from kibitz.search.walk import select_all

WAYS = {
    "puct": Settings(simulations=60),
    "gumbel": Settings(simulations=60, root="gumbel"),
    "noise": Settings(simulations=60, noise=0.25),
}


def grown(game, states, settings, leaves, **options):
    rngs = streams(1, "search", len(states))
    search = Search(game, len(states), settings, evaluator=Opinions(game), leaves=leaves, **options)
    return search, search.run(states, rngs)


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.mark.parametrize("leaves", [2, 7, 8, 100])
def test_every_leaf_is_a_simulation(liars, way, leaves):
    search, found = grown(liars, wandered(liars, 4), way, leaves)
    assert found.simulations.tolist() == [60] * 4
    assert found.visits.sum(1).tolist() == [59] * 4  # the first makes the root
    calls = 1 + -(-59 // leaves)
    assert sum(search.evaluator.rows) == calls * leaves * 4


def test_a_seed_gives_the_same_visits_again(liars, way):
    states = wandered(liars, 4)
    ours, theirs = (grown(liars, states, way, 8)[1] for _ in range(2))
    assert ours.visits.tobytes() == theirs.visits.tobytes()


def test_several_leaves_are_selected_with_less_knowledge_than_one_by_one(liars):
    states = wandered(liars, 16)
    one, several = (grown(liars, states, WAYS["puct"], leaves)[1] for leaves in (1, 8))
    assert one.visits.tobytes() != several.visits.tobytes()


def test_a_tree_alone_is_the_tree_among_many(liars, way):
    states = wandered(liars, 6)
    _, together = grown(liars, states, way, 8, threads=2)
    for i in range(6):
        search = Search(liars, 1, way, evaluator=Opinions(liars), leaves=8)
        alone = search.run(states[i : i + 1], streams(1, "search", 1, i))
        assert alone.visits[0].tolist() == together.visits[i].tolist(), i


def test_whole_batches_of_leaves_make_the_trees_of_one_run(liars):
    states = wandered(liars, 4)
    _, once = grown(liars, states, WAYS["puct"], 8)
    search = Search(liars, 4, WAYS["puct"], evaluator=Opinions(liars), leaves=8)
    search.run(states, streams(1, "search", 4), simulations=1 + 16)
    search.more(8)
    assert search.more(35).visits.tobytes() == once.visits.tobytes()


def test_nothing_remains_of_visits_that_are_taken_back(liars):
    search, _ = grown(liars, wandered(liars, 4), WAYS["puct"], 5, threads=1)
    (lane,) = search.lanes
    before = {name: search.forest.edges[name].copy() for name in ("visits", "value")}
    simulations = search.forest.trees["simulations"].copy()
    for views, walk in zip(lane.views, lane.walks, strict=True):
        lane.device.launch(select_all, 4, lane.forest, lane.tables, lane.selection, views)
        lane.device.launch(put_aside_all, 4, lane.forest, walk)
    assert search.forest.edges["visits"].sum() > before["visits"].sum()
    for walk in reversed(lane.walks):
        lane.device.launch(take_back_all, 4, lane.forest, walk)
    for name, numbers in before.items():
        assert search.forest.edges[name].tobytes() == numbers.tobytes(), name
    assert search.forest.trees["simulations"].tolist() == simulations.tolist()


def test_a_visit_that_waits_changes_no_mean(liars):
    search, found = grown(liars, wandered(liars, 1), WAYS["puct"], 2)
    (lane,) = search.lanes
    lane.device.launch(select_all, 1, lane.forest, lane.tables, lane.selection, lane.views[0])
    lane.device.launch(put_aside_all, 1, lane.forest, lane.walks[0])
    again = search._found()
    assert again.visits.sum() == found.visits.sum() + 1
    assert again.values == pytest.approx(found.values, abs=1e-6)


@pytest.mark.parametrize("leaves", [1, 8, 16])
@pytest.mark.parametrize("square, best", [(6, 0), (5, 1), (4, 1)])
def test_the_better_of_two_bandits_is_found_with_any_number_of_leaves(race, square, best, leaves):
    """The evaluator has no opinion, so only the ends of games count."""
    search = Search(
        race, 1, Settings(simulations=2000), evaluator=Opinions(race, strength=0), leaves=leaves
    )
    found = search.run(positions(race, at(square, 7)), streams(1, "search", 1))
    assert found.best[0] == best


def test_a_tree_has_one_leaf_or_more(race):
    with pytest.raises(GameError, match="leaves of a tree"):
        Search(race, 1, evaluator=Opinions(race), leaves=0)


# At a table -------------------------------------------------------------------------------------


def seated(game, leaves=None):
    return TreeSearch(game, Settings(simulations=33), Opinions(game), "opinions", leaves=leaves)


def test_a_table_alone_has_several_leaves_evaluated_together(liars):
    who = seated(liars)
    Table(liars, seed=1).ask(who)
    assert set(who.evaluator.rows) == {LEAVES}


def test_a_match_has_one_leaf_of_each_tree_evaluated_however_many_tables_are_left(liars):
    """So a table of a match is played alike whatever is played beside it."""
    who = seated(liars)
    match(liars, who, "random", games=2, seed=1)
    assert 1 in who.evaluator.rows
    assert max(who.evaluator.rows) <= 2


def test_a_player_may_say_how_many_leaves_it_wants_anywhere(liars):
    who = seated(liars, leaves=4)
    Table(liars, seed=1).ask(who)
    assert set(who.evaluator.rows) == {4}
    match(liars, who, "random", games=2, seed=1)
    assert all(rows % 4 == 0 for rows in who.evaluator.rows)


@pytest.mark.parametrize("leaves", [None, 1, 3])
def test_an_analysis_in_parts_finds_what_would_be_played(liars, leaves):
    for seed in range(4):
        who, table = seated(liars, leaves), Table(liars, seed=seed)
        thought = explain(who, table.sight())
        assert thought.simulations == 33
        assert thought.best.action == table.ask(who)


def test_the_number_of_leaves_is_part_of_a_players_identity(liars):
    """Unless it is left open: then a match is played as it always was."""
    one, other = (
        TreeSearch(liars, Settings(), Opinions(liars), "opinions", weights="w", leaves=leaves)
        for leaves in (None, 4)
    )
    assert other.identity == f"{one.identity} leaves=4"
