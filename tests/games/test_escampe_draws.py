"""Games of Escampe that go round in circles, and which positions are possible."""

import dataclasses
import random

import numpy as np
import pytest
from escampe_book import GAME, MID, RULES

from kibitz.contract import attempt
from kibitz.contract.history import known_does_not_repeat
from kibitz.contract.trial import Playout, Trial
from kibitz.game import OVER, GameError, OptionError
from kibitz.games import load
from kibitz.games.escampe.board import PASS
from kibitz.games.escampe.laws import FLAWS
from kibitz.games.escampe.text import ending

CIRCLING = "n--n--/-n----/------/bn-b-N/-bn---/-Bb--b w 1"
ROUND = ["E", "B2-B3", "E", "B3-B2"]  # back to the same position


def played(game, notation, moves):
    """All positions of a game from a position on."""
    s = game.read(notation)
    states = [game.copy(s)]
    for move in moves:
        game.play(s, game.read_action(s, move))
        states.append(game.copy(s))
    return states


def random_game(game, seed):
    dice, s = random.Random(seed), game.fresh()
    while game.turn(s) != OVER:
        game.play(s, dice.choice(game.moves(s)))
    return s


# Adjudication ------------------------------------------------------------------------------------


def test_the_third_occurrence_of_a_position_is_a_draw():
    states = played(GAME, CIRCLING, 2 * ROUND)
    assert [int(s.occurrences) for s in states] == [1, 1, 1, 1, 2, 2, 2, 2, 3]
    assert [GAME.turn(s) for s in states[-2:]] == [1, OVER]
    assert GAME.scores(states[-1]) == [0, 0]
    assert ending(states[-1]) == "third occurrence of a position"


def test_the_required_band_is_part_of_what_occurs_again():
    """The same pieces and the same side, but another band: the first position came from nowhere."""
    states = played(GAME, CIRCLING.replace("w 1", "w 3"), 2 * ROUND)
    assert [int(s.occurrences) for s in states][4::4] == [1, 2]


def test_a_seat_knows_how_often_the_position_was_there():
    states = played(GAME, CIRCLING, ROUND)
    assert states[0].hash == states[4].hash
    for seat in (0, 1):
        assert GAME.known(states[0], seat) != GAME.known(states[4], seat)


def test_two_passes_in_a_row_are_a_draw():
    """Rules check nothing, so passes can be played that are not legal: no legal pair is known."""
    s = GAME.read(MID)
    GAME.play(s, PASS)
    assert GAME.turn(s) == 1 and s.band == 0
    GAME.play(s, PASS)
    assert GAME.turn(s) == OVER and GAME.scores(s) == [0, 0]
    assert ending(s) == "two passes in a row"


def test_a_game_is_drawn_after_max_plies_unless_the_unicorn_is_taken_with_the_last():
    short = load("escampe", max_plies=3)
    won = played(short, MID, ["F6-E5", "A1-A2", "C2-C1"])[-1]
    assert short.scores(won) == [1, -1] and not won.drawn
    drawn = played(short, CIRCLING, ROUND[:3])
    assert [short.turn(s) for s in drawn] == [0, 1, 0, OVER]
    assert short.scores(drawn[-1]) == [0, 0] and ending(drawn[-1]) == "3 plies"


def test_the_bare_rules_know_no_draw():
    states = played(RULES, CIRCLING, 20 * ROUND)
    assert RULES.turn(states[-1]) == 0
    assert states[0].tobytes() == states[-1].tobytes()


@pytest.mark.parametrize("plies", [-1, 0, 1, 1001])
def test_a_game_of_fewer_than_two_plies_or_too_many_is_refused(plies):
    with pytest.raises(OptionError, match=f"max_plies={plies}: a game has 2 to 1000 plies"):
        load("escampe", max_plies=plies)


def test_where_positions_may_repeat_only_true_repetitions_are_accepted():
    states = played(RULES, CIRCLING, ROUND)
    playout = Playout([], states, ended=False)

    def tried(game, positions):
        trial = Trial("escampe", game)
        vars(trial)["playouts"] = [dataclasses.replace(playout, states=positions)]
        return attempt(known_does_not_repeat, trial)

    assert tried(RULES, states).passed
    other = RULES.copy(states[-1])
    other.first_band = 3  # not the same position, whatever that means
    assert not tried(RULES, [*states[:-1], other]).passed
    assert not tried(load("escampe"), [GAME.read(CIRCLING), GAME.read(CIRCLING)]).passed


# Which positions are possible --------------------------------------------------------------------


def spoilt(s, **fields):
    t = GAME.copy(s) if s.dtype == GAME.state else RULES.copy(s)
    for name, value in fields.items():
        t[name] = value
    return t


def moved(s, ply, move):
    """A game with another move written down."""
    moves = s.moves.copy()
    moves[ply] = move
    return spoilt(s, moves=moves)


@pytest.fixture(scope="module")
def mid():
    """A position with two moves behind it."""
    return played(GAME, MID, ["F6-E5", "A1-A2"])[-1]


