"""Liar's Dice against its specification: the section numbers are those of specs/liars_dice.md.

Functions named `..._by_the_book` are the rules once more, in plain Python written from the text.
"""

import random
import re
from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import comb

import numpy as np
import pytest

from kibitz import chance, games
from kibitz.game import CHANCE, OVER, NotationError
from kibitz.games import liars_dice

FIVES = games.load("liars_dice")

ROUNDS = [
    {},
    {"dice": (4, 5), "opening_call": True},
    {"dice": (5, 4)},
    {"dice": (1, 1)},
    {"dice": (1, 2), "ones_biddable": False},
    {"dice": (2, 1)},
    {"dice": (3, 3), "variant": "normal"},
    {"dice": (2, 3), "variant": "high", "opening_call": True},
    {"dice": (2, 2), "variant": "stairs"},
    {"dice": (2, 3), "sides": 3, "variant": "stairs"},
    {"dice": (3, 2), "sides": 3, "variant": "high"},
    {"dice": (3, 1), "sides": 1, "variant": "normal"},
    {"dice": (7, 9), "sides": 4},  # 64 bids, the most there can be
]


def options_id(options):
    return "-".join(str(v) for v in options.values()) or "default"


every_round = pytest.mark.parametrize(
    "game", [FIVES.bind(**o) for o in ROUNDS], ids=map(options_id, ROUNDS)
)


# The book ---------------------------------------------------------------------------------------


def bids_by_the_book(o):
    """How many there are, and so the number of the call."""
    return sum(o.dice) * o.sides * (2 if o.variant == "stairs" else 1)


def legal_by_the_book(o, history):
    bids = bids_by_the_book(o)
    if bids in history:
        return []
    last = history[-1] if history else -1
    without_ones = o.variant == "stairs" or not o.ones_biddable
    higher = [b for b in range(last + 1, bids) if not (without_ones and b % o.sides == 0)]
    return higher + [bids] * bool(history or o.opening_call)


def matches_by_the_book(o, hand, face):
    if o.variant == "stairs" and sorted(hand) == list(range(1, len(hand) + 1)):
        return len(hand) + 1
    wild = {"joker": 1, "high": o.sides}.get(o.variant, face)
    return sum(die in (face, wild) for die in hand)


def winner_by_the_book(o, hands, history):
    *bids, call = history
    caller = len(bids) % 2
    assert call == bids_by_the_book(o)
    if not bids:
        return 1 - caller
    count, face = bids[-1] // o.sides + 1, bids[-1] % o.sides + 1
    found = sum(matches_by_the_book(o, list(hand), face) for hand in hands)
    return 1 - caller if found >= count else caller


def encoded_by_the_book(o, hand, seat, history):
    """Section 3: the indices of the ones in priv and in pub."""
    slots, bids = max(o.dice), bids_by_the_book(o)
    priv = [(f - 1) * slots + k for f in set(hand) for k in range(hand.count(f))]
    pub = [(k % 2) * (bids + 2) + action for k, action in enumerate(history)]
    pub.append(len(history) % 2 * (bids + 2) + bids + 1)
    return sorted([*priv, slots * o.sides + seat]), sorted(pub)


def ones(vector):
    assert set(vector.tolist()) <= {0.0, 1.0}
    return np.flatnonzero(vector).tolist()


def halves(game, s, seat):
    """(priv, pub) as `observe` writes them."""
    return np.split(game.look(s, seat), [game.view["priv"].shape[0]])


def random_hands(o, dice):
    return [[dice.randint(1, o.sides) for _ in range(n)] for n in o.dice]


def random_history(o, dice):
    """A complete round in small steps, so that histories get long."""
    history = []
    while legal := legal_by_the_book(o, history):
        may_call = legal[-1] == bids_by_the_book(o)
        stop = may_call and dice.random() < 0.12
        history.append(legal[-1] if stop else dice.choice(legal[:7]))
    return history


