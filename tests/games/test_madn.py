"""MADN, dMADN and DOG against their specification: rules, sizes, cards and the hot seven."""

from dataclasses import replace

import numpy as np
import pytest
from madn_book import GAME, cells, sevens_by_the_book, table

from kibitz import chance, games, players
from kibitz.arena.table import Table
from kibitz.batch import Batch, IllegalAction
from kibitz.game import CHANCE, OVER, GameError, OptionError
from kibitz.games.madn import MadnOptions, candidates, decode, encode
from kibitz.games.madn.board import ENDED, EXCHANGE, PLAY, THROW, place_of
from kibitz.games.madn.options import NOT_WITH_CARDS, PRESETS, SPECIAL
from kibitz.games.madn.seven import DISTRIBUTED
from kibitz.nets import all_kinds, save_net
from kibitz.recipes import recipe
from kibitz.train.folder import RunError
from kibitz.train.run import Run

SPECIALS = {"enable_special_cards": True, "joker_enabled": True, "hot_7_enabled": True}
SPECIALS |= {"swap_enabled": True, "neg_4_enabled": True}

# What independent engines say --------------------------------------------------------------------


@pytest.mark.oracle("madn", "sets")
def test_an_oracle_agrees_on_legal_actions_and_transitions(oracle_case):
    game = GAME.under(MadnOptions(**oracle_case["config"]))
    assert game.num_actions == oracle_case["action_size"]
    for case in oracle_case["states"]:
        s = game.fresh()
        for player, row in enumerate(case["pins"]):
            s.pins[player] = [place_of(s, player, cell) for cell in row]
        s.mover, s.phase = case["player"], PLAY
        if "hands" in case:
            s.hands[:], s.dealt_size = case["hands"], 6
            s.held[:] = s.hands.sum(1)
        elif "sets" in case:
            s.stock[:] = case["sets"]
        else:
            s.die = case["die"]
        assert game.legal(s) == case["legal"], case
        if "action" in case:
            check_transition(game, s, case)


def check_transition(game, s, case):
    before = s.hands.copy() if "card" in case else None
    game.play(s, case["action"])
    assert cells(s) == case["next_pins"], case
    assert (game.turn(s) == OVER) == case["done"], case
    if "next_player" in case:
        assert s.mover == case["next_player"], case
    if "next_sets" in case:
        assert s.stock.tolist() == case["next_sets"], case
    if "card" in case and before.sum() > 1:  # with the last card comes a deal
        assert before[case["player"], case["card"]] == s.hands[case["player"], case["card"]] + 1


# Section 12: sizes, deck, die --------------------------------------------------------------------

