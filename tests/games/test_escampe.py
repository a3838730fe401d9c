"""Escampe's rules against its specification and what independent engines say."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from escampe_book import GAME, MID, RULES, START, legal_by_the_book, one_line, paths, rings
from oracle_files import oracle_list

from kibitz.batch import Batch
from kibitz.game import CHANCE, OVER, rule
from kibitz.games import load
from kibitz.games.escampe import board
from kibitz.games.escampe.board import END, NOWHERE, PASS, PLACE
from kibitz.games.escampe.laws import hash_of
from kibitz.games.escampe.placements import placement, placement_number
from kibitz.games.escampe.rules import ALL_PLACED, PIECES, legal_moves

DRAWN = load("escampe", placing="drawn", adjudication=False)
LOW, HIGH = 0, 24  # the first cells of the two edges
CELLS = range(36)


def wandered(game, seed, plies=60):
    """The positions of a game of random play from placements drawn at random."""
    dice, s = random.Random(seed), game.fresh()
    while game.turn(s) == CHANCE:
        game.play(s, dice.choice(game.moves(s)))
    for _ in range(plies):
        yield s
        if game.turn(s) == OVER:
            return
        game.play(s, dice.choice(game.legal(s)))


# What independent engines say --------------------------------------------------------------------


@pytest.mark.oracle("escampe", "legal_moves")
def test_the_legal_moves_are_those_of_the_oracle(oracle_case):
    s = GAME.read(one_line(oracle_case))
    assert sorted(GAME.action_text(s, a) for a in GAME.legal(s)) == oracle_case["moves"]


def last_plies(game, s, depth):
    """The last moves of all games of so many plies: how many there are, captures, and passes."""
    legal = game.legal(s)
    if depth == 1:
        takes = [a != PASS and END[a] == s.unicorn[1 - s.mover] for a in legal]
        return np.array([len(legal), sum(takes), legal == [PASS]])
    total = np.zeros(3, int)
    for action in legal:
        t = game.copy(s)
        game.play(t, action)
        if game.turn(t) != OVER:
            total += last_plies(game, t, depth - 1)
    return total


@pytest.mark.oracle("escampe", "positions")
def test_games_of_up_to_four_plies_are_as_many_as_the_oracle_says(oracle_case):
    s = RULES.read(one_line(oracle_case))
    for counted in oracle_case["perft"]:
        if counted["depth"] <= 4:
            expected = [counted[part] for part in ("nodes", "captures", "passes")]
            assert last_plies(RULES, s, counted["depth"]).tolist() == expected


def test_the_handouts_positions_have_the_printed_numbers_of_games():
    for notation, printed in ((START, [24, 109, 588, 4140]), (MID, [9, 64, 269, 1002])):
        s = RULES.read(notation)
        assert [last_plies(RULES, s, depth)[0] for depth in (1, 2, 3, 4)] == printed


def test_moves_met_in_play_are_those_of_the_book():
    for seed in range(10):
        for s in wandered(DRAWN, seed):
            if DRAWN.turn(s) != OVER:
                found = sorted(DRAWN.action_text(s, a) for a in DRAWN.legal(s))
                assert found == legal_by_the_book(DRAWN.text(s))


# The board ---------------------------------------------------------------------------------------


def test_the_board_has_392_paths_and_222_moves():
    cells = [(row, column) for row in range(6) for column in range(6)]
    walks = [(cell, walk[-1]) for cell in cells for walk in paths(cell)]
    assert len(walks) == 392
    pairs = sorted({(6 * a + b, 6 * c + d) for (a, b), (c, d) in walks})
    assert pairs == board.PAIRS and len(pairs) == PASS == 222
    by_start = Counter(start for start, _ in pairs)
    for band, fewest, most in ((1, 2, 4), (2, 3, 8), (3, 6, 14)):
        ends = [by_start[6 * r + c] for r, c in cells if rings((r, c)) == band]
        assert (len(ends), min(ends), max(ends)) == (12, fewest, most)


def test_the_bands_are_those_of_the_oracle():
    assert oracle_list("escampe", "band_map") == board.BAND.reshape(6, 6).tolist()


@pytest.mark.parametrize("cells", [0, 1, 1 << 35, 0b1011 << 20, (1 << 36) - 1])
def test_sets_of_cells_are_counted_and_listed(cells):
    listed = [cell for cell in CELLS if cells >> cell & 1]
    assert board.count(cells) == len(listed)
    assert not listed or board.lowest(cells) == listed[0]


# Placing -----------------------------------------------------------------------------------------


def placements_from(s):
    """How many ways there are to place the rest of the mover's pieces."""
    side = int(s.mover)
    total = 0
    for action in GAME.legal(s):
        t = GAME.copy(s)
        GAME.play(t, action)
        total += 1 if t.placed in (PIECES, ALL_PLACED) else placements_from(t)
        assert t.paladins[side] | s.paladins[side] == t.paladins[side]
    return total


