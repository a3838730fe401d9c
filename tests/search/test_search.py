"""Tree search: known answers, trees that keep to themselves, and nothing peeked at."""

import dataclasses
import functools

import numpy as np
import pytest
from search_tables import at, positions, wandered

from kibitz import games
from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.players import PlayerError, player
from kibitz.search import gumbel
from kibitz.search.mcts import Found, Search, Settings, gamma, sampled

WALK, RUN = 0, 1
PASS, BET = 0, 1
WAYS = {
    "puct": Settings(simulations=60),
    "gumbel": Settings(simulations=60, root="gumbel"),
    "noise": Settings(simulations=60, noise=0.25),
}


def search(game, states, settings=None, *, seed=1, first=0, **options):
    """One search by trees number `first` and on."""
    rngs = streams(seed, "search", len(states), first)
    return Search(game, len(states), settings, **options).run(states, rngs)


# Known answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mover", [0, 1])
@pytest.mark.parametrize("square, odds", [(6, (0.75, 0.5)), (5, (0.0, 0.5)), (4, (0.0, 0.25))])
def test_puct_prefers_the_better_of_two_bandits(race, square, odds, mover):
    """The other seat is about to win, so an action is worth what its own throw is."""
    found = search(race, positions(race, at(square, 7, mover)), Settings(simulations=4000))
    assert found.best[0] == np.argmax(odds)


@pytest.mark.parametrize("mover", [0, 1])
@pytest.mark.parametrize("square, odds", [(6, (0.75, 0.5)), (5, (0.0, 0.5)), (4, (0.0, 0.25))])
def test_a_bandit_is_valued_at_its_odds(race, square, odds, mover):
    found = search(race, positions(race, at(square, 7, mover)), Settings(simulations=4000))
    for action, p in enumerate(odds):
        error = 2 * np.sqrt(p * (1 - p) / found.visits[0, action])
        assert abs(found.values[0, action] - (2 * p - 1)) <= 4 * error


@functools.cache
def race_values(mine, theirs):
    """What walking and running are worth to the seat to move, by arithmetic."""

    def after(steps):
        return 1.0 if mine + steps >= 8 else -max(race_values(theirs, mine + steps))

    walk = 0.25 * after(1) + 0.75 * after(2)
    return walk, 0.5 * after(1) + 0.25 * after(3) + 0.25 * after(4)


@pytest.fixture(scope="module")
def solved(race):
    """A long search of every position of the race, and what it should have found."""
    every = [(mine, theirs, who) for mine in range(8) for theirs in range(8) for who in (0, 1)]
    settings = Settings(simulations=20_000, explore=1.0, edges_per_simulation=1)
    states = positions(race, *(at(*each) for each in every))
    truth = np.array([race_values(mine, theirs) for mine, theirs, _ in every])
    return search(race, states, settings, evaluator="uniform"), truth


def test_a_long_search_finds_the_exact_value(solved):
    found, truth = solved
    assert np.abs(found.value - truth.max(1)).max() < 0.04


def test_a_long_search_plays_an_optimal_move(solved):
    found, truth = solved
    clear = np.abs(truth[:, WALK] - truth[:, RUN]) > 0.03
    assert clear.sum() > 60
    assert (found.best == truth.argmax(1))[clear].all()


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_kuhn_poker_is_played_without_dominated_answers(kuhn, root):
    """A bet is never called with the jack and always with the king, whatever the other holds."""
    best = {"qj b": PASS, "kj b": PASS, "jq pb": PASS, "jk pb": PASS}
    best |= {"qk b": BET, "jk b": BET, "kq pb": BET, "kj pb": BET}
    states = np.repeat(positions(kuhn, *best), 8)
    found = search(kuhn, states, Settings(simulations=300, root=root))
    assert found.best.tolist() == np.repeat(list(best.values()), 8).tolist()


