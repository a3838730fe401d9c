"""Beasty Bar against its specification: the section numbers are those of specs/beasty_bar.md."""

import itertools

import numpy as np
import pytest
from beasty_bar_book import (
    EARLY,
    STRENGTH,
    TWO,
    every_option,
    index_by_the_book,
    kind,
    legal_by_the_book,
    line,
    names,
    number,
    outcome,
    owner,
    params_by_the_book,
    position,
    random_game,
    score_by_the_book,
    turn_by_the_book,
    zones,
)

from kibitz import chance
from kibitz.game import CHANCE, OVER, OptionError
from kibitz.games.beasty_bar import cards, rules
from kibitz.games.beasty_bar.text import cards_of

# What independent engines say --------------------------------------------------------------------


def named(cards):
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
        assert after["queue"] == named(turn["queue"])
        assert after["bar"][len(before["bar"]) :] == named(turn.get("bar", []))
        gone = after["thats_it"][len(before["thats_it"]) :]
        assert sorted(gone) == sorted(named(turn.get("out", [])))
    assert len(states) == len(oracle_case["turns"]) + 1
    for case in oracle_case.get("contested", ()):
        s, turn = states[case["turn"]], oracle_case["turns"][case["turn"]]
        queue, card = zones(s)["queue"], f"{turn['card']}{turn['p']}"
        for reading, after in (("once", "consensus"), ("moving_index", "moving_index")):
            assert played(queue, card, *turn["params"], reading=reading)[0] == named(case[after])
    check_the_end(game, states[-1], oracle_case["final"])


def check_the_end(game, s, final):
    end = zones(s)
    assert game.turn(s) == OVER
    assert end["queue"] == named(final["queue"]) and end["bar"] == named(final["bar"])
    assert sorted(end["thats_it"]) == sorted(named(final["thats_it"]))
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
    queue, card = named(oracle_case["queue_before"]), oracle_case["card"].replace(":", "")
    for reading, name_of_it in (("once", "once_per_turn"), ("moving_index", "moving_index")):
        after, bar, out = played(queue, card, *oracle_case["params"], reading=reading)
        expected = oracle_case[name_of_it]
        assert after == named(expected["queue"]) and bar == named(expected.get("bar", []))
        assert sorted(out) == sorted(named(expected.get("out", [])))


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
