"""The view of Dominion against section 8 of specs/dominion.md: 300 channels of 128 places.

`expected` is the section written down once more, plainly, from the cards as printed and the zones
of the record. Below it stand positions whose numbers were worked out by hand."""

import numpy as np
import pytest
from dominion_table import IDS, Table
from dominion_view_book import BY_SLOT, FINISH, GAME, NEVER, SLOTS, expected, look, used
from oracle_files import oracle_list

from kibitz import chance
from kibitz.batch import Batch
from kibitz.game import CHANCE, OVER
from kibitz.games.dominion.catalogue import CARDS

# Random games ------------------------------------------------------------------------------------


def random_game(index, game=GAME):
    """The positions of a game of random play where a seat decides, and the last one."""
    rng, s = chance.stream(11, "table", index), game.fresh()
    while game.turn(s) != OVER:
        if game.turn(s) == CHANCE:
            game.roll(s, rng)
            continue
        yield s
        legal = game.legal(s)
        game.play(s, legal[int(chance.below(rng, len(legal)))])
    yield s


@pytest.mark.parametrize("index", range(12))
def test_a_view_is_what_section_8_says(index):
    for s in random_game(index):
        for seat in range(2):
            seen, wanted = look(s, seat), expected(s, seat)
            wrong = np.argwhere(np.abs(seen - wanted) > 1e-6)
            assert wrong.size == 0, [(*at, seen[*at], wanted[*at]) for at in wrong[:5].tolist()]


@pytest.fixture(scope="module")
def midgame():
    """Views of seat 0 in the middle of many games, without auto_treasures in some."""
    views = []
    for seed, options in enumerate(({}, {"auto_treasures": False, "auto_single": False})):
        batch = Batch(GAME.bind(**options), 150, seed=seed)
        for _ in range(4):
            batch.wander(40)
            views.append(batch.observe(np.zeros(150, np.int64)).reshape(150, 300, 128))
    GAME.bind()
    return np.concatenate(views)


def test_1453_places_are_used():
    assert used().sum() == 17 * 70 + 263 == 1453


def test_no_other_place_ever_differs_from_0(midgame):
    assert not midgame[:, ~used()].any()


def test_numbers_stay_within_2(midgame):
    assert np.abs(midgame).max() <= 2


def test_the_network_reads_the_places_that_are_used():
    card_set = pytest.importorskip("kibitz.nets.card_set")
    read = np.zeros((300, 128), bool)
    read[list(card_set.SLOTS), :SLOTS] = True
    read.reshape(-1)[card_set.SCALAR_PLACES] = True
    assert (read == used()).all()


def test_every_used_place_is_written_and_no_other():
    """Into a view full of garbage, except for what other sets have."""
    for s in [*random_game(3)][::7]:
        garbage = np.full(1, -7.5, np.float32).repeat(300 * 128)
        GAME.observe(s, 1, garbage.view(GAME.view)[0])
        written = garbage.reshape(300, 128) != -7.5
        never = {tuple(at) for at in np.argwhere(used() & ~written).tolist()}
        assert never == NEVER
        assert not (written & ~used()).any()


def test_memory_that_showed_another_kingdom_shows_this_one():
    """Features are written only where another card was, so one memory sees many kingdoms here."""
    memory, seats = np.zeros((64, GAME.view_size), np.float32), np.zeros(64, np.int64)
    kingdoms = set()
    for seed in range(4):
        batch = Batch(GAME, 64, seed=seed)
        assert np.array_equal(batch.observe(seats, memory), batch.observe(seats))  # none is drawn
        batch.wander(30)
        assert np.array_equal(batch.observe(seats, memory), batch.observe(seats))
        kingdoms |= {tuple(row) for row in memory.reshape(64, 300, 128)[:, 225, :17].tolist()}
    assert len(kingdoms) > 100