def random_rounds(game, count, seed=0):
    dice = random.Random(f"{seed} {options_id(vars(game.options))}")
    for _ in range(count):
        yield random_hands(game.options, dice), random_history(game.options, dice)


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
            each.name: [d.dim_value for d in each.type.tensor_type.shape.dim]
            for each in onnx.load(file).graph.input
        }
        assert inputs == {name: list(game.view[name].shape) for name in ("priv", "pub")}, file.name


# Worked numbers -----------------------------------------------------------------------------------

A, B = (2, 2, 3, 5, 6), (1, 3, 4, 4, 6)


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


# Players that need no learning --------------------------------------------------------------------


def chance_by_the_book(o, hand, others, bid):
    """Section 8: q(b), exactly."""
    count, face = bid // o.sides + 1, bid % o.sides + 1
    needed = count - matches_by_the_book(o, list(hand), face)
    if needed <= 0:
        return Fraction(1)
    profits = {"joker": face != 1, "high": face != o.sides}.get(o.variant, False)
    w = Fraction(2 if profits else 1, o.sides)
    return sum(
        (comb(others, k) * w**k * (1 - w) ** (others - k) for k in range(needed, others + 1)),
        Fraction(0),
    )


def honest_by_the_book(o, hand, others, history):
    call = bids_by_the_book(o)
    bids = [b for b in legal_by_the_book(o, history) if b != call]
    if not bids:
        return call
    q = {b: chance_by_the_book(o, hand, others, b) for b in bids}
    best = min(bids, key=lambda b: (-q[b], b))
    if history and 1 - chance_by_the_book(o, hand, others, history[-1]) >= q[best]:
        return call
    return best


def threshold_by_the_book(o, hand, others, history):
    call = bids_by_the_book(o)
    if history and chance_by_the_book(o, hand, others, history[-1]) < Fraction(1, 2):
        return call
    bids = [b for b in legal_by_the_book(o, history) if b != call]
    likely = [b for b in bids if chance_by_the_book(o, hand, others, b) >= Fraction(1, 2)]
    if likely:
        return likely[-1]
    return honest_by_the_book(o, hand, others, history) if history else bids[0]


BOOK = {"honest": honest_by_the_book, "threshold": threshold_by_the_book}


@every_round
@pytest.mark.parametrize("player", BOOK)
def test_a_baseline_chooses_as_the_book_says(game, player):
    o, rng = game.options, chance.stream(0, "player")
    decisions = 0
    for hands, history in random_rounds(game, 12):
        s = liars_dice.position(game, hands)
        for k, action in enumerate(history):
            chosen = game.players[player](s, k % 2, rng)
            book = BOOK[player](o, hands[k % 2], o.dice[1 - k % 2], history[:k])
            assert chosen == book, (game.text(s), player)
            assert chosen in game.legal(s)
            decisions += 1
            game.play(s, action)
    assert decisions >= 24


@pytest.mark.parametrize(
    "options",
    [
        {"dice": (1, 1)},
        {"dice": (2, 3)},
        {"dice": (1, 2), "ones_biddable": False},
        {"dice": (2, 3), "variant": "normal"},
        {"dice": (3, 2), "variant": "high", "sides": 3},
        {"dice": (1, 3), "variant": "normal", "sides": 1},
        {"dice": (1, 3), "variant": "high", "sides": 1},
    ],
    ids=options_id,
)
def test_support_counts_the_rolls_that_make_a_bid_good(options):
    game = FIVES.bind(**options)
    o, dice = game.options, random.Random(2)
    for _ in range(4):
        hands = random_hands(o, dice)
        s = liars_dice.position(game, hands)
        for seat in range(2):
            rolls = list(product(range(1, o.sides + 1), repeat=o.dice[1 - seat]))
            assert liars_dice.all_rolls(s, seat) == len(rolls)
            for bid in range(o.bids):
                count, face = bid // o.sides + 1, bid % o.sides + 1
                own = matches_by_the_book(o, hands[seat], face)
                good = sum(own + matches_by_the_book(o, list(r), face) >= count for r in rolls)
                assert liars_dice.support(s, seat, bid) == good, (hands, seat, bid)


