"""Dominion against its specification: sections and scenarios are those of specs/dominion.md.

Positions are set by hand: a `Table` has the cards that are named and no others, seat 0 is in its
Action phase, and the engine continues from there. Decks are listed from the top.
"""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from dominion_table import GAME, IDS, ZONES, Table, names

from kibitz import chance
from kibitz.arena.table import Table as SeatedTable
from kibitz.batch import Batch
from kibitz.game import CHANCE, OVER, OptionError
from kibitz.games.dominion import cards, laws, options, rules, zones
from kibitz.games.dominion.catalogue import CARDS

HERE = Path(__file__).parent


# Section 15: scenarios ---------------------------------------------------------------------------


def test_1_a_throne_room_on_a_throne_room_plays_two_cards_twice():
    table = Table("2 Throne Room, Smithy, Village", deck="12 Copper")
    table.play("play Throne Room", "play Throne Room", "play Smithy")
    assert table.hand == "6 Copper, Village"
    table.play("play Village")
    assert table.hand == "8 Copper"
    assert table.s.actions == 4
    assert table.in_play == "Smithy, 2 Throne Room, Village"


@pytest.mark.parametrize(
    ("answers", "curses"),
    [
        (("reveal Moat", "finish"), 1),
        (("finish", "reveal Moat"), 1),
        (("reveal Moat", "reveal Moat"), 0),
        (("finish", "finish"), 2),
    ],
)
def test_2_a_moat_is_asked_for_at_each_play_of_a_witch(answers, curses):
    table = Table("Throne Room, Witch", deck="4 Copper", others=[{"hand": "Moat"}])
    table.play("play Throne Room", "play Witch")
    for drawn, answer in zip((0, 2), answers, strict=True):
        assert table.turn == 1
        assert table.s.hand_size[0] == drawn  # the window comes before the +2 Cards
        table.play(answer)
    assert table.s.discards[1, cards.CURSE] == curses
    assert table.hand1 == "Moat"


def test_3_each_merchant_adds_a_coin_to_the_first_silver():
    table = Table("2 Merchant, 2 Silver", deck="5 Estate")
    table.play("play Merchant", "play Merchant", "end actions")
    assert table.s.coins == 6
    table = Table("Throne Room, Merchant, Silver", deck="5 Estate")
    table.play("play Throne Room", "play Merchant", "end actions")
    assert table.s.coins == 4


def test_4_a_library_sets_an_action_aside():
    table = Table("Library, 6 Estate", deck="Village, Copper")
    table.play("play Library", "yes: set Village aside")
    assert table.hand == "Copper, 6 Estate"
    assert table.discards == "Village"
    assert table.aside == ""


def test_5_a_library_stops_when_there_are_no_more_cards():
    table = Table("Library, 2 Estate", deck="Gold", discards="2 Copper")
    table.play("play Library")
    assert table.hand == "2 Copper, Gold, 2 Estate"
    assert table.legal() == ["end actions"]


def test_6_a_cellar_draws_after_all_discards():
    table = Table("Cellar, 4 Estate", deck="Gold")
    table.play("play Cellar", *["discard Estate"] * 4)
    assert table.hand == "Gold, 3 Estate"
    assert table.deck == "Estate"
    assert table.discards == ""


def test_7_a_bandit_takes_one_treasure_that_is_no_copper():
    table = Table("Bandit", others=[{"deck": "Silver, Gold, Estate"}]).play("play Bandit")
    assert table.turn == 1
    assert table.legal() == ["trash Silver", "trash Gold"]
    table.play("trash Silver")
    assert (table.trash, table.discards1, table.deck1) == ("Silver", "Gold", "Estate")
    assert table.discards == "Gold"

    table = Table("Bandit", others=[{"deck": "Copper, Estate"}]).play("play Bandit")
    assert (table.trash, table.discards1, table.deck1) == ("", "Copper, Estate", "")

    table = Table("Bandit", others=[{"deck": "Silver"}]).play("play Bandit")
    assert (table.trash, table.discards1, table.deck1) == ("Silver", "", "")


def test_8_a_hand_without_victory_cards_is_shown_to_the_bureaucrat():
    table = Table("Bureaucrat", others=[{"hand": "Copper, Curse, Gold"}]).play("play Bureaucrat")
    assert table.turn == 0
    assert table.hand1 == table.shown1 == "Copper, Gold, Curse"
    assert table.deck == "Silver"


