"""Self-play against a network that never changes."""

from dataclasses import replace

import killing
import numpy as np
import pytest
import torch
from commands import run
from test_selfplay import SEED, contents, learnable

from kibitz.arena.match import match
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.players import Sight, player
from kibitz.recipes import any_game
from kibitz.search.mcts import Search, Settings
from kibitz.train.replay import Shard
from kibitz.train.run import Run
from kibitz.train.tree_search.response import ResponsePlay

TABLES = 6
KUHN = load("kuhn")
TINY = replace(
    any_game("kuhn"),
    config={"width": 16, "blocks": 1},
    search=Settings(simulations=8, root="gumbel", considered=2),
    games=32,
    steps=8,
    iterations=12,
    gate_every=4,
    gate_games=8,
    gate_rate=0.0,
)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """A network that has learnt nothing, in a file."""
    path = tmp_path_factory.mktemp("frozen") / "net.safetensors"
    save_net(path, TINY.network(KUHN, 3).eval(), {"game": KUHN.describe()})
    return path


def tables(frozen):
    return ResponsePlay(KUHN, TABLES, "cpu", SEED, frozen)


def test_the_learner_has_one_seat_and_the_network_the_other(frozen):
    play, search = tables(frozen), Search(KUHN, TABLES, TINY.search, evaluator="uniform")
    while play.ended < 60:
        play.move(search)
    rows = learnable(play.taken())
    mine = rows.seats == rows.games % 2
    assert 0.3 < mine.mean() < 0.7
    assert np.allclose(rows.policy[mine].sum(1), 1), "only the learner's moves are learnt"
    assert not rows.policy[~mine].any()
    assert (rows.value[~mine] == rows.scores[~mine, 0]).all(), "others' positions teach results"
    theirs = rows[np.flatnonzero(~mine)]
    sight = Sight(KUHN, theirs.states, theirs.seats, streams(1, "player", len(theirs)))
    assert (player(f"net:{frozen}", KUHN).choose(sight) == theirs.played).all()


def test_tables_continue_from_a_checkpoint_as_if_nothing_had_happened(frozen):
    search = Search(KUHN, TABLES, TINY.search, evaluator="uniform")
    whole, first, second = (tables(frozen) for _ in range(3))
    for _ in range(20):
        whole.move(search)
    for _ in range(7):
        first.move(search)
    part = first.taken()
    second.restore({name: np.array(array) for name, array in first.arrays().items()})
    for _ in range(13):
        second.move(search)
    parts = part, second.taken()
    joined = Shard(*(type(p).joined([getattr(s, n) for s in parts]) for n, p in vars(part).items()))
    assert contents(joined) == contents(whole.taken())


def test_a_response_wins_from_the_network_and_resumes_exactly(
    frozen, tmp_path, monkeypatch, one_thread
):
    recipe = TINY.with_opponents([str(frozen)])
    assert recipe.baselines[0] == f"net:{frozen}"
    once = Run(recipe, tmp_path / "once", seed=2)
    once.train()
    once.champion(tmp_path / "response.safetensors", {})
    once.close()
    response = f"net:{tmp_path / 'response.safetensors'}"
    assert match(KUHN, response, f"net:{frozen}", games=2000, seed=1).mean_score > 0.15
    for session in range(100):
        parts = Run(recipe, tmp_path / "parts", seed=2, resume=session > 0)
        with monkeypatch.context() as patched:
            patched.setattr("time.monotonic", killing.Moments(60 + 40 * session))
            parts.train(seconds=60)
        parts.close()
        if parts.standing.iteration == recipe.iterations:
            break
    assert session > 3, "some sessions end inside an iteration"
    weights = [run_.method.average.state_dict() for run_ in (once, parts)]
    assert all(torch.equal(a, b) for a, b in zip(*(w.values() for w in weights), strict=True))


def test_a_run_without_an_opponent_is_described_as_ever(frozen):
    assert "against" not in TINY.described()
    assert TINY.with_opponents([f"net:{frozen}"]).described()["against"] == str(frozen)
    with pytest.raises(GameError, match="against one network"):
        TINY.with_opponents(["a", "b"])


def test_the_command_trains_against_a_file(frozen, tmp_path):
    words = ("train", "kuhn", "--against", str(frozen), "--minutes", "0.02", "--out", str(tmp_path))
    assert "Play it" in run(*words)
    assert load_net(tmp_path / "player.safetensors")[0]