def test_with_more_seats_the_opponent_is_the_one_to_the_left():
    game = GAME.bind(players=3, first="0")
    for turn, s in enumerate(random_game(5, game)):
        for seat in range(3 if turn % 10 == 0 else 0):
            view = game.look(s, seat).reshape(300, 128)
            left = (seat + 1) % 3
            assert view[130, :SLOTS] == pytest.approx((s.owned[left] / 10).clip(0, 2))
            assert view[0, :2].tolist() == [s.player == seat, s.player == left]
            assert not view[~used()].any()


def test_before_the_kingdom_is_drawn_no_card_is_there():
    view = look(GAME.fresh(), 0)
    assert not view[list(BY_SLOT)].any()


# Positions worked out by hand --------------------------------------------------------------------


def place(table, name):
    """A card's slot as a view shows it."""
    return pytest.approx((table.slot(name) + 1) / 128)


def test_card_features_are_those_of_the_oracle():
    for name, card in oracle_list("dominion_features", "cards").items():
        table = Table(kingdom=[name])
        view = look(table.s, 0)
        assert view[176:224, table.slot(name)] == pytest.approx(card["features"], abs=1e-6)
        assert view[225, table.slot(name)] == (card["id"] + 1) / 512


def test_slots_are_in_the_order_of_ids():
    ids = look(Table(kingdom=["Witch", "Artisan"]).s, 0)[225] * 512 - 1
    assert (np.diff(ids[:SLOTS]) > 0).all() and (ids[SLOTS:] == -1).all()


def test_merchants_count_with_a_silver_in_hand_until_one_is_played():
    table = Table("2 Merchant, 2 Silver, Copper", "4 Estate", auto_treasures=False)
    assert look(table.s, 0)[1, 3] * 20 == pytest.approx(5)  # 2 + 2 + 1
    table.play("play Merchant", "play Merchant")
    assert look(table.s, 0)[1, 2:4] * 20 == pytest.approx([0, 7])
    table.play("end actions", "play Silver")
    assert look(table.s, 0)[1, 2:4] * 20 == pytest.approx([4, 7])
    table.play("play Silver")
    assert look(table.s, 0)[1, 2:4] * 20 == pytest.approx([6, 7])


def test_merchants_without_a_silver_in_hand_do_not_count():
    table = Table("Merchant, Copper", "2 Estate").play("play Merchant")
    assert look(table.s, 0)[1, 3] * 20 == pytest.approx(1)


def test_the_opponents_coins_in_hand_are_not_seen():
    table = Table("Festival, Gold", others=({"hand": "5 Gold"},)).play("play Festival")
    assert look(table.s, 0)[1, 2:4] * 20 == pytest.approx([2, 5])
    assert look(table.s, 1)[1, 2:4] * 20 == pytest.approx([2, 2])


def test_affordable_is_what_effective_coins_buy():
    table = Table("Gold, Silver").set_supply(Curse=0)  # 5 coins
    mine, theirs = look(table.s, 0), look(table.s, 1)
    shown = {name: mine[19, table.slot(name)] for name in ("Copper", "Duchy", "Gold", "Curse")}
    assert shown == {"Copper": 1, "Duchy": 1, "Gold": 0, "Curse": 0}
    assert theirs[19, table.slot("Copper")] == 1 and theirs[19, table.slot("Estate")] == 0


def test_playable_is_for_the_seat_that_decides():
    table = Table("Smithy, Copper, Village", others=({"hand": "Smithy, Copper"},))
    mine, theirs = look(table.s, 0), look(table.s, 1)
    assert set(np.flatnonzero(mine[44])) == {table.slot("Smithy"), table.slot("Village")}
    assert not theirs[44].any()


