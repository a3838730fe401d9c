"""The PettingZoo door: PettingZoo's own tests on every game, and what its environments promise."""

import importlib
import pickle
import random
import sys

import numpy as np
import pytest

from kibitz import chance, games
from kibitz.game import CHANCE, GameError

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test

from kibitz.adapters import pettingzoo

# PettingZoo warns about views with an action mask unless it knows the environment by name, and
# about the mask of a seat that has nothing to choose because the game is over.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array:UserWarning"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably:UserWarning"),
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros:UserWarning"),
]


def played_out(table, seed):
    """The environment after a game of random play, before anybody has left the table."""
    rng = random.Random(seed)
    table.reset(seed=seed)
    while not any(table.terminations.values()):
        seen, *_ = table.last()
        table.step(rng.choice(np.flatnonzero(seen["action_mask"])))
    return table


@pytest.mark.parametrize("name", games.names())
def test_pettingzoo_finds_nothing_wrong(name):
    api_test(pettingzoo.env(name), num_cycles=300)


@pytest.mark.parametrize("name", games.names())
def test_a_seed_tells_the_whole_game(name):
    seed_test(lambda: pettingzoo.env(name), num_cycles=300)


@pytest.mark.parametrize("name", games.names())
def test_rewards_are_the_scores(name):
    table = played_out(pettingzoo.env(name), seed=4)
    game, s = games.load(name), table.unwrapped.s
    assert list(table.rewards.values()) == game.scores(s)


@pytest.mark.parametrize("name", games.names())
def test_only_the_seat_to_move_has_actions(name):
    table = pettingzoo.env(name)
    table.reset(seed=1)
    game, s = games.load(name), table.unwrapped.s
    for seat, agent in enumerate(table.agents):
        could = np.flatnonzero(table.observe(agent)["action_mask"]).tolist()
        assert could == (game.legal(s) if seat == game.turn(s) else [])


def test_an_observation_is_the_view():
    table = pettingzoo.env("liars_dice", dice=(1, 2), sides=3)
    table.reset(seed=1)
    game, s = games.load("liars_dice", dice=(1, 2), sides=3), table.unwrapped.s
    assert (table.observe("seat_1")["observation"] == game.look(s, 1)).all()


@pytest.mark.parametrize("number", [0, 1])
def test_dice_come_from_the_stream_of_the_table(number):
    game, table = games.load("liars_dice"), pettingzoo.env("liars_dice")
    table.reset(seed=3)
    for _ in range(number):
        table.reset()
    s, rng = game.fresh(), chance.stream(3, "table", number)
    while game.turn(s) == CHANCE:
        game.roll(s, rng)
    assert game.text(table.unwrapped.s) == game.text(s)


def test_without_a_seed_every_environment_plays_its_own_games():
    game, dice = games.load("liars_dice"), set()
    for _ in range(3):
        table = pettingzoo.env("liars_dice")
        table.reset()
        dice.add(game.text(table.unwrapped.s))
    assert len(dice) > 1


def test_an_illegal_action_ends_the_game_with_the_lowest_score():
    table = pettingzoo.env("liars_dice")
    table.reset(seed=1)
    table.step(60)  # a call before any bid
    assert table.rewards == {"seat_0": -1, "seat_1": 0} and all(table.terminations.values())


def test_an_illegal_action_is_an_error_where_nothing_guards():
    table = pettingzoo.raw_env("liars_dice", dice=(1, 1), sides=3)
    table.reset(seed=1)
    with pytest.raises(GameError, match=r"seat_0: 6 is not legal; there are: 1x1, 1x2"):
        table.step(6)


def test_the_table_is_drawn_as_the_seat_to_move_sees_it():
    table = pettingzoo.env("kuhn", render_mode="ansi")
    table.reset(seed=1)
    table.step(1)
    assert table.render() == games.load("kuhn").seen(table.unwrapped.s, 1)


def test_drawing_without_a_render_mode_says_what_is_missing():
    table = pettingzoo.env("kuhn")
    table.reset(seed=1)
    with pytest.warns(UserWarning, match='render_mode="ansi"'):
        table.render()


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(GameError, match="'ansi' or None"):
        pettingzoo.env("kuhn", render_mode="human")


def test_a_pickled_environment_is_of_the_same_game():
    table = pickle.loads(pickle.dumps(pettingzoo.env("liars_dice", dice=(1, 2), sides=3)))
    assert table.unwrapped.game.options == games.load("liars_dice", dice=(1, 2), sides=3).options


def test_without_pettingzoo_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "kibitz.adapters.pettingzoo")
    with pytest.raises(ImportError, match=r'pip install "kibitz\[adapters\]"'):
        importlib.import_module("kibitz.adapters.pettingzoo")
