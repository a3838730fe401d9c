"""Value networks: their sizes, their answers, bad input, and the choice of a move by values."""

import copy
import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from kibitz import games
from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.bench import networks
from kibitz.bidding import bilinear
from kibitz.bidding.bilinear import (
    ChildValues,
    CompBilinConfig,
    ConcatConfig,
    NetBilinear,
    NetCompBilin,
    NetConcat,
    OneTable,
    ValueConfig,
    check_turns,
)
from kibitz.bidding.kinds import ValueJudge, regret_policy
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import liars_dice
from kibitz.nets import load_net, save_net
from kibitz.players import Drawing, NetPlayer, PlayerError, Sight, player
from kibitz.players.networks import MODES

pytestmark = pytest.mark.usefixtures("one_thread")

FIVES = games.load("liars_dice")
A, B = (2, 2, 3, 5, 6), (1, 3, 4, 4, 6)
SMALL = {"interaction": 12, "hidden": (6, 5)}
KINDS = [
    NetCompBilin(CompBilinConfig(), seed=3),
    NetBilinear(ValueConfig(), seed=3),
    NetConcat(ConcatConfig(), seed=3),
]
each_net = pytest.mark.parametrize("net", KINDS, ids=lambda net: type(net).__name__)


def size(*parts):
    return sum(p.numel() for part in parts for p in part.parameters())


def sight(game, *states):
    """What the seats to move at these tables may know."""
    turns = [game.turn(s) for s in states]
    return Sight(game, list(states), turns, streams(5, "player", len(states)))