def test_the_threshold_player_opens_low_when_nothing_is_likely():
    game = FIVES.bind(dice=(2, 2), variant="stairs")
    s = liars_dice.position(game, [(1, 1), (1, 1)])
    assert game.players["threshold"](s, 0, chance.stream(0, "player")) == 1  # one two


# Matches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("die_loss", "scores", "dice", "seats"),
    [
        ("loser", [-1, 1], (3, 3), (0, 1)),  # seat 0 lost a die and opens
        ("loser", [1, -1], (2, 4), (1, 0)),  # seat 1 lost a die, opens and is now seat 0
        ("winner", [-1, 1], (4, 2), (0, 1)),
        ("winner", [1, -1], (3, 3), (1, 0)),
    ],
)
def test_the_loser_of_a_round_opens_the_next(die_loss, scores, dice, seats):
    options = FIVES.bind(dice=(4, 3), die_loss=die_loss).options
    following, sitting = FIVES.next_round(options, scores)
    assert (following.dice, sitting) == (dice, seats)
    assert following.die_loss == die_loss


@pytest.mark.parametrize(
    ("die_loss", "dice", "scores", "goes_on"),
    [
        ("none", (5, 5), [1, -1], False),
        ("loser", (1, 4), [-1, 1], False),
        ("loser", (4, 1), [1, -1], False),
        ("loser", (1, 4), [1, -1], True),
        ("winner", (1, 4), [1, -1], False),
        ("winner", (4, 1), [-1, 1], False),
        ("winner", (1, 4), [-1, 1], True),
    ],
)
def test_a_match_ends_when_a_seat_has_no_dice(die_loss, dice, scores, goes_on):
    options = FIVES.bind(dice=dice, die_loss=die_loss).options
    assert (FIVES.next_round(options, scores) is not None) == goes_on


def pairs_met(die_loss):
    waiting, met = [FIVES.bind(die_loss=die_loss).options], set()
    while waiting:
        options = waiting.pop()
        if options.dice not in met:
            met.add(options.dice)
            rounds = [FIVES.next_round(options, scores) for scores in ([1, -1], [-1, 1])]
            waiting += [following[0] for following in rounds if following]
    return met


def test_matches_from_five_dice_meet_all_pairs_in_both_orders():
    """Who opens has just lost a die (loser), or has watched the other seat give one up (winner)."""
    fewer, all_five = range(1, 5), range(1, 6)
    assert pairs_met("loser") == {(5, 5), *product(fewer, all_five)}
    assert pairs_met("winner") == {(5, 5), *product(all_five, fewer)}
    uneven = {pair for pair in product(all_five, all_five) if pair[0] != pair[1]}
    assert uneven <= pairs_met("loser") | pairs_met("winner")


@pytest.mark.parametrize(
    ("preset", "chosen"),
    [
        ("dudo", {"variant": "joker", "die_loss": "winner", "opening_call": True}),
        ("perudo", {"variant": "joker", "die_loss": "loser", "opening_call": False}),
        ("openspiel", {"variant": "high", "die_loss": "none", "ones_biddable": True}),
    ],
)
def test_presets_choose_the_options_they_are_named_for(preset, chosen):
    options = vars(FIVES.bind(preset=preset).options)
    assert {name: options[name] for name in chosen} == chosen


# What people type ---------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["3 6", "3x6", " 3 X 6 ", "3  6", "3 x6", "3X 6\n", "03x06"])
def test_a_bid_is_read_as_people_type_it(typed):
    assert FIVES.read_action(liars_dice.position(FIVES, [A, B], [3]), typed) == 17