def test_9_remodel_and_mine():
    table = Table("Remodel, Gold").play("play Remodel", "trash Gold")
    assert "gain Province" in table.legal()
    table = Table("Remodel").play("play Remodel")
    assert table.legal() == ["end actions"]

    table = Table("Mine, Copper").play("play Mine", "trash Copper")
    assert table.legal() == ["gain Copper", "gain Silver"]
    table.play("gain Silver")
    assert (table.hand, table.trash) == ("Silver", "Copper")
    assert table.play("end actions").s.coins == 2
    table = Table("Mine, Copper").play("play Mine", "finish")
    assert (table.hand, table.trash, table.discards) == ("Copper", "", "")


def test_10_a_poacher_discards_no_more_than_the_hand():
    table = Table("Poacher", deck="Gold, Gold").set_supply(Curse=0, Estate=0).play("play Poacher")
    assert table.legal() == ["discard Gold"]
    table.play("discard Gold")
    assert (table.hand, table.discards, table.deck) == ("", "Gold", "Gold")


def test_11_the_first_to_the_left_gets_the_last_curse():
    table = Table("Witch", deck="2 Copper", others=({}, {})).set_supply(Curse=1)
    table.play("play Witch")
    assert (table.discards1, table.discards2) == ("Curse", "")
    table = Table("Witch", deck="2 Copper").set_supply(Curse=0).play("play Witch")
    assert (table.hand, table.discards1) == ("2 Copper", "")


def test_12_the_game_ends_between_turns_and_a_tie_goes_to_fewer_turns():
    table = Table("Workshop, 3 Copper", deck="5 Copper", kingdom=("Village",))
    table.set_supply(Curse=0, Estate=0, Village=1).play("play Workshop", "gain Village")
    assert table.turn == 0
    table.play("end actions", "buy Silver")
    assert table.turn == OVER
    assert not table.s.truncated

    table = Table("Province", others=[{"hand": "Province"}]).set_supply(Province=0)
    table.play("end actions", "end buys")
    assert table.s.turns.tolist() == [1, 0]
    assert table.game.scores(table.s) == [-1, 1]


@pytest.mark.parametrize(("coppers", "points"), [(37, 3), (38, 4)])
def test_13_gardens_count_every_tenth_card(coppers, points):
    table = Table("2 Gardens", discards=f"{coppers} Copper")
    assert rules.points(table.s, 0) == 2 * points


def test_14_a_vassal_may_play_a_throne_room_it_has_discarded():
    table = Table("Vassal, Village", deck="Throne Room, 5 Copper")
    table.play("play Vassal", "yes: play Throne Room", "play Village")
    assert table.in_play == "Throne Room, Vassal, Village"
    assert (table.hand, table.s.actions, table.s.coins) == ("2 Copper", 4, 2)
    table.play("end actions", "end buys")
    assert table.s.owned[0, table.slot("Throne Room")] == 1
    assert table.s.in_play[0].sum() == 0


def test_15_a_harbinger_needs_discards_and_an_artisan_may_put_back_its_gain():
    table = Table("Harbinger", deck="2 Copper").play("play Harbinger")
    assert table.legal() == ["end actions"]
    table = Table("Artisan, Copper").play("play Artisan", "gain Duchy", "top Duchy")
    assert (table.hand, table.deck) == ("Copper", "Duchy")


def test_16_a_sentry_trashes_or_orders():
    table = Table("Sentry", deck="Gold, Copper, Estate")
    table.play("play Sentry", "trash Copper", "trash Estate")
    assert (table.s.actions, table.trash, table.deck) == (1, "Copper, Estate", "")
    for first, second in (("Copper", "Estate"), ("Estate", "Copper")):
        table = Table("Sentry, Village", deck="Gold, Copper, Estate")
        table.play("play Sentry", "finish", "finish", f"top {first}")
        assert table.deck == f"{first}, {second}"
        assert table.play("play Village").s.hand[0, cards.SILVER :].sum() == 1 + (first == "Estate")


def test_17_council_room_fills_the_hand_that_militia_empties():
    table = Table("Council Room, Militia", others=[{"hand": "5 Copper", "deck": "Estate"}])
    table.set_turn(actions=2).play("play Council Room")
    assert table.s.hand_size[1] == 6
    table.play("play Militia", "discard Copper", "discard Copper", "discard Copper")
    assert (table.turn, table.hand1) == (0, "2 Copper, Estate")


