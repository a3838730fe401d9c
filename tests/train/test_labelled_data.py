"""Labelled positions: generated from a seed, in files of two formats, checked on reading."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kibitz.games import load
from kibitz.recipes import generation
from kibitz.search.labelling import Schedule
from kibitz.train.folder import RunError, read_stored, write_tensors
from kibitz.train.labelled import generate as generating
from kibitz.train.labelled.facts import facts
from kibitz.train.labelled.files import convert, read_data, read_file, write_rows
from kibitz.train.labelled.generate import generate
from kibitz.train.labelled.labels import Labelling, best_scale, result_scale
from kibitz.train.labelled.rows import DataError, Rows
from kibitz.train.labelled.split import split

ESCAMPE = load("escampe")
SHALLOW = replace(generation("escampe"), schedule=Schedule(depths=(1, 2)))
FIRST = "000000.jsonl"
GOOD = {
    "white_paladins": 0b11111,
    "black_paladins": 0b11111 << 30,
    "white_unicorn": 6,
    "black_unicorn": 29,
    "required_band": 2,
    "white_to_move": True,
    "score": 0.25,
}


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(generating, "GAMES_PER_CALL", 8)
    monkeypatch.setattr(generating, "CALLS_PER_FILE", 4)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "data"
    generate(SHALLOW, path, 600, seed=5)
    return read_data(ESCAMPE, [path])[0]


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def lines_in(path: Path, *records: object) -> Path:
    text = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in text))
    return path


# Generating --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["jsonl", "shards"])
def test_the_files_follow_from_the_seed_whatever_the_number_of_threads(tmp_path, format):
    for threads in (1, 3):
        path = tmp_path / str(threads)
        generate(SHALLOW, path, 500, seed=5, threads=threads, format=format)
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
    assert len(contents(tmp_path / "1")) >= 4
    generate(SHALLOW, tmp_path / "other", 500, seed=6, format=format)
    assert contents(tmp_path / "1") != contents(tmp_path / "other")


def test_there_are_as_many_positions_as_asked_for(tmp_path):
    assert generate(SHALLOW, tmp_path / "data", 333, seed=5) == 333
    rows, bad = read_data(ESCAMPE, [tmp_path / "data"])
    assert (len(rows), bad) == (333, [])
    assert (np.diff(rows.columns["game_id"]) >= 0).all()
    assert len(set(rows.positions().tolist())) == 333


WORK = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
import test_labelled_data as tests
tests.generating.GAMES_PER_CALL, tests.generating.CALLS_PER_FILE = 8, 4
tests.generate(tests.SHALLOW, Path(sys.argv[1]), 1500, seed=5, resume=True)
"""


def started(path: Path) -> subprocess.Popen[bytes]:
    here = Path(__file__).parent
    folders = [str(here), str(here.parent / "support")]
    return subprocess.Popen([sys.executable, "-c", WORK, str(path), *folders])


