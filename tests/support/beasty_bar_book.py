"""The rules of Beasty Bar once more, for the tests: plain Python over lists of names.

Functions named `..._by_the_book` are written from the text of the rules. A card is written "lion0",
a queue as "lion0 seal1", gate first.
"""

import random

import numpy as np
import pytest

from kibitz import chance, games
from kibitz.game import CHANCE, OVER
from kibitz.games.beasty_bar import cards
from kibitz.games.beasty_bar.cards import NOBODY
from kibitz.games.beasty_bar.text import cards_of, line_of, name

TWO = games.load("beasty_bar")
EARLY = TWO.bind(early_stop=True)

OPTIONS = [
    {},
    {"early_stop": True},
    {"start": 1, "recurring": "moving_index", "tie": "low_strength"},
    {"empty_plays": "forbid", "scoring": "animals"},
    {"empty_plays": "forbid", "early_stop": True},
    {"players": 3, "start": 2, "scoring": "animals", "tie": "points"},
    {"players": 3, "empty_plays": "forbid", "early_stop": True},
    {"players": 4, "start": 3},
    {"players": 4, "recurring": "moving_index", "tie": "low_strength", "empty_plays": "forbid"},
]


def options_id(options):
    return "-".join(f"{n}={v}" for n, v in options.items()) or "default"


every_option = pytest.mark.parametrize(
    "game", [TWO.bind(**o) for o in OPTIONS], ids=map(options_id, OPTIONS)
)


# The book ---------------------------------------------------------------------------------------

# Section 1: strength, species, points, alphabetical id.
TABLE = """
 1 skunk 4 9
 2 parrot 4 7
 3 kangaroo 4 4
 4 monkey 3 6
 5 chameleon 3 0
 6 seal 2 8
 7 zebra 4 11
 8 giraffe 3 2
 9 snake 2 10
10 crocodile 3 1
11 hippo 2 3
12 lion 2 5
"""
STRENGTH, POINTS, ALPHABETICAL = {}, {}, {}
for _row in TABLE.strip().splitlines():
    _strength, _species, _points, _id = _row.split()
    STRENGTH[_species], POINTS[_species] = int(_strength), int(_points)
    ALPHABETICAL[_species] = int(_id)


def kind(card):
    return card.rstrip("0123")


def owner(card):
    return int(card[-1])


def jump(queue, card, to):
    queue.remove(card)
    queue.insert(to, card)


def hippo_by_the_book(queue, card, out):
    at = queue.index(card)
    while at and STRENGTH[kind(queue[at - 1])] < 11 and kind(queue[at - 1]) != "zebra":
        at -= 1
    jump(queue, card, at)


def crocodile_by_the_book(queue, card, out):
    while (at := queue.index(card)) > 0:
        ahead = kind(queue[at - 1])
        if ahead == "zebra" or STRENGTH[ahead] >= 10:
            return
        out.append(queue.pop(at - 1))


def giraffe_by_the_book(queue, card, out):
    at = queue.index(card)
    if at and STRENGTH[kind(queue[at - 1])] < 8:
        jump(queue, card, at - 1)


RECURRING = {
    "hippo": hippo_by_the_book,
    "crocodile": crocodile_by_the_book,
    "giraffe": giraffe_by_the_book,
}


def send(queue, out, leaving):
    out += [card for card in queue if card in leaving]
    queue[:] = [card for card in queue if card not in leaving]


def act_by_the_book(queue, card, role, choice, out):
    """Section 3, for the card at the back. choice: a distance, or the card a parrot sends away."""
    others = queue[:-1]
    if role in RECURRING:
        RECURRING[role](queue, card, out)
    elif role == "lion" and any(kind(c) == "lion" for c in others):
        send(queue, out, [card])
    elif role == "lion":
        send(queue, out, [c for c in others if kind(c) == "monkey"])
        jump(queue, card, 0)
    elif role == "snake":
        queue.sort(key=lambda c: -9 if c == card else -STRENGTH[kind(c)])
    elif role == "seal":
        queue.reverse()
    elif role == "monkey" and (gang := [c for c in others if kind(c) == "monkey"]):
        send(queue, out, [c for c in others if kind(c) in ("hippo", "crocodile")])
        rest = [c for c in queue if c not in gang and c != card]
        queue[:] = [card, *reversed(gang), *rest]
    elif role == "kangaroo" and choice:
        jump(queue, card, len(queue) - 1 - choice)
    elif role == "parrot" and choice:
        send(queue, out, [choice])
    elif role == "skunk":
        ranks = sorted({STRENGTH[kind(c)] for c in others} - {1})[-2:]
        send(queue, out, [c for c in others if STRENGTH[kind(c)] in ranks])


def recur_by_the_book(queue, played, reading, out):
    if reading == "once":
        for card in [c for c in queue if kind(c) in RECURRING and c != played]:
            if card in queue:
                RECURRING[kind(card)](queue, card, out)
        return
    i = 0
    while i < len(queue):  # section 9
        card, before = queue[i], len(queue)
        if kind(card) == "giraffe" and card != played:
            giraffe_by_the_book(queue, card, out)
            i += 0 if queue[i] != card else 1
        elif kind(card) == "hippo":
            hippo_by_the_book(queue, card, out)
            i = queue.index(card) + 1
        elif kind(card) == "crocodile":
            crocodile_by_the_book(queue, card, out)
            i += 1 - (before - len(queue))
        else:
            i += 1


