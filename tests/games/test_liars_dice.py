"""Liar's Dice against its specification: the section numbers are those of specs/liars_dice.md."""

import random
import re
from collections import defaultdict
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from liars_dice_book import (
    FIVES,
    A,
    B,
    encoded_by_the_book,
    every_round,
    halves,
    legal_by_the_book,
    ones,
    random_hands,
    random_rounds,
    winner_by_the_book,
)

from kibitz import chance
from kibitz.game import OVER
from kibitz.games import liars_dice

# What independent engines and the published networks say -----------------------------------------


@pytest.fixture
def case(oracle_case):
    """A case and our game under its options; the networks' action set has the opening call."""
    keys = {"sides", "variant", "ones_biddable"} & oracle_case.keys()
    options = {key: oracle_case[key] for key in keys}
    dice = (oracle_case["d1"], oracle_case["d2"])
    return oracle_case, FIVES.bind(dice=dice, opening_call=True, **options)


def oracle_states(case, game):
    """The case's position under several hands of the seat it says nothing about."""
    sides, others = game.options.sides, game.options.dice[1 - case["perspective"]]
    dice = random.Random(case["id"])
    hands = {(1,) * others, (sides,) * others, tuple(dice.choices(range(1, sides + 1), k=others))}
    for hidden in sorted(hands):
        pair = [case["roll"], hidden] if case["perspective"] == 0 else [hidden, case["roll"]]
        yield liars_dice.position(game, pair, case["history"])


@pytest.mark.oracle("liars_dice", "cases")
def test_encodings_equal_those_of_the_reference_networks(case):
    said, game = case
    for s in oracle_states(said, game):
        priv, pub = halves(game, s, said["perspective"])
        assert ones(priv) == said["priv_ones"]
        assert ones(pub) == said["pub_ones"]


@pytest.mark.oracle("liars_dice", "cases")
def test_whose_turn_it_is_equals_the_oracle(case):
    said, game = case
    for s in oracle_states(said, game):
        assert (game.turn(s) == OVER) == said["terminal"]
        assert said["terminal"] or game.turn(s) == said["to_move"]


@pytest.mark.oracle("liars_dice", "cases")
def test_encodings_of_the_reference_networks_decode(case):
    said, game = case
    priv = np.zeros(game.view["priv"].shape, np.float32)
    pub = np.zeros(game.view["pub"].shape, np.float32)
    priv[said["priv_ones"]] = 1
    pub[said["pub_ones"]] = 1
    hand, seat = liars_dice.decode_private(game, priv)
    assert (list(hand), seat) == (sorted(said["roll"]), said["perspective"])
    assert liars_dice.decode_public(game, pub) == (said["history"], said["to_move"])


def test_the_published_networks_take_views_of_our_sizes(models):
    import onnx

    files = sorted((models / "liars_dice").glob("*.onnx"))
    assert files, f"{models}/liars_dice has no networks"
    for file in files:
        d1, d2, variant = re.fullmatch(r"model_(\d)(\d)_(\w+)", file.stem).groups()
        game = FIVES.bind(dice=(int(d1), int(d2)), variant=variant)
        inputs = {
            field.name: [d.dim_value for d in field.type.tensor_type.shape.dim]
            for field in onnx.load(file).graph.input
        }
        assert inputs == {name: list(game.view[name].shape) for name in ("priv", "pub")}, file.name


# Worked numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "pub_ones"),
    [([], [61]), ([17], [17, 123]), ([17, 22], [17, 61, 84]), ([17, 22, 60], [17, 60, 84, 123])],
)
def test_the_worked_example_is_encoded_as_printed(history, pub_ones):
    s = liars_dice.position(FIVES, [A, B], history)
    for seat, priv_ones in enumerate([[5, 6, 10, 20, 25, 30], [0, 10, 15, 16, 25, 31]]):
        priv, pub = halves(FIVES, s, seat)
        assert ones(priv) == priv_ones
        assert ones(pub) == pub_ones


def test_the_worked_example_of_four_against_five_is_encoded_as_printed():
    game = FIVES.bind(dice=(4, 5))
    priv, pub = halves(game, liars_dice.position(game, [(1, 1, 4, 6), B], [3, 16]), 0)
    assert ones(priv) == [0, 1, 15, 25, 30]
    assert ones(pub) == [3, 55, 72]


@pytest.mark.parametrize(
    ("dice", "private", "bids", "public"),
    [
        ((1, 1), 8, 12, 28),
        ((1, 2), 14, 18, 40),
        ((2, 1), 14, 18, 40),
        ((2, 2), 14, 24, 52),
        ((3, 3), 20, 36, 76),
        ((4, 4), 26, 48, 100),
        ((4, 5), 32, 54, 112),
        ((5, 4), 32, 54, 112),
        ((5, 5), 32, 60, 124),
    ],
)
def test_sizes_are_those_of_the_table(dice, private, bids, public):
    game = FIVES.bind(dice=dice)
    assert game.view["priv"].shape == (private,)
    assert game.view["pub"].shape == (public,)
    assert game.view_size == private + public
    assert game.options.bids == bids
    assert game.num_actions == bids + 1
    assert game.fresh().liar == bids


