"""Many games at once are the same games as one at a time."""

import numpy as np
import pytest
import torch

from kibitz import chance, games
from kibitz.batch import Batch, IllegalAction, check_positions, compiled_player
from kibitz.game import CHANCE, OVER, GameError

SIZE = 48


@pytest.fixture(params=[*games.names(), "coin"])
def game(request):
    named = request.param
    return request.getfixturevalue("coin") if named == "coin" else games.load(named)


def wandered(game, plies=7, seed=5, **settings):
    """A batch in the middle of things, half of it a ply further than the rest."""
    batch = Batch(game, SIZE, seed=seed, **settings)
    batch.wander(plies)
    Batch.of(game, batch.states[SIZE // 2 :], batch.rngs[SIZE // 2 :]).wander(1)
    return batch


def settled(game, **settings):
    batch = wandered(game, **settings)
    batch.settle()
    return batch


def with_ends(game):
    """A batch in which some games are over."""
    batch = settled(game)
    while not (over := batch.turns() == OVER).any():
        batch.play(batch.choose("random", batch.turns(), batch.rngs), check=False)
        batch.settle()
    assert not over.all(), "and some are not"
    return batch


def seats_of(game):
    return np.arange(SIZE) % game.seats


def twins(game, batch):
    """The states of a batch, one by one and not shared."""
    return [game.copy(s) for s in batch.states]


def streams(batch):
    return batch.rngs.copy()


# The same as one at a time ------------------------------------------------------------------------


def test_a_batch_begins_before_anything_happened(game):
    batch = Batch(game, SIZE)
    assert all(s.tobytes() == game.fresh().tobytes() for s in batch.states)
    assert batch.rngs.tobytes() == chance.streams(0, "table", SIZE).tobytes()


def test_settling_is_rolling_until_nobody_waits_for_chance(game):
    batch = wandered(game)
    states, rngs = twins(game, batch), streams(batch)
    for s, rng in zip(states, rngs, strict=True):
        while game.turn(s) == CHANCE:
            game.roll(s, rng)
    batch.settle()
    assert [s.tobytes() for s in batch.states] == [s.tobytes() for s in states]
    assert batch.rngs.tobytes() == rngs.tobytes()
    assert (batch.turns() != CHANCE).all()


def test_wandering_is_rolling_and_choosing_among_the_legal_actions(game):
    batch = Batch(game, 6, seed=8)
    states, rngs = twins(game, batch), streams(batch)
    for s, rng in zip(states, rngs, strict=True):
        for _ in range(9):
            while (who := game.turn(s)) < 0:
                if who == OVER:
                    game.start(s, game.options.numbers())
                else:
                    game.roll(s, rng)
            legal = game.legal(s)
            game.play(s, legal[chance.below(rng, len(legal))])
    batch.wander(4)
    batch.wander(5)
    assert [s.tobytes() for s in batch.states] == [s.tobytes() for s in states]
    assert batch.rngs.tobytes() == rngs.tobytes()


def test_turns_are_those_of_the_game(game):
    batch = wandered(game)
    assert batch.turns().tolist() == [game.turn(s) for s in batch.states]


def test_actions_are_those_of_the_game(game):
    batch = settled(game)
    out, counts = batch.actions()
    assert (out.shape, out.dtype) == ((SIZE, game.max_legal), np.int16)
    for s, row, count in zip(batch.states, out, counts, strict=True):
        assert row[:count].tolist() == (game.legal(s) if game.turn(s) >= 0 else [])


def test_views_are_those_of_the_game(game):
    batch, seats = settled(game), seats_of(game)
    views = batch.observe(seats)
    assert (views.shape, views.dtype) == ((SIZE, game.view_size), np.float32)
    for s, seat, view in zip(batch.states, seats, views, strict=True):
        assert view.tobytes() == game.look(s, int(seat)).tobytes()


def test_scores_are_those_of_the_game_and_zero_while_it_goes_on(game):
    batch = with_ends(game)
    over = batch.turns() == OVER
    scores = batch.scores()
    assert (scores[~over] == 0).all()
    assert [row.tolist() for row in scores[over]] == [game.scores(s) for s in batch.states[over]]


def test_what_seats_know_is_as_the_game_says(game):
    batch, seats = settled(game), seats_of(game)
    said = [game.known(s, int(seat)) for s, seat in zip(batch.states, seats, strict=True)]
    assert batch.known(seats).dtype == np.uint64
    assert batch.known(seats).tolist() == said
    assert all(said)


def test_a_new_deal_is_the_games_own(game):
    batch, seats = settled(game), seats_of(game)
    states, rngs = twins(game, batch), chance.streams(3, "search", SIZE)
    mine = rngs.copy()
    batch.redeal(seats, rngs)
    for s, seat, rng in zip(states, seats, mine, strict=True):
        game.redeal(s, int(seat), rng)
    assert [s.tobytes() for s in batch.states] == [s.tobytes() for s in states]
    assert rngs.tobytes() == mine.tobytes()


def test_players_choose_as_they_would_alone(game):
    batch = settled(game)
    turns = batch.turns()
    seats = np.where(turns >= 0, turns, -1)
    for name, player in game.players.items():
        rngs = chance.streams(4, "player", SIZE)
        mine = rngs.copy()
        chosen = batch.choose(name, seats, rngs)
        for s, seat, rng, action in zip(batch.states, seats, mine, chosen, strict=True):
            assert action == (player(s, int(seat), rng) if seat >= 0 else -1)
        assert rngs.tobytes() == mine.tobytes()


def test_random_is_a_player_of_every_game(game):
    batch = settled(game)
    seats = np.where(batch.turns() >= 0, batch.turns(), -1)
    chosen = batch.choose("random", seats, chance.streams(4, "player", SIZE))
    for s, seat, action in zip(batch.states, seats, chosen, strict=True):
        assert action in game.legal(s) if seat >= 0 else action == -1


def test_playing_is_the_games_own_and_a_negative_action_waits(game):
    batch = settled(game)
    legal, _ = batch.actions()
    chosen = np.where(batch.turns() >= 0, legal[:, 0].astype(np.int64), -1)
    chosen[::3] = -1
    states = twins(game, batch)
    for s, action in zip(states, chosen, strict=True):
        if action >= 0:
            game.play(s, int(action))
    batch.play(chosen)
    assert [s.tobytes() for s in batch.states] == [s.tobytes() for s in states]


def test_any_number_of_threads_plays_the_same_games(game):
    batches = [wandered(game, plies=40, threads=threads) for threads in (1, 2, 5)]
    for batch in batches:
        batch.settle()
    views = [batch.observe(seats_of(game)) for batch in batches]
    for batch, seen in zip(batches[1:], views[1:], strict=True):
        assert batch.states.tobytes() == batches[0].states.tobytes()
        assert batch.rngs.tobytes() == batches[0].rngs.tobytes()
        assert seen.tobytes() == views[0].tobytes()


def test_a_game_does_not_depend_on_those_beside_it(game):
    batch, fewer = Batch(game, SIZE, seed=5), Batch(game, 3, seed=5)
    batch.wander(7)
    fewer.wander(7)
    assert fewer.states.tobytes() == batch.states[:3].tobytes()


def test_seeds_are_different_games(game):
    assert wandered(game, seed=1).states.tobytes() != wandered(game, seed=2).states.tobytes()


def test_a_batch_over_states_that_exist_does_not_copy_them(game):
    states, rngs = np.array([game.fresh()] * 3), chance.streams(1, "table", 3)
    batch = Batch.of(game, states, rngs)
    batch.wander(2)
    other = Batch(game, 3, seed=1)
    other.wander(2)
    assert states.tobytes() == other.states.tobytes()
    assert rngs.tobytes() == other.rngs.tobytes()


# What is refused ----------------------------------------------------------------------------------


def test_an_illegal_action_is_refused_by_name_and_nothing_is_played(game):
    batch = settled(game)
    at = int(np.flatnonzero(batch.turns() >= 0)[0])
    chosen = np.full(SIZE, -1)
    chosen[at] = 30000
    before = batch.states.tobytes()
    with pytest.raises(IllegalAction) as caught:
        batch.play(chosen)
    s = batch.states[at]
    for word in (game.name, f"game {at} ", "action 30000", game.text(s), game.choices(s)):
        assert word in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert batch.states.tobytes() == before


def test_an_action_in_a_game_that_is_over_is_refused(game):
    batch = with_ends(game)
    at = int(np.flatnonzero(batch.turns() == OVER)[0])
    chosen = np.full(SIZE, -1)
    chosen[at] = 0
    with pytest.raises(IllegalAction, match=f"{game.name}, game {at} of the batch: action 0 "):
        batch.play(chosen)


def test_a_bid_below_the_standing_one_is_refused_in_its_game_alone():
    batch = Batch(games.load("liars_dice"), 4)
    batch.settle()
    batch.play(np.array([3, 17, 20, -1]))
    with pytest.raises(IllegalAction, match=r"liars_dice, game 2 of the batch: action 19 "):
        batch.play(np.array([4, 18, 19, 0]))
    batch.play(np.array([4, 18, 21, 0]))
    assert batch.states["last"].tolist() == [4, 18, 21, 0]


@pytest.mark.parametrize("method", ["play", "observe", "known", "redeal", "choose"])
@pytest.mark.parametrize("length", [SIZE - 1, SIZE + 1, 1])
def test_a_list_of_another_length_is_refused(method, length):
    """Kernels do not look at lengths: they would read whatever lies behind the list."""
    batch = Batch(games.load("liars_dice"), SIZE)
    batch.settle()
    listed = np.zeros(2 * SIZE, np.int64)[:length]  # so that what lies behind is ours
    rngs = chance.streams(0, "search", SIZE)
    rest = {"redeal": (rngs,), "choose": (rngs,)}.get(method, ())
    first = ("honest",) if method == "choose" else ()
    with pytest.raises(GameError, match=str(length)):
        getattr(batch, method)(*first, listed, *rest)


@pytest.mark.parametrize("method", ["observe", "known", "redeal"])
@pytest.mark.parametrize("seat", [2, -1])
def test_a_seat_that_is_not_at_the_table_is_refused(method, seat):
    batch = Batch(games.load("kuhn"), SIZE)
    batch.settle()
    seats = np.zeros(SIZE, np.int64)
    seats[7] = seat
    rest = (chance.streams(0, "search", SIZE),) if method == "redeal" else ()
    with pytest.raises(GameError, match=str(seat)):
        getattr(batch, method)(seats, *rest)


def test_actions_that_are_no_whole_numbers_are_refused():
    batch = Batch(games.load("kuhn"), SIZE)
    batch.settle()
    with pytest.raises(GameError, match="float64"):
        batch.play(np.zeros(SIZE))


def test_a_player_that_the_game_does_not_have_is_refused_by_name():
    batch = Batch(games.load("liars_dice"), SIZE)
    batch.settle()
    with pytest.raises(GameError, match="nobody"):
        batch.choose("nobody", batch.turns(), batch.rngs)


def test_a_device_that_is_none_is_refused():
    with pytest.raises(GameError, match="there is no device 'tpu'; there are cpu and cuda"):
        Batch(games.load("kuhn"), 1, device="tpu")


# Shared memory ------------------------------------------------------------------------------------


def test_views_are_written_into_a_torch_tensor_in_place(game):
    batch, seats = settled(game), seats_of(game)
    out = torch.zeros(SIZE, game.view_size)
    address = out.data_ptr()
    returned = batch.observe(seats, out)
    assert returned is out and out.data_ptr() == address
    assert out.numpy().tobytes() == batch.observe(seats).tobytes()
    assert out.any()


def test_views_can_go_into_a_part_of_a_tensor(game):
    batch, seats = settled(game), seats_of(game)
    whole = torch.zeros(3, SIZE, game.view_size)
    batch.observe(seats, whole[1])
    assert whole[1].numpy().tobytes() == batch.observe(seats).tobytes()
    assert not whole[0].any() and not whole[2].any()


def test_torch_tensors_can_name_seats_and_actions(game):
    batch, same = settled(game), settled(game)
    seats = seats_of(game)
    assert batch.observe(torch.from_numpy(seats)).tobytes() == same.observe(seats).tobytes()
    legal, _ = batch.actions()
    chosen = np.where(batch.turns() >= 0, legal[:, 0].astype(np.int64), -1)
    batch.play(torch.from_numpy(chosen))
    same.play(chosen)
    assert batch.states.tobytes() == same.states.tobytes()


def test_a_used_buffer_shows_only_the_latest_views(game):
    batch, seats = settled(game), seats_of(game)
    out = np.zeros((SIZE, game.view_size), np.float32)
    batch.observe(seats, out)
    batch.wander(5)
    assert batch.observe(1 - seats % 2, out).tobytes() == batch.observe(1 - seats % 2).tobytes()


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((SIZE, 10), torch.float32),
        ((SIZE, 8), torch.float32),
        ((SIZE - 1, 9), torch.float32),
        ((SIZE + 1, 9), torch.float32),
        ((SIZE * 9,), torch.float32),
        ((SIZE, 9), torch.float64),
        ((SIZE, 9), torch.int32),
    ],
    ids=str,
)
def test_views_into_another_shape_are_refused(shape, kind):
    batch = Batch(games.load("kuhn"), SIZE)
    batch.settle()
    with pytest.raises(GameError, match=rf"views go into float32 \[{SIZE}, 9\], not"):
        batch.observe(np.zeros(SIZE, np.int64), torch.zeros(shape, dtype=kind))


