"""Liar's Dice: its players, match play, what people type, and bad input."""

import random
import re
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from liars_dice_book import (
    FIVES,
    A,
    B,
    bids_by_the_book,
    every_round,
    halves,
    legal_by_the_book,
    matches_by_the_book,
    options_id,
    random_hands,
    random_rounds,
)

from kibitz import chance
from kibitz.game import CHANCE, NotationError
from kibitz.games import liars_dice

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
            assert liars_dice.players.all_rolls(s, seat) == len(rolls)
            for bid in range(o.bids):
                count, face = bid // o.sides + 1, bid % o.sides + 1
                own = matches_by_the_book(o, hands[seat], face)
                good = sum(own + matches_by_the_book(o, list(r), face) >= count for r in rolls)
                assert liars_dice.players.support(s, seat, bid) == good, (hands, seat, bid)


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
    vector = halves(FIVES, s, 0)[name == "pub"].copy()
    for place, value in dict(changes).items():
        vector[place] = value
    return vector


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
