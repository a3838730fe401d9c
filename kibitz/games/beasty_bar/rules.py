"""The rules of Beasty Bar, in the order they happen at the table: a trick, a turn, a game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...game import CHANCE, OVER, OptionError, Options, record, rule
from ...records import RecordType
from .cards import (
    CHAMELEON,
    CROCODILE,
    DECK,
    FULL_QUEUE,
    GIRAFFE,
    HAND,
    HIPPO,
    KANGAROO,
    LION,
    MONKEY,
    NOBODY,
    PARROT,
    SEAL,
    SKUNK,
    SNAKE,
    ZEBRA,
    at,
    count,
    drawn,
    joined,
    length,
    lowest,
    moved,
    owner,
    place,
    points,
    species,
    without,
)

RECURRING = 1 << HIPPO | 1 << CROCODILE | 1 << GIRAFFE
NEEDY = 1 << PARROT | 1 << CHAMELEON  # these do nothing if the queue is empty

# The card in a slot of the hand can be played in 31 ways: without parameters, with one or with two.
# () is way 0, (f,) is 1 + 6 f, (f, g) is 2 + 6 f + g; f and g are places in the queue or distances.
WAYS = 1 + FULL_QUEUE * (1 + FULL_QUEUE)
ONE_PARAMETER = sum(1 << 1 + 6 * f for f in range(FULL_QUEUE))  # all (f,), as a set of ways

POINTS_COUNT, ANIMALS_COUNT = range(2)  # this and the next lines: in the order of the options below
TIE_IS_A_DRAW, TIE_TO_THE_WEAK, TIE_BY_POINTS = range(3)
ALLOW, FORBID = range(2)
ONCE, MOVING_INDEX = range(2)


@dataclass(frozen=True)
class BeastyBarOptions(Options):
    """How many play, and the rules in which editions differ."""

    players: int = 2
    """Seats at the table, 2 to 4."""
    start: int = 0
    """The seat that begins."""
    scoring: Literal["points", "animals"] = "points"
    """What counts in the bar: the points on the cards, or one point per animal."""
    tie: Literal["draw", "low_strength", "points"] = "draw"
    """Who wins at equal scores: nobody, the weaker animals in the bar, or the more points there."""
    empty_plays: Literal["allow", "forbid"] = "allow"
    """Whether a parrot may be played with nobody to chase, or a chameleon with nobody to copy."""
    recurring: Literal["once", "moving_index"] = "once"
    """How hippos, crocodiles and giraffes act again: each once per turn, or by a moving index as in
    the engine of the published network, where a giraffe that a hippo passes may act twice."""
    early_stop: bool = False
    """Whether the game ends as soon as nobody else can enter the bar."""

    def check(self) -> None:
        if not 2 <= self.players <= 4:
            raise OptionError(f"players={self.players}: two to four can play")
        if not 0 <= self.start < self.players:
            raise OptionError(f"start={self.start}: the seats are 0 to {self.players - 1}")
        if self.tie == "points" and self.scoring == "points":
            raise OptionError("tie=points is for scoring=animals: equal points decide nothing")


def state(players: int) -> RecordType:
    return record(
        "beasty_bar",
        ("queue", np.int64),  # a line, from the gate
        ("hand", np.int32, players),  # by seat: a line, in order of arrival
        ("pile", np.int16, players),  # by seat: a set
        ("bar", np.int8, 12 * players),  # cards in order of arrival, 0 where none yet
        ("thats_it", np.int8, 12 * players),  # likewise
        ("entered", np.int8),  # how many are in the bar
        ("thrown", np.int8),  # how many are in THAT'S IT
        ("turns", np.int8),  # played so far
        ("seat", np.int8),  # who plays next
        ("draws", np.int8),  # who draws a card before that, or NOBODY
        ("scoring", np.int8),
        ("tie", np.int8),
        ("empty_plays", np.int8),
        ("recurring", np.int8),
        ("early_stop", np.int8),
    )


# The animals: what they do at their index in the queue, and who leaves ----------------------------


@rule
def stop(queue, i, strength):
    """The index that a hippo or crocodile gets to: behind a zebra or an animal as strong."""
    while i > 0:
        ahead = species(at(queue, i - 1))
        if ahead >= strength or ahead == ZEBRA:
            break
        i -= 1
    return i


@rule
def hippo(queue, i):
    return moved(queue, i, stop(queue, i, HIPPO))


@rule
def crocodile(queue, i):
    gone = 0
    for eaten in range(i - 1, stop(queue, i, CROCODILE) - 1, -1):
        gone = joined(gone, at(queue, eaten))
        queue = without(queue, eaten)
    return queue, gone


@rule
def giraffe(queue, i):
    if i > 0 and species(at(queue, i - 1)) < GIRAFFE:
        return moved(queue, i, i - 1)
    return queue


@rule
def lion(queue, me):
    rest, gone = 0, 0
    for i in range(me):
        card = at(queue, i)
        if species(card) == LION:
            return without(queue, me), at(queue, me)
        if species(card) == MONKEY:
            gone = joined(gone, card)
        else:
            rest = joined(rest, card)
    return joined(at(queue, me), rest), gone


@rule
def snake(queue, me):
    ordered = 0
    for i in range(me + 1):
        strength = SNAKE if i == me else species(at(queue, i))  # a chameleon sorts as a snake
        to = i
        while to > 0 and species(at(ordered, to - 1)) < strength:
            to -= 1
        ordered = moved(joined(ordered, at(queue, i)), i, to)
    return ordered


@rule
def seal(queue, me):
    turned = 0
    for i in range(me + 1):
        turned = turned << 8 | at(queue, i)
    return turned


@rule
def monkey(queue, me):
    gang, rest, gone = 0, 0, 0
    for i in range(me):
        card = at(queue, i)
        if species(card) == MONKEY:
            gang = gang << 8 | card  # the last to come stands first
        elif species(card) == HIPPO or species(card) == CROCODILE:
            gone = joined(gone, card)
        else:
            rest = joined(rest, card)
    if gang == 0:
        return queue, 0
    return joined(gang << 8 | at(queue, me), rest), gone


@rule
def skunk(queue, me):
    first, second = SKUNK, SKUNK  # the two strongest species ahead; skunks are immune
    for i in range(me):
        kind = species(at(queue, i))
        if kind > first:
            first, second = kind, first
        elif second < kind < first:
            second = kind
    rest, gone = 0, 0
    for i in range(me):
        card = at(queue, i)
        if species(card) != SKUNK and species(card) >= second:
            gone = joined(gone, card)
        else:
            rest = joined(rest, card)
    return joined(rest, at(queue, me)), gone


# A turn ------------------------------------------------------------------------------------------


@rule
def act(queue, me, role, choice):
    """The queue, and who left it in order, after the card at the back has done what `role` does.

    choice: the kangaroo's distance or the parrot's victim; below 0 if nobody is ahead.
    """
    gone = 0
    if role == LION:
        queue, gone = lion(queue, me)
    elif role == HIPPO:
        queue = hippo(queue, me)
    elif role == CROCODILE:
        queue, gone = crocodile(queue, me)
    elif role == SNAKE:
        queue = snake(queue, me)
    elif role == GIRAFFE:
        queue = giraffe(queue, me)
    elif role == SEAL:
        queue = seal(queue, me)
    elif role == MONKEY:
        queue, gone = monkey(queue, me)
    elif role == KANGAROO and choice > 0:
        queue = moved(queue, me, me - choice)
    elif role == PARROT and choice >= 0:
        queue, gone = without(queue, choice), at(queue, choice)
    elif role == SKUNK:
        queue, gone = skunk(queue, me)
    return queue, gone


@rule
def recurs(card):
    return RECURRING >> species(card) & 1


@rule
def act_again(queue, i):
    kind = species(at(queue, i))
    if kind == CROCODILE:
        return crocodile(queue, i)
    return hippo(queue, i) if kind == HIPPO else giraffe(queue, i), 0


@rule
def recur_once(queue, played):
    """Animals that were there before act again. Which ones is fixed before the first one moves."""
    again, gone = 0, 0
    for i in range(FULL_QUEUE):
        card = at(queue, i)
        if recurs(card) and card != played:
            again = joined(again, card)
    while again:
        i = place(queue, at(again, 0))
        if i != NOBODY:  # not eaten in the meantime
            queue, eaten = act_again(queue, i)
            gone = joined(gone, eaten)
        again >>= 8
    return queue, gone


@rule
def recur_by_index(queue, played):
    """An index moves along the queue; animals that it meets act, except a giraffe just played."""
    i, gone = 0, 0
    while i < length(queue):
        card = at(queue, i)
        if recurs(card) and not (card == played and species(card) == GIRAFFE):
            queue, eaten = act_again(queue, i)
            gone = joined(gone, eaten)
            i = place(queue, card)
        i += 1
    return queue, gone


@rule
def after_turn(queue, card, way, recurring):
    """After a card is played: the queue, who enters the bar, who goes to THAT'S IT, in order."""
    me, role, choice = length(queue), species(card), (way - 1) // 6
    if role == CHAMELEON:
        role = species(at(queue, choice)) if way > 0 else ZEBRA  # nobody to copy: it just joins
        choice = (way - 1) % 6 - 1
    queue, gone = act(joined(queue, card), me, role, choice)
    if recurring == ONCE:
        queue, eaten = recur_once(queue, card)
    else:
        queue, eaten = recur_by_index(queue, card)
    gone, entered = joined(gone, eaten), 0
    if length(queue) == FULL_QUEUE:
        entered = queue & 0xFFFF
        gone = joined(gone, at(queue, 4))
        queue = queue >> 16 & 0xFFFF
    return queue, entered, gone


