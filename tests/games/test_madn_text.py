"""Positions of the race games as text and JSON, what seats hear, and what they cannot know."""

import json

import numpy as np
import pytest
from commands import kibitz
from madn_book import table

from kibitz import chance, games
from kibitz.game import CHANCE, ONLOOKER, OVER, NotationError
from kibitz.games.madn import position_json
from kibitz.games.madn.board import EXCHANGE, PLAY
from kibitz.games.madn.knowledge import redeal, sure_card

DOG = games.load("madn", preset="dog")


def random_states(game, seed, count):
    """States of random play, at chance and at decisions."""
    rng, s, found = chance.stream(seed, "table"), game.fresh(), []
    while game.turn(s) != OVER and len(found) < count:
        found.append(game.copy(s))
        if game.turn(s) == CHANCE:
            game.roll(s, rng)
        else:
            legal = game.legal(s)
            game.play(s, legal[int(chance.below(rng, len(legal)))])
    return found


# Positions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["madn", "dmadn", "dog"])
def test_positions_read_back_from_json_and_from_text_with_line_ends(preset):
    game = games.load("madn", preset=preset)
    for s in random_states(game, 1, 300)[::7]:
        assert game.read(position_json(s)).tobytes() == s.tobytes()
        lines = game.text(s).replace(" | ", "\n|  ")
        assert game.read(lines).tobytes() == s.tobytes()


def test_what_is_left_out_of_a_position_is_as_at_the_start():
    game = games.load("madn")
    s = game.read("pins: 5,-,-,- / -,-,-,- / -,-,-,- / -,-,-,- | turn: 1")
    assert s.mover == 1 and s.plies == 0 and game.turn(s) == CHANCE


ROW = "pins: 5,-,-,- / -,-,-,- / -,-,-,- / -,-,-,-"


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ("pins", "line 1, column 1: a field such as"),
        ("turn: 0", "line 1, column 1: the field 'pins' is missing"),
        (f"{ROW}\n| turn: x", "line 2, column 9: 'x' is not a whole number"),
        (f"{ROW}\n| turn: 0 | turn: 1", "line 2, column 13: the field 'turn' is there twice"),
        (f"{ROW} | turn: 0 |\n\n hand: 3", "line 3, column 2: there is no field 'hand'"),
        ("pins: 5,5,-,- / - | turn: 0", "line 1, column 1: pins has 4 rows of 4 numbers"),
        (f"{ROW.replace('5,-', '5,5')} | turn: 0", "line 1, column 1: two pins are on cell 5"),
        (f"{ROW.replace('/ -', '/ 5', 1)} | turn: 0", "line 1, column 1: two pins are on cell 5"),
        (f"{ROW.replace('5,-', '44,-')} | turn: 0", "no pin of seat 0 can be on cell 44"),
        (f"turn: 0\n| {ROW.replace('5,-', '56,-')}", "line 2, column 3: no pin of seat 0 can be"),
        (f"{ROW.replace('5,-', '-2,-')} | turn: 0", "no pin of seat 0 can be on cell -2"),
        (f"{ROW} | turn: 7", "a player is to move"),
        (f"{ROW} | turn: 0 | phase: play | die: 7", "the die shows 1 to 6"),
        (f"{ROW} | turn: 0 | phase: play | die: 0", "the die shows 1 to 6"),
        (f"{ROW} | turn: 0 | phase: sleep", "phase is one of"),
        ('{"pins": 3,\n "turn" 0}', "line 2, column 9: this is not JSON"),
        ('{"pins": 3,\n "turn": 0}', "line 1, column 2: pins has 4 rows"),
        ('{\n "die": 5}', "line 1, column 1: the field 'pins' is missing"),
        ("{" + '"a":{' * 9999, "line 1"),
    ],
)
def test_a_position_that_is_none_is_refused_with_line_and_column(position, message):
    with pytest.raises(NotationError) as refused:
        games.load("madn").read(position)
    assert message in str(refused.value)


def test_cards_of_a_position_are_checked():
    game, s = table("dog_solo", {0: [10]}, hand=[11, 7])
    shown = game.text(s)
    with pytest.raises(NotationError, match="hands, cards laid"):
        game.read(shown)  # two cards of six, and none was laid
    with pytest.raises(NotationError, match="'aces' is not a card"):
        game.read(shown.replace("7,ace", "7,aces"))
    with pytest.raises(NotationError, match="every card of the deck"):
        game.read(shown.replace("7,ace", "7*9,ace"))


