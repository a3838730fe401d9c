"""Results in a file: whose they are, that none is lost, and that no other file is touched."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from old_results import FIRST_FORMAT, database, of_the_first_format, paired
from small_games import COIN, PARTNERS

from kibitz import nets
from kibitz.arena.match import GROUPS_IN_A_CHUNK, elo, match
from kibitz.arena.rating import (
    Encounter,
    ResultsError,
    bradley_terry,
    rate,
    ratings,
    saved_match,
    unrated_games,
)
from kibitz.arena.results import APPLICATION_ID, PairsChunk
from kibitz.bidding.bilinear import CompBilinConfig, NetCompBilin
from kibitz.game import GameError
from kibitz.games import load
from kibitz.players import identity_of, player
from kibitz.players.champions import CHAMPIONS


class Stubborn:
    name = "stubborn"


def test_a_saved_match_equals_a_match_and_is_not_played_twice(tmp_path, monkeypatch):
    file, game = tmp_path / "r.sqlite", load("liars_dice")
    first = saved_match(file, game, "honest", "random", games=1400, seed=2)
    assert first.total == match(game, "honest", "random", games=1400, seed=2).total
    monkeypatch.setattr("kibitz.arena.match.play_chunk", None)  # playing again would fail
    again = saved_match(file, game, "Honest", "random", games=1400, seed=2)
    assert again.total == first.total


def test_a_longer_match_counts_no_game_twice(tmp_path):
    file, game = tmp_path / "r.sqlite", load("kuhn")
    for games in (300, 2 * GROUPS_IN_A_CHUNK + 200, 100):
        saved_match(file, game, "random", "random", games=games, seed=0)
        saved_match(file, load("liars_dice"), "honest", "random", games=games, seed=0)
    (title, rated), *_ = [(t, r) for t, r in ratings(file).items() if t.startswith("liars_dice")]
    assert "dice" in title
    assert [row.games for row in rated] == [2 * GROUPS_IN_A_CHUNK + 200] * 2


def test_a_match_killed_at_any_moment_leaves_a_sound_file_and_goes_on(tmp_path):
    file = tmp_path / "r.sqlite"
    code = (
        "import sys; from kibitz.arena.rating import saved_match; from kibitz.games import load; "
        "saved_match(sys.argv[1], load('liars_dice'), 'honest', 'threshold', games=400_000, seed=4)"
    )
    killed = 0
    for pause in (0.0, 0.05, 0.2):
        process = subprocess.Popen([sys.executable, "-c", code, str(file)])
        while not (file.exists() and _chunk_count(file) > killed):
            assert process.poll() is None, "ended before it could be killed"
            time.sleep(0.01)
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with sqlite3.connect(file) as db:
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        killed = _chunk_count(file)
    games = 2 * GROUPS_IN_A_CHUNK * (killed + 1)
    result = saved_match(file, load("liars_dice"), "honest", "threshold", games=games, seed=4)
    undisturbed = match(load("liars_dice"), "honest", "threshold", games=games, seed=4)
    assert result.total == undisturbed.total


def _chunk_count(file: Path) -> int:
    with sqlite3.connect(file) as db:
        try:
            return int(db.execute("select count(*) from chunks").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


FOREIGN = {
    "a letter": lambda file: file.write_text("Dear diary, " * 100),
    "half a database": lambda file: file.write_bytes(b"SQLite format 3\0" + bytes(50)),
    "another program's": lambda file: database(file, "create table cookies (name, value);"),
    "without tables": lambda file: database(file, "pragma user_version = 3; vacuum;"),
    "with a mark": lambda file: database(file, f"{FIRST_FORMAT} pragma application_id = 7;"),
    "with one table more": lambda file: database(file, f"{FIRST_FORMAT} create table more (a);"),
    "with a column more": lambda file: database(
        file, f"{FIRST_FORMAT} alter table matches add column note text;"
    ),
    "marked as ours, other tables": lambda file: database(
        file,
        f"create table t (a); pragma application_id = {APPLICATION_ID}; pragma user_version = 2;",
    ),
    "of a newer kibitz": lambda file: database(
        file,
        f"create table t (a); pragma application_id = {APPLICATION_ID}; pragma user_version = 4;",
    ),
    "with a write-ahead log": lambda file: database(
        file, f"pragma journal_mode = wal; {FIRST_FORMAT}"
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(tmp_path, kind):
    file = tmp_path / "foreign.db"
    FOREIGN[kind](file)
    before = file.read_bytes()
    with pytest.raises(ResultsError, match=r"foreign\.db (cannot be used|was written by a newer)"):
        saved_match(file, load("kuhn"), "random", "random", games=2, seed=0)
    with pytest.raises(ResultsError, match=r"foreign\.db (cannot be used|was written by a newer)"):
        ratings(file)
    assert file.read_bytes() == before and [*tmp_path.iterdir()] == [file]


def test_ratings_need_a_file_and_make_none(tmp_path):
    with pytest.raises(ResultsError, match="there is no file"):
        ratings(tmp_path / "none.sqlite")
    with pytest.raises(ResultsError, match="is a folder"):
        ratings(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(ResultsError, match="cannot be used as a file of results"):
        ratings(tmp_path / "empty")
    assert [(f.name, f.stat().st_size) for f in tmp_path.iterdir()] == [("empty", 0)]


def test_a_file_that_was_only_created_is_used(tmp_path):
    """A kill before the first transaction leaves one without a byte."""
    (tmp_path / "r.sqlite").touch()
    saved_match(tmp_path / "r.sqlite", load("kuhn"), "random", "random", games=2, seed=0)
    assert ratings(tmp_path / "r.sqlite") == {"kuhn {}": []}, "nobody plays against another"


INTERRUPTED = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("pragma cache_size = 1")  # what does not find room goes to the file before the end
db.execute("begin immediate")
db.execute(f"insert into {sys.argv[2]} with recursive n(i) as (select 9 union all select i + 1 "
           f"from n where i < 999) select {sys.argv[3]} from n")
os.kill(os.getpid(), signal.SIGKILL)
"""


