"""Latent search: with a perfect model it is the search over true positions, visit for visit."""

import dataclasses
import itertools

import numpy as np
import pytest
from perfect_model import Guess, PerfectModel
from search_tables import at, positions, wandered
from small_games import THREE_AT_A_PILE, THREE_IN_A_ROW

from kibitz import games
from kibitz.chance import streams
from kibitz.game import CHANCE, OVER, GameError
from kibitz.games.madn import candidates
from kibitz.search.latent import KEPT, LatentSearch, list_likeliest
from kibitz.search.mcts import Search, Settings
from kibitz.search.tree import slot_of, step_name, tree_dtype

WAYS = {
    "puct": Settings(simulations=64, nodes="path"),
    "gumbel": Settings(simulations=64, root="gumbel", considered=4, c_visit=20, nodes="path"),
    "improved": Settings(simulations=64, root="gumbel", inner="improved", nodes="path"),
    "spread": Settings(simulations=64, chance="spread", nodes="path"),
    "all": Settings(
        simulations=64, root="gumbel", inner="improved", chance="spread", c_scale=1.0, nodes="path"
    ),
}


def latent(game, states, settings, evaluator, *, seed=1, codes=None):
    model = PerfectModel(game, states, evaluator, codes=codes)
    search = LatentSearch(game, len(states), settings, model=model, threads=1)
    return search, search.run(states, streams(seed, "search", len(states)))


def true(game, states, settings, evaluator, *, seed=1):
    search = Search(game, len(states), settings, evaluator=evaluator, threads=1)
    return search, search.run(states, streams(seed, "search", len(states)))


def check_equal(game, states, settings, codes=None):
    evaluator, settings = Guess(game), dataclasses.replace(settings, edges_per_simulation=24)
    _, ours = latent(game, states, settings, evaluator, codes=codes)
    _, theirs = true(game, states, settings, evaluator)
    assert (theirs.visits > 1).sum() > len(states)  # there is something to compare
    assert ours.visits.tolist() == theirs.visits.tolist()
    assert ours.best.tolist() == theirs.best.tolist()
    for name in ("values", "policy", "value", "priors"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-5), name


# The same as the search over true positions ----------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_it_equals_the_true_search_where_chance_is_rolled_or_spread(race, way):
    check_equal(race, wandered(race, 12), WAYS[way])


@pytest.mark.slow  # compiles every search kernel for one more game, as the next two do
@pytest.mark.parametrize("way", ["puct", "all"])
def test_it_equals_the_true_search_where_there_is_no_chance(way):
    game = games.load(THREE_IN_A_ROW)
    check_equal(game, wandered(game, 8), WAYS[way], codes=1)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["puct", "improved"])
def test_it_equals_the_true_search_of_dmadn(way):
    """Four players, and whoever plays a 6 goes on: turns are predicted, not counted."""
    game = games.load("madn", preset="dmadn", distance=6)
    check_equal(game, wandered(game, 6, plies=60), WAYS[way], codes=1)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["spread", "all"])
def test_it_equals_the_true_search_of_madn(way):
    game = games.load("madn", distance=6)
    states = wandered(game, 40, plies=60)
    several = [len(candidates(game, s)) > 1 for s in states]
    check_equal(game, states[several][:6], WAYS[way])


# Known answers -----------------------------------------------------------------------------------


def brute_force(game, s, plies):
    """Values by seat when everybody maximises its own; zeros where the plies end."""
    who = game.turn(s)
    if who == OVER:
        return np.array(game.scores(s))
    if who != CHANCE and plies == 0:
        return np.zeros(game.seats)
    chances = game.chances(s) if who == CHANCE else None
    after = {}
    for move in game.moves(s):
        t = game.copy(s)
        game.play(t, move)
        after[move] = brute_force(game, t, plies - (who != CHANCE))
    if chances is not None:
        return sum(chances[move] * value for move, value in after.items())
    return max(after.values(), key=lambda value: value[who])


def test_spread_chance_backs_up_the_exact_expectation(coin):
    """Heads lose the stake, and the edge wins what the other seat has staked."""
    states = positions(coin, "stake=1,0 face=1,-1")
    settings = Settings(simulations=40, explore=8, chance="spread")
    _, found = latent(coin, states, settings, Guess(coin))
    assert (found.visits[0, :2] >= 3).all()
    assert found.values[0, :2] == pytest.approx([-0.5 + 0.125, -1.0 + 0.125], abs=1e-6)