def test_a_process_that_was_killed_continues_to_the_same_files(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    generate(SHALLOW, whole, 1500, seed=5)
    process = started(broken)
    while process.poll() is None and not (broken / "000001.jsonl").exists():
        time.sleep(0.001)
    process.kill()
    assert process.wait() != 0, "it came to its end before it was killed"
    (broken / f".000002.jsonl.{process.pid}").write_text("what a killed save leaves")
    assert "README.md" not in contents(broken), "it says what is there once all is there"
    assert 2 <= len(contents(broken)) - 2 < len(contents(whole)) - 2
    assert started(broken).wait() == 0
    assert contents(broken) == contents(whole)


def test_a_data_set_can_be_made_longer(tmp_path):
    longer = tmp_path / "longer"
    generate(SHALLOW, tmp_path / "long", 500, seed=5)
    generate(SHALLOW, longer, 200, seed=5)
    assert 300 <= generate(SHALLOW, longer, 500, seed=5, resume=True) < 500
    assert contents(longer) == contents(tmp_path / "long")
    assert generate(SHALLOW, longer, 500, seed=5, resume=True) == 0


def test_a_data_set_that_was_killed_while_it_became_longer_ends_as_it_should(tmp_path, monkeypatch):
    """Its last file was cut short: nobody may take it for a whole one."""
    longer = tmp_path / "longer"
    generate(SHALLOW, tmp_path / "long", 500, seed=5)
    generate(SHALLOW, longer, 200, seed=5)

    def killed(path, rows):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(generating, "write_rows", killed)
        generate(SHALLOW, longer, 500, seed=5, resume=True)
    generate(SHALLOW, longer, 500, seed=5, resume=True)
    assert contents(longer) == contents(tmp_path / "long")


def test_a_folder_that_cannot_be_continued_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "data"
    generate(SHALLOW, path, 100, seed=5)
    before = contents(path)
    with pytest.raises(DataError, match="holds positions already; give --resume"):
        generate(SHALLOW, path, 100, seed=5)
    with pytest.raises(DataError, match="was started with another seed: 5, not 6"):
        generate(SHALLOW, path, 100, seed=6, resume=True)
    deeper = replace(SHALLOW, schedule=Schedule(depths=(1, 3)))
    with pytest.raises(DataError, match=r"another schedule depths: \[1, 2\], not \[1, 3\]$"):
        generate(deeper, path, 100, seed=5, resume=True)
    with pytest.raises(DataError, match="another format: jsonl, not shards"):
        generate(SHALLOW, path, 100, seed=5, format="shards", resume=True)
    with pytest.raises(DataError, match="is to hold 100 positions, which is more than 50"):
        generate(SHALLOW, path, 50, seed=5, resume=True)
    assert contents(path) == before
    (path / "data.json").write_text("[]")
    with pytest.raises(DataError, match=r"data\.json is damaged; choose another folder"):
        generate(SHALLOW, path, 100, seed=5, resume=True)
    with pytest.raises(DataError, match="is not empty and holds no data"):
        generate(SHALLOW, tmp_path, 100, seed=5)


# Files -------------------------------------------------------------------------------------------


def test_a_record_has_the_fields_of_the_data_set_in_their_order(tmp_path, rows):
    write_rows(tmp_path / FIRST, rows[:1])
    record = json.loads((tmp_path / FIRST).read_text())
    own = ["game_id", "ply", "label_depth", "raw_score", "result"]
    assert list(record) == [*GOOD, *own]
    assert record["white_to_move"] in (True, False)


def test_both_formats_hold_the_same_rows_to_the_last_bit(tmp_path, rows):
    for name in (FIRST, "000000.safetensors"):
        write_rows(tmp_path / name, rows)
        there, bad = read_file(ESCAMPE, tmp_path / name)
        assert not bad
        for column, values in rows.columns.items():
            assert there.columns[column].dtype == values.dtype
            assert there.columns[column].tobytes() == values.tobytes()


def test_converting_there_and_back_gives_the_same_files(tmp_path):
    source, shards, lines = (tmp_path / name for name in ("source", "shards", "lines"))
    generate(SHALLOW, source, 300, seed=5)
    assert convert(ESCAMPE, source, shards, "shards") == (300, 0)
    assert convert(ESCAMPE, shards, lines, "jsonl") == (300, 0)
    assert {"data.json", "README.md"} == contents(source).keys() - contents(lines).keys()
    assert contents(lines).items() <= contents(source).items()
    with pytest.raises(DataError, match="already; choose another folder"):
        convert(ESCAMPE, source, shards, "shards")


BAD = {
    "a bit above 35": ({"white_paladins": 0b11110 | 1 << 36}, "white_paladins has a bit above 35"),
    "a bit above 63": ({"white_paladins": 1 << 80}, "white_paladins is 1208.*not a whole number"),
    "four paladins": ({"black_paladins": 0b1111 << 30}, "black_paladins does not have 5 cells"),
    "a unicorn beside the board": ({"white_unicorn": 300}, "white_unicorn is not a cell"),
    "pieces on one cell": ({"black_unicorn": 6}, "two pieces stand on one cell"),
    "band 4": ({"required_band": 4}, "required_band is not 0, 1, 2 or 3"),
    "a score above 1": ({"score": 1.001}, "score is not a number from -1 to 1"),
    "a score below -1": ({"score": -1.001}, "score is not a number from -1 to 1"),
    "a score of NaN": ({"score": float("nan")}, "score is nan, not a finite number"),
    "an endless score": ({"score": float("inf")}, "score is inf, not a finite number"),
    "a score in words": ({"score": "good"}, "score is 'good', not a finite number"),
    "a band with a fraction": ({"required_band": 2.0}, "required_band is 2.0, not a whole number"),
    "a side in words": ({"white_to_move": "w"}, "white_to_move is 'w', not true or false"),
    "a missing field": ({"black_unicorn": None}, "black_unicorn is missing"),
    "a result of 3": ({"result": 3}, "result is not -1, 0, 1 or null"),
    "a result that stands for none": ({"result": 2}, "result is 2; what is not known is null"),
    "a game below 0": ({"game_id": -5}, "game_id is not a number from 0"),
    "no JSON": ('{"white_paladins": 3', "this is not JSON"),
    "a list": ("[1, 2, 3]", "a record is a JSON object"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_refused_with_file_line_and_sentence(tmp_path, name):
    wrong, sentence = BAD[name]
    bad = (
        wrong
        if isinstance(wrong, str)
        else {k: v for k, v in {**GOOD, **wrong}.items() if v is not None}
    )
    path = lines_in(tmp_path / FIRST, GOOD, bad, GOOD)
    with pytest.raises(DataError, match=rf"000000\.jsonl, line 2: {sentence}"):
        read_data(ESCAMPE, [path])
    rows, skipped = read_data(ESCAMPE, [path], skip_bad=True)
    assert (len(rows), [row.number for row in skipped]) == (2, [2])


def test_all_bad_records_of_a_file_are_counted(tmp_path):
    path = lines_in(tmp_path / FIRST, "{", GOOD, {**GOOD, "score": 2}, "", GOOD, {"score": 0})
    rows, bad = read_file(ESCAMPE, path)
    assert (len(rows), [row.number for row in bad]) == (2, [1, 3, 6])
    with pytest.raises(DataError, match=r"line 1: this is not JSON \(3 rows are bad\)"):
        read_data(ESCAMPE, [tmp_path])


def test_a_record_from_elsewhere_needs_no_fields_of_ours(tmp_path):
    rows, bad = read_file(ESCAMPE, lines_in(tmp_path / FIRST, GOOD))
    assert not bad and not rows.decided[0] and not rows.proven[0]
    assert rows.columns["score"][0] == 0.25
    assert ESCAMPE.open_rules.key is not None and rows.states[0].hash != 0


def test_a_damaged_shard_is_refused(tmp_path, rows):
    path = tmp_path / "000000.safetensors"
    write_rows(path, rows)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="its contents are not what was saved"):
        read_file(ESCAMPE, path)


def test_a_bad_row_of_a_shard_is_named(tmp_path, rows):
    path = tmp_path / "000000.safetensors"
    write_rows(path, rows)
    stored = read_stored(path)
    stored.arrays["white_unicorn"][7] = 99
    write_tensors(path, stored.arrays, stored.about)
    with pytest.raises(DataError, match="safetensors, row 8: white_unicorn is not a cell"):
        read_data(ESCAMPE, [path])


def test_a_shard_of_another_game_or_of_something_else_is_refused(tmp_path, rows):
    path = tmp_path / "000000.safetensors"
    write_tensors(path, rows.columns, {"positions": "kibitz positions 1", "game": "chess"})
    with pytest.raises(DataError, match="positions of another game or version than escampe"):
        read_file(ESCAMPE, path)
    write_tensors(path, rows.columns, {})
    with pytest.raises(DataError, match="does not hold labelled positions"):
        read_file(ESCAMPE, path)


def test_games_of_two_data_sets_stay_apart(tmp_path):
    record = {**GOOD, "game_id": 3}
    paths = [lines_in(tmp_path / f"{k}.jsonl", record, {**record, "game_id": 0}) for k in (1, 2)]
    rows, _ = read_data(ESCAMPE, paths)
    assert rows.columns["game_id"].tolist() == [3, 0, 7, 4]


def test_a_game_without_columns_has_no_data_files(tmp_path):
    with pytest.raises(DataError, match="kuhn does not say how its positions are written"):
        read_file(load("kuhn"), lines_in(tmp_path / FIRST, GOOD))


# Splitting ---------------------------------------------------------------------------------------


def test_no_game_and_no_position_is_on_both_sides(rows):
    parts = split(rows, 0.1, seed=1)
    training, validation = rows[parts.training], rows[parts.validation]
    games = [set(part.columns["game_id"].tolist()) for part in (training, validation)]
    assert not games[0] & games[1]
    assert len(games[1]) == round(0.1 * len(games[0] | games[1]))
    positions = [set(part.positions().tolist()) for part in (training, validation)]
    assert not positions[0] & positions[1]
    assert len(training) + len(validation) + parts.dropped == len(rows)


def test_a_position_that_a_held_back_game_shares_is_dropped_from_training(rows):
    double = Rows.joined([rows, rows])
    double.columns["game_id"][len(rows) :] += 10_000  # the same positions in other games
    parts = split(double, 0.1, seed=1)
    training, validation = double[parts.training], double[parts.validation]
    assert not set(training.positions().tolist()) & set(validation.positions().tolist())
    assert parts.dropped > 0.05 * len(double)


def test_rows_without_a_game_are_split_one_by_one(rows):
    alone = rows[:]
    alone.columns["game_id"] = np.full(len(rows), -1, np.int64)
    assert len(split(alone, 0.1, seed=1).validation) == round(0.1 * len(rows))


def test_one_game_cannot_be_split(rows):
    one = rows[rows.columns["game_id"] == rows.columns["game_id"][0]]
    with pytest.raises(DataError, match="training needs two games or more"):
        split(one, 0.1, seed=1)


# Labels ------------------------------------------------------------------------------------------


def labelled(raw, result=2, score=0.5):
    raw = np.array(raw, np.float32)
    columns = {
        "raw_score": raw,
        "score": np.full(len(raw), score, np.float32),
        "result": np.full(len(raw), result, np.int8),
    }
    return Rows(ESCAMPE, columns)


def test_a_label_is_one_where_proven_and_tanh_elsewhere():
    found = Labelling().targets(labelled([99_997, -99_996, 300, -75]), 300.0)
    assert found.tolist() == pytest.approx([1.0, -1.0, np.tanh(1), np.tanh(-0.25)])


def test_a_legacy_label_is_a_hundred_thousandth_of_the_score():
    found = Labelling("legacy").targets(labelled([99_997, 300]), 300.0)
    assert found.tolist() == pytest.approx([0.99997, 0.003])


def test_a_row_without_a_search_keeps_its_score():
    assert Labelling().targets(labelled([np.nan, 0]), 300.0).tolist() == [0.5, 0.0]
    assert Labelling("given").targets(labelled([99_999, 0]), 300.0).tolist() == [0.5, 0.5]


def test_a_label_mixes_search_and_result_where_there_is_one():
    mixing = Labelling(search_share=0.75)
    assert mixing.targets(labelled([99_999, 0], result=-1), 300.0).tolist() == [0.5, -0.25]
    assert mixing.targets(labelled([99_999, 0]), 300.0).tolist() == [1.0, 0.0]


def test_the_scale_that_made_results_is_found_again():
    rng = np.random.default_rng(1)
    raw = rng.normal(0, 300, 20_000)
    won = rng.random(20_000) < (1 + np.tanh(raw / 400)) / 2
    assert best_scale(raw, np.tanh(raw / 400)) == pytest.approx(400, rel=1e-6)
    assert best_scale(raw, np.where(won, 1, -1)) == pytest.approx(400, rel=0.05)


def test_results_that_do_not_follow_the_scores_fit_no_scale():
    rows = labelled([100, -100, 200], result=-1)
    rows.columns["result"][1] = 1
    assert result_scale(rows) is None
    with pytest.raises(DataError, match="no scale can be fitted"):
        Labelling().fitted_scale(rows)
    assert Labelling(scale=750).fitted_scale(rows) == 750


def test_facts_of_a_data_set(rows):
    figures = facts(rows)
    assert figures["positions"] == len(rows)
    assert figures["games"] == len(set(rows.columns["game_id"].tolist()))
    assert figures["share_proven"] == pytest.approx(rows.proven.mean())
    assert 0.05 < figures["share_forced_pass"] < 0.4
