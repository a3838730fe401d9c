"""Training in one call, any game, and recipes and networks of one's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from small_games import COIN, PARTNERS
from test_goofspiel import FILE as GOOFSPIEL

import kibitz
from kibitz import cli, training
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.nets.zones import ZoneConfig, ZoneNet
from kibitz.recipes import any_game, any_policy, recipe
from kibitz.train.run import Run
from kibitz.train.tree_search.loop import fitting

pytestmark = pytest.mark.usefixtures("one_thread")


def small(recipe):
    """So little of a recipe that it takes a second."""
    return replace(
        recipe,
        search=replace(recipe.search, simulations=4),
        learning=replace(recipe.learning, batch=16),
        games=8,
        steps=2,
        iterations=2,
        gate_every=2,
        gate_games=4,
    )


@pytest.mark.parametrize(
    ("game", "options"),
    [
        (GOOFSPIEL, {"players": 3, "cards": 4}),
        (COIN, {}),
        (PARTNERS, {}),
        ("kuhn", {}),
    ],
)
def test_any_game_can_be_trained_and_its_player_sits_down(game, options, tmp_path, capsys):
    text = kibitz.train(game, tmp_path / "run", recipe="any", change=small, options=options, seed=1)
    assert text == f"net:{tmp_path}/run/player.safetensors"
    table = load(game, **options)
    for more in ("", ",sims=8"):
        assert kibitz.match(table, text + more, "random", games=12, seed=1).games == 12
    said = capsys.readouterr().out
    assert "iteration 2" in said and f"kibitz play {game} --against {text}" in said


def test_the_command_does_the_same_as_the_call(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "recipe_of", lambda *asked: small(recipe(*asked)))
    monkeypatch.setattr(sys, "argv", ["kibitz", "train", str(COIN), "--seed", "3"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    by_command, _ = load_net(tmp_path / "runs/coin/player.safetensors")
    text = kibitz.train(COIN, "other", seed=3)
    by_call, _ = load_net(text.removeprefix("net:"))
    assert by_command.sha256 == by_call.sha256
    assert capsys.readouterr().out.count("iteration 2") == 2


def test_a_run_is_resumed_from_another_folder(tmp_path, capsys, monkeypatch):
    kibitz.train(COIN, tmp_path / "run", change=small, minutes=0, seed=1)
    monkeypatch.chdir(COIN.parent)
    kibitz.train("./coin.py", tmp_path / "run", change=small, resume=True)
    assert "iteration 2" in capsys.readouterr().out


def test_a_game_with_a_recipe_of_its_own_has_the_other_one_as_well():
    assert recipe("beasty_bar").net == "zones"
    assert recipe("beasty_bar", "any").net == "residual"
    with pytest.raises(
        GameError, match="has no recipe 'none'; it has: default, continued, final, demo, any"
    ):
        recipe("beasty_bar", "none")


def test_secret_moves_are_learnt_without_a_search_by_players_who_stay_undecided():
    chosen = recipe(GOOFSPIEL, players=3)
    assert chosen == recipe(GOOFSPIEL, "policy", players=3) == any_policy(GOOFSPIEL, players=3)
    assert chosen.learning.entropy_kept == 1 and not chosen.opponents
    assert recipe(GOOFSPIEL, "any").method == recipe(COIN).method == recipe("kuhn").method
    assert any_policy(COIN).learning.entropy_kept < 1


def test_strength_is_measured_against_the_players_of_the_game():
    for chosen in (any_game(GOOFSPIEL), any_policy(GOOFSPIEL)):
        assert chosen.baselines == ("random", "matching")


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_network_over_zones_fits_every_number_of_players(players):
    chosen = recipe("beasty_bar", "demo", players=players)
    game = load("beasty_bar", **chosen.options)
    net = fitting(chosen.network(game, 1), game)
    assert isinstance(net, ZoneNet) and net.config.seats == players


# Recipes and networks of one's own ----------------------------------------------------------------

OWN = """
from dataclasses import dataclass, replace

import torch
from torch import nn

from kibitz.nets.kinds import Kind, sizes
from kibitz.nets.net import Heads, MarginNet
from kibitz.recipes import any_game


@dataclass(frozen=True)
class LinearConfig:
    view_size: int
    actions: int
    seats: int


class LinearNet(MarginNet):
    def __init__(self, config, seed=0):
        super().__init__()
        self.config = config
        self.layer = nn.Linear(config.view_size, config.actions + config.seats)
        nn.init.normal_(self.layer.weight, 0, 0.1, torch.Generator().manual_seed(seed))

    def forward(self, views):
        logits, values = self.layer(views).split((self.config.actions, self.config.seats), 1)
        return logits, values.tanh()

    def trimmed(self, views, together=64):
        return self(views)

    def heads(self, views):
        return Heads(*self(views), None)