def test_what_can_be_discarded_is_for_the_victim_of_a_militia():
    other = {"hand": "Copper, Gold, 2 Estate, Silver"}
    table = Table("Militia", others=(other,)).play("play Militia")
    attacker, victim = look(table.s, 0), look(table.s, 1)
    # Two of five must go, in the order of ids: not the last card first.
    assert [i for i in range(SLOTS) if victim[104, i]] == [0, 1, 2, 3]
    assert not attacker[104:108].any()
    table.play("discard Silver")
    attacker, victim = look(table.s, 0), look(table.s, 1)
    assert [i for i in range(SLOTS) if victim[104, i]] == [2, 3]
    assert victim[45, 1] == pytest.approx(0.1) and not attacker[45].any()


def test_a_militia_frame():
    table = Table("Militia", others=({"hand": "4 Copper, 2 Estate"},)).play("play Militia")
    for done in range(3):
        for seat in range(2):
            view = look(table.s, seat)
            assert view[251, :2] == pytest.approx([0.3, done / 5])
            assert view[98, :6] == pytest.approx([0.3, 0, done / 10, 0.3, 0, 0])
            assert view[96, :8] == pytest.approx([1, 0.2, 0, 1, 0, 0, 0, 1])
            assert view[240, 1] == view[241, 1] == view[100, table.slot("Militia")] == 1
        table.play("discard Copper")
    assert look(table.s, 1)[251, :2].tolist() == [0, 0]


def test_a_cellar_frame():
    table = Table("Cellar, 2 Copper, 2 Estate", "9 Gold").play("play Cellar", "discard Copper")
    table.play("discard Copper")
    for seat in range(2):
        view = look(table.s, seat)
        assert view[248, :2] == pytest.approx([0.2, 0.2])  # discarded, and to be drawn
        assert view[98, :6] == pytest.approx([0, 0, 0.2, 0, 0, 1])
    mine = look(table.s, 0)
    assert mine[45, 0] == pytest.approx(0.2)
    assert np.flatnonzero(mine[104]).tolist() == [3]
    table.play("finish")
    assert not look(table.s, 0)[248].any()


def test_a_chapel_frame():
    table = Table("Chapel, 3 Copper, Estate, Curse").play("play Chapel", "trash Copper")
    view = look(table.s, 0)
    assert view[249, :2] == pytest.approx([0.25, 1])
    assert view[98, :6] == pytest.approx([0, 0, 0.1, 0.4, 0, 1])
    assert view[96, :8] == pytest.approx([1, 0.2, 0, 0, 1, 0, 0, 0])
    assert np.flatnonzero(view[105]).tolist() == [0, 3, 6]
    assert not view[104].any() and not view[106:108].any()


def test_a_gain_tells_what_was_trashed_for_it():
    table = Table("Remodel, Gold").play("play Remodel", "trash Gold")
    view = look(table.s, 0)
    assert view[250, :2] == pytest.approx([0.8, 0.6])
    assert view[98, 1] == pytest.approx(0.8)
    assert view[96, 2:7].tolist() == [0, 0, 0, 0, 1]  # Gain is the last of them
    assert view[106, table.slot("Province")] == 1  # but selectable for gain is the third
    assert not view[107].any()


def test_a_workshop_gain_trashes_nothing():
    view = look(Table("Workshop").play("play Workshop").s, 0)
    assert view[250, :2] == pytest.approx([0.4, 0])


def test_a_throne_room_asks_for_a_card_to_play():
    table = Table("Throne Room, Smithy, Copper").play("play Throne Room")
    view = look(table.s, 0)
    assert view[96, 2:7].tolist() == [0, 0, 0, 1, 0]
    assert np.flatnonzero(view[107]).tolist() == [table.slot("Smithy")]
    assert np.flatnonzero(view[44]).tolist() == [table.slot("Smithy")]
    assert not view[106].any() and not view[252].any()  # nothing is doubled yet


