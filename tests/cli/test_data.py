"""Labelled positions on the command line."""

import json

import pytest
from commands import kibitz, run

SHALLOW = ("--depth", "1", "--positions", "300", "--seed", "4")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "first"
    shown = run("generate", "escampe", "--out", str(path), *SHALLOW)
    assert "300 new positions" in shown and "kibitz train escampe --data" in shown
    return path


def test_a_finished_data_set_has_nothing_new(data):
    shown = run("generate", "escampe", "--out", str(data), *SHALLOW, "--resume")
    assert "0 new positions" in shown


def test_a_check_says_what_the_positions_are_like(data):
    figures = json.loads(run("data", "check", "escampe", str(data), "--json"))
    assert (figures["positions"], figures["bad"]) == (300, 0)
    assert "share forced pass" in run("data", "check", "escampe", str(data))


def test_converted_positions_are_the_same(data, tmp_path):
    assert "300 positions" in run("data", "convert", "escampe", str(data), str(tmp_path / "shards"))
    assert [file.suffix for file in (tmp_path / "shards").iterdir()] == [".safetensors"]
    before, after = (
        run("data", "check", "escampe", str(path), "--json") for path in (data, tmp_path / "shards")
    )
    assert before == after


def test_a_check_of_bad_records_names_them_and_fails(data, tmp_path):
    path = tmp_path / "outside.jsonl"
    first, second, third = (data / "000000.jsonl").read_text().splitlines()[:3]
    path.write_text(f"{first}\n{second.replace('false', '5').replace('true', '5')}\n{third}\n[]\n")
    done = kibitz("data", "check", "escampe", str(path))
    assert done.returncode == 1
    assert "outside.jsonl, line 2: white_to_move is 5, not true or false" in done.stderr
    assert "outside.jsonl, line 4: a record is a JSON object" in done.stderr
    assert "a record of escampe has:" in done.stderr
    assert "white_unicorn   cell of White's unicorn, 0 to 35" in done.stderr
    assert "result          how the game ended for the side to move" in done.stderr
    skipped = kibitz("data", "check", "escampe", str(path), "--skip-bad", "--json")
    assert skipped.returncode == 0 and json.loads(skipped.stdout)["bad"] == 2
    assert not skipped.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("generate", "kuhn", "--out", "x", "--positions", "9"), "no recipe for generating"),
        (("generate", "escampe", "--out", "x", "--positions", "9", "--depth", "a"), "such as 5-7"),
        (("generate", "escampe", "--out", "x", "--positions", "9", "--depth", "7-5"), "they rise"),
        (("data", "check", "escampe", "nowhere"), "there is no nowhere"),
        (("train", "escampe", "--out", "x"), "give --data"),
        (("train", "kuhn", "--out", "x", "--data", "y"), "learns by search, from its own games"),
        (("train", "liars_dice", "--out", "x", "--data", "y"), "takes no data"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path, words, sentence):
    done = kibitz(*(str(tmp_path / word) if word == "x" else word for word in words))
    assert done.returncode == 2 and sentence in " ".join(done.stderr.split())
    assert not (tmp_path / "x").exists()