@pytest.mark.parametrize(
    ("name", "players"),
    [
        ("liars_dice", ("threshold", "honest")),
        ("beasty_bar", ("greedy", "outcome")),
        ("dominion", ("bmu", "smithy1")),
    ],
)
def test_a_contest_is_what_the_players_choose_on_redealt_copies(name, players):
    """Move by move: a copy of every table is re-dealt for the seat to move, which then chooses."""
    game, rows = games.load(name), np.arange(20)
    sides = np.tile([[0, 1], [1, 0]], (10, 1))
    quick, slow = (Batch(game, 20, seed=3) for _ in range(2))
    one, other = (chance.streams(3, "player", 40).reshape(20, 2) for _ in range(2))
    quick.start()
    quick.contest(*players, sides, one)
    slow.start()
    slow.settle()
    while ((turns := slow.turns()) >= 0).any():
        chosen = np.full(20, -1)
        for k, player in enumerate(players):
            asked = rows[(turns >= 0) & (sides[rows, turns] == k)]
            if asked.size:
                own = other[asked, k]
                copies = Batch.of(game, slow.states[asked], own)
                copies.redeal(turns[asked], own)
                chosen[asked] = copies.choose(player, turns[asked], own)
                other[asked, k] = own
        slow.play(chosen)
        slow.settle()
    assert quick.states.tobytes() == slow.states.tobytes()
    assert quick.rngs.tobytes() == slow.rngs.tobytes()
    assert one.tobytes() == other.tobytes()


