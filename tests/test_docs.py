"""What the README and the docs say is run."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from blocks import python_blocks

import kibitz
from kibitz.arena.match import match
from kibitz.cli import app
from kibitz.contract import check
from kibitz.games import load, names, summary
from kibitz.nets import save_net
from kibitz.nets.latent import fitted_latent
from kibitz.nets.muzero import MuZeroConfig, MuZeroNet

ROOT = Path(__file__).parent.parent


def test_the_game_of_the_docs_keeps_every_promise(tmp_path):
    path = tmp_path / "second_throw.py"
    path.write_text("\n\n".join(python_blocks("docs/adding_a_game.md")))
    results = list(check(path, games=20))
    assert len(results) >= 15
    assert not [r for r in results if not r.passed]
    assert match(load(path), "cautious", "random", games=2000, seed=0).low > 0.5


def test_the_game_of_the_docs_shows_the_die_that_was_thrown(tmp_path):
    path = tmp_path / "second_throw.py"
    path.write_text("\n\n".join(python_blocks("docs/adding_a_game.md")))
    for seed in range(10):
        table = kibitz.table(load(path), seed=seed)
        for seat, thrown in enumerate(table.events[:2]):
            die = thrown.text.removeprefix("throws ")
            assert table.seen(seat).splitlines()[0] == f"your die: {die}"


def test_the_network_of_the_docs_learns_and_sits_down(tmp_path, capsys):
    path = tmp_path / "plain.py"
    path.write_text("\n\n".join(python_blocks("docs/adding_a_network.md")))
    text = kibitz.train(
        "kuhn",
        tmp_path / "run",
        recipe=str(path),
        change=lambda recipe: replace(recipe, iterations=2, games=16, gate_games=8, gate_every=2),
        seed=1,
    )
    assert match(load("kuhn"), f"{text},code={path}", "random", games=20, seed=1).games == 20
    assert "iteration 2" in capsys.readouterr().out


def test_the_code_of_the_readme_plays_a_hand(capsys):
    (code,) = python_blocks("README.md")
    exec(compile(code, "README.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("honest") and shown[-4].startswith("Your dice")
    assert 0.5 < float(shown[-1]) < 0.7


@pytest.mark.parametrize(
    "words",
    [
        "one_hand.py",
        "batch_of_games.py",
        "picture.py table.svg",
        "liars_dice_teacher.py 1,1 --contexts 100 --iterations 4 --games 40",
        "liars_dice_card.py champion --parts exploitability results --most 2 --card card.json",
    ],
)
def test_an_example_runs(words, tmp_path):
    example, *more = words.split()
    command = [sys.executable, str(ROOT / "examples" / example), *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() or (tmp_path / "table.svg").stat().st_size > 10_000


@pytest.mark.slow
def test_a_network_that_imagines_the_game_has_its_place_in_a_card(tmp_path, monkeypatch):
    game = load("madn", preset="dmadn_teams")
    saved, card = tmp_path / "net.safetensors", tmp_path / "card.json"
    net = MuZeroNet(MuZeroConfig(**fitted_latent(game), width=8))
    save_net(saved, net, {"game": game.describe()})
    card.write_text('{"results": [], "muzero": {"results": [{"player": "x", "against": "y"}]}}')
    words = ["card", "dmadn_teams", f"net:{saved}", "--games", "2", "--simulations", "2"]
    words += ["--against", "random", "--card", str(card)]
    for more in [], ["--part", "again", "--only", "network alone"]:
        monkeypatch.setattr(sys, "argv", [*words, *more])
        runpy.run_path(str(ROOT / "examples" / "madn_card.py"), run_name="__main__")
    found = json.loads(card.read_text())
    named = [row["player"] for row in found["muzero"]["results"]]
    assert named == ["x", "network alone", "in its own model, 2 simulations"]
    assert found["results"] == []
    assert [row["player"] for row in found["again"]["results"]] == ["network alone"]


def test_the_readme_lists_every_game_with_its_own_words():
    readme = (ROOT / "README.md").read_text()
    for name in names():
        assert f"| `{name}` | {summary(name)} |" in readme


def test_the_readme_names_every_command():
    readme = (ROOT / "README.md").read_text()
    for words in commands_of(typer.main.get_command(app)):
        assert f"kibitz {words}" in readme, words


def commands_of(command, words=""):
    """The commands of a group and of the groups in it: "play", "bench rules"."""
    for name, inner in getattr(command, "commands", {}).items():
        both = f"{words} {name}".strip()
        yield from commands_of(inner, both) if hasattr(inner, "commands") else [both]


def test_the_changelog_speaks_of_this_version():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == kibitz.__version__


def test_links_between_the_docs_lead_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_room_of_the_house_is_on_the_tour():
    tour = (ROOT / "docs" / "tour.md").read_text()
    for path in (ROOT / "kibitz").iterdir():
        if path.name.startswith(("_", ".")) or path.name == "py.typed":
            continue
        assert f"`{path.name}{'/' if path.is_dir() else ''}`" in tour, path.name
