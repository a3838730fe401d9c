"""Beasty Bar against its specification: the section numbers are those of specs/beasty_bar.md.

Functions named `..._by_the_book` are the rules once more, in plain Python over lists of names,
written from the text. A card is told as "lion0", a queue as "lion0 seal1", gate first.
"""

import itertools
import random
from collections import Counter
from math import comb, perm

import numpy as np
import pytest

from kibitz import chance, games
from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.game import CHANCE, OVER, NotationError, OptionError
from kibitz.games.beasty_bar import cards, players, rules
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
        made = np.zeros((slots, 17))
        made[:, 1], made[:, 16] = 0.5, np.arange(slots) / (slots - 1)
        for i, card in enumerate(cards):
            made[i, :2] = 1, owner(card) == seat
            made[i, 2 + ALPHABETICAL[kind(card)]] = 1
            made[i, 14:16] = STRENGTH[kind(card)] / 12, POINTS[kind(card)] / 4
        return made

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
    for zone, told in ((s.bar, bar), (s.thats_it, thats_it)):
        for i, card in enumerate(told.split()):
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


# What independent engines say --------------------------------------------------------------------


def told(cards):
    """The oracles' "lion:0" as "lion0"."""
    return [card.replace(":", "") for card in cards]


def replay(game, case):
    """The states of a recorded game, before each turn and at the end."""
    s, decks = game.fresh(), [iter(deck) for deck in case["decks"]]
    for turn in [*case["turns"], None]:
        while game.turn(s) == CHANCE:
            game.play(s, outcome(next(decks[s.draws])))
        yield game.copy(s)
        if turn is None or game.turn(s) == OVER:
            return
        game.play(s, turn["a"])


@pytest.mark.oracle("beasty_bar", "games")
def test_a_recorded_game_goes_turn_by_turn_as_the_engines_say(oracle_case):
    game = TWO.bind(players=oracle_case["players"], start=oracle_case["start"])
    states = list(replay(game, oracle_case))
    for turn, s, t in zip(oracle_case["turns"], states, states[1:], strict=False):
        before, after, legal = zones(s), zones(t), game.legal(s)
        assert game.turn(s) == turn["p"]
        assert before["hands"][turn["p"]][turn["slot"]] == f"{turn['card']}{turn['p']}"
        assert turn["a"] == index_by_the_book(turn["slot"], turn["params"])
        assert turn["a"] in legal and len(legal) == turn["legal"]
        assert after["queue"] == told(turn["queue"])
        assert after["bar"][len(before["bar"]) :] == told(turn.get("bar", []))
        gone = after["thats_it"][len(before["thats_it"]) :]
        assert sorted(gone) == sorted(told(turn.get("out", [])))
    assert len(states) == len(oracle_case["turns"]) + 1
    for case in oracle_case["contested"]:
        s, turn = states[case["turn"]], oracle_case["turns"][case["turn"]]
        queue, card = zones(s)["queue"], f"{turn['card']}{turn['p']}"
        for reading, after in (("once", "consensus"), ("moving_index", "moving_index")):
            assert played(queue, card, *turn["params"], reading=reading)[0] == told(case[after])
    check_the_end(game, states[-1], oracle_case["final"])


def check_the_end(game, s, final):
    end = zones(s)
    assert game.turn(s) == OVER
    assert end["queue"] == told(final["queue"]) and end["bar"] == told(final["bar"])
    assert sorted(end["thats_it"]) == sorted(told(final["thats_it"]))
    points = final["points"]
    assert [int(rules.points_of(s, seat)) for seat in range(game.seats)] == points
    for seat in range(game.seats):
        own = [kind(card) for card in end["bar"] if owner(card) == seat]
        assert len(own) == final["animals"][seat]
        assert sum(STRENGTH[k] for k in own) == final["strength"][seat]
    compared = [sum((a > b) - (a < b) for b in points) for a in points]
    assert game.scores(s) == pytest.approx([c / (game.seats - 1) for c in compared])


@pytest.mark.oracle("beasty_bar", "games")
def test_with_early_stop_a_recorded_game_ends_when_it_is_decided(oracle_case):
    shape = {"players": oracle_case["players"], "start": oracle_case["start"]}
    *_, end = replay(TWO.bind(**shape), oracle_case)
    game = TWO.bind(**shape, early_stop=True)
    *before, stopped = replay(game, oracle_case)
    turns = oracle_case["final"]["undecidable_from"] or len(oracle_case["turns"])
    assert game.turn(stopped) == OVER and int(stopped.turns) == turns
    assert all(game.turn(s) >= 0 for s in before)
    assert game.scores(stopped) == TWO.bind(**shape).scores(end)


@pytest.mark.oracle("beasty_bar", "contested_positions")
def test_contested_positions_come_out_as_each_reading_says(oracle_case):
    queue, card = told(oracle_case["queue_before"]), oracle_case["card"].replace(":", "")
    for reading, name_of_it in (("once", "once_per_turn"), ("moving_index", "moving_index")):
        after, bar, out = played(queue, card, *oracle_case["params"], reading=reading)
        expected = oracle_case[name_of_it]
        assert after == told(expected["queue"]) and bar == told(expected.get("bar", []))
        assert sorted(out) == sorted(told(expected.get("out", [])))


