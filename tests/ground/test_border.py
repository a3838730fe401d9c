"""The border: what comes from outside is refused there in one sentence. Found by the fuzz tests."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing

import numpy as np
import pytest

from kibitz import cli, nets
from kibitz.arena.match import match
from kibitz.arena.rating import ResultsError, ratings, saved_match
from kibitz.arena.table import LONGEST_RECORD, Table, read_record
from kibitz.batch import Batch, IllegalAction
from kibitz.chance import streams
from kibitz.game import GameError, OptionError
from kibitz.games import load
from kibitz.players import PlayerError, Sight
from kibitz.search.mcts import Search, Settings

GAME = load("kuhn")
SIZE = 3


@pytest.fixture
def batch():
    batch = Batch(GAME, SIZE, seed=1, threads=1)
    batch.settle()
    return batch


# Arrays ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["i1", "u1", ">i4", ">i8", "u8"])
def test_actions_of_every_width_and_byte_order_are_played(batch, kind):
    batch.play(np.zeros(SIZE, kind))
    assert (batch.turns() == 1).all()


def test_an_unsigned_action_is_not_taken_for_a_negative_one(batch):
    with pytest.raises(GameError, match="small numbers, and one of these is 18446744073709551615"):
        batch.play(np.full(SIZE, 2**64 - 1, np.uint64))


def test_a_list_of_lists_of_different_lengths_is_no_array(batch):
    with pytest.raises(GameError, match="cannot be used as an array"):
        batch.play([1, [2]])


def read_only(array):
    array.flags.writeable = False
    return array


def test_what_is_written_to_must_be_writable_and_side_by_side(batch):
    own = streams(1, "player", 2 * SIZE)
    with pytest.raises(GameError, match="chance streams are written to"):
        batch.redeal(np.zeros(SIZE, int), read_only(own[:SIZE].copy()))
    with pytest.raises(GameError, match="chance streams lie side by side"):
        batch.redeal(np.zeros(SIZE, int), own[::2])
    with pytest.raises(GameError, match="states are written to"):
        Batch.of(GAME, read_only(batch.states.copy()), own[:SIZE])
    views = np.zeros((SIZE, GAME.view_size), np.float32)
    with pytest.raises(GameError, match="views are written to"):
        batch.observe(np.zeros(SIZE, int), out=read_only(views))
    with pytest.raises(GameError, match="views lie side by side"):
        batch.observe(np.zeros(SIZE, int), out=np.asfortranarray(np.zeros_like(views)))


@pytest.mark.parametrize("size", [2**40, 2**62, 10**30])
def test_a_batch_that_no_memory_holds_is_refused(size):
    with pytest.raises(GameError, match="GiB of memory, too much here; ask for less"):
        Batch(GAME, size)


@pytest.mark.parametrize("size", [0, -1, True, 1.5, None, "3"])
def test_a_batch_has_a_whole_number_of_games(size):
    with pytest.raises(GameError, match="the games of a batch: a whole number, 1 or more, not"):
        Batch(GAME, size)


@pytest.mark.parametrize(
    "settings",
    [
        {"simulations": 2**40},
        {"simulations": 1.5},
        {"considered": 0},
        {"explore": float("nan")},
        {"explore": "2"},
        {"seconds": float("inf")},
    ],
)
def test_a_search_that_cannot_be_made_is_refused(settings):
    with pytest.raises(GameError):
        Search(GAME, 1, Settings(**settings))


def test_small_integers_of_numpy_do_not_overflow(batch):
    found = Search(GAME, SIZE, Settings(simulations=np.int8(100))).run(
        batch.states, streams(1, "search", SIZE)
    )
    assert (found.simulations == 100).all()
    with pytest.raises(GameError, match="plies: a whole number, 0 to 9223372036854775807"):
        batch.wander(np.uint64(2**63))


def test_seats_of_a_sight_are_not_rounded(batch):
    with pytest.raises(GameError, match="seats are integers"):
        Sight(GAME, batch.states, np.full(SIZE, 0.7), streams(1, "player", SIZE))


# Players -----------------------------------------------------------------------------------------


class Rewriting:
    """A player that writes to the list of legal actions that it was shown."""

    name = "rewriting"

    def choose(self, sight):
        sight.legal[0][:] = 99
        sight.legal[1][:] = 1
        return np.full(len(sight), 99)


def test_a_player_cannot_make_an_action_legal_by_writing_to_the_list():
    with pytest.raises(IllegalAction, match="rewriting chose 99, which is not legal here"):
        match(GAME, Rewriting(), "random", games=2, seed=1)


class Uneven:
    name = "uneven"

    def choose(self, sight):
        return [[0], [0, 1]]


def test_an_answer_that_is_no_array_is_refused():
    with pytest.raises(GameError, match="cannot be used as an array"):
        match(GAME, Uneven(), "random", games=2, seed=1)


@pytest.mark.parametrize("action", [None, 1.5, [0], np.zeros(2, int), object(), 10**30])
def test_what_is_neither_a_number_nor_a_text_is_no_action(action):
    with pytest.raises(IllegalAction, match="is not legal"):
        Table(GAME, seed=1).play(action)


# Options and texts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [np.zeros(2), [], b"joker", None, 10**5000], ids=lambda value: type(value).__name__
)
def test_an_option_of_another_type_is_refused(value):
    for name in ("variant", "sides", "dice", "preset"):
        if value is None and name == "preset":
            continue
        with pytest.raises(OptionError):
            load("liars_dice").bind(**{name: value})


@pytest.mark.parametrize("text", [None, 1, b"jq", slice(3)])
def test_a_position_is_a_text(text):
    with pytest.raises(GameError, match="is a text, not"):
        GAME.read(text)
    with pytest.raises(GameError, match="is a text, not"):
        load("liars_dice").read_action(load("liars_dice").fresh(), text)


# Files -------------------------------------------------------------------------------------------


def test_a_record_is_not_read_without_end(tmp_path):
    with pytest.raises(GameError, match=f"more than {LONGEST_RECORD:,} bytes"):
        read_record("/dev/zero")


def test_results_with_a_view_in_place_of_a_table_are_refused(tmp_path):
    """A view runs what its author wrote, here without end."""
    file = tmp_path / "r.sqlite"
    saved_match(file, load("liars_dice", dice=(1, 1)), "honest", "random", games=2, seed=0)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("drop table chunks")
        db.execute(
            "create view chunks as with recursive n(i) as (select 1 union all select i + 1 from n)"
            " select 1 as match, i as first, 2 as groups, 'x' as result from n"
        )
    with pytest.raises(ResultsError, match="kibitz did not write it"):
        ratings(file)


@pytest.mark.parametrize("change", ["update chunks set result = cast(x'ff' as text)", "ids"])
def test_results_whose_rows_sqlite_cannot_read_are_refused(tmp_path, change):
    file, game = tmp_path / "r.sqlite", load("liars_dice", dice=(1, 1))
    saved_match(file, game, "honest", "random", games=2, seed=0)
    with closing(sqlite3.connect(file)) as db, db:
        if change == "ids":  # a table without the constraint that gives every match a number
            db.execute("create table loose as select * from matches")
            db.execute("drop table matches")
            db.execute("alter table loose rename to matches")
            db.execute("update matches set id = null")
        else:
            db.execute(change)
    with pytest.raises(ResultsError):
        saved_match(file, game, "honest", "random", games=2, seed=0)


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    """Run by root, a plain rename would take /dev/null away from everybody."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(GameError, match="is not a regular file"):
        nets.write(pipe, b"weights")
    assert stat.S_ISFIFO(pipe.stat().st_mode) and [*tmp_path.iterdir()] == [pipe]


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def complaint(monkeypatch, capsys):
    """What is said, on one line, to somebody who asks for what cannot be done."""

    def ask(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["kibitz", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and said.startswith("kibitz: "), said
        return said

    return ask


def test_a_very_long_argument_is_answered_in_one_line(complaint):
    assert len(complaint("match", "kuhn", "random", "random", "--games", "9" * 5000)) < 2100
    assert len(complaint("match", "kuhn", "random", "x" * 5000)) < 2100
    assert len(complaint("a" * 5000)) < 2100
    assert len(complaint("check", "kuhn", "-o", "a" * 5000 + "=1")) < 2100


def test_codes_that_a_terminal_obeys_are_shown_instead(complaint):
    assert "\x1b" not in complaint("match", "\x1b[31mkuhn", "random", "random")
    assert "\x1b" not in complaint("match", "kuhn", "--\x1b[31m")


def test_bytes_of_an_argument_that_are_no_text_are_shown_escaped(complaint):
    assert "\\udcff" in complaint("match", "kuhn", "random", "\udcff")


def test_players_without_a_name_in_the_registry_are_refused():
    with pytest.raises(PlayerError, match="there are: random"):
        match(GAME, "", "random", games=2, seed=1)
