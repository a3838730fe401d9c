"""Self-play that rolls: what is noted of its games, whose chance it is, and how it is continued."""

from __future__ import annotations

import time

import numpy as np
import pytest
from simulator import simulated
from small_games import PARTNERS

from kibitz import devices
from kibitz.chance import stream, streams
from kibitz.games import load
from kibitz.search.mcts import Search, Settings
from kibitz.train.folder import Listed
from kibitz.train.method import TimeIsUp
from kibitz.train.replay import Positions, Replay, Shard
from kibitz.train.tree_search.selfplay import ROOM, SelfPlay

SEED, TABLES = 5, 6
GUMBEL = Settings(simulations=6, root="gumbel", considered=3)


def played(game, games: int, settings: Settings = GUMBEL, device: str = "cpu") -> Shard:
    """What is decided until so many games have ended."""
    selfplay = SelfPlay(game, TABLES, device, SEED)
    search = Search(game, TABLES, settings, evaluator="uniform", device=device)
    while selfplay.ended < games:
        selfplay.move(search)
    shard = selfplay.taken()
    assert shard is not None
    assert selfplay.taken() is None  # nothing was decided since
    return shard


def contents(shard: Shard) -> list[tuple[str, bytes]]:
    parts = shard.decisions, shard.results
    return [(name, array.tobytes()) for part in parts for name, array in part.arrays().items()]


def learnable(shard: Shard) -> Positions:
    """Every position whose game has ended, in order."""
    replay = Replay(100_000)
    replay.add(shard, Listed("000001.safetensors", "", len(shard.decisions)))
    assert replay._rows is not None
    return replay._rows[replay._ready]


GAMES = {
    "kuhn": ("kuhn", {}),
    "liars_dice": ("liars_dice", {"dice": (2, 2)}),
    "beasty_bar of three": ("beasty_bar", {"players": 3}),
    "two teams of two": (PARTNERS, {}),
    "three teams of two": (PARTNERS, {"teams": 3}),
}


@pytest.fixture(scope="module", params=GAMES)
def game(request):
    name, options = GAMES[request.param]
    return load(name, **options)


@pytest.fixture(scope="module")
def shard(game):
    return played(game, 40)


def test_a_game_follows_from_its_number_and_what_was_played(game, shard):
    """Play it once more, by its stream and the actions of its rows: the same positions, scores."""
    rows = learnable(shard)
    assert len(shard.results) >= 40 and set(shard.results.games) == set(rows.games)
    for number in shard.results.games[-10:]:
        s, rng = game.fresh(), stream(SEED, "table", int(number))
        for i in np.flatnonzero(rows.games == number):
            outcome = -1
            while game.turn(s) == -1:
                outcome = game.roll(s, rng)
            assert s.tobytes() == rows.states[i].tobytes()
            assert (game.turn(s), outcome) == (rows.seats[i], rows.outcomes[i])
            assert list(game.legal(s)) == [a for a in rows.actions[i] if a >= 0]
            game.play(s, int(rows.played[i]))
        while game.turn(s) == -1:
            game.roll(s, rng)
        scores = game.scores(s)
        for i in np.flatnonzero(rows.games == number):
            assert rows.scores[i].tolist() == pytest.approx(np.roll(scores, -rows.seats[i]))


def test_the_decisions_of_a_game_are_numbered_without_gaps(shard):
    rows = shard.decisions
    for number in np.unique(rows.games):
        moves = rows.moves[rows.games == number]
        assert moves.tolist() == list(range(len(moves)))


def test_only_decisions_between_several_actions_are_searched(game):
    selfplay = SelfPlay(game, TABLES, "cpu", SEED)
    search = Search(game, TABLES, GUMBEL, evaluator="uniform")
    for _ in range(2 * ROOM):
        states = selfplay.tables.states
        assert all(len(game.legal(s)) > 1 for s in states), "no simulation is wasted"
        selfplay.move(search)
    shard = selfplay.taken()
    several = (shard.decisions.actions >= 0).sum(1) > 1
    assert several.sum() == 2 * ROOM * TABLES
    assert not shard.decisions.value[~several].any()