def test_black_and_white_have_as_many_placements_as_the_oracle_says():
    counts, s = oracle_list("escampe", "placement"), GAME.fresh()
    assert placements_from(s) == counts["black_placements"] == 11088
    for cell in ("A1", "C1", "F1", "A2", "C2", "D2"):  # the unicorn on A1
        GAME.play(s, GAME.read_action(s, cell))
    assert placements_from(s) == counts["white_placements_per_black_placement"] == 5544


@pytest.mark.parametrize(("black", "whites"), [("F6", range(0, 12)), ("A1", range(24, 36))])
def test_white_places_on_the_edge_that_black_has_left(black, whites):
    s = GAME.fresh()
    GAME.play(s, GAME.read_action(s, black))
    while s.placed < PIECES:
        GAME.play(s, GAME.legal(s)[0])
    assert GAME.turn(s) == 0
    assert GAME.legal(s) == [PLACE + cell for cell in whites]


@pytest.mark.parametrize("first", [LOW, HIGH])
def test_every_placement_has_a_number_and_every_number_a_placement(first):
    numbers = []
    for unicorn in range(12):
        free = [cell for cell in range(12) if cell != unicorn]
        for five in itertools.combinations(free, 5):  # in lexicographic order
            paladins = sum(1 << first + cell for cell in five)
            numbers.append(placement_number(first + unicorn, paladins, first))
            assert placement(numbers[-1], first) == (first + unicorn, paladins)
    assert numbers == list(range(5544))


def test_every_placement_is_drawn_with_the_same_probability():
    for seed in range(20):
        dice, s, logarithm = random.Random(seed), DRAWN.fresh(), 0.0
        while DRAWN.turn(s) == CHANCE:
            odds = DRAWN.chances(s)
            outcome = dice.choice([o for o, p in enumerate(odds) if p > 0])
            logarithm += math.log(odds[outcome])
            DRAWN.play(s, outcome)
        assert logarithm == pytest.approx(-math.log(11088 * 5544))


def test_white_is_to_move_from_any_cell_when_all_pieces_are_placed():
    for game in (DRAWN, load("escampe", placing="fair")):
        rolled = Batch(game, 50, seed=3)
        rolled.settle()
        assert (rolled.turns() == 0).all()
        assert (rolled.host()["placed"] == ALL_PLACED).all() and not rolled.host()["band"].any()


def first_moves(states):
    """How many moves White has in each opening, and how many of them take the unicorn."""
    batch = Batch.of(DRAWN, states, np.array(Batch(DRAWN, len(states)).rngs))
    legal, counts = batch.actions()
    listed = np.arange(legal.shape[1]) < counts[:, None]
    assert (legal[listed] != PASS).all(), "nobody passes on the first move"
    takes = END[np.where(listed, legal, 0)] == states["unicorn"][:, 1, None]
    return counts, (takes & listed).sum(1)


def test_white_has_8_to_31_first_moves_as_often_as_the_oracle_says():
    said = oracle_list("escampe", "placement")
    openings = Batch(DRAWN, 20_000, seed=1)
    openings.settle()
    counts, captures = first_moves(openings.host())
    assert said["min_first_moves"] <= counts.min() and counts.max() <= said["max_first_moves"]
    for found, part in ((counts, ""), (captures, "_captures")):
        key = "white_first_moves_summed" if not part else "white_first_move_captures_summed"
        expected = said[key] / said["opening_positions"]
        assert abs(found.mean() - expected) < 4 * found.std() / math.sqrt(len(found))


@rule
def first_moves_of_all(s, black, out, totals):
    """Over all placements of White's: sums of first moves and captures, the least and the most."""
    for number in range(5544):
        s.unicorn[1], s.paladins[1] = placement(black % 5544, LOW if black < 5544 else HIGH)
        s.unicorn[0], s.paladins[0] = placement(number, HIGH if black < 5544 else LOW)
        n = legal_moves(s, 0, 0, out)
        for i in range(n):
            totals[1] += END[out[i]] == s.unicorn[1]
        totals[0] += n
        totals[2], totals[3] = min(totals[2], n), max(totals[3], n)