def test_throne_room_frames_are_plays_still_owed():
    table = Table("2 Throne Room, Workshop, Chapel, Estate")
    table.play("play Throne Room", "play Throne Room", "play Workshop")
    # The Workshop's second play and the inner Throne Room's second play are owed.
    view = look(table.s, 0)
    assert view[252, :3] == pytest.approx([0.4, 0.2, (table.slot("Workshop") + 1) / 128])
    assert view[98, 4] == pytest.approx(0.4)
    assert view[96, 1] == pytest.approx(0.6)
    assert np.flatnonzero(view[241]).tolist() == [3, 15]
    table.play("gain Silver")  # now the second play
    view = look(table.s, 1)
    assert view[252, :3] == pytest.approx([0.2, 0.2, (table.slot("Throne Room") + 1) / 128])


def test_an_attack_that_waits_for_reactions_is_a_frame_of_its_own():
    table = Table("Throne Room, Witch", "9 Copper", others=({"hand": "Moat, Copper"},))
    table.play("play Throne Room", "play Witch")
    view = look(table.s, 1)
    assert view[240, 8] == 1 and np.flatnonzero(view[241]).tolist() == [8, 15]
    assert view[96, :8] == pytest.approx([1, 0.6, 1, 0, 0, 0, 0, 1])
    assert view[252, :3] == pytest.approx([0.2, 0.2, (table.slot("Witch") + 1) / 128])


def test_the_question_of_a_vassal_is_about_playing():
    table = Table("Vassal", "Smithy, 3 Copper").play("play Vassal")
    view = look(table.s, 0)
    assert view[240, 7] == 1 and view[96, 2:7].tolist() == [0, 0, 0, 1, 0]
    table = Table("Moneylender, Copper").play("play Moneylender")
    view = look(table.s, 0)
    assert view[240, 7] == 1 and view[96, 2:7].tolist() == [1, 0, 0, 0, 0]


def test_what_a_sentry_can_trash_is_for_its_owner():
    table = Table("Sentry", "Gold, Curse, Estate, Copper").play("play Sentry")
    assert np.flatnonzero(look(table.s, 0)[105]).tolist() == [3, 6]
    assert not look(table.s, 1)[104:108].any()
    table.play("trash Curse")
    # The Estate comes before the Curse and could only have been trashed before it.
    assert np.flatnonzero(look(table.s, 0)[104]).tolist() == [3]


def test_without_a_frame_the_pending_choice_is_none():
    view = look(Table("Copper").s, 0)
    assert view[96, :8].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert view[240, :16].tolist() == [1] + 15 * [0]
    assert not view[241].any() and not view[98].any() and not view[100].any()


def test_while_chance_deals_nobody_is_asked():
    """The choices of the last decision are over, and a frame that draws is no question."""
    rng, s, dealing = chance.stream(8, "table"), GAME.fresh(), 0
    while GAME.turn(s) != OVER and dealing < 60:
        if GAME.turn(s) == CHANCE:
            for seat in range(2):
                view = look(s, seat)
                assert view[96, :8].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
                assert view[240, 0] == 1 and not view[[98, 100, 241, 252]].any()
                assert not view[44:46].any() and not view[104:108].any()
            dealing += s.depth > 0 and s.turns.any()
            GAME.roll(s, rng)
        else:
            legal = GAME.legal(s)
            GAME.play(s, legal[int(chance.below(rng, len(legal)))])
    assert dealing == 60


# Zones


def test_hand_deck_and_discards_of_the_observer():
    table = Table("Smithy, 2 Gold, Village, Estate", "Silver, Copper, Duchy", "Market, 3 Curse")
    view = look(table.s, 0)
    assert view[34, :5] == pytest.approx([0.2, 0.2, 0.2, 0.25, 0.2])
    sums = [21 / 50, 2 / 20, 4 / 20, 0, 6 / 30, 21 / 50, 1, 1]
    assert view[36:44, 0] == pytest.approx(sums)
    assert view[56, [0, 1, 4]] == pytest.approx([1 / 3] * 3)
    assert view[58, :6] == pytest.approx([3 / 60, 2 / 3, 0, 1 / 3, 8 / 30, 3 / 50])
    assert view[60:64, 0] == pytest.approx([0, 0, 3 / 50, 1 / 3])
    assert view[72, 6] == pytest.approx(0.75)
    assert view[74, :4] == pytest.approx([4 / 60, 0, 1 / 20, 0])
    assert view[76, :4] == pytest.approx([3 / 50, 3 / 20, 3 / 9, 2 / 9])
    assert view[128, :5].tolist() == [0, 0, 0, 0, 0]