@pytest.mark.parametrize(("cards", "message"), [(-1, "every card of"), (-2, "-1 to 127")])
def test_a_negative_number_of_cards_is_refused(cards, message):
    s = dealt(DOG)
    given = json.loads(position_json(s))
    kind = given["hands"][0].index(1)
    given["hands"][0][kind] = cards
    with pytest.raises(NotationError, match=message):
        DOG.read(json.dumps(given))
    once = DOG.text(s).replace("hands: joker,", f"hands: joker*{cards},")
    assert once != DOG.text(s)
    with pytest.raises(NotationError, match=message):
        DOG.read(once)


@pytest.mark.parametrize(
    ("shown", "message"), [("1,0", "hands, cards"), ("1,0,0,1,0", "at most 4")]
)
def test_a_list_of_shown_hands_of_the_wrong_length_is_refused(shown, message):
    game = DOG.bind(reveal="0.5")
    position = game.text(dealt(game)).partition(" | shown:")[0]
    assert game.read(f"{position} | shown: 1,0,0,1").shown.tolist() == [1, 0, 0, 1]
    with pytest.raises(NotationError, match=message):
        game.read(f"{position} | shown: {shown}")


def test_fields_of_json_are_those_of_the_text():
    s = random_states(DOG, 2, 60)[-1]
    named = [part.split(":")[0] for part in DOG.text(s).split(" | ")]
    assert list(json.loads(position_json(s))) == named


# What seats hear and know ------------------------------------------------------------------------


def dealt(game, seed=4):
    rng, s = chance.stream(seed, "table"), game.fresh()
    while game.turn(s) == CHANCE:
        game.roll(s, rng)
    return s


def test_only_those_who_see_a_card_hear_of_it():
    s = DOG.fresh()
    assert DOG.news_text(s, 0, 11) == "seat 0 gets ace"
    assert DOG.news_text(s, 1, 11) == DOG.news_text(s, ONLOOKER, 11) == "seat 0 gets a card"
    s = dealt(DOG)
    gifts = []
    for seat in range(4):
        action = DOG.legal(s)[0]
        gifts.append(DOG.action_text(s, action)[5:])
        if seat < 3:
            assert DOG.news_text(s, seat, action) == f"seat {seat} gives {gifts[-1]}"
            assert DOG.news_text(s, (seat + 2) % 4, action) == f"seat {seat} gives a card"
        else:
            last = action, DOG.copy(s)
        DOG.play(s, action)
    action, before = last
    own, back = f"seat 2 gets {gifts[0]} from seat 0", f"seat 0 gets {gifts[2]} from seat 2"
    assert DOG.news_text(before, 0, action) == f"seat 3 gives a card; {own}; {back}"
    assert DOG.news_text(before, ONLOOKER, action) == "seat 3 gives a card"


def test_a_giver_knows_its_card_until_the_partner_plays_that_kind():
    s = dealt(DOG)
    for _ in range(4):
        DOG.play(s, DOG.legal(s)[0])
    assert s.phase == PLAY
    kind, rng = int(s.given[0]), chance.stream(1, "search")
    assert sure_card(s, 0, 2) == kind and sure_card(s, 1, 2) == -1
    for _ in range(50):
        t = DOG.copy(s)
        redeal(t, 0, rng)
        assert t.hands[2, kind] > 0 and t.given[0] == kind and t.given[2] == s.given[2]
    s.laid[2, 0] = kind
    assert sure_card(s, 0, 2) == -1


def test_hands_thrown_away_are_remembered_by_their_owner():
    game, s = table("dog", {0: [14], 1: [16]}, hand=[5, 6, 6])
    s.hands[2, 3], s.held[2] = 1, 1
    s.deck[3] -= 1
    s.in_deck -= 1
    game.play(s, game.legal(s)[0])
    rng, own, others = chance.stream(1, "search"), set(), set()
    for _ in range(40):
        for seat, met in ((0, own), (1, others)):
            t = game.copy(s)
            redeal(t, seat, rng)
            assert t.thrown[0].sum() == 3 and t.deck.sum() == s.deck.sum()
            met.add(tuple(t.thrown[0]))
    assert own == {tuple(s.thrown[0])} and len(others) > 30


