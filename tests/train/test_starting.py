"""How a run starts: its seed, the command line, and what a run that cannot start leaves."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import test_liars_dice_training as dice
from test_resume import flip, trained
from test_train import TINY

from kibitz import cli
from kibitz.game import GameError
from kibitz.games import load
from kibitz.recipes import recipe
from kibitz.train.run import Run
from kibitz.train.seeds import LARGEST, derived

pytestmark = pytest.mark.usefixtures("one_thread")

# Seeds -------------------------------------------------------------------------------------------

SMALLEST = replace(dice.PUBLISHED, iterations=1, steps=2, gate_every=9)


def test_a_run_without_a_seed_draws_one_and_keeps_it(tmp_path):
    seeds = []
    for name in ("one", "two"):
        run = Run(SMALLEST, tmp_path / name)
        run.close()
        assert str(run.seed) in " ".join(run.remarks)
        again = Run(SMALLEST, tmp_path / name, resume=True)
        again.close()
        assert again.seed == run.seed
        seeds.append(run.seed)
    assert seeds[0] != seeds[1]


@pytest.mark.parametrize("seed", [2**62, LARGEST])
@pytest.mark.parametrize("name", ["PUBLISHED", "REMEMBERED", "BELIEFS", "RESPONSE", "search"])
def test_large_seeds_work_for_all_methods(name, seed, tmp_path):
    few = {"PUBLISHED": {"steps": 2}, "REMEMBERED": {"plays": 3, "steps": 3}}
    training = TINY if name == "search" else replace(getattr(dice, name), **few.get(name, {}))
    trained(tmp_path / "run", replace(training, iterations=1, gate_every=9), seed=seed)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_an_invalid_seed_is_refused(tmp_path, seed):
    with pytest.raises(GameError, match="a seed is a whole number from 0 to 18446744073709551615"):
        Run(SMALLEST, tmp_path / "run", seed=seed)
    assert not (tmp_path / "run").exists()


def test_derived_seeds_differ_by_seed_purpose_and_step():
    mixed = {derived(s, p, k) for s in (0, 1, LARGEST) for p in "ab" for k in range(100)}
    assert len(mixed) == 600 and max(mixed) < 2**63


# The command line --------------------------------------------------------------------------------


def complaint(capsys, monkeypatch, *words: str) -> str:
    """What `kibitz train` says when it ends with status 2."""
    monkeypatch.setattr(sys, "argv", ["kibitz", "train", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said and said.count("\n") <= 1, said
    return said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("dominion -o players=3", "is for 2 seats, but dominion with these options has 3"),
        ("dominion --recipe small -o players=4", "is for 2 seats, but dominion with these"),
        ("liars_dice --recipe fast", "has no recipe 'fast'"),
        ("liars_dice --minutes nan", "--minutes is 0 or more, not nan"),
        ("liars_dice --minutes inf", "--minutes is 0 or more, not inf"),
        ("liars_dice --minutes -1", "--minutes is 0 or more, not -1"),
        ("liars_dice --recipe demo --from {here}/text", "text"),
        ("liars_dice --recipe demo --from {here}/nowhere", "nowhere"),
        ("liars_dice --recipe demo --from {here}", "{here}"),
        ("liars_dice --recipe response --against nobody", "no player 'nobody'"),
        ("liars_dice --recipe demo --against random", "learns from itself"),
        ("liars_dice --seed -1", "a seed is a whole number"),
        ("liars_dice --seed 18446744073709551616", "a seed is a whole number"),
        ("liars_dice --recipe demo --refill", "give --resume as well"),
        ("liars_dice -o dice=9,9,9", "dice"),
    ],
)
def test_a_run_that_cannot_begin_says_why_and_leaves_nothing(
    words, sentence, tmp_path, capsys, monkeypatch
):
    (tmp_path / "text").write_text("not a network")
    folder = tmp_path / "runs/new"
    given = words.format(here=tmp_path).split()
    assert sentence.format(here=tmp_path) in complaint(
        capsys, monkeypatch, *given, "--out", str(folder)
    )
    assert [file.name for file in tmp_path.iterdir()] == ["text"]


def test_a_folder_with_other_things_is_left_as_it_was(tmp_path, capsys, monkeypatch):
    (tmp_path / "notes.txt").write_text("mine")
    words = ("liars_dice", "--recipe", "demo", "--from", str(tmp_path / "notes.txt"))
    complaint(capsys, monkeypatch, *words, "--out", str(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_an_out_that_is_a_file_or_cannot_be_written_gets_a_sentence(tmp_path, capsys, monkeypatch):
    words = ("liars_dice", "--recipe", "demo", "--out")
    (tmp_path / "file").write_text("mine")
    said = complaint(capsys, monkeypatch, *words, str(tmp_path / "file"))
    assert "is a file; a run needs a folder" in said
    said = complaint(capsys, monkeypatch, *words, str(tmp_path / "file/below"))
    assert "cannot hold a run" in said
    assert "cannot hold a run" in complaint(capsys, monkeypatch, *words, "/proc/nothing/here")


@pytest.mark.parametrize("content", [b"[]", b"\xff\xfe"])
def test_a_damaged_run_json_gets_a_sentence(tmp_path, capsys, monkeypatch, content):
    (tmp_path / "run.json").write_bytes(content)
    words = ("liars_dice", "--recipe", "demo", "--out", str(tmp_path))
    assert "give --resume" in complaint(capsys, monkeypatch, *words)
    assert "run.json is damaged" in complaint(capsys, monkeypatch, *words, "--resume")


def test_the_command_shows_the_seed_and_refills(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(
        sys.modules["kibitz.recipes.liars_dice"].RECIPES, "tiny", replace(SMALLEST, iterations=2)
    )
    words = ["kibitz", "train", "liars_dice", "--recipe", "tiny", "--out", str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        cli.main()
    assert "The seed of this run is" in capsys.readouterr().out
    flip(tmp_path / "run/checkpoints/000002.safetensors", 10)
    assert "--resume --refill" in complaint(capsys, monkeypatch, *words[2:], "--resume")
    monkeypatch.setattr(sys, "argv", [*words, "--resume", "--refill"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = " ".join(capsys.readouterr().out.split())
    assert not ended.value.code and "Skipped" in said and "iteration 2" in said


def test_every_recipe_has_a_network_that_fits():
    from kibitz.train.tree_search.loop import SearchTraining, fitting

    for name in ("beasty_bar", "dominion"):
        training = recipe(name)
        assert isinstance(training, SearchTraining)
        game = load(name, **training.options)
        net = training.network(game, 1)
        assert fitting(net, game) is net
