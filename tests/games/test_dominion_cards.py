"""Every card of Dominion that asks something, in positions worked out by hand from its text."""

import pytest
from dominion_table import Table

from kibitz import chance
from kibitz.games.dominion import cards, zones
from kibitz.games.dominion.catalogue import CARDS
from kibitz.players import Sight

EVERYBODY = 0b11


def latest(ring, count):
    """The latest entry of a history."""
    return ring[(int(count) - 1) % len(ring)].tolist()


# What is printed ---------------------------------------------------------------------------------


# Section 5.1, without effects: id, card, cost, types, +Cards / +Actions / +Buys / coins
PRINTED = """
0 Copper 0 Treasure 0/0/0/1
1 Silver 3 Treasure 0/0/0/2
2 Gold 6 Treasure 0/0/0/3
3 Estate 2 Victory 0/0/0/0
4 Duchy 5 Victory 0/0/0/0
5 Province 8 Victory 0/0/0/0
6 Curse 0 Curse 0/0/0/0
7 Artisan 6 Action 0/0/0/0
8 Bandit 5 Action-Attack 0/0/0/0
9 Bureaucrat 4 Action-Attack 0/0/0/0
10 Cellar 2 Action 0/1/0/0
11 Chapel 2 Action 0/0/0/0
12 Council_Room 5 Action 4/0/1/0
13 Festival 5 Action 0/2/1/2
14 Gardens 4 Victory 0/0/0/0
15 Harbinger 3 Action 1/1/0/0
16 Laboratory 5 Action 2/1/0/0
17 Library 5 Action 0/0/0/0
18 Market 5 Action 1/1/1/1
19 Merchant 3 Action 1/1/0/0
20 Militia 4 Action-Attack 0/0/0/2
21 Mine 5 Action 0/0/0/0
22 Moat 2 Action-Reaction 2/0/0/0
23 Moneylender 4 Action 0/0/0/0
24 Poacher 4 Action 1/1/0/1
25 Remodel 4 Action 0/0/0/0
26 Sentry 5 Action 1/1/0/0
27 Smithy 4 Action 3/0/0/0
28 Throne_Room 4 Action 0/0/0/0
29 Vassal 3 Action 0/0/0/2
30 Village 3 Action 1/2/0/0
31 Witch 5 Action-Attack 2/0/0/0
32 Workshop 3 Action 0/0/0/0
"""
TYPES = ("Treasure", "Action", "Victory", "Curse", "Attack", "Reaction")


def test_cards_are_as_printed():
    printed = [line.split() for line in PRINTED.strip().splitlines()]
    assert len(printed) == len(CARDS)
    for number, name, cost, types, gives in printed:
        card = CARDS[int(number)]
        types = "-".join(kind for i, kind in enumerate(TYPES) if card.has(1 << i))
        given = f"{card.cards}/{card.actions}/{card.buys}/{card.coins}"
        assert (card.name.replace(" ", "_"), str(card.cost), types, given) == (
            name,
            cost,
            types,
            gives,
        )


# Artisan -----------------------------------------------------------------------------------------


def test_artisan_must_gain_up_to_five_and_put_a_card_back():
    table = Table("Artisan", kingdom=("Smithy", "Market")).play("play Artisan")
    assert {"gain Copper", "gain Curse", "gain Duchy", "gain Market"} <= {*table.legal()}
    assert not {"gain Gold", "gain Province", "gain Artisan", "finish"} & {*table.legal()}
    table.play("gain Market")
    assert table.legal() == ["top Market"]
    assert (table.hand, table.shown) == ("Market", "Market")


def test_what_artisan_puts_back_is_a_secret_of_its_player():
    table = Table("Artisan, Gold").play("play Artisan", "gain Silver")
    assert table.legal() == ["top Silver", "top Gold"]
    table.play("top Gold")
    assert (table.hand, table.deck, table.shown) == ("Silver", "Gold", "")
    assert table.s.top_seen[0, 0] == 0b01
    entry = latest(table.s.events[0], table.s.events_count[0])
    assert entry == [zones.PUTS_ON_DECK, 0, 0, 0, 1]
    remembered = latest(table.s.acted[0], table.s.acted_count[0])
    assert remembered == [zones.PUTS_ON_DECK, cards.GOLD + 1, table.slot("Artisan") + 1, 0, 1]


