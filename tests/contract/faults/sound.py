"""Sound: a hidden card each, one face down on the table, a word from each seat, and a die.

Of five cards seat 0 gets one, seat 1 gets one, and one is put aside, all face down. In turn each
seat passes, bets or shows its card. Then a die is thrown for all to see. The higher card wins as
many chips as the die shows, and one more for each bet.

It keeps every promise. The games beside it are this one with a single thing wrong.
"""

import numpy as np

from kibitz.chance import below, mix
from kibitz.game import CHANCE, OVER, Game, Shape, layout, record, rule

PASS, BET, SHOW = 0, 1, 2
CARDS, SIDES = 5, 3
NO_CARD, NO_WORD = -1, -1

FIELDS = (
    ("card", np.int8, 2),  # by seat, or NO_CARD
    ("aside", np.int8),  # the card that nobody sees, or NO_CARD
    ("word", np.int8, 2),  # by seat: PASS, BET or SHOW, or NO_WORD
    ("die", np.int8),  # 1 to 3, 0 before it is thrown
)

VIEW = layout(
    ("own", CARDS),  # one-hot
    ("shown", CARDS),  # one-hot: the other card, if it was shown
    ("word", (2, 3)),  # one-hot by seat
    ("die", 1),
)


def shape(state):
    return Shape(seats=2, num_actions=3, num_outcomes=CARDS, state=state, view=VIEW)


@rule
def start(s, options):
    for seat in range(2):
        s.card[seat] = NO_CARD
        s.word[seat] = NO_WORD
    s.aside = NO_CARD
    s.die = 0


@rule
def turn(s):
    if s.aside == NO_CARD:
        return CHANCE
    for seat in range(2):
        if s.word[seat] == NO_WORD:
            return seat
    return CHANCE if s.die == 0 else OVER


@rule
def odds(s, out):
    dealt = int(s.card[0] != NO_CARD) + int(s.card[1] != NO_CARD)
    for i in range(CARDS):
        if s.aside != NO_CARD:
            out[i] = 1 / SIDES if i < SIDES else 0.0
        else:
            out[i] = 0.0 if i == s.card[0] or i == s.card[1] else 1 / (CARDS - dealt)


@rule
def actions(s, out):
    out[0], out[1], out[2] = PASS, BET, SHOW
    return 3


@rule
def play(s, action):
    if s.card[0] == NO_CARD:
        s.card[0] = action
    elif s.card[1] == NO_CARD:
        s.card[1] = action
    elif s.aside == NO_CARD:
        s.aside = action
    elif s.word[0] == NO_WORD:
        s.word[0] = action
    elif s.word[1] == NO_WORD:
        s.word[1] = action
    else:
        s.die = action + 1


@rule
def score(s, out):
    chips = int(s.die) + int(s.word[0] == BET) + int(s.word[1] == BET)
    winner = 0 if s.card[0] > s.card[1] else 1
    out[winner] = chips
    out[1 - winner] = -chips


@rule
def observe(s, seat, view):
    for card in range(CARDS):
        view.own[card] = 1 if s.card[seat] == card else 0
        view.shown[card] = 1 if s.word[1 - seat] == SHOW and s.card[1 - seat] == card else 0
    for other in range(2):
        for word in range(3):
            view.word[other, word] = 1 if s.word[other] == word else 0
    view.die[0] = s.die


@rule
def redeal(s, seat, rng):
    """The other card, unless it was shown, and the card aside: both any card that is not seen."""
    own, other = s.card[seat], s.card[1 - seat]
    if other != NO_CARD and s.word[1 - seat] != SHOW:
        s.card[1 - seat] = NO_CARD
        other = drawn(s, rng) if own != NO_CARD else below(rng, CARDS)
        s.card[1 - seat] = other
    if s.aside != NO_CARD:
        s.aside = drawn(s, rng)


@rule
def drawn(s, rng):
    """A card that no seat holds."""
    left = CARDS - int(s.card[0] != NO_CARD) - int(s.card[1] != NO_CARD)
    skipped = below(rng, left)
    for card in range(CARDS):
        if card != s.card[0] and card != s.card[1]:
            if skipped == 0:
                return card
            skipped -= 1
    return NO_CARD


@rule
def known(s, seat):
    dealt = int(s.card[0] != NO_CARD) + int(s.card[1] != NO_CARD) + int(s.aside != NO_CARD)
    shown = int(s.card[1 - seat]) + 1 if s.word[1 - seat] == SHOW else 0
    number = seat + 2 * dealt + 8 * (int(s.card[seat]) + 1) + 64 * shown
    number += 512 * (int(s.word[0]) + 1) + 2048 * (int(s.word[1]) + 1) + 8192 * int(s.die)
    return mix(1, number) | np.uint64(1)


def action_text(s, action):
    if turn(s) == CHANCE:
        return f"card {action}" if s.aside == NO_CARD else f"the die shows {action + 1}"
    return ("pass", "bet", "show")[action]


def news(s, seat, move):
    """Words and the die are for everybody; of cards nobody hears."""
    return "" if s.aside == NO_CARD else action_text(s, move)


@rule
def bold(s, seat, rng):
    return BET if s.card[seat] >= 3 else PASS


GAME = Game(
    name="sound",
    version=1,
    shape=shape(record("sound", *FIELDS)),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    redeal=redeal,
    known=known,
    action_text=action_text,
    news=news,
    players={"bold": bold},
    score_range=(-5.0, 5.0),
)
