"""The contract catches broken games: each is a copy of a game with one thing wrong.

A promise is worth what it catches. Here every mistake that we could think of is made once, and the
promise meant for it must notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kibitz import games
from kibitz.chance import PURPOSES, stream
from kibitz.contract import PROMISES, Trial, attempt, check
from kibitz.contract.hidden import dice_cannot_be_foretold

GAMES = 20  # enough for each of the mistakes


@dataclass(frozen=True)
class Mistake:
    """What is wrong, the promise that must notice, and how to make it: old text, new text, ..."""

    name: str
    promise: str
    game: str
    edits: tuple[str, ...]


def kuhn(name: str, promise: str, *edits: str) -> Mistake:
    return Mistake(name, promise, "kuhn", edits)


def partners(name: str, promise: str, *edits: str) -> Mistake:
    return Mistake(name, promise, "partners", edits)


def nim(name: str, promise: str, *edits: str) -> Mistake:
    return Mistake(name, promise, "nim", edits)


def rows(name: str, promise: str, *edits: str) -> Mistake:
    return Mistake(name, promise, "three_in_a_row", edits)


def peek(name: str, promise: str, *edits: str) -> Mistake:
    return Mistake(name, promise, "peek", edits)


def dice(name: str, promise: str, *edits: str) -> Mistake:
    return Mistake(name, promise, "liars_dice", edits)


MISTAKES = [
    # what open games promise to searches
    rows(
        "decisive sees diagonals only",
        "decisive_actions_win",
        "if free and has_row(int(s.marks[s.mover]) | bit):",
        "if free and (int(s.marks[s.mover]) | bit) & 0b1010100 == 0b1010100:",
    ),
    rows(
        "the key leaves the marks of seat 1 out",
        "keys_name_positions",
        "int(s.marks[0]) << 10 | int(s.marks[1]) << 1 | int(s.mover)",
        "int(s.marks[0]) << 10 | int(s.mover)",
    ),
    rows(
        "a judge is surer than sure",
        "judges_keep_their_word",
        "return 100 * difference",
        "return 10_000 + difference",
    ),
    # secrets
    kuhn(
        "the view shows the card of seat 0 to both",
        "views_keep_secrets",
        "1 if card == s.card[seat] else 0",
        "1 if card == s.card[0] else 0",
    ),
    kuhn(
        "known depends on the card of seat 0 for both",
        "views_keep_secrets",
        "number = 1 + int(s.card[seat])",
        "number = 1 + int(s.card[0])",
    ),
    kuhn(
        "seen tells the other card before the end",
        "views_keep_secrets",
        "if turn(s) == OVER:\n        others",
        "if s.length > 0:\n        others",
    ),
    kuhn(
        "an onlooker sees the card of seat 0",
        "onlookers_see_no_secrets",
        """    sentences = [f"Bets so far: {bets or 'none'}."]\n""",
        """    sentences = [f"Bets so far: {bets or 'none'}."]\n"""
        "    if seat == ONLOOKER:\n        sentences.append(str(s.card[0]))\n",
    ),
    kuhn(
        "an onlooker hears which card is dealt",
        "onlookers_see_no_secrets",
        "if turn(s) == CHANCE and seat != (",
        "if turn(s) == CHANCE and seat >= 0 and seat != (",
    ),
    nim(
        "a further view keeps what an earlier one had there",
        "views_are_written_whole",
        "view.rest[n] = 1 if",
        "view.rest[n] += 1 if",
    ),
    kuhn(
        "the legal actions depend on the other card",
        "views_keep_secrets",
        "PASS, BET\n    return 2\n",
        "PASS, BET\n    return 1 if s.card[1] == 2 and s.length == 0 else 2\n",
    ),
    kuhn(
        "everybody hears which card is dealt",
        "news_keeps_secrets",
        "if turn(s) == CHANCE and seat != (0 if s.card[0] == NO_CARD else 1):",
        "if seat < 0:",
    ),
    kuhn(
        "a bet that the other card forbids would be heard",
        "news_keeps_secrets",
        '        return ""\n    return action_text(s, move)',
        '        return ""\n    return action_text(s, move) + "!" * (s.card[1 - seat] == 2)',
    ),
    dice(
        "a player reads the other dice",
        "players_do_not_peek",
        "needed = bid // sides + 1 - matches(s, seat, face)",
        "needed = bid // sides + 1 - matches(s, 1 - seat, face)",
    ),
    dice(
        "a player bids what was bid already",
        "players_do_not_peek",
        "for bid in range(s.last + 1, s.liar):\n        if biddable(s, bid):\n            ways",
        "for bid in range(0, s.liar):\n        if biddable(s, bid):\n            ways",
    ),
    # re-deals
    kuhn(
        "a re-deal changes the own card",
        "views_keep_secrets",
        "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3",
        "s.card[seat] = (s.card[1 - seat] + 1 + below(rng, 2)) % 3",
    ),
    kuhn(
        "a re-deal deals the card that the seat holds itself",
        "redealing_is_fair",
        "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3",
        "s.card[1 - seat] = below(rng, 3)",
    ),
    kuhn("nothing is re-dealt", "redealing_changes_what_is_hidden", "    redeal=redeal,\n", ""),
    kuhn(
        "nothing is re-dealt once both have a card",
        "redealing_changes_what_is_hidden",
        "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3",
        "s.card[1 - seat] = s.card[1 - seat]",
    ),
    dice(
        "a re-deal never rolls the highest face",
        "redealing_is_fair",
        "s.hand[other, below(rng, s.hand.shape[1])] += 1",
        "s.hand[other, below(rng, s.hand.shape[1] - 1)] += 1",
    ),
    dice(
        "a re-deal rolls one die and leaves the others",
        "redealing_forgets_the_truth",
        """        rolled += s.hand[other, face]
        s.hand[other, face] = 0