def test_what_artisan_puts_back_is_not_at_the_tables_that_others_imagine():
    table = Table("Artisan, Gold, Estate", deck="2 Copper").play("play Artisan", "gain Silver")
    table.play("top Gold")
    assert not table.s.selected.any(), "which cards were chosen is over with the question"
    sight = Sight(table.game, [table.s], [1], chance.streams(1, "player", 1))
    imagined = [sight.imagine()[0] for _ in range(40)]
    for s in (sight._tables.states[0], *imagined):
        assert latest(s.acted[0], s.acted_count[0])[:2] == [zones.PUTS_ON_DECK, 0]
    assert len({int(s.top[0, s.tops[0] - 1]) for s in imagined}) > 2


def news(table, text, seat):
    """What a seat hears when a text is played."""
    return table.game.news(table.s, seat, table.game.read_action(table.s, text))


def test_what_artisan_and_sentry_put_back_is_news_for_nobody_else():
    table = Table("Artisan, Gold").play("play Artisan", "gain Silver")
    assert [news(table, "top Gold", seat) for seat in range(2)] == [
        "top Gold",
        "puts a card on the deck",
    ]
    table = Table("Sentry", deck="Copper, Gold, Silver")
    table.play("play Sentry", "finish", "finish")
    assert [news(table, "top Gold", seat) for seat in range(2)] == [
        "top Gold",
        "puts the cards back",
    ]


def test_artisan_without_anything_to_gain_still_puts_a_card_back():
    table = Table("Artisan, Copper")
    table.s.supply[table.s.cost <= 5] = 0
    table.play("play Artisan", "top Copper")
    assert (table.hand, table.deck) == ("", "Copper")


# Bandit ------------------------------------------------------------------------------------------


def test_bandit_takes_one_of_two_silvers_without_asking():
    table = Table("Bandit", others=[{"deck": "2 Silver, Gold"}]).play("play Bandit")
    assert (table.trash, table.discards1, table.deck1) == ("Silver", "Silver", "Gold")


def test_bandit_without_gold_in_the_supply_still_attacks():
    table = Table("Bandit", others=[{"deck": "Copper, Gold"}]).set_supply(Gold=0)
    table.play("play Bandit")
    assert (table.discards, table.trash, table.discards1) == ("", "Gold", "Copper")


def test_bandit_attacks_from_the_left_and_shuffles_for_missing_cards():
    others = [{"deck": "Silver, Gold"}, {"deck": "Gold", "discards": "Silver"}]
    table = Table("Bandit", others=others).play("play Bandit")
    assert table.turn == 1
    table.play("trash Gold")
    assert table.turn == 2
    table.play("trash Silver")
    assert (table.trash, table.discards1, table.discards2) == ("Silver, Gold", "Silver", "Gold")


# Bureaucrat --------------------------------------------------------------------------------------


def test_bureaucrat_lets_the_victim_choose_among_kinds():
    table = Table("Bureaucrat", others=[{"hand": "2 Estate, Province, Copper"}])
    table.play("play Bureaucrat")
    assert (table.turn, table.legal()) == (1, ["top Estate", "top Province"])
    table.play("top Province")
    assert (table.hand1, table.deck1) == ("Copper, 2 Estate", "Province")
    assert table.s.top_seen[1, 0] == EVERYBODY
    assert table.shown1 == ""  # one card was shown, and it has left the hand


def test_bureaucrat_gains_silver_on_the_deck_for_all_to_see():
    table = Table("Bureaucrat, Village", deck="Gold", others=[{"hand": "Copper"}])
    table.set_turn(actions=2).play("play Bureaucrat")
    assert (table.deck, table.s.top_seen[0, 1]) == ("Silver, Gold", EVERYBODY)
    table.play("play Village")
    assert (table.hand, table.shown) == ("Silver", "Silver")