def test_18_a_chapel_trashes_none_to_four():
    table = Table("Chapel, 5 Copper").play("play Chapel", "finish")
    assert (table.hand, table.trash) == ("5 Copper", "")
    table = Table("Chapel, 5 Copper").play("play Chapel", *["trash Copper"] * 4)
    assert (table.hand, table.trash) == ("Copper", "4 Copper")
    assert table.legal() == ["end actions"]


def test_19_a_draw_takes_the_old_deck_before_the_shuffle():
    table = Table("", deck="3 Gold", discards="4 Silver", others=[{"hand": "Copper"}])
    table.play("end actions", "end buys")
    assert table.hand == "2 Silver, 3 Gold"
    assert (table.deck, table.discards) == ("2 Silver", "")


def test_20_two_players_have_46_coppers_and_8_estates_in_the_supply():
    s = Table().game.fresh()
    assert s.supply[[cards.COPPER, cards.CURSE, cards.ESTATE]].tolist() == [46, 10, 8]
    assert s.deck[:, cards.ESTATE].tolist() == s.owned[:, cards.ESTATE].tolist() == [3, 3]


# Section 2: set-up -------------------------------------------------------------------------------

# players: Estate and Duchy, Province, kingdom Victory, Curse, Copper, Silver, Gold
SUPPLY = {
    2: (8, 8, 8, 10, 46, 40, 30),
    3: (12, 12, 12, 20, 39, 40, 30),
    4: (12, 12, 12, 30, 32, 40, 30),
    5: (12, 15, 12, 40, 85, 80, 60),
    6: (12, 18, 12, 50, 78, 80, 60),
}


@pytest.mark.parametrize("players", SUPPLY)
def test_piles_are_as_large_as_the_table_says(players):
    s = GAME.bind(players=players, kingdom="sleight_of_hand").fresh()
    estates, provinces, gardens, curses, coppers, silvers, golds = SUPPLY[players]
    assert s.supply[:7].tolist() == [coppers, silvers, golds, estates, estates, provinces, curses]
    piles = {CARDS[int(s.card[i])].name: int(s.supply[i]) for i in range(7, 17)}
    assert piles.pop("Gardens") == gardens
    assert set(piles.values()) == {10}
    assert (s.initial == s.supply).all()
    assert GAME.bind(copper_supply=60, kingdom="first_game").fresh().supply[0] == 60


def test_kingdoms_and_first_seats_are_drawn_evenly():
    batch = Batch(GAME, 3000, seed=3, threads=1)
    batch.settle()
    drawn = np.bincount(batch.states["card"][:, 7:].reshape(-1), minlength=33)
    assert (drawn[:7] == 0).all()
    share = 10 / 26
    assert abs(drawn[7:] / 3000 - share).max() < 4.5 * (share * (1 - share) / 3000) ** 0.5
    assert abs(batch.states["player"].mean() - 0.5) < 4.5 * 0.5 / 3000**0.5
    for kingdom in batch.states["card"][:50].tolist():
        assert all(a < b for a, b in pairwise(kingdom))


# Section 14, with the lists as printed there.
KINGDOMS = """
First Game: Cellar, Market, Merchant, Militia, Mine, Moat, Remodel, Smithy, Village, Workshop
Size Distortion: Artisan, Bandit, Bureaucrat, Chapel, Festival, Gardens, Sentry, Throne Room, Witch, Workshop
Deck Top: Artisan, Bureaucrat, Council Room, Festival, Harbinger, Laboratory, Moneylender, Sentry, Vassal, Village
Sleight of Hand: Cellar, Council Room, Festival, Gardens, Harbinger, Library, Militia, Poacher, Smithy, Throne Room
Improvements: Artisan, Cellar, Market, Merchant, Mine, Moat, Moneylender, Poacher, Remodel, Witch
Silver & Gold: Bandit, Bureaucrat, Chapel, Harbinger, Laboratory, Merchant, Mine, Moneylender, Throne Room, Vassal
"""  # noqa: E501