GOLDEN = {
    "kuhn": ("jq", "qk p", "kq pb", "qj b"),
    "liars": ("2,3 / 1,4", "6,6 / 1,2 : 1x6", "1,5 / 5,5 : 1x2, 2x5"),
}
TREES = {
    "kuhn": [
        [84, 15],
        [38, 61],
        [3, 96],
        [91, 8],
    ],
    "liars": [
        [1, 1, 2, 2, 1, 2, 2, 2, 43, 2, 2, 1, 1, 2, 1, 14, 2, 4, 1, 2, 1, 5, 4, 1],
        [17, 1, 3, 20, 1, 1, 1, 3, 1, 22, 1, 1, 7, 1, 5, 7, 5, 1, 1],
        [1, 38, 1, 1, 35, 1, 1, 1, 4, 12, 1, 1, 1, 1],
    ],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_trees_are_the_ones_they_were(request, name):
    """A change of the search shows here; change these only with a reason."""
    game = request.getfixturevalue(name)
    found = search(game, positions(game, *GOLDEN[name]), Settings(simulations=100), seed=3)
    rows = [row[:n].tolist() for row, n in zip(found.visits, found.counts, strict=True)]
    assert rows == TREES[name]


# Trees keep to themselves ----------------------------------------------------------------------


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.fixture(scope="module", params=["rollout", "uniform"])
def together(request, liars, way):
    """Sixteen trees in one batch of one thread, and the evaluator they had."""
    states = wandered(liars, 16)
    found = search(liars, states, way, evaluator=request.param, threads=1)
    return states, request.param, found.visits


def test_a_tree_alone_is_the_tree_among_many(liars, way, together):
    states, evaluator, visits = together
    for i in range(16):
        alone = search(liars, states[i : i + 1], way, first=i, evaluator=evaluator)
        assert alone.visits[0].tolist() == visits[i].tolist(), i


def test_two_threads_grow_the_trees_of_one(liars, way, together):
    states, evaluator, visits = together
    found = search(liars, states, way, evaluator=evaluator, threads=2)
    assert found.visits.tobytes() == visits.tobytes()


def test_a_seed_gives_the_same_trees_again(liars, way, together):
    states, evaluator, visits = together
    size = len(states)
    used = Search(liars, size, way, evaluator=evaluator)
    used.run(states[::-1].copy(), streams(9, "search", size))  # leaves nothing behind
    found = used.run(states, streams(1, "search", size))
    assert found.visits.tobytes() == visits.tobytes()


def test_another_seed_gives_other_trees(liars, way, together):
    states, evaluator, visits = together
    found = search(liars, states, way, evaluator=evaluator, seed=2)
    assert found.visits.tobytes() != visits.tobytes()


# Nothing peeked at -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["liars", "beasty_bar"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_a_search_sees_nothing_hidden(request, name, root):
    """Re-deal what the searching seat cannot know: its visits must not move by one."""
    if name == "beasty_bar" and name not in games.names():
        pytest.skip("beasty_bar is not here")
    game = request.getfixturevalue(name) if name == "liars" else games.load(name)
    states = wandered(game, 64, plies=5)
    others = Batch.of(game, states.copy(), streams(4, "table", 64))
    others.redeal(others.turns(), streams(4, "player", 64))
    assert (others.states != states).sum() > 16  # something was hidden
    settings = Settings(simulations=50, root=root)
    ours, theirs = (search(game, each, settings) for each in (states, others.states))
    assert ours.visits.tobytes() == theirs.visits.tobytes()


def test_a_search_leaves_its_roots_as_they_were(liars, way):
    states = wandered(liars, 16)
    before = states.tobytes()
    search(liars, states, way)
    assert states.tobytes() == before


def test_a_search_does_not_touch_the_streams_of_the_tables(liars, way):
    batch = Batch(liars, 16, seed=1)
    batch.settle()
    before = batch.rngs.tobytes()
    search(liars, batch.states, way, seed=1)
    assert batch.rngs.tobytes() == before


def test_the_streams_of_a_search_are_not_those_of_a_table():
    table, thinking = (streams(1, purpose, 100) for purpose in ("table", "search"))
    assert not set(table["key"]) & set(thinking["key"])


# Gumbel search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("simulations", [1, 7, 50, 200])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 16])
def test_a_plan_can_be_followed_to_its_end(k, simulations):
    """There always is an action with the visits that are due."""
    visits = [0] * k
    for due in gumbel.plan(16, simulations)[k]:
        visits[visits.index(due)] += 1
    assert sum(visits) == simulations


def test_sixteen_actions_are_halved_as_in_the_paper():
    """200 simulations in four rounds: 3 for each of 16, 6 of 8, 12 of 4, 25 of 2, 3 left over."""
    row = gumbel.plan(16, 200)[16].tolist()
    halves = [(16, range(0, 3)), (8, range(3, 9)), (4, range(9, 21)), (2, range(21, 49))]
    assert row == [n for many, visits in halves for n in visits for _ in range(many)]


def test_three_actions_are_two_after_the_first_round():
    """12 simulations in two rounds: 12 // 6 = 2 for each of 3, then 12 // 4 = 3 for each of 2."""
    assert gumbel.plan(3, 12)[3].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]


