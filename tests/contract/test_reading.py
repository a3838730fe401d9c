"""What the check reads before it plays: options at their edges, and the lines of rules."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from kibitz import games
from kibitz.contract import Result, Trial, attempt, check, option_sets, shown_options
from kibitz.contract.cases import edges
from kibitz.contract.rules import texts_parse_back
from kibitz.game import NotationError
from kibitz.options import OptionError, Options

SOUND = Path(__file__).parent / "faults" / "sound.py"


@dataclass(frozen=True)
class ManyOptions(Options):
    players: int = 2
    """2 to 4."""
    dice: tuple[int, ...] = (2, 3)
    """1 to 4 each."""
    scoring: Literal["points", "cards"] = "points"
    """What counts."""
    open: bool = False
    """Whether hands are open."""
    endless: int = 100
    """Any number."""

    def check(self) -> None:
        if not 2 <= self.players <= 4 or not all(1 <= n <= 4 for n in self.dice):
            raise OptionError("too many or too few")


def test_a_game_that_declares_nothing_is_tried_with_every_option_at_its_edges() -> None:
    assert [shown_options(options) for options in edges(ManyOptions())] == [
        "players=4",
        "dice=1,2",
        "dice=3,4",
        "scoring=cards",
        "open=true",
        "endless=90",
        "endless=110",
    ]


def test_options_are_shown_as_they_are_typed() -> None:
    assert shown_options({"dice": (4, 5), "open": True}) == "dice=4,5 open=true"
    assert shown_options({"kingdom": "Throne Room, Moat"}) == "'kingdom=throne room, moat'"


def test_a_game_that_declares_its_option_sets_is_tried_with_those_and_its_presets() -> None:
    game = games.load("beasty_bar")
    assert option_sets(game) == [{}, *({"preset": p} for p in game.presets), *game.tried]


@pytest.mark.parametrize("name", games.names())
def test_all_that_a_game_declares_can_be_loaded(name: str) -> None:
    for options in option_sets(games.load(name)):
        games.load(name, **options)


def changed(folder: Path, promise: str, old: str, new: str) -> Result:
    """How the sound game with one edit does on a promise."""
    source = SOUND.read_text(encoding="utf-8")
    assert source.count(old) == 1
    file = folder / "changed.py"
    file.write_text(source.replace(old, new), encoding="utf-8")
    (result,) = check(file, only=[promise])
    return result


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("chips = [1, 2][0]", "a list"),
        ("chips = sum(s.word)", "`sum`"),
        ("chips = {0: 1}[0]", "a dict"),
        ("chips = np.zeros(2)[0]", "`np.zeros`"),
        ("chips = np.random.randint(2)", "`np.random.randint`"),
        ("raise ValueError", "an exception"),
        ('chips = len(f"{s.die}")', "a text"),
    ],
)
def test_what_cannot_run_on_a_gpu_is_refused_with_its_line(
    tmp_path: Path, line: str, words: str
) -> None:
    old = "    winner = 0 if s.card[0] > s.card[1] else 1\n"
    result = changed(tmp_path, "rules_could_run_on_a_gpu", old, f"{old}    {line}\n")
    assert not result.passed
    assert f"`score` uses {words}" in result.message
    assert f"line 93 of changed.py: {line}" in result.message


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("7", "bold chose 7, not one of [0, 1, 2]"),
        ("BET if s.aside > 2 else PASS", "bold peeks: it chose 1, but 0"),
        ("np.random.randint(3)", "it draws numbers that are not of `rng`"),
    ],
)
def test_a_player_that_chooses_wrongly_is_told_which_way(
    tmp_path: Path, choice: str, reason: str
) -> None:
    old = "return BET if s.card[seat] >= 3 else PASS"
    result = changed(tmp_path, "players_do_not_peek", old, f"return {choice}")
    assert not result.passed and reason in result.message


def test_a_player_is_not_blamed_for_a_redeal_that_changes_what_it_sees(tmp_path: Path) -> None:
    old = "    own, other = s.card[seat], s.card[1 - seat]\n"
    new = f"    s.card[seat] = below(rng, CARDS)\n{old}"
    result = changed(tmp_path, "players_do_not_peek", old, new)
    assert not result.passed
    assert "the fault of another rule: `redeal` changes what seat" in result.message


# Where case matters ------------------------------------------------------------------------------


def texts_of_escampe(**changes: object) -> Result:
    """Whether the notation of Escampe, in which unicorns are capitals, keeps its promise."""
    game = replace(games.load("escampe"), **changes)
    return attempt(texts_parse_back, Trial("escampe", game, games=2))


def test_a_game_in_which_case_matters_may_refuse_upper_case() -> None:
    assert texts_of_escampe().passed
    refused = texts_of_escampe(case_matters=False)
    assert not refused.passed and "has 1 unicorn" in refused.message


def test_where_case_matters_upper_case_is_never_read_as_another_position() -> None:
    parse = games.load("escampe").parse

    def lenient(s: Any, text: str) -> None:
        with suppress(NotationError):  # the position stays as it was
            parse(s, text)

    assert "as another position" in texts_of_escampe(parse=lenient).message
