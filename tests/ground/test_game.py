"""The contract: records, options, fingerprints, notation, and games from anybody's file."""

import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest
from small_games import COIN

from kibitz import chance, games
from kibitz.batch import Batch
from kibitz.game import (
    CHANCE,
    OVER,
    Game,
    GameError,
    NotationError,
    OptionError,
    Options,
    fields_text,
    game_of,
    layout,
    parse_fields,
    record,
    rule,
)

OF_NUMPY = sorted({*dir(np.ndarray), *dir(np.record)})


# Records ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_NUMPY)
def test_a_field_named_like_something_of_numpy_is_refused(name):
    """Interpreted, `s.round` would be a method."""
    with pytest.raises(GameError, match=name):
        record("thing", (name, np.int8))
    with pytest.raises(GameError, match=name):
        layout((name, 3))


def test_the_names_that_tempt_are_among_them():
    tempting = {"round", "copy", "take", "put", "choose", "sort", "view", "size", "fill", "base"}
    assert tempting <= set(OF_NUMPY)


@pytest.mark.parametrize("name", ["two words", "3rd", "", "a-b"])
def test_a_field_that_is_no_name_is_refused(name):
    with pytest.raises(GameError, match="cannot be called"):
        record("thing", (name, np.int8))


@pytest.mark.parametrize("kind", [np.bool_, np.complex64, "S4", "U4", object, "M8[s]"], ids=str)
def test_a_field_that_is_no_number_is_refused(kind):
    with pytest.raises(GameError, match="held"):
        record("thing", ("held", kind))


KINDS = [np.int8, np.uint8, np.int16, np.int32, np.float32, np.int64, np.uint64, np.float64]


def random_fields(numbers):
    for i in range(numbers.randint(1, 9)):
        shape = numbers.choice([(), (1,), (2,), (3,), (2, 3), (5, 1)])
        yield (f"field_{i}", numbers.choice(KINDS), shape)


@pytest.mark.parametrize("seed", range(40))
def test_a_record_has_no_gaps_and_fills_eight_bytes(seed):
    fields = list(random_fields(random.Random(seed)))
    made = record("thing", *fields)
    assert made.type is np.record
    assert made.itemsize % 8 == 0
    offset = 0
    for name in made.names:
        assert made.fields[name][1] == offset
        offset += made[name].itemsize
    assert offset == made.itemsize
    assert {n: (made[n].base, made[n].shape) for n, _, _ in fields} == {
        n: (np.dtype(kind), shape) for n, kind, shape in fields
    }


def test_fields_are_sorted_widest_first_and_otherwise_stay_in_order():
    made = record("thing", ("a", np.int8), ("b", np.int64), ("c", np.int8), ("d", np.int16, 3))
    assert [n for n in made.names if len(n) == 1] == ["b", "d", "a", "c"]


def test_equal_fields_under_two_names_are_two_types():
    assert record("one", ("held", np.int8)) != record("other", ("held", np.int8))
    assert record("one", ("held", np.int8)) == record("one", ("held", np.int8))


def test_no_two_games_share_a_record(coin):
    every = [coin, *map(games.load, games.names())]
    tags = [[n for n in game.state.names if n.startswith("tag_")] for game in every]
    assert all(len(tag) == 1 for tag in tags)
    assert len({tag[0] for tag in tags}) == len({game.state for game in every}) == len(every)


def test_a_layout_is_float32_in_the_order_written():
    made = layout(("zebra", 3), ("ape", (2, 2)), ("cat", ()))
    assert made.names == ("zebra", "ape", "cat")
    assert [made.fields[n][1] for n in made.names] == [0, 12, 28]
    assert made.itemsize == 32 and made.type is np.record
    assert all(made[n].base == np.float32 for n in made.names)


# Options ------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Choices(Options):
    count: int = 3
    wild: bool = False
    dice: tuple[int, ...] = (5, 5)
    kind: Literal["plain", "fancy"] = "plain"

    def check(self):
        if self.count > 9:
            raise OptionError(f"count={self.count}: at most 9")