def some_states(game, count, seed=2):
    """Tables in all stages of a round, where somebody is to move."""
    found = []
    for plies in range(6):
        batch = Batch(game, count, seed=seed + plies)
        batch.settle()
        dice = np.random.default_rng(seed + plies)
        for _ in range(plies):
            lists, counts = batch.actions()
            # Low bids, so that rounds last; the call is the last in the list.
            steps = [dice.integers(0, max(1, n // 6)) if n else 0 for n in counts]
            batch.play(np.array([a[k] for a, k in zip(lists, steps, strict=True)], np.int64))
        found += [s for s in batch.host() if game.turn(s) >= 0]
    return found


# Sizes and the beginning --------------------------------------------------------------------------


def test_networks_have_the_parameters_of_the_specification():
    net = KINDS[0]
    assert size(net) == 159_501
    assert (size(net.priv), size(net.pub)) == (16_500, 62_500)
    assert [size(part) for part in net.layers] == [50_100, 10_100, 10_100, 10_100]
    assert size(net.value) == 101
    assert (size(KINDS[1]), size(KINDS[2])) == (427_301, 479_601)


@pytest.mark.parametrize(
    ("dice", "priv", "pub", "parameters"),
    [
        ((1, 1), 8, 28, 99_501),
        ((1, 2), 14, 40, 108_501),
        ((2, 1), 14, 40, 108_501),
        ((2, 2), 14, 52, 114_501),
        ((3, 3), 20, 76, 129_501),
        ((4, 4), 26, 100, 144_501),
        ((4, 5), 32, 112, 153_501),
        ((5, 4), 32, 112, 153_501),
        ((5, 5), 32, 124, 159_501),
    ],
)
def test_views_of_every_table_fit_a_network(dice, priv, pub, parameters):
    game, config = FIVES.bind(dice=dice), CompBilinConfig(priv, pub)
    assert [game.view[name].shape for name in ("priv", "pub")] == [(priv,), (pub,)]
    assert (config.view_size, config.actions) == (game.view_size, game.num_actions)
    assert size(NetCompBilin(config)) == parameters == 500 * (priv + pub) + 81_501


def test_widths_are_configuration():
    net = NetCompBilin(CompBilinConfig(8, 28, (7, 6), 9))
    assert size(net) == 9 * 9 + 29 * 9 + 10 * 7 + 8 * 6 + 7
    assert size(NetConcat(ConcatConfig(8, 28, (3,)))) == 37 * 3 + 4
    assert size(NetBilinear(ValueConfig(8, 28, (3,)))) == 8 * 28 * 3 + 3 + 4


@each_net
def test_a_new_network_begins_as_the_specification_says(net):
    for name, part in net.named_modules():
        if isinstance(part, (nn.Linear, nn.Bilinear)):
            summed = part.weight[0].numel()
            assert 0.9 / math.sqrt(summed) < part.weight.abs().max() <= 1 / math.sqrt(summed), name
            assert 0 < part.bias.abs().max() <= 1 / math.sqrt(summed), name


@each_net
def test_the_same_seed_gives_the_same_weights(net):
    one, same, other = (type(net)(net.config, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not any(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (lambda: ValueConfig(pub=125), "pub=125"),
        (lambda: ValueConfig(priv=2), "priv=2"),
        (lambda: ValueConfig(hidden=()), r"hidden=\(\)"),
        (lambda: ConcatConfig(hidden=(5, 0)), r"hidden=\(5, 0\)"),
        (lambda: CompBilinConfig(interaction=0), "interaction=0"),
    ],
)
def test_impossible_sizes_are_refused(config, message):
    with pytest.raises(GameError, match=message):
        config()


@each_net
def test_networks_are_kept_as_they_are(net, tmp_path):
    save_net(tmp_path / "net.safetensors", net, {"game": FIVES.describe()})
    again, about = load_net(tmp_path / "net.safetensors")
    assert type(again) is type(net) and again.config == net.config
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), again.parameters(), strict=True))
    assert about["game"]["name"] == "liars_dice"


# What they say ------------------------------------------------------------------------------------


def numbers(part):
    return part.weight.detach().double().numpy(), part.bias.detach().double().numpy()


def plainly(net, view):
    """Section 4 word by word in double precision."""
    priv, pub = np.split(np.float64(view), [net.config.priv])
    if isinstance(net, NetCompBilin):
        (w_pri, b_pri), (w_pub, b_pub) = numbers(net.priv), numbers(net.pub)
        x = (w_pri @ priv + b_pri) * (w_pub @ pub + b_pub)
    elif isinstance(net, NetBilinear):
        weight, bias = numbers(net.pairs)
        x = np.array([priv @ form @ pub for form in weight]) + bias
    else:
        weight, bias = numbers(net.both)
        x = weight @ np.concatenate((priv, pub)) + bias
    for weight, bias in map(numbers, (*net.layers, net.value)):
        x = weight @ np.maximum(x, 0) + bias
    return np.tanh(x[0])


@each_net
def test_a_network_says_what_the_specification_says(net):
    views = np.stack([FIVES.look(s, k % 2) for k, s in enumerate(some_states(FIVES, 4))])
    values = ChildValues(net).values(views)
    assert values.shape == (len(views),) and values.dtype == np.float32
    assert values == pytest.approx([plainly(net, view) for view in views], abs=1e-5)
    assert np.ptp(values) > 1e-4


@each_net
def test_children_are_the_views_after_each_action(net):
    """The rules themselves play every action and show the table to the same seat."""
    evaluator = ChildValues(net)
    states = some_states(FIVES, 3)
    views = np.stack([FIVES.look(s, FIVES.turn(s)) for s in states])
    rows = [(i, a) for i, s in enumerate(states) for a in FIVES.legal(s)]
    expected = []
    for i, action in rows:
        child = FIVES.copy(states[i])
        FIVES.play(child, action)
        expected.append(FIVES.look(child, FIVES.turn(states[i])))
    before, after = evaluator(views, *np.array(rows).T)
    assert len(rows) > 300 and {FIVES.turn(s) for s in states} == {0, 1}
    assert before == pytest.approx(evaluator.values(views), abs=1e-6)
    assert after == pytest.approx(evaluator.values(np.stack(expected)), abs=1e-6)


def decisions(count):
    """Views of the seats to move, and all their legal actions by table."""
    states = some_states(FIVES, count)
    views = np.stack([FIVES.look(s, FIVES.turn(s)) for s in states])
    return views, *np.array([(i, a) for i, s in enumerate(states) for a in FIVES.legal(s)]).T


def test_one_table_hears_the_same_as_many():
    evaluator = ChildValues(KINDS[0])
    views, tables, actions = decisions(3)
    before, after = evaluator(views, tables, actions)
    for i in range(len(views)):
        mine = actions[tables == i]
        alone = evaluator(views[i : i + 1], np.zeros(len(mine), np.int64), mine)
        assert alone[0] == pytest.approx(before[i : i + 1], abs=1e-6)
        assert alone[1] == pytest.approx(after[tables == i], abs=1e-6)


def check_that_others_do_not_matter(evaluator):
    views, tables, actions = decisions(110)
    assert len(views) > evaluator.rows or len(tables) > evaluator.rows, "all fits into one part"
    everything, few = evaluator(views, tables, actions), tables < 7
    part = evaluator(views[:7], tables[few], actions[few])
    assert np.array_equal(part[0], everything[0][:7])
    assert np.array_equal(part[1], everything[1][few])


@each_net
def test_an_answer_does_not_depend_on_how_many_others_ask(net):
    check_that_others_do_not_matter(ChildValues(net))


@each_net
def test_tensors_are_answered_as_arrays_are(net):
    asked = decisions(40)
    answers = ChildValues(net).answer(*map(torch.from_numpy, asked))
    for there, here in zip(answers, ChildValues(net)(*asked), strict=True):
        assert np.array_equal(there.numpy(), here)


@each_net
def test_nothing_goes_back_to_the_host_before_the_answer(net):
    """Meta tensors have no numbers: reading one would fail."""
    shapes = [torch.from_numpy(array).to("meta") for array in decisions(40)]
    before, after = ChildValues(copy.deepcopy(net), "meta").answer(*shapes)
    assert (before.device.type, len(before), len(after)) == ("meta", len(shapes[0]), len(shapes[1]))


def test_one_table_keeps_the_weights_it_was_made_with():
    net = NetCompBilin(CompBilinConfig(**SMALL))
    view, actions = FIVES.look(liars_dice.position(FIVES, [A, B]), 0), np.arange(60)
    quick = OneTable(net)
    before = quick(view, actions)[1]
    with torch.no_grad():
        for weights in net.parameters():
            weights.zero_()
    assert np.array_equal(quick(view, actions)[1], before) and before.any()


# On a GPU -----------------------------------------------------------------------------------------


@pytest.mark.gpu
@each_net
def test_a_gpu_hears_the_same(net):
    asked = decisions(40)
    answers = ChildValues(copy.deepcopy(net), "cuda")(*asked)
    for here, there in zip(ChildValues(net)(*asked), answers, strict=True):
        assert there == pytest.approx(here, abs=1e-5)


@pytest.mark.gpu
@each_net
def test_on_a_gpu_others_do_not_matter_either(net):
    evaluator = ChildValues(copy.deepcopy(net), "cuda")
    evaluator.rows = 8192
    check_that_others_do_not_matter(evaluator)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@each_net
def test_the_host_does_not_wait_for_the_gpu(net):
    evaluator = ChildValues(copy.deepcopy(net), "cuda")
    asked = [torch.from_numpy(array).cuda() for array in decisions(40)]
    evaluator.answer(*asked)  # libraries may wait when they are first used
    torch.cuda.set_sync_debug_mode("error")
    try:
        answers = evaluator.answer(*asked)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert [len(answer) for answer in answers] == [len(asked[0]), len(asked[1])]


@pytest.mark.gpu
@each_net
def test_a_player_runs_its_network_on_the_named_device(net, saved):
    game = FIVES.bind(dice=(4, 5))
    here, there = (
        player(f"net:{saved}/{type(net).__name__}.safetensors,device={device}", game)
        for device in ("cpu", "cuda")
    )
    assert there._judge.values.device.type == "cuda"
    table = sight(game, *some_states(game, 40))
    ours, theirs = here.judge(table), there.judge(table)
    assert theirs.values == pytest.approx(ours.values, abs=1e-5)
    assert np.isfinite(ours.policy).all() and theirs.policy.shape == ours.policy.shape


# Its speed ----------------------------------------------------------------------------------------


def test_what_is_measured_is_whole_decisions(monkeypatch):
    asked = []

    class Asked(ChildValues):
        def answer(self, *given):
            asked.append([tensor.numpy() for tensor in given])
            return super().answer(*given)

    monkeypatch.setattr(bilinear, "ChildValues", Asked)
    assert 0 < networks.evaluations_per_s(FIVES, "cpu", 50) < 1e9
    views, tables, actions = asked[0]
    check_turns(KINDS[0].config, views)
    has_bid = views[:, 32:].reshape(50, 2, 62)[:, :, :60].any(1)
    for i, bids in enumerate(has_bid):
        above = np.flatnonzero(bids)[-1] + 1 if bids.any() else 0
        assert actions[tables == i].tolist() == [*range(above, 60), *([60] if bids.any() else [])]
    assert len(views) == 50 and has_bid.any(1).any()


@pytest.mark.gpu
def test_speed_is_measured_on_a_gpu():
    assert networks.evaluations_per_s(FIVES, "cuda", 1024) > 0


# Bad input ----------------------------------------------------------------------------------------


def a_view(history=(17,), seat=1):
    return FIVES.look(liars_dice.position(FIVES, [A, B], history), seat)[None].copy()


def spoiled(entry):
    view = a_view()
    view[0, 40] = entry
    return view


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (a_view()[:, :-1], "1 x 155 numbers, not n x [(]32 [+] 124"),
        (a_view()[0], "156 numbers"),
        (np.zeros((2, 144), np.float32), "2 x 144 numbers"),
        (a_view().astype(np.float64), "float64, not float32"),
        (a_view().astype(np.int8), "int8, not float32"),
        (a_view().tolist(), "list, not float32"),
        (spoiled(np.nan), "the entry nan"),
        (spoiled(-np.inf), "the entry -inf"),
    ],
)
@each_net
def test_malformed_views_are_refused(net, views, message):
    with pytest.raises(GameError, match=message):
        ChildValues(net).values(views)
    with pytest.raises(GameError, match=message):
        ChildValues(net)(views, np.zeros(1, np.int64), np.full(1, 20))


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (a_view((17,), seat=0), "view 0 has the hand of seat 0, but seat 1 is to move"),
        (a_view((17, 22), seat=1), "view 0 has the hand of seat 1, but seat 0 is to move"),
        (a_view((17, 60), seat=0), "view 0: the game is over"),
        (a_view((17, 22, 60), seat=1), "view 0: the game is over"),
    ],
)
def test_only_the_seat_to_move_has_a_policy(view, message):
    evaluator = ChildValues(KINDS[0])
    for views in (view, np.concatenate((view, view))):
        with pytest.raises(GameError, match=message):
            evaluator(views, np.zeros(1, np.int64), np.full(1, 30))
    assert abs(evaluator.values(view)[0]) < 1