def test_the_mean_of_an_edge_is_the_expectation_over_its_outcomes(race):
    states = positions(race, at(3, 4))
    settings = Settings(simulations=200, chance="spread", nodes="path")
    search, found = latent(race, states, settings, Guess(race))
    edges, tree = search.forest.edges[0], search.forest.trees[0]
    outcomes = {0: (0.25, 0.75, 0.0, 0.0), 1: (0.5, 0.0, 0.25, 0.25)}
    nodes = search.forest.nodes[0]
    for action, odds in outcomes.items():
        first = int(nodes[slot_of(nodes, step_name(tree.root, action))].edge)
        visits = edges["visits"][first : first + 4]
        means = edges["value"][first : first + 4, 0] / np.maximum(visits, 1)
        assert abs(visits / visits.sum() - odds).max() < 0.05
        assert found.values[0, action] == pytest.approx(float(np.dot(means, odds)), abs=1e-5)


@pytest.mark.parametrize("inner", ["puct", "improved"])
def test_it_agrees_with_expectiminimax(race, inner):
    """Every position of the race from which the game is short."""
    pairs = [(mine, theirs) for mine, theirs in itertools.product(range(4, 8), repeat=2)]
    states = positions(race, *(at(*pair) for pair in pairs))
    settings = Settings(simulations=600, explore=1.0, chance="spread", inner=inner)
    settings = dataclasses.replace(settings, root="gumbel", c_scale=0.5)
    _, found = latent(race, states, settings, Guess(race, even=True))
    for row, s in enumerate(states):
        values = []
        for action in (0, 1):
            t = race.copy(s)
            race.play(t, action)
            values.append(brute_force(race, t, 12)[0])
        if abs(values[0] - values[1]) > 0.05:
            assert found.best[row] == np.argmax(values), (pairs[row], values)
        assert max(found.values[row]) == pytest.approx(max(values), abs=0.05)


@pytest.mark.slow
def test_three_players_each_maximise_their_own():
    game = games.load(THREE_AT_A_PILE)
    states = wandered(game, 12, plies=1)
    _, found = latent(game, states, Settings(simulations=800), Guess(game, even=True), codes=1)
    for row, s in enumerate(states):
        values = []
        for action in game.legal(s):
            t = game.copy(s)
            game.play(t, action)
            values.append(brute_force(game, t, 20)[game.turn(s)])
        best = [a for a, v in zip(game.legal(s), values, strict=True) if v == max(values)]
        assert found.best[row] in best


# Its own ways ------------------------------------------------------------------------------------


def test_a_node_keeps_the_likeliest_actions_in_ascending_order():
    trees = np.zeros(1, tree_dtype(2, 40))
    logits = np.random.default_rng(1).normal(size=50).astype(np.float32)
    logits[7] = -100.0
    list_likeliest(trees[0], logits)
    best = np.sort(np.argsort(-logits)[:KEPT])
    assert trees[0].acts[: trees[0].legal].tolist() == best.tolist()
    list_likeliest(trees[0], logits[:10])
    assert trees[0].acts[: trees[0].legal].tolist() == [0, 1, 2, 3, 4, 5, 6, 8, 9]


def test_trees_do_not_depend_on_their_neighbours(race):
    states, evaluator = wandered(race, 6), Guess(race)
    _, together = latent(race, states, WAYS["all"], evaluator)
    for row in range(6):
        model = PerfectModel(race, states[row : row + 1], evaluator)
        search = LatentSearch(race, 1, WAYS["all"], model=model, threads=1)
        alone = search.run(states[row : row + 1], streams(1, "search", 1, row))
        assert alone.visits[0].tolist() == together.visits[row].tolist()


def test_a_search_without_secrets_is_asked_for_by_name(kuhn):
    with pytest.raises(GameError, match="nodes=path: only for games in which nothing is hidden"):
        Search(kuhn, 1, Settings(nodes="path"))
    with pytest.raises(GameError, match="chance='dice'"):
        Settings(chance="dice")
