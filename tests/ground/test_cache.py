"""The disk cache follows every edit, survives any damage, and removes only what is its own.

numba looks only at the file of the function it compiles. A kernel over a game, or a rule that calls
a rule of another file, would keep their old machine code; `kibitz.compiled` says how we prevent it.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numba
import pytest
from numba.core.caching import FunctionCache
from small_games import COIN

import kibitz
from kibitz import cache as disk
from kibitz.compiled import rule

HOUSE = Path(kibitz.__file__).parent

TELL = """
import os, sys
from kibitz.batch import Batch
from kibitz.games import load

def tell(name):
    batch = Batch(load(name), 40, seed=1, threads=1)
    batch.wander(4)
    batch.settle()
    print(batch.host().tobytes().hex(), batch.scores().tobytes().hex())
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


# A recompilation goes as far as an edit, and no further ------------------------------------------

FIRST_TURNS = """
import sys
from kibitz.games import load
for name in sys.argv[1:]:
    game = load(name)
    print(name, game.turn(game.fresh()))
"""
SHARE = "from kibitz.search.matching import share; print(share(1.0, 4.0, 3))"
IMPORT_EDIT_TELL = f"""{TELL}
from pathlib import Path
import kibitz.games.kuhn as rules
file, (old, new) = Path(rules.__file__), sys.argv[1:]
file.write_text(file.read_text().replace(old, new))
tell("kuhn")
"""


class Warm(NamedTuple):
    """A cache in which everything that the tests below need was compiled."""

    cache: Path
    kuhn: list[str]  # what TELL_ONCE prints


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Warm:
    cache = tmp_path_factory.mktemp("warm")
    run(FIRST_TURNS, "kuhn", "liars_dice", "beasty_bar", cache=cache)
    run(SHARE, cache=cache)
    return Warm(cache, run(TELL_ONCE, "kuhn", cache=cache)[0])


def copied(cache: Path, folder: Path) -> Path:
    """A copy of a cache that a test may change."""
    return Path(shutil.copytree(cache, folder / "cache"))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, to be edited. Code is shared by copies with equal sources."""
    copy = tmp_path_factory.mktemp("house") / "kibitz"
    shutil.copytree(HOUSE, copy, ignore=shutil.ignore_patterns("__pycache__", "champions"))
    return copy


USES: dict[str, tuple[str, ...]] = {
    "kuhn": (FIRST_TURNS, "kuhn"),
    "liars_dice": (FIRST_TURNS, "liars_dice"),
    "beasty_bar": (FIRST_TURNS, "beasty_bar"),
    "kernels over kuhn": (TELL_ONCE, "kuhn"),
    "search": (SHARE,),
}


@pytest.mark.parametrize(
    ("edited", "used", "compiles"),
    [
        ("games/kuhn.py", "kuhn", True),
        ("games/kuhn.py", "liars_dice", False),
        ("games/kuhn.py", "search", False),
        ("games/beasty_bar/cards.py", "beasty_bar", True),
        ("games/beasty_bar/text.py", "beasty_bar", False),
        ("search/tree.py", "kernels over kuhn", False),
        ("search/tree.py", "search", True),
        ("chance.py", "kuhn", True),
        ("chance.py", "liars_dice", True),
        ("chance.py", "search", True),
        ("cache.py", "kernels over kuhn", False),
    ],
)
def test_an_edit_compiles_anew_what_it_can_change_and_nothing_else(
    warm: Warm, house: Path, tmp_path: Path, edited: str, used: str, compiles: bool
) -> None:
    cache, source = copied(warm.cache, tmp_path), (house / edited).read_text(encoding="utf-8")
    (house / edited).write_text(source + "# edited\n", encoding="utf-8")
    try:
        _, messages = run(*USES[used], cache=cache, house=house)
    finally:
        (house / edited).write_text(source, encoding="utf-8")
    assert ("compiling" in messages) == compiles


def test_code_is_kept_under_the_sources_that_were_imported(tmp_path: Path) -> None:
    """Here the file is edited after the import, before anything is compiled."""
    house = tmp_path / "kibitz"
    shutil.copytree(HOUSE, house, ignore=shutil.ignore_patterns("__pycache__", "champions"))
    change = ("winner, chips = higher, 2", "winner, chips = higher, 1")
    before, _ = run(IMPORT_EDIT_TELL, *change, cache=tmp_path / "c", house=house)
    shutil.rmtree(house / "games" / "__pycache__", ignore_errors=True)
    after, _ = run(TELL_ONCE, "kuhn", cache=tmp_path / "c", house=house)
    assert before != after


def test_a_rule_without_a_file_is_not_kept(tmp_path: Path) -> None:
    """Nobody could say whether it is still the same rule."""
    script = """