# Sections 2 to 4: a turn --------------------------------------------------------------------------


def played(queue, card, *params, reading="once"):
    """A turn by the rules of the package: the queue, who entered the bar, who went."""
    way = index_by_the_book(0, params)
    recurring = ("once", "moving_index").index(reading)
    lines = rules.after_turn(line(queue), number(card), way, recurring)
    return tuple(names(cards_of(one)) for one in lines)


# A name: the queue + the card with its parameters = the queue / THAT'S IT / the bar.
WORKED = """
lion sends monkeys: zebra0 monkey1 seal0 + lion0 = lion0 zebra0 seal0 / monkey1
second lion goes: lion1 monkey0 zebra1 + lion0 = lion1 monkey0 zebra1 / lion0
two lions: lion1 seal0 zebra0 seal1 + lion0 = lion1 seal0 zebra0 seal1 / lion0
lion passes all: zebra0 hippo1 monkey0 monkey1 + lion1 = lion1 zebra0 hippo1 / monkey0 monkey1
lion, alone: + lion0 = lion0
hippo pushes past all: skunk0 snake1 seal0 + hippo1 = hippo1 skunk0 snake1 seal0
zebra stops hippo: skunk0 zebra1 seal0 + hippo0 = skunk0 zebra1 hippo0 seal0
lion stops hippo: lion0 crocodile1 + hippo0 = lion0 hippo0 crocodile1
hippo stops hippo: hippo1 seal0 + hippo0 = hippo1 hippo0 seal0
hippo recurs: zebra0 hippo1 + seal0 = hippo1 seal0 zebra0
crocodile eats: zebra0 seal1 monkey0 + crocodile0 = zebra0 crocodile0 / monkey0 seal1
zebra protects those ahead: seal1 zebra0 + crocodile0 = seal1 zebra0 crocodile0
hippo stops crocodile: hippo0 snake1 giraffe1 + crocodile1 = hippo0 crocodile1 / giraffe1 snake1
crocodile stops crocodile: crocodile0 skunk1 + crocodile1 = crocodile0 crocodile1 / skunk1
crocodile recurs: crocodile0 seal1 + kangaroo1 2 = crocodile0 seal1 / kangaroo1
zebra is gone: skunk1 zebra0 crocodile1 + parrot0 1 = crocodile1 parrot0 / zebra0 skunk1
snake sorts: skunk0 lion1 seal0 + snake1 = lion1 snake1 seal0 skunk0
snake behind snake: snake0 hippo1 + snake1 = hippo1 snake0 snake1
equals keep their order: seal1 monkey0 seal0 + snake0 = snake0 seal1 seal0 monkey0
giraffe passes one: seal0 skunk1 + giraffe0 = seal0 giraffe0 skunk1
giraffe passes zebra: seal0 zebra0 + giraffe1 = seal0 giraffe1 zebra0
giraffe and giraffe: giraffe0 + giraffe1 = giraffe0 giraffe1
snake ahead of giraffe: snake0 + giraffe1 = snake0 giraffe1
giraffe recurs: seal0 skunk1 giraffe0 + zebra1 = seal0 giraffe0 skunk1 zebra1
two giraffes: monkey0 giraffe1 skunk0 + giraffe0 = giraffe1 monkey0 giraffe0 skunk0
zebra waits: seal0 + zebra1 = seal0 zebra1
zebra is fifth: seal0 skunk1 parrot0 kangaroo1 + zebra1 = parrot0 kangaroo1 / zebra1 / seal0 skunk1
seal turns all: lion0 seal1 skunk0 + seal0 = seal0 skunk0 seal1 lion0
seal enters: zebra0 monkey1 parrot0 skunk1 + seal0 = parrot0 monkey1 / zebra0 / seal0 skunk1
monkey alone: hippo0 zebra1 + monkey0 = hippo0 zebra1 monkey0
two monkeys: zebra0 monkey1 hippo0 crocodile1 + monkey0 = monkey0 monkey1 zebra0 / hippo0 crocodile1
a gang, reversed: monkey1 zebra0 monkey2 + monkey0 = monkey0 monkey2 monkey1 zebra0
kangaroo over one: seal0 zebra1 + kangaroo0 1 = seal0 kangaroo0 zebra1
kangaroo over two: lion0 seal0 zebra1 + kangaroo0 2 = lion0 kangaroo0 seal0 zebra1
kangaroo, alone: + kangaroo0 = kangaroo0
parrot sends the gate: lion0 seal1 + parrot0 0 = seal1 parrot0 / lion0
parrot sends its own: seal0 zebra1 + parrot0 0 = zebra1 parrot0 / seal0
parrot, alone: + parrot1 = parrot1
skunk: hippo0 zebra1 hippo1 seal0 + skunk0 = seal0 skunk0 / hippo0 zebra1 hippo1
skunk, one species: seal0 skunk1 seal1 + skunk0 = skunk1 skunk0 / seal0 seal1
skunks only: skunk1 + skunk0 = skunk1 skunk0
as lion: lion1 monkey0 + chameleon0 0 = lion1 monkey0 / chameleon0
as hippo: hippo1 snake0 seal1 + chameleon0 0 = hippo1 chameleon0 snake0 seal1
as crocodile: crocodile1 snake0 seal1 + chameleon0 0 = crocodile1 chameleon0 / seal1 snake0
as snake, giraffe: snake0 giraffe1 hippo1 + chameleon1 0 = hippo1 snake0 giraffe1 chameleon1
as snake, ahead of 8: snake0 zebra1 skunk0 + chameleon1 0 = snake0 chameleon1 zebra1 skunk0
as giraffe: giraffe0 zebra1 + chameleon1 0 = giraffe0 chameleon1 zebra1
as giraffe, not past it: skunk0 giraffe0 + chameleon1 1 = giraffe0 skunk0 chameleon1
as zebra: zebra1 seal0 + chameleon0 0 = zebra1 seal0 chameleon0
as seal, then eaten: crocodile1 seal0 + chameleon0 1 = crocodile1 / seal0 chameleon0
as monkey: monkey1 hippo0 + chameleon0 0 = chameleon0 monkey1 / hippo0
as kangaroo: kangaroo1 seal0 lion1 + chameleon0 0 2 = kangaroo1 chameleon0 seal0 lion1
as parrot: parrot1 seal0 + chameleon0 0 1 = parrot1 chameleon0 / seal0
as parrot, sending it: seal0 parrot1 + chameleon0 1 1 = seal0 chameleon0 / parrot1
as skunk: skunk1 lion0 chameleon1 seal1 + chameleon0 0 = skunk1 chameleon1 chameleon0 / lion0 seal1
as skunk, exempt: skunk1 chameleon1 + chameleon0 0 = skunk1 chameleon0 / chameleon1
chameleons only: chameleon1 + chameleon0 = chameleon1 chameleon0
seal feeds crocodile: zebra0 crocodile1 parrot1 + seal1 = crocodile1 zebra0 / parrot1 seal1
"""