# Choosing -----------------------------------------------------------------------------------------


class Says:
    """An evaluator with fixed answers by action, at every table."""

    def __init__(self, before, after):
        self.before, self.after = before, np.array(after, np.float32)

    def __call__(self, views, tables, actions):
        return np.full(len(views), self.before, np.float32), self.after[actions]


ONES = FIVES.bind(dice=(1, 1), sides=2)  # four bids and the call
OPENED = [liars_dice.position(ONES, [(1,), (2,)], [0])] * 4000  # 1, 2, 3 and the call are legal
AFTER = [9.0, 0.1, 0.4, -0.3, 0.3]  # of which 9 is not


class Fixed(ValueJudge):
    """A judge with the same answer for every table."""

    def __init__(self, before, after):
        self.values = Says(before, after)


def odds(mode, before=0.0, after=AFTER, **settings):
    seated = NetPlayer(Fixed(before, after), Drawing(mode, **settings))
    return seated.odds(sight(ONES, OPENED[0]))[0, :4].tolist()


def test_sampling_is_in_proportion_to_regrets():
    assert odds("sample") == pytest.approx([1 / 8, 4 / 8, 0, 3 / 8])
    assert odds("sample", before=0.2) == pytest.approx([0, 2 / 3, 0, 1 / 3])
    assert odds("sample", before=0.4) == pytest.approx([1 / 4] * 4)  # nothing gains anything


