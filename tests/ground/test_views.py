"""A game may have several views, and a network says which one it reads."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from small_games import NIM as NIM_FILE
from torch import nn

from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.contract import check
from kibitz.game import GameError, Shape, layout
from kibitz.games import load
from kibitz.nets import all_kinds, load_net, save_net
from kibitz.nets.kinds import Kind
from kibitz.nets.net import PolicyNet
from kibitz.players import PlayerError, player
from kibitz.search.mcts import Search, Settings

NIM = load(NIM_FILE)
REST = NIM.through("rest")


@dataclass(frozen=True)
class RestConfig:
    view_size: int = 4
    actions: int = 3
    seats: int = 2


class RestNet(PolicyNet):
    """Knows the winning move: take what is left over by fours."""

    def __init__(self, config: RestConfig) -> None:
        super().__init__()
        self.config = config
        self.logits = nn.Linear(4, 3, bias=False)
        self.values = nn.Linear(4, 2, bias=False)
        with torch.no_grad():
            self.logits.weight.copy_(torch.eye(4)[1:] * 20)
            self.values.weight.copy_(torch.tensor([[-1, 1, 1, 1], [1, -1, -1, -1]]))

    def trimmed(self, views: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.logits(views), self.values(views)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The network in a file, of a kind that is known while a test lasts."""
    kinds = {**all_kinds(), "rest": Kind("rest", RestConfig, RestNet)}
    for module in ("kibitz.nets", "kibitz.nets.kinds"):
        monkeypatch.setattr(f"{module}.all_kinds", lambda: kinds)
    path = tmp_path / "rest.safetensors"
    save_net(path, RestNet(RestConfig()), {"game": REST.describe()})
    return path


def test_every_view_is_written_by_its_own_rule():
    s = NIM.fresh()
    assert NIM.look(s, 0).nonzero()[0].tolist() == [7]
    assert REST.look(s, 0).nonzero()[0].tolist() == [3]
    for game, size in ((NIM, 8), (REST, 4)):
        views = Batch(game, 8, seed=1).observe(np.zeros(8, np.int64))
        assert views.shape == (8, size)
        assert np.array_equal(views, np.tile(game.look(s, 0), (8, 1)))


def test_a_game_through_another_view_is_the_same_game():
    assert REST.state is NIM.state
    assert REST.through("default").describe() == NIM.describe()
    assert REST.describe() == {**NIM.describe(), "view": [["rest", [4]]], "viewed": "rest"}
    assert NIM.through("default") is NIM


def test_a_network_reads_the_view_that_it_was_trained_on(file):
    assert load_net(file)[1]["game"]["viewed"] == "rest"
    assert match(NIM, f"net:{file}", "random", games=40, seed=1).win_rate > 0.8
    assert match(NIM, f"net:{file},sims=8", "random", games=40, seed=1).win_rate > 0.8


def test_a_view_that_the_game_has_no_longer_is_named(file):
    save_net(file, RestNet(RestConfig()), {"game": {**REST.describe(), "viewed": "gone"}})
    with pytest.raises(PlayerError, match=r"trained for view \[\['rest', \[4\]\]\], not"):
        player(f"net:{file}", NIM)


def test_search_asks_a_network_about_the_view_of_its_game():
    class Asked:
        def room(self, size, view_size):
            assert view_size == 4
            return np.zeros((size, view_size), np.float32)

        def __call__(self, views):
            assert (views.sum(1) == 1).all()
            return np.zeros((len(views), 3), np.float32), np.zeros((len(views), 2), np.float32)

    batch = Batch(REST, 2, seed=1)
    settings = Settings(simulations=4)
    found = Search(REST, 2, settings, evaluator=Asked(), threads=1).run(
        batch.states, streams(1, "search", 2)
    )
    assert found.simulations.tolist() == [4, 4]


@pytest.mark.parametrize(
    ("views", "observers", "message"),
    [
        ({"rest": layout(("rest", 4))}, {}, "a view has a layout and an observer, but rest has"),
        ({}, {"rest": NIM.observers["rest"]}, "a view has a layout and an observer, but rest has"),
        ({"rest": NIM.view}, {"rest": NIM.observe}, "may have the same layout"),
    ],
)
def test_views_that_do_not_fit_together_are_refused(views, observers, message):
    sizes = {name: getattr(NIM, name) for name in ("seats", "num_actions", "num_outcomes")}
    with pytest.raises(GameError, match=message):
        shape = Shape(**sizes, state=NIM.state, view=NIM.view, views=views)
        dataclasses.replace(NIM, shape=shape, observers=observers)


def test_an_unknown_view_is_refused():
    with pytest.raises(GameError, match="nim has no view 'planes'; it has: rest, default"):
        NIM.through("planes")


def test_a_game_with_several_views_keeps_its_promises():
    broken = [r for r in check(str(NIM_FILE), games=20) if not r.passed]
    assert not broken, broken