@pytest.mark.parametrize("case", WORKED.strip().splitlines(), ids=lambda case: case.split(":")[0])
def test_worked_turns(case):
    queue, right = case.split(":")[1].split(" = ")
    queue, played_card = queue.split("+")
    card, *params = played_card.split()
    params = tuple(map(int, params))
    after, out, bar = (part.split() for part in f"{right} / / ".split("/")[:3])
    assert played(queue.split(), card, *params) == (after, bar, out)
    assert turn_by_the_book(queue.split(), card, params) == (after, bar, out)


@every_option
def test_random_games_go_as_the_book_says(game):
    """Every position of some games: legal actions, the turn, the hand and the result."""
    forbid, reading = game.options.empty_plays == "forbid", game.options.recurring
    for seed in range(12):
        for s, who, move in random_game(game, seed):
            now = zones(s)
            if who >= 0:
                hand = now["hands"][who]
                legal = legal_by_the_book(now["queue"], hand, forbid)
                assert game.legal(s) == sorted(legal), game.text(s)
                slot, params = legal[move]
                expected = turn_by_the_book(now["queue"], hand[slot], params, reading)
                assert after_play(game, s, move) == expected, (game.text(s), hand[slot], params)
            elif who == OVER:
                assert game.scores(s) == pytest.approx(score_by_the_book(game.options, now["bar"]))


def after_play(game, s, move):
    """The queue, the new ones in the bar and in THAT'S IT after an action."""
    t = game.copy(s)
    game.play(t, move)
    before, after = zones(s), zones(t)
    bar, out = (after[zone][len(before[zone]) :] for zone in ("bar", "thats_it"))
    return after["queue"], bar, out


