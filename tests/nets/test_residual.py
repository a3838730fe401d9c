"""The network for any game: its sizes follow from the game, its values are for all seats."""

import pytest
import torch
from small_games import COIN, PARTNERS, RACE

from kibitz.game import Game
from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.nets.kinds import all_kinds
from kibitz.nets.residual import ResidualConfig, ResidualNet, suited_width


def net_for(game: Game, seed: int = 0) -> ResidualNet:
    kind = all_kinds()["residual"]
    return kind.net(kind.config(**kind.fitted(game)), seed).eval()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (COIN, {}),
        (PARTNERS, {}),
        ("kuhn", {}),
        ("liars_dice", {"dice": (2, 1)}),
        ("beasty_bar", {"players": 3}),
        ("dominion", {}),
    ],
)
def test_it_fits_every_game(name, options):
    game = load(name, **options)
    logits, values = net_for(game)(torch.zeros(3, game.view_size))
    assert logits.shape == (3, game.num_actions) and values.shape == (3, game.seats)


@pytest.mark.parametrize("seats", range(2, 7))
def test_values_are_within_the_scores_and_sum_to_zero_where_they_should(seats):
    config = ResidualConfig(view_size=9, actions=4, seats=seats, largest_score=2.0)
    views = 100 * torch.randn(50, 9, generator=torch.Generator().manual_seed(1))
    for zero_sum in (True, False):
        net = ResidualNet(ResidualConfig(**{**vars(config), "zero_sum": zero_sum})).eval()
        net.value.weight.data *= 100
        values = net(views)[1]
        assert values.shape == (50, seats) and values.abs().max() < 4
        assert (values.sum(1).abs().max() < 1e-5) == zero_sum


def test_the_same_seed_gives_the_same_weights():
    game = load(RACE)
    views = torch.rand(5, game.view_size)
    assert torch.equal(net_for(game, 3)(views)[0], net_for(game, 3)(views)[0])
    assert not torch.equal(net_for(game, 3)(views)[0], net_for(game, 4)(views)[0])


def test_an_untrained_network_is_sure_of_nothing():
    net = net_for(load("liars_dice"))
    heads = net.heads((torch.rand(64, net.config.view_size) < 0.2).float())
    assert heads.policy.softmax(1).max() < 0.2
    assert heads.value.abs().max() < 0.5 and heads.margin is not None


def test_large_counts_in_a_view_do_no_harm():
    net = net_for(load(RACE))
    heads = net.heads(torch.tensor([[1e6, -1e6], [0.0, 1.0]]))
    assert all(torch.isfinite(part).all() for part in heads if part is not None)


def test_views_in_parts_get_the_same_answers():
    net = net_for(load("kuhn"))
    views = torch.rand(70, net.config.view_size)
    for whole, parts in zip(net(views), net.trimmed(views, together=32), strict=True):
        assert torch.allclose(whole, parts, atol=1e-6)


def test_a_wider_view_gets_a_wider_network_within_limits():
    assert [suited_width(size) for size in (1, 64, 100, 200, 40_000)] == [64, 64, 128, 256, 256]


def test_it_is_saved_and_comes_back(tmp_path):
    net = net_for(load("kuhn"), seed=7)
    save_net(tmp_path / "net.safetensors", net, {"game": "kuhn"})
    again, _ = load_net(tmp_path / "net.safetensors")
    views = torch.rand(4, net.config.view_size)
    assert again.config == net.config and torch.equal(again(views)[1], net(views)[1])
