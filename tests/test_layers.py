"""The house: imports point downstairs, and nothing waits for what it does not need."""

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path

import house
import pytest

import kibitz
from kibitz import games
from kibitz.compiled import GROUND, NOT_COMPILED, ROOMS

HOUSE = Path(kibitz.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))

FLOOR = {
    "cache": 0,
    "compiled": 0,
    "notation": 0,
    "open_rules": 0,
    "options": 0,
    "dispatch": 0,
    "records": 0,
    "game": 0,
    "chance": 0,
    "batch": 0,
    "devices": 0,
    "games": 1,
    "nets": 1,
    "search": 1,
    "bidding": 2,
    "portable": 2,
    "progress": 2,
    "players": 3,
    "arena": 4,
    "contract": 4,
    "train": 5,
    "recipes": 6,
    "bench": 7,
    "terminal": 6,
    "adapters": 7,
    "web": 7,
    "training": 7,
    "cli": 8,
    "__init__": 8,
    "__main__": 9,
}

COMPILING = {room for room, floor in FLOOR.items() if floor == 0} | {"games", "search"}
FROM_OUTSIDE = {room: {"numpy", "numba"} for room in COMPILING}
FROM_OUTSIDE["nets"] = {"numpy", "torch", "safetensors"}
FROM_OUTSIDE["portable"] = {"numpy"}

# Triton's kernels are of one network's or solver's own matrices, and no rules.
FUSED = ("fused.py", "fused_cards.py", "fused_contexts.py")
BY_HAND = {**{file: {"triton"} for file in FUSED}, "tiles.py": {"llvmlite"}}  # machine code

UNCOMPILED = {"devices", "notation", "open_rules", "options", "records"}  # ground without rules

each_file = pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(HOUSE)) for path in FILES]
)


def room_of(path):
    """`kibitz.train(...)` is called at the front door, but a room has that name: so it is there."""
    at = path.relative_to(HOUSE).parts
    return "__init__" if at == ("train", "__init__.py") else at[0].removesuffix(".py")


