"""Games between compiled players: what is noted of them, and who teaches what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulator import simulated
from small_games import COIN
from test_selfplay import contents, learnable
from test_train import TINY

from kibitz import devices, players
from kibitz.batch import IllegalAction
from kibitz.chance import stream
from kibitz.compiled import rule
from kibitz.game import GameError
from kibitz.games import load
from kibitz.train.run import Run
from kibitz.train.seeds import derived
from kibitz.train.tree_search.scripted import ScriptedGames, ScriptedPlay

SEED, TABLES = 5, 12


def rounds(game, count=1, settings=None, device="cpu"):
    """The shards of so many rounds."""
    play = ScriptedPlay(game, TABLES, device, SEED, settings or ScriptedGames())
    return [play.play_round() for _ in range(count)]


GAMES = {
    "dominion": ("dominion", {"kingdom": "first_game", "max_turns": 30}),
    "beasty_bar of three": ("beasty_bar", {"players": 3}),
    "liars_dice": ("liars_dice", {"dice": (2, 2)}),
}


@pytest.fixture(scope="module", params=GAMES)
def game(request):
    name, options = GAMES[request.param]
    return load(name, **options)


@pytest.fixture(scope="module")
def played(game):
    return rounds(game, 2)


def test_a_game_follows_from_its_number_and_what_was_played(game, played):
    for number, shard in enumerate(played):
        rows = learnable(shard)
        assert len(shard.results) == TABLES and set(shard.results.games) == set(rows.games)
        assert len(rows) == len(shard.decisions), "a round ends with its games"
        for k, named in enumerate(shard.results.games[:4]):
            rng = stream(derived(SEED, "scripted games", 0), "table", number * TABLES + k)
            s = game.fresh()
            for i in np.flatnonzero(rows.games == named):
                while game.turn(s) == -1:
                    game.roll(s, rng)
                assert s.tobytes() == rows.states[i].tobytes()
                assert game.turn(s) == rows.seats[i]
                game.play(s, int(rows.played[i]))
            while game.turn(s) == -1:
                game.roll(s, rng)
            assert game.scores(s) == pytest.approx(shard.results.scores[k].tolist())


def test_winners_teach_moves_and_everybody_teaches_values(played):
    rows = learnable(played[0])
    won = rows.scores[:, 0] >= rows.scores.max(1)
    assert won.any() and not won.all()
    legal, taught = rows.actions >= 0, won[:, None]
    even = 0.1 / legal.sum(1, keepdims=True)
    chosen = rows.policy > 0.5
    assert (chosen.sum(1) == won).all() and not rows.policy[~won].any()
    assert rows.policy == pytest.approx(np.where(taught & legal, 0.9 * chosen + even, 0))
    assert (rows.value == rows.scores[:, 0]).all()


def test_a_player_chooses_what_it_would_choose_at_the_table():
    """Without mixtures and random moves, every winner's move is that of the only player."""
    game = load("dominion", kingdom="first_game")
    settings = ScriptedGames(players=("smithy1",), mixed_share=0.0, random_share=0.0)
    rows = rounds(game, 1, settings)[0].decisions
    taught = rows.actions[np.arange(len(rows)), rows.policy.argmax(1)]
    assert (taught == rows.played)[rows.policy.any(1)].all()
    smithy, rng = game.players["smithy1"], stream(1, "player")
    for s, seat, action in zip(rows.states[:40], rows.seats, rows.played, strict=False):
        assert smithy(s, int(seat), rng) == action


def test_random_moves_are_played_and_not_taught():
    game = load("dominion", kingdom="first_game", max_turns=20)
    shares = []
    for share in (0.0, 0.3, 1.0):
        settings = ScriptedGames(players=("bmu",), mixed_share=0.0, random_share=share)
        rows = rounds(game, 1, settings)[0].decisions
        taught = rows.actions[np.arange(len(rows)), rows.policy.argmax(1)]
        shares.append((taught != rows.played)[rows.policy.any(1)].mean())
    assert shares[0] == 0 and 0.1 < shares[1] < 0.3 < 0.5 < shares[2]


def test_rounds_continue_after_a_checkpoint(game, played):
    play = ScriptedPlay(game, TABLES, "cpu", SEED, ScriptedGames())
    play.restore({"ended": np.array(TABLES)})
    assert contents(play.play_round()) == contents(played[1])
    with pytest.raises(ValueError, match="not whole rounds"):
        play.restore({"ended": np.array(TABLES + 1)})


def test_the_rooms_of_tables_do_not_change_what_is_noted(game, played, monkeypatch):
    monkeypatch.setattr("kibitz.train.tree_search.selfplay.ROOM", 3)
    by_game = []
    for shard in (rounds(game)[0], played[0]):
        rows = shard.decisions[np.lexsort((shard.decisions.moves, shard.decisions.games))]
        by_game.append(contents(replace(shard, decisions=rows)))
    assert by_game[0] == by_game[1]


@rule
def cheat(s, seat, rng):
    return 77


def test_what_cannot_be_played_is_refused():
    kuhn = load("kuhn")
    with pytest.raises(GameError, match="kuhn has no compiled player 'bmu'"):
        rounds(kuhn, 1, ScriptedGames(players=("bmu",)))
    with pytest.raises(GameError, match="has no compiled players to learn from"):
        rounds(replace(load(COIN), players={}))
    with pytest.raises(IllegalAction, match="cheat chose 77, which is not legal"):
        rounds(replace(load(COIN), players={"cheat": cheat}))
    with pytest.raises(GameError, match="random_share=2: it is a share"):
        ScriptedGames(random_share=2)


def test_a_network_trained_on_short_games_sits_down_at_long_ones(tmp_path, one_thread):
    short = replace(
        TINY, game="dominion", options={"max_turns": 8}, net="card_set", iterations=1, gate_every=2
    )
    small = {"slots": 17, "width": 8, "attention_heads": 2, "layers": 1}
    run = Run(replace(short, config=small), tmp_path / "run", seed=1)
    run.train()
    run.champion(tmp_path / "player.safetensors", {})
    run.close()
    table = load("dominion", kingdom="first_game")
    assert run.game.fingerprint != table.fingerprint
    assert players.player(f"net:{tmp_path / 'player.safetensors'}", table).name


def test_the_simulated_gpu_plays_like_the_cpu():
    assert simulated(__file__) == ["equal"]


@pytest.mark.gpu
def test_a_gpu_plays_like_the_cpu(game, played):
    assert [contents(s) for s in rounds(game, 2, device="cuda")] == list(map(contents, played))


if __name__ == "__main__":
    devices.WARP, TABLES = 8, 2
    same = load("beasty_bar")
    assert contents(rounds(same)[0]) == contents(rounds(same, device="cuda")[0])
    print("equal")