@pytest.mark.parametrize(
    ("dice", "bid", "action"),
    [
        ((5, 5), "1x1", 0),
        ((5, 5), "1x6", 5),
        ((5, 5), "2x1", 6),
        ((5, 5), "3x6", 17),
        ((5, 5), "4x5", 22),
        ((5, 5), "10x6", 59),
        ((5, 5), "liar", 60),
        ((4, 5), "liar", 54),
        ((1, 1), "liar", 12),
    ],
)
def test_actions_are_numbered_as_printed(dice, bid, action):
    game = FIVES.bind(dice=dice, opening_call=True)
    s = liars_dice.position(game, [(1,) * n for n in dice])
    assert game.read_action(s, bid) == action
    assert game.action_text(s, action) == bid


# The rules ----------------------------------------------------------------------------------------


@every_round
def test_legal_actions_and_winners_are_those_of_the_book(game):
    o = game.options
    for hands, history in random_rounds(game, 25):
        s = liars_dice.position(game, hands)
        for k, action in enumerate(history):
            assert game.turn(s) == k % 2
            assert game.legal(s) == legal_by_the_book(o, history[:k])
            game.play(s, action)
        assert game.turn(s) == OVER
        won = winner_by_the_book(o, hands, history)
        assert game.scores(s) == [1 if seat == won else -1 for seat in range(2)]


def bid_is_good(variant, hands, count, face, sides=6):
    game = FIVES.bind(dice=tuple(map(len, hands)), variant=variant, sides=sides)
    bid = (count - 1) * sides + face - 1
    scores = game.scores(liars_dice.position(game, hands, [bid, game.options.bids]))
    assert scores in ([1, -1], [-1, 1])
    return scores == [1, -1]


@pytest.mark.parametrize(
    ("variant", "face", "most"),
    [
        ("joker", 4, 4),  # two fours and two ones
        ("joker", 1, 2),  # ones count once
        ("joker", 2, 3),
        ("joker", 6, 2),
        ("normal", 4, 2),
        ("normal", 1, 2),
        ("normal", 2, 1),
        ("normal", 6, 0),
        ("high", 4, 2),
        ("high", 6, 0),
    ],
)
def test_a_bid_is_good_up_to_the_dice_that_match(variant, face, most):
    hands = [(1, 1, 4), (2, 4)]
    assert [bid_is_good(variant, hands, count, face) for count in range(1, 6)] == [
        count <= most for count in range(1, 6)
    ]


@pytest.mark.parametrize(("face", "most"), [(1, 3), (2, 3), (3, 2), (4, 3), (5, 2), (6, 2)])
def test_sixes_are_wild_in_high(face, most):
    hands = [(1, 6, 6), (2, 4)]
    assert bid_is_good("high", hands, most, face)
    assert not bid_is_good("high", hands, most + 1, face)


@pytest.mark.parametrize(
    ("hands", "face", "most"),
    [
        ([(1,), (1,)], 5, 4),  # both show stairs: two each, of every face
        ([(1,), (5,)], 5, 3),
        ([(1,), (5,)], 2, 2),
        ([(2,), (5,)], 5, 1),
        ([(2, 1), (3, 1)], 6, 3),  # 1 and 2 count as three; 1 and 3 are no stairs, and no ones wild
        ([(2, 1), (3, 1)], 3, 4),
        ([(2, 1), (1, 2)], 4, 6),
        ([(1, 1), (2, 2)], 2, 2),
    ],
)
def test_stairs_count_one_more_than_their_dice_of_every_face(hands, face, most):
    counts = range(1, 2 * len(hands[0] + hands[1]) + 1)
    assert [bid_is_good("stairs", hands, count, face) for count in counts] == [
        count <= most for count in counts
    ]


def test_a_hand_longer_than_the_die_has_faces_is_never_stairs():
    assert bid_is_good("stairs", [(1, 2, 3), (2,)], 4 + 1, 2, sides=3)
    assert not bid_is_good("stairs", [(1, 2, 3, 3), (2,)], 3, 2, sides=3)


def test_stairs_bid_up_to_twice_the_dice_and_never_on_ones():
    game = FIVES.bind(dice=(2, 2), variant="stairs")
    s = liars_dice.position(game, [(1, 2), (1, 2)])
    assert game.legal(s) == [b for b in range(2 * 4 * 6) if b % 6]
    assert game.action_text(s, game.legal(s)[-1]) == "8x6"