def interrupted(file: Path, *words: str) -> dict[str, bytes]:
    """Kill a process in the middle of a transaction; what is in the folder then."""
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(file), *words])
    found = {each.name: each.read_bytes() for each in file.parent.iterdir()}
    assert found.keys() == {file.name, f"{file.name}-journal"}
    return found


def test_a_write_that_was_interrupted_is_mended_by_the_next_save_alone(tmp_path):
    file, game = tmp_path / "r", load("liars_dice")
    first = saved_match(file, game, "honest", "random", games=4, seed=0)
    left = interrupted(file, "chunks", "i, i, i, printf('%900d', i)")
    with pytest.raises(ResultsError, match="a write was interrupted; `kibitz match"):
        ratings(file)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == left
    assert saved_match(file, game, "honest", "random", games=4, seed=0).total == first.total
    assert ratings(file) and [*tmp_path.iterdir()] == [file]


def test_the_journal_of_another_program_is_not_touched(tmp_path):
    file = database(tmp_path / "foreign.db", "create table cookies (name)")
    left = interrupted(file, "cookies", "printf('%900d', i)")
    for use in (ratings, lambda file: saved_match(file, load("kuhn"), "random", "random")):
        with pytest.raises(ResultsError, match=r"foreign\.db cannot be used"):
            use(file)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == left


def test_a_file_of_the_first_format_is_read_and_marked_as_keyed_by_name(tmp_path):
    file = of_the_first_format(tmp_path / "r", load("liars_dice"), ["honest", "random"], 3, 40)
    before = file.read_bytes()
    (rated,) = ratings(file).values()
    assert [(r.player, r.keyed_by) for r in rated] == [("honest", "name"), ("random", "name")]
    assert file.read_bytes() == before and [*tmp_path.iterdir()] == [file]


def test_a_file_of_the_first_format_is_upgraded_and_its_matches_are_not_continued(tmp_path):
    game = load("liars_dice")
    file = of_the_first_format(tmp_path / "r", game, ["honest", "random"], 3, 40)
    result = saved_match(file, game, "honest", "random", games=40)
    assert result.seed != 3, "the seed of a match by name belongs to nobody we know"
    (rated,) = ratings(file).values()
    assert sorted((r.player, r.keyed_by) for r in rated) == [
        *(("honest", "identity"), ("honest", "name")),
        *(("random", "identity"), ("random", "name")),
    ]
    assert saved_match(file, game, "honest", "random", games=40, seed=3).games == 40
    with closing(sqlite3.connect(file)) as db:
        keyed = db.execute("select keyed_by, seed from matches order by id").fetchall()
        assert [key for key, _ in keyed] == ["name", "identity", "identity"]
        assert db.execute("pragma application_id").fetchone() == (APPLICATION_ID,)
        assert db.execute("pragma user_version").fetchone() == (3,)
        assert db.execute("pragma foreign_key_check").fetchall() == []


