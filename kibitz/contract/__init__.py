"""The contract: what every game promises, and how to hold it to that.

    for result in check("./my_game.py"):
        print(result.promise, "kept" if result.passed else result.message)

A promise is a function of a `Trial` that raises `Broken` where the game does not keep it. Its name
and its docstring are what users read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..batch import Batch
from ..game import GameError
from ..games import load
from .hidden import (
    dice_cannot_be_foretold,
    known_names_what_a_seat_knows,
    news_keeps_secrets,
    players_do_not_peek,
    redealing_changes_what_is_hidden,
    redealing_forgets_the_truth,
    redealing_is_fair,
    redealt_games_go_on,
    views_are_written_whole,
    views_keep_secrets,
)
from .machine import (
    batches_are_only_faster,
    cuda_path_runs,
    fingerprints_tell_options_apart,
    gpu_equals_cpu,
    indices_stay_in_bounds,
    interpreted_equals_compiled,
    positions_are_lawful,
    rules_compile_once,
)
from .playthrough import playthrough
from .rules import (
    action_texts_parse_back,
    actions_ascend,
    copies_are_independent,
    every_game_ends,
    labels_tell_actions_apart,
    looking_changes_nothing,
    odds_sum_to_one,
    partners_score_the_same,
    replay_is_exact,
    roll_follows_odds,
    scores_stay_in_bounds,
    start_forgets,
    texts_parse_back,
)
from .trial import Broken, NotTried, Trial

__all__ = ["PROMISES", "Broken", "NotTried", "Result", "Trial", "attempt", "check", "playthrough"]

Promise = Callable[[Trial], None]

# The interpreter and the bounds come first: they name the line where a rule writes outside an
# array, and machine code that does so may take this process with it.
PROMISES: tuple[Promise, ...] = (
    interpreted_equals_compiled,
    indices_stay_in_bounds,
    rules_compile_once,
    every_game_ends,
    odds_sum_to_one,
    roll_follows_odds,
    actions_ascend,
    labels_tell_actions_apart,
    texts_parse_back,
    action_texts_parse_back,
    scores_stay_in_bounds,
    partners_score_the_same,
    looking_changes_nothing,
    copies_are_independent,
    replay_is_exact,
    start_forgets,
    views_keep_secrets,
    news_keeps_secrets,
    views_are_written_whole,
    known_names_what_a_seat_knows,
    redealt_games_go_on,
    redealing_changes_what_is_hidden,
    redealing_is_fair,
    redealing_forgets_the_truth,
    players_do_not_peek,
    dice_cannot_be_foretold,
    positions_are_lawful,
    batches_are_only_faster,
    gpu_equals_cpu,
    cuda_path_runs,
    fingerprints_tell_options_apart,
)


@dataclass(frozen=True)
class Result:
    """How a game did on one promise."""

    promise: str
    passed: bool
    message: str
    """What was broken, where, and how to see it again; or why it was not tried."""
    seconds: float


def check(
    name: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
    games: int = 100,
    device: str = "cpu",
    only: Iterable[str] = (),
) -> Iterator[Result]:
    """Put a game, by name or by its file, to the test: a result for every promise, as they come.

    >>> [result.passed for result in check("kuhn", only=["odds_sum_to_one", "actions_ascend"])]
    [True, True]
    """
    by_name = {promise.__name__: promise for promise in PROMISES}
    for each in (only := list(only)):
        if each not in by_name:
            raise GameError(f"there is no promise {each!r}; there are: {', '.join(by_name)}")
    trial = Trial(name, load(name, **(options or {})), seed, games, device)
    Batch(trial.game, 1, device=device)  # refuses a device that is not there
    for promise in PROMISES:
        if not only or promise.__name__ in only:
            yield attempt(promise, trial)


def attempt(promise: Promise, trial: Trial) -> Result:
    """Try one promise. Whatever a rule raises breaks it."""
    began = time.perf_counter()
    passed, message = False, ""
    try:
        promise(trial)
        passed = True
    except NotTried as reason:
        passed, message = True, f"not tried: {reason}"
    except Broken as broken:
        message = f"{broken}\n{_again(promise, trial)}"
    except Exception as error:
        message = f"{type(error).__name__}: {str(error)[:2000]}\n{_again(promise, trial)}"
    return Result(promise.__name__, passed, message, time.perf_counter() - began)


def _again(promise: Promise, trial: Trial) -> str:
    asked = f"{str(trial.name)!r}, seed={trial.seed}, games={trial.games}"
    options = f", options={vars(trial.game.options)}" if vars(trial.game.options) else ""
    call = f"list(check({asked}{options}, only=[{promise.__name__!r}]))"
    return f"See it again: from kibitz.contract import check; {call}"