@pytest.mark.parametrize(
    ("texts", "chosen"),
    [
        ({}, {}),
        ({"count": " 7 "}, {"count": 7}),
        ({"count": "-2"}, {"count": -2}),
        ({"wild": "true"}, {"wild": True}),
        ({"wild": "Yes"}, {"wild": True}),
        ({"wild": "1"}, {"wild": True}),
        ({"wild": "no"}, {"wild": False}),
        ({"wild": "FALSE"}, {"wild": False}),
        ({"dice": "4,5"}, {"dice": (4, 5)}),
        ({"dice": " 4 , 5 , 6 "}, {"dice": (4, 5, 6)}),
        ({"dice": "4"}, {"dice": (4,)}),
        ({"kind": "Fancy"}, {"kind": "fancy"}),
        ({"count": 4, "wild": True, "dice": (1, 2)}, {"count": 4, "wild": True, "dice": (1, 2)}),
    ],
    ids=str,
)
def test_options_are_read_from_text(texts, chosen):
    assert Choices.read(texts) == Choices(**chosen)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"cuont": "3"}, "there is no option 'cuont'; this game has: count, wild, dice, kind"),
        ({"count": "many"}, "count='many': count is a whole number"),
        ({"count": "3.0"}, "count='3.0': count is a whole number"),
        ({"count": 3.0}, "count=3.0: count is a whole number"),
        ({"count": True}, "count=True: count is a whole number"),
        ({"count": "10"}, "count=10: at most 9"),
        ({"wild": "maybe"}, "wild='maybe': wild is true or false"),
        ({"wild": 1}, "wild=1: wild is true or false"),
        ({"dice": "5;5"}, "dice='5;5': dice is whole numbers separated by commas, such as 5,5"),
        ({"dice": ""}, "dice='': dice is whole numbers"),
        ({"dice": (5, 5.0)}, "dice=(5, 5.0): dice is whole numbers"),
        ({"kind": "grand"}, "kind='grand': kind is one of plain, fancy"),
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused_with_what_could(texts, message):
    with pytest.raises(OptionError) as caught:
        Choices.read(texts)
    assert message in str(caught.value)


def test_options_become_numbers_for_the_rules():
    numbers = Choices(count=4, wild=True, dice=(4, 5, 6), kind="fancy").numbers()
    assert (numbers.count, numbers.wild, numbers.kind) == (4, 1, 1)
    assert numbers.dice.tolist() == [4, 5, 6]
    assert all(numbers.dtype[n].base == np.int64 for n in numbers.dtype.names)


def test_a_literal_is_read_whatever_its_case():
    @dataclasses.dataclass(frozen=True)
    class Named(Options):
        rules: Literal["Hasbro", "Abacus"] = "Hasbro"

    assert Named.read({"rules": "Abacus"}) == Named.read({"rules": "abacus"}) == Named("Abacus")


def test_binding_keeps_what_was_bound_before():
    game = games.load("liars_dice", dice=(4, 5)).bind(variant="high").bind(sides="4")
    assert (game.options.dice, game.options.variant, game.options.sides) == ((4, 5), "high", 4)
    assert games.load("liars_dice").options.dice == (5, 5)


def test_a_preset_is_a_start_and_options_beside_it_count():
    game = games.load("liars_dice", preset="perudo", dice="3,2", variant="normal")
    assert (game.options.die_loss, game.options.dice) == ("loser", (3, 2))
    assert game.options.variant == "normal"


@pytest.mark.parametrize(
    ("name", "has"), [("liars_dice", "dudo, perudo, openspiel"), ("kuhn", "none")]
)
def test_an_unknown_preset_is_answered_with_those_there_are(name, has):
    with pytest.raises(OptionError, match=f"{name} has no preset 'house'; it has: {has}"):
        games.load(name, preset="house")


def test_a_game_without_options_says_so():
    with pytest.raises(OptionError, match="there is no option 'dice'; this game has: none"):
        games.load("kuhn", dice=(1, 1))


# Fingerprints -------------------------------------------------------------------------------------


def test_a_fingerprint_is_the_same_in_every_process():
    printed = run_python("import kibitz; print(kibitz.load('liars_dice').fingerprint)")
    assert printed == games.load("liars_dice").fingerprint
    assert len(printed) == 16 and int(printed, 16) >= 0


def test_a_fingerprint_changes_with_version_options_view_and_actions(coin):
    shape = coin.sizes
    wider = dataclasses.replace(shape, view=layout(("stake", 2), ("face", (2, 3)), ("more", 1)))
    renamed = dataclasses.replace(shape, view=layout(("stakes", 2), ("face", (2, 3))))
    turned = dataclasses.replace(shape, view=layout(("stake", 2), ("face", (3, 2))))
    others = [
        dataclasses.replace(coin, version=2),
        dataclasses.replace(coin, name="token"),
        dataclasses.replace(coin, options=Choices()),
        dataclasses.replace(coin, options=Choices(count=4)),
        dataclasses.replace(coin, shape=wider),
        dataclasses.replace(coin, shape=renamed),
        dataclasses.replace(coin, shape=turned),
        dataclasses.replace(coin, shape=dataclasses.replace(shape, num_actions=3)),
    ]
    assert len({game.fingerprint for game in (coin, *others)}) == 1 + len(others)
    assert dataclasses.replace(coin).fingerprint == coin.fingerprint