def of_the_second_format(file: Path, game, chunk: PairsChunk) -> Path:
    """A match of a file as it was kept when comparisons of seats were counted."""
    saved_match(file, game, "honest", "random", games=40, seed=3)
    with closing(sqlite3.connect(file)) as db, db:
        result = json.dumps(dataclasses.asdict(chunk))
        db.execute("update chunks set groups = ?, result = ?", (chunk.groups, result))
        db.execute("pragma user_version = 2")
    return file


def test_a_file_of_the_second_format_is_rated_and_its_matches_are_played_again(tmp_path):
    game = load("liars_dice")
    chunk = paired(game, ["honest", "random"], 3, 40)
    file = of_the_second_format(tmp_path / "r", game, chunk)
    before, (rated,) = file.read_bytes(), ratings(file).values()
    assert [(row.player, row.games) for row in rated] == [("honest", 40), ("random", 40)]
    assert unrated_games(file) == 0 and file.read_bytes() == before
    again = saved_match(file, game, "honest", "random", games=40)
    assert again.seed == 3
    assert again.total == match(game, "honest", "random", games=40, seed=3).total
    (rated_again,) = ratings(file).values()
    assert [row.elo for row in rated_again] == pytest.approx([row.elo for row in rated])
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("pragma user_version").fetchone() == (3,)
        (row,) = db.execute("select result from chunks").fetchall()
    assert "score_squares" in row[0] and "points" not in row[0]


def test_comparisons_of_more_than_two_seats_are_not_rated_as_wins(tmp_path):
    game = load("liars_dice")
    chunk = dataclasses.replace(paired(game, ["honest", "random"], 3, 40), games=60)
    file = of_the_second_format(tmp_path / "r", game, chunk)
    assert ratings(file) == {} and unrated_games(file) == 60
    assert unrated_games(file, "kuhn") == 0


def test_a_failed_upgrade_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    game = load("kuhn")
    file = of_the_first_format(tmp_path / "r", game, ["random", "random"], 3, 4)
    before = file.read_bytes()
    monkeypatch.setattr("kibitz.arena.results.APPLICATION_ID", "no number")  # its last step
    with pytest.raises(ResultsError, match="cannot be used"):
        saved_match(file, game, "random", "random", games=4)
    assert file.read_bytes() == before


def test_another_network_in_the_same_file_is_another_player(tmp_path):
    """Capitals in the path stay as they are; only the kind of player may be spelt in any case."""
    game, net_file, results = load("liars_dice", dice=(1, 1)), tmp_path / "Net.pt", tmp_path / "r"
    size = {"priv": 8, "pub": 28, "hidden": (4,), "interaction": 4}
    totals = []
    for seed in (1, 2):
        nets.save_net(
            net_file, NetCompBilin(CompBilinConfig(**size), seed), {"game": game.describe()}
        )
        for kind in ("net", "NET"):  # the second time from the file
            who = f"{kind}:{net_file},mode=sample"
            totals.append(saved_match(results, game, who, "random", games=60, seed=1).total)
    assert totals[0] == totals[1] != totals[2] == totals[3]
    fresh = match(game, f"net:{net_file},mode=sample", "random", games=60, seed=1)
    assert totals[2] == fresh.total
    (rated,) = ratings(results).values()
    shown = [r.player for r in rated if r.player != "random"]
    assert len({*shown}) == 2
    assert all(re.fullmatch(r"net:.*Net\.pt,mode=sample #\w{6}", name) for name in shown)