def test_a_single_action_gets_every_visit():
    assert gumbel.plan(16, 5)[1].tolist() == [0, 1, 2, 3, 4]


MEANS = np.array([0.5, -0.5, 0.0, 0.0])
PRIORS = np.array([0.25, 0.25, 0.5, 0.0])  # of three actions; the fourth is none


def test_an_action_not_visited_gets_the_mixed_value():
    """Seen: (0.25 * 0.5 - 0.25 * 0.5) / 0.5 = 0; with a root of 0.4: (0.4 + 4 * 0) / 5 = 0.08."""
    visits = np.array([3, 1, 0, 0], np.int32)
    assert gumbel.mixed_value(visits, MEANS, PRIORS, 3, 0.4) == pytest.approx(0.08)


def test_the_improved_policy_is_the_prior_tilted_by_the_values():
    """(50 + 3) * 0.2 = 10.6, so 0.1 more is worth a factor of e^1.06."""
    visits, values = np.array([3, 1, 1, 0], np.int32), np.array([0.1, 0.0, 0.0, 0.0])
    weight, policy = gumbel.value_weight(3, 50.0, 0.2), np.zeros(4)
    value = gumbel.improve(visits, values, PRIORS, 3, 0.4, weight, policy)
    weights = np.array([0.25 * np.exp(1.06), 0.25, 0.5, 0.0])
    assert policy == pytest.approx(weights / weights.sum())
    assert value == pytest.approx(0.1 * policy[0])


def test_a_larger_c_scale_trusts_the_values_more(race):
    states = positions(race, at(6, 7))
    shy, bold = (
        search(race, states, Settings(simulations=50, root="gumbel", c_scale=c_scale))
        for c_scale in (0.01, 1.0)
    )
    assert shy.policy[0, WALK] < 0.8 < bold.policy[0, WALK]


@pytest.mark.parametrize("name", ["c_visit", "c_scale"])
@pytest.mark.parametrize("number", [0, 0.0, -1.0, float("nan"), "2"])
def test_the_weights_of_a_value_are_above_zero(name, number):
    with pytest.raises(GameError, match=name):
        Settings(**{name: number})


@pytest.fixture(scope="module")
def gumbels(liars):
    return search(liars, wandered(liars, 64), WAYS["gumbel"])


def test_an_improved_policy_sums_to_one(gumbels):
    assert gumbels.policy.sum(1) == pytest.approx(np.ones(64))


def test_only_legal_actions_are_in_the_improved_policy(gumbels):
    legal = np.arange(gumbels.policy.shape[1]) < gumbels.counts[:, None]
    assert (~legal).any()
    assert not gumbels.policy[~legal].any()


def test_the_improved_policy_prefers_better_values(race):
    states = positions(race, at(6, 7), at(5, 7))
    found = search(race, states, Settings(simulations=200, root="gumbel"))
    assert found.policy[0, WALK] > 0.9 and found.policy[1, RUN] > 0.9


# Noise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 0.3, 1.0, 3.0])
def test_the_noise_has_the_mean_of_a_gamma(alpha):
    drawn = gamma(alpha, *np.random.default_rng(1).uniform(size=(3, 400_000)))
    assert drawn.mean() == pytest.approx(alpha, rel=0.02)


@pytest.fixture(scope="module")
def noisy(liars):
    return search(liars, wandered(liars, 64), WAYS["noise"])


def test_noise_leaves_priors_that_sum_to_one(noisy):
    assert noisy.priors.sum(1) == pytest.approx(np.ones(64), abs=1e-5)


def test_noise_leaves_three_quarters_of_a_prior(noisy):
    """A quarter is Dirichlet's, and not every tree's is the same."""
    several = noisy.counts > 1
    ratio = (noisy.priors * noisy.counts[:, None])[several, 0]
    assert ratio.min() >= 0.75 - 1e-5 and ratio.std() > 0.05


# Networks --------------------------------------------------------------------------------------