def test_a_call_before_any_bid_loses_where_it_is_allowed():
    game = FIVES.bind(opening_call=True)
    s = liars_dice.position(game, [A, B])
    assert game.legal(s) == list(range(61))
    game.play(s, 60)
    assert (game.turn(s), game.scores(s)) == (OVER, [-1, 1])
    assert FIVES.legal(liars_dice.position(FIVES, [A, B])) == list(range(60))


def test_without_ones_no_bid_on_ones_is_legal():
    game = FIVES.bind(ones_biddable=False)
    s = liars_dice.position(game, [A, B])
    assert game.legal(s) == [b for b in range(60) if b % 6]
    game.play(s, 17)
    assert game.legal(s) == [b for b in range(18, 60) if b % 6] + [60]


@every_round
def test_after_the_highest_bid_there_is_only_the_call(game):
    highest = game.options.bids - 1
    s = liars_dice.position(game, [(1,) * n for n in game.options.dice], [highest])
    assert game.legal(s) == [highest + 1]


# Counting -----------------------------------------------------------------------------------------


def public_states(game):
    """Every history that is not over, each met once, as its encoding."""
    waiting = [liars_dice.position(game, [(1,) * n for n in game.options.dice])]
    while waiting:
        s = waiting.pop()
        yield game.look(s, 0).tobytes()
        for action in game.legal(s):
            if action != s.liar:
                waiting.append(game.copy(s))
                game.play(waiting[-1], action)


@pytest.mark.parametrize(
    ("options", "bids"),
    [
        ({"dice": (1, 1), "sides": 6}, 12),
        ({"dice": (1, 2), "sides": 3}, 9),
        ({"dice": (2, 1), "sides": 3, "variant": "high"}, 9),
        ({"dice": (3, 1), "sides": 1, "variant": "normal"}, 4),
        ({"dice": (1, 1), "sides": 6, "ones_biddable": False}, 10),
        ({"dice": (1, 1), "sides": 3, "variant": "stairs"}, 8),
    ],
    ids=str,
)
def test_a_walk_meets_two_to_the_bids_public_states(options, bids):
    met = list(public_states(FIVES.bind(**options)))
    assert len(met) == len(set(met)) == 2**bids


@pytest.mark.parametrize("dice", [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (4, 5), (5, 5)], ids=str)
def test_larger_games_have_two_to_the_bids_public_states_too(dice):
    """What may follow depends on the standing bid alone, so sums from the top down will do."""
    game = FIVES.bind(dice=dice)
    following = {}
    for last in reversed(range(-1, game.options.bids)):
        s = liars_dice.position(game, [(1,) * n for n in dice], [last] if last >= 0 else [])
        following[last] = 1 + sum(following[b] for b in game.legal(s) if b != s.liar)
    assert following[-1] == 2**game.options.bids


@pytest.mark.parametrize("count", range(1, 6))
def test_there_are_as_many_hands_as_multisets(count):
    game = FIVES.bind(dice=(count, 1))
    hands = {game.fresh().tobytes(): game.fresh()}
    for _ in range(count):
        rolled = [(game.copy(s), face) for s in hands.values() for face in game.moves(s)]
        for s, face in rolled:
            game.play(s, face)
        hands = {s.tobytes(): s for s, _ in rolled}
    private = {halves(game, s, 0)[0].tobytes() for s in hands.values()}
    known = {int(game.known(s, 0)) for s in hands.values()}
    assert len(hands) == len(private) == len(known) == [6, 21, 56, 126, 252][count - 1]


# Encodings ----------------------------------------------------------------------------------------


@every_round
def test_views_are_those_of_the_book_and_decode_to_what_was_encoded(game):
    for hands, history in random_rounds(game, 12):
        s = liars_dice.position(game, hands)
        for k in range(len(history) + 1):
            for seat in range(2):
                priv, pub = halves(game, s, seat)
                book = encoded_by_the_book(game.options, hands[seat], seat, history[:k])
                assert (ones(priv), ones(pub)) == book
                assert liars_dice.decode_private(game, priv) == (tuple(sorted(hands[seat])), seat)
                assert liars_dice.decode_public(game, pub) == (history[:k], k % 2)
            if k < len(history):
                game.play(s, history[k])


@every_round
def test_a_view_written_over_an_older_one_is_the_same(game):
    """A buffer is zeroed once, when it is made."""
    view = np.zeros(1, game.view)
    for hands, history in random_rounds(game, 8):
        for part in (history, history[:1], []):
            s = liars_dice.position(game, hands, part)
            game.observe(s, 1, view[0])
            assert view.tobytes() == game.look(s, 1).tobytes()