""",
        """        if s.hand[other, face] > 0 and rolled == 0:
            rolled = 1
            s.hand[other, face] -= 1
""",
    ),
    kuhn(
        "a re-deal changes whose turn it is",
        "views_keep_secrets",
        "elif s.card[1] != NO_CARD:\n",
        "elif s.card[1] != NO_CARD:\n        s.length = below(rng, 2)\n",
    ),
    kuhn(
        "a re-deal deals what cannot be played",
        "redealt_games_go_on",
        "PASS, BET\n    return 2\n",
        "PASS, BET\n    return 0 if s.card[0] == s.card[1] else 2\n",
        "s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3",
        "s.card[1 - seat] = below(rng, 3)",
    ),
    kuhn(
        "a jack may not bet but a re-deal gives one to who has bet",
        "redealing_contradicts_nothing",
        "PASS, BET\n    return 2\n",
        "PASS, BET\n    return 1 if s.card[turn(s)] == 0 else 2\n",
    ),
    peek(
        "a card that is laid open stays hidden",
        "laid_open_hides_nothing",
        """    states["face"] = FACE_UP""",
        """    states["face"] = FACE_DOWN""",
    ),
    peek(
        "laying a card open takes the guess back",
        "laid_open_hides_nothing",
        """    states["face"] = FACE_UP""",
        """    states["face"], states["stake"] = FACE_UP, 0""",
    ),
    # chance
    kuhn("the odds do not sum to 1", "odds_sum_to_one", "else 1.0 / left", "else 1.0 / 3"),
    kuhn(
        "some odds are not written",
        "odds_sum_to_one",
        "out[card] = 0.0 if card == s.card[0] else 1.0 / left",
        "if card != s.card[0]:\n            out[card] = 1.0 / left",
    ),
    dice(
        "roll never rolls the highest face",
        "roll_follows_odds",
        "face = below(rng, s.hand.shape[1])",
        "face = below(rng, s.hand.shape[1] - 1)",
    ),
    dice(
        "roll returns another outcome than it played",
        "roll_follows_odds",
        "    play(s, face)\n    return face",
        "    play(s, face)\n    return (face + 1) % s.hand.shape[1]",
    ),
    # actions, texts and scores
    kuhn(
        "the legal actions are not sorted",
        "actions_ascend",
        "out[0], out[1] = PASS, BET",
        "out[0], out[1] = BET, PASS",
    ),
    kuhn(
        "there is no answer to a bet",
        "actions_ascend",
        "PASS, BET\n    return 2\n",
        "PASS, BET\n    return 0 if s.length == 1 and s.bets[0] == BET else 2\n",
    ),
    kuhn(
        "more actions are legal than declared",
        "actions_ascend",
        "num_actions=2,",
        "num_actions=2, max_legal=1,",
    ),
    kuhn(
        "all actions have one label",
        "labels_tell_actions_apart",
        "# In words",
        "@rule\ndef label(s, action):\n    return 7\n\n\n# In words",
        "    known=known,\n",
        "    known=known,\n    label=label,\n",
    ),
    kuhn(
        "two actions have one text",
        "action_texts_parse_back",
        '("pass", "bet")[action]',
        '("pass", "pass")[action]',
    ),
    kuhn(
        "the text of a position leaves out the bets",
        "texts_parse_back",
        """return f"{cards} {''.join('pb'[b] for b in s.bets[: s.length])}".strip()""",
        "return cards",
    ),
    kuhn("a score is out of bounds", "scores_stay_in_bounds", "= higher, 2", "= higher, 3"),
    kuhn(
        "the loser pays nothing",
        "scores_stay_in_bounds",
        "out[1 - winner] = -chips",
        "out[1 - winner] = 0",
    ),
    partners(
        "a seat scores for its own die alone",
        "partners_score_the_same",
        "mine, better = int(s.die[seat]) + int(s.die[(seat + teams) % (2 * teams)]), 0",
        "mine, better = 2 * int(s.die[seat]), 0",
    ),
    partners(
        "the teams do not score against each other",
        "scores_stay_in_bounds",
        "better += 1 if mine > other else -1 if mine < other else 0",
        "better += 1 if mine > other else 0",
    ),
    kuhn("the loser has no score", "scores_stay_in_bounds", "    out[1 - winner] = -chips\n", ""),
    # states
    kuhn("start does not clear the bets", "start_sets_every_field", "    s.length = 0\n", ""),
    kuhn(
        "a rule draws numbers of its own",
        "replay_is_exact",
        "s.card[1] = action",
        "s.card[1] = (s.card[0] + 1 + np.random.randint(2)) % 3",
    ),
    kuhn(
        "a bet is always taken back",
        "every_game_ends",
        "        s.length += 1\n",
        "        s.length = 1\n",
    ),
    kuhn(
        "looking at the score ends the game",
        "looking_changes_nothing",
        "last = s.length - 1\n",
        "last = s.length - 1\n    s.bets[2] = BET\n",
    ),
    kuhn(
        "the third bet is no position",
        "positions_are_lawful",
        "if not 0 <= s.length <= 3 or",
        "if not 0 <= s.length <= 2 or",
    ),
    kuhn(
        "a position may have more bets than there is room for",
        "positions_are_lawful",
        "if not 0 <= s.length <= 3 or",
        "if not 0 <= s.length <= 9 or",
    ),
    kuhn(
        "a rule has a typo in a field",
        "rules_run_and_return",
        "    s.length = 0\n",
        "    s.lenght = 0\n",
    ),
    # what a seat knows
    kuhn(
        "two passes are taken back and nobody counts how often",
        "known_does_not_repeat",
        "        s.length += 1\n",
        "        s.length += 1 if s.bets[0] + s.bets[1] + s.length != 1 else -1\n",
    ),
    kuhn(
        "known forgets the bets",
        "known_names_what_a_seat_knows",
        "number += (32 << i) * int(s.bets[i])",
        "number += 0",
    ),
    kuhn(
        "known does not notice an action",
        "known_names_what_a_seat_knows",
        "+ 4 * int(s.length) + 16 * seat",
        "+ 16 * seat",
    ),
    kuhn(
        "an entry of the view is never cleared",
        "views_are_written_whole",
        "view.card[card] = 1 if card == s.card[seat] else 0",
        "if card == s.card[seat]:\n            view.card[card] = 1",
    ),
    kuhn(
        "an entry of the view is not a number",
        "views_are_written_whole",
        "view.card[card] = 1 if card == s.card[seat] else 0",
        "view.card[card] = np.nan if card == s.card[seat] else 0",
    ),
    # the machine
    kuhn(
        "a rule makes a dict",
        "rules_could_run_on_a_gpu",
        "number = 1 + int(s.card[seat])",
        "number = {0: 1}[0] + int(s.card[seat])",
    ),
    kuhn(
        "small integers overflow in the interpreter",
        "interpreted_equals_compiled",
        "number = 1 + int(s.card[seat])",
        "number = 1 + int(s.card[seat] * np.int8(100))",
    ),
    kuhn(
        "there is no room for the third bet",
        "indices_stay_in_bounds",
        '("bets", np.int8, 3)',
        '("bets", np.int8, 2)',
        "for i in range(3):\n        s.bets",
        "for i in range(2):\n        s.bets",
    ),
    kuhn(
        "a rule is compiled twice",
        "rules_compile_once",
        "@rule\ndef known(",
        "@rule\ndef half(s, x):\n    return x / 2\n\n\n@rule\ndef known(",
        "number = 1 + int(s.card[seat])",
        "number = 1 + int(s.card[seat]) + int(half(s, 0) + half(s, 0.5))",
    ),
    kuhn(
        "a batch draws numbers of its own",
        "batches_are_only_faster",
        "s.card[1] = action",
        "s.card[1] = (s.card[0] + 1 + np.random.randint(2)) % 3",
    ),
]


def broken(mistake: Mistake | None, game: str, folder: Path) -> Path:
    """A copy of the game, a file or a folder, with the mistake made.

    The same files in every run, so that their compiled code is found again.
    """
    name = mistake.name.replace(" ", "_").replace(",", "") if mistake else f"sound_{game}"
    sources = sources_of(game)
    for old, new in zip(*(mistake.edits[i::2] for i in (0, 1)), strict=True) if mistake else ():
        times = {file: source.count(old) for file, source in sources.items() if old in source}
        assert list(times.values()) == [1], f"{times} in {game}: {old!r}"
        sources = {file: source.replace(old, new) for file, source in sources.items()}
    for inner, source in sources.items():
        file = folder / f"{name}{inner}"
        file.parent.mkdir(exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != source:
            file.write_text(source, encoding="utf-8")
    return folder / (f"{name}.py" if ".py" in sources else name)


def sources_of(game: str) -> dict[str, str]:
    """The sources of a game by what comes after its name: ".py", or "/rules.py" and others."""
    homes = Path(games.__file__).parent, Path(__file__).parent.parent / "sample_games"
    home = next(at for at in homes if (at / game).is_dir() or (at / f"{game}.py").exists())
    files = sorted((home / game).glob("*.py")) or [home / f"{game}.py"]
    above = "..." if len(files) > 1 else ".."
    return {
        str(file.relative_to(home)).removeprefix(game): file.read_text(encoding="utf-8").replace(
            f"from {above}", "from kibitz."
        )
        for file in files
    }


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    return request.config.cache.mkdir("broken_games")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name.replace(" ", "_"))
def test_a_mistake_is_caught_by_the_promise_meant_for_it(mistake: Mistake, folder: Path) -> None:
    file = broken(mistake, mistake.game, folder)
    promise = next(p for p in PROMISES if p.__name__ == mistake.promise)
    result = attempt(promise, Trial(file, games.load(file), games=GAMES))
    assert not result.passed
    assert "See it again" in result.message


def test_a_sound_copy_keeps_every_promise(folder: Path) -> None:
    for result in check(broken(None, "kuhn", folder), games=GAMES):
        assert result.passed, result.message


def test_a_sound_copy_of_liars_dice_keeps_those_that_were_broken(folder: Path) -> None:
    meant = {mistake.promise for mistake in MISTAKES if mistake.game == "liars_dice"}
    file = broken(None, "liars_dice", folder)
    for result in check(file, games=GAMES, only=meant, options={}):
        assert result.passed, result.message


def packed_stream(seed: int, purpose: str, index: int = 0) -> object:
    """A stream whose key says in its low bits what it is for, as a careless house would have it."""
    rng = stream(seed, "table", 0)
    rng.key, rng.count = 4 * seed + PURPOSES.index(purpose), index << 32
    return rng


@pytest.mark.parametrize("name", ["kuhn", "liars_dice"])
def test_the_check_foretells_dice_whose_streams_are_related(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("kibitz.contract.hidden.stream", packed_stream)
    result = attempt(dice_cannot_be_foretold, Trial(name, games.load(name), games=GAMES))
    assert not result.passed and "foretells" in result.message


def test_every_promise_about_rules_has_a_mistake_that_it_catches() -> None:
    caught = {mistake.promise for mistake in MISTAKES}
    of_the_house = {  # a game's rules cannot break these, the house could
        "copies_are_independent",
        "dice_cannot_be_foretold",
        "gpu_equals_cpu",
        "cuda_path_runs",
        "fingerprints_tell_options_apart",
    }
    assert caught | of_the_house == {promise.__name__ for promise in PROMISES}