@pytest.mark.parametrize("typed", ["liar", "LIAR", "lie", "Call", " L i a r ", "CALL\n"])
def test_a_call_is_read_as_people_type_it(typed):
    assert FIVES.read_action(liars_dice.position(FIVES, [A, B], [3]), typed) == 60


@pytest.mark.parametrize(
    "typed",
    [
        *("", "six", "3", "36", "3x", "x6", "3x6x2", "-3x6", "3.5x6", "3 of 6", "0x6", "3x0"),
        *("3x7", "11x6", "liarliar", "bluff", "rolls 4", "1x5x", "9" * 30 + "x1"),
    ],
)
def test_anything_else_is_refused_with_what_was_typed(typed):
    s = liars_dice.position(FIVES, [A, B], [3])
    with pytest.raises(NotationError, match=re.escape(repr(typed))):
        FIVES.read_action(s, typed)


def test_a_die_is_read_as_people_type_it():
    s = FIVES.fresh()
    assert FIVES.turn(s) == CHANCE
    assert [FIVES.read_action(s, typed) for typed in ("rolls 4", "4", " Rolls4 ")] == [3, 3, 3]
    for typed in ("liar", "3x6", "four"):
        with pytest.raises(NotationError, match=typed):
            FIVES.read_action(s, typed)
    with pytest.raises(ValueError, match="7"):
        FIVES.read_action(s, "7")


@every_round
def test_positions_read_back_from_their_text(game):
    for hands, history in random_rounds(game, 6):
        s = game.fresh()
        for move in [die - 1 for hand in hands for die in hand] + history:
            assert game.read(game.text(s)).tobytes() == s.tobytes()
            assert game.read(f"  {game.text(s).upper()} ").tobytes() == s.tobytes()
            game.play(s, game.read_action(s, game.action_text(s, move)))
        assert game.read(game.text(s)).tobytes() == s.tobytes()


def test_the_table_as_seen_hides_the_other_dice_until_the_call():
    s = liars_dice.position(FIVES, [A, B], [17, 22])
    assert FIVES.seen(s, 0) == (
        "Your dice: 2 2 3 5 6\nThe other seat has 5 dice\nSaid so far: you 3x6, they 4x5"
    )
    FIVES.play(s, 60)
    assert "The other dice: 1 3 4 4 6" in FIVES.seen(s, 0)


# Bad input, section 9 -----------------------------------------------------------------------------


def refused(offending, ask):
    """`ask` raises a ValueError whose message names what was wrong."""
    with pytest.raises(ValueError) as caught:
        ask()
    assert type(caught.value) is not ValueError, "one of our own classes"
    assert offending in str(caught.value)


@pytest.mark.parametrize(
    ("options", "offending"),
    [
        ({"dice": (0, 5)}, "(0, 5)"),
        ({"dice": (5, -1)}, "(5, -1)"),
        ({"dice": (5.0, 5)}, "(5.0, 5)"),
        ({"dice": (True, 5)}, "(True, 5)"),
        ({"dice": (5,)}, "(5,)"),
        ({"dice": (5, 5, 5)}, "(5, 5, 5)"),
        ({"dice": 5}, "dice=5"),
        ({"dice": "5;5"}, "5;5"),
        ({"sides": 0}, "sides=0"),
        ({"sides": -6, "variant": "normal"}, "sides=-6"),
        ({"sides": 6.0}, "sides=6.0"),
        ({"sides": "six"}, "six"),
        ({"variant": "wild"}, "wild"),
        ({"variant": None}, "variant=None"),
        ({"variant": "joker", "sides": 1}, "sides=1"),
        ({"variant": "stairs", "sides": 1}, "sides=1"),
        ({"variant": "normal", "ones_biddable": False}, "normal"),
        ({"variant": "stairs", "ones_biddable": False}, "stairs"),
        ({"ones_biddable": "perhaps"}, "perhaps"),
        ({"die_loss": "both"}, "both"),
        ({"dice": (6, 5)}, "(6, 5)"),  # 66 bids: more than the record has bits for
    ],
    ids=str,
)
def test_options_that_make_no_game_are_refused(options, offending):
    refused(offending, lambda: FIVES.bind(**options))