def test_positions_of_play_break_no_law():
    for seed, options in enumerate([{}, {"preset": "rules"}, {"placing": "drawn"}] * 3):
        game = load("escampe", **options)
        dice, s = random.Random(seed), game.fresh()
        while game.turn(s) != OVER:
            assert not game.wrong_with(s), game.text(s)
            game.play(s, dice.choice(game.moves(s)))
        assert not game.wrong_with(s), game.text(s)


BROKEN = {
    "placing": (1, lambda s: spoilt(s, placing=1)),
    "no side": (2, lambda s: spoilt(s, mover=2)),
    "no band": (2, lambda s: spoilt(s, band=4)),
    "a negative band": (2, lambda s: spoilt(s, first_band=-1)),
    "too many pieces": (2, lambda s: spoilt(s, placed=13)),
    "too many plies": (2, lambda s: spoilt(s, ply=201)),
    "no occurrence": (2, lambda s: spoilt(s, occurrences=0)),
    "a bit beyond the board": (3, lambda s: spoilt(s, paladins=[1 << 36, s.paladins[1]])),
    "a negative set": (3, lambda s: spoilt(s, paladins=[-1, s.paladins[1]])),
    "four paladins": (3, lambda s: spoilt(s, paladins=[s.paladins[0] & s.paladins[0] - 1, 3])),
    "overlap": (3, lambda s: spoilt(s, paladins=[s.paladins[1], s.paladins[1]])),
    "a unicorn on a paladin": (3, lambda s: spoilt(s, unicorn=[8, s.unicorn[1]])),
    "a unicorn off the board": (3, lambda s: spoilt(s, unicorn=[36, s.unicorn[1]])),
    "the winner's unicorn taken": (3, lambda s: spoilt(s, unicorn=[s.unicorn[0], -1])),
    "no unicorns": (3, lambda s: spoilt(s, unicorn=[-1, -1])),
    "placed": (4, lambda s: spoilt(s, placed=11, ply=0, moves=0)),
    "hash": (5, lambda s: spoilt(s, hash=s.hash ^ np.uint64(1))),
    "a move that is none": (6, lambda s: moved(s, 0, 223)),
    "a move to come": (6, lambda s: moved(s, 2, 5)),
    "a move of another piece": (6, lambda s: moved(s, 0, 0)),
    "a pass instead of a move": (6, lambda s: moved(s, 1, PASS)),
    "moves forgotten": (6, lambda s: spoilt(s, ply=1)),
    "a start with another band": (6, lambda s: spoilt(s, first_band=1)),
    "occurrences": (7, lambda s: spoilt(s, occurrences=2)),
    "drawn": (7, lambda s: spoilt(s, drawn=1)),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_position_that_breaks_a_law_is_answered_with_it(mid, broken):
    number, spoil = BROKEN[broken]
    assert not GAME.wrong_with(mid)
    assert GAME.wrong_with(spoil(mid)) == FLAWS[number - 1]


def test_a_game_that_was_drawn_before_its_last_move_breaks_a_law():
    s = played(GAME, CIRCLING, 2 * ROUND)[-1]
    s.drawn = 0
    assert GAME.wrong_with(s) == FLAWS[6]
    GAME.play(s, PASS)  # as if nobody had counted before: now it is drawn, but one ply too late
    assert s.drawn and GAME.wrong_with(s) == FLAWS[6]


@pytest.mark.parametrize(
    "notation",
    [
        "------/------/------/------/------/-----N w 0",  # Black places first
        "------/------/------/------/------/-----n b 0",  # the unicorn first
        "------/------/---N--/------/------/------ b 0",  # not on an edge
        "N-----/------/------/------/------/-----n b 0",  # on both edges
        "N----n/-----n/------/------/------/------ b 0",  # no room beyond F2 for three more
        "Nnnnnn/B-----/------/------/------/------ w 0",  # White on Black's edge
        "------/------/------/------/------/B----- w 0",  # White before Black
        "Nnnnnn/------/------/------/------/B----- w 2",  # a band while pieces are placed
        "nnN---/--b---/-----b/b-nn--/------/n-B--b w 2",  # a paladin is missing
    ],
)
def test_pieces_that_could_not_be_placed_like_that_break_a_law(notation):
    with pytest.raises(GameError, match="still being placed: Black's six on one edge, then"):
        GAME.read(notation)


def test_without_adjudication_a_position_has_no_history():
    for fields in ({"first_band": 2}, {"moves": [3]}, {"occurrences": 2}, {"drawn": 1}):
        assert RULES.wrong_with(spoilt(RULES.read(MID), **fields)) in FLAWS[5:]
    assert RULES.wrong_with(spoilt(RULES.read(MID), ply=1)) == FLAWS[1]


def test_a_pass_that_was_not_forced_breaks_a_law():
    s = GAME.read(MID)
    GAME.play(s, PASS)  # rules check nothing
    assert GAME.wrong_with(s) == FLAWS[5]