def test_what_a_fingerprint_is_made_of_survives_json():
    described = games.load("liars_dice", dice=(4, 5)).describe()
    assert json.loads(json.dumps(described))["options"]["dice"] == [4, 5]
    assert described["view"] == [["priv", [32]], ["pub", [112]]]
    assert described["actions"] == 55


# Notation that every game has ---------------------------------------------------------------------


def random_record(dtype, numbers):
    made = np.frombuffer(numbers.randbytes(dtype.itemsize), dtype).copy()[0]
    for name in dtype.names:
        if name == "tail" or name.startswith("tag_"):
            made[name] = 0
        elif dtype[name].base.kind == "f":
            made[name] = np.nan_to_num(made[name], nan=0.1, posinf=1e30, neginf=-1e-30)
    return made


def described(s):
    """A position of a game that begins with nothing but zeros."""
    return fields_text(lambda: np.zeros(1, s.dtype)[0], s)


@pytest.mark.parametrize("seed", range(40))
def test_a_position_told_by_its_fields_reads_back_to_the_byte(seed):
    numbers = random.Random(seed)
    dtype = record("thing", *random_fields(numbers))
    made = random_record(dtype, numbers)
    empty = np.zeros(1, dtype)[0]
    parse_fields(empty, described(made))
    assert empty.tobytes() == made.tobytes()
    parse_fields(empty, "  " + described(made).upper().replace(" ", "\n ").replace(",", ", "))
    assert empty.tobytes() == made.tobytes()


def test_a_field_with_capitals_reads_back():
    made = np.ones(1, record("thing", ("numHeld", np.int8)))[0]
    empty = np.zeros(1, made.dtype)[0]
    parse_fields(empty, described(made))
    assert empty.numHeld == 1


def test_a_position_is_told_by_what_is_not_as_at_the_start():
    s = np.zeros(1, record("thing", ("few", np.int8, 4), ("many", np.int8, 40), ("c", np.int8)))[0]
    assert described(s) == "start"
    s.few[1] = s.many[2] = 7
    assert described(s) == "few=0,7,0,0 many=0,0,7"
    empty = np.zeros(1, s.dtype)[0]
    parse_fields(empty, described(s))
    assert empty.tobytes() == s.tobytes()


def test_a_field_left_out_stays_as_it_was():
    s = np.zeros(1, record("thing", ("a", np.int8), ("b", np.int16, (2, 2))))[0]
    parse_fields(s, "b=1,2,3,4")
    parse_fields(s, "a=-5")
    parse_fields(s, " START ")
    assert described(s) == "b=1,2,3,4 a=-5"


def test_a_position_is_told_from_the_start_of_the_game_as_it_was_bound():
    plain = games.load("dominion", kingdom="first_game", first="0")
    other = plain.bind(kingdom="deck_top", first="1")
    for game in (plain, other, plain):
        s = game.fresh()
        assert game.text(s) == "start"
        s.coins = 3
        assert game.text(s) == "coins=3"
        assert game.read("coins=3").tobytes() == s.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        *("c=1", "a", "a=", "a=x", "a=1,2", "a=300", "a=1.5", "b=1,2,3", "b="),
        *("tail=0", "tag_thing=1", "a=1 nonsense"),
    ],
)
def test_fields_that_do_not_fit_are_refused(text):
    s = np.zeros(1, record("thing", ("a", np.int8), ("b", np.int16, (2, 2))))[0]
    with pytest.raises(NotationError, match=text.split()[-1]):
        parse_fields(s, text)


def test_a_view_is_told_by_what_is_not_zero(coin):
    s = coin.read("stake=2,1 face=1,-1")
    assert coin.seen(s, 0) == "stake: 0:2 1\nface: 0,1"
    assert coin.seen(coin.fresh(), 0) == "stake: -\nface: -"


# One state at a time ------------------------------------------------------------------------------


