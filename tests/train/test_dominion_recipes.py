"""The recipes of Dominion begin, learn and stop, in their smallest form."""

from dataclasses import replace

import numpy as np
import pytest

from kibitz import players
from kibitz.games import load
from kibitz.games.dominion.options import IDS
from kibitz.recipes import recipe
from kibitz.recipes.dominion import RECIPES, WITHHELD
from kibitz.search.mcts import Settings
from kibitz.train.run import Run
from kibitz.train.tree_search.learner import Learning

TINY = {"slots": 17, "margin_head": True, "width": 8, "attention_heads": 2, "layers": 1}


def tiny(name):
    """A recipe with small numbers; its network, if its size is fixed, as it is."""
    chosen = recipe("dominion", name, max_turns=8)
    return replace(
        chosen,
        config=TINY if chosen.net == "card_set" else chosen.config,
        scripted=replace(chosen.scripted, iterations=1, rounds=1),
        search=Settings(simulations=2),
        learning=Learning(batch=16, warm_up=1, steps=4),
        games=4,
        steps=2,
        iterations=2,
        gate_every=2,
        gate_games=2,
        baselines=("bmu",),
    )


@pytest.mark.parametrize("name", ["withheld", "design_v2"])
def test_a_recipe_learns_and_its_player_sits_down_at_other_kingdoms(name, tmp_path, one_thread):
    run = Run(tiny(name), tmp_path / "run", seed=1)
    run.train()
    run.champion(tmp_path / "player.safetensors", {})
    states = run.method.replay.sample(50, np.random.default_rng(1)).states
    run.close()
    withheld = {IDS[card.lower()] for card in WITHHELD}
    assert bool(withheld & set(states["card"].reshape(-1).tolist())) == (name != "withheld")
    table = load("dominion", kingdom=f"random with {', '.join(WITHHELD)}")
    assert players.player(f"net:{tmp_path / 'player.safetensors'}", table).name


def test_recipes_to_compare_differ_in_one_thing_only():
    default = RECIPES["default"].described()
    for name, thing in (("withheld", "options"), ("design_v2", "net")):
        other = RECIPES[name].described()
        assert [key for key in default if default[key] != other[key]] == [thing]
    response = RECIPES["response"]
    assert response.scripted.iterations == 0 and response.with_opponents(["a"]).against == "a"