def test_a_village_alone_is_no_terminal():
    view = look(Table("Village, Copper").s, 0)
    assert view[42:44, 0].tolist() == [1, 0]


def test_with_an_empty_deck_the_next_coins_come_from_the_discards():
    view = look(Table("Estate", "", "Gold, 2 Copper").s, 0)
    assert view[63, 0] == pytest.approx(5 / 9)
    assert not view[56].any() and not view[58].any() and view[62, 0] == 0


def test_the_order_of_the_deck_is_not_told():
    one = Table("Copper", "Gold, Estate, Silver")
    other = Table("Copper", "Silver, Gold, Estate")
    assert (look(one.s, 0) == look(other.s, 0)).all()


def test_points_and_shares_of_what_is_owned():
    mine = "2 Duchy, Province, Curse, 2 Gardens, Smithy, 13 Copper"
    table = Table(mine, others=({"hand": "Gardens, 3 Curse, Province, 5 Copper"},))
    view = look(table.s, 0)
    # 20 cards: Gardens are worth 2 each, so 6 + 6 - 1 + 4
    assert view[114, :6] == pytest.approx([15 / 50, 0.4, 6 / 15, 6 / 30, 20 / 60, -0.1])
    assert view[118, :4] == pytest.approx([16 / 100, 1 / 20, 13 / 20, 14 / 20])
    assert view[132, :5] == pytest.approx([4 / 50, 1 / 8, 0, 0.3, 0.1])
    assert view[136, :2] == pytest.approx([0.5, 0])
    assert view[112, 0] == pytest.approx(1.3) and view[130, 0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "provinces, duchy, estate, curse, gains", [(3, 8, 8, 8, 3), (8, 0, 2, 1, 3)]
)
def test_the_fewest_gains_to_the_end(provinces, duchy, estate, curse, gains):
    table = Table().set_supply(Province=provinces, Duchy=duchy, Estate=estate, Curse=curse)
    assert look(table.s, 0)[118, 4] == pytest.approx(gains / 20)


def test_the_supply():
    s = GAME.copy(next(random_game(0, GAME.bind(kingdom="size_distortion", first="0"))))
    gardens = s.card.tolist().index(IDS["Gardens"])
    s.supply[[0, 5, 6, gardens]] = 23, 6, 0, 2
    view = look(s, 1)
    assert view[0, 4:7] == pytest.approx([0.01, 0.25, 0.1])
    assert view[2, :3].tolist() == [0.75, 0, 0]
    assert view[16, [0, 5, 6, gardens]].tolist() == [0.5, 0.75, 0, 0.25]
    assert view[20, [0, 5, 6]] == pytest.approx([0, 0.8, 0])
    assert view[21:24, gardens].tolist() == [0, 0, 1]


def test_empty_piles_are_flagged_by_slot():
    table = Table().set_supply(Copper=0, Curse=0)
    last = CARDS[int(table.s.card[16])].name.replace(" ", "_")
    table.set_supply(**{last: 0})
    view = look(table.s, 0)
    assert np.flatnonzero(view[2]).tolist() == [0, 3 + 0, 3 + 6, 3 + 16]
    assert np.flatnonzero(view[18, :SLOTS] == 0).tolist() == [0, 6, 16]
    assert view[0, 6] == pytest.approx(0.3)