def test_several_players_of_a_kind_take_the_games_of_a_contest_in_turn():
    """As if each had played all of the games, and only its own were looked at."""
    game, names = games.load("dominion"), ("bmu", "smithy1", "greedy")
    sides = np.tile([[0, 1], [1, 0]], (6, 1))

    def played(one):
        batch = Batch(game, 12, seed=3)
        batch.contest(one, "bm0", sides, chance.streams(3, "player", 24).reshape(12, 2))
        return batch.states

    together = played(np.concatenate([compiled_player(game, name) for name in names]))
    for k, name in enumerate(names):
        assert together[k::3].tobytes() == played(name)[k::3].tobytes()
    strange = games.load("beasty_bar")
    for wrong in (
        np.zeros(3),
        compiled_player(game, "bmu")[:0],
        compiled_player(strange, "greedy"),
    ):
        with pytest.raises(GameError, match="no compiled player"):
            played(wrong)


def test_a_contest_needs_to_know_who_sits_where():
    batch = Batch(games.load("liars_dice"), 10)
    own, sides = chance.streams(1, "player", 20).reshape(10, 2), np.zeros((10, 2), np.int64)
    with pytest.raises(GameError, match=r"integers \[10, 2\] by game and seat, not \[10\]"):
        batch.contest("random", "honest", np.zeros(10, np.int64), own)
    with pytest.raises(GameError, match="0 for the one player and 1 for the other"):
        batch.contest("random", "honest", sides + 2, own)
    with pytest.raises(GameError, match=r"two players need streams \[10, 2\], not \[10\]"):
        batch.contest("random", "honest", sides, own[:, 0])
    with pytest.raises(GameError, match="no compiled player 'nobody'"):
        batch.contest("random", "nobody", sides, own)


