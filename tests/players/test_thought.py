"""Players that explain their moves: what they think, by themselves and through the commands."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kibitz
from kibitz.arena.analysis import analyse, strongest
from kibitz.arena.table import Table
from kibitz.cli import app
from kibitz.game import GameError
from kibitz.games import load
from kibitz.players import Inquiry, PlayerError, Thought, explain, player
from kibitz.players.searching import TreeSearch
from kibitz.search.mcts import Settings

NIM = load(str(Path(__file__).parent.parent / "sample_games" / "nim.py"))
DICE = load("liars_dice", dice=(1, 1))


def run(*words):
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def test_a_search_names_the_winning_move_with_its_line():
    thought = analyse(NIM, who="mcts:sims=800", seed=1)
    assert thought.best.text == "takes 3"  # seven stones: four are left
    assert thought.best.value > 0.9
    assert thought.simulations == 800
    assert sum(candidate.visits for candidate in thought.candidates) == 799  # the first is the root
    assert len(thought.best.line) >= 2
    assert thought.nodes > 3
    assert thought.depth == 1 + max(len(candidate.line) for candidate in thought.candidates)


class Stubborn:
    """A network that is sure of its move, whatever it sees, and expects nothing."""

    def room(self, size, view_size):
        return np.zeros((size, view_size), np.float32)

    def __call__(self, views):
        logits = np.zeros((len(views), NIM.num_actions), np.float32)
        logits[:, 0] = 50.0
        return logits, np.zeros((len(views), NIM.seats), np.float32)


def test_moves_that_a_network_never_tries_have_values_too():
    who = TreeSearch(NIM, Settings(simulations=3), Stubborn(), "stubborn")
    thought = analyse(NIM, "stones=3 mover=0", who, seed=1)
    assert [c.text for c in thought.candidates] == ["takes 1", "takes 3", "takes 2"]
    assert [c.visits for c in thought.candidates] == [2, 0, 0]
    assert thought.candidates[1].value == 1.0  # the last stone
    assert thought.candidates[2].value < 0


def test_watching_changes_nothing():
    seen = []
    watched = analyse(NIM, who="mcts:sims=300", inquiry=Inquiry(watch=seen.append), seed=4)
    unwatched = analyse(NIM, who="mcts:sims=300", seed=4)
    assert watched.candidates == unwatched.candidates
    assert len(seen) > 1
    assert [thought.simulations for thought in seen] == sorted(t.simulations for t in seen)


def test_an_interrupted_thought_is_the_best_so_far():
    def stop(thought):
        if thought.simulations > 100:
            raise KeyboardInterrupt

    thought = analyse(NIM, who="mcts:sims=100000", inquiry=Inquiry(watch=stop), seed=1)
    assert 100 < thought.simulations < 1000
    assert thought.best.text == "takes 3"


def test_a_thought_lasts_as_long_as_asked():
    analyse(NIM, who="mcts:sims=10", seed=1)  # compiles, which is not thinking
    thought = analyse(NIM, who="mcts:sims=10", inquiry=Inquiry(seconds=0.3), seed=1)
    assert thought.simulations > 10
    assert 0.3 <= thought.seconds < 5


@pytest.mark.parametrize("text", ["mcts:sims=40,root=gumbel", "mcts:sims=40", "mcts:sims=1"])
def test_the_first_candidate_is_the_move_that_would_be_played(text):
    for seed in range(5):
        table = Table(DICE, seed=seed)
        who = player(text, DICE)
        thought = explain(who, table.sight())
        assert thought.best.action == table.ask(who)
        assert {candidate.action for candidate in thought.candidates} == set(table.actions)


@pytest.mark.parametrize("text", ["champion", "champion:mode=argmax", "champion:rounds=1"])
def test_a_network_says_how_likely_its_moves_are(text):
    thought = analyse(DICE, who=text, seed=3)
    assert sum(candidate.prior for candidate in thought.candidates) == pytest.approx(1, abs=1e-3)
    assert thought.candidates[0].prior == max(c.prior for c in thought.candidates)


def test_a_network_of_values_says_what_its_moves_are_worth():
    thought = analyse(load("liars_dice"), who="exploiter", seed=3)  # five dice each
    values = [candidate.value for candidate in thought.candidates]
    assert values[0] == max(values) == thought.value


def test_a_champion_searches_where_its_network_can_guide_a_search():
    assert strongest(load("beasty_bar")).name == "champion:sims=400"
    assert strongest(DICE).name == "champion"
    assert strongest(NIM).name == "mcts:sims=2000"


def test_a_champion_explains_itself_in_a_match_of_rounds_as_well():
    """There it is another player at every table."""
    rounds = DICE.bind(die_loss="loser")
    thought, single = (analyse(game, who="champion", seed=3) for game in (rounds, DICE))
    assert thought.candidates == single.candidates


def test_who_cannot_explain_says_so():
    with pytest.raises(PlayerError, match="honest cannot explain its moves"):
        analyse(DICE, who="honest", seed=1)


def test_a_position_can_be_pasted():
    thought = analyse(NIM, "stones=5 mover=1", who="mcts:sims=500", seed=1)
    assert (thought.seat, thought.best.text) == (1, "takes 1")


@pytest.mark.parametrize(
    ("position", "message"),
    [("stones=0", "the game is over"), ("stones=9", "is no position"), ("x", "there is no field")],
)
def test_a_position_that_cannot_be_analysed_is_refused(position, message):
    with pytest.raises(GameError, match=message):
        analyse(NIM, position, seed=1)


def test_an_analysis_knows_no_more_than_the_seat_to_move():
    """The other seat's die is re-dealt, so that it cannot matter which one it is."""
    thoughts = [
        analyse(DICE, f"{other} / 3 : 1x2", who="mcts:sims=50", seed=1).candidates
        for other in (2, 5)
    ]
    assert thoughts[0] == thoughts[1]


def test_the_command_prints_what_python_returns():
    words = ("analyse", "kuhn", "--player", "mcts:sims=100", "--seed", "5")
    printed = json.loads(run(*words, "--json").stdout)
    thought = kibitz.analyse(load("kuhn"), who="mcts:sims=100", seed=5)
    assert isinstance(thought, Thought)
    assert printed["candidates"] == json.loads(json.dumps(thought.as_json()))["candidates"]
    text = run(*words).stdout
    assert all(word in text for word in ("move", "value", "visits", "prior", "100 simulations"))


def test_a_recorded_position_is_analysed(tmp_path):
    table, file = Table(DICE, seed=2), tmp_path / "game.txt"
    table.play("1x2")
    table.play("1x4")
    table.save(file)
    words = ("analyse", "--record", str(file), "--ply", "1", "--player", "champion", "--json")
    printed = json.loads(run(*words).stdout)
    assert (printed["game"], printed["seat"]) == ("liars_dice", 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a game"),
        (("kuhn", "--ply", "1"), "--ply needs a record"),
        (("kuhn", "--seconds", "0"), "a number above 0"),
        (("kuhn", "--player", "nobody"), "kuhn has no player 'nobody'"),
    ],
)
def test_a_command_that_makes_no_sense_is_one_sentence(words, message):
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["analyse", *words])
    assert result.exit_code
    assert message in result.output + str(result.exception)