@pytest.mark.parametrize("line", KINGDOMS.strip().splitlines())
def test_a_kingdom_can_be_told_by_its_name_or_by_its_cards(line):
    title, _, listed = line.partition(": ")
    by_name = GAME.bind(kingdom=title).fresh()
    shuffled = " , ".join(listed.upper().replace(" ", "_").replace(",_", ",").split(",")[::-1])
    assert by_name.tobytes() == GAME.bind(kingdom=shuffled).fresh().tobytes()
    drawn = [CARDS[int(card)].name for card in by_name.card[7:]]
    assert drawn == sorted(names(listed), key=IDS.get)
    assert title.lower().replace(" & ", "_and_").replace(" ", "_") in options.KINGDOMS


def test_a_drawn_kingdom_has_and_lacks_what_was_asked_for():
    game = GAME.bind(kingdom="Random WITH Witch, Throne Room WITHOUT Chapel, Moat")
    witch, throne_room, chapel, moat = (IDS[n] for n in ("Witch", "Throne Room", "Chapel", "Moat"))
    batch = Batch(game, 2000, seed=3, threads=1)
    batch.settle()
    drawn = np.bincount(batch.states["card"][:, 7:].reshape(-1), minlength=33) / 2000
    assert drawn[witch] == drawn[throne_room] == 1 and drawn[chapel] == drawn[moat] == 0
    others = [card for card in range(7, 33) if 0 < drawn[card] < 1]
    assert len(others) == 22
    share = 8 / 22
    assert abs(drawn[others] - share).max() < 4.5 * (share * (1 - share) / 2000) ** 0.5
    t, out = game.fresh(), np.zeros(rules.IDS)
    for card in (card for card in batch.states["card"][0, 7:] if card not in (witch, throne_room)):
        assert game.flaw(t, game.fresh()) == 0
        game.odds(t, out)
        assert out[card] == 1 / (24 - t.kingdom_size) and out.sum() == pytest.approx(1)
        game.play(t, int(card))
    cards_named = ", ".join(CARDS[int(card)].name for card in t.card[7:])
    assert t.tobytes() == GAME.bind(kingdom=cards_named).fresh().tobytes(), (
        "now a game as any other"
    )
    t.card[7:] = GAME.bind(kingdom="improvements").fresh().card[7:]
    assert game.flaw(t, game.fresh()) == 2


def test_a_kingdom_of_a_seed_is_that_of_a_random_table_with_the_seed():
    for seed in (1, 7):
        seen = SeatedTable(GAME, seed=seed).seen(0)
        kingdom = GAME.bind(kingdom=f"seed:{seed}").fresh().card[7:]
        assert len(set(kingdom.tolist())) == 10
        assert all(CARDS[int(card)].name in seen for card in kingdom)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"kingdom": "Cellar, Moat"}, "10 cards, not 2"),
        ({"kingdom": "Cellar," * 10}, "named twice"),
        ({"kingdom": "random with Witch without Witch"}, "both in a kingdom and out of it"),
        ({"kingdom": "random without Mote"}, "'mote' is neither"),
        ({"kingdom": "random with"}, "is neither"),
        ({"kingdom": "seed:x"}, "is neither"),
        (
            {"kingdom": f"random without {options.KINGDOMS['first_game']}, Witch"},
            "10 cards can be named",
        ),
        ({"kingdom": "Cellar, Mote"}, "'mote' is neither"),
        ({"kingdom": "Copper"}, "'copper' is neither"),
        ({"first": "2"}, "0 to 1, or random"),
        ({"players": 7}, "two to six"),
        ({"max_turns": 0}, "1 to 10000"),
        ({"copper_supply": 121}, "0 to 120"),
    ],
)
def test_options_that_make_no_game_are_refused(wrong, sentence):
    with pytest.raises(OptionError, match=sentence):
        GAME.bind(**wrong)


# Cards stay what they are ------------------------------------------------------------------------


def check_cards(s):
    """Every card is in one zone, and sizes are the sums they stand for."""
    seats = range(len(s.hand))
    tops = np.zeros_like(s.deck, int)
    for seat in seats:
        np.add.at(tops[seat], s.top[seat, : s.tops[seat]], 1)
    if s.in_limbo:
        np.add.at(tops[s.limbo_of], s.limbo[: s.in_limbo], 1)
    zones_of_a_seat = sum(s[zone].astype(int) for zone in ZONES) + tops
    assert (zones_of_a_seat == s.owned).all()
    start = s.initial.astype(int)
    start[[cards.COPPER, cards.ESTATE]] += np.array([7, 3]) * len(seats)
    assert (s.supply + s.trash + s.owned.sum(0, dtype=int) == start).all()
    for zone in ("hand", "deck", "discards"):
        assert (s[zone].sum(1) == s[f"{zone}_size"]).all()
    assert (s.shown <= s.hand).all()
    assert min(s[zone].min() for zone in (*ZONES, "supply", "trash", "shown")) >= 0