def test_a_small_file_is_a_whole_game(coin):
    s = coin.fresh()
    assert (coin.turn(s), coin.moves(s)) == (0, [0, 1])
    coin.play(s, coin.read_action(s, " 1 "))
    assert coin.turn(s) == CHANCE
    assert coin.chances(s) == [0.5, 0.375, 0.125]
    for action in (2, 0, 1):
        coin.play(s, action)
    assert (coin.turn(s), coin.moves(s), coin.scores(s)) == (OVER, [], [1, -1])
    assert coin.text(s) == "stake=2,1 face=2,1"
    assert coin.read("STAKE = 2, 1  face=2,1").tobytes() == s.tobytes()
    assert (coin.seats, coin.num_actions, coin.num_outcomes, coin.view_size) == (2, 2, 3, 8)
    assert coin.max_legal == 2


def test_an_action_that_is_none_is_answered_with_the_choices(coin):
    with pytest.raises(NotationError, match="'5' is not an action here; there are: 0, 1"):
        coin.read_action(coin.fresh(), "5")


def test_a_game_that_goes_on_has_no_scores(coin):
    with pytest.raises(GameError, match=r"coin: the game is not over.*: start"):
        coin.scores(coin.fresh())


def test_a_game_without_its_own_roll_follows_its_odds(coin):
    rng, counts = chance.stream(11, "table"), [0, 0, 0]
    thrown = coin.read("stake=1,0")
    for _ in range(8000):
        s = coin.copy(thrown)
        face = coin.roll(s, rng)
        assert s.face[0] == face
        counts[face] += 1
    for count, odds in zip(counts, (0.5, 0.375, 0.125), strict=True):
        assert abs(count - 8000 * odds) < 5 * (8000 * odds * (1 - odds)) ** 0.5


def test_a_small_file_plays_in_a_batch(coin):
    batch = Batch(coin, 4000, seed=3)
    for _ in range(2):
        batch.settle()
        batch.play(batch.choose("miser", batch.turns(), batch.rngs))
    batch.settle()
    assert (batch.turns() == OVER).all()
    scores = batch.scores()
    assert (scores.sum(axis=1) == 0).all()
    drawn = (scores[:, 0] == 0).mean()  # 1/4 + 9/64 + 1/64
    assert abs(drawn - 26 / 64) < 5 * (26 * 38 / 64**2 / 4000) ** 0.5


# Files of rules -----------------------------------------------------------------------------------


def test_loading_a_file_twice_gives_one_module():
    assert games.module(COIN) is games.module(str(COIN))


def test_a_game_can_be_a_folder(tmp_path):
    folder = tmp_path / "coins"
    folder.mkdir()
    shutil.copy(COIN, folder / "rules.py")
    (folder / "__init__.py").write_text("from .rules import GAME\n")
    game = games.load(folder)
    assert game.scores(game.read("stake=2,1 face=2,1")) == [1, -1]


def test_an_edited_file_is_played_by_its_new_rules(tmp_path):
    """In one process and through kernels that were compiled for the old ones."""
    file = tmp_path / "edited.py"
    scores = []
    for source in (COIN.read_text(), COIN.read_text().replace("> s.face[1]", "< s.face[1] + 99")):
        file.write_text(source)
        game = games.load(file)
        batch = Batch(game, 2)
        batch.states[:] = game.read("stake=2,2 face=0,1")
        scores.append((game.scores(batch.states[0])[0], batch.scores()[1, 0]))
    assert scores == [(-2, -2), (2, 2)]


def test_a_game_imported_by_name_can_also_be_loaded_by_path(tmp_path, monkeypatch):
    """As in a user's own tests: `import my_coin` here, `kibitz check my_coin.py` there."""
    shutil.copy(COIN, tmp_path / "my_coin.py")
    monkeypatch.syspath_prepend(tmp_path)
    import my_coin

    loaded = games.load(tmp_path / "my_coin.py")
    assert loaded.fingerprint == my_coin.GAME.fingerprint


def test_an_edited_game_inside_a_package_is_played_by_its_new_rules(tmp_path):
    """The package has a second module; an edit of either must not meet old machine code."""
    package = tmp_path / "club"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "facts.py").write_text(
        "import numpy as np\nfrom kibitz.game import record\nRECORD = record('f', ('x', np.int8))\n"
    )
    scores = []
    for rules in (COIN.read_text(), COIN.read_text().replace("> s.face[1]", "< s.face[1] + 99")):
        rules = rules.replace("import numpy", "import club.facts\nimport numpy")
        (package / "coin.py").write_text(rules)
        scores.append(float(run_python(SCORE_OF_CLUB_COIN, PYTHONPATH=str(tmp_path))))
    assert scores == [-2, 2]


