"""Kuhn poker: three cards, two seats, one bet.

Each seat antes 1 and gets one card of jack < queen < king. Seat 0 passes or bets 1, then seat 1
does; a pass answering a bet folds, a bet answering a bet calls. It is the smallest game with a
bluff in it: with perfect play seat 0 loses exactly 1/18 of a chip per hand, which makes it our
measuring stick.

Source: H. W. Kuhn, "A simplified two-person poker", 1950.
"""

from __future__ import annotations

import numpy as np

from ..chance import below, mix
from ..game import (
    CHANCE,
    ONLOOKER,
    OVER,
    Game,
    NotationError,
    Shape,
    layout,
    record,
    rule,
    squeezed,
)

PASS, BET = 0, 1
NO_CARD = -1
CARDS = "jqk"

STATE = record(
    "kuhn",
    ("card", np.int8, 2),  # by seat: 0 jack, 1 queen, 2 king, or NO_CARD
    ("bets", np.int8, 3),  # PASS or BET, oldest first
    ("length", np.int8),  # bets so far
)

VIEW = layout(
    ("card", 3),  # one-hot: the seat's own card
    ("bets", (3, 2)),  # one-hot per bet; zeros where none yet
)


@rule
def start(s, options):
    for seat in range(2):
        s.card[seat] = NO_CARD
    for i in range(3):
        s.bets[i] = PASS
    s.length = 0


@rule
def turn(s):
    if s.card[1] == NO_CARD:
        return CHANCE
    if s.length == 2 and s.bets[0] == PASS and s.bets[1] == BET:
        return 0  # seat 1 opened: seat 0 must answer
    return s.length if s.length < 2 else OVER


@rule
def odds(s, out):
    left = 3 if s.card[0] == NO_CARD else 2
    for card in range(3):
        out[card] = 0.0 if card == s.card[0] else 1.0 / left


@rule
def actions(s, out):
    out[0], out[1] = PASS, BET
    return 2


@rule
def play(s, action):
    if s.card[0] == NO_CARD:
        s.card[0] = action
    elif s.card[1] == NO_CARD:
        s.card[1] = action
    else:
        s.bets[s.length] = action
        s.length += 1


@rule
def score(s, out):
    last = s.length - 1
    higher = 0 if s.card[0] > s.card[1] else 1
    if s.bets[last] == BET:
        winner, chips = higher, 2  # bet and call
    elif s.bets[last - 1] == BET:
        winner, chips = last - 1, 1  # the last pass folded to the bet before it
    else:
        winner, chips = higher, 1
    out[winner] = chips
    out[1 - winner] = -chips


@rule
def observe(s, seat, view):
    for card in range(3):
        view.card[card] = 1 if card == s.card[seat] else 0
    for i in range(3):
        for bet in range(2):
            view.bets[i, bet] = 1 if i < s.length and bet == s.bets[i] else 0


@rule
def redeal(s, seat, rng):
    if s.card[1] == NO_CARD and seat == 1:
        s.card[0] = below(rng, 3) if s.card[0] != NO_CARD else NO_CARD
    elif s.card[1] != NO_CARD:
        s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3


@rule
def known(s, seat):
    number = 1 + int(s.card[seat]) + 4 * int(s.length) + 16 * seat
    for i in range(s.length):
        number += (32 << i) * int(s.bets[i])
    return mix(1, number) | np.uint64(1)


# Which positions are possible ---------------------------------------------------------------------

FLAWS = (
    "the seats are dealt two different cards of three, seat 0 first",
    "bets come after the cards, and end with two passes or an answer to a bet",
)


@rule
def flaw(s, fresh):
    first, second = int(s.card[0]), int(s.card[1])
    if not (NO_CARD <= first < 3 and NO_CARD <= second < 3):
        return 1
    if first == second != NO_CARD or first == NO_CARD != second:
        return 1
    if not 0 <= s.length <= 3 or (s.length > 0 and second == NO_CARD):
        return 2
    for i in range(3):
        if s.bets[i] != PASS and (s.bets[i] != BET or i >= s.length):
            return 2
    if s.length == 3 and (s.bets[0] != PASS or s.bets[1] != BET):
        return 2
    return 0


# In words -------------------------------------------------------------------------------------


def text(s):
    """ "kq pb": king for seat 0, queen for seat 1, then pass, bet."""
    cards = "".join("-" if c == NO_CARD else CARDS[c] for c in s.card)
    return f"{cards} {''.join('pb'[b] for b in s.bets[: s.length])}".strip()


def parse(s, notation):
    clean = squeezed(notation)
    cards, bets = clean[:2], clean[2:]
    ends = ("pp", "pbp", "pbb", "bp", "bb")
    if (
        len(set(cards)) != (1 if cards == "--" else 2)
        or not set(cards) <= set(CARDS + "-")
        or cards[0] == "-" != cards[1]
    ):
        raise NotationError(
            f"{notation!r} does not begin with two different cards of j, q, k, such as kq"
        )
    if not any(end.startswith(bets) for end in ends) or (bets and "-" in cards):
        raise NotationError(f"{notation!r} does not end with bets such as p, pb, pbb or bb")
    for seat in range(2):
        s.card[seat] = CARDS.find(cards[seat])
    for i, bet in enumerate(bets):
        s.bets[i] = "pb".index(bet)
    s.length = len(bets)


def seen(s, seat):
    cards = ["jack", "queen", "king"]
    bets = ", ".join(("pass", "bet")[b] for b in s.bets[: s.length])
    sentences = [f"Bets so far: {bets or 'none'}."]
    if seat != ONLOOKER:
        own = "no card yet" if s.card[seat] == NO_CARD else f"the {cards[s.card[seat]]}"
        sentences.insert(0, f"You hold {own}.")
    if turn(s) == OVER:
        others = {"Seat 0": 0, "Seat 1": 1} if seat == ONLOOKER else {"The other seat": 1 - seat}
        sentences += [f"{name} held the {cards[s.card[who]]}." for name, who in others.items()]
    return " ".join(sentences)


def news(s, seat, move):
    """Everybody hears a bet; only the seat that is dealt a card sees it."""
    if turn(s) == CHANCE and seat != (0 if s.card[0] == NO_CARD else 1):
        return ""
    return action_text(s, move)


def action_text(s, action):
    return ("jack", "queen", "king")[action] if turn(s) == CHANCE else ("pass", "bet")[action]


GAME = Game(
    name="kuhn",
    version=1,
    shape=Shape(seats=2, num_actions=2, num_outcomes=3, state=STATE, view=VIEW),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    redeal=redeal,
    known=known,
    flaw=flaw,
    flaws=FLAWS,
    text=text,
    parse=parse,
    seen=seen,
    action_text=action_text,
    news=news,
    onlookers=True,
    open_spiel=lambda options: "kuhn_poker",
    score_range=(-2.0, 2.0),
    perfect_recall=True,
)