def test_a_compiled_player_whose_file_has_changed_is_another_player(tmp_path):
    source = COIN.read_text()
    identities = []
    for text in (source, source, source + "\n# another strategy would be here\n"):
        (tmp_path / "coin.py").write_text(text)
        game = load(tmp_path / "coin.py")
        name = next(iter(game.players), None)
        assert name is not None
        identities.append(identity_of(player(name, game)))
    assert identities[0] == identities[1] != identities[2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("random", "honest"),
        ("honest", "threshold"),
        ("mcts:sims=10", "mcts:sims=11"),
        ("mcts:sims=10", "mcts:sims=10,explore=1"),
        ("mcts:sims=10", "mcts:sims=10,evaluator=uniform"),
        ("mcts:sims=10", "mcts:sims=10,seconds=9"),
        ("champion", "champion:mode=argmax"),
        ("champion:mode=softmax", "champion:mode=softmax,temperature=2"),
        ("champion:mode=purify", "champion:mode=purify,threshold=0.2"),
        ("champion:rounds=1", "champion:rounds=2"),
        ("champion:rounds=1", "champion:seconds=1,rounds=1"),
        ("champion", "exploiter"),
    ],
)
def test_players_who_play_differently_have_different_identities(one, other):
    game = load("liars_dice")
    first, again, second = (identity_of(player(text, game)) for text in (one, one, other))
    assert first == again != second


def test_options_spelt_in_another_way_make_the_same_player():
    game = load("liars_dice")
    same = [player(text, game) for text in ("champion:temperature=1", "CHAMPION:Temperature=1.0")]
    assert identity_of(same[0]) == identity_of(same[1])
    plans = load("dominion")
    assert identity_of(player("bmu", plans)) != identity_of(player("smithy1", plans))
    assert identity_of(Stubborn()) == f"{__name__}.Stubborn stubborn"


def test_the_champion_of_a_match_in_rounds_is_all_the_networks_it_plays_with():
    single, rounds = (load("liars_dice", die_loss=loss) for loss in ("none", "loser"))
    one, several = (identity_of(player("champion", game)) for game in (single, rounds))
    files = [nets.read_header(f)[0]["sha256"] for f in CHAMPIONS.glob("liars_dice*.safetensors")]
    assert len(files) == 2
    assert sum(sha in one for sha in files) == 1 and all(sha in several for sha in files)


def test_without_a_seed_a_saved_match_goes_on_with_the_newest_of_its_own(tmp_path):
    file, game = tmp_path / "r", load("kuhn")
    drawn = saved_match(file, game, "random", "random", games=4)
    assert saved_match(file, game, "random", "random", games=4).seed == drawn.seed
    saved_match(file, game, "random", "random", games=4, seed=0)
    assert saved_match(file, game, "random", "random", games=8).seed == 0
    other = saved_match(file, load("liars_dice"), "random", "random", games=4)
    assert other.seed not in (0, drawn.seed)


def test_nothing_is_kept_of_a_match_that_cannot_be_played(tmp_path):
    with pytest.raises(GameError, match="at least one game"):
        saved_match(tmp_path / "r", load("kuhn"), "random", "random", games=0)
    assert ratings(tmp_path / "r") == {}


def test_results_under_other_rules_are_rated_apart(tmp_path):
    game = load("liars_dice")
    for version in (1, 2):
        edition = dataclasses.replace(game, version=version)
        saved_match(tmp_path / "r", edition, "honest", "random", games=4, seed=0)
    assert [title.partition(", rules ")[0] for title in ratings(tmp_path / "r")] == [
        f"liars_dice {json.dumps(game.describe()['options'])}"
    ] * 2


GARBAGE = {
    "players = '7'": "match 1: its players are not a list",
    "players = '[\"a\"'": "match 1: its players are not JSON",
    "players = '[\"a\", 7]'": "match 1: its players are not all texts",
    'players = \'["a", "b", "c"]\'': "match 1: it has 3 players and 2 identities",
    "identities = x'00'": "match 1: its identities are not JSON",
    "game = x'ff'": "match 1: its game is not a text",
    "keyed_by = 'luck'": "match 1: it is keyed by identity or by name",
}