# The border --------------------------------------------------------------------------------------


def test_states_of_another_game_are_refused():
    states = Batch(games.load("liars_dice"), 4).states
    with pytest.raises(GameError, match="not states of kuhn"):
        Batch.of(games.load("kuhn"), states, chance.streams(1, "table", 4))
    with pytest.raises(GameError, match="not states of kuhn"):
        Batch.of(games.load("kuhn"), np.zeros(4, np.int64), chance.streams(1, "table", 4))


@pytest.mark.parametrize("streams", [3, 5])
def test_streams_of_another_number_are_refused(streams):
    game = games.load("kuhn")
    with pytest.raises(GameError, match=rf"one per game: \[4\], not \[{streams}\]"):
        Batch.of(game, Batch(game, 4).states, chance.streams(1, "table", streams))


def test_states_that_are_not_side_by_side_are_refused():
    game = games.load("kuhn")
    with pytest.raises(GameError, match="side by side"):
        Batch.of(game, Batch(game, 8).states[::2], chance.streams(1, "table", 4))
    with pytest.raises(GameError, match="a list of one or more"):
        Batch.of(game, Batch(game, 8).states[:0], chance.streams(1, "table", 0))


def test_states_from_outside_have_to_be_positions():
    game = games.load("kuhn")
    states = settled(game).states
    check_positions(game, states, "a file")
    states["length"][3] = 99
    with pytest.raises(GameError, match="a file: state 3 is no position: bets come after"):
        check_positions(game, states, "a file")


def test_where_there_are_no_laws_states_from_outside_are_as_in_random_play(coin):
    states = settled(coin).states
    check_positions(coin, states, "a file")
    states[coin.state.names[0]][3] = 99
    with pytest.raises(GameError, match=r"a file: .* is 99, and in play it is"):
        check_positions(coin, states, "a file")


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "8"])
def test_a_batch_has_a_whole_number_of_games(size):
    with pytest.raises(GameError, match="a whole number, 1 or more"):
        Batch(games.load("kuhn"), size)