SIZES = {  # options: ring, cells, actions of a pin, play, all
    "madn": ({"preset": "madn"}, 40, 56, None, 4, 5),
    "madn2": ({"preset": "madn2"}, 40, 48, None, 4, 5),
    "madn_teams": ({"preset": "madn_teams"}, 40, 56, None, 4, 5),
    "dmadn": ({"preset": "dmadn"}, 40, 56, None, 24, 25),
    "dmadn_teams": ({"preset": "dmadn_teams"}, 40, 56, None, 24, 25),
    "cards_plain": ({"preset": "cards_plain"}, 40, 56, 15, 60, 61),
    "all, distance 10": ({"preset": "dog_solo", "distance": 10}, 40, 56, 109, 676, 677),
    "all, distance 10, teams": ({"preset": "dog", "distance": 10}, 40, 56, 109, 676, 691),
    "dog_solo": ({"preset": "dog_solo"}, 64, 80, 157, 868, 869),
    "dog": ({"preset": "dog"}, 64, 80, 157, 868, 883),
    "no joker": ({"preset": "dog", "joker_enabled": False}, 64, 80, 79, 436, 451),
    "no hot 7": ({"preset": "dog", "hot_7_enabled": False}, 64, 80, 159, 636, 651),
    "no swap": ({"preset": "dog", "swap_enabled": False}, 64, 80, 29, 356, 371),
    "no -4": ({"preset": "dog", "neg_4_enabled": False}, 64, 80, 155, 860, 875),
    "two, 16": ({"preset": "dog_solo", "num_players": 2}, 32, 40, 93, 612, 613),
    "two, 10": ({"preset": "dog_solo", "num_players": 2, "distance": 10}, 20, 28, 69, 516, 517),
    "six": ({"preset": "dog", "num_players": 6}, 96, 120, 221, 1124, 1139),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_those_of_the_table_and_every_action_reads_back(name):
    given, ring, all_cells, of_a_pin, plays, total = SIZES[name]
    options = games.load("madn", **given).options
    assert (options.ring, options.cells, options.num_actions) == (ring, all_cells, total)
    assert options.play_actions == plays
    if of_a_pin:
        assert options.pin_actions == of_a_pin
    decoded = [decode(options, action) for action in range(total)]
    assert [encode(options, action) for action in decoded] == list(range(total))
    assert len({str(action) for action in decoded}) == total
    assert str(decoded[-1]) == "pass"
    with pytest.raises(GameError):
        decode(options, total)


def test_a_seven_has_120_distributions_in_order():
    assert len(DISTRIBUTED) == 120 and sorted(DISTRIBUTED) == DISTRIBUTED
    assert DISTRIBUTED[:2] == [(0, 0, 0, 7), (0, 0, 1, 6)] and DISTRIBUTED[-1] == (7, 0, 0, 0)


def test_records_are_shared_and_views_have_the_sizes_of_the_specification():
    shapes = {name: games.load("madn", preset=name) for name in PRESETS}
    four = [game for name, game in shapes.items() if name != "madn2"]
    assert len({game.state for game in four}) == 2
    planes = {name: shapes[name].views["planes"]["cells"].shape for name in PRESETS}
    assert planes["madn"] == (25, 56) and planes["dmadn"] == (43, 56)
    assert planes["dog"] == (117, 80) and planes["madn2"] == (19, 48)
    assert shapes["dog"].view_size == 907 and shapes["dog"].max_legal == 452


@pytest.mark.parametrize(
    ("switched_off", "cards"),
    [((), 110), (("joker_enabled",), 104), (("swap_enabled",), 102), (tuple(SPECIALS), 96)],
)
def test_the_deck_has_its_cards(switched_off, cards):
    game = games.load("madn", preset="dog", **dict.fromkeys(switched_off, False))
    assert int(game.fresh().in_deck) == cards == sum(game.options.deck)


def test_the_deck_shrinks_as_rounds_go_by():
    game, rng = games.load("madn", preset="dog"), chance.stream(1, "table")
    s, sizes, starters = game.fresh(), [int(game.fresh().in_deck)], []
    while len(sizes) < 8:
        while game.turn(s) == CHANCE:
            game.roll(s, rng)
        sizes.append(int(s.in_deck))
        starters.append(int(s.round_starter))
        while game.turn(s) != CHANCE:
            game.play(s, game.legal(s)[0])
    assert sizes == [110, 86, 66, 50, 38, 30, 6, 90]
    assert starters == [0, 1, 2, 3, 0, 1, 2]


def test_a_locked_player_throws_up_to_three_times():
    for ones, likely, other in ((False, 91, 25), (True, 76, 16)):
        game, s = table("madn", {0: [42, 43]}, enable_start_on_1_and_6=ones)
        s.phase = THROW
        odds = game.chances(s)
        assert odds[5] == pytest.approx(likely / 216) and sum(odds) == pytest.approx(1)
        assert odds[0] == pytest.approx((likely if ones else other) / 216)
        assert odds[2] == pytest.approx(other / 216)
    game, s = table("madn", {0: [41, 43]})
    s.phase = THROW
    assert game.chances(s) == pytest.approx([1 / 6] * 6)


# Section 12.1: worked cases ----------------------------------------------------------------------

FREE = {"enable_forced_start": False}


def played(game, s, action):
    t = game.copy(s)
    game.play(t, action)
    return cells(t)


def test_cases_1_to_5_coming_out():
    game, s = table("madn", {}, die=5, **FREE)
    assert game.legal(s) == [4]
    game, s = table("madn", {}, die=6, **FREE)
    assert game.legal(s) == [0, 1, 2, 3]
    assert all(played(game, s, pin)[0][pin] == 0 for pin in range(4))
    game, s = table("madn", {0: [0]}, die=6, **FREE)
    assert game.legal(s) == [0] and played(game, s, 0)[0][0] == 6
    game.play(s, 0)
    assert game.turn(s) == CHANCE and s.mover == 0
    game, s = table("madn", {0: [5]}, die=6)
    assert game.legal(s) == [1, 2, 3]
    game, s = table("madn", {0: [0, 7]}, die=3)
    assert game.legal(s) == [0]
    game, s = table("madn", {0: [0, 3]}, die=3)
    assert game.legal(s) == [1] and played(game, s, 1)[0][1] == 6
    game, s = table("madn", {1: [0]}, die=6, **FREE)
    assert played(game, s, 0)[:2] == [[0, -1, -1, -1], [-1, -1, -1, -1]]


def test_cases_6_to_9_the_goal_lane():
    game, s = table("madn", {0: [38]}, die=2, **FREE)
    assert played(game, s, 0)[0][0] == 40
    game, s = table("madn", {0: [38]}, die=6, **FREE)
    assert game.legal(s) == [1, 2, 3]
    game, s = table("madn", {0: [38]}, die=6, enable_circular_board=True, **FREE)
    assert played(game, s, 0)[0][0] == 4 and game.legal(s) == [0, 1, 2, 3]
    game, s = table("madn", {0: [38, 41]}, die=5, **FREE)
    assert game.legal(s) == [4]
    game, s = table("madn", {0: [38, 41]}, die=5, enable_jumping_in_goal=True, **FREE)
    assert game.legal(s) == [0] and played(game, s, 0)[0][0] == 43
    game, s = table("madn", {0: [38, 41]}, die=3, enable_circular_board=True, **FREE)
    assert played(game, s, 0)[0][0] == 1


def test_cases_10_to_16_forced_attack_partners_and_stocks():
    game, s = table("madn", {0: [5, 20], 1: [8]}, die=3, enable_forced_attack=True, **FREE)
    assert game.legal(s) == [0]
    game, s = table("madn", {0: [38]}, die=2, must_traverse_start=True, **FREE)
    assert game.legal(s) == [4]
    game, s = table("madn", {0: [38]}, die=3, must_traverse_start=True, **FREE)
    assert played(game, s, 0)[0][0] == 40
    game, s = table("madn", {1: [38]}, die=5, mover=1, **FREE)
    assert played(game, s, 0)[1][0] == 3
    game, s = table("madn", {1: [8]}, die=3, mover=1, **FREE)
    assert played(game, s, 0)[1][0] == 45
    teams = {"enable_teams": True, **FREE}
    game, s = table("madn", {0: [40, 41, 42, 43], 2: [25]}, die=4, **teams)
    assert game.legal(s) == [0] and played(game, s, 0)[2][0] == 29
    game, s = table("madn", {0: [5], 2: [9]}, die=4, **teams)
    assert game.legal(s) == [4]
    game, s = table("madn", {0: [5], 2: [9]}, die=4, enable_friendly_fire=True, **teams)
    assert played(game, s, 0)[0][0] == 9 and played(game, s, 0)[2][0] == -1
    game, s = table("dmadn", {0: [5]}, stock=(1, 0, 0, 0, 0, 2), enable_initial_free_pin=False)
    assert game.legal(s) == [0, 5, 6, 11, 12, 17, 18, 23]


def test_cases_17_to_22_cards():
    game, s = table("dog", {0: [10]}, hand=[11])
    assert game.legal(s) == [0, 9, 311, 468, 625]
    assert played(game, s, 0)[0][0] == 11 and played(game, s, 9)[0][0] == 21
    assert played(game, s, 311)[0][1] == 0
    game, s = table("dog", {0: [14], 1: [16]}, hand=[5])
    assert game.legal(s) == [882]
    game, s = table("dog", {0: [14], 3: [16]}, hand=[5])
    assert game.legal(s) == [4] and played(game, s, 4)[0][0] == 19
    game, s = table("dog", {0: [2]}, hand=[4])
    assert game.legal(s) == [3, 12]
    assert played(game, s, 3)[0][0] == 6 and played(game, s, 12)[0][0] == 62
    game, s = table("dog", {0: [20], 1: [16]}, hand=[4])
    assert game.legal(s) == [3]
    game, s = table("dog", {0: [62, 0]}, hand=[3])
    assert game.legal(s) == [159] and played(game, s, 159)[0][1] == 3
    game, s = table("dog", {0: [62]}, hand=[4])
    assert game.legal(s) == [3, 12]
    assert played(game, s, 3)[0][0] == 65 and played(game, s, 12)[0][0] == 58
    game, s = table("dog", {0: [10, 0, 64], 1: [16, 20], 2: [12]}, hand=[1])
    assert game.legal(s) == [25, 33]
    assert played(game, s, 33)[0][0] == 20 and played(game, s, 33)[1] == [16, 10, -1, -1]


def test_cases_23_to_25_the_hot_seven():
    game, s = table("dog", {0: [10], 1: [12, 15, 17]}, hand=[7])
    assert game.legal(s) == [747]
    assert played(game, s, 747)[:2] == [[17, -1, -1, -1], [-1] * 4]
    game, s = table("dog", {0: [10, 12]}, hand=[7])
    assert len(game.legal(s)) == 8
    assert played(game, s, 712)[0] == [12, 17, -1, -1]
    assert played(game, s, 743)[0] == [15, -1, -1, -1]
    game, s = table("dog", {0: [62, 0]}, hand=[7])
    assert len(game.legal(s)) == 7 and 747 not in game.legal(s)
    assert played(game, s, 727)[0] == [64, 4, -1, -1]
    game, s = table("dog", {0: [62, 64]}, hand=[7])
    assert game.legal(s) == [737, 743, 746, 747]
    assert played(game, s, 737)[0] == [65, 67, -1, -1]
    assert played(game, s, 746)[0] == [4, 65, -1, -1]


# The hot seven, in random positions --------------------------------------------------------------


def crowded(game, dice):
    """A position with pins close to each other, near the goal and on start fields."""
    s, taken = game.fresh(), set()
    ring, middle = game.options.ring, int(dice.integers(game.options.ring))
    for player in range(game.seats):
        first = int(s.first[player])
        near = [(first - d) % ring for d in range(1, 9)] + [(middle + d) % ring for d in range(10)]
        lane = [ring + 4 * player + j for j in range(4)]
        for pin in range(4):
            free = [c for c in [*near, *lane, first, first, -1] if c not in taken]
            cell = int(dice.choice(free))
            taken |= {cell} - {-1}
            s.pins[player, pin] = place_of(s, player, cell)
    if any((row > ring).all() for row in s.pins):
        return crowded(game, dice)
    return s


@pytest.mark.parametrize("fire", [False, True])
@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("circular", [False, True])
def test_sevens_are_those_of_all_orders_tried_by_the_book(fire, block, circular):
    rules = {"enable_friendly_fire": fire, "enable_start_block": block}
    game = games.load("madn", preset="dog", enable_circular_board=circular, **rules)
    jumping = game.bind(enable_jumping_in_goal=True, must_traverse_start=False)
    dice = np.random.default_rng(8)
    first = 4 * game.options.pin_actions
    for n in range(5):
        game = jumping if n % 2 else game
        s = crowded(game, dice)
        player = int(dice.integers(4))
        s.mover, s.phase, s.hands[player, 7], s.held[player] = player, PLAY, 1, 1
        expected = sevens_by_the_book(s, player)
        found = [a - first for a in game.legal(s) if first <= a < first + 120]
        assert found == list(expected), game.text(s)
        for number in found:
            t = game.copy(s)
            game.play(t, first + number)
            assert cells(t) == expected[number], (game.text(s), number)


def test_a_seven_counts_as_an_attack_by_its_result():
    game, s = table("dog", {0: [10, 30], 1: [12]}, hand=[7, 2], enable_forced_attack=True)
    texts = [game.action_text(s, a) for a in game.legal(s)]
    assert "pin 0 forward 2" in texts and "pin 1 forward 2" not in texts
    assert "seven 2,5,0,0" in texts and "seven 1,6,0,0" not in texts


# Cards and turns ---------------------------------------------------------------------------------


def total_cards(game, s):
    """All cards by kind, wherever they are."""
    total = s.hands.sum(0) + s.thrown.sum(0) + s.deck + s.played
    if s.phase in (EXCHANGE, ENDED) and (s.given == -1).any():
        for kind in s.given[s.given >= 0]:
            total[kind] += 1
    return total


@pytest.mark.parametrize("preset", ["cards_plain", "dog"])
def test_cards_are_conserved(preset):
    game, rng = games.load("madn", preset=preset), chance.stream(3, "table")
    s = game.fresh()
    for _ in range(1500):
        if game.turn(s) == OVER:
            break
        if game.turn(s) == CHANCE:
            game.roll(s, rng)
        else:
            legal = game.legal(s)
            game.play(s, legal[int(chance.below(rng, len(legal)))])
        assert total_cards(game, s).tolist() == list(game.options.deck)
        assert (s.held == s.hands.sum(1)).all() and s.in_deck == s.deck.sum()


def test_the_exchange_gives_every_partner_one_card():
    game, rng = games.load("madn", preset="dog"), chance.stream(5, "table")
    s = game.fresh()
    while game.turn(s) == CHANCE:
        game.roll(s, rng)
    teams = s.hands[:2] + s.hands[2:]
    for player in range(4):
        assert game.turn(s) == player and s.phase == EXCHANGE
        game.play(s, game.legal(s)[-1])
    assert s.phase == PLAY and game.turn(s) == 0 and s.held.tolist() == [6, 6, 6, 6]
    assert (s.hands[:2] + s.hands[2:] == teams).all()
    assert all(s.hands[(i + 2) % 4, s.given[i]] > 0 for i in range(4))


def test_whoever_cannot_play_throws_the_hand_away_and_is_out():
    game, s = table("dog", {0: [14], 1: [16]}, hand=[5, 6])
    s.hands[2, 3], s.held[2] = 1, 1
    game.play(s, game.legal(s)[0])
    assert s.thrown[0].sum() == 2 and s.held[0] == 0 and s.played.sum() == 0
    assert game.turn(s) == 2


def test_the_last_pin_in_the_lane_wins_and_truncation_is_a_draw():
    game, s = table("madn", {0: [39, 41, 42, 43]}, die=1)
    game.play(s, 0)
    assert game.turn(s) == OVER and game.scores(s) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    game, s = table("madn", {0: [5]}, die=1, max_plies=1)
    game.play(s, 0)
    assert game.turn(s) == OVER and game.scores(s) == [0, 0, 0, 0]
    full = [40, 41, 42, 43]
    game, s = table("madn_teams", {0: full, 2: [19, 49, 50, 51]}, die=1)
    game.play(s, 0)
    assert game.scores(s) == [1, -1, 1, -1]


def test_a_stock_is_filled_again_when_it_is_empty_or_nothing_fits():
    game, s = table("dmadn", {0: [5]}, stock=(0, 0, 1, 0, 0, 0))
    game.play(s, 2)
    assert s.stock[0].tolist() == [4] * 6 and game.turn(s) == 1
    game, s = table("dmadn", {0: [43]}, stock=(0, 0, 1, 0, 0, 0))
    assert game.legal(s) == [24]
    game.play(s, 24)
    assert s.stock[0].tolist() == [4] * 6 and game.turn(s) == 1


@pytest.mark.parametrize("preset", ["madn", "madn_teams", "dmadn", "dog_solo", "dog"])
def test_turning_the_table_turns_the_actions_and_keeps_the_view(preset):
    """Seat i becomes seat i + 1; places are counted by owners, so rows of the record move."""
    game = games.load("madn", preset=preset)
    batch = Batch(game, 60, seed=2, threads=1)
    batch.wander(60)
    batch.settle()
    for s in batch.states:
        if game.turn(s) < 0:
            continue
        t = turned(game, s)
        assert game.legal(t) == game.legal(s)
        me, next_seat = int(s.mover), (int(s.mover) + 1) % 4
        view = game.look(s, me).view(game.view)[0]
        other = game.look(t, next_seat).view(game.view)[0]
        assert (view.cells == other.cells).all()
        same = np.ones(len(view.numbers), bool)
        same[5:9] = False  # the seat
        assert (view.numbers[same] == other.numbers[same]).all()
        game.play(s, game.legal(s)[-1])
        game.play(t, game.legal(t)[-1])
        assert (np.roll(s.pins, 1, axis=0) == t.pins).all()


def turned(game, s):
    t = game.copy(s)
    for name in ("pins", "stock", "hands", "thrown", "laid", "given", "held", "shown"):
        if name in s.dtype.names:
            t[name] = np.roll(s[name], 1, axis=0)
    for name in ("mover", "round_starter"):
        if name in s.dtype.names:
            t[name] = (s[name] + 1) % 4
    return t


def test_of_pins_at_home_a_search_brings_out_the_first():
    game, s = table("madn", {0: [5]}, die=6, **FREE)
    assert game.legal(s) == [0, 1, 2, 3] and candidates(game, s) == [0, 1]
    game, s = table("dog", {0: [10]}, hand=[11])
    assert candidates(game, s) == [0, 9, 311]


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [0, 882, 883, -1, "pin 0 forward 2", "give 2"])
def test_an_action_that_is_not_legal_is_refused_with_those_that_are(action):
    """Passing (882) is legal only where nothing else is."""
    at_the_table = Table(games.load("dog"), seed=1)
    legal = ", ".join(at_the_table.choices)
    assert legal == "give 7, give 8, give 9, give queen, give king"
    with pytest.raises(IllegalAction) as refused:
        at_the_table.play(action)
    assert f"seat 0, ply 0: {action!r} is not legal" in str(refused.value)
    assert f"There are: {legal}." in str(refused.value)