def modules_used_by(path):
    """Full names of what a file imports, anywhere in it: `kibitz.game.Game`, `numpy`."""
    package = ["kibitz", *path.relative_to(HOUSE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = [*above, *([node.module] if node.module else [])]
            yield from (".".join([*origin, name.name]) for name in node.names)


def rooms_used_by(path):
    """`import kibitz` and `from kibitz import load` go through the front door, `__init__`."""
    rooms = {room_of(file) for file in FILES}
    for name in modules_used_by(path):
        top, *rest = name.split(".")
        if top == "kibitz" and rest[:1] != ["__version__"]:
            yield rest[0] if rest and rest[0] in rooms else "__init__"


def run_python(source):
    return subprocess.run(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()


@each_file
def test_imports_point_downstairs(path):
    room = room_of(path)
    assert room in FLOOR, f"{room} is a new room: which floor is it on?"
    for other in set(rooms_used_by(path)) - {room}:
        downstairs = FLOOR[other] < FLOOR[room] or FLOOR[other] == FLOOR[room] == 0
        assert downstairs, f"{path.name}: {room} may not import {other}"


@each_file
def test_rules_nets_and_searches_need_little_from_outside(path):
    if room_of(path) in FROM_OUTSIDE:
        tops = {name.partition(".")[0] for name in modules_used_by(path)} - {"kibitz"}
        allowed = FROM_OUTSIDE[room_of(path)] | BY_HAND.get(path.name, set())
        assert tops - set(sys.stdlib_module_names) <= allowed
    else:
        assert FLOOR[room_of(path)] >= 2


def test_solving_games_of_bids_exactly_needs_no_torch():
    for path in (HOUSE / "bidding" / "exact").glob("*.py"):
        modules = set(modules_used_by(path))
        assert not {"torch", "safetensors"} & {name.partition(".")[0] for name in modules}
        own = {name for name in modules if name.startswith("kibitz.bidding.")}
        assert all(name.startswith("kibitz.bidding.exact.") for name in own), path


def test_portable_runtimes_use_no_other_room_so_that_their_folder_can_be_copied():
    for path in (HOUSE / "portable").glob("*.py"):
        assert set(rooms_used_by(path)) <= {"portable"}, path


def test_compiled_inference_needs_no_torch():
    loaded = run_python("import sys, kibitz.search.dual_view; print(*sys.modules)")
    assert "kibitz.search.tiles" in loaded
    assert "torch" not in loaded


@pytest.mark.parametrize(
    ("module", "not_loaded"),
    [("banddper", {"numpy", "numba", "torch"}), ("banddper_numpy", {"numba", "torch"})],
)
def test_a_portable_runtime_loads_no_tensor_framework(module, not_loaded):
    loaded = run_python(f"import sys, kibitz.portable.{module}; print(*sys.modules)")
    assert f"kibitz.portable.{module}" in loaded
    assert not not_loaded & set(loaded)


@each_file
def test_compiled_code_lives_where_the_cache_looks_for_changes(path):
    """The disk cache is keyed by the sources of these rooms alone."""
    if not decorators_of(path) & {"rule", "kernel"}:
        return
    inside = path.relative_to(HOUSE).as_posix()
    room = next((r for r in [*GROUND, *ROOMS] if f"{inside}/".startswith(f"{r}/")), inside)
    assert path.name not in NOT_COMPILED, f"{path.name} of a game is not watched"
    assert room in {*GROUND, *ROOMS}, f"{path.name} compiles but is not watched"
    rooms = {r.partition("/")[0] for r in ROOMS.get(room, ())}
    watched = {file.removesuffix(".py") for file in GROUND} | rooms | {room_of(path)}
    assert set(rooms_used_by(path)) - UNCOMPILED <= watched


@each_file
def test_rule_and_kernel_are_the_only_ways_to_compile(path):
    ways = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "jit_module"}
    used = {name.rpartition(".")[2] for name in modules_used_by(path)} & ways
    used |= decorators_of(path) & ways
    allowed = {"compiled.py": {"njit"}, **{file: {"jit"} for file in FUSED}}
    assert used <= allowed.get(path.name, set())


def decorators_of(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for decorator in getattr(node, "decorator_list", ()):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            found.add(
                called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            )
    return found


def test_functions_are_short_and_take_few_arguments():
    """The longest declares a record. Parameters of kernels are arrays, and not counted."""
    functions = list(house.functions(HOUSE))
    longest = [function.name for function in functions if function.lines > 50]
    assert longest == ["games/dominion/zones.py:state"]
    assert max(function.parameters for function in functions if not function.is_kernel) <= 8


def test_no_file_is_a_drawer_for_anything():
    drawers = {"utils", "util", "common", "base", "helpers", "misc"}
    assert not [path for path in FILES if drawers & {path.stem, path.parent.name}]


def test_the_rooms_that_are_compiled_are_there():
    assert {"compiled.py", "dispatch.py", "game.py", "chance.py", "batch.py"} == set(GROUND)
    assert all((HOUSE / room).exists() for room in [*GROUND, *ROOMS])


def test_rules_take_nothing_from_texts_and_drawings():
    """An edit of those does not recompile the game, so only its `__init__` may import them."""
    texts = {Path(name).stem for name in NOT_COMPILED}
    for path in (HOUSE / "games").glob("*/*.py"):
        if path.name not in {"__init__.py", *NOT_COMPILED}:
            game = f"kibitz.games.{path.parent.name}."
            modules = {name.removeprefix(game).partition(".")[0] for name in modules_used_by(path)}
            assert not modules & texts, path


def test_importing_every_game_loads_neither_torch_nor_typer():
    loaded = run_python(
        "import sys; from kibitz import games; all_of = [games.load(n) for n in games.names()];"
        "print(len(all_of), *sys.modules)"
    )
    assert int(loaded[0]) == len(games.names()) > 0
    assert "numba" in loaded
    assert not {"torch", "typer", "rich", "onnx"} & set(loaded)


@pytest.mark.parametrize(
    "source",
    [
        "import kibitz",
        "import kibitz.games; kibitz.games.names()",
        "from kibitz import games; [games.summary(n) for n in games.names()]",
    ],
)
def test_looking_at_the_list_of_games_loads_not_even_numba(source):
    loaded = run_python(f"import sys; {source}; print(*sys.modules)")
    assert "kibitz" in loaded
    assert not {"numba", "numpy", "torch", "typer"} & set(loaded)


def test_a_batch_needs_no_torch_and_no_cuda():
    loaded = run_python("import sys, kibitz; kibitz.Batch; print(*sys.modules)")
    assert "kibitz.batch" in loaded
    assert not {"torch", "numba.cuda", "numba_cuda"} & set(loaded)


def test_the_front_door_gives_the_same_thing_every_time():
    """A function named like the module it comes from is hidden by that module once it is loaded."""
    twice = "name, type(getattr(kibitz, name)).__name__, type(getattr(kibitz, name)).__name__"
    printed = run_python(f"import kibitz\nfor name in kibitz.__all__: print({twice})")
    names, first, second = printed[0::3], printed[1::3], printed[2::3]
    assert names == kibitz.__all__
    assert "module" not in first
    assert dict(zip(names, second, strict=True)) == dict(zip(names, first, strict=True))


def test_what_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match=r"kibitz.*has no attribute 'nothing'"):
        kibitz.nothing  # noqa: B018
    assert set(kibitz.__all__) <= set(dir(kibitz))


ORDINARY = {"first", "layout", "start"}  # options of a game, and words of the contract as well


def options_of_one_game():
    """The names of options that exactly one game has."""
    every = [
        field.name
        for name in games.names()
        for field in dataclasses.fields(games.load(name).options)
    ]
    return {name for name in every if every.count(name) == 1} - ORDINARY


def words_of(path):
    """The strings and keywords in a file, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    strings = {
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value not in strings:
            yield node.value
        elif isinstance(node, ast.keyword):
            yield node.arg


@each_file
def test_an_option_that_one_game_has_is_named_only_where_that_game_is_meant(path):
    room = path.relative_to(HOUSE).as_posix()
    if room.startswith(
        ("games/", "recipes/", "champions/", "bidding/", "train/bidding/", "adapters/")
    ):
        return
    assert not options_of_one_game() & set(words_of(path))
