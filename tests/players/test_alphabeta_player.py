"""The player that looks ahead: limits, judges, books and plans, explanations."""

import numpy as np
import pytest

from kibitz import games
from kibitz.arena.analysis import analyse
from kibitz.arena.match import match
from kibitz.chance import streams
from kibitz.nets import save_net
from kibitz.nets.accumulator import AccumulatorConfig, AccumulatorNet
from kibitz.nets.dual_view import DualViewConfig, DualViewNet
from kibitz.players import Inquiry, PlayerError, Sight, names, player

MID = "nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2"


@pytest.fixture(scope="module")
def escampe():
    return games.load("escampe")


def sight_of(game, *states):
    tables = np.zeros(len(states), game.state)
    for i, s in enumerate(states):
        tables[i] = s
    seats = [game.turn(s) for s in states]
    return Sight(game, tables, seats, streams(1, "player", len(states)))


def test_it_takes_a_forced_win(escampe):
    chosen = player("alphabeta:depth=3", escampe).choose(sight_of(escampe, escampe.read(MID)))
    assert escampe.action_text(escampe.read(MID), int(chosen[0])) in ("F6-E5", "F6-F4", "F6-D6")


def test_it_sits_down_only_where_nothing_is_hidden():
    assert "alphabeta" in names(games.load("escampe"))
    assert "alphabeta" not in names(games.load("kuhn"))
    with pytest.raises(PlayerError, match="not an open game for two"):
        player("alphabeta:depth=2", games.load("kuhn"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("alphabeta:depth=0", "depth is a whole number"),
        ("alphabeta:depth=99", "1 to 56 plies"),
        ("alphabeta:seconds=0", "seconds is a number"),
        ("alphabeta:judge=quadratic", "no such file, and escampe has linear"),
        ("alphabeta:without=luck", "no feature 'luck'"),
        ("alphabeta:plies=3", "no option 'plies'"),
    ],
)
def test_texts_that_make_no_sense_are_refused(escampe, text, sentence):
    with pytest.raises(Exception, match=sentence):
        player(text, escampe)


def test_more_plies_win_more(escampe):
    result = match(escampe, "alphabeta:depth=3", "greedy", games=16, seed=1)
    assert result.win_rate > 0.7


def test_the_same_seed_plays_the_same_games(escampe):
    one, two = (match(escampe, "alphabeta:depth=2", "greedy", games=8, seed=3) for _ in range(2))
    assert one.total == two.total


@pytest.mark.parametrize(
    ("kind", "view"), [("dual_view", "default"), ("accumulator", "pieces")], ids=str
)
def test_a_network_judges(escampe, tmp_path, kind, view):
    net = {
        "dual_view": lambda: DualViewNet(DualViewConfig(blocks=1, embedding=16)),
        "accumulator": lambda: AccumulatorNet(AccumulatorConfig()),
    }[kind]()
    file = tmp_path / "net.safetensors"
    save_net(file, net, {"game": escampe.through(view).describe()})
    who = player(f"alphabeta:judge={file},depth=3", escampe)
    assert who.name == "alphabeta:depth=3,judge=net.safetensors"
    chosen = who.choose(sight_of(escampe, escampe.read(MID), escampe.read(MID)))
    assert chosen[0] == chosen[1]
    assert escampe.action_text(escampe.read(MID), int(chosen[0])) in ("F6-E5", "F6-F4", "F6-D6")


def test_whole_placements_are_planned(escampe):
    """Black's by the book; White's by looking at many, of which nearly half win by force."""
    who, s = player("alphabeta:depth=3", escampe), escampe.fresh()
    while s.placed < 12:
        escampe.play(s, int(who.choose(sight_of(escampe, s))[0]))
    assert escampe.turn(s) == 0 and not escampe.wrong_with(s)


def test_it_explains_itself(escampe):
    thought = analyse(escampe, MID, "alphabeta:depth=5", Inquiry(lines=4))
    assert [c.mate_in for c in thought.candidates[:3]] == [3, 3, 3]
    assert thought.best.line == ("A1-A2", "C2-C1") and thought.best.value == 1.0
    assert thought.nodes > 0 and thought.depth == 5 and thought.table_use is not None
