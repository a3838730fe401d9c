"""CPU = GPU, byte for byte, where there is a CUDA device: pytest -m gpu tests/ground/test_gpu.py

Needs numpy, numba, numba-cuda, torch and pytest.
"""

import warnings

import numpy as np
import pytest

from kibitz import games
from kibitz.batch import Batch, IllegalAction
from kibitz.chance import streams
from kibitz.game import OVER

torch = pytest.importorskip("torch", reason="views go straight into torch tensors")

pytestmark = pytest.mark.gpu

SIZE = 4096
LAUNCHES = (1, 7, 92, 201)  # plies in each
OTHERS = [  # shapes and rules beside the defaults
    ("liars_dice", {"dice": (1, 1), "sides": 3}),
    ("liars_dice", {"dice": (4, 5), "variant": "high", "opening_call": True}),
    ("liars_dice", {"dice": (2, 2), "variant": "stairs"}),
    ("liars_dice", {"dice": (2, 1), "ones_biddable": False}),
    *(("madn", {"preset": name}) for name in games.load("madn").presets),
]
GAMES = [*((name, {}) for name in games.names()), *OTHERS, ("coin", {})]


@pytest.fixture(
    scope="module",
    params=GAMES,
    ids=lambda shape: "-".join(map(str, (shape[0], *shape[1].values()))),
)
def game(request):
    name, options = request.param
    return request.getfixturevalue("coin") if name == "coin" else games.load(name, **options)


@pytest.fixture(scope="module")
def batches(game):
    """The same games on both devices after the same random play, half of them a ply further."""
    pair = [Batch(game, SIZE, device=device, seed=11) for device in ("cpu", "cuda")]
    for batch in pair:
        for plies in LAUNCHES:
            batch.wander(plies)
        batch.settle()
        chosen = batch.device.get(batch.choose("random", batch.turns(), batch.rngs)).copy()
        chosen[::2] = -1
        batch.play(chosen)
        batch.settle()
    return pair


def same(batches, ask):
    """What both batches answer; asserts that it is one answer."""
    cpu, gpu = (batch.device.get(ask(batch)) for batch in batches)
    assert (cpu.dtype, cpu.shape) == (gpu.dtype, gpu.shape)
    assert cpu.tobytes() == gpu.tobytes()
    return cpu


def seats_of(game):
    return np.arange(SIZE) % game.seats


def test_games_and_streams_are_equal_after_every_launch(game):
    pair = [Batch(game, SIZE, device=device, seed=12) for device in ("cpu", "cuda")]
    same(pair, lambda batch: batch.states)
    for plies in LAUNCHES:
        for batch in pair:
            batch.wander(plies)
        states = same(pair, lambda batch: batch.states)
        same(pair, lambda batch: batch.rngs)
    assert np.unique(states).size > 1
    for batch in pair:
        batch.settle()
    same(pair, lambda batch: batch.states)
    same(pair, lambda batch: batch.rngs)


def test_turns_actions_and_scores_are_equal(batches):
    turns = same(batches, lambda batch: batch.turns())
    counts = same(batches, lambda batch: batch.actions()[1])
    same(batches, lambda batch: batch.actions()[0])
    same(batches, lambda batch: batch.scores())
    assert ((counts > 0) == (turns >= 0)).all()


def test_views_are_equal(game, batches):
    for shift in range(game.seats):
        seats = (seats_of(game) + shift) % game.seats
        assert same(batches, lambda batch, seats=seats: batch.observe(seats)).any()


def test_what_seats_know_is_equal(game, batches):
    for shift in range(game.seats):
        seats = (seats_of(game) + shift) % game.seats
        assert same(batches, lambda batch, seats=seats: batch.known(seats)).all()


def test_compiled_players_choose_alike(game, batches):
    for player in ("random", *game.players):
        chosen = same(
            batches,
            lambda batch, player=player: batch.choose(
                player, batch.turns(), batch.device.put(streams(3, "player", SIZE))
            ),
        )
        assert (chosen >= 0).any()