KINDS = (Kind("linear", LinearConfig, LinearNet, fitted=sizes),)
DEFAULT = replace(
    any_game({game!r}), net="linear", games=8, steps=2, iterations=1, gate_games=4, gate_every=1
)
RECIPES = {{"default": DEFAULT, "longer": replace(DEFAULT, iterations=2)}}
"""


@pytest.fixture
def own_file(tmp_path):
    file = tmp_path / "linear.py"
    file.write_text(OWN.format(game=str(COIN)))
    return file


def test_a_recipe_and_a_network_of_ones_own_are_found_by_path(own_file, tmp_path, capsys):
    text = kibitz.train(COIN, tmp_path / "run", recipe=f"{own_file}:longer", seed=1)
    assert "iteration 2" in capsys.readouterr().out
    again = kibitz.train(COIN, tmp_path / "other", recipe=str(own_file), seed=1)
    assert kibitz.match(load(COIN), f"{text},code={own_file}", again, games=4, seed=1).games == 4


def test_a_network_of_an_unknown_kind_says_how_it_is_seated(own_file, tmp_path, monkeypatch):
    from kibitz.nets import kinds

    text = kibitz.train(COIN, tmp_path / "run", recipe=str(own_file), seed=1)
    monkeypatch.delitem(kinds.all_kinds(), "linear")
    with pytest.raises(GameError, match=r"kind 'linear'; .*code=FILE\.py"):
        kibitz.player(text, load(COIN))
    assert kibitz.player(f"{text},code={own_file}", load(COIN)).name.endswith("code=linear.py")


@pytest.mark.parametrize(
    ("text", "which", "sentence"),
    [
        (None, "", "there is no file"),
        ("KINDS = (3,)", "", "KINDS holds 3, which is not a Kind"),
        ("x = 1", "", "has no RECIPES"),
        ("RECIPES = {'default': 1}", "", "has no RECIPES"),
        ("RECIPES = {}", ":other", "has no recipe 'other'"),
        ("1 / 0", "", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_file_that_holds_no_recipe_gets_a_sentence(text, which, sentence, tmp_path):
    file = tmp_path / "own.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(GameError, match=sentence):
        recipe("kuhn", f"{file}{which}")
    with pytest.raises(GameError, match="already"):
        (tmp_path / "zones.py").write_text(
            "from kibitz.nets.kinds import *\nKINDS = (KINDS[0],)\nRECIPES = {}\n"
        )
        recipe("kuhn", str(tmp_path / "zones.py"))


# Weights of another run ---------------------------------------------------------------------------


def test_weights_are_carried_where_they_fit_and_it_is_said_which(tmp_path, capsys):
    def trained(name, **settings):
        sizes = {"cards": 4} if name == "small" else {"cards": 5}
        run = Run(small(any_game(GOOFSPIEL, **sizes)), tmp_path / name, seed=1, **settings)
        run.close()
        return run

    first = trained("small")
    first.champion(tmp_path / "small.safetensors", {})
    fresh, second = trained("fresh"), trained("larger", start=tmp_path / "small.safetensors")
    (said,) = second.remarks
    assert said.endswith(
        "27 tensors were carried; of another shape: inputs.weight, policy.weight, policy.bias."
    )
    weights = [run.method.average.state_dict() for run in (first, fresh, second)]
    for name, mine in weights[2].items():
        old = weights[0][name]
        assert torch.equal(mine, old if mine.shape == old.shape else weights[1][name]), name


def test_a_network_of_which_nothing_fits_is_refused(tmp_path):
    save_net(tmp_path / "net.safetensors", ZoneNet(ZoneConfig()), {})
    with pytest.raises(GameError, match="holds no weights that fit"):
        Run(small(any_game(COIN)), tmp_path / "run", start=tmp_path / "net.safetensors")
    assert not (tmp_path / "run").exists()


def test_at_the_gate_the_newest_player_sits_alone_against_its_rival(tmp_path, monkeypatch):
    """Two copies of one network would bid the same cards, and block each other."""
    line_ups = []

    def noted(game, new, *others, **settings):
        line_ups.append((new.name, *(getattr(other, "name", other) for other in others)))
        return SimpleNamespace(even_rate=0.5)

    monkeypatch.setattr("kibitz.train.run.match", noted)
    run = Run(small(any_game(GOOFSPIEL, players=4)), tmp_path / "run", seed=1)
    run._gate(lambda *stage: None)
    run.close()
    rivals = ("0", "random", "matching")
    assert line_ups == [("new", rival, rival, rival) for rival in rivals]