@rule
def ways_to_play(card, queue, forbid):
    """The set of ways in which a card may be played to a queue."""
    kind, waiting, ways = species(card), length(queue), 0
    if kind == KANGAROO and waiting > 0:
        ways = 1 << 7 if waiting == 1 else 1 << 7 | 1 << 13  # (1,), or (1,) and (2,)
    elif kind == PARROT and waiting > 0:
        ways = ONE_PARAMETER & ((1 << 6 * waiting) - 1)
    elif kind == CHAMELEON:
        for target in range(waiting):
            role = species(at(queue, target))
            if role == PARROT:
                ways |= ((1 << waiting) - 1) << 2 + 6 * target
            elif role == KANGAROO:
                ways |= (2 if waiting == 1 else 6) << 2 + 6 * target
            elif role != CHAMELEON:
                ways |= 2 << 6 * target
    if ways == 0 and not (forbid and NEEDY >> kind & 1):
        return 1
    return ways


@rule
def list_actions(hand, queue, forbid, out):
    """Every way to play every card of a hand, in ascending order, as `actions` promises."""
    n = 0
    for strict in range(forbid, -1, -1):  # if the strict rule leaves nothing, it is waived
        for slot in range(length(hand) if n == 0 else 0):
            ways = ways_to_play(at(hand, slot), queue, strict)
            while ways:
                out[n] = WAYS * slot + lowest(ways)
                ways &= ways - 1
                n += 1
    return n