def test_whole_games_between_players_are_equal(game):
    one, other = (*game.players, "random", "random")[:2]
    sides = (np.arange(SIZE)[:, None] + np.arange(game.seats)) % 2
    pair = [Batch(game, SIZE, device=device, seed=16) for device in ("cpu", "cuda")]
    drawn = []
    for batch in pair:
        own = batch.device.put(streams(5, "player", 2 * SIZE).reshape(SIZE, 2))
        batch.contest(one, other, sides, own)
        drawn.append(batch.device.get(own).tobytes())
    assert drawn[0] == drawn[1]
    assert (same(pair, lambda batch: batch.turns()) == OVER).all()
    same(pair, lambda batch: batch.states)
    same(pair, lambda batch: batch.rngs)


def test_new_deals_are_equal(game):
    pair = [Batch(game, SIZE, device=device, seed=13) for device in ("cpu", "cuda")]
    for batch in pair:
        batch.wander(3)
        batch.redeal(seats_of(game), streams(4, "search", SIZE))
    same(pair, lambda batch: batch.states)


def test_checked_play_is_equal_and_refuses_the_same(game):
    pair = [Batch(game, SIZE, device=device, seed=14) for device in ("cpu", "cuda")]
    for _ in range(3):
        for batch in pair:
            batch.settle()
            batch.play(batch.choose("random", batch.turns(), batch.rngs), check=True)
        before = same(pair, lambda batch: batch.states)
    messages = []
    for batch in pair:
        with pytest.raises(IllegalAction) as caught:
            batch.play(np.full(SIZE, 30000))
        messages.append(str(caught.value))
        assert batch.host().tobytes() == before.tobytes()
    assert messages[0] == messages[1]


def test_views_go_straight_into_a_torch_tensor_on_the_gpu(game, batches):
    cpu, gpu = batches
    seats = seats_of(game)
    out = torch.zeros(SIZE, game.view_size, device="cuda")
    address = out.data_ptr()
    returned = gpu.observe(torch.from_numpy(seats).cuda(), out)
    gpu.device.synchronize()
    assert returned is out and out.data_ptr() == address
    assert out.cpu().numpy().tobytes() == cpu.observe(seats).tobytes()


def test_views_of_another_shape_are_refused_on_the_gpu(game, batches):
    with pytest.raises(ValueError, match="views go into float32"):
        batches[1].observe(seats_of(game), torch.zeros(SIZE, game.view_size + 1, device="cuda"))


def test_actions_in_a_torch_tensor_on_the_gpu_are_played(game):
    pair = [Batch(game, SIZE, device=device, seed=15) for device in ("cpu", "cuda")]
    for batch in pair:
        batch.settle()
    chosen = pair[0].actions()[0][:, 0].astype(np.int64)
    pair[0].play(chosen)
    pair[1].play(torch.from_numpy(chosen).cuda())
    same(pair, lambda batch: batch.states)


def test_a_network_answers_the_host_as_on_the_cpu():
    """Call after call: an answer must not be taken before it is there."""
    from kibitz.nets import all_kinds
    from kibitz.nets.evaluate import NetEvaluator

    kind = all_kinds()["hand_worth"]
    config, net = kind.config, kind.net
    views = np.random.default_rng(1).integers(0, 2, (2000, 156)).astype(np.float32)
    here = NetEvaluator(net(config(), 1))
    there = NetEvaluator(net(config(), 1), "cuda")
    expected, _ = here.ask(views)
    for _ in range(20):
        logits, _ = there.ask(views)
        assert np.abs(logits - expected).max() < 0.05 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["beasty_bar", "dominion"])
def test_the_host_waits_for_a_network_once_a_batch(name):
    """Were it more often, the other half of a search would wait with it."""
    from kibitz.bench import recipe_evaluator

    game = games.load(name)
    evaluator = recipe_evaluator(game, "cuda", eager=True)
    views = evaluator.room(64, game.view_size)
    evaluator(views)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")  # which itself warns that it does not see all
        evaluator(views)
        torch.cuda.set_sync_debug_mode("default")
    waits = [each for each in caught if "called a synchronizing" in str(each.message)]
    assert len(waits) == 1
