"""Beasty Bar: what a seat sees and cannot see, its players, and its texts."""

import random
from collections import Counter
from math import comb, perm

import numpy as np
import pytest
from beasty_bar_book import (
    EARLY,
    POINTS,
    STRENGTH,
    TWO,
    every_option,
    kind,
    legal_by_the_book,
    line,
    number,
    owner,
    position,
    random_decisions,
    random_game,
    turn_by_the_book,
    view_by_the_book,
    zones,
)

from kibitz import chance
from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.game import CHANCE, NotationError
from kibitz.games.beasty_bar import laws, players, rules
from kibitz.games.beasty_bar.text import cards_of, line_of

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
    expected = deals / perm(5, 2)
    assert len(found) == perm(5, 2) and len({pile for _, pile in found}) == comb(5, 2)
    assert sum((n - expected) ** 2 / expected for n in found.values()) < 19 + 4.5 * (2 * 19) ** 0.5


@pytest.mark.parametrize(
    ("field", "place", "value", "law"),
    [
        ("pile", (0,), 0, 2),
        ("queue", (), 1, 2),
        ("queue", (), 1 << 8, 1),
        ("turns", (), 5, 3),
        ("scoring", (), 9, 0),
    ],
)
def test_a_position_that_breaks_a_law_is_answered_with_it(field, place, value, law):
    batch = Batch(TWO, 1, seed=1)
    batch.settle()
    s = batch.states[0]
    assert TWO.wrong_with(s) == ""
    states = np.array([s])
    states[field][0, *place] = value
    assert TWO.wrong_with(states[0]) == laws.FLAWS[law]


def test_a_card_that_is_drawn_is_news_for_its_seat_alone():
    s = TWO.fresh()
    assert TWO.news(s, 0, 11) == "draws lion"
    assert TWO.news(s, 1, 11) == "seat 0 draws a card"


def test_what_a_seat_knows_contains_its_hand():
    batch = Batch(TWO, 1, seed=1)
    batch.settle()
    s, t = batch.states[0], TWO.copy(batch.states[0])
    TWO.redeal(t, 0, chance.stream(2, "search"))
    assert s.hand[1] != t.hand[1]
    assert TWO.known(s, 0) == TWO.known(t, 0) and TWO.known(s, 1) != TWO.known(t, 1)


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


# In words ----------------------------------------------------------------------------------------


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
    zones = dict(part.split(": ") for part in text.split(" | "))
    zones[zone] = change(zones[zone])
    return " | ".join(f"{z}: {c}" for z, c in zones.items())


WRONG_TEXTS = {
    "is not like": lambda text: text.replace("thats_it", "out"),
    "'unicorn0' is not a card": lambda text: changed(text, "queue", lambda _: "unicorn0"),
    "every one of 2 seats has a hand": lambda text: text + " / -",
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
