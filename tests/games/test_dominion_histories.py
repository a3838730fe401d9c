"""What Dominion remembers of turns, what a re-deal keeps, and what people read of a table."""

import numpy as np
from dominion_table import GAME, IDS, Table

from kibitz import chance
from kibitz.game import CHANCE, OVER
from kibitz.games.dominion import cards, zones
from kibitz.games.dominion.catalogue import CARDS

EVERYBODY = 0b11


def latest(ring, count):
    """The latest entry of a history."""
    return ring[(int(count) - 1) % len(ring)].tolist()


# Histories ---------------------------------------------------------------------------------------


def test_a_victim_is_told_to_have_gained():
    table = Table("Witch", deck="2 Copper").play("play Witch")
    assert latest(table.s.events[1], table.s.events_count[1]) == [
        zones.GAINS,
        cards.CURSE + 1,
        0,
        0,
        0,
    ]
    assert latest(table.s.gained[1], table.s.gained_count[1]) == [cards.CURSE + 1, 0, 0, 0]
    assert table.s.acted_count[1] == 0


def test_treasures_played_of_themselves_are_counted_and_not_told():
    table = Table("2 Copper, Silver").play("end actions", "buy Silver")
    assert table.s.stat[0, zones.PLAYED_TREASURES] == 3
    entries = [entry[:4].tolist() for entry in table.s.events[0, :2]]
    assert entries == [[zones.ENDS_PHASE, 0, 0, 0], [zones.BUYS_ONE, cards.SILVER + 1, 0, 3]]
    assert table.s.acted[0, :2].tolist() == [
        [zones.ENDS_PHASE, 0, 0, 0, 1],
        [zones.BUYS_ONE, cards.SILVER + 1, 0, 3, 1],
    ]
    assert latest(table.s.gained[0], table.s.gained_count[0]) == [cards.SILVER + 1, 3, 1, 1]


def test_a_turn_is_remembered_when_it_is_over():
    table = Table("Market, 2 Copper", deck="Estate", others=[{"hand": "Copper"}])
    table.play("play Market", "end actions", "buy Estate", "end buys")
    # One Action, one card drawn, one bought for 2 of the 3 coins made, one point more.
    assert table.s.past[0, 0].tolist() == [1, 1, 1, 2, 1]
    assert table.s.last_coins[0] == 3


def test_cards_drawn_in_a_turn_of_another_count_until_the_own_turn_begins():
    table = Table("Council Room", deck="4 Copper", others=[{"hand": "Copper", "deck": "Gold"}])
    table.play("play Council Room")
    assert table.s.stat[:, zones.DRAWN].tolist() == [4, 1]
    table.play("end actions", "end buys")
    assert table.s.player == 1
    assert table.s.stat[1, zones.DRAWN] == 0


# Section 7: a re-deal that does nothing would keep every secret -----------------------------------


def test_redeals_change_hands_and_never_what_is_public():
    rng, s, met, changed = chance.stream(5, "table"), GAME.fresh(), 0, 0
    while (who := GAME.turn(s)) != OVER:
        if who == CHANCE:
            GAME.roll(s, rng)
            continue
        t, other = GAME.copy(s), 1 - who
        GAME.redeal(t, who, rng)
        for public in ("owned", "hand_size", "deck_size", "discards", "shown", "tops", "supply"):
            assert (t[public] == s[public]).all(), public
        if np.count_nonzero(s.hand[other] + s.deck[other]) > 1:
            met += 1
            changed += (t.hand[other] != s.hand[other]).any()
        legal = GAME.legal(s)
        GAME.play(s, legal[int(chance.below(rng, len(legal)))])
    assert met > 100
    assert changed > 0.3 * met


def test_a_deck_has_room_for_32_known_cards():
    table = Table("", deck="Gold, 31 Silver")
    zones.put_on_deck(table.s, 0, cards.DUCHY, 1)
    assert table.deck == ", ".join(["Duchy", "Gold", *["Silver"] * 30])
    assert table.s.deck[0, cards.SILVER] == table.s.deck_size[0] == 1


# What people read --------------------------------------------------------------------------------


def test_every_card_of_the_kingdom_says_what_it_does():
    for card in CARDS.values():
        rules = [rule for rule in (card.text, card.worth) if rule is not None]
        assert card.in_words() or not card.is_kingdom, card.name
        assert all(rule.__doc__ for rule in rules) or not card.is_kingdom, card.name
    assert CARDS[IDS["Market"]].in_words() == "+1 card, +1 action, +1 buy, +$1."
    assert CARDS[IDS["Moat"]].in_words().startswith("+2 cards. When another seat plays an Attack")
    table = Table(kingdom=["Gardens"])
    assert "Gardens, $4: A point for every ten cards that you own." in table.game.about(table.s)


def test_a_seat_reads_the_table_and_the_question():
    other = {"hand": "Moat, Duchy", "discards": "2 Silver"}
    table = Table("Library, 5 Estate", deck="Village, Gold", others=[other]).play("play Library")
    lines = table.game.seen(table.s, 0).splitlines()
    assert any("$8 Province x8" in line for line in lines)
    assert "  Hand: 5 Estate" in lines
    assert "  In play: Library" in lines
    assert "  Discards: 2 Silver" in lines
    assert "Turn of seat 0, Action phase: actions 0, buys 1, $0" in lines
    assert lines[-1] == "Library: seat 0 says yes or no to: set Village aside."
    assert "Village" not in table.game.seen(table.s, 1).splitlines()[-1]
    assert "Duchy" not in "".join(lines[6:])  # the piles are before