def play_and_check(players, games_played, **options):
    game = GAME.bind(players=players, **options)
    for index in range(games_played):
        rng, s = chance.stream(players, "table", index), game.fresh()
        while (who := game.turn(s)) != OVER:
            if who == CHANCE:
                game.roll(s, rng)
            else:
                legal = game.legal(s)
                game.play(s, legal[int(chance.below(rng, len(legal)))])
            if s.phase >= zones.DEAL:
                check_cards(s)
        assert s.past_count.tolist() == s.turns.tolist()


def test_no_card_is_lost_in_random_games():
    play_and_check(2, games_played=8)
    play_and_check(2, games_played=4, auto_treasures=False, auto_single=False)
    play_and_check(3, games_played=4)


def test_no_card_is_lost_at_larger_tables():
    """Interpreted, which for a few games is quicker than to compile for every number of seats."""
    script = "import test_dominion as t; [t.play_and_check(n, games_played=1) for n in (4, 5, 6)]"
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", script], cwd=HERE, env=environment, check=True)


# Section 3: the turn -----------------------------------------------------------------------------


def test_after_the_first_buy_no_treasure_can_be_played():
    table = Table("Festival, 2 Copper, Silver", auto_treasures=False).play("play Festival")
    table.play("end actions", "play Copper")
    assert {"play Copper", "play Silver", "play all treasures", "buy Silver"} <= {*table.legal()}
    table.play("buy Silver")
    assert (table.s.coins, table.s.buys) == (0, 1)
    assert table.legal() == ["buy Copper", "buy Curse", "end buys"]


def test_all_treasures_can_be_played_at_once():
    table = Table("Gold, 2 Copper, Silver, Estate", auto_treasures=False)
    table.play("end actions", "play all treasures")
    assert (table.s.coins, table.hand) == (7, "Estate")
    assert table.in_play == "2 Copper, Silver, Gold"
    assert table.s.stat[0, zones.PLAYED_TREASURES] == 4


def test_without_actions_left_none_can_be_played():
    table = Table("2 Smithy", deck="5 Copper").play("play Smithy")
    assert table.legal() == ["end actions"]


def test_a_phase_without_choice_is_passed_over_only_if_wanted():
    table = Table("Copper", auto_single=True, others=[{"hand": "Copper", "deck": "5 Copper"}])
    assert table.s.phase == zones.BUY_PHASE
    table = Table("Copper", auto_single=True, auto_single_phase=False)
    assert table.legal() == ["end actions"]


def test_a_single_choice_is_made_and_remembered():
    table = Table("Remodel, Copper, Copper", auto_single=True).play("play Remodel")
    assert table.trash == "Copper"
    assert "gain Estate" in table.legal()
    assert table.s.acted[0, int(table.s.acted_count[0]) - 1 & 7].tolist() == [
        zones.TRASHES,
        cards.COPPER + 1,
        table.slot("Remodel") + 1,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("players", "piles", "ends"),
    [(2, 2, False), (2, 3, True), (4, 2, False), (4, 3, True), (5, 3, False), (6, 4, True)],
)
def test_empty_piles_end_the_game(players, piles, ends):
    s = GAME.bind(players=players, kingdom="first_game").fresh()
    s.supply[[cards.COPPER, cards.CURSE, cards.DUCHY, cards.GOLD][:piles]] = 0
    assert rules.is_over(s, 0) == ends


def test_a_game_without_end_is_stopped():
    table = Table("", others=[{"hand": "Copper"}], max_turns=1)
    table.play("end actions", "end buys", "end actions", "end buys")
    assert table.turn == OVER
    assert table.s.truncated
    assert table.s.turns.tolist() == [1, 1]


# Section 4: scores -------------------------------------------------------------------------------


def test_more_than_two_are_compared_in_pairs():
    hands = [{"hand": "Duchy"}, {"hand": "2 Estate"}]
    table = Table("Duchy", others=hands).set_supply(Province=0).play("end actions", "end buys")
    # Points 3, 3, 2; seat 0 alone has had a turn.
    assert table.game.scores(table.s) == pytest.approx([0, 1, -1])
    out = np.zeros(3, np.float32)
    table.game.margin(table.s, out)
    assert out.tolist() == pytest.approx([3 - 2.5, 3 - 2.5, 2 - 3])