def test_tables_continue_from_a_checkpoint_as_if_nothing_had_happened(game):
    search = Search(game, TABLES, GUMBEL, evaluator="uniform")
    whole, first, second = (SelfPlay(game, TABLES, "cpu", SEED) for _ in range(3))
    for _ in range(30):
        whole.move(search)
    for _ in range(13):
        first.move(search)
    part = first.taken()
    second.restore({name: np.array(array) for name, array in first.arrays().items()})
    for _ in range(17):
        second.move(search)
    parts = part, second.taken()
    joined = Shard(*(type(p).joined([getattr(s, n) for s in parts]) for n, p in vars(part).items()))
    assert contents(joined) == contents(whole.taken())
    assert (second.begun, second.ended, second.clock) == (whole.begun, whole.ended, whole.clock)


def test_tables_are_restored_though_their_games_began_with_many_forced_plies():
    """With a die most players cannot move at first: notes are fetched before anybody decides."""
    game = load("madn")
    first, second = (SelfPlay(game, TABLES, "cpu", seed) for seed in (SEED, SEED + 1))
    assert first.taken() is not None
    saved = first.arrays()
    second.restore(saved)
    assert second.taken() is None, "these are forced plies of other games"
    assert all((second.arrays()[name] == array).all() for name, array in saved.items())


def test_forced_plies_before_the_first_move_of_all_tables_come_before_it():
    """Else a replay has another order where a run was stopped in between."""
    selfplay = SelfPlay(load("madn"), TABLES, "cpu", SEED)
    selfplay._fetch()
    assert np.concatenate(selfplay._order).max() < selfplay.clock * TABLES


def test_decisions_are_in_the_order_of_play_though_tables_have_had_no_room(monkeypatch):
    """Forced moves do not fit beside the searched one, and are fetched later than other tables'."""
    game, kept = load("liars_dice", dice=(2, 2)), []
    for room in (1, ROOM):
        monkeypatch.setattr("kibitz.train.tree_search.selfplay.ROOM", room)
        monkeypatch.setattr("kibitz.train.tree_search.selfplay.SPARE", 0)
        kept.append(played(game, 40))
    assert contents(kept[0]) == contents(kept[1])
    assert ((kept[0].decisions.actions >= 0).sum(1) == 1).any()


def test_a_search_that_runs_out_of_time_changes_nothing():
    game = load("kuhn")
    selfplay = SelfPlay(game, TABLES, "cpu", SEED)
    search = Search(game, TABLES, Settings(simulations=50), evaluator="uniform")
    before = {name: array.copy() for name, array in selfplay.arrays().items()}
    with pytest.raises(TimeIsUp):
        selfplay.move(search, time.monotonic())
    after = selfplay.arrays()
    assert all((after[name] == array).all() for name, array in before.items())


def test_self_play_searches_with_streams_that_no_table_has():
    selfplay = SelfPlay(load("kuhn"), TABLES, "cpu", SEED)
    search = Search(load("kuhn"), TABLES, Settings(simulations=4))
    for _ in range(10):
        selfplay.move(search)
    tables = set(streams(SEED, "table", 1000)["key"].tolist())
    assert set(selfplay.tables.rngs["key"].tolist()) <= tables
    assert not set(selfplay.tables.trees["key"].tolist()) & tables


def test_games_of_puct_differ_in_their_opening_though_no_noise_is_drawn():
    rows = played(load("beasty_bar"), 12, Settings(simulations=30)).decisions
    sharp = (
        rows.policy.max(1)
        > rows.policy[np.arange(len(rows)), (rows.actions == rows.played[:, None]).argmax(1)]
    )
    assert sharp[rows.moves < 8].any() and not sharp[rows.moves >= 8].any()


def test_the_simulated_gpu_plays_like_the_cpu():
    assert simulated(__file__) == ["equal"]


@pytest.mark.gpu
def test_a_gpu_plays_like_the_cpu(game):
    assert contents(played(game, 40, device="cuda")) == contents(played(game, 40))


if __name__ == "__main__":
    devices.WARP = 8
    for name, options in (GAMES["kuhn"], GAMES["two teams of two"]):
        same = load(name, **options)
        assert contents(played(same, 8)) == contents(played(same, 8, device="cuda")), name
    print("equal")