# Cellar ------------------------------------------------------------------------------------------


def test_cellar_discards_in_the_order_of_ids_and_then_draws():
    table = Table("Cellar, 2 Copper, Estate", deck="Gold, Silver, Gold").play("play Cellar")
    assert table.legal() == ["discard Copper", "discard Estate", "finish"]
    table.play("discard Copper")
    assert table.hand == "Copper, Estate"  # nothing drawn yet
    table.play("discard Estate")
    assert table.hand == "Copper, Silver, Gold"  # no card at or above Estate: it ended by itself
    assert (table.s.actions, table.discards) == (1, "Copper, Estate")


def test_cellar_may_discard_nothing_and_may_stop():
    table = Table("Cellar, Copper, Estate", deck="Gold").play("play Cellar", "finish")
    assert (table.hand, table.deck, table.s.actions) == ("Copper, Estate", "Gold", 1)
    table = Table("Cellar, 2 Copper", deck="2 Gold").play("play Cellar", "discard Copper", "finish")
    assert (table.hand, table.discards) == ("Copper, Gold", "Copper")
    table = Table("Cellar").play("play Cellar")
    assert table.legal() == ["end actions"]


# Chapel ------------------------------------------------------------------------------------------


def test_chapel_ends_when_no_card_can_be_chosen():
    table = Table("Chapel, Copper, Estate").play("play Chapel", "trash Copper", "trash Estate")
    assert (table.trash, table.legal()) == ("Copper, Estate", ["end actions"])


def test_chapel_trashes_in_the_order_of_ids():
    table = Table("Chapel, Copper, Estate, Curse").play("play Chapel", "trash Estate")
    assert table.legal() == ["trash Curse", "finish"]
    table.play("finish")
    assert (table.hand, table.trash) == ("Copper, Curse", "Estate")
    assert table.owned == "Copper, Curse, Chapel"


# Harbinger ---------------------------------------------------------------------------------------


def test_harbinger_puts_a_discarded_card_on_the_deck():
    table = Table("Harbinger, Village", deck="2 Copper", discards="Gold, Estate")
    table.play("play Harbinger")
    assert table.legal() == ["top Gold", "top Estate", "finish"]
    table.play("top Gold")
    assert (table.deck, table.discards) == ("Gold, Copper", "Estate")
    assert table.s.top_seen[0, 1] == EVERYBODY
    assert table.play("play Village").hand == "Copper, Gold"


def test_harbinger_may_leave_the_discards_alone():
    table = Table("Harbinger", deck="2 Copper", discards="Gold").play("play Harbinger", "finish")
    assert (table.deck, table.discards, table.s.actions) == ("Copper", "Gold", 1)


def test_harbinger_draws_before_it_looks():
    table = Table("Harbinger", discards="Gold").play("play Harbinger")
    assert (table.hand, table.discards) == ("Gold", "")
    assert table.legal() == ["end actions"]


# Library -----------------------------------------------------------------------------------------


def test_library_keeps_an_action_that_is_wanted():
    table = Table("Library, 5 Estate", deck="Village, Smithy, Copper").play("play Library")
    assert table.legal() == ["yes: set Village aside", "no"]
    table.play("no", "yes: set Smithy aside")
    assert (table.hand, table.discards) == ("Copper, 5 Estate, Village", "Smithy")


def test_library_does_nothing_with_seven_cards_in_hand():
    table = Table("Library, 7 Estate", deck="Gold").play("play Library")
    assert (table.hand, table.deck) == ("7 Estate", "Gold")


def test_library_does_not_shuffle_what_it_has_set_aside():
    table = Table("Library, 5 Estate", deck="Village", discards="Gold")
    table.play("play Library", "yes: set Village aside")
    assert (table.hand, table.discards) == ("Gold, 5 Estate", "Village")


# Militia -----------------------------------------------------------------------------------------