import kibitz.chance
from kibitz.compiled import rule

def typed_in(x):
    return x + 1

print(rule(typed_in)(1), kibitz.chance.mix(1, 2) != 0)
"""
    assert run(script, cache=tmp_path)[0] == ["2 True"]
    names = [file.name for file in tmp_path.rglob("*")]
    assert not [name for name in names if "typed_in" in name]
    assert [name for name in names if name.startswith("mix")]


def test_a_rule_that_is_written_by_a_program_is_not_kept() -> None:
    """Two texts can differ in a number alone, which numba does not look at."""
    sums = []
    for number in (1, 2):
        scope: dict[str, Any] = {"__name__": __name__}
        exec(f"def written(x):\n    return x + {number}\n", scope)
        sums.append(rule(scope["written"])(10))
    assert sums == [11, 12]


# Damage costs time and nothing else --------------------------------------------------------------


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for position in (0, 40, len(content) // 2, -1):
        content[position] ^= 1
    file.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut in half": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "emptied": lambda file: file.write_bytes(b""),
    "flipped": flip,
    "replaced by garbage": lambda file: file.write_bytes(b"garbage" * 1000),
    "replaced by garbage with a checksum": lambda file: disk.write_entry(file, b"garbage"),
    "deleted": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_compiled_anew_and_kept(warm: Warm, tmp_path: Path, damage: str) -> None:
    cache = copied(warm.cache, tmp_path)
    for name in ("settle_all", "turn"):  # a kernel, and a rule that is compiled into it
        (entry,) = cache.glob(f"*/kuhn-*/{name}-*")
        DAMAGE[damage](entry)
    mended, messages = run(TELL_ONCE, "kuhn", cache=cache)
    assert mended == warm.kuhn and "compiling" in messages
    assert run(TELL_ONCE, "kuhn", cache=cache) == (warm.kuhn, "")


def test_code_under_the_name_of_other_code_is_not_run(warm: Warm, tmp_path: Path) -> None:
    cache = copied(warm.cache, tmp_path)
    (wander,) = cache.glob("*/kuhn-*/wander_all-*")
    (settle,) = cache.glob("*/kuhn-*/settle_all-*")
    shutil.copy(wander, settle)
    assert run(TELL_ONCE, "kuhn", cache=cache)[0] == warm.kuhn


def test_a_flip_of_any_bit_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "entry"
    disk.write_entry(file, b"code")
    sound = file.read_bytes()
    assert disk.read_entry(file) == b"code"
    for position in range(len(sound) * 8):
        content = bytearray(sound)
        content[position // 8] ^= 1 << position % 8
        file.write_bytes(content)
        assert disk.read_entry(file) is None and not file.exists()


BELOW = "from kibitz.chance import below, stream; print(below(stream(1, 'table'), 1000))"


@pytest.mark.parametrize("room", [0, 4096])
def test_without_room_nothing_is_kept_and_everything_works(
    warm: Warm, tmp_path: Path, room: int
) -> None:
    """Room for no file at all, and room for markers but not for code."""
    pytest.importorskip("resource")
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
    assert run(limit + BELOW, cache=tmp_path)[0] == run(BELOW, cache=warm.cache)[0]
    files = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    assert files == ({disk.MARKER} if room else set())


def test_a_disk_that_fills_up_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fills_up(self: Path, content: bytes) -> None:
        with self.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fills_up)
    disk.write_entry(tmp_path / "entry", b"code")
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written_can_still_be_read(
    warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(disk, "_root", lambda: warm.cache / disk.ROOT_NAME)
    (folder,) = (warm.cache / disk.ROOT_NAME).glob("search-*")
    assert disk.shelf.__wrapped__(folder.name) == folder


# The folder is private ---------------------------------------------------------------------------


def test_a_new_cache_is_private_and_marked(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        root = disk.open_root(tmp_path / "not" / "yet" / "there")
    finally:
        os.umask(before)
    assert root is not None and [file.name for file in root.iterdir()] == [disk.MARKER]
    assert os.name != "posix" or stat.S_IMODE(root.stat().st_mode) == 0o700
    assert [folder.name for folder in root.parent.iterdir()] == [disk.ROOT_NAME]


@pytest.mark.skipif(os.name != "posix", reason="other permissions")
def test_code_that_others_can_write_is_not_run(warm: Warm, tmp_path: Path) -> None:
    cache = copied(warm.cache, tmp_path)
    root = cache / disk.ROOT_NAME
    root.chmod(0o777)
    before = {file: file.stat().st_mtime_ns for file in root.rglob("*")}
    numbers, messages = run(BELOW, cache=cache)
    assert numbers == run(BELOW, cache=warm.cache)[0]
    refusals = [line for line in messages.splitlines() if "not kept" in line]
    assert len(refusals) == 1 and f"{root} can be written to by other users" in refusals[0]
    assert "compiling" in messages
    assert before == {file: file.stat().st_mtime_ns for file in root.rglob("*")}


@pytest.mark.skipif(os.name != "posix", reason="other permissions")
def test_a_cache_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert disk.open_root(tmp_path)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert disk.open_root(tmp_path) is None
    assert "belongs to another user" in capsys.readouterr().err


def test_a_folder_without_our_marker_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / disk.ROOT_NAME).mkdir(mode=0o700)
    assert disk.open_root(tmp_path) is None
    assert "was not created by kibitz" in capsys.readouterr().err
    assert not list((tmp_path / disk.ROOT_NAME).iterdir())


def test_a_link_is_no_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = disk.open_root(tmp_path / "real")
    assert root is not None
    (tmp_path / disk.ROOT_NAME).symlink_to(root)
    assert disk.open_root(tmp_path) is None
    assert "is not a folder" in capsys.readouterr().err


def test_a_relative_folder_is_meant_from_where_the_cache_was_imported(tmp_path: Path) -> None:
    cache = Path(os.path.relpath(tmp_path / "new" / "cache", HOUSE.parent))
    run("import os, kibitz.cache; os.chdir('/')\n" + BELOW, cache=cache)
    assert list((tmp_path / "new" / "cache" / disk.ROOT_NAME).glob("ground-*/below-*"))


# Pruning removes only its own --------------------------------------------------------------------


def shelf(root: Path, name: str, days: float, size: int = 1) -> Path:
    """A marked folder with one entry, last used so many days ago."""
    folder = root / name
    disk._create_marked(folder)
    (folder / "entry").write_bytes(b"x" * size)
    return aged(folder, days)


def aged(folder: Path, days: float) -> Path:
    then = time.time() - days * 24 * 3600
    os.utime(folder, (then, then))
    return folder


def test_folders_of_others_survive(tmp_path: Path) -> None:
    for k in range(10):
        (tmp_path / f"foreign{k}").mkdir()
        (tmp_path / f"foreign{k}" / "file").write_text("dear to somebody")
        aged(tmp_path / f"foreign{k}", 400 + k)
    run(BELOW, cache=tmp_path)
    assert len(list(tmp_path.glob("foreign*/file"))) == 10


def test_what_is_unused_for_a_month_goes_when_something_is_added(tmp_path: Path) -> None:
    root = disk.open_root(tmp_path)
    assert root is not None
    old, young = shelf(root, "old", days=31), shelf(root, "young", days=29)
    run(BELOW, cache=tmp_path)
    assert not old.exists() and young.exists()


def test_an_old_folder_without_the_marker_stays(tmp_path: Path) -> None:
    folder = shelf(tmp_path, "kuhn-0123456789ab", days=0)
    (folder / disk.MARKER).write_bytes(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    aged(folder, 400)
    disk.prune(tmp_path, in_use=[])
    assert (folder / "entry").exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither a link among the shelves nor one inside a shelf that goes."""
    root, precious = tmp_path / "root", tmp_path / "precious"
    root.mkdir()
    precious.mkdir()
    (precious / "file").write_text("dear to somebody")
    target = shelf(tmp_path, "target", days=400)
    (root / "link").symlink_to(target)
    old = shelf(root, "old", days=0)
    (old / "link").symlink_to(precious)
    aged(old, 400)
    disk.prune(root, in_use=[])
    assert not old.exists() and (precious / "file").exists() and (target / "entry").exists()


