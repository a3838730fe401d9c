"""`kibitz check` names what is wrong with a game, soon: one small game for each fault.

Each game in `faults/` is `sound.py` with one thing wrong, a file as a user would write it. It is
checked by the command, in a process of its own.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kibitz.cli.contract import Talk
from kibitz.contract import REHEARSED, Result, check
from kibitz.contract.sources import line_of_frame
from kibitz.contract.watch import Stopped, ask, quiet

FAULTS = Path(__file__).parent / "faults"
SECONDS = 30  # until the fault is named
SILENCE = 5  # seconds in which nothing is printed


# By file: the promise that is broken first, and words of what is said about it
EXPECTED = {
    "start_leaves_a_field": ("start_sets_every_field", "`start` does not set all of `die`"),
    "a_rule_never_ends": (
        "rules_run_and_return",
        r"`score\(s, out\)` does not return.* line 1[567]",
    ),
    "a_game_never_ends": ("every_game_ends", "no end after 20000 moves. .* an option"),
    "play_goes_in_circles": ("known_does_not_repeat", "`known` of seat 0 is what it was earlier"),
    "view_leaks": ("views_keep_secrets", "`observe` depends on what is hidden"),
    "known_leaks": ("views_keep_secrets", "`known` depends on what is hidden"),
    "seen_leaks": ("views_keep_secrets", "`seen` depends on what is hidden"),
    "news_leaks": ("news_keeps_secrets", "`news` tells seat 1 'bet on card 4'"),
    "redeal_does_nothing": ("redealing_changes_what_is_hidden", "`redeal` for it changes no"),
    "redeal_does_half": ("redealing_changes_what_is_hidden", "never changes all of `aside`"),
    "redeal_has_a_bias": ("redealing_is_fair", "`redeal` deals for seat 0 is not as frequent"),
    "redeal_changes_what_was_shown": ("views_keep_secrets", "`redeal` changes what seat 0 knows"),
    "redeal_against_public_knowledge": (
        "redealing_contradicts_nothing",
        "`redeal` for seat 1 deals .* contradicts what the seat knew or heard",
    ),
    "redeal_changes_the_actions": ("views_keep_secrets", "`actions` depends on what is hidden"),
    "odds_do_not_sum_to_one": ("odds_sum_to_one", r"`odds` says .*, their sum is 0\.75"),
    "roll_against_odds": ("roll_follows_odds", r"`roll` rolled 0 .* `odds` says 0\.3333"),
    "actions_out_of_order": ("actions_ascend", r"`actions` wrote \[2, 0, 1\], not ascending"),
    "two_actions_with_one_text": ("action_texts_parse_back", "`action_text` gives two moves one"),
    "text_does_not_parse_back": ("texts_parse_back", "differ in die 1 / 0"),
    "score_is_not_zero_sum": ("scores_stay_in_bounds", "which do not sum to 0"),
    "index_out_of_bounds": (
        "rules_run_and_return",
        r"index 2 is out of bounds .*line 15 of index_out_of_bounds.py: s\.word\[2\] = action",
    ),
    "list_in_a_rule": (
        "rules_could_run_on_a_gpu",
        r"`actions` uses a list, .*line 14 of list_in_a_rule.py: words = \[",
    ),
    "typo_in_a_field": (
        "rules_run_and_return",
        "no field 'crad'; did you mean 'card'.*line 14 of typo_in_a_field.py",
    ),
    "a_player_peeks": ("players_do_not_peek", r"bold peeks: .* \(`card`, `aside`\)"),
    "wrong_with_other_options": ("odds_sum_to_one", "-o sides=2"),
}


@dataclass(frozen=True)
class Heard:
    """What a command printed: lines with the seconds after which they came."""

    lines: list[tuple[float, str]]
    status: int

    def longest_silence(self) -> float:
        times = [0.0, *(seconds for seconds, _ in self.lines)]
        return max(b - a for a, b in itertools.pairwise(times))


def run(*words: str) -> Heard:
    command = [sys.executable, "-u", "-m", "kibitz", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    began, lines = time.perf_counter(), []
    guard = threading.Timer(4 * SECONDS, process.kill)
    guard.start()
    with process.stdout:
        lines = [(time.perf_counter() - began, line.rstrip()) for line in process.stdout]
    guard.cancel()
    return Heard(lines, process.wait())


def named(fault: str) -> tuple[float, Heard]:
    """When the check named the fault, and all that it said."""
    promise, words = EXPECTED[fault]
    heard = run("check", str(FAULTS / f"{fault}.py"))
    said = "\n".join(line for _, line in heard.lines)
    at, first = next((n, line) for n, (_, line) in enumerate(heard.lines) if "BROKEN" in line)
    assert heard.status == 1 and promise in first, said
    assert re.search(words, said, re.DOTALL), said
    assert f"See it again: kibitz check {FAULTS / fault}.py --only {promise}" in said
    return heard.lines[at][0], heard


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_is_named(fault: str) -> None:
    named(fault)


@pytest.mark.slow  # on an idle machine with warm caches: these are times
@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_is_named_within_seconds_and_nobody_waits_in_silence(fault: str) -> None:
    seconds, heard = named(fault)
    print(f"{fault}: named after {seconds:.1f} s, silent for {heard.longest_silence():.1f} s")
    assert seconds < SECONDS
    assert heard.longest_silence() < SILENCE


def test_teams_of_wrong_length_are_named_when_the_game_is_loaded() -> None:
    heard = run("check", str(FAULTS / "teams_of_wrong_length.py"))
    said = " ".join(line for _, line in heard.lines)
    assert heard.status == 2
    assert "teams has one number per seat" in said


def test_every_game_with_a_fault_is_expected_to_have_it() -> None:
    others = {"sound", "teams_of_wrong_length"}
    assert {file.stem for file in FAULTS.glob("*.py")} == {*EXPECTED} | others


def test_the_sound_game_keeps_every_promise() -> None:
    for result in check(FAULTS / "sound.py", games=20):
        assert result.passed, result.message


def found(fault: str, **settings: object) -> list[Result]:
    return [r for r in check(FAULTS / f"{fault}.py", **settings) if not r.passed]  # type: ignore[arg-type]


def test_a_secret_that_is_told_is_named_once() -> None:
    assert [r.promise for r in found("view_leaks")] == ["views_keep_secrets"]


def test_an_option_set_that_is_chosen_is_the_only_one() -> None:
    only = ["odds_sum_to_one"]
    assert not found("wrong_with_other_options", options={"sides": 3}, only=only)
    (result,) = found("wrong_with_other_options", options={"sides": 5}, only=only)
    assert result.options == "sides=5"


def test_a_rule_that_never_ends_when_compiled_is_named_with_its_position() -> None:
    request = {
        **{"question": "promises", "name": str(FAULTS / "a_rule_never_ends.py"), "seed": 1},
        **{"games": 20, "device": "cpu", "options": {}, "rehearsal": False},
        "promises": ["scores_stay_in_bounds"],
    }
    with pytest.raises(Stopped, match=r"`score\(s, out\)` does not return.*position .*die="):
        list(ask(request, quiet))


def test_a_process_that_ends_by_itself_is_a_broken_promise(tmp_path: Path) -> None:
    source = (FAULTS / "index_out_of_bounds.py").read_text()
    source = source.replace("with_name(", f"joinpath({str(FAULTS)!r}, ").replace(
        "def play(s, action):\n", "def play(s, action):\n    import os; os._exit(3)\n"
    )
    (tmp_path / "leaves.py").write_text(source)
    (result,) = [r for r in check(tmp_path / "leaves.py") if not r.passed][-1:]
    assert result.promise == "rules_run_and_return" and "ended by itself" in result.message


def test_a_file_that_never_ends_to_load_is_ended(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("n = 0\nwhile n >= 0:\n    n += 1\n")
    (result,) = check(tmp_path / "endless.py")
    assert "loading the game's file does not return" in result.message
    assert re.search(r"line [23] of endless\.py", result.message)


def test_who_waits_hears_now_and_then_what_is_being_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    talk = Talk()
    for now in (101.0, 103.0, 104.0, 106.0):
        talk.wait(f"at {now:.0f}")
    assert capsys.readouterr().err.split("\n") == ["... at 103", "... at 106", ""]


def test_a_rule_that_was_just_entered_has_a_line() -> None:
    """A frame has none then. An error here would end the pulse, and with it the check."""
    code = compile("x = 1", str(FAULTS / "sound.py"), "exec")
    entered: Any = SimpleNamespace(f_code=code, f_lineno=None, f_back=None)
    assert line_of_frame(entered).startswith("line 1 of sound.py: ")


def test_progress_names_the_promise_that_is_tried() -> None:
    heard: list[str] = []
    list(check(FAULTS / "sound.py", only=["redealing_is_fair"], progress=heard.append))
    assert any(line.startswith("redealing_is_fair: ") for line in heard), heard


def test_a_quick_check_never_says_that_all_promises_are_kept() -> None:
    heard = run("check", "liars_dice", "--quick", "--only", "actions_ascend")
    last = heard.lines[-1][1]
    assert heard.status == 0
    assert last.startswith("1 promise kept so far, in 20 games; not tried: preset=dudo, ")


def test_presets_and_edges_of_options_are_tried_a_line_each() -> None:
    heard = run("check", "liars_dice", "--only", "odds_sum_to_one", "--only", "actions_ascend")
    said = [line for _, line in heard.lines]
    for options in ("preset=perudo", "dice=1,2", "dice=2,1 variant=normal sides=4"):
        assert any(f"kept   2 promises: {options} " in line for line in said), said
    assert said[-1].startswith("2 promises kept under 10 option sets so far")


def test_promises_of_the_rehearsal_are_tried_in_the_interpreter_too() -> None:
    assert len(REHEARSED) == len(set(REHEARSED)) >= 20