def turn_by_the_book(queue, card, params, reading="once"):
    """Section 2, steps 1 to 4: the queue, who entered the bar, who went to THAT'S IT."""
    queue, before, role, out, bar = [*queue, card], list(queue), kind(card), [], []
    if role == "chameleon":
        role = kind(before[params[0]]) if params else "nobody"
        params = params[1:]
    choice = params[0] if params else None
    if role == "parrot" and params:
        choice = before[choice]
    act_by_the_book(queue, card, role, choice, out)
    recur_by_the_book(queue, card, reading, out)
    if len(queue) == 5:
        bar, out, queue = queue[:2], [*out, queue[4]], queue[2:4]
    return queue, bar, out


def params_by_the_book(queue, card, forbid=False):
    """Section 5: the parameter tuples of a hand card."""
    n, species = len(queue), kind(card)
    distances = range(1, min(2, n) + 1)
    if species == "kangaroo" and n:
        return [(h,) for h in distances]
    if species == "parrot" and n:
        return [(t,) for t in range(n)]
    found = []
    for t, target in enumerate(queue if species == "chameleon" else []):
        more = {"parrot": range(n), "kangaroo": distances}.get(kind(target))
        if more is not None:
            found += [(t, x) for x in more]
        elif kind(target) != "chameleon":
            found.append((t,))
    if found or (forbid and species in ("parrot", "chameleon")):
        return found
    return [()]


def index_by_the_book(slot, params):
    """Section 7."""
    if not params:
        return 31 * slot
    f, *g = params
    return 31 * slot + (2 + 6 * f + g[0] if g else 1 + 6 * f)


def legal_by_the_book(queue, hand, forbid=False):
    found = {
        index_by_the_book(slot, params): (slot, params)
        for slot, card in enumerate(hand)
        for params in params_by_the_book(queue, card, forbid)
    }
    return found or legal_by_the_book(queue, hand)


def score_by_the_book(options, bar):
    """Section 5: the mean of the comparisons with every other seat."""

    def standing(seat):
        own = [kind(card) for card in bar if owner(card) == seat]
        points = sum(POINTS[k] for k in own)
        first = points if options.scoring == "points" else len(own)
        strength = sum(STRENGTH[k] for k in own)
        return first, {"draw": 0, "low_strength": -strength, "points": points}[options.tie]

    standings = [standing(seat) for seat in range(options.players)]
    return [sum((a > b) - (a < b) for b in standings) / (options.players - 1) for a in standings]


def view_by_the_book(s, seat, seats, turns):
    """Section 6, and with more than two seats the same parts with more rows."""

    def rows(cards, slots):
        rows = np.zeros((slots, 17))
        rows[:, 1], rows[:, 16] = 0.5, np.arange(slots) / (slots - 1)
        for i, card in enumerate(cards):
            rows[i, :2] = 1, owner(card) == seat
            rows[i, 2 + ALPHABETICAL[kind(card)]] = 1
            rows[i, 14:16] = STRENGTH[kind(card)] / 12, POINTS[kind(card)] / 4
        return rows

    order = [(seat + k) % seats for k in range(seats)]
    piles, hands = ([len(z[who]) for who in order] for z in (s["piles"], s["hands"]))
    others = [(slot < held, slot / 3, 0) for held in hands[1:] for slot in range(4)]
    scalars = [n / 12 for n in piles] + [n / 4 for n in hands]
    scalars += [s["seat"] == seat, min(turns / 100, 1), len(s["queue"]) / 5]
    parts = [
        rows(s["queue"], 5),
        rows(s["bar"], 12 * seats),
        rows(s["thats_it"], 12 * seats),
        rows(s["hands"][seat], 4),
        others,
        scalars,
    ]
    return np.concatenate([np.ravel(part) for part in parts]).astype(np.float32)


# Positions and random play ------------------------------------------------------------------------


def number(card):
    return 16 * owner(card) + cards.SPECIES.index(kind(card))


def line(queue):
    return line_of([number(card) for card in queue])


def names(numbers):
    return [name(card) for card in numbers]


def zones(s):
    """A state as lists of names."""
    return {
        "queue": names(cards_of(s.queue)),
        "bar": names(s.bar[: s.entered]),
        "thats_it": names(s.thats_it[: s.thrown]),
        "hands": [names(cards_of(hand)) for hand in s.hand],
        "piles": [
            {f"{cards.SPECIES[k]}{seat}" for k in range(16) if int(pile) >> k & 1}
            for seat, pile in enumerate(s.pile)
        ],
        "seat": int(s.seat),
    }


def position(game, queue="", hand="", seat=0, bar="", thats_it=""):
    """A state with these zones; the rest of the cards is left out of it."""
    s = game.fresh()
    s.queue, s.draws, s.seat = line(queue.split()), NOBODY, seat
    s.hand[seat] = line(f"{card}{seat}" for card in hand.split())
    for zone, words in ((s.bar, bar), (s.thats_it, thats_it)):
        for i, card in enumerate(words.split()):
            zone[i] = number(card)
    s.entered, s.thrown = len(bar.split()), len(thats_it.split())
    return s


def outcome(species):
    """The number of the chance move that draws it."""
    return cards.SPECIES.index(species) - 1


def random_game(game, seed):
    """Every position of a game of random play, with the action or outcome that follows."""
    rng, dice, s = chance.stream(seed, "table"), random.Random(seed), game.fresh()
    while (who := game.turn(s)) != OVER:
        before = game.copy(s)
        if who == CHANCE:
            move = int(game.roll(s, rng))
        else:
            move = dice.choice(game.legal(s))
            game.play(s, move)
        yield before, who, move
    yield s, OVER, None


def random_decisions(game, count, seed=0):
    """One decision out of each of many games."""
    dice = random.Random(seed)
    for number in range(count):
        met = [s for s, who, _ in random_game(game, 1000 * seed + number) if who >= 0]
        yield dice.choice(met)
