"""How well a network imagines a game: a perfect one, an untrained one, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from commands import run
from small_games import COIN, THREE_IN_A_ROW

from kibitz.arena.imagined import ModelQuality, _add_divergence, model_quality
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import save_net
from kibitz.nets.kinds import all_kinds


def saved(game, path, name="muzero", change=lambda net: None):
    kind = all_kinds()[name]
    net = kind.net(kind.config(**kind.fitted(game) | {"width": 16, "blocks": 1}), 1)
    with torch.no_grad():
        change(net)
    save_net(path / "net.safetensors", net, {"game": game.describe()})
    return str(path / "net.safetensors")


def says_always(net):
    """Never an end, always the next seat, and the true odds of the coin."""
    for part in (net.end, net.turn, net.chance):
        part.weight.zero_()
    net.end.bias.fill_(-1.0)
    net.turn.bias.copy_(torch.tensor([0.0, 5.0]))
    net.chance.bias.copy_(torch.tensor([1e-9, 0.5, 0.375, 0.125]).log())


def test_what_is_right_is_counted_by_what_happened(tmp_path):
    """In coin the first throw passes the turn on, and the second one ends the game."""
    game = load(COIN)
    found = model_quality(game, saved(game, tmp_path, change=says_always), games=30, seed=1)
    assert (found.ends.share, found.goes_on.share) == (0.0, 1.0)
    assert found.ends.moves == 60  # both stakes of the second seat end it
    assert found.goes_on.moves == 30 and found.turns.keys() == {1}
    assert found.turns[1].share == 1.0
    assert found.throws == 90 and found.chance_kl == pytest.approx(0, abs=1e-6)


def test_an_untrained_network_knows_nothing(tmp_path):
    game = load(COIN)
    found = model_quality(game, saved(game, tmp_path), games=30, seed=1)
    assert found.chance_kl > 0.1
    assert found.ends.right + found.goes_on.right < 90


def test_a_game_without_chance_has_no_odds(tmp_path):
    game = load(THREE_IN_A_ROW)
    found = model_quality(game, saved(game, tmp_path), games=10, seed=1)
    assert found.throws == 0 and found.ends.moves >= 10 and found.goes_on.moves > 30


def test_the_divergence_is_a_mean_over_throws():
    found = ModelQuality("coin", 1, 1)
    even, odd = np.array([[0.5, 0.5, 0.0]]), np.array([[1.0, 0.0, 0.0]])
    guess = np.log([[0.5, 0.25, 0.25]])
    _add_divergence(found, even, guess)
    assert found.chance_kl == pytest.approx(0.5 * np.log(2))
    _add_divergence(found, np.repeat(odd, 3, 0), np.repeat(guess, 3, 0))
    assert found.chance_kl == pytest.approx((0.5 + 3) * np.log(2) / 4) and found.throws == 4


def test_the_command_says_all_of_it(tmp_path):
    words = "model", str(COIN), saved(load(COIN), tmp_path), "--games", "5", "--seed", "1"
    facts = json.loads(run(*words, "--json"))
    assert facts["games"] == 5 and facts["ends"]["moves"] == 10
    assert {"turn_1", "goes_on", "throws", "chance_kl", "seed"} <= facts.keys()
    lines = run(*words)
    assert "moves that end the game, known" in lines and "divergence" in lines


def test_a_network_without_a_model_is_refused(tmp_path):
    game = load(COIN)
    with pytest.raises(GameError, match="imagines nothing"):
        model_quality(game, saved(game, tmp_path, "residual"))