def test_nothing_can_be_played_after_the_end():
    at_the_table = Table(games.load("madn", max_plies=1), seed=1)
    at_the_table.play(at_the_table.actions[0])
    with pytest.raises(IllegalAction, match="the game is over, 'pass' comes too late"):
        at_the_table.play("pass")


def test_a_run_is_not_resumed_under_other_rules(tmp_path):
    """It says both values."""
    smoke = replace(recipe("madn", "smoke"), config={"width": 8, "blocks": 0})
    Run(smoke, tmp_path, seed=1).close()
    other = replace(smoke, options={**smoke.options, "enable_forced_attack": True})
    with pytest.raises(RunError, match="madn with enable_forced_attack false, not true"):
        Run(other, tmp_path, seed=1, resume=True)


def test_a_network_of_other_actions_does_not_sit_down(tmp_path):
    kind, game = all_kinds()["muzero"], games.load("madn")
    net = kind.net(kind.config(**kind.fitted(game) | {"width": 8, "blocks": 0}))
    save_net(tmp_path / "net.safetensors", net, {"game": game.describe()})
    with pytest.raises(players.PlayerError, match="was trained for actions 5, not 25"):
        players.player(f"net:{tmp_path}/net.safetensors", games.load("madn", preset="dmadn"))


# Options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"num_players": 7}, "num_players"),
        ({"num_players": 1}, "num_players"),
        ({"distance": 5}, "distance"),
        ({"distance": 33}, "distance"),
        ({"sectors": 3}, "sectors"),
        ({"sectors": 9}, "sectors"),
        ({"layout": (0, 1)}, "layout"),
        ({"layout": (0, 2, 1, 3)}, "layout"),
        ({"layout": (0, 1, 2, 4)}, "layout"),
        ({"enable_cards": True}, "enable_cards"),
        *(({name: True}, name) for name in SPECIALS),
        *(({"preset": "cards_plain", name: True}, name) for name in SPECIAL),
        ({"num_players": 3, "enable_teams": True}, "enable_teams"),
        ({"num_players": 2, "enable_teams": True}, "enable_teams"),
        ({"preset": "dmadn", "enable_rethrow": True}, "enable_rethrow"),
        *(({"preset": "dog", name: True}, name) for name in NOT_WITH_CARDS),
        ({"preset": "dog_solo", "num_players": 2, "distance": 6}, "distance"),
        ({"max_plies": 0}, "max_plies"),
        ({"starter": 4}, "starter"),
        ({"reveal": "all"}, "reveal"),
        ({"preset": "dog", "reveal": "2"}, "reveal"),
        ({"preset": "dog", "reveal": "1,0"}, "reveal"),
    ],
)
def test_options_that_make_no_game_are_refused_by_name(options, field):
    with pytest.raises(OptionError, match=field):
        games.load("madn", **options)


