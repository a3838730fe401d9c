"""Strategies of Dominion: their language, and the results that independent simulators have."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from oracle_files import oracle_list

from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games.dominion import GAME
from kibitz.games.dominion.cards import PROVINCE
from kibitz.games.dominion.players import STRATEGIES
from kibitz.games.dominion.strategies import read_strategies, strategy
from kibitz.games.dominion.themes import shelf

GAMES = 10_000
ERRORS = 3.3  # standard errors within which two results agree


# What the simulators say -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated(oracles):
    """Dominion with the strategies of the file of oracles."""
    oracle_list("dominion", "strategies")  # or this is skipped
    return dataclasses.replace(GAME, players=read_strategies(oracles / "dominion.json"))


def contest(game, one, other, games=GAMES):
    """A batch of finished games, the players changing seats; and who sat where."""
    batch = Batch(game, games, seed=1)
    sides = np.tile([[0, 1], [1, 0]], (games // 2, 1))
    batch.contest(
        one.lower(), other.lower(), sides, streams(1, "player", 2 * games).reshape(games, 2)
    )
    return batch, sides


@pytest.mark.oracle("dominion", "matchups")
def test_a_match_ends_as_in_the_simulators(simulated, oracle_case):
    game = simulated.bind(kingdom=",".join(oracle_case["kingdom"]))
    batch, sides = contest(game, oracle_case["A"], oracle_case["B"])
    rates = 0.5 + 0.5 * batch.scores()[sides == 0]
    rounds = batch.states["turns"].max(1)
    pooled = oracle_case["pooled"]
    p = pooled["A_win_rate"]
    error = math.sqrt(p * (1 - p) * (1 / GAMES + 1 / pooled["games"]))
    assert abs(rates.mean() - p) <= ERRORS * error
    for source in oracle_case.get("sources", ()):
        deviation = source.get("sd_rounds", rounds.std())
        error = math.sqrt(rounds.var() / GAMES + deviation**2 / source["games"])
        assert abs(rounds.mean() - source["mean_rounds"]) <= ERRORS * error


@pytest.mark.oracle("dominion", "matchups")
def test_provinces_come_as_early_as_in_the_simulators(simulated, oracle_case):
    if not oracle_case.get("sources"):
        pytest.skip("no simulator says how this match went")
    (source, *_) = oracle_case["sources"]
    wanted = {n: source[key] for n in range(1, 9) if (key := f"turn_of_province_{n}") in source}
    if not wanted:
        assert oracle_case["B"] != "None", "a match against nobody has turns of Provinces"
        return
    game = simulated.bind(kingdom=",".join(oracle_case["kingdom"]))
    turns = turns_of_provinces(game, oracle_case["A"].lower(), oracle_case["B"].lower())
    for n, expected in wanted.items():
        assert reached_alike(turns[:, n], expected, source["games"])


def reached_alike(turns, expected, games):
    """Whether the n-th Province comes in as many games, and as early where it comes.

    turns: in which it came, 0 where it did not. expected: of games in which it came, how many (n)
    of all `games`, and the mean and deviation of the turn.
    """
    reached = turns[turns > 0]
    share = (len(reached) + expected["n"]) / (len(turns) + games)
    error = math.sqrt(share * (1 - share) * (1 / len(turns) + 1 / games))
    if abs(len(reached) / len(turns) - expected["n"] / games) > ERRORS * error:
        return False
    if len(reached) == 0:
        return True
    error = math.sqrt(reached.var() / len(reached) + expected["sd"] ** 2 / expected["n"])
    return abs(reached.mean() - expected["mean"]) <= ERRORS * error


def test_a_province_that_seldom_comes_is_compared_where_it_comes():
    rng = np.random.default_rng(1)
    came = np.where(rng.random(4000) < 0.6, rng.integers(20, 30, 4000), 0)
    expected = {"n": 1200, "mean": 24.5, "sd": 2.9}
    assert reached_alike(came, expected, games=2000)
    assert not reached_alike(came, expected, games=1200), "there it came in every game"
    assert not reached_alike(came, expected | {"mean": 25.5}, games=2000)
    never = np.zeros(4000, np.int64)
    assert reached_alike(never, {"n": 0, "mean": None, "sd": None}, games=2000)
    assert not reached_alike(never, expected, games=2000)


def turns_of_provinces(game, one, other, games=GAMES):
    """By game and n: the turn of the first player in which it had its n-th Province. [games, 9]"""
    batch, own = Batch(game, games, seed=2), streams(2, "player", games)
    seat = np.arange(games) % 2  # of the first player
    rows, found = np.arange(games), np.zeros((games, 9), np.int64)
    batch.start()
    batch.settle()
    while ((turns := batch.turns()) >= 0).any():
        chosen = batch.choose(one, np.where(turns == seat, turns, -1), own)
        theirs = batch.choose(other, np.where(turns == 1 - seat, turns, -1), own)
        batch.play(np.maximum(chosen, theirs), check=False)
        provinces = batch.states["owned"][rows, seat, PROVINCE]
        turn = batch.states["turns"][rows, seat]
        for n in range(1, 9):
            new = (found[:, n] == 0) & (provinces >= n)
            found[new, n] = turn[new]
        batch.settle()
    return found


# The language ------------------------------------------------------------------------------------


def test_the_strategies_that_come_along_are_those_of_our_oracles():
    strategies = read_strategies(Path(__file__).parent.parent / "oracles" / "dominion.json")
    for name in ("bm0", "bmu", "smithy1"):
        assert GAME.players[name].plan == strategies[name].plan


def test_names_of_cards_and_blanks_are_read_as_people_write_them():
    plain = strategy({"buy": [["Council Room", "own:Council Room<2", "P<=4"]], "play": []})
    other = strategy({"buy": [["council room", "own : councilroom < 2", "p <= 4"]], "play": []})
    assert plain.plan == other.plan


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"buy": [["Provinz"]], "play": []}, "no card 'Provinz'"),
        ({"buy": [["Gold"]], "play": ["Schmied"]}, "no card 'Schmied'"),
        ({"buy": [["Gold", "P=4"]], "play": []}, "'P=4' is not a condition"),
        ({"buy": [["Gold", "Q<4"]], "play": []}, "cannot compare 'Q'"),
        ({"buy": [["Gold", "own:Nothing<4"]], "play": []}, "cannot compare 'own:Nothing'"),
        ({"buy": [["Gold", *["P<4"] * 5]], "play": []}, "more than 4 conditions"),
        ({"buy": [["Gold"]] * 24, "play": []}, "up to 23 cards to buy, not 24"),
        ({"buy": [], "play": ["Smithy"] * 12}, "up to 11 cards to play, not 12"),
        ({}, "a list of cards to buy, not None"),
        ([], "a list of cards to buy, not None"),
        ({"buy": []}, "a list of cards to play, not None"),
        ({"buy": "Gold", "play": []}, "a list of cards to buy, not 'Gold'"),
        ({"buy": ["Gold"], "play": []}, "'Gold' is not a list of a card and its conditions"),
        ({"buy": [[]], "play": []}, r"\[\] is not a list of a card and its conditions"),
        ({"buy": [[7]], "play": []}, "no card 7"),
        ({"buy": [["Gold", 7]], "play": []}, "7 is not a condition"),
        ({"buy": [], "play": [None]}, "no card None"),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused_in_a_sentence(lists, why):
    with pytest.raises(GameError, match=why):
        strategy(lists)


@pytest.mark.parametrize("contents", [b"\xff", b"{", b"[]", b"{}", b'{"strategies": [1]}'])
def test_a_file_without_strategies_is_refused_in_a_sentence(tmp_path, contents):
    (tmp_path / "s.json").write_bytes(contents)
    with pytest.raises(GameError, match=r"s\.json (is not a JSON file|has no object 'strategies')"):
        read_strategies(tmp_path / "s.json")


def after(buy, play=(), **position):
    """What a strategy does in First Game at a position given by fields of the record."""
    return done_by(strategy({"buy": buy, "play": play}), **position)


def done_by(mine, **position):
    game = dataclasses.replace(GAME, players={"mine": mine}).bind(
        kingdom="first_game", first="0", auto_single="false"
    )
    batch = Batch(game, 1, seed=1)
    batch.start()
    batch.settle()
    for name, value in position.items():
        batch.states[name][0] = value
    return game.action_text(
        batch.states[0], int(game.players["mine"](batch.states[0], 0, streams(1, "player", 1)[0]))
    )


def test_the_first_entry_whose_conditions_hold_is_bought():
    in_buy_phase = {"phase": 4, "coins": 8, "can": [0, (1 << 17) - 1, 0, 0, 0, 0, 0, 0b10]}
    assert after([["Gold", "P<8"], ["Silver"]], **in_buy_phase) == "buy Silver"
    assert after([["Gold", "P<=8"], ["Silver"]], **in_buy_phase) == "buy Gold"
    assert after([["Gold", "coins>8"], ["Duchy", "turn>=2"]], **in_buy_phase) == "end buys"
    assert after([["Gold", "cards>9", "M<8", "own:Estate>=3"]], **in_buy_phase) == "buy Gold"
    assert (
        after([["Gold", "supply:Moat<10"], ["Moat", "supply:Moat>=10"]], **in_buy_phase)
        == "buy Moat"
    )
    assert (
        after([["Gold", "own:Witch>0"], ["Estate", "own:Witch<1"]], **in_buy_phase) == "buy Estate"
    )


def test_the_first_theme_whose_cards_are_all_on_the_table_is_followed():
    themes = [
        {"needs": ["Moat", "Witch"], "buy": [["Curse"]], "play": []},
        {"needs": ["Moat", "Smithy"], "buy": [["Moat"]], "play": []},
        {"needs": ["Village"], "buy": [["Village"]], "play": []},
        {"needs": [], "buy": [["Gold"]], "play": []},
    ]
    in_buy_phase = {"phase": 4, "coins": 8, "can": [0, (1 << 17) - 1, 0, 0, 0, 0, 0, 0b10]}
    for rank, bought in enumerate(("Moat", "Village", "Gold", "Gold")):
        player = shelf(themes).under("themes", f"rank={rank}")
        assert done_by(player, **in_buy_phase) == f"buy {bought}"


def test_themes_beat_the_strategy_that_they_were_bred_from():
    """In kingdoms for which there are many: with a Chapel."""
    game = GAME.bind(kingdom="random with Chapel")
    assert match(game, "themes", "bme", games=4000, seed=11).win_rate > 0.55


def test_every_strategy_finishes_its_games_on_any_kingdom():
    for name in STRATEGIES:
        batch, _ = contest(GAME, name, "random", games=200)
        assert (batch.turns() < 0).all()
        assert not batch.states["truncated"].all()


def test_the_evolved_strategy_is_the_hardest_on_random_kingdoms():
    for name, rate in (("bmx", 0.53), ("bmu", 0.79), ("chapel1", 0.53)):
        assert match(GAME, "bme", name, games=4000, seed=11).win_rate > rate, name
