"""The baselines of the race games, and random play, against figures that two engines agree on."""

import numpy as np
import pytest
from madn_book import table
from madn_statistics import MATCHES, RANDOM_PLAY, agrees, match, random_play

from kibitz import chance, games
from kibitz.game import CHANCE, OVER
from kibitz.games.madn.board import controlled
from kibitz.games.madn.expectimax import worth
from kibitz.games.madn.players import WEIGHTS
from kibitz.players import PlayerError, player


def choice(game, s, player, seed=1):
    return int(game.players[player](s, game.turn(s), chance.stream(seed, "player")))


def test_the_runner_moves_the_farthest_pin():
    game, s = table("madn_teams", {0: [5, 20, 12]}, die=3)
    assert choice(game, s, "runner") == 1
    game, s = table("dog", {0: [5, 20, 12]}, hand=[3, 8, 11])
    assert game.action_text(s, choice(game, s, "runner")) == "pin 1 forward 11"


def test_the_rules_prefer_the_lane_then_coming_out_then_foes():
    game, s = table("madn_teams", {0: [35, 20], 1: [26]}, die=6)
    assert choice(game, s, "rules_greedy") == 0  # into the lane
    game, s = table("madn_teams", {0: [30, 20], 1: [26]}, die=6)
    assert choice(game, s, "rules_greedy") == 2  # out: 3, and a foe home: 2 and the steps
    game, s = table("madn_teams", {0: [30, 20, 10, 12], 1: [26]}, die=6)
    assert choice(game, s, "rules_greedy") == 1


def test_rules_weighs_actions_by_how_much_worse_they_are():
    game, s = table("dmadn_teams", {0: [5, 20, 30, 35]}, stock=(0, 1, 0, 0, 0, 0))
    counts = np.zeros(24)
    for seed in range(300):
        counts[choice(game, s, "rules", seed)] += 1
    assert counts[[1, 7, 13, 19]].sum() == 300 and counts.min() >= 0
    assert counts[1] == pytest.approx(75, abs=30)  # all gain two steps
    assert WEIGHTS[64] / WEIGHTS[0] == pytest.approx(np.exp(-1), rel=1e-6)


def test_the_greedy_one_sends_a_foe_home():
    game, s = table("madn_teams", {0: [5, 20, 12, 14], 1: [23]}, die=3)
    assert choice(game, s, "greedy") == 1


def test_expectimax_takes_the_win_and_leaves_the_position_as_it_was():
    game, s = table("dmadn", {0: [38, 41, 42, 43]}, stock=(1, 1, 0, 0, 0, 0))
    before = s.tobytes()
    assert game.action_text(s, choice(game, s, "expectimax")) == "pin 0 by 2"
    assert s.tobytes() == before


def test_expectimax_gets_out_of_reach():
    """Both pins could go 5; one of them stands two cells ahead of a foe that moves next."""
    for pins, expected in (([22, 30], 0), ([30, 22], 1)):
        game, s = table("madn_teams", {0: pins, 1: [20]}, die=5)
        assert choice(game, s, "expectimax") == expected


