"""Players by name: what a text means, who sits down where, and what a player is called."""

import json
import shutil

import pytest

from kibitz.games import load
from kibitz.players import PlayerError, champions, names, player
from kibitz.players.champions import CHAMPIONS, card_of


@pytest.fixture
def cards(tmp_path, monkeypatch):
    """A folder with the champions of Liar's Dice, into which a test may put other cards."""
    for file in CHAMPIONS.glob("liars_dice*"):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(champions, "CHAMPIONS", tmp_path)
    champions.cards.cache_clear()
    yield tmp_path
    champions.cards.cache_clear()


def add_card(folder, name, **facts):
    shutil.copy(CHAMPIONS / "liars_dice.safetensors", folder / f"{name}.safetensors")
    card = {"game": "liars_dice", "players": {"champion": "net:{file}"}, **facts}
    (folder / f"{name}.json").write_text(json.dumps(card))
    champions.cards.cache_clear()


def test_a_game_lists_the_players_that_can_sit_down_at_it():
    assert names(load("kuhn")) == ["random", "mcts", "net"]
    assert "champion" in names(load("beasty_bar"))
    assert "exploiter" not in names(load("beasty_bar"))
    assert {"champion", "exploiter"} <= set(names(load("liars_dice")))
    assert "think" not in names(load("liars_dice"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mcts", "mcts:sims=200"),
        ("mcts:sims=50", "mcts:sims=50"),
        ("mcts:root=gumbel,sims=50", "mcts:sims=50,root=gumbel"),
        ("mcts:sims=200,evaluator=uniform,seconds=1", "mcts:sims=200,evaluator=uniform,seconds=1"),
        ("mcts:explore=2", "mcts:sims=200"),
        ("champion", "champion"),
        ("Champion:mode=sample", "champion"),
        ("champion:mode=argmax", "champion:mode=argmax"),
        ("champion:rounds=8", "champion:rounds=8"),
    ],
)
def test_a_player_is_called_by_what_makes_it_another_player(text, name):
    assert player(text, load("liars_dice", dice=(1, 1))).name == name


def test_the_network_with_the_most_conditions_plays_a_table(cards):
    add_card(cards, "pair", only_for={"dice": [1, 2]})
    assert card_of(load("liars_dice", dice=(1, 2)), "champion").file.stem == "pair"
    assert card_of(load("liars_dice", dice=(2, 1)), "champion").file.stem == "liars_dice"


def test_two_networks_that_fit_a_table_equally_well_are_an_error(cards):
    add_card(cards, "one", only_for={"dice": [1, 2]})
    add_card(cards, "two", only_for={"sides": 6})
    with pytest.raises(PlayerError, match=r"one\.safetensors and two\.safetensors are both champ"):
        player("champion", load("liars_dice", dice=(1, 2)))


def test_networks_of_one_game_live_side_by_side_under_names(cards):
    add_card(cards, "other", players={"novice": "net:{file},mode=sample"})
    game = load("liars_dice", dice=(1, 2))
    assert card_of(game, "champion").file.stem == "liars_dice"
    card = card_of(game, "novice")
    assert card.file.stem == "other"
    assert card.players == {"novice": "net:{file},mode=sample"}


def test_a_game_without_a_champion_says_which_games_have_one():
    with pytest.raises(
        PlayerError, match=r"kuhn has no champion; .*beasty_bar, dominion, escampe, liars_dice"
    ):
        player("champion", load("kuhn"))


def test_a_champion_that_plays_other_tables_says_which():
    with pytest.raises(PlayerError, match=r"has no champion for this table; .* with players=2"):
        player("champion", load("dominion", players=3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exploiter:rounds=1", "net has no option 'rounds'; it has: path, mode"),
        ("champion:depth=1", "net has no option 'depth'"),
        ("champion:leaves=4", "leaves=4: that is for a search"),
        ("champion:explore=2", "explore=2.0: that is for a search"),
        ("champion:leaves=0", "leaves is a whole number from 1"),
        ("champion:sims=4", "cannot guide a tree search"),
    ],
)
def test_options_that_a_network_does_not_have_are_refused(text, message):
    with pytest.raises(PlayerError, match=message):
        player(text, load("liars_dice"))


def test_who_asks_for_a_search_gets_it_instead_of_the_cards_lookahead():
    game = load("madn", preset="madn_teams")
    assert card_of(game, "champion").players["champion"].endswith("lookahead=64")
    assert player("champion:sims=4", game).name == "champion:sims=4"
    assert player("champion:lookahead=0", game).name == "champion:lookahead=0"