def test_militia_leaves_enough_cards_above_each_choice():
    table = Table("Militia", others=[{"hand": "2 Copper, Silver, Gold, Estate"}])
    table.play("play Militia")
    assert (table.turn, table.s.coins) == (1, 2)
    assert table.legal() == ["discard Copper", "discard Silver", "discard Gold"]
    table.play("discard Gold")
    assert table.legal() == ["discard Estate"]
    table.play("discard Estate")
    assert (table.turn, table.hand1, table.discards1) == (0, "2 Copper, Silver", "Gold, Estate")


def test_militia_goes_round_and_spares_small_hands():
    others = [{"hand": "3 Gold"}, {"hand": "4 Estate"}]
    table = Table("Militia", others=others).play("play Militia")
    assert table.turn == 2
    table.play("discard Estate")
    assert (table.turn, table.hand1, table.hand2) == (0, "3 Gold", "3 Estate")


# Mine --------------------------------------------------------------------------------------------


def test_mine_turns_silver_into_gold_in_hand():
    table = Table("Mine, Silver, Estate").play("play Mine")
    assert table.legal() == ["trash Silver", "finish"]
    table.play("trash Silver")
    assert table.legal() == ["gain Copper", "gain Silver", "gain Gold"]
    table.play("gain Gold")
    assert (table.hand, table.shown, table.trash) == ("Gold, Estate", "Gold", "Silver")


def test_mine_without_a_treasure_asks_nothing_and_may_gain_nothing():
    table = Table("Mine, Estate").play("play Mine")
    assert table.legal() == ["end actions"]
    table = Table("Mine, Copper").set_supply(Copper=0, Silver=0).play("play Mine", "trash Copper")
    assert (table.hand, table.trash, table.legal()) == ("", "Copper", ["end actions"])


# Moat --------------------------------------------------------------------------------------------


def test_moat_is_shown_and_stays_in_hand():
    table = Table("Militia", others=[{"hand": "Moat, 4 Copper"}]).play("play Militia")
    assert (table.turn, table.s.coins) == (1, 0)  # before anything on the card happens
    assert table.legal() == ["reveal Moat", "finish"]
    table.play("reveal Moat")
    assert (table.turn, table.s.coins, table.hand1) == (0, 2, "4 Copper, Moat")
    assert table.shown1 == "Moat"


def test_moat_protects_its_owner_only():
    others = [{"hand": "Moat"}, {"hand": "Moat"}]
    table = Table("Witch", deck="2 Copper", others=others).play("play Witch")
    assert table.turn == 1
    table.play("finish")
    assert table.turn == 2
    table.play("reveal Moat")
    assert (table.discards1, table.discards2) == ("Curse", "")


def test_moat_is_not_asked_for_where_nobody_attacks():
    table = Table("Council Room", deck="4 Copper", others=[{"hand": "Moat", "deck": "Gold"}])
    table.play("play Council Room")
    assert (table.turn, table.hand1) == (0, "Gold, Moat")
    table = Table("Moat, Militia", deck="2 Copper", others=[{"hand": "4 Copper"}])
    assert table.play("play Militia").turn == 1  # an own Moat is no Reaction to an own Attack


def test_moat_revealed_to_a_bureaucrat_shows_no_more_than_itself():
    table = Table("Bureaucrat", others=[{"hand": "Moat, Copper"}]).play("play Bureaucrat")
    assert table.play("reveal Moat").shown1 == "Moat"
    table = Table("Bureaucrat", others=[{"hand": "Moat, Estate"}]).play("play Bureaucrat")
    assert table.play("finish").shown1 == ""  # the Estate is still to be chosen
    assert table.legal() == ["top Estate"]


# Moneylender -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "coins", "hand", "trash"),
    [("yes: trash Copper for $3", 3, "Copper", "Copper"), ("no", 0, "2 Copper", "")],
)
def test_moneylender_may_trash_a_copper(answer, coins, hand, trash):
    table = Table("Moneylender, 2 Copper").play("play Moneylender", answer)
    assert (table.s.coins, table.hand, table.trash) == (coins, hand, trash)


def test_moneylender_needs_a_copper():
    table = Table("Moneylender, Silver").play("play Moneylender")
    assert (table.legal(), table.s.coins) == (["end actions"], 0)


