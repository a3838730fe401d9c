"""Networks that imagine a game: shapes, scales, and a ring without a seam."""

import itertools

import pytest
import torch
from small_games import PARTNERS

from kibitz import games
from kibitz.nets import all_kinds, load_net, save_net
from kibitz.nets.bounds import ConfigError
from kibitz.nets.latent import sides_of
from kibitz.nets.latent_model import LatentModel
from kibitz.nets.muzero import MuZeroConfig, MuZeroNet
from kibitz.nets.ring import RingConfig, RingNet
from kibitz.train.weights import carried

RING = RingConfig(
    view_size=3 * 20 + 5, rows=3, cells=20, ring=16, actions=7, codes=3, width=12, blocks=3
)
PLAIN = MuZeroConfig(view_size=65, actions=7, codes=3, width=16)


@pytest.fixture(params=["plain", "ring"])
def net(request):
    made = {"plain": lambda: MuZeroNet(PLAIN, 3), "ring": lambda: RingNet(RING, 3)}
    return made[request.param]().eval()


def views(count=4, size=65, seed=1):
    return torch.rand(count, size, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_latents_are_scaled_from_0_to_1_after_every_step(net):
    latents, actions = net.represent(views()), torch.arange(4)
    for _ in range(2):
        flat = latents.flatten(1)
        assert latents.shape == (4, *net.latent_shape)
        assert flat.amin(1) == pytest.approx(torch.zeros(4))
        assert flat.amax(1) == pytest.approx(torch.ones(4), abs=1e-4)
        after = net.act(latents, actions)
        assert net.odds(after).shape == (4, 3)
        latents = net.settle(latents, after, torch.tensor([0, 1, 2, 0]))
    outlook = net.judge(latents)
    assert [tuple(part.shape) for part in outlook] == [(4, 7), (4, 2), (4, 2), (4,)]


@torch.no_grad()
def test_what_follows_depends_on_action_and_code(net):
    latents = net.represent(views(1)).repeat(3, *[1] * len(net.latent_shape))
    after = net.act(latents, torch.tensor([0, 0, 1]))
    assert torch.equal(after[0], after[1]) and not torch.allclose(after[0], after[2])
    follow = net.settle(latents, after, torch.tensor([0, 1, 0]))
    assert not torch.allclose(follow[0], follow[1])


@torch.no_grad()
def test_actions_and_codes_do_not_drown_out_the_position(net):
    """Untrained: what follows differs at least as much from view to view as by what is done."""
    latents = net.represent(views(7))
    actions, codes = (torch.arange(7) % size for size in (7, 3))
    same, none = torch.zeros_like(actions), latents[:1].expand_as(latents)

    def spread(*steps):
        before, chosen, came = steps
        return net.settle(before, net.act(before, chosen), came).std(0).mean()

    by_position = spread(latents, same, same)
    assert by_position > spread(none, actions, same) and by_position > spread(none, same, codes)


def turned(latents, steps):
    return torch.roll(latents, steps, 2)


@torch.no_grad()
@pytest.mark.parametrize("steps", [1, 5, 15])
def test_the_ring_has_no_seam(steps):
    """What is turned before the tower comes out turned, wherever the ring is cut."""
    net, given = RingNet(RING, 3).eval(), views()
    cells = given[:, :60].view(4, 3, 20).clone()
    cells[:, :, :16] = torch.roll(cells[:, :, :16], steps, 2)
    other = torch.cat([cells.flatten(1), given[:, 60:]], 1)
    latents, actions, codes = net.represent(given), torch.arange(4), torch.tensor([0, 1, 2, 0])
    assert torch.allclose(net.represent(other), turned(latents, steps), atol=1e-5)
    net.place.weight.zero_()  # an action that happens nowhere in particular
    after = net.act(latents, actions)
    assert torch.allclose(net.act(turned(latents, steps), actions), turned(after, steps), atol=1e-5)
    follow = net.settle(latents, after, codes)
    both = turned(latents, steps), turned(after, steps)
    assert torch.allclose(net.settle(*both, codes), turned(follow, steps), atol=1e-5)
    assert torch.allclose(net.odds(turned(after, steps)), net.odds(after), atol=1e-5)
    plain, other = net.judge(latents), net.judge(turned(latents, steps))
    assert torch.allclose(plain.scores, other.scores, atol=1e-5)


@torch.no_grad()
def test_values_are_scores_of_sides_by_seat():
    config = MuZeroConfig(view_size=3, actions=2, seats=4, side_of=(0, 1, 0, 1), largest_score=2.0)
    values = MuZeroNet(config).values(torch.tensor([[0.0, 0.0], [50.0, 0.0]]))
    assert values.tolist() == [[0, 0, 0, 0], [2, -2, 2, -2]]
    config = MuZeroConfig(view_size=3, actions=2, side_of=(0, 1), zero_sum=False)
    assert MuZeroNet(config).values(torch.tensor([[50.0, 50.0]])).tolist() == [[1, 1]]


def test_partners_share_a_side_as_seen_from_everywhere():
    assert sides_of(games.load(PARTNERS)) == (0, 1, 0, 1)
    assert sides_of(games.load(PARTNERS, teams=3)) == (0, 1, 2, 0, 1, 2)
    assert sides_of(games.load("madn", num_players=3)) == (0, 1, 2)


@pytest.mark.parametrize(
    "kind, options",
    [
        ("muzero", {}),
        ("muzero_ring", {"preset": "dmadn_teams"}),
        ("muzero_ring", {"preset": "dog"}),
    ],
)
def test_a_network_fits_its_game_and_its_file(tmp_path, kind, options):
    game = games.load("madn", **options)
    config = all_kinds()[kind].fitted(game) | {"width": 8, "blocks": 1}
    net = all_kinds()[kind].net(all_kinds()[kind].config(**config), 5).eval()
    save_net(tmp_path / "net.safetensors", net, {"game": game.describe()})
    again, _ = load_net(tmp_path / "net.safetensors")
    with torch.no_grad():
        logits, values = again(views(2, game.view_size))
        assert torch.equal(logits, net(views(2, game.view_size))[0])
    assert logits.shape == (2, game.num_actions) and values.shape == (2, game.seats)


def test_the_net_of_dog_is_within_its_budget():
    game = games.load("madn", preset="dog")
    net = RingNet(RingConfig(**all_kinds()["muzero_ring"].fitted(game)))
    assert 1e6 < sum(weights.numel() for weights in net.parameters()) < 3e6


@pytest.mark.parametrize(
    "field, value",
    [("ring", 7), ("ring", 21), ("rows", 4), ("side_of", (0, 2)), ("side_of", (0,)), ("codes", 0)],
)
def test_a_configuration_that_makes_no_network_is_refused(field, value):
    fields = {name: getattr(RING, name) for name in RING.__dataclass_fields__}
    with pytest.raises(ConfigError, match=field):
        RingConfig(**fields | {field: value})


def test_a_memory_keeps_latents_in_rows(net):
    """Two steps through the memory are two steps of the network."""
    memory = LatentModel(net).memory(4, 3, 65)
    memory.views.copy_(views())
    logits, _ = memory.begin()
    memory.origins[:] = torch.arange(4) * 3
    memory.actions[:] = torch.arange(4)
    odds = memory.act()
    memory.codes[:] = 1
    memory.targets[:] = torch.tensor([1, 4, 12, 10])  # the third is not kept
    memory.settle()
    memory.origins[:] = torch.tensor([1, 4, 6, 10])
    memory.act()
    logits_after, _, _, ends = memory.settle()
    with torch.no_grad():
        first = net.represent(views())
        after = net.act(first, torch.arange(4))
        ones = torch.ones(4, dtype=torch.int64)
        second = net.settle(first, after, ones)
        second[2] = first[2]
        third = net.settle(second, net.act(second, torch.arange(4)), ones)
        outlook = net.judge(third)
    assert logits == pytest.approx(net.judge(first).policy.detach().numpy(), abs=1e-5)
    assert odds == pytest.approx(net.odds(after).softmax(1).detach().numpy(), abs=1e-5)
    assert logits_after == pytest.approx(outlook.policy.numpy(), abs=1e-5)
    assert ends == pytest.approx(outlook.ends.numpy(), abs=1e-5)


LADDER = ["dmadn", "dmadn_teams", "madn_teams", "cards_plain", "dog_nojoker", "dog_solo", "dog"]
OF_ACTIONS = {"action.weight", "place.weight", "policy.weight", "policy.bias"}
OF_SIDES = {"value.weight", "value.bias"}
OF_CARDS = {"besides.weight", "chance.weight", "chance.bias", "code.weight"}


@pytest.mark.parametrize("easier, harder", [*itertools.pairwise(LADDER)])
def test_a_harder_game_on_the_ring_begins_with_what_an_easier_one_has_learnt(easier, harder):
    """All is carried but what has other sizes there: actions, sides, and what the cards add."""
    easy, hard = (games.load("madn", preset=preset) for preset in (easier, harder))
    nets = [RingNet(RingConfig(**all_kinds()["muzero_ring"].fitted(g))) for g in (easy, hard)]
    found, other = carried(*nets), set()
    other |= OF_ACTIONS if easy.num_actions != hard.num_actions else set()
    other |= OF_SIDES if len(easy.captains) != len(hard.captains) else set()
    other |= OF_CARDS if easy.num_outcomes != hard.num_outcomes else set()
    assert set(found.left["of another shape"]) == other
    assert set(found.weights) == set(nets[1].state_dict()) - other