@pytest.mark.parametrize(
    ("hands", "offending"),
    [
        ([(1, 2, 3, 4), B], "(1, 2, 3, 4)"),
        ([A, (1, 1, 1, 1, 1, 1)], "(1, 1, 1, 1, 1, 1)"),
        ([A, ()], "()"),
        ([(0, 2, 3, 4, 5), B], "0"),
        ([A, (1, 2, 3, 4, 7)], "7"),
        ([A, (1, 2, 3, 4, -1)], "-1"),
        ([A, (1, 2, 3, 4, 2.5)], "2.5"),
        ([A, (1, 2, 3, 4, "6")], "'6'"),
        ([A], "1"),
        ([A, B, B], "3"),
    ],
    ids=str,
)
def test_hands_that_nobody_can_roll_are_refused(hands, offending):
    refused(offending, lambda: liars_dice.position(FIVES, hands))


@pytest.mark.parametrize("seat", [2, -1, 0.5, "0", None])
def test_a_seat_that_is_not_at_the_table_is_refused(seat):
    refused(repr(seat), lambda: FIVES.look(liars_dice.position(FIVES, [A, B]), seat))


@pytest.mark.parametrize(
    ("options", "history", "offending"),
    [
        ({}, [-1], "-1"),
        ({}, [61], "61"),
        ({}, [17, 61], "61"),
        ({}, [17.0], "17.0"),
        ({}, ["17"], "'17'"),
        ({}, [17, 17], "17"),
        ({}, [17, 3], "3"),
        ({}, [17, 60, 22], "22"),
        ({}, [17, 60, 60], "60"),
        ({}, [60], "60"),
        ({"ones_biddable": False}, [6], "6"),
        ({"ones_biddable": False}, [17, 18], "18"),
        ({"dice": (2, 2), "variant": "stairs"}, [0], "0"),
    ],
    ids=str,
)
def test_actions_against_the_rules_are_refused(options, history, offending):
    game = FIVES.bind(**options)
    hands = [(2,) * n for n in game.options.dice]
    refused(f"action {offending}", lambda: liars_dice.position(game, hands, history))


@pytest.mark.parametrize("history", [[], [17], [17, 22]], ids=str)
def test_an_unfinished_round_has_no_winner(history):
    s = liars_dice.position(FIVES, [A, B], history)
    refused(FIVES.text(s), lambda: FIVES.scores(s))


def vector(name, history=(), changes=()):
    """`priv` of seat 0 or `pub` of a position of the default game, with some entries changed."""
    s = liars_dice.position(FIVES, [A, B], history)
    made = halves(FIVES, s, 0)[name == "pub"].copy()
    for place, value in dict(changes).items():
        made[place] = value
    return made


DECODE = {"priv": liars_dice.decode_private, "pub": liars_dice.decode_public}


@pytest.mark.parametrize(
    ("spoil", "offending"),
    [
        (lambda v: v[:-1], {"priv": "31", "pub": "123"}),
        (lambda v: np.append(v, np.float32(0)), {"priv": "33", "pub": "125"}),
        (lambda v: v.reshape(2, -1), {"priv": "[2, 16]", "pub": "[2, 62]"}),
        (lambda v: v.astype(np.float64), "float64"),
        (lambda v: v.astype(np.int8), "int8"),
        (lambda v: v.tolist(), "list"),
    ],
    ids=["short", "long", "two rows", "float64", "int8", "list"],
)
@pytest.mark.parametrize("name", DECODE)
def test_vectors_of_another_form_are_refused(name, spoil, offending):
    offending = offending[name] if isinstance(offending, dict) else offending
    refused(offending, lambda: DECODE[name](FIVES, spoil(vector(name))))


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf, 0.5, -1.0, 2.0], ids=str)
@pytest.mark.parametrize("name", DECODE)
def test_vectors_with_other_entries_than_0_and_1_are_refused(name, entry):
    refused(str(entry), lambda: DECODE[name](FIVES, vector(name, changes={5: entry})))