@every_option
def test_the_deal_and_the_draws(game):
    """Four cards for each seat in turn; then whoever played draws while its pile lasts."""
    seats, begins = game.seats, game.options.start
    last, turns, hand = None, 0, []
    for s, who, move in random_game(game, seed=3):
        now = zones(s)
        if who == CHANCE:
            drawing = first_short_hand(now) if turns == 0 else last
            pile = now["piles"][drawing]
            assert int(s.draws) == drawing
            for species, odds in zip(cards.SPECIES[1:], game.chances(s), strict=True):
                assert odds == (1 / len(pile) if f"{species}{drawing}" in pile else 0)
            if turns:
                assert now["hands"][drawing] == hand  # closed up; the new card comes last
            hand = [*now["hands"][drawing], f"{cards.SPECIES[move + 1]}{drawing}"]
        elif who >= 0:
            assert who == (begins + turns) % seats
            if last is not None and turns <= 8 * seats:
                assert now["hands"][last] == hand
            last, turns, hand = who, turns + 1, list(now["hands"][who])
            del hand[move // 31]


def first_short_hand(now):
    return next(seat for seat, hand in enumerate(now["hands"]) if len(hand) < 4)


def test_what_a_seat_draws_never_depends_on_the_play():
    decks = []
    for choice in (0, -1):
        rng, s, drawn = chance.stream(5, "table"), TWO.fresh(), ([], [])
        while (who := TWO.turn(s)) != OVER:
            if who == CHANCE:
                drawn[int(s.draws)].append(int(TWO.roll(s, rng)))
            else:
                TWO.play(s, TWO.legal(s)[choice])
        decks.append(drawn)
    assert decks[0] == decks[1] and [sorted(deck) for deck in decks[0]] == [list(range(12))] * 2


# Section 11: invariants ---------------------------------------------------------------------------


@every_option
def test_invariants_hold_in_random_play(game):
    whole = sorted(f"{species}{seat}" for species in STRENGTH for seat in range(game.seats))
    for seed in range(20, 32):
        for s, who, move in random_game(game, seed):
            now = zones(s)
            hidden = [card for zone in (*now["hands"], *now["piles"]) for card in zone]
            everywhere = [*now["queue"], *now["bar"], *now["thats_it"], *hidden]
            assert sorted(everywhere) == whole
            assert len(now["queue"]) <= 4 and (now["queue"] or s.turns == 0)
            assert [kind(card) for card in now["queue"]].count("lion") <= 1
            assert s.turns == len(whole) - len(hidden)
            for ahead, behind in zip(now["queue"], now["queue"][1:], strict=False):
                pushy = kind(behind) in ("hippo", "crocodile")
                weaker = STRENGTH[kind(ahead)] < STRENGTH[kind(behind)]
                assert not (pushy and weaker and kind(ahead) != "zebra"), now["queue"]
            if who >= 0:
                check_catalogue(game.legal(s))
                assert move in game.legal(s)


USED = {
    index_by_the_book(slot, params)
    for slot in range(4)
    for params in [(), *((f,) for f in range(4)), *((f, g) for f in range(4) for g in range(4))]
}


def check_catalogue(legal):
    """Section 7: every index decodes and encodes to itself; 40 of the 124 never occur."""
    for action in legal:
        slot, way = divmod(action, 31)
        f, g = divmod(way - 1, 6)
        params = () if way == 0 else (f,) if g == 0 else (f, g - 1)
        assert index_by_the_book(slot, params) == action
        assert action in USED


def test_84_of_124_actions_can_ever_be_legal():
    assert TWO.num_actions == 124 and len(USED) == 84 and TWO.num_outcomes == 12


@pytest.mark.parametrize(("seats", "most"), [(2, 15), (3, 19), (4, 21)])
def test_no_position_has_more_legal_actions_than_the_specification_says(seats, most):
    """All queues of the species that matter, against the hand with the most choices."""
    found = 0
    hand = ["chameleon0", "parrot0", "kangaroo0", "lion0"]
    for swap in (None, "parrot0", "kangaroo0", "chameleon0"):
        held = [card if card != swap else "snake0" for card in hand]
        pool = [f"{k}{seat}" for k in ("parrot", "kangaroo", "zebra") for seat in range(seats)]
        pool = [card for card in pool if card not in held]
        for queue in itertools.chain(*(itertools.combinations(pool, n) for n in range(5))):
            s = position(TWO, " ".join(queue), " ".join(kind(card) for card in held))
            found = max(found, len(TWO.legal(s)))
    assert found == most <= TWO.max_legal


# Section 5: options and results -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"players": 1}, "players=1: two to four"),
        ({"players": 5}, "players=5: two to four"),
        ({"players": 2.0}, "players=2.0: players is a whole number"),
        ({"start": 2}, "start=2: the seats are 0 to 1"),
        ({"start": -1}, "start=-1"),
        ({"players": 3, "start": 3}, "start=3: the seats are 0 to 2"),
        ({"scoring": "cards"}, "scoring='cards': scoring is one of points, animals"),
        ({"tie": "coin"}, "tie='coin': tie is one of draw, low_strength, points"),
        ({"tie": "points"}, "tie=points is for scoring=animals"),
        ({"empty_plays": "maybe"}, "empty_plays='maybe'"),
        ({"recurring": "twice"}, "recurring='twice'"),
        ({"early_stop": "perhaps"}, "early_stop='perhaps'"),
        ({"joker": 1}, "there is no option 'joker'"),
    ],
    ids=str,
)
def test_options_that_make_no_game_are_refused_by_name(wrong, why):
    with pytest.raises(OptionError, match=why.replace("(", r"\(")):
        TWO.bind(**wrong)


def test_presets():
    assert TWO.bind(preset="training").options == EARLY.options
    assert TWO.bind(preset="published").options.recurring == "moving_index"
    assert TWO.bind(preset="first_edition").options.scoring == "animals"