def test_a_cache_that_is_too_large_loses_the_least_recently_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MOST_BYTES", 40_000)
    monkeypatch.setattr(disk, "PRUNED_BYTES", 25_000)
    shelves = [shelf(tmp_path, f"s{days}", days, size=10_000) for days in (3, 2, 1, 0)]
    disk.prune(tmp_path, in_use=shelves[:1])
    assert [folder.exists() for folder in shelves] == [True, False, False, True]


def test_a_cache_that_is_not_too_large_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MOST_BYTES", 50_000)
    monkeypatch.setattr(disk, "PRUNED_BYTES", 25_000)
    shelves = [shelf(tmp_path, f"s{days}", days, size=10_000) for days in (3, 2, 1, 0)]
    disk.prune(tmp_path, in_use=[])
    assert all(folder.exists() for folder in shelves)


def test_several_can_prune_at_once(tmp_path: Path) -> None:
    for k in range(60):
        shelf(tmp_path, f"old{k}", days=31)
    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(disk.prune, tmp_path, []) for _ in range(8)]:
            done.result()
    assert not list(tmp_path.iterdir())


# numba's side ------------------------------------------------------------------------------------


def test_numba_has_the_names_that_the_cache_relies_on() -> None:
    """They are semi-private. Without them everything would be compiled in every process."""
    overridden = {"load_overload", "save_overload", "flush", "cache_path", "enable", "disable"}
    assert overridden | {"_index_key"} <= set(dir(FunctionCache))
    assert type(numba.njit(lambda: 1)._cache).__name__ == "NullCache"