def test_numbers_end_at_2_and_at_minus_2():
    view = look(Table("30 Copper, 30 Curse").s, 0)
    assert view[32, 0] == 2 and view[112, 0] == 2  # 3 otherwise
    assert view[114, 5] == -2
    assert view[34, 3] == 2 and view[1, 3] == pytest.approx(1.5)


def test_the_end():
    table = Table("Gold, Gold, Gold", others=({"deck": "9 Copper"},)).set_supply(Province=1)
    table.play("end actions", "buy Province")
    assert table.turn == OVER
    for seat in range(2):
        view = look(table.s, seat)
        assert view[2, :3].tolist() == [0, 0, 1] and view[0, 5] == 1
        assert view[0, :4].tolist() == [1 - seat, seat, 0, 0]
        assert not view[44].any() and not view[104:108].any() and view[96, 2] == 1
    assert look(table.s, 0)[114, 0] == pytest.approx(6 / 50)


# Statistics of turns


def test_the_opponents_current_turn():
    table = Table("Village, Smithy, Festival, 2 Copper", "9 Estate")
    table.play("play Village", "play Smithy", "play Festival", "end actions")
    view = look(table.s, 1)
    assert view[136, 2:4].tolist() == [0, 0]  # no turn is complete, nothing bought yet
    assert view[140, :3] == pytest.approx([0.3, 0.4, 0])
    assert view[90, :3] == pytest.approx([5 / 20, 0.3, 0.2])
    table.play("buy Silver")
    view = look(table.s, 1)
    assert view[136, 2:4] == pytest.approx([0, 0.2])
    assert view[140, :3] == pytest.approx([0.3, 0.4, 0.2])


def test_the_opponents_last_turn():
    table = Table("Village, Festival, 2 Copper", "9 Estate", others=({"deck": "9 Copper"},))
    table.play("play Village", "play Festival", "end actions", "buy Silver", "end buys")
    view = look(table.s, 1)
    assert view[0, :2].tolist() == [1, 0]
    assert view[136, 2:4] == pytest.approx([4 / 20, 0.2])
    assert view[140, :3] == pytest.approx([0.2, 0.1, 0.2])
    assert view[90, 1] == 0  # the new turn's own
    assert look(table.s, 0)[284, :5] == pytest.approx([0.2, 0.1, 0.2, 3 / 20, 0])


def test_a_card_drawn_in_the_turn_of_the_other_counts_until_the_own_turn():
    table = Table("Council Room", "9 Estate", others=({"deck": "9 Copper"},))
    table.play("play Council Room")
    assert look(table.s, 0)[140, 1] == pytest.approx(0.1)
    table.play("end actions", "end buys")
    assert look(table.s, 0)[140, 1] == 0


def test_past_turns_come_latest_first():
    table = Table("8 Copper", "5 Gold", others=({"deck": "9 Estate"},))
    table.play("end actions", "buy Province", "end actions", "end buys")
    table.play("end actions", "buy Gold", "end actions", "end buys")
    view = look(table.s, 0)
    assert view[284, :5] == pytest.approx([0, 0, 0.2, 6 / 20, 0])
    assert view[285, :5] == pytest.approx([0, 0, 0.2, 8 / 20, 0.6])
    assert not view[286:288].any()


# Histories


def test_my_actions_come_latest_first():
    table = Table("Remodel, Estate, 3 Gold").play("play Remodel", "trash Estate", "gain Silver")
    table.play("end actions")
    remodel = (table.slot("Remodel") + 1) / 128
    view = look(table.s, 0)
    assert view[272, :6] == pytest.approx([1.0, 0, 0, 0, 0.01, 1])
    assert view[273, :6] == pytest.approx([0.3, 2 / 128, remodel, 0, 0.01, 1])
    assert view[274, :6] == pytest.approx([0.5, 4 / 128, remodel, 0, 0.01, 1])
    assert view[275, :6] == pytest.approx([0.1, remodel, 0, 0, 0.01, 1])
    assert not view[276:280].any()
    table.play("buy Province")
    assert look(table.s, 0)[272, :6] == pytest.approx([0.2, 6 / 128, 0, 0.8, 0.01, 1])


