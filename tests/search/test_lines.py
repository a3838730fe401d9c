"""The lines of play that a search expects."""

from pathlib import Path

import pytest
from search_tables import at, positions, wandered

from kibitz import games
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.search.lines import imagined, sees_chance
from kibitz.search.mcts import Search, Settings

WALK, RUN = 0, 1
PASS, BET = 0, 1


def lines_of(game, states, simulations=400, **wanted):
    """The lines of every tree."""
    trees = Search(game, len(states), Settings(simulations=simulations))
    trees.run(states, streams(1, "search", len(states)))
    return [trees.lines(tree, **wanted) for tree in range(len(states))]


def test_the_lines_of_an_open_game_are_played_to_its_end():
    """Of three stones one takes all; who takes fewer loses the rest."""
    nim = games.load(Path(__file__).parent.parent / "sample_games" / "nim.py")
    (lines,) = lines_of(nim, positions(nim, "stones=3"))
    steps = [[(step.seat, step.text) for step in line] for line in lines]
    assert steps[0] == [(0, "takes 3")]
    assert sorted(steps[1:]) == [
        [(0, "takes 1"), (1, "takes 2")],
        [(0, "takes 2"), (1, "takes 1")],
    ]
    assert lines[0][0].value == 1.0 and lines[1][0].value < -0.5
    assert lines[0][0].visits > lines[1][0].visits >= lines[1][1].visits > 0


def test_lines_are_as_many_and_as_long_as_asked():
    nim = games.load(Path(__file__).parent.parent / "sample_games" / "nim.py")
    (lines,) = lines_of(nim, positions(nim, "stones=7"), count=2, depth=3)
    assert [len(line) for line in lines] == [3, 3]


def test_a_line_ends_where_the_seat_sees_a_throw(race):
    (lines,) = lines_of(race, positions(race, at(0, 0)))
    assert [len(line) for line in lines] == [1, 1]


def test_a_seat_sees_the_card_that_it_is_dealt_and_no_other(kuhn):
    s = kuhn.fresh()
    assert sees_chance(kuhn, s, 0)
    kuhn.play(s, 1)
    assert not sees_chance(kuhn, s, 0) and sees_chance(kuhn, s, 1)


def test_a_line_goes_on_through_decisions_over_a_hidden_card(kuhn):
    """Seat 0 passes with a jack, seat 1 bets with whatever is better, and seat 0 gives up."""
    (lines,) = lines_of(kuhn, positions(kuhn, "jk"), simulations=2000)
    steps = [(step.seat, step.action) for step in lines[0]]
    assert steps == [(0, PASS), (1, BET), (0, PASS)]


def test_lines_are_played_at_tables_with_any_hidden_card(kuhn):
    tables = [imagined(kuhn, kuhn.read(deal), 0) for deal in ("jq", "jk")]
    cards = [[int(s.card[1]) for s, _ in alike] for alike in tables]
    assert cards[0] == cards[1] and set(cards[0]) == {1, 2}


@pytest.mark.parametrize("name", ["kuhn", "liars", "beasty_bar"])
def test_lines_show_nothing_hidden(request, name):
    """Re-deal what the searching seat cannot know: its lines must not change by a word."""
    game = games.load(name) if name == "beasty_bar" else request.getfixturevalue(name)
    states = wandered(game, 16, plies=0 if name == "kuhn" else 3)
    others = Batch.of(game, states.copy(), streams(4, "table", 16))
    others.redeal(others.turns(), streams(4, "player", 16))
    assert (others.states != states).sum() > 4  # something was hidden
    ours, theirs = (lines_of(game, each, 100) for each in (states, others.states))
    assert ours == theirs and all(ours)


def test_there_are_no_lines_before_a_search(liars):
    with pytest.raises(GameError, match="run one first"):
        Search(liars, 1).lines()