# CUDA kernels -----------------------------------------------------------------------------------

KERNELS = """
import sys
from types import SimpleNamespace
from numba import from_dtype, types
from numba.cuda.dispatcher import _Kernel
from kibitz import devices
from kibitz.batch import turns_all
from kibitz.games import load
_Kernel._rebuild = lambda **reduced: reduced
wanted, *names = sys.argv[1:]
codegen = SimpleNamespace(magic_tuple=lambda: ((12, 8), (9, 0)))
context = SimpleNamespace(refresh=lambda: None, codegen=lambda: codegen)
kept = devices._launcher(turns_all, (None, None))._cache
for name in names:
    states = types.Array(from_dtype(load(name).state), 1, "C")
    signature = (types.int64, states, types.Array(types.int64, 1, "C"))
    print(kept.load_overload(signature, context))
    compiled = SimpleNamespace(codegen=codegen, _reduce_states=lambda: {"name": wanted})
    kept.save_overload(signature, compiled)
"""


def test_a_cuda_kernel_is_found_by_the_next_process_until_its_game_is_edited(
    house: Path, tmp_path: Path
) -> None:
    """Without a GPU there is no machine code: what stands for it is kept and found the same way."""

    def found(code: str) -> list[str]:
        return run(KERNELS, code, "kuhn", "liars_dice", cache=tmp_path, house=house)[0]

    assert found("first") == ["None", "None"]
    assert found("second") == ["{'name': 'first'}", "{'name': 'first'}"]
    rules = house / "games" / "kuhn.py"
    source = rules.read_text()
    rules.write_text(source + "\nEDITED = True\n")
    try:
        assert found("third") == ["None", "{'name': 'second'}"]
    finally:
        rules.write_text(source)