def expectation(game, s, player, plies):
    """What a position is worth to a player's side, by the rules as they are written."""
    who = game.turn(s)
    if who == OVER or (who != CHANCE and plies == 0):
        return worth(s, player)
    after = []
    for move in game.moves(s):
        t = game.copy(s)
        game.play(t, move)
        after.append(t)
    if who == CHANCE and plies == 0:  # the last throw changes nothing that is counted
        return worth(s, player)
    if who == CHANCE:
        odds = [p for p in game.chances(s) if p > 0]
        parts = [p * expectation(game, t, player, plies) for p, t in zip(odds, after, strict=True)]
        return sum(parts)
    mover = controlled(s, who)
    best = max(after, key=lambda t: expectation(game, t, mover, plies - 1))  # the first of equals
    return expectation(game, best, player, plies - 1)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    "preset, pins, more",
    [
        ("madn_teams", {0: [22, 30], 1: [20], 3: [35]}, {"die": 5}),
        ("madn_teams", {0: [5, 12], 1: [38, 9], 2: [3]}, {"die": 4}),
        ("dmadn", {0: [10, 22], 1: [4]}, {"stock": (1, 0, 1, 0, 0, 0)}),
    ],
)
def test_expectimax_is_the_expectation_by_the_rules(preset, pins, more, depth):
    game, s = table(preset, pins, **more)
    if preset == "dmadn":
        s.stock[1:] = 0
        s.stock[1:, 1] = 2
    values, player = [], controlled(s, 0)
    for action in game.legal(s):
        t = game.copy(s)
        game.play(t, action)
        values.append(expectation(game, t, player, depth))
    best = game.legal(s)[int(np.argmax(np.round(values, 6)))]
    follow = game.player("expectimax" if depth == 1 else f"expectimax:depth={depth}")
    assert len(values) > 1 and len(set(values)) > 1
    assert follow(s, 0, chance.stream(1, "player")) == best


def test_the_depth_of_expectimax_is_part_of_its_text():
    game = games.load("madn")
    one, two = (player(text, game) for text in ("expectimax", "Expectimax: depth = 2"))
    assert two.name == "expectimax:depth=2" and one.identity != two.identity
    assert player("expectimax:depth=1", game).name == "expectimax:depth=1"
    for text, wrong in (
        ("expectimax:depth=3", "depth is 1 to 2, not '3'"),
        ("expectimax:width=3", "has no option 'width'; it has: depth"),
        ("greedy:depth=1", "has no option 'depth'; it has: no options"),
    ):
        with pytest.raises(PlayerError, match=wrong):
            player(text, game)


@pytest.mark.parametrize("preset", ["madn", "dmadn_teams"])
def test_random_games_are_as_long_as_two_engines_say(preset):
    games_known, mean, sd, passes, choices, legal = RANDOM_PLAY[preset]
    lengths, *shares, _ = random_play(preset, 400, seed=2)
    assert abs(lengths.mean() - mean) <= 3 * sd * np.sqrt(1 / 400 + 1 / games_known)
    assert shares == pytest.approx([passes, choices, legal], rel=0.05, abs=0.005)


def test_random_games_of_dog_are_as_long_as_two_engines_say():
    """Move by move from Python: fewer kernels to compile."""
    game, rng, lengths = games.load("madn", preset="dog"), chance.stream(4, "table"), []
    for _ in range(25):
        s = game.fresh()
        while game.turn(s) != OVER:
            if game.turn(s) == CHANCE:
                game.roll(s, rng)
            else:
                legal = game.legal(s)
                game.play(s, legal[int(chance.below(rng, len(legal)))])
        lengths.append(int(s.plies))
    count, mean, sd, *_ = RANDOM_PLAY["dog"]
    assert abs(np.mean(lengths) - mean) <= 3 * sd * np.sqrt(1 / 25 + 1 / count)


@pytest.mark.parametrize("case", [("madn", "runner", "random"), ("madn_teams", "greedy", "random")])
def test_baselines_win_as_often_as_two_engines_say(case):
    assert agrees(match(*case, 400), 400, *MATCHES[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", MATCHES)
def test_all_baselines_win_as_often_as_two_engines_say(case):
    count = MATCHES[case][1]
    assert agrees(match(*case, count, seed=3), count, *MATCHES[case])


@pytest.mark.slow
@pytest.mark.parametrize("preset", RANDOM_PLAY)
def test_all_random_games_are_as_long_as_two_engines_say(preset):
    count, mean, sd, passes, choices, legal = RANDOM_PLAY[preset]
    lengths, *shares, _ = random_play(preset, count, seed=3)
    assert abs(lengths.mean() - mean) <= 3 * sd * np.sqrt(2 / count)
    assert shares == pytest.approx([passes, choices, legal], rel=0.05, abs=0.006)