# What a history calls an answer, by kind of frame
ANSWERS = {1: 4, 10: 4, 2: 5, 9: 5, 3: 3, 5: 6, 6: 6, 11: 6, 7: 8, 8: 7}


def entry_of(s, action):
    """An action as it is in the history of its seat, without the mark that there is one."""
    family, card = divmod(action, 512)
    slot, source, paid, kind = 0, 0, 0, 1
    if s.depth:
        source, kind = int(s.source[s.depth - 1]) + 1, ANSWERS.get(int(s.job[s.depth - 1]), 1)
    if family == 7:
        kind = 10 if action < FINISH else 9 if action == FINISH else 8
    else:
        slot = s.card.tolist().index(card) + 1
    if family == 1:
        kind, paid = 2, CARDS[card].cost
    return kind / 10, slot / 128, source / 128, paid / 10, int(s.turns[s.seat]) / 100


def test_the_history_has_the_latest_eight_actions_of_a_seat():
    game, taken, kinds = GAME.bind(auto_single=False), ([], []), set()
    rng, s = chance.stream(3, "table"), game.fresh()
    while game.turn(s) != OVER:
        if game.turn(s) == CHANCE:
            game.roll(s, rng)
            continue
        for seat in range(2):
            history = np.zeros((8, 6))
            for i, entry in enumerate(taken[seat][:-9:-1]):
                history[i] = *entry, 1
            assert look(s, seat)[272:280, :6] == pytest.approx(history, abs=1e-6)
        legal = game.legal(s)
        action = legal[int(chance.below(rng, len(legal)))]
        taken[game.turn(s)].append(entry_of(s, action))
        kinds.add(round(10 * taken[game.turn(s)][-1][0]))
        game.play(s, action)
    assert kinds >= {1, 2, 9, 10} and len(kinds) >= 6


def test_my_gains_tell_what_was_bought():
    table = Table("Workshop, 3 Gold", others=({"deck": "9 Copper"},))
    table.play("play Workshop", "gain Silver", "end actions", "buy Province")
    view = look(table.s, 0)
    assert view[280, :4] == pytest.approx([6 / 128, 0.8, 1, 0.01])
    assert view[281, :4] == pytest.approx([2 / 128, 0.3, 0, 0.01])
    assert not view[282:284].any()


def test_the_opponent_sees_plays_trashes_and_gains_but_no_choices():
    table = Table("Chapel, Estate, Curse, Gold").play("play Chapel", "trash Estate", "finish")
    view = look(table.s, 1)
    assert view[288, :6] == pytest.approx([0.5, 4 / 128, 0, 0, 0.01, 1])
    assert view[289, :6] == pytest.approx([0.1, (table.slot("Chapel") + 1) / 128, 0, 0, 0.01, 1])
    assert not view[290:292].any()  # to finish is nothing that is seen


def test_a_card_put_on_the_deck_from_hand_has_no_slot_for_others():
    table = Table("Artisan, Gold, Copper").play("play Artisan", "gain Duchy", "top Gold")
    assert look(table.s, 0)[272, 1] == place(table, "Gold")
    assert look(table.s, 1)[288, :6] == pytest.approx([0.6, 0, 0, 0, 0.01, 1])


def test_a_curse_received_is_an_event_of_the_victim():
    table = Table("Witch", "5 Copper").play("play Witch")
    assert look(table.s, 0)[288, :6] == pytest.approx([0.3, 7 / 128, 0, 0, 0, 1])
    assert look(table.s, 1)[280, :4] == pytest.approx([7 / 128, 0, 0, 0])
    assert not look(table.s, 1)[272:280].any()  # nothing that seat 1 did
