"""A network that looks ahead, at a table."""

from __future__ import annotations

import numpy as np
import pytest
from small_games import COIN, PEEK

from kibitz.arena.match import match
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import save_net
from kibitz.nets.kinds import all_kinds
from kibitz.players import PlayerError, Sight, explain, player
from kibitz.players.networks import network_of
from kibitz.players.sight import identity_of
from kibitz.players.thought import Inquiry

TABLES = 20


@pytest.fixture
def text(tmp_path):
    """A network of the coin game, by its text."""
    return saved(load(COIN), tmp_path)


def saved(game, path):
    kind = all_kinds()["residual"]
    net = kind.net(kind.config(**kind.fitted(game) | {"width": 16, "blocks": 1}), 1)
    save_net(path / "net.safetensors", net, {"game": game.describe()})
    return f"net:{path}/net.safetensors"


def sight(game, seed=3):
    states, rngs = np.array([game.fresh()] * TABLES), streams(seed, "player", TABLES)
    return Sight(game, states, np.zeros(TABLES, int), rngs)


def test_it_plays_the_highest_expectation(text):
    game = load(COIN)
    who = player(f"{text},lookahead=64", game)
    values = who.judge(sight(game)).values
    best = game.legal(game.fresh())[int(values[0, : len(game.legal(game.fresh()))].argmax())]
    assert (values == values[0]).all()
    assert who.choose(sight(game)).tolist() == [best] * TABLES


def test_the_same_seed_plays_the_same(text):
    game = load(COIN)
    results = [match(game, f"{text},lookahead=1", "random", games=20, seed=4) for _ in range(2)]
    assert results[0].as_json() == results[1].as_json()


def test_it_says_what_it_expects(text):
    game = load(COIN)
    who = player(f"{text},lookahead=64", game)
    one = Sight(game, np.array([game.fresh()]), [0], streams(3, "player", 1), alone=True)
    values = [c.value for c in explain(who, one, Inquiry()).candidates]
    assert values == sorted(values, reverse=True) and len(values) > 1


def test_it_is_another_player_than_the_network_alone(text):
    game = load(COIN)
    texts = text, f"{text},lookahead=8", f"{text},lookahead=9"
    assert len({identity_of(player(t, game)) for t in texts}) == 3
    assert player(texts[1], game).name == "net:net.safetensors,lookahead=8"
    assert network_of(player(texts[1], game)) is not None


def test_a_search_needs_none(text):
    with pytest.raises(PlayerError, match="lookahead=8: a search looks ahead anyway"):
        player(f"{text},lookahead=8,sims=4", load(COIN))


def test_it_is_bounded(text):
    with pytest.raises(PlayerError, match="lookahead=9999: 4096 positions at most"):
        player(f"{text},lookahead=9999", load(COIN))


def test_nothing_may_be_hidden(tmp_path):
    game = load(PEEK)
    with pytest.raises(GameError, match="only for games in which nothing is hidden"):
        player(f"{saved(game, tmp_path)},lookahead=8", game)