def test_a_game_moved_into_a_package_is_still_a_game(tmp_path):
    """Compiled code remembers the module it came from by name."""
    (tmp_path / "club").mkdir()
    (tmp_path / "club" / "__init__.py").write_text("")
    shutil.copy(COIN, tmp_path / "coin.py")
    alone = SCORE_OF_CLUB_COIN.replace("club.coin", "coin")
    assert run_python(alone, PYTHONPATH=str(tmp_path)) == "-2.0"
    (tmp_path / "coin.py").rename(tmp_path / "club" / "coin.py")
    assert run_python(SCORE_OF_CLUB_COIN, PYTHONPATH=str(tmp_path)) == "-2.0"


SCORE_OF_CLUB_COIN = """
import numpy as np
from club.coin import GAME
from kibitz.batch import Batch
from kibitz.chance import streams
states = np.zeros(1, GAME.state)
states["stake"], states["face"] = 2, [0, 1]
print(Batch.of(GAME, states, streams(1, 'table', 1)).scores()[0, 0])
"""


def run_python(source, **environment):
    return subprocess.run(
        [sys.executable, "-B", "-c", source],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kuhm", "there is no game 'kuhm'; did you mean kuhn?"),
        ("Liars-Dise", "there is no game 'Liars-Dise'; did you mean liars_dice?"),
        ("go", "there is no game 'go'; there are: "),
        ("nowhere/coin.py", "there is no game file 'nowhere/coin.py'"),
        ("nowhere/coin", "there is no game file 'nowhere/coin'"),
    ],
)
def test_a_game_that_is_not_there_is_refused_with_a_hint(name, message):
    with pytest.raises(GameError) as caught:
        games.load(name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "does not end with GAME = Game(...)"),
        ("GAME = 5\n", "does not end with GAME = Game(...)"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def (\n", "SyntaxError"),
        ("import nothing_of_that_name\n", "nothing_of_that_name"),
    ],
)
def test_a_file_that_is_no_game_is_refused_by_name(tmp_path, source, message):
    file = tmp_path / "broken.py"
    file.write_text(source)
    with pytest.raises(GameError) as caught:
        games.load(file)
    assert message in str(caught.value) and "broken.py" in str(caught.value)


def test_names_are_read_in_any_case_and_with_a_hyphen():
    assert games.load("Liars-Dice") is games.load("liars_dice")


def test_a_folder_of_the_same_name_does_not_hide_a_game(tmp_path, monkeypatch):
    """Folders of networks and of runs are named by their game."""
    (tmp_path / "kuhn").mkdir()
    monkeypatch.chdir(tmp_path)
    assert games.load("kuhn").name == "kuhn"


TWINS = """
import dataclasses
import numpy as np
from kibitz.game import record, rule

{coin}

@rule
def other_play(s, action):
    s.stake[0] = 1

GAME = dataclasses.replace(
    GAME, play=other_play, shape=dataclasses.replace(GAME.sizes, state=record("coin", {fields}))
)
"""


@pytest.mark.parametrize(
    "fields",
    [
        '("stake", np.int8, 2), ("face", np.int8, 2)',
        '("stake", np.int8, 2), ("face", np.int8, 2), ("more", np.int8)',
    ],
    ids=["the same fields", "other fields"],
)
def test_two_games_cannot_have_records_of_one_name(tmp_path, fields):
    """With other fields they would still share the type that names their players."""
    file = tmp_path / "twins.py"
    file.write_text(TWINS.format(coin=COIN.read_text(), fields=fields))
    with pytest.raises(GameError, match="coin"):
        games.load(file)


@rule
def half_the_score(s, out):
    out[0] = out[1] = 0


@rule
def spender(s, seat, rng):
    return 1


def test_a_game_with_other_rules_does_not_replace_the_first_over_the_same_record(coin):
    """Kernels know a game by its record: they would score both by the rules of the second."""
    with pytest.raises(GameError, match=r"record 'coin\w*' and play it by different rules \(score"):
        dataclasses.replace(coin, score=half_the_score)
    with pytest.raises(GameError, match="two players 'miser': give one of them another name"):
        dataclasses.replace(coin, players={"miser": spender})
    assert game_of(coin.fresh()).score is coin.score
    both = dataclasses.replace(coin, players={**coin.players, "spender": spender})
    assert Batch(both, 1).choose("spender", [0], chance.streams(1, "player", 1)) == [1]


def test_names_and_summaries_need_no_loading():
    assert {"kuhn", "liars_dice"} <= set(games.names())
    assert games.names() == sorted(games.names())
    assert games.summary("kuhn") == "Kuhn poker: three cards, two seats, one bet."
    for name in games.names():
        assert isinstance(games.load(name), Game)
        assert games.load(name).name == name