@pytest.mark.parametrize(("reveal", "seen"), [("own", 1), ("all", 4)])
def test_hands_are_seen_as_the_option_says(reveal, seen):
    game = DOG.bind(reveal=reveal)
    s, numbers = dealt(game), slice(9 + 56, 9 + 60)
    view = game.look(s, 0).view(game.view)[0]
    assert view.numbers[numbers].sum() == seen
    assert (view.numbers[9 : 9 + 56] > 0).any() and game.sight_text(s, 0).count(
        "hidden"
    ) == 4 - seen


def test_chance_draws_which_hands_are_shown():
    game = DOG.bind(reveal="0.25")
    s = game.fresh()
    assert game.turn(s) == CHANCE and game.chances(s)[:3] == [0.25, 0.75, 0]
    for outcome in (1, 0, 0, 1):
        assert game.action_text(s, outcome).endswith(("hidden", "shown")[outcome])
        game.play(s, outcome)
    assert s.shown.tolist() == [1, 0, 0, 1] and game.action_text(s, 0) == "seat 0 gets joker"
    s = random_states(game, 3, 200)[-1]
    rng = chance.stream(2, "search")
    for seat in range(4):
        t = game.copy(s)
        redeal(t, seat, rng)
        for view in ("default", "planes"):
            face = game.through(view)
            assert np.array_equal(face.look(t, seat), face.look(s, seat))


def test_positions_are_lawful_whatever_probability_they_began_with():
    """Training raises it from game to game; what is shown must still agree with it."""
    for reveal in ("all", "0.3", "own"):
        s = random_states(DOG.bind(reveal=reveal), 3, 60)[-1]
        for other in ("all", "0.6", "own"):
            assert DOG.bind(reveal=other).wrong_with(s) == ""
    s.shown[1] = 1
    assert "hands" in DOG.wrong_with(s)
    s.shown[1], s.hidden_per_mille = 0, 1001
    assert "hands" in DOG.wrong_with(s)
    s.hidden_per_mille = 0
    assert "hands" in DOG.wrong_with(s)


def test_planes_and_the_compact_view_show_the_same():
    for preset in ("madn", "dmadn", "dog"):
        game = games.load("madn", preset=preset)
        planes = game.through("planes")
        for s in random_states(game, 6, 120)[::11]:
            compact = game.look(s, 1).view(game.view)[0]
            whole = planes.look(s, 1).view(planes.view)[0].cells
            rows = len(compact.cells)
            assert np.array_equal(whole[:rows], compact.cells)
            assert (whole[rows:] == whole[rows:, :1]).all()
            numbers = compact.numbers
            if preset == "madn":
                numbers = numbers[:15]
            elif preset == "dmadn":
                numbers = np.delete(numbers, range(9, 15))
            assert np.array_equal(whole[rows:, 0], numbers)


def test_the_drawing_shows_the_ring_lanes_homes_and_the_own_hand():
    game, s = table("dog", {0: [0, 65], 1: [20]}, hand=[11, 7])
    drawing = game.sight_text(s, 0).splitlines()
    assert drawing[0].startswith("  0  a0 ..") and drawing[0].endswith("start of a")
    assert drawing[1].split()[5] == "b0"
    assert "seat 0 (a, you), partner of seat 2: lane .. a1 .. .., home a2 a3" in drawing
    assert "hand of seat 0: 2 cards, 7,ace" in drawing
    assert "hand of seat 1: 0 cards, hidden" in drawing


def test_a_person_sits_down_with_a_partner_and_two_opponents():
    shown = kibitz("play", "dog", "--seed", "3", typed="give 2\nquit\n").stdout
    assert "seat 0 (a, you), partner of seat 2" in shown
    for seat in (1, 2, 3):
        assert f"Seat {seat} (greedy): seat {seat} gives a card" in shown
    assert "seat 2 gets 2 from seat 0" in shown


def test_exchange_picks_do_not_reach_the_view_of_others():
    s = dealt(DOG)
    assert s.phase == EXCHANGE
    first, second = DOG.legal(s)[:2]
    after = []
    for action in (first, second):
        t = DOG.copy(s)
        DOG.play(t, action)
        after.append(t)
    for seat in (1, 2, 3):
        assert np.array_equal(DOG.look(after[0], seat), DOG.look(after[1], seat))
        assert DOG.known(after[0], seat) == DOG.known(after[1], seat)
    assert DOG.known(after[0], 0) != DOG.known(after[1], 0)