def test_self_play_explores():
    legal = np.array([[True, True, True, False]])
    after = np.array([[0.19, -0.5, 0.09, 0.9]])
    policy = regret_policy(np.zeros(1), after, legal, explore=0.01)
    assert policy[0].tolist() == pytest.approx([0.2 / 0.31, 0.01 / 0.31, 0.1 / 0.31, 0])


def test_regrets_of_tensors_are_those_of_arrays():
    rng = np.random.default_rng(4)
    before, after = rng.uniform(-1, 1, 50), rng.uniform(-1, 1, (50, 9))
    legal = rng.random((50, 9)) < 0.7
    legal[:, 0] = True
    before[:5] = 2  # where nothing gains anything
    policy = regret_policy(*map(torch.from_numpy, (before, after, legal)), explore=0.0)
    assert policy.numpy() == pytest.approx(regret_policy(before, after, legal), abs=1e-12)
    assert policy[:5].numpy() == pytest.approx(legal[:5] / legal[:5].sum(1, keepdims=True))


def test_softmax_is_by_value():
    for temperature in (1.0, 0.1):
        powers = [math.exp(v / temperature) for v in AFTER[1:]]
        expected = [power / sum(powers) for power in powers]
        assert odds("softmax", temperature=temperature) == pytest.approx(expected, rel=1e-5)


