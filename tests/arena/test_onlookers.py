"""Onlookers: they see what everybody sees, at the table and in its record."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kibitz.arena.table import Table
from kibitz.cli import app
from kibitz.game import ONLOOKER, GameError
from kibitz.games import load

DICE = load("liars_dice", dice=(2, 2))
NIM = load(str(Path(__file__).parent.parent / "sample_games" / "nim.py"))


def played(seed, *bids):
    table = Table(DICE, seed=seed)
    for bid in bids:
        table.play(bid)
    return table


def replayed(file, *words):
    return CliRunner().invoke(app, ["replay", str(file), *words], catch_exceptions=False).stdout


def test_an_onlooker_sees_the_bids_and_no_dice():
    for seed in range(5):
        table = played(seed, "1x2", "2x2")
        assert table.seen(ONLOOKER) == (
            "Seat 0 has 2 dice\nSeat 1 has 2 dice\nSaid so far: seat 0 1x2, seat 1 2x2"
        )


def test_an_onlooker_hears_of_bids_and_of_no_throw():
    table = played(1, "1x2", "2x2")
    heard = [event.heard_by(ONLOOKER) for event in table.events]
    assert heard == ["", "", "", "", "1x2", "2x2"]
    assert [event.heard_by(0) != "" for event in table.events[:4]] == [True, True, False, False]


def test_the_dice_are_shown_when_the_game_is_over():
    table = played(1, "1x2", "liar")
    assert "Seat 0 dice:" in table.seen(ONLOOKER)
    assert "Seat 1 dice:" in table.seen(ONLOOKER)


def test_a_game_that_does_not_know_onlookers_shows_them_nothing():
    table = Table(NIM, seed=1)
    table.play("takes 1")
    assert table.seen(ONLOOKER) == ""
    assert [event.heard_by(ONLOOKER) for event in table.events] == [""]


def test_a_record_can_be_shown_to_an_onlooker_or_a_seat(tmp_path):
    table = played(1, "1x2", "2x2")
    table.save(file := tmp_path / "game.txt")
    whole, public, own = (
        replayed(file),
        replayed(file, "--as", "onlooker"),
        replayed(file, "--as", "0"),
    )
    assert whole.count("rolls") == 4
    assert public.count("rolls") == 0
    assert own.count("rolls") == 2
    assert "Your dice" in own
    assert table.text() not in public
    events = json.loads(replayed(file, "--as", "onlooker", "--json"))["events"]
    assert events == [{"seat": 0, "text": "1x2"}, {"seat": 1, "text": "2x2"}]


@pytest.mark.parametrize("seat", ["2", "me", "-1"])
def test_a_record_is_shown_to_seats_that_there_are(tmp_path, seat):
    played(1, "1x2").save(file := tmp_path / "game.txt")
    result = CliRunner().invoke(app, ["replay", str(file), "--as", seat])
    assert result.exit_code
    message = result.output + str(result.exception)
    assert "has the seats 0 to 1" in message or "a seat, such as 0, or onlooker" in message


def test_an_onlooker_has_no_seat():
    with pytest.raises(GameError, match="has the seats 0 to 1, not -3"):
        DICE.look(DICE.fresh(), ONLOOKER)
