"""Every game in the package keeps every promise of the contract, also games not written yet."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path
from typing import Any

import pytest

from kibitz import games
from kibitz.contract import (
    PROMISES,
    Trial,
    attempt,
    check,
    option_sets,
    playthrough,
    shown_options,
)
from kibitz.game import GameError

# A game and its number of an option set. The slow tests try all of them; these leave out presets,
# numbers of seats between the fewest and the most, and of large games all but the first and last.
SETS = {name: option_sets(games.load(name)) for name in games.names()}
EVERY = [(name, number) for name in SETS for number in range(len(SETS[name]))]
PLAIN = {name: [n for n, s in enumerate(SETS[name]) if "preset" not in s] for name in SETS}
LARGE = {
    "dominion",
    "madn",
}  # which take a minute to compile for another shape or with bounds checks
SEATS = {name: max(s.get("players", 0) for s in SETS[name]) for name in SETS}
CASES = [
    (name, number)
    for name in SETS
    for number in (PLAIN[name][:: len(PLAIN[name]) - 1] if name in LARGE else PLAIN[name])
    if SETS[name][number].get("players", SEATS[name]) == SEATS[name]
]
PLAYTHROUGHS = Path(__file__).parent / "playthroughs"

# Promises that start another process which compiles or simulates: under the defaults only, and
# under every option set in the slow tests.
COSTLY = (
    "indices_stay_in_bounds",
    "rules_compile_once",
    "positions_are_lawful",
    "cuda_path_runs",
)
COMPILING = COSTLY[:2]  # of these: in large games in the slow tests only
FEW, MANY = 20, 1500


@functools.cache
def trial(name: str, number: int, count: int = FEW, device: str = "cpu") -> Trial:
    game = games.load(name, **SETS[name][number])
    return Trial(name, game, seed=1, games=count, device=device)


def shown(case: Any) -> str:
    if isinstance(case, tuple):
        name, number = case
        return f"{name} {shown_options(SETS[name][number])}".strip()
    return str(case.__name__)


def hold(promise: Any, tried: Trial) -> None:
    result = attempt(promise, tried)
    if result.message.startswith("not tried"):
        pytest.skip(result.message)
    assert result.passed, result.message


@pytest.mark.parametrize("promise", PROMISES, ids=shown)
@pytest.mark.parametrize("case", CASES, ids=shown)
def test_every_game_keeps_every_promise(case: tuple[str, int], promise: Any) -> None:
    if promise.__name__ == "gpu_equals_cpu":
        pytest.skip("tried by the gpu tests")
    if promise.__name__ in COSTLY and case[1] > 0:
        pytest.skip("tried by the slow tests")
    if promise.__name__ in COMPILING and case[0] in LARGE:
        pytest.skip("tried by the slow tests")
    hold(promise, trial(*case))


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=shown)
@pytest.mark.parametrize("case", EVERY, ids=shown)
def test_every_game_keeps_every_promise_at_length(case: tuple[str, int], promise: Any) -> None:
    hold(promise, trial(*case, MANY))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")  # of numba-cuda: what NumPy drops next, small grids
@pytest.mark.parametrize("case", CASES, ids=shown)
def test_the_gpu_gives_the_same_bytes(case: tuple[str, int]) -> None:
    gpu_equals_cpu = next(p for p in PROMISES if p.__name__ == "gpu_equals_cpu")
    hold(gpu_equals_cpu, trial(*case, device="cuda"))


@pytest.mark.parametrize("name", games.names())
def test_a_recorded_game_goes_as_it_went(name: str) -> None:
    """A rule, a view or a notation that changes shows up here as a diff."""
    now = playthrough(games.load(name)).splitlines()
    file = PLAYTHROUGHS / f"{name}.txt"
    assert file.exists(), f"record one game: {how_to_record(name)}"
    then = file.read_text(encoding="utf-8").splitlines()
    diff = "\n".join(difflib.unified_diff(then, now, file.name, "now", lineterm=""))
    assert not diff, f"{diff}\nif that is meant, record it anew: {how_to_record(name)}"


def how_to_record(name: str) -> str:
    return f"kibitz check {name} --write-playthrough tests/playthroughs/{name}.txt"


def test_results_come_with_the_name_of_a_promise_and_time() -> None:
    first, second = check("kuhn", only=["actions_ascend", "every_game_ends"], games=FEW)
    assert [first.promise, second.promise] == ["every_game_ends", "actions_ascend"]
    assert first.passed and second.passed and first.seconds > 0


def test_a_promise_nobody_made_is_refused() -> None:
    with pytest.raises(GameError, match="there is no promise 'fun'"):
        list(check("kuhn", only=["fun"]))


def test_every_promise_says_in_a_sentence_what_it_is() -> None:
    for promise in PROMISES:
        assert promise.__doc__ and promise.__doc__.splitlines()[0].endswith("."), promise.__name__