@pytest.mark.parametrize("preset", PRESETS)
def test_options_are_read_back_from_json(preset):
    options = games.load("madn", preset=preset).options
    assert MadnOptions.from_json(options.to_json()) == options
    assert MadnOptions.from_json('{"distance": 16}') == MadnOptions(distance=16)
    with pytest.raises(OptionError, match="line 1, column 2"):
        MadnOptions.from_json("{distance}")


def test_every_option_is_false_unless_given():
    assert not any(value is True for value in vars(MadnOptions()).values())


def test_chance_draws_the_starter_if_asked():
    for preset in ("madn", "dmadn", "dog"):
        game = games.load("madn", preset=preset, starter=-1)
        s = game.fresh()
        assert game.turn(s) == CHANCE and game.chances(s)[:5] == [0.25] * 4 + [0]
        game.play(s, 2)
        assert s.mover == 2


def test_dog_is_a_short_name():
    game = games.load("dog")
    assert game.name == "madn" and game.fingerprint == games.load("madn", preset="dog").fingerprint
    assert games.load("DOG", reveal="all").options.reveal == "all"
    assert "dog" not in games.names()


def test_a_network_sits_down_whatever_is_revealed(tmp_path):
    """Hands are shown or hidden by a number in the position; the view says which."""
    game = games.load("dog", reveal="all")
    kind = all_kinds()["muzero"]
    net = kind.net(kind.config(**kind.fitted(game) | {"width": 8, "blocks": 0}))
    save_net(tmp_path / "net.safetensors", net, {"game": game.describe()})
    for reveal in ("own", "0.5"):
        players.player(f"net:{tmp_path}/net.safetensors", games.load("dog", reveal=reveal))