class Oracle:
    """A network that says the same of every view."""

    def __init__(self, logits, values):
        self.logits = np.array([logits], np.float32)
        self.values = np.array([values], np.float32)

    def room(self, size, view_size):
        return np.zeros((size, view_size), np.float32)

    def __call__(self, views):
        return tuple(each.repeat(len(views), 0) for each in (self.logits, self.values))


@pytest.mark.parametrize("good", [WALK, RUN])
def test_a_search_follows_its_network(race, good):
    logits = [4.0, 0.0] if good == WALK else [0.0, 4.0]
    found = search(race, positions(race, at(0, 0)), evaluator=Oracle(logits, [0.0, 0.0]))
    assert found.best[0] == good


def test_priors_are_the_softmax_of_the_logits(race):
    logits = [np.log(3.0), 0.0]
    found = search(race, positions(race, at(0, 0)), evaluator=Oracle(logits, [0.0, 0.0]))
    assert found.priors[0] == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize("mover", [0, 1])
def test_a_value_is_the_looking_seat_s_own(race, mover):
    """After one move the other seat looks and is sure to win: that is bad for the mover."""
    rosy = Oracle([0.0, 0.0], [1.0, -1.0])
    found = search(race, positions(race, at(0, 0, mover)), Settings(simulations=2), evaluator=rosy)
    assert found.value[0] == -1.0


def test_a_network_without_opinions_is_no_network(race):
    """Lanes with a network take the very steps of the search that needs none."""
    states, settings = wandered(race, 16), Settings(simulations=60)
    blank = Oracle([0.0, 0.0], [0.0, 0.0])
    ours = search(race, states, settings, evaluator=blank, threads=2)
    theirs = search(race, states, settings, evaluator="uniform")
    assert ours.visits.tobytes() == theirs.visits.tobytes()


# Room and time ---------------------------------------------------------------------------------


def test_a_tree_is_kept_when_asked(race):
    states, trees = positions(race, at(0, 0)), Search(race, 1, Settings(simulations=50))
    first = trees.run(states, streams(1, "search", 1))
    second = trees.run(states, streams(2, "search", 1), reuse=True)
    assert (first.visits.sum(), second.visits.sum()) == (49, 99)


def test_a_tree_is_new_unless_asked(race):
    states, trees = positions(race, at(0, 0)), Search(race, 1, Settings(simulations=50))
    trees.run(states, streams(1, "search", 1))
    assert trees.run(states, streams(2, "search", 1)).visits.sum() == 49


def test_a_full_tree_goes_on_without_growing(liars):
    """One edge a simulation is far too few where a node has twenty."""
    states = np.repeat(positions(liars, "2,3 / 1,4"), 16)
    trees = Search(liars, 16, Settings(simulations=500, edges_per_simulation=1))
    found = trees.run(states, streams(1, "search", 16))
    assert (trees.forest.trees["unstored"] > 0).all()
    assert (found.visits.sum(1) == 499).all()


def test_a_search_stops_when_its_time_is_up(race):
    limit = 1_000_000
    settings = Settings(simulations=limit, seconds=0.05, edges_per_simulation=1)
    found = search(race, positions(race, at(0, 0)), settings)
    assert 1 <= found.simulations[0] < limit


# A search in parts -----------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", ["rollout", "uniform", "network"])
def test_parts_make_the_trees_of_one_run(liars, way, evaluator):
    if evaluator == "network":
        evaluator = Oracle(np.linspace(-1, 1, liars.num_actions), [0.25, -0.25])
    states = wandered(liars, 16)
    whole = search(liars, states, way, evaluator=evaluator)
    trees = Search(liars, 16, way, evaluator=evaluator)
    first = trees.run(states, streams(1, "search", 16), simulations=13)
    trees.more(1)
    last = trees.more(46)
    assert (first.simulations == 13).all() and (last.simulations == 60).all()
    for field in dataclasses.fields(Found):
        ours, theirs = (getattr(found, field.name) for found in (last, whole))
        assert ours.tobytes() == theirs.tobytes(), field.name


def test_a_search_goes_on_from_its_roots_when_the_tables_have_moved(liars):
    states, settings = wandered(liars, 16), Settings(simulations=60)
    whole = search(liars, states, settings)
    trees = Search(liars, 16, settings)
    trees.run(states, streams(1, "search", 16), simulations=30)
    states[:] = states[::-1].copy()
    assert trees.more(30).visits.tobytes() == whole.visits.tobytes()