# Poacher -----------------------------------------------------------------------------------------


def test_poacher_discards_a_card_for_each_empty_pile():
    table = Table("Poacher, Estate", deck="Gold").play("play Poacher")
    assert (table.legal(), table.s.coins, table.s.actions) == (["end actions"], 1, 1)
    table = Table("Poacher, Copper, Estate", deck="Gold").set_supply(Curse=0, Duchy=0)
    table.play("play Poacher")
    assert table.legal() == ["discard Copper", "discard Gold"]  # two are needed in order of ids
    table.play("discard Gold", "discard Estate")
    assert (table.hand, table.discards) == ("Copper", "Gold, Estate")


# Remodel -----------------------------------------------------------------------------------------


def test_remodel_must_trash_and_must_gain():
    table = Table("Remodel, Copper", kingdom=("Cellar", "Village")).play("play Remodel")
    assert table.legal() == ["trash Copper"]
    table.play("trash Copper")
    assert {"gain Copper", "gain Curse", "gain Estate", "gain Cellar"} <= {*table.legal()}
    assert not {"gain Village", "gain Silver", "finish"} & {*table.legal()}
    table.play("gain Estate")
    assert (table.hand, table.discards, table.trash) == ("", "Estate", "Copper")


def test_remodel_gains_up_to_two_more_than_the_card_cost():
    table = Table("Remodel, Smithy, Duchy").play("play Remodel", "trash Smithy")
    assert "gain Gold" in table.legal()
    assert "gain Province" not in table.legal()
    assert table.s.paid[0] == 4
    table = Table("Remodel, Estate")
    table.s.supply[table.s.cost <= 4] = 0
    table.play("play Remodel", "trash Estate")
    assert (table.trash, table.discards, table.legal()) == ("Estate", "", ["end actions"])


# Sentry ------------------------------------------------------------------------------------------


def test_sentry_trashes_one_and_discards_the_other():
    table = Table("Sentry", deck="Gold, Estate, Copper, Silver").play("play Sentry")
    assert table.hand == "Gold"
    assert table.legal() == ["trash Copper", "trash Estate", "finish"]
    table.play("trash Estate")
    assert table.legal() == ["discard Copper", "finish"]  # none at or above Estate to trash
    table.play("discard Copper")
    assert (table.trash, table.discards, table.deck) == ("Estate", "Copper", "Silver")
    assert (table.s.actions, table.s.in_limbo) == (1, 0)


def test_sentry_trashes_both_only_in_the_order_of_ids():
    table = Table("Sentry", deck="Gold, Estate, Copper").play("play Sentry", "trash Copper")
    assert table.legal() == ["trash Estate", "finish"]
    table.play("finish", "discard Estate")
    assert (table.trash, table.discards, table.deck) == ("Copper", "Estate", "")


def test_sentry_asks_for_no_order_of_equal_cards():
    table = Table("Sentry", deck="Gold, 2 Copper, Silver").play("play Sentry", "finish", "finish")
    assert (table.deck, table.legal()) == ("Copper, Copper, Silver", ["end actions"])
    assert table.s.top_seen[0, :3].tolist() == [0b01] * 3


def test_sentry_looks_at_what_there_is():
    table = Table("Sentry", deck="Gold", discards="Estate").play("play Sentry")
    assert table.legal() == ["trash Estate", "finish"]
    table.play("finish", "finish")
    assert (table.deck, table.discards, table.s.top_seen[0, 0]) == ("Estate", "", 0b01)
    table = Table("Sentry", deck="Gold").play("play Sentry")
    assert table.legal() == ["end actions"]


def test_sentry_twice_looks_at_what_it_has_put_back():
    table = Table("Throne Room, Sentry", deck="Gold, Copper, Estate, Silver")
    table.play("play Throne Room", "play Sentry", "finish", "finish", "top Estate")
    assert table.hand == "Gold, Estate"
    assert table.legal() == ["trash Copper", "trash Silver", "finish"]
    table.play("trash Copper", "finish", "finish")
    assert (table.deck, table.trash, table.s.actions) == ("Silver", "Copper", 2)