@pytest.mark.parametrize("change", GARBAGE)
def test_a_match_that_makes_no_sense_is_named_in_a_sentence(tmp_path, change):
    file = tmp_path / "r"
    saved_match(file, load("liars_dice"), "honest", "random", games=4, seed=0)
    database(file, f"update matches set {change}")
    with pytest.raises(ResultsError, match=GARBAGE[change]) as refusal:
        ratings(file)
    assert str(file) in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ("nonsense", "results are not JSON"),
        ("[" * 99_999, "results are not JSON"),
        ("[]", "results are not groups, games"),
        ({"more": 1}, "results are not groups, games"),
        ({"games": "many"}, "games are not a whole number"),
        ({"games": True}, "games are not a whole number"),
        ({"draws": -1}, "draws are not a whole number, 0 or more"),
        ({"draws": 10**400}, "draws are not a whole number"),
        ({"groups": 7}, "numbers of groups, games and draws do not agree"),
        ({"games": 1}, "numbers of groups, games and draws do not agree"),
        ({"wins": [0.5]}, "wins are not 2 numbers"),
        ({"wins": [0.5, float("nan")]}, "wins are not all finite numbers"),
        ({"win_squares": [0.5, -1]}, "win_squares are not all finite numbers, 0 or more"),
        ({"score_squares": [0.5, -1]}, "score_squares are not all finite numbers, 0 or more"),
        ({"teams": [1, 1, 1]}, "teams are not 2 numbers"),
        ({"teams": [1, 0]}, "teams are not all whole numbers, 1 or more"),
        ({"teams": [1, 1.5]}, "teams are not all whole numbers, 1 or more"),
        ({"scores": [float("inf"), 0]}, "scores are not all finite numbers"),
        ({"scores": None}, "scores are not 2 numbers"),
        ({"by_seat": [1.0]}, "by_seat are not 2 numbers"),
        ({"by_seat": {"0": 1}}, "by_seat are not 2 numbers"),
    ],
)
def test_a_result_that_makes_no_sense_is_named_in_a_sentence(tmp_path, changes, sentence):
    file, game = tmp_path / "r", load("liars_dice")
    result = saved_match(file, game, "honest", "random", games=4, seed=0)
    spoilt = changes
    if isinstance(changes, dict):
        spoilt = json.dumps(dataclasses.asdict(result.total) | changes)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("update chunks set result = ?", (spoilt,))
    with pytest.raises(ResultsError, match=f"match 1, chunk 0: its {sentence}") as refusal:
        ratings(file)
    assert str(file) in str(refusal.value)
    with pytest.raises(ResultsError, match="match 1, chunk 0"):
        saved_match(file, game, "honest", "random", games=4, seed=0)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([[0, 1]], "points are not 2 lists"),
        ([[0, 1], [1]], "points are not 2 numbers"),
        ([[0, -1], [1, 0]], "points are not all finite numbers, 0 or more"),
        ([[0, "1"], [1, 0]], "points are not all finite numbers"),
        (None, "points are not 2 lists"),
    ],
)
def test_a_result_of_the_second_format_is_looked_at_as_closely(tmp_path, points, sentence):
    game = load("liars_dice")
    chunk = dataclasses.replace(paired(game, ["honest", "random"], 3, 4), points=points)
    file = of_the_second_format(tmp_path / "r", game, chunk)
    for use in (ratings, unrated_games):
        with pytest.raises(ResultsError, match=f"match 1, chunk 0: its {sentence}"):
            use(file)


def test_a_team_wins_in_proportion_to_the_strength_of_its_player():
    """b has three teams against one and wins half: a team of a is worth three of them."""
    one, three = (("a", 1), ("b", 3)), (("a", 1), ("b", 1))
    wins = {"a": 5000.0, "b": 5000.0}
    by = {row.player: row for row in rate([Encounter(one, wins, 10_000)])}
    assert by["a"].elo - by["b"].elo == pytest.approx(elo(0.75), abs=0.5)
    assert by["a"].games == by["b"].games == 10_000
    level = {row.player: row for row in rate([Encounter(three, wins, 10_000)])}
    assert level["a"].elo == pytest.approx(level["b"].elo)


def test_a_match_of_four_seats_is_rated_by_its_wins(tmp_path):
    """Three of the players are one and the same, who is rated with three teams."""
    file, game = tmp_path / "r", load(PARTNERS, teams=4)
    others = ["random"] * 3
    result = saved_match(file, game, "cautious", *others, games=2000, seed=1)
    (rated,) = ratings(file).values()
    assert [(row.player, row.games) for row in rated] == [("cautious", 2000), ("random", 2000)]
    assert rated[0].elo - rated[1].elo == pytest.approx(result.elo, abs=1)


def test_ratings_put_players_where_their_results_say():
    rated = bradley_terry({("a", "b"): 750, ("b", "a"): 250, ("b", "c"): 640, ("c", "b"): 360})
    assert [r.player for r in rated] == ["a", "b", "c"]
    by = {r.player: r.elo for r in rated}
    assert by["a"] - by["b"] == pytest.approx(elo(0.75), abs=0.5)
    assert by["b"] - by["c"] == pytest.approx(elo(0.64), abs=0.5)
    assert sum(by.values()) == pytest.approx(0, abs=1e-6)
