"""The card of a data set: what its columns mean, how it was generated, and how to read it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from card_texts import header_of, run_lines

from kibitz.games import load
from kibitz.recipes import generation
from kibitz.search.labelling import Schedule
from kibitz.train.labelled import generate as generating
from kibitz.train.labelled.card import dataset_card
from kibitz.train.labelled.facts import facts
from kibitz.train.labelled.files import read_file
from kibitz.train.labelled.generate import generate
from kibitz.train.labelled.rows import record_of

ESCAMPE = load("escampe")
SHALLOW = replace(generation("escampe"), schedule=Schedule(depths=(1, 2)))


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(generating, "GAMES_PER_CALL", 8)
    monkeypatch.setattr(generating, "CALLS_PER_FILE", 4)


@pytest.fixture(params=["jsonl", "shards"])
def data(request, tmp_path):
    generate(SHALLOW, tmp_path / "data", 500, seed=5, format=request.param)
    return tmp_path / "data"


def test_the_card_names_every_column_with_its_meaning(data):
    card = (data / "README.md").read_text()
    unknown = "null" if (data / "000000.jsonl").exists() else "2"
    for name, column in record_of(ESCAMPE).items():
        assert f"| `{name}` | " in card and f" | {column.meaning} | " in card
    assert "| `white_to_move` | bool | whether White is to move |  |" in card
    assert f"| `result` | int8 | {record_of(ESCAMPE)['result'].meaning} | {unknown} |" in card


def test_the_card_says_how_the_positions_were_generated_and_what_they_are_like(data):
    card, files = (data / "README.md").read_text(), sorted(data.glob("0*"))
    assert header_of(card) == {
        "license": "mit",
        "pretty_name": "escampe: 500 labelled positions",
        "task_categories": ["reinforcement-learning"],
        "tags": ["kibitz", "tabletop-games", "escampe"],
        "size_categories": ["n<1K"],
    }
    assert f"500 positions in {len(files)} files of " in card
    for row in ("judge | linear", "schedule depths | 1, 2", "seed | 5", "options placing | drawn"):
        assert f"| {row} |" in card
    figures = facts(read_file(ESCAMPE, files[0])[0])
    assert f"| share proven | {figures['share_proven']:.6g} |" in card
    assert f"| games | {figures['games']} |" in card


def test_the_lines_of_the_card_read_the_positions(data, monkeypatch, capsys):
    _, shown = run_lines((data / "README.md").read_text(), data, monkeypatch, capsys)
    assert shown.startswith("500 {")
    assert all(f"'{name}': " in shown for name in record_of(ESCAMPE))


def test_a_data_set_that_becomes_longer_has_the_card_of_a_long_one(data):
    about = json.loads((data / "data.json").read_text())
    (data / "README.md").write_text("of an earlier version")
    generate(SHALLOW, data, 600, seed=5, format=about["format"], resume=True)
    assert "# escampe: labelled positions\n\n600 positions in" in (data / "README.md").read_text()


def test_a_data_set_that_is_not_complete_has_no_card(data, monkeypatch):
    def killed(path, rows):
        raise KeyboardInterrupt

    about = json.loads((data / "data.json").read_text())
    monkeypatch.setattr(generating, "write_rows", killed)
    with pytest.raises(KeyboardInterrupt):
        generate(SHALLOW, data, 600, seed=5, format=about["format"], resume=True)
    assert not (data / "README.md").exists()


@pytest.mark.parametrize(
    ("positions", "size"),
    [(1, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (99_999, "10K<n<100K"), (10**6, "1M<n<10M")],
)
def test_the_size_of_a_data_set_is_that_of_hubs(positions, size):
    card = dataset_card(ESCAMPE, "jsonl", (1, positions), {"seed": 1}, {"games": 1})
    assert header_of(card)["size_categories"] == [size]
