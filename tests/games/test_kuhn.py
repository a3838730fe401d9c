"""Kuhn poker against its whole tree, written down by hand."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from kibitz import chance, games
from kibitz.game import CHANCE, OVER, NotationError
from kibitz.games import kuhn

GAME = games.load("kuhn")
DEALS = list(permutations(range(3), 2))

# What seat 0 gets when it holds the higher card, and when it holds the lower.
PAYOFFS = {"pp": (1, -1), "bp": (1, 1), "bb": (2, -2), "pbp": (-1, -1), "pbb": (2, -2)}
TO_MOVE = {"": 0, "p": 1, "b": 1, "pb": 0}
THIRD = Fraction(1, 3)

# Probability of a bet by (card, bets so far). Seat 1 has one equilibrium strategy, seat 0 a family
# with a parameter from 0 to 1/3: Kuhn 1950.
SECOND = {
    (0, "p"): THIRD,
    (0, "b"): 0,
    (1, "p"): 0,
    (1, "b"): THIRD,
    (2, "p"): 1,
    (2, "b"): 1,
}


def first(alpha):
    return {
        (0, ""): alpha,
        (0, "pb"): 0,
        (1, ""): 0,
        (1, "pb"): alpha + THIRD,
        (2, ""): 3 * alpha,
        (2, "pb"): 1,
    }


def dealt(cards, bets=""):
    s = GAME.fresh()
    for move in (*cards, *("pb".index(bet) for bet in bets)):
        GAME.play(s, move)
    return s


def bets_of(s):
    return "".join("pb"[bet] for bet in s.bets[: s.length])


def walk(s):
    """The state and all that can follow."""
    yield s
    for move in GAME.moves(s):
        after = GAME.copy(s)
        GAME.play(after, move)
        yield from walk(after)


def test_the_tree_has_58_states_of_which_30_are_final():
    turns = [GAME.turn(s) for s in walk(GAME.fresh())]
    assert turns.count(CHANCE) == 1 + 3
    assert turns.count(0) == 6 * 2 and turns.count(1) == 6 * 2
    assert turns.count(OVER) == 6 * 5
    assert len(turns) == 58


def test_every_state_of_the_tree_has_its_own_text_and_reads_back():
    texts = set()
    for s in walk(GAME.fresh()):
        texts.add(GAME.text(s))
        assert GAME.read(GAME.text(s).upper()).tobytes() == s.tobytes()
    assert len(texts) == 58


@pytest.mark.parametrize("bets", TO_MOVE, ids=lambda bets: bets or "start")
@pytest.mark.parametrize("cards", DEALS)
def test_the_seat_to_move_may_pass_or_bet(cards, bets):
    s = dealt(cards, bets)
    assert GAME.turn(s) == TO_MOVE[bets]
    assert GAME.legal(s) == [kuhn.PASS, kuhn.BET]


@pytest.mark.parametrize("bets", PAYOFFS)
@pytest.mark.parametrize("cards", DEALS)
def test_payoffs_are_those_of_the_table(cards, bets):
    s = dealt(cards, bets)
    won = PAYOFFS[bets][0 if cards[0] > cards[1] else 1]
    assert GAME.turn(s) == OVER
    assert GAME.scores(s) == [won, -won]


def test_each_deal_comes_once_in_six():
    s = GAME.fresh()
    assert GAME.chances(s) == pytest.approx([1 / 3] * 3)
    GAME.play(s, 1)
    assert GAME.chances(s) == pytest.approx([1 / 2, 0, 1 / 2])


def value(s, strategies):
    """What seat 0 expects when each seat bets with the probability of its strategy."""
    who = GAME.turn(s)
    if who == OVER:
        return Fraction(int(GAME.scores(s)[0]))
    bet = Fraction(strategies[who][int(s.card[who]), bets_of(s)])
    return sum(p * value(after(s, move), strategies) for move, p in ((0, 1 - bet), (1, bet)) if p)


def after(s, move):
    twin = GAME.copy(s)
    GAME.play(twin, move)
    return twin


def mean_value(strategies):
    return sum(value(dealt(cards), strategies) for cards in DEALS) / 6


def best_response(seat, strategy):
    """What `seat` gets at most against a strategy, a hand: exact, over information sets."""
    total = Fraction(0)
    for card in range(3):
        hands = [dealt(cards) for cards in DEALS if cards[seat] == card]
        total += best([(s, Fraction(1, 6)) for s in hands], seat, strategy)
    return total


def best(weighted, seat, strategy):
    """All states look the same to `seat`; a weight is how probable chance and the other made it."""
    s = weighted[0][0]
    assert len({int(GAME.known(state, seat)) for state, _ in weighted}) == 1
    if GAME.turn(s) == OVER:
        return sum(weight * int(GAME.scores(state)[seat]) for state, weight in weighted)
    branches = []
    for move in (kuhn.PASS, kuhn.BET):
        moved = [(after(state, move), weight) for state, weight in weighted]
        if GAME.turn(s) != seat:
            bets = [
                Fraction(strategy[int(state.card[1 - seat]), bets_of(s)]) for state, _ in weighted
            ]
            chances = bets if move == kuhn.BET else [1 - bet for bet in bets]
            moved = [(s, w * p) for (s, w), p in zip(moved, chances, strict=True)]
        branches.append(best(moved, seat, strategy))
    return max(branches) if GAME.turn(s) == seat else sum(branches)


def test_uniform_play_wins_the_first_seat_one_eighth():
    uniform = dict.fromkeys([*first(0), *SECOND], Fraction(1, 2))
    assert mean_value([uniform, uniform]) == Fraction(1, 8)


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1, 7), THIRD], ids=str)
def test_equilibrium_costs_the_first_seat_one_eighteenth(alpha):
    assert mean_value([first(alpha), SECOND]) == Fraction(-1, 18)
    assert best_response(1, first(alpha)) == Fraction(1, 18)


def test_nobody_gains_against_the_second_seats_equilibrium():
    assert best_response(0, SECOND) == Fraction(-1, 18)


def test_a_best_response_punishes_uniform_play():
    uniform = dict.fromkeys([*first(0), *SECOND], Fraction(1, 2))
    nash_conv = best_response(0, uniform) + best_response(1, uniform)
    assert nash_conv / 2 == Fraction(11, 24)  # 0.4583...


def test_a_view_is_the_own_card_and_the_bets():
    assert GAME.view_size == 9
    assert GAME.look(dealt((2, 0), "pb"), 0).tolist() == [0, 0, 1, 1, 0, 0, 1, 0, 0]
    assert GAME.look(dealt((2, 0), "pb"), 1).tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 0]


def test_what_a_seat_knows_is_named_once():
    """The seat, its card and the bets: as many names as there are different things to know."""
    pairs = {
        ((seat, int(s.card[seat]), bets_of(s)), int(GAME.known(s, seat)))
        for s in walk(GAME.fresh())
        for seat in range(2)
    }
    knowledge, names = zip(*pairs, strict=True)
    assert len(pairs) == len(set(knowledge)) == len(set(names)) == 2 * (1 + 3 * 9)


@pytest.mark.parametrize(
    ("field", "place", "value", "law"),
    [("card", (1,), 2, 0), ("card", (0,), -1, 0), ("card", (1,), 3, 0), ("length", (), 3, 1)],
)
def test_a_position_that_breaks_a_law_is_answered_with_it(field, place, value, law):
    s = GAME.read("kq b")
    assert GAME.wrong_with(s) == ""
    states = np.array([s])
    states[field][0, *place] = value
    assert GAME.wrong_with(states[0]) == kuhn.FLAWS[law]


def test_a_card_is_news_for_the_seat_that_is_dealt_it_alone():
    s = GAME.fresh()
    for dealt in range(2):
        assert [bool(GAME.news(s, seat, dealt)) for seat in range(2)] == [dealt == 0, dealt == 1]
        GAME.play(s, dealt)
    assert [GAME.news(s, seat, kuhn.BET) for seat in range(2)] == ["bet", "bet"]


def test_a_redeal_gives_the_other_seat_either_of_the_other_cards():
    s, rng = GAME.read("kq p"), chance.stream(1, "search")
    for seat, texts in ((0, {"kq p", "kj p"}), (1, {"kq p", "jq p"})):
        met = set()
        for _ in range(40):
            t = GAME.copy(s)
            GAME.redeal(t, seat, rng)
            met.add(GAME.text(t))
        assert met == texts


@pytest.mark.parametrize("text", ["", "kk", "k", "xq", "-q", "kq bpb", "kq ppp", "k- p", "-- b"])
def test_a_text_that_is_no_position_is_refused(text):
    with pytest.raises(NotationError, match=text or "''"):
        GAME.read(text)


@pytest.mark.parametrize(("typed", "action"), [("pass", 0), (" BET ", 1), ("b e t", 1)])
def test_actions_are_read_in_any_case_and_with_blanks(typed, action):
    assert GAME.read_action(dealt((0, 1)), typed) == action


def test_an_unknown_action_is_answered_with_the_choices():
    with pytest.raises(NotationError, match="'raise' is not an action here; there are: pass, bet"):
        GAME.read_action(dealt((0, 1)), "raise")


def test_the_table_as_seen_hides_the_other_card_until_the_end():
    assert "jack" not in GAME.seen(dealt((2, 0), "p"), 0)
    assert GAME.seen(dealt((2, 0), "pp"), 0).endswith("The other seat held the jack.")