def test_a_search_can_go_on_when_its_trees_are_full(liars):
    trees = Search(liars, 1, Settings(simulations=20))
    trees.run(wandered(liars, 1), streams(1, "search", 1))
    assert trees.more(200).visits.sum() == 219


def test_a_gumbel_search_does_not_go_on_beyond_its_plan(liars):
    trees = Search(liars, 1, Settings(simulations=20, root="gumbel"))
    trees.run(wandered(liars, 1), streams(1, "search", 1), simulations=15)
    with pytest.raises(GameError, match="planned for 20 simulations, and 15 are done"):
        trees.more(6)


def test_nothing_goes_on_that_has_not_begun(liars):
    with pytest.raises(GameError, match="run one first"):
        Search(liars, 1).more(10)


def test_a_run_makes_no_more_simulations_than_its_trees_are_for(liars):
    with pytest.raises(GameError, match="simulations of a run"):
        Search(liars, 1, Settings(simulations=20)).run(
            wandered(liars, 1), streams(1, "search", 1), simulations=21
        )


# Moves out of a search -------------------------------------------------------------------------


def policies(rows, policy, counts, best):
    """What a search would have found, where only the policy matters; actions are 10, 11, 12."""
    policy = np.array([policy] * rows)
    acts, none = np.tile(np.int16([10, 11, 12]), (rows, 1)), np.zeros_like(policy)
    return Found(
        actions=acts,
        counts=np.full(rows, counts),
        visits=none,
        values=none,
        priors=none,
        policy=policy,
        value=none[:, 0],
        best=np.full(rows, best),
        simulations=none[:, 0],
    )


def test_no_temperature_plays_the_best():
    found = policies(100, [0.4, 0.6, 0.0], counts=2, best=10)
    assert (sampled(found, 0.0, np.random.default_rng(1).random) == 10).all()


@pytest.mark.parametrize("temperature, odds", [(1.0, 0.25), (0.5, 0.1)])
def test_a_temperature_plays_by_the_policy(temperature, odds):
    """At 1/2 the odds of 1 to 3 become 1 to 9."""
    found = policies(40_000, [0.25, 0.75, 0.0], counts=2, best=11)
    drawn = sampled(found, temperature, np.random.default_rng(1).random)
    assert (drawn == 10).mean() == pytest.approx(odds, abs=0.01)


@pytest.mark.parametrize("u", [0.0, 0.5, 1.0 - 2.0**-53])
def test_no_draw_plays_what_has_no_odds(u):
    found = policies(1, [0.0, 1.0, 0.0], counts=2, best=11)
    assert sampled(found, 1.0, lambda n: np.full(n, u)).tolist() == [11]


# What is refused, and who sits down ------------------------------------------------------------


def test_a_search_without_simulations_is_refused():
    with pytest.raises(GameError, match="at least one simulation, not 0"):
        Settings(simulations=0)


def test_a_wrong_number_of_tables_is_refused(race):
    with pytest.raises(GameError, match="for 2 tables, not 1"):
        Search(race, 2).run(positions(race, at(0, 0)), streams(1, "search", 1))


@pytest.mark.parametrize("text", ["mcts:sims=x", "mcts:root=best", "mcts:evaluator=guess"])
def test_a_search_that_cannot_be_is_nobody(kuhn, text):
    with pytest.raises(PlayerError):
        player(text, kuhn)


@pytest.mark.skipif("beasty_bar" not in games.names(), reason="beasty_bar is not here")
def test_a_short_search_beats_random_play_at_beasty_bar():
    game = games.load("beasty_bar", early_stop=True)
    assert match(game, "mcts:sims=20", "random", games=60, seed=0).win_rate > 0.8


# On a GPU --------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("evaluator", ["rollout", "uniform"])
@pytest.mark.parametrize("name", ["kuhn", "liars_dice", "beasty_bar", "dominion"])
def test_a_gpu_grows_the_same_trees(name, evaluator):
    game = games.load(name)
    states, settings = wandered(game, 64), Settings(simulations=50)
    cpu, gpu = (
        search(game, states, settings, evaluator=evaluator, device=device)
        for device in ("cpu", "cuda")
    )
    assert cpu.visits.tobytes() == gpu.visits.tobytes()
