"""Yesterday's code never runs: what is compiled and kept on disk follows every edit.

numba looks only at the file of the function it compiles. A kernel over a game, or a rule that calls
a rule of another file, would keep their old machine code; `kibitz.compiled` says how we prevent it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kibitz

COIN = Path(__file__).parent / "games" / "coin.py"
HOUSE = Path(kibitz.__file__).parent

TELL = """
import os, sys
from kibitz.batch import Batch
from kibitz.games import load

def tell(name):
    batch = Batch(load(name), 40, seed=1, threads=1)
    batch.wander(4)
    batch.settle()
    print(batch.host().tobytes().hex(), abs(batch.scores()).sum())
"""
TELL_ONCE = TELL + "tell(sys.argv[1])"
TELL_EDIT_TELL = f"""{TELL}
from pathlib import Path
file, old, new = Path(sys.argv[1]), *sys.argv[2:]
tell(file)
before = file.stat()
file.write_text(file.read_text().replace(old, new))
os.utime(file, (before.st_atime, before.st_mtime))
tell(file)
"""


def run(script: str, *arguments: object, cache: Path, house: Path = HOUSE) -> tuple[list[str], str]:
    """What a fresh process prints, by line, and what it says about compiling."""
    env = {**os.environ, "KIBITZ_CACHE": str(cache)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # Python has a cache of its own, which may be old too
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=house.parent,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def edit(file: Path, old: str, new: str, seconds: float = 0.0) -> None:
    """Change a file so that its size does not tell, and its time only by so many seconds."""
    source, before = file.read_text(encoding="utf-8"), file.stat()
    assert source.count(old) == 1 and len(old) == len(new)
    file.write_text(source.replace(old, new), encoding="utf-8")
    os.utime(file, (before.st_atime, before.st_mtime + seconds))


def follows_an_edit(game: Path, edited: Path, old: str, new: str, cache: Path) -> None:
    """Cold and warm tell the same; an edit tells something else; undone, it is as it was."""
    first, _ = run(TELL_ONCE, game, cache=cache)
    again, said = run(TELL_ONCE, game, cache=cache)
    assert (again, said) == (first, ""), "the second process should find everything compiled"
    edit(edited, old, new)
    assert run(TELL_ONCE, game, cache=cache)[0] != first
    edit(edited, new, old)
    assert run(TELL_ONCE, game, cache=cache)[0] == first


def test_a_kernel_follows_an_edit_of_the_score(tmp_path: Path) -> None:
    game = Path(shutil.copy(COIN, tmp_path))
    follows_an_edit(game, game, "won = -int(s.stake[0])", "won = -int(s.stake[1])", tmp_path / "c")


def test_wandering_follows_an_edit_in_the_second_file_of_a_folder(tmp_path: Path) -> None:
    """`wander` calls `play` in rules.py, which calls `chips` in chips.py."""
    game = tmp_path / "coin"
    game.mkdir()
    rules = COIN.read_text(encoding="utf-8")
    for old, new in [
        ("\nNOTHING = -1\n", "\nfrom .chips import chips\n\nNOTHING = -1\n"),
        ("s.stake[seat] = action + 1", "s.stake[seat] = chips(action)"),
    ]:
        assert rules.count(old) == 1
        rules = rules.replace(old, new)
    (game / "rules.py").write_text(rules, encoding="utf-8")
    (game / "__init__.py").write_text("from .rules import GAME as GAME\n", encoding="utf-8")
    chips = "from kibitz.game import rule\n\n\n@rule\ndef chips(action):\n    return action + 1\n"
    (game / "chips.py").write_text(chips, encoding="utf-8")
    follows_an_edit(game, game / "chips.py", "action + 1", "action + 2", tmp_path / "c")


def test_an_edited_game_is_another_game_in_the_same_process(tmp_path: Path) -> None:
    game = Path(shutil.copy(COIN, tmp_path))
    for _ in range(2):  # the second time with all of it on disk
        (before, after), _ = run(TELL_EDIT_TELL, game, "action + 1", "action + 2", cache=tmp_path)
        assert before != after
        edit(game, "action + 2", "action + 1")


@pytest.mark.parametrize("kept", ["on disk", "nowhere"])
def test_a_game_of_the_package_is_followed_too(tmp_path: Path, kept: str) -> None:
    """Also where the cache cannot be written: numba would fall back to __pycache__ by itself."""
    house = tmp_path / "kibitz"
    shutil.copytree(HOUSE, house, ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    if kept == "nowhere":
        cache.write_text("a file where the folder should be")
    first, _ = run(TELL_ONCE, "kuhn", cache=cache, house=house)
    rules = house / "games" / "kuhn.py"
    edit(rules, "winner, chips = higher, 2", "winner, chips = higher, 1", seconds=2)
    second, _ = run(TELL_ONCE, "kuhn", cache=cache, house=house)
    assert first != second
