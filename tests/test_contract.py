"""Every game in the package keeps every promise of the contract, also games not written yet."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path
from typing import Any

import pytest

from kibitz import games
from kibitz.contract import PROMISES, Trial, attempt, check, playthrough
from kibitz.game import GameError

# Option sets of a game beside its defaults. A game that is not here is tried under its defaults.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "liars_dice": [
        {"dice": (1, 2)},
        {"dice": (2, 2), "variant": "high"},
        {"dice": (2, 1), "variant": "normal", "sides": 4},
        {"dice": (2, 2), "variant": "stairs"},
        {"dice": (2, 2), "ones_biddable": False},
        {"dice": (1, 1), "opening_call": True},
    ],
    "beasty_bar": [
        {"players": 3},
        {"players": 4, "start": 3},
        {"empty_plays": "forbid", "scoring": "animals", "tie": "points"},
        {"early_stop": True, "recurring": "moving_index", "tie": "low_strength"},
    ],
    "dominion": [
        {"players": 3, "kingdom": "sleight_of_hand"},
        {"kingdom": "deck_top", "auto_single": False, "auto_treasures": False, "first": "0"},
        {"kingdom": "size_distortion", "auto_treasures": False, "auto_single_phase": False},
    ],
}
CASES = [(name, i) for name in games.names() for i in range(1 + len(OPTIONS.get(name, [])))]
PLAYTHROUGHS = Path(__file__).parent / "playthroughs"

# Promises that start another process which compiles or simulates: under the defaults only, and
# under every option set in the slow tests.
COSTLY = ("indices_stay_in_bounds", "rules_compile_once", "cuda_path_runs")
FEW, MANY = 20, 1500


@functools.cache
def trial(name: str, case: int, count: int = FEW, device: str = "cpu") -> Trial:
    options = [{}, *OPTIONS.get(name, [])][case]
    return Trial(name, games.load(name, **options), seed=1, games=count, device=device)


def told(case: Any) -> str:
    if isinstance(case, tuple):
        chosen = [{}, *OPTIONS.get(case[0], [])][case[1]]
        return " ".join([case[0], *(f"{n}={v}" for n, v in chosen.items())]).replace(", ", ",")
    return str(case.__name__)


def hold(promise: Any, tried: Trial) -> None:
    result = attempt(promise, tried)
    if result.message.startswith("not tried"):
        pytest.skip(result.message)
    assert result.passed, result.message


@pytest.mark.parametrize("promise", PROMISES, ids=told)
@pytest.mark.parametrize("case", CASES, ids=told)
def test_every_game_keeps_every_promise(case: tuple[str, int], promise: Any) -> None:
    if promise.__name__ == "gpu_equals_cpu":
        pytest.skip("tried by the gpu tests")
    if promise.__name__ in COSTLY and case[1] > 0:
        pytest.skip("tried by the slow tests")
    hold(promise, trial(*case))


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=told)
@pytest.mark.parametrize("case", CASES, ids=told)
def test_every_game_keeps_every_promise_at_length(case: tuple[str, int], promise: Any) -> None:
    hold(promise, trial(*case, MANY))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")  # of numba-cuda: what NumPy drops next, small grids
@pytest.mark.parametrize("case", CASES, ids=told)
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