@pytest.mark.parametrize(
    ("history", "changes", "offending"),
    [
        ([], {123: 1}, "2 to-move bits"),
        ([], {61: 0}, "0 to-move bits"),
        ([17, 22], {17 + 62: 1}, "bid 17 in both segments"),
        ([17, 22], {22 + 62: 0, 22: 1}, "bid 22"),  # two bids of seat 0 in a row
        ([17], {17: 0, 17 + 62: 1}, "bid 17"),  # seat 1 opened
        ([17], {123: 0, 61: 1}, "1 actions"),
        ([17, 22], {61: 0, 123: 1}, "2 actions"),
        ([17, 22, 60], {60: 0, 60 + 62: 1}, "call"),
        ([17, 22, 60], {60 + 62: 1}, "call"),
        ([], {60: 1, 61: 0, 123: 1}, "action 60"),  # a call before any bid
    ],
    ids=str,
)
def test_public_vectors_of_no_history_are_refused(history, changes, offending):
    refused(offending, lambda: liars_dice.decode_public(FIVES, vector("pub", history, changes)))


def test_public_vectors_with_bids_on_ones_are_refused_where_there_are_none():
    pub = vector("pub", [6])
    assert liars_dice.decode_public(FIVES, pub) == ([6], 1)
    refused("6", lambda: liars_dice.decode_public(FIVES.bind(ones_biddable=False), pub))


@pytest.mark.parametrize(
    ("changes", "offending"),
    [
        ({31: 1}, "2 seats"),
        ({30: 0}, "0 seats"),
        ({5: 0, 7: 1}, "gap"),
        ({0: 1}, "6 dice"),
        ({25: 0}, "4 dice"),
    ],
    ids=str,
)
def test_private_vectors_of_no_hand_are_refused(changes, offending):
    refused(offending, lambda: liars_dice.decode_private(FIVES, vector("priv", [], changes)))


def test_a_short_hand_in_the_wrong_seat_is_refused():
    game = FIVES.bind(dice=(4, 5))
    priv = halves(game, liars_dice.position(game, [(1, 1, 4, 6), B]), 0)[0].copy()
    priv[-2:] = 0, 1
    refused("4 dice, seat 1 has 5", lambda: liars_dice.decode_private(game, priv))


@pytest.mark.parametrize(
    ("text", "offending"),
    [
        ("", "''"),
        ("hello", "hello"),
        ("2,2,3,5,6", "2,2,3,5,6"),
        ("2,2,3,5,6 / 1,3,4,4,7", "7"),
        ("2,2,3,5,6 / 1,3,4,4,0", "0"),
        ("2,2,3,5,6,1 / 1,3,4,4,6", "2,2,3,5,6,1"),
        ("2,2 / 1,3", "2,2 / 1,3"),
        ("2,2,3,5,6 / 1 : 1x1", "2,2,3,5,6 / 1 : 1x1"),
        ("2,2,3,5,6 / 1,3,4,4,6 : liar", "60"),
        ("2,2,3,5,6 / 1,3,4,4,6 : 3x6, 3x5", "3x5"),
        ("2,2,3,5,6 / 1,3,4,4,6 : 3x6, liar, liar", "60"),
        ("2,2,3,5,6 / 1,3,4,4,6 : 3x6,", "''"),
        ("2,2,3,5,6 / 1,3,4,4,6 : 3x6, maybe", "maybe"),
    ],
)
def test_texts_that_are_no_position_are_refused(text, offending):
    refused(offending, lambda: FIVES.read(text))
