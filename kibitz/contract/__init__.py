"""The contract: what every game promises, and how to hold it to that.

    for result in check("./my_game.py"):
        print(result.promise, "kept" if result.passed else result.message)

A promise is a function of a `Trial` that raises `Broken` where the game does not keep it. Its name
and its docstring are what users read.

First comes a rehearsal: promises are tried in the interpreter, from cheap to dear. It takes
seconds, names the line of the game's file where a rule fails, and finds most mistakes before
anything is compiled. Only a game that passes it under all of its options is tried at length.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..devices import device_named
from ..game import GameError
from ..games import load
from .cases import OptionSet, option_sets, shown_options
from .hidden import (
    dice_cannot_be_foretold,
    known_names_what_a_seat_knows,
    laid_open_hides_nothing,
    news_keeps_secrets,
    onlookers_see_no_secrets,
    players_do_not_peek,
    redealing_changes_what_is_hidden,
    redealing_forgets_the_truth,
    redealing_is_fair,
    redealt_games_go_on,
    views_are_written_whole,
    views_keep_secrets,
)
from .history import known_does_not_repeat, redealing_contradicts_nothing
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
from .open_games import decisive_actions_win, judges_keep_their_word, keys_name_positions
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
    rules_run_and_return,
    scores_stay_in_bounds,
    start_sets_every_field,
    texts_parse_back,
)
from .sources import explained, rules_could_run_on_a_gpu
from .trial import NOTE, Broken, NotTried, Trial, trial_of
from .watch import Message, Progress, Stopped, ask, quiet

__all__ = [
    "PROMISES",
    "Broken",
    "NotTried",
    "Result",
    "Trial",
    "attempt",
    "check",
    "option_sets",
    "playthrough",
    "shown_options",
]

Promise = Callable[[Trial], None]

# Tried in the interpreter first, from cheap to dear.
REHEARSED: tuple[Promise, ...] = (
    rules_could_run_on_a_gpu,
    start_sets_every_field,
    rules_run_and_return,
    every_game_ends,
    actions_ascend,
    odds_sum_to_one,
    scores_stay_in_bounds,
    partners_score_the_same,
    action_texts_parse_back,
    texts_parse_back,
    looking_changes_nothing,
    replay_is_exact,
    views_are_written_whole,
    views_keep_secrets,
    labels_tell_actions_apart,
    news_keeps_secrets,
    onlookers_see_no_secrets,
    known_names_what_a_seat_knows,
    known_does_not_repeat,
    redealing_changes_what_is_hidden,
    redealing_contradicts_nothing,
    redealt_games_go_on,
    laid_open_hides_nothing,
    players_do_not_peek,
    decisive_actions_win,
    keys_name_positions,
    judges_keep_their_word,
)

# Then compiled, where what compiles the game anew comes last.
PROMISES: tuple[Promise, ...] = (
    interpreted_equals_compiled,
    *REHEARSED,
    roll_follows_odds,
    copies_are_independent,
    redealing_is_fair,
    redealing_forgets_the_truth,
    dice_cannot_be_foretold,
    batches_are_only_faster,
    indices_stay_in_bounds,
    rules_compile_once,
    positions_are_lawful,
    gpu_equals_cpu,
    cuda_path_runs,
    fingerprints_tell_options_apart,
)

# Nothing else is tried where one of these is broken.
FIRST_OF_ALL = (start_sets_every_field, rules_run_and_return, every_game_ends)
# A leak breaks these, too: their failures would say nothing new.
AFTER_SECRETS = (known_names_what_a_seat_knows, redealing_contradicts_nothing, players_do_not_peek)
SECRETS = (views_keep_secrets, news_keeps_secrets)
# Other processes compile the game anew for these: not before it keeps the rest.
AT_LAST = (indices_stay_in_bounds, rules_compile_once, positions_are_lawful, cuda_path_runs)

SEED, GAMES, QUICK_GAMES = 1, 100, 20
REHEARSAL_SECONDS = 5.0  # for one option set, after which the rest is left to compiled code


@dataclass(frozen=True)
class Result:
    """How a game did on one promise."""

    promise: str
    passed: bool
    message: str
    """What was broken, where, and how to see it again; or why it was not tried."""
    seconds: float
    options: str = ""
    """Under which options, as they are typed; empty for the defaults."""


def check(
    name: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = SEED,
    games: int = GAMES,
    device: str = "cpu",
    only: Iterable[str] = (),
    progress: Progress = quiet,
) -> Iterator[Result]:
    """Put a game, by name or by its file, to the test: a result for every promise, as they come.

    It stops where a promise is broken after which the next ones would tell nothing new. Rules are
    asked in another process, so one that never returns is a broken promise, too.

    options: one option set; without, the defaults, the presets and all that the game declares.
    progress: called with what is being done, several times per second.

    >>> [result.passed for result in check("kuhn", only=["odds_sum_to_one", "actions_ascend"])]
    [True, True]
    """
    named = [promise.__name__ for promise in PROMISES]
    for asked in (only := list(only)):
        if asked not in named:
            raise GameError(f"there is no promise {asked!r}; there are: {', '.join(named)}")
    wanted = [promise for promise in named if not only or promise in only]
    device_named(device)  # refuses one that is not there
    request = {
        "question": "promises",
        "name": str(name),
        "seed": seed,
        "games": games,
        "device": device,
        "options": None if options is None else dict(options),
        "promises": wanted,
    }
    broken = False
    if any(promise.__name__ in wanted for promise in REHEARSED):
        for result in _results({**request, "rehearsal": True}, progress, NUMBA_DISABLE_JIT="1"):
            if not result.passed:
                broken = True
                yield result
    if not broken:
        yield from _results({**request, "rehearsal": False}, progress)


def _results(request: Message, progress: Progress, **switches: str) -> Iterator[Result]:
    """What the other process finds; if it does not return, what it was trying is broken."""
    trying = {"promise": "rules_run_and_return", "options": ""}
    began = time.perf_counter()

    def with_promise(doing: str) -> None:
        under = f" ({trying['options']})" if trying["options"] else ""
        progress(f"{trying['promise']}{under}: {doing}")

    try:
        for message in ask(request, with_promise, **switches):
            if "result" in message:
                yield Result(**message["result"])
            else:
                trying, began = message["trying"], time.perf_counter()
                with_promise("working")
    except Stopped as stopped:
        text = f"{stopped}\n{_again(trying['promise'], request, trying['options'])}"
        yield Result(passed=False, message=text, seconds=time.perf_counter() - began, **trying)


def _again(promise: str, request: Message, options: str) -> str:
    """The command that shows a broken promise once more."""
    words = ["kibitz", "check", request["name"], "--only", promise]
    words += [word for option in shlex.split(options) for word in ("-o", option)]
    words += ["--seed", str(request["seed"])] if request["seed"] != SEED else []
    words += ["--quick"] if request["games"] <= QUICK_GAMES else []
    return f"See it again: {shlex.join(words)}"


# The process that asks the rules -----------------------------------------------------------------


def try_promises(request: Message) -> Iterator[Message]:
    """Try promises under one or all option sets: what is being tried, and what came of it.

    It ends with the first option set under which something is broken.
    """
    promises = REHEARSED if request["rehearsal"] else PROMISES
    wanted = [promise for promise in promises if promise.__name__ in request["promises"]]
    for options in _asked_options(request):
        trial, shown = trial_of({**request, "options": options}), shown_options(options)
        began, broken = time.perf_counter(), set[Promise]()
        for promise in wanted:
            late = time.perf_counter() - began > REHEARSAL_SECONDS
            if (trial.rehearsal and late) or _waits(promise, broken):
                continue
            yield {"trying": {"promise": promise.__name__, "options": shown}}
            result = attempt(promise, trial, shown)
            yield {"result": vars(result)}
            broken |= set() if result.passed else {promise}
        if broken:
            return


def _asked_options(request: Message) -> list[OptionSet]:
    if request["options"] is not None:
        return [request["options"]]
    with NOTE.loading():
        return option_sets(load(request["name"]))


def _waits(promise: Promise, broken: set[Promise]) -> bool:
    """Whether a promise should wait until others are mended."""
    return bool(
        broken.intersection(FIRST_OF_ALL)
        or (promise in AFTER_SECRETS and broken.intersection(SECRETS))
        or (promise in AT_LAST and broken)
    )


def attempt(promise: Promise, trial: Trial, options: str = "") -> Result:
    """Try one promise. Whatever a rule raises breaks it."""
    began = time.perf_counter()
    passed, message = False, ""
    again = _again(promise.__name__, trial.request(), options)
    NOTE.answered()
    try:
        with np.errstate(over="raise" if trial.rehearsal else "warn"):
            promise(trial)
        passed = True
    except NotTried as reason:
        passed, message = True, f"not tried: {reason}"
    except Broken as broken:
        message = f"{broken}\n{again}"
    except Exception as error:
        message = f"{explained(error, trial)}\n{again}"
    return Result(promise.__name__, passed, message, time.perf_counter() - began, options)
