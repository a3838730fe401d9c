"""A gauntlet: many tables of several kingdoms in lockstep, kept in a file."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from kibitz.arena import gauntlet as module
from kibitz.arena.gauntlet import Pairing, average, gauntlet
from kibitz.arena.match import match
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import save_net
from kibitz.nets.card_set import CardSetConfig, CardSetNet
from kibitz.players import Sight, player

SCRIPT = Path(__file__).parents[2] / "examples" / "dominion_card.py"
TABLES = {name: load("dominion", kingdom=name) for name in ("first_game", "improvements")}
MET = {"bmu": list(TABLES), "smithy1": ["first_game"]}


def test_every_pairing_is_played_as_a_match_would_play_it(tmp_path):
    found = gauntlet(tmp_path / "r.sqlite", TABLES, ["bmx"], MET, games=60, seed=3)
    pairs = {("bmu", "first_game"), ("bmu", "improvements"), ("smithy1", "first_game")}
    assert {(pair.against, pair.table) for pair in found.results} == pairs
    for pair, result in found.results.items():
        alone = match(TABLES[pair.table], "bmx", pair.against, games=60, seed=3)
        assert result.total == alone.total, pair
    mean, low, high = average(list(found.tables("bmx", "bmu").values()))
    assert low < mean < high and mean == pytest.approx(
        np.mean([result.win_rate for result in found.tables("bmx", "bmu").values()])
    )
    hardest = found.hardest("bmx", ["bmu", "smithy1"])
    rates = {pair: result.win_rate for pair, result in found.results.items()}
    for table, (who, result) in hardest.items():
        here = [rate for pair, rate in rates.items() if pair.table == table]
        assert result.win_rate == min(here) == rates[Pairing("bmx", who, table)]


def test_what_is_kept_is_not_played_again(tmp_path, monkeypatch):
    file, played = tmp_path / "r.sqlite", []
    monkeypatch.setattr(module, "GROUPS", 5)
    play = module.play_parts

    def counted(batch, *rest):
        played.append([part.span for part in batch])
        if len(played) == 2:
            raise KeyboardInterrupt
        return play(batch, *rest)

    monkeypatch.setattr(module, "play_parts", counted)
    with pytest.raises(KeyboardInterrupt):
        gauntlet(file, TABLES, ["bmx"], MET, games=20, seed=3, at_once=30)
    assert played == [[(0, 5)] * 3, [(5, 5)] * 3], "parts of all pairings take turns"
    resumed = gauntlet(file, TABLES, ["bmx"], MET, games=20, seed=3, at_once=30)
    assert played[2:] == [[(5, 5)] * 3]
    one_go = gauntlet(tmp_path / "other.sqlite", TABLES, ["bmx"], MET, games=20, seed=3)
    assert resumed.results == one_go.results
    assert gauntlet(file, TABLES, ["bmx"], MET, games=0, seed=3).results == one_go.results
    assert len(played) == 4


def test_tables_of_several_shapes_are_refused(tmp_path):
    three = TABLES | {"three": load("dominion", players=3)}
    with pytest.raises(GameError, match="states of one shape"):
        gauntlet(tmp_path / "r.sqlite", three, ["bmx"], MET, games=2)
    with pytest.raises(GameError, match="two sides and one round"):
        gauntlet(tmp_path / "r.sqlite", {"three": three["three"]}, ["bmx"], {}, games=2)


@pytest.fixture
def network(tmp_path):
    config, game = (
        CardSetConfig(slots=17, width=8, attention_heads=2, layers=1),
        TABLES["first_game"],
    )
    path = tmp_path / "net.safetensors"
    save_net(path, CardSetNet(config).eval(), {"game": game.describe()})
    return path


@pytest.mark.slow  # it compiles a search of Dominion
def test_one_simulation_plays_what_the_network_prefers(network):
    from kibitz.batch import Batch

    game = TABLES["first_game"]
    batch = Batch(game, 64, seed=2)
    batch.wander(30)
    batch.settle()
    states = batch.states[batch.turns() >= 0]
    seats = [int(game.turn(s)) for s in states]
    alone, searched = (
        player(text, game).choose(Sight(game, states, seats, streams(1, "player", len(states))))
        for text in (f"net:{network}", f"net:{network},sims=1")
    )
    assert (alone == searched).all() and len(set(alone.tolist())) > 5


def run_script(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["dominion_card.py", *words])
    runpy.run_path(str(SCRIPT), run_name="__main__")


def test_the_script_writes_the_card(network, tmp_path, monkeypatch, capsys):
    card = tmp_path / "card.json"
    earlier = {"player": "champion", "against": "an earlier one", "games": 10}
    card.write_text(json.dumps({"game": "dominion", "results": [earlier]}))
    always = [f"net:{network}", "--kingdoms", "improvements", "seed:3", "--save", f"{tmp_path}/r"]
    words = ["--games", "2", "--simulations", "0", "2", "--against", "bmu", "smithy1"]
    run_script(monkeypatch, *always, *words, "--card", str(card))
    facts = json.loads(card.read_text())
    assert facts["game"] == "dominion" and facts["results"].pop() == earlier
    rows = {(row["player"], row["against"]): row for row in facts["results"]}
    names = ("champion", "champion:sims=2")
    assert set(rows) == {(name, other) for name in names for other in ("bmu", "smithy1")}
    assert set(rows["champion", "bmu"]["by_kingdom"]) == {"improvements", "seed:3"}
    assert set(rows["champion", "smithy1"]["by_kingdom"]) == {"seed:3"}, (
        "improvements have no Smithy"
    )
    assert rows["champion", "bmu"]["taught"] and rows["champion", "bmu"]["games"] == 4
    assert "against whoever wins most there" in capsys.readouterr().out
    run_script(monkeypatch, *always, *words[:4], "--against", f"net:{network}")
    assert "50.0%" in capsys.readouterr().out, "a network met itself, in both seats of every deal"
    only = tmp_path / "only.json"
    run_script(monkeypatch, *always, *words[:4], "--hardest", "--card", str(only))
    (row,) = json.loads(only.read_text())["results"]
    assert row["against"] == "whoever wins most there" and row["games"] == 4
    assert sorted(row["by_kingdom"]) == ["improvements", "seed:3"]
    assert {who for who, _ in row["by_kingdom"].values()} <= {"bmu", "smithy1"}
