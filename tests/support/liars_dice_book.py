"""The rules of Liar's Dice once more, for the tests, in plain Python written from the text."""

import random

import numpy as np
import pytest

from kibitz import games

FIVES = games.load("liars_dice")
A, B = (2, 2, 3, 5, 6), (1, 3, 4, 4, 6)

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