# Section 7: knowledge ----------------------------------------------------------------------------


def redeals(table, seat, count):
    """Re-dealt copies of a position, for what a seat knows."""
    for _ in range(count):
        t = table.game.copy(table.s)
        table.game.redeal(t, seat, table.rng)
        check_cards(t)
        yield t


def test_a_redeal_is_even_over_all_places_that_are_not_known():
    """Of the hand the Moat is known; Gold and three Coppers share a place there and three below."""
    other = {"hand": "Moat, Copper", "deck": "Gold, 2 Copper"}
    table = Table("Militia, Copper", deck="Silver, Copper, Estate", others=[other])
    table.s.shown[1, table.slot("Moat")] = 1
    before, golds, draws = table.game.copy(table.s), Counter(), 2000
    for t in redeals(table, 0, draws):
        assert t.hand[1, table.slot("Moat")] == 1
        golds["hand"] += int(t.hand[1, cards.GOLD])
        golds.update(i for i in range(3) if t.top[1, i] == cards.GOLD)
        t.hand[1], t.top[1] = before.hand[1], before.top[1]
        assert t.tobytes() == before.tobytes()
    assert golds.total() == draws
    for place in ("hand", 0, 1, 2):
        assert abs(golds[place] / draws - 1 / 4) < 4.5 * (1 / 4 * 3 / 4 / draws) ** 0.5


def test_a_card_that_everybody_has_seen_stays_on_the_deck():
    table = Table("", others=[{"hand": "2 Copper, Estate", "deck": "Gold, Silver, 2 Duchy"}])
    table.s.top_seen[1, 3] = 0b11  # the Gold on top
    met = set()
    for t in redeals(table, 0, 100):
        assert t.top[1, 3] == cards.GOLD
        met.add((t.hand[1].tobytes(), t.top[1].tobytes()))
    assert len(met) > 30


def test_the_hand_of_a_seat_that_decides_and_what_it_looks_at_are_dealt_anew():
    table = Table("Sentry, Copper, Gold", deck="Estate, Silver, Duchy, Curse, Province")
    table.play("play Sentry")
    met = {"hand": set(), "limbo": set(), "top": set()}
    for t in redeals(table, 1, 100):
        for zone, places in met.items():
            places.add(t[zone][0].tobytes() if zone != "limbo" else t.limbo.tobytes())
        assert "trash" in table.game.action_text(t, table.game.legal(t)[0]), "the question stays"
    assert all(len(places) > 10 for places in met.values())
    assert len({t.tobytes() for t in redeals(table, 0, 50)}) == 1, "its own cards it knows"


def test_only_its_owner_knows_when_cards_of_hand_and_deck_are_exchanged():
    table = Table("Village", others=[{"hand": "Copper", "deck": "Gold"}])
    table.s.top_seen[1, 0] = 0
    other = table.game.copy(table.s)
    other.hand[1, [cards.COPPER, cards.GOLD]] = 0, 1
    other.top[1, 0] = cards.COPPER
    known = table.game.known
    assert known(table.s, 0) == known(other, 0)
    assert known(table.s, 1) != known(other, 1)


@pytest.mark.parametrize(
    ("field", "place", "value", "law"),
    [
        ("hand", (1, 0), 9, 5),
        ("owned", (1, 0), 8, 5),
        ("supply", (0,), 1, 5),
        ("max_turns", (), 9, 1),
        ("tops", (0,), 99, 4),
        ("depth", (), 99, 6),
    ],
)
def test_a_position_that_breaks_a_law_is_answered_with_it(field, place, value, law):
    game, rng = GAME.bind(kingdom="first_game"), chance.stream(1, "table")
    s = game.fresh()
    while game.turn(s) == CHANCE:
        game.roll(s, rng)
    assert game.wrong_with(s) == ""
    states = np.array([s])
    states[field][0, *place] = value
    assert game.wrong_with(states[0]) == laws.FLAWS[law - 1]


def test_at_clean_up_nobody_knows_a_hand_any_more():
    table = Table("Mine, Copper", deck="5 Copper").play("play Mine", "trash Copper", "gain Silver")
    assert table.shown == "Silver"
    table.play("end actions", "end buys")
    assert table.shown == ""