@every_round
def test_replaying_a_history_equals_playing_on(game):
    for hands, history in random_rounds(game, 8):
        s = liars_dice.position(game, hands)
        for k, action in enumerate(history):
            game.play(s, action)
            assert s.tobytes() == liars_dice.position(game, hands, history[: k + 1]).tobytes()
            assert liars_dice.history(s) == history[: k + 1]


# Invariances --------------------------------------------------------------------------------------


def test_the_order_of_a_roll_changes_nothing():
    game = FIVES.bind(dice=(3, 4))
    for hands, history in random_rounds(game, 3):
        s = liars_dice.position(game, hands, history)
        for other in product(permutations(hands[0]), permutations(hands[1])):
            assert liars_dice.position(game, other, history).tobytes() == s.tobytes()


@every_round
def test_the_other_hand_shows_in_nothing_a_seat_gets(game):
    dice = random.Random(1)
    for hands, history in random_rounds(game, 10):
        history = history[:-1]
        for seat in range(2):
            s = liars_dice.position(game, hands, history)
            other = random_hands(game.options, dice)
            other[seat] = hands[seat]
            twin = liars_dice.position(game, other, history)
            assert game.look(twin, seat).tobytes() == game.look(s, seat).tobytes()
            assert game.known(twin, seat) == game.known(s, seat)
            assert game.seen(twin, seat) == game.seen(s, seat)
            assert game.legal(twin) == game.legal(s)
            for player in game.players.values():
                rng = chance.stream(1, "player")
                assert player(twin, seat, rng) == player(s, seat, rng)


@pytest.mark.parametrize(
    ("field", "place", "value", "law"),
    [
        ("hand", (0, 3), 1, 1),
        ("hand", (0, 0), 2, 1),
        ("dice", (0,), 3, 0),
        ("rolled", (), 3, 1),
        ("last", (), 3, 2),
        ("length", (), 1, 2),
    ],
)
def test_a_position_that_breaks_a_law_is_answered_with_it(field, place, value, law):
    game = FIVES.bind(dice=(2, 2))
    s = liars_dice.position(game, [(1, 2), (3, 4)], [2, 9])
    assert game.wrong_with(s) == ""
    states = np.array([s])
    states[field][0, *place] = value
    assert game.wrong_with(states[0]) == liars_dice.FLAWS[law]


def test_a_die_is_news_for_the_seat_that_rolls_it_alone():
    game = FIVES.bind(dice=(1, 1))
    s = game.fresh()
    for seat in range(2):
        assert [game.news(s, hearer, 4) for hearer in range(2)] == [
            "rolls 5" if hearer == seat else "" for hearer in range(2)
        ]
        game.play(s, 4)
    assert {game.news(s, hearer, 4) for hearer in range(2)} == {"1x5"}


@every_round
def test_playing_on_a_copy_leaves_the_original_alone(game):
    for hands, history in random_rounds(game, 5):
        s = liars_dice.position(game, hands, history[:-1])
        before = s.tobytes()
        twin = game.copy(s)
        game.play(twin, history[-1])
        game.redeal(twin, 0, chance.stream(1, "table"))
        assert s.tobytes() == before != twin.tobytes()


@pytest.mark.parametrize("dice", [(1, 1), (2, 3), (3, 2), (1, 2)], ids=str)
def test_different_knowledge_has_different_names(dice):
    """All hands of both seats before the first bid, after one, and after the call."""
    game = FIVES.bind(dice=dice)
    names = defaultdict(set)
    rolls = [list(combinations_with_replacement(range(1, 7), n)) for n in dice]
    for history in ([], [3], [4], [3, game.options.bids]):
        for hands in product(*rolls):
            s = liars_dice.position(game, hands, history)
            for seat in range(2):
                names[int(game.known(s, seat))].add((seat, hands[seat], *history))
    shared = [sorted(meanings) for meanings in names.values() if len(meanings) > 1]
    assert not shared, f"one name for {shared[0]}"
    assert len(names) == 4 * sum(map(len, rolls))


def test_a_new_hand_of_the_other_seat_is_any_roll_with_its_probability():
    game = FIVES.bind(dice=(1, 2), sides=3)
    rng, counts = chance.stream(5, "search"), defaultdict(int)
    for _ in range(3600):
        s = liars_dice.position(game, [(2,), (1, 1)], [1])
        game.redeal(s, 0, rng)
        assert game.text(s).startswith("2 / ")
        counts[game.text(s)] += 1
    expected = {f"2 / {a},{b} : 1x2": 400 * (1 + (a != b)) for a in (1, 2, 3) for b in range(a, 4)}
    assert counts.keys() == expected.keys()
    chi_square = sum((counts[k] - n) ** 2 / n for k, n in expected.items())
    assert chi_square < 5 + 5 * 10**0.5