# Bars with (points, animals, strength) of the two seats.
BARS = {
    "lion0 zebra1": ((2, 1, 12), (4, 1, 7)),
    "zebra0 lion1 seal1": ((4, 1, 7), (4, 2, 18)),
    "skunk0 parrot1": ((4, 1, 1), (4, 1, 2)),
    "lion0 hippo0 skunk1": ((4, 2, 23), (4, 1, 1)),
    "seal0 lion1": ((2, 1, 6), (2, 1, 12)),
    "skunk0 monkey0 parrot1 zebra1": ((7, 2, 5), (8, 2, 9)),
    "": ((0, 0, 0), (0, 0, 0)),
}
RESULTS = [  # by bar, in the order above: what seat 0 gets
    ({}, [-1, 0, 0, 0, 0, -1, 0]),
    ({"tie": "low_strength"}, [-1, 1, 1, -1, 1, -1, 0]),
    ({"scoring": "animals"}, [0, -1, 0, 1, 0, 0, 0]),
    ({"scoring": "animals", "tie": "points"}, [-1, -1, 0, 1, 0, -1, 0]),
    ({"scoring": "animals", "tie": "low_strength"}, [-1, -1, 1, 1, 1, 1, 0]),
]


def result(game, bar):
    s, out = position(game, bar=bar), np.zeros(game.seats, np.float32)
    game.score(s, out)
    return out.tolist()


def test_results_and_what_breaks_ties():
    for options, results in RESULTS:
        for bar, expected in zip(BARS, results, strict=True):
            assert result(TWO.bind(**options), bar) == [expected, -expected], (options, bar)


def test_with_more_seats_the_score_is_the_mean_of_all_comparisons():
    assert result(TWO.bind(players=3), "zebra0 lion1 seal1 seal2") == [0.5, 0.5, -1]
    four = TWO.bind(players=4)
    assert result(four, "zebra0 lion1 seal2 hippo3") == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    assert result(four, "zebra0 lion0 zebra1 monkey2") == pytest.approx([1, 1 / 3, -1 / 3, -1])


def test_the_margin_is_in_points_out_of_36():
    for bar, (first, second) in BARS.items():
        ahead = (first[0] - second[0]) / 36
        assert margins(TWO, bar) == pytest.approx([ahead, -ahead])
    assert margins(TWO.bind(players=3), "zebra0 lion1") == pytest.approx([3 / 36, 0, -3 / 36])


def margins(game, bar):
    out = np.zeros(game.seats, np.float32)
    game.margin(position(game, bar=bar), out)
    return out.tolist()


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_an_early_stop_never_changes_the_score(seats):
    game = TWO.bind(players=seats)
    stopping = game.bind(early_stop=True)
    lengths = []
    for seed in range(30):
        *states, (end, _, _) = random_game(game, seed)
        left = [12 * seats - int(s.entered) - int(s.thrown) for s, _, _ in states]
        stopped = next((s for (s, *_), n in zip(states, left, strict=True) if n < 5), end)
        at_stop = game.copy(stopped)
        at_stop.early_stop = 1
        assert stopping.scores(at_stop) == game.scores(end)
        lengths.append(int(stopped.turns))
        assert end.turns == 12 * seats
    assert min(lengths) < 12 * seats


def test_forbidden_empty_plays_are_left_out():
    strict = TWO.bind(empty_plays="forbid")
    hand = "parrot lion chameleon kangaroo"
    assert TWO.legal(position(TWO, "", hand)) == [0, 31, 62, 93]
    assert strict.legal(position(strict, "", hand)) == [31, 93]
    assert TWO.legal(position(TWO, "chameleon1", hand)) == [1, 31, 62, 93 + 7]
    assert strict.legal(position(strict, "chameleon1", hand)) == [1, 31, 93 + 7]


def test_a_seat_that_could_not_play_at_all_may_play_for_nothing():
    strict = TWO.bind(empty_plays="forbid")
    assert strict.legal(position(strict, "", "parrot chameleon")) == [0, 31]
    assert strict.legal(position(strict, "chameleon1", "chameleon")) == [0]


def test_with_two_seats_and_early_stop_there_is_always_a_strict_move():
    strict = EARLY.bind(empty_plays="forbid")
    for seed in range(40):
        for s, who, _ in random_game(strict, seed):
            if who >= 0:
                now = zones(s)
                assert any(params_by_the_book(now["queue"], c, True) for c in now["hands"][who])


# Section 6: what a seat sees ----------------------------------------------------------------------