@pytest.mark.slow
def test_the_first_moves_of_all_61_million_openings_are_those_of_the_oracle():
    said = oracle_list("escampe", "placement")
    s, out = RULES.read(START), np.zeros(board.MOST_MOVES, np.int16)
    totals = np.array([0, 0, 99, 0])
    for black in range(11088):
        first_moves_of_all(s, black, out, totals)
    sums = said["white_first_moves_summed"], said["white_first_move_captures_summed"]
    assert totals.tolist() == [*sums, said["min_first_moves"], said["max_first_moves"]]


# Moving ------------------------------------------------------------------------------------------


def after(notation, *moves, game=RULES):
    s = game.read(notation)
    for move in moves:
        game.play(s, game.read_action(s, move))
    return s


def test_a_move_asks_the_other_side_for_the_band_that_it_ends_on():
    s = after(MID, "F6-E5")
    assert (s.mover, s.band) == (1, 1)
    assert [RULES.action_text(s, a) for a in RULES.legal(s)] == ["A1-A2"]


def test_the_handouts_white_wins_in_three_plies_by_way_of_d2_and_d1():
    s = after(MID, "F6-E5", "A1-A2", "C2-C1")
    assert RULES.turn(s) == OVER and RULES.scores(s) == [1, -1]
    assert s.unicorn.tolist() == [32, NOWHERE]


def test_after_a_pass_any_piece_may_move():
    s = after("-b--bb/-----b/------/---Bnb/Nnn---/n---n- w 3", "E")
    assert (s.mover, s.band) == (1, 0)
    starts = {RULES.action_text(s, a)[:2] for a in RULES.legal(s)}
    assert starts == {"E4", "A5", "B5", "C5", "A6", "E6"}  # all six pieces


@pytest.mark.parametrize(
    "notation",
    [
        "-b--bb/-----b/------/---Bnb/Nnn---/n---n- w 3",  # no white piece is on band 3
        "-b-n--/Bb---b/b-n-n-/--Nb--/nn----/------ w 3",  # the one that is cannot move
        "nnNb--/nnb---/nb----/b-----/b-----/-----B b 0",  # nobody can, from any band
    ],
)
def test_who_cannot_move_must_pass(notation):
    s = RULES.read(notation)
    assert RULES.legal(s) == [PASS] and legal_by_the_book(notation) == ["E"]


def test_a_game_is_one_unicorn_away_from_its_end():
    for seed in range(20):
        *_, s = wandered(DRAWN, seed, plies=3000)
        lost = [side for side in (0, 1) if s.unicorn[side] == NOWHERE]
        assert DRAWN.turn(s) == OVER and lost == [s.mover]
        assert DRAWN.scores(s)[lost[0]] == -1 and sum(DRAWN.scores(s)) == 0


def test_the_hash_follows_pieces_side_and_band():
    met = {}
    for seed in range(20):
        for s in wandered(DRAWN, seed):
            assert s.hash == hash_of(s)
            assert met.setdefault(int(s.hash), DRAWN.text(s)) == DRAWN.text(s)
    board_text = MID.split()[0]
    others = {f"{board_text} {side} {band}" for side in "wb" for band in range(4)}
    assert len({int(RULES.read(other).hash) for other in others}) == 8


# Random play -------------------------------------------------------------------------------------


def test_random_play_goes_as_in_the_specification():
    """20,000 games there, fewer here: each figure agrees within 3.3 errors of the two together."""
    games, cap = 8000, 200
    batch, dice = Batch(DRAWN, games, seed=2), np.random.default_rng(2)
    batch.settle()
    plies, counts, passes = np.zeros(games, int), [], []
    for _ in range(cap):
        legal, n = batch.actions()
        if not (n > 0).any():
            break
        plies += n > 0
        counts.append(n[n > 0])
        passes.append(legal[n > 0, 0] == PASS)
        chosen = legal[np.arange(games), (dice.random(games) * n).astype(int)]
        batch.play(np.where(n > 0, chosen, -1))
    white, over = batch.scores()[:, 0] > 0, batch.turns() == OVER
    both = math.sqrt(1 / games + 1 / 20_000)
    for found, expected in ((white, 0.499), (~over, 0.008)):
        spread = math.sqrt(expected * (1 - expected)) * both
        assert abs(found.mean() - expected) < 3.3 * spread + 0.0005  # printed with one decimal
    assert abs(plies.mean() - 52) < 3.3 * plies.std() * both + 0.5
    moves = np.concatenate(counts)
    # positions of one game are alike, so these intervals are wider than those of the games' means
    assert abs((moves * ~np.concatenate(passes)).mean() - 8.8) < 0.1
    assert abs(moves[~np.concatenate(passes)].mean() - 10.2) < 0.1
    assert abs(np.concatenate(passes).mean() - 0.139) < 0.005
    assert 40 < moves.max() <= board.MOST_MOVES