# Throne Room -------------------------------------------------------------------------------------


def test_throne_room_may_be_declined_and_needs_an_action():
    table = Table("Throne Room, Village", deck="2 Copper").play("play Throne Room", "finish")
    assert (table.hand, table.s.actions) == ("Village", 0)
    table = Table("Throne Room, Copper").play("play Throne Room")
    assert table.legal() == ["end actions"]


def test_throne_room_finishes_the_first_play_before_the_second():
    table = Table("Throne Room, Remodel, Estate, Copper")
    table.play("play Throne Room", "play Remodel", "trash Estate", "gain Silver")
    assert table.legal() == ["trash Copper"]
    table.play("trash Copper", "gain Copper")
    assert (table.trash, table.discards) == ("Copper, Estate", "Copper, Silver")
    assert table.s.stat[0, zones.PLAYED_ACTIONS] == 3


def test_throne_room_draws_for_the_second_cellar_what_the_first_discarded():
    table = Table("Throne Room, Cellar, 2 Estate")
    table.play("play Throne Room", "play Cellar", "discard Estate", "discard Estate")
    assert table.hand == "2 Estate"
    table.play("discard Estate", "finish")
    assert (table.hand, table.s.actions) == ("2 Estate", 2)


def test_throne_room_owes_plays_on_the_stack():
    table = Table("2 Throne Room, Workshop").play("play Throne Room", "play Throne Room")
    table.play("play Workshop")
    # From below: the second play of the inner Throne Room, of Workshop, and its question.
    assert table.s.depth == 3
    assert table.s.source[:2].tolist() == [table.slot("Throne Room"), table.slot("Workshop")]
    table.play("gain Silver", "gain Silver")
    assert (table.discards, table.legal()) == ("2 Silver", ["end actions"])


# Vassal ------------------------------------------------------------------------------------------


def test_vassal_may_leave_the_action_in_the_discards():
    table = Table("Vassal", deck="Smithy, 3 Copper").play("play Vassal")
    assert table.legal() == ["yes: play Smithy", "no"]
    table.play("no")
    assert (table.discards, table.in_play, table.s.coins) == ("Smithy", "Vassal", 2)


def test_vassal_plays_for_nothing_and_may_play_a_vassal():
    table = Table("Vassal", deck="Vassal, Smithy, 3 Copper, Gold")
    table.play("play Vassal", "yes: play Vassal", "yes: play Smithy")
    assert (table.hand, table.discards, table.deck) == ("3 Copper", "", "Gold")
    assert (table.in_play, table.s.coins, table.s.actions) == ("Smithy, 2 Vassal", 4, 0)


def test_vassal_only_discards_what_is_no_action():
    table = Table("Vassal", deck="Gold, Smithy").play("play Vassal")
    assert (table.discards, table.legal()) == ("Gold", ["end actions"])
    table = Table("Vassal").play("play Vassal")
    assert (table.discards, table.s.coins) == ("", 2)
    table = Table("Vassal", discards="Smithy").play("play Vassal", "yes: play Smithy")
    assert (table.in_play, table.discards) == ("Smithy, Vassal", "")


# Workshop ----------------------------------------------------------------------------------------


def test_workshop_must_gain_if_it_can():
    table = Table("Workshop", kingdom=("Smithy", "Market")).play("play Workshop")
    assert {"gain Copper", "gain Curse", "gain Smithy"} <= {*table.legal()}
    assert not {"gain Market", "gain Duchy", "finish"} & {*table.legal()}
    table = Table("Workshop")
    table.s.supply[table.s.cost <= 4] = 0
    assert table.play("play Workshop").legal() == ["end actions"]


def test_workshop_gains_to_the_discards_and_pays_nothing():
    table = Table("Workshop, Copper", kingdom=("Smithy",)).play("play Workshop", "gain Smithy")
    assert (table.hand, table.discards, table.s.coins) == ("Copper", "Smithy", 0)
    assert table.s.supply[table.slot("Smithy")] == 9