def test_the_view_has_988_numbers_in_the_order_of_the_specification():
    offsets = {n: TWO.view.fields[n][1] // 4 for n in TWO.view.names}
    assert TWO.view_size == 988
    assert list(offsets.values()) == [0, 85, 493, 901, 969, 981]
    assert [TWO.bind(players=n).view_size for n in (3, 4)] == [1410, 1832]


@every_option
def test_views_are_those_of_the_book(game):
    for seed in (7, 8):
        for s, _, _ in random_game(game, seed):
            for seat in range(game.seats):
                expected = view_by_the_book(zones(s), seat, game.seats, int(s.turns))
                seen = game.look(s, seat)
                assert (seen == expected).all(), np.flatnonzero(seen != expected)


def test_rows_worked_by_hand():
    s = position(TWO, "crocodile1 kangaroo0", "lion seal", bar="skunk1", thats_it="zebra0 snake1")
    s.hand[1], s.turns = line(["hippo1", "monkey1", "parrot1"]), 5
    s.pile[0], s.pile[1] = 0b1000110, 0b10
    view = TWO.look(s, 0).view(TWO.view)[0]
    queue = [[1, 0, *one_hot(1), 10 / 12, 3 / 4, 0], [1, 1, *one_hot(4), 3 / 12, 1, 0.25]]
    assert view.queue[:2].tolist() == np.float32(queue).tolist()
    assert view.queue[2:].tolist() == [[0, 0.5, *[0] * 14, at] for at in (0.5, 0.75, 1)]
    assert view.bar[0].tolist() == np.float32([1, 0, *one_hot(9), 1 / 12, 1, 0]).tolist()
    out = [[1, 1, *one_hot(11), 7 / 12, 1, 0], [1, 0, *one_hot(10), 9 / 12, 0.5, 1 / 23]]
    assert view.thats_it[:2].tolist() == np.float32(out).tolist()
    hand = [[1, 1, *one_hot(5), 1, 0.5, 0], [1, 1, *one_hot(8), 0.5, 0.5, 1 / 3]]
    assert view.hand[:2].tolist() == np.float32(hand).tolist()
    opponent = [[1, 0, 0], [1, 1 / 3, 0], [1, 2 / 3, 0], [0, 1, 0]]
    assert view.opponent.tolist() == np.float32(opponent).tolist()
    assert view.scalars.tolist() == np.float32([3 / 12, 1 / 12, 0.5, 0.75, 1, 0.05, 0.4]).tolist()


def one_hot(place):
    return [1 if i == place else 0 for i in range(12)]


def test_while_a_draw_is_pending_the_seat_that_plays_next_is_told():
    pending = [(s, w) for s, w, _ in random_game(TWO, 1) if w == CHANCE and s.turns == 3]
    assert len(pending) == 1
    s = pending[0][0]
    to_move = [TWO.look(s, seat).view(TWO.view)[0].scalars[4] for seat in range(2)]
    assert to_move == [0, 1]  # seat 0 has made the third turn and draws, seat 1 plays next
    assert TWO.look(s, 0).view(TWO.view)[0].scalars[:4].tolist() == pytest.approx(
        [7 / 12, 7 / 12, 3 / 4, 1]
    )


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_a_view_stays_the_same_however_hidden_cards_are_permuted(seats):
    game = TWO.bind(players=seats)
    dice = random.Random(1)
    for s in random_decisions(game, 10):
        for seat in range(seats):
            other, t = (seat + dice.randint(1, seats - 1)) % seats, game.copy(s)
            own = zones(s)
            mixed = sorted([*own["hands"][other], *own["piles"][other]])
            dice.shuffle(mixed)
            held = len(own["hands"][other])
            t.hand[other] = line(mixed[:held])
            t.pile[other] = sum(1 << (number(card) & 15) for card in mixed[held:])
            assert (game.look(t, seat) == game.look(s, seat)).all()
            assert game.known(t, seat) == game.known(s, seat)
            assert game.seen(t, seat) == game.seen(s, seat)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_exchanging_seats_and_observer_gives_the_same_view(seats):
    game = TWO.bind(players=seats)
    for s in random_decisions(game, 20, seed=2):
        t = game.copy(s)
        t.seat = (s.seat + 1) % seats
        t.queue = line_of([rotated(card, seats) for card in cards_of(s.queue)])
        for seat in range(seats):
            after = (seat + 1) % seats
            t.hand[after] = line_of([rotated(card, seats) for card in cards_of(s.hand[seat])])
            t.pile[after] = s.pile[seat]
        for i in range(12 * seats):
            t.bar[i], t.thats_it[i] = rotated(s.bar[i], seats), rotated(s.thats_it[i], seats)
        for seat in range(seats):
            assert (game.look(t, (seat + 1) % seats) == game.look(s, seat)).all()


def rotated(card, seats):
    """The card of the next seat, and no card where there is none."""
    return (int(card) + 16) % (16 * seats) if card else 0


# Section 10: what is hidden, and players ----------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_a_redeal_keeps_sizes_and_the_cards_each_seat_has(seats):
    game, rng = TWO.bind(players=seats), chance.stream(1, "search")
    for s in random_decisions(game, 20, seed=3):
        for seat in range(seats):
            t = game.copy(s)
            game.redeal(t, seat, rng)
            before, after = zones(s), zones(t)
            assert after["hands"][seat] == before["hands"][seat]
            assert after["piles"][seat] == before["piles"][seat]
            for other in range(seats):
                assert len(after["hands"][other]) == len(before["hands"][other])
                assert {*after["hands"][other], *after["piles"][other]} == {
                    *before["hands"][other],
                    *before["piles"][other],
                }
            assert all(after[zone] == before[zone] for zone in ("queue", "bar", "thats_it", "seat"))


def test_every_hand_the_other_seat_may_hold_is_as_likely():
    s = position(TWO, "zebra0", "lion")
    s.hand[1] = line(["seal1", "snake1"])
    s.pile[1] = 0b1110  # skunk, parrot, kangaroo: 5 cards, 20 ordered hands of 2
    rng, found, deals = chance.stream(2, "search"), Counter(), 8000
    for _ in range(deals):
        t = TWO.copy(s)
        TWO.redeal(t, 0, rng)
        found[int(t.hand[1]), int(t.pile[1])] += 1
    each = deals / perm(5, 2)
    assert len(found) == perm(5, 2) and len({pile for _, pile in found}) == comb(5, 2)
    assert sum((n - each) ** 2 / each for n in found.values()) < 19 + 4.5 * (2 * 19) ** 0.5


def test_a_label_names_the_species_and_not_the_slot():
    one = position(TWO, "parrot1 seal0", "chameleon lion")
    other = position(TWO, "parrot1 seal0", "lion chameleon")
    labels = [
        {TWO.action_text(s, a): int(TWO.label(s, a)) for a in TWO.legal(s)} for s in (one, other)
    ]
    assert labels[0] == labels[1] and len(set(labels[0].values())) == len(labels[0]) == 4


def gain_by_the_book(queue, card, params, seat):
    """What greedy looks at: the margin in the bar, then in THAT'S IT."""
    _, bar, out = turn_by_the_book(queue, card, params)
    points = [
        sum(POINTS[kind(c)] * (1 if owner(c) == seat else -1) for c in zone) for zone in (bar, out)
    ]
    return points[0], -points[1]


def test_greedy_takes_the_best_turn_and_any_of_equals():
    ties = 0
    for number_of_it, s in enumerate(random_decisions(TWO, 60, seed=4)):
        seat, now = TWO.turn(s), zones(s)
        hand = now["hands"][seat]
        gains = {
            action: gain_by_the_book(now["queue"], hand[slot], params, seat)
            for action, (slot, params) in legal_by_the_book(now["queue"], hand).items()
        }
        best = {action for action, gain in gains.items() if gain == max(gains.values())}
        rng = chance.stream(number_of_it, "player")
        chosen = Counter(int(players.greedy(s, seat, rng)) for _ in range(100))
        assert set(chosen) == best, TWO.text(s)
        ties += len(best) > 1
    assert ties > 10


def test_greedy_beats_random_as_often_as_the_specification_says():
    assert match(EARLY, "greedy", "random", games=4000, seed=1).agrees(0.886, 0.009 / 1.96)


def test_outcome_beats_greedy():
    assert match(EARLY, "outcome", "greedy", games=200, seed=1).low > 0.5


def test_playouts_of_outcome_are_worth_what_such_games_are():
    """The mean over playouts of an action, and over games played on by the rules themselves."""
    s = next(iter(random_decisions(EARLY, 1, seed=5)))
    seat, action, count = EARLY.turn(s), EARLY.legal(s)[0], 4000
    rng = chance.stream(1, "player")
    inner = np.array([players.played_out(s, seat, action, rng) for _ in range(count)])
    batch = Batch(EARLY, count, seed=2)
    batch.states[:] = s
    batch.redeal(np.full(count, seat), chance.streams(3, "search", count))
    batch.play(np.full(count, action))
    play_on(batch)
    own = batch.margins()[:, seat] * 36
    so_far = int(rules.points_of(s, seat)) - int(rules.points_of(s, 1 - seat))
    error = np.hypot(inner.std(), own.std()) / count**0.5
    assert abs(inner.mean() + so_far - own.mean()) < 4.5 * error


def play_on(batch):
    """Random play to the end: how many actions were legal at each turn, by game."""
    dice, counts = np.random.default_rng(1), []
    while True:
        batch.settle()
        going = batch.turns() >= 0
        if not going.any():
            return np.array(counts)
        legal, n = batch.actions()
        chosen = legal[np.arange(batch.size), dice.integers(0, np.maximum(n, 1))]
        batch.play(np.where(going, chosen.astype(np.int64), -1), check=False)
        counts.append(n)


@pytest.mark.parametrize(("game", "mean"), [(TWO, 4.35), (EARLY, 4.54)], ids=["whole", "early"])
def test_as_many_actions_are_legal_as_the_specification_says(game, mean):
    counts = play_on(Batch(game, 4000, seed=1))  # [turn, game], 0 after the end
    turns = (counts > 0).sum(0)
    error = (counts.sum(0) - mean * turns).std() / turns.mean() / counts.shape[1] ** 0.5
    assert abs(counts.sum() / turns.sum() - mean) < 0.005 + 3.3 * error
    assert counts.max() <= 15
    if game is EARLY:
        assert {21, 24} <= set(turns.tolist()) <= {21, 22, 23, 24}
        assert abs(turns.mean() - 22.7) < 0.05 + 3.3 * turns.std() / len(turns) ** 0.5
    else:
        assert (turns == 24).all()


# How it is told -----------------------------------------------------------------------------------


def test_actions_in_words():
    s = position(TWO, "parrot1 kangaroo0 lion1", "chameleon kangaroo parrot zebra")
    assert TWO.choices(s).split(", ") == [
        "chameleon as parrot1 > parrot1",
        "chameleon as parrot1 > kangaroo0",
        "chameleon as parrot1 > lion1",
        "chameleon as kangaroo0 1",
        "chameleon as kangaroo0 2",
        "chameleon as lion1",
        "kangaroo 1",
        "kangaroo 2",
        "parrot > parrot1",
        "parrot > kangaroo0",
        "parrot > lion1",
        "zebra",
    ]
    assert TWO.read_action(s, " Chameleon AS parrot1>lion1 ") == 2 + 2
    assert TWO.choices(position(TWO, "", "chameleon kangaroo")) == "chameleon, kangaroo"
    with pytest.raises(NotationError, match="there are: chameleon, kangaroo"):
        TWO.read_action(position(TWO, "", "chameleon kangaroo"), "lion")


def test_draws_in_words():
    s = TWO.fresh()
    assert TWO.action_text(s, 11) == "draws lion" and TWO.read_action(s, "DRAWS skunk") == 0


def test_what_a_seat_is_told():
    s = position(TWO, "lion1 seal0", "zebra skunk", bar="parrot0 hippo1", thats_it="snake1")
    s.hand[1] = line(["monkey1"])
    s.pile[1] = 0b1000
    assert TWO.seen(s, 0).splitlines() == [
        "Queue, from the gate: lion1 seal0",
        "In the bar: parrot0(4) hippo1(2)",
        "THAT'S IT: snake1",
        "Your hand: 0 zebra, 1 skunk",
        "seat 0 (you): 4 points, 2 in hand, 12 in the pile",
        "seat 1: 2 points, 1 in hand, 1 in the pile",
    ]
    assert TWO.seen(TWO.fresh(), 1).splitlines()[:4] == [
        "Queue, from the gate: empty",
        "In the bar: nobody",
        "THAT'S IT: nobody",
        "Your hand: empty",
    ]


@every_option
def test_every_position_of_a_game_reads_back(game):
    for s, _, _ in random_game(game, 11):
        squeezed = game.text(s).replace(" ", "").upper()
        assert game.read(squeezed).tobytes() == s.tobytes()


def after_turns(turns):
    """The text of a position after so many turns, nothing pending."""
    return next(TWO.text(s) for s, who, _ in random_game(TWO, 1) if who >= 0 and s.turns == turns)


def changed(text, zone, change):
    told = dict(part.split(": ") for part in text.split(" | "))
    told[zone] = change(told[zone])
    return " | ".join(f"{z}: {c}" for z, c in told.items())


WRONG_TEXTS = {
    "is not like": lambda text: text.replace("thats_it", "out"),
    "'unicorn0' is not a card": lambda text: changed(text, "queue", lambda _: "unicorn0"),
    "2 seats have 2 hands": lambda text: text + " / -",
    "should be in one place": lambda text: changed(text, "bar", lambda _: "lion0,lion0"),
    "there is no skunk2": lambda text: changed(text, "bar", lambda _: "skunk2"),
    "five are in the queue": lambda text: changed(
        changed(text, "queue", lambda _: ",".join(f"{k}0" for k in list(STRENGTH)[:5])),
        "hands",
        lambda _: "seal,zebra,giraffe,snake / lion,skunk,parrot,seal",
    ).replace(text.split("piles: ")[1], "crocodile,hippo,lion / " + REST),
}
REST = "kangaroo,monkey,chameleon,zebra,giraffe,snake,crocodile,hippo"


@pytest.mark.parametrize("why", WRONG_TEXTS)
def test_texts_that_are_no_position_are_refused(why):
    with pytest.raises(NotationError, match=why):
        TWO.read(WRONG_TEXTS[why](after_turns(0)))


def test_the_cards_of_each_seat_must_fit_the_turns():
    text = after_turns(2)
    hands, piles = text.split("hands: ")[1].split(" | piles: ")
    first = hands.split(",")[0]
    fewer = text.replace(f"hands: {first},", "hands: ")
    with pytest.raises(NotationError, match="seat 0 holds 3 cards, not 4"):
        TWO.read(fewer.replace(f"piles: {piles}", f"piles: {first},{piles}"))
    laid = f"thats_it: {first}0"
    with pytest.raises(NotationError, match="of 3 turns seat 0 has had 1"):
        TWO.bind(start=1).read(fewer.replace("thats_it: -", laid))