# The game ----------------------------------------------------------------------------------------


@rule
def start(s, options):
    s.queue = 0
    for seat in range(s.hand.shape[0]):
        s.hand[seat] = 0
        s.pile[seat] = DECK
    for i in range(s.bar.shape[0]):
        s.bar[i] = s.thats_it[i] = 0
    s.entered = s.thrown = s.turns = 0
    s.seat = options.start
    s.draws = 0
    s.scoring = options.scoring
    s.tie = options.tie
    s.empty_plays = options.empty_plays
    s.recurring = options.recurring
    s.early_stop = options.early_stop


@rule
def left(s):
    """How many cards are still in the queue, in hands and in piles."""
    return s.bar.shape[0] - int(s.entered) - int(s.thrown)


@rule
def turn(s):
    if s.turns == s.bar.shape[0] or (s.early_stop and left(s) < FULL_QUEUE):
        return OVER
    return CHANCE if s.draws != NOBODY else int(s.seat)


@rule
def odds(s, out):
    pile = int(s.pile[s.draws])
    for outcome in range(12):
        out[outcome] = 1.0 / count(pile) if pile >> outcome + 1 & 1 else 0.0


@rule
def roll(s, rng):
    outcome = drawn(int(s.pile[s.draws]), rng) - 1
    draw(s, outcome)
    return outcome


@rule
def draw(s, outcome):
    """The seat that draws gets the species outcome + 1. The deal is four draws per seat."""
    seat = int(s.draws)
    s.pile[seat] = int(s.pile[seat]) & ~(2 << outcome)
    s.hand[seat] = joined(int(s.hand[seat]), 16 * seat + outcome + 1)
    if s.turns > 0:
        s.draws = NOBODY
    elif length(int(s.hand[seat])) == HAND:
        s.draws = seat + 1 if seat + 1 < s.hand.shape[0] else NOBODY


@rule
def actions(s, out):
    return list_actions(int(s.hand[s.seat]), int(s.queue), int(s.empty_plays), out)


@rule
def play(s, action):
    if s.draws != NOBODY:
        draw(s, int(action))
        return
    seat, slot, way = int(s.seat), int(action) // WAYS, int(action) % WAYS
    hand = int(s.hand[seat])
    s.hand[seat] = without(hand, slot)
    s.queue, entered, gone = after_turn(int(s.queue), at(hand, slot), way, int(s.recurring))
    while entered:
        s.bar[s.entered] = at(entered, 0)
        s.entered += 1
        entered >>= 8
    while gone:
        s.thats_it[s.thrown] = at(gone, 0)
        s.thrown += 1
        gone >>= 8
    s.turns += 1
    s.seat = seat + 1 if seat + 1 < s.hand.shape[0] else 0
    if s.pile[seat]:
        s.draws = seat


@rule
def points_of(s, seat):
    """The points of a seat's animals in the bar."""
    total = 0
    for i in range(s.entered):
        card = int(s.bar[i])
        total += points(card) if owner(card) == seat else 0
    return total


@rule
def standing(s, seat):
    """The number that ranks seats: the score and, in the last two digits, the tie-break."""
    animals, strength = 0, 0
    for i in range(s.entered):
        card = int(s.bar[i])
        if owner(card) == seat:
            animals += 1
            strength += species(card)
    scored = animals if s.scoring == ANIMALS_COUNT else points_of(s, seat)
    if s.tie == TIE_TO_THE_WEAK:
        return 100 * scored + 99 - strength
    return 100 * scored + (points_of(s, seat) if s.tie == TIE_BY_POINTS else 0)


@rule
def score(s, out):
    players = s.hand.shape[0]
    for seat in range(players):
        won = 0
        for other in range(players):
            ahead = standing(s, seat) - standing(s, other)
            won += 1 if ahead > 0 else -1 if ahead < 0 else 0
        out[seat] = won / (players - 1)


@rule
def margin(s, out):
    """Own points less the mean of the others', divided by the 36 points of a set of cards."""
    players, total = s.hand.shape[0], 0
    for seat in range(players):
        total += points_of(s, seat)
    for seat in range(players):
        out[seat] = (players * points_of(s, seat) - total) / (36 * (players - 1))