def test_purifying_drops_what_is_unlikely():
    assert odds("purify", threshold=0.2) == pytest.approx([0, 4 / 7, 0, 3 / 7])
    assert odds("purify", threshold=0.45) == pytest.approx([0, 1, 0, 0])
    assert odds("purify", threshold=0.0) == pytest.approx(odds("sample"))
    assert odds("purify", threshold=0.9) == [0, 1, 0, 0]  # all is unlikely: the likeliest
    assert odds("purify", before=0.4, threshold=0.3) == [1, 0, 0, 0]  # the first of equals


def test_argmax_takes_the_first_of_the_best():
    tied = [9.0, 0.1, 0.4, -0.3, 0.4]
    assert set(NetPlayer(Fixed(0.9, tied)).choose(sight(ONES, *OPENED[:9]))) == {2}


@pytest.mark.parametrize("mode", ["sample", "softmax", "purify"])
def test_drawn_actions_are_as_frequent_as_told(mode):
    seated = NetPlayer(Fixed(0.0, AFTER), Drawing(mode, temperature=0.3))
    chosen = seated.choose(sight(ONES, *OPENED))
    for action, share in zip([1, 2, 3, 4], odds(mode, temperature=0.3), strict=True):
        error = math.sqrt(share * (1 - share) / len(OPENED))
        assert abs((chosen == action).mean() - share) <= 4 * error


def test_the_opening_call_counts_only_where_it_is_legal():
    opening = [0.0, 0.0, 0.0, 0.1, 0.3]  # the call has the highest value
    for game, expected in ((ONES, [0, 0, 0, 1]), (ONES.bind(opening_call=True), [0, 0, 0, 0.25])):
        s = liars_dice.position(game, [(1,), (2,)])
        policy = Fixed(0.0, opening)(sight(game, s)).policy
        assert policy[0, :4].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "best"}, "mode=best: there are argmax, sample, softmax, purify"),
        ({"temperature": 0.0}, "temperature=0.0"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"threshold": 1.5}, "threshold=1.5"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(PlayerError, match=message):
        Drawing(**settings)


# At the table -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Untrained networks of all kinds for 4 dice against 5."""
    folder = tmp_path_factory.mktemp("nets")
    for net, config in itertools.product(KINDS, [{"pub": 112, "hidden": (8, 8)}]):
        small = type(net)(type(net.config)(**config), seed=4)
        about = {"game": FIVES.bind(dice=(4, 5)).describe()}
        save_net(folder / f"{type(net).__name__}.safetensors", small, about)
    return folder


@pytest.mark.parametrize("mode", MODES)
@each_net
def test_every_kind_of_network_sits_down(net, mode, saved):
    game = FIVES.bind(dice=(4, 5))
    text = f"net:{saved}/{type(net).__name__}.safetensors,mode={mode}"
    results = [match(game, text, "random", games=60, seed=2).win_rate for _ in range(2)]
    assert results[0] == results[1]
    assert player(text, game).name.endswith(".safetensors" + f",mode={mode}" * (mode != "argmax"))


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"dice": (5, 4)}, "", r"trained for dice \[4, 5\], not \(5, 4\)"),
        ({"dice": (4, 5), "variant": "high"}, "", "trained for variant joker, not high"),
        ({"dice": (5, 5)}, "", "trained for view"),
        ({"dice": (4, 5)}, ",sims=20", "sims=20: .* cannot guide a tree search"),
        ({"dice": (4, 5)}, ",threshold=x", "threshold is a number"),
        ({"dice": (4, 5)}, ",device=tpu", "device=tpu: there are cpu and cuda"),
    ],
)
def test_a_network_of_another_table_does_not_sit_down(saved, options, more, message):
    with pytest.raises(PlayerError, match=message):
        player(f"net:{saved}/NetCompBilin.safetensors{more}", FIVES.bind(**options))


def test_a_gpu_that_is_not_there_is_not_asked(saved, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PlayerError, match="device=cuda: torch finds no GPU here"):
        player(f"net:{saved}/NetCompBilin.safetensors,device=cuda", FIVES.bind(dice=(4, 5)))


def test_rounds_with_other_dice_need_another_network(saved):
    game = FIVES.bind(dice=(4, 5), die_loss="loser")
    with pytest.raises(GameError, match=r"numbers, not n x \(32 \+ 112"):
        match(game, f"net:{saved}/NetCompBilin.safetensors", "random", games=4, seed=0)
