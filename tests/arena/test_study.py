"""What a player does in its games, counted."""

import json

import numpy as np
import pytest
import torch
from commands import run

from kibitz.arena.match import play_series
from kibitz.arena.rounds import round_values
from kibitz.arena.study import study
from kibitz.arena.table import Table
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games import load
from kibitz.nets import load_net, save_net
from kibitz.nets.card_set import CardSetConfig, CardSetNet
from kibitz.players import player

DOMINION = load("dominion", kingdom="first_game", max_turns=10)


def test_who_bets_and_who_wins_is_counted_by_hand():
    """A table of Kuhn poker has at most three decisions; a fold is a pass."""
    found = study(load("kuhn"), "random", games=400, seed=1)
    assert 2 <= found.shortest < found.longest == 3 and 2 < found.decisions < 3
    by_text = {deed.text: deed for deed in found.deeds}
    assert set(by_text) == {"pass", "bet"}
    bet = by_text["bet"]
    assert 0.4 < bet.share < 0.65 and bet.times == 1, "nobody bets twice"
    assert 1 < bet.first_turn < 1.5
    assert bet.wins_with > 0.5 > bet.wins_without, "folding never wins"
    wins = bet.share * bet.wins_with + (1 - bet.share) * bet.wins_without
    assert wins == pytest.approx(0.5)


def test_a_study_is_the_same_for_the_same_seed_and_counts_only_what_is_asked_for():
    game = load("dominion", kingdom="first_game")
    once, again = (study(game, "smithy1", games=20, only="buy", seed=3) for _ in range(2))
    assert once == again
    bought = {deed.text: deed for deed in once.deeds}
    assert all(text.startswith("buy ") for text in bought)
    assert bought["buy Smithy"].times == 1 and bought["buy Smithy"].first_turn < 6
    assert bought["buy Province"].first_turn > bought["buy Silver"].first_turn
    assert 10 < once.turns < 25


def test_progress_counts_the_games_that_have_ended():
    ended: list[int] = []
    study(load("kuhn"), "random", games=30, seed=1, progress=ended.append)
    assert ended[0] == 0
    assert ended == sorted(ended)
    assert 0 < ended[-1] < 30


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A network for Dominion that has learnt nothing."""
    config = CardSetConfig(slots=17, width=8, attention_heads=2, layers=2)
    path = tmp_path_factory.mktemp("network") / "net.safetensors"
    save_net(path, CardSetNet(config).eval(), {"game": DOMINION.describe()})
    return f"net:{path}"


@pytest.mark.parametrize("search", ["", pytest.param(",sims=2", marks=pytest.mark.slow)])
def test_attention_is_a_share_for_every_card_at_the_table(network, search):
    found = study(DOMINION, network + search, games=2, only="buy", seed=3)
    assert len(found.attention) == 17 and "buy Curse" in found.attention
    shares = list(found.attention.values())
    assert shares == sorted(shares, reverse=True) and 0.5 < sum(shares) < 1
    assert not study(DOMINION, "bmu", games=2, seed=3).attention


def test_attention_is_that_of_the_global_token_to_the_card_in_a_slot(network):
    net, _ = load_net(network.removeprefix("net:"))
    batch = Batch(DOMINION, 3, seed=1)
    batch.settle()
    views = torch.from_numpy(np.asarray(batch.observe(batch.turns())))
    found, weights = net.attended(views), net.attention(views)
    assert found.actions.tolist() == [[512 + int(card) for card in s.card] for s in batch.states]
    assert torch.allclose(found.shares, weights[:, :, :, 0, 1:].mean((1, 2)))


def test_an_analysis_says_what_to_buy_and_what_it_is_worth(network):
    position = Table(DOMINION, seed=1)
    while not any(choice.startswith("buy") for choice in position.choices):
        position.play(position.choices[0])
    words = "analyse", "dominion", position.text(), "--player", f"{network},sims=64", "--json"
    thought = json.loads(run(*words, "-o", "kingdom=first_game", "-o", "max_turns=10"))
    texts = [candidate["text"] for candidate in thought["candidates"]]
    assert sum(text.startswith("buy ") for text in texts) > 3 and "end buys" in texts
    assert thought["simulations"] == 64 and -1 <= thought["value"] <= 1
    assert all(-1 <= candidate["value"] <= 1 for candidate in thought["candidates"][:3])


def test_the_command_shows_and_writes_it():
    words = ("study", "kuhn", "random", "--games", "50", "--seed", "1")
    shown = run(*words)
    assert "50 games of random with itself, seed 1" in shown and "wins without" in shown
    assert json.loads(run(*words, "--json"))["deeds"][0]["text"] in ("bet", "pass")
    with pytest.raises(GameError, match="the games of a study"):
        study(load("kuhn"), "random", games=0)


def test_the_value_of_a_match_by_its_rounds_is_what_matches_bring():
    game = load("liars_dice", dice=(2, 2), die_loss="loser")
    found = {value.changed["dice"]: value for value in study(game, "honest", games=4000).rounds}
    assert set(found) == {(2, 2), (1, 2), (1, 1)}, "who has lost a die opens"
    last = found[1, 1]
    assert last.wins_match == last.wins_round
    assert found[1, 2].wins_match == pytest.approx(found[1, 2].wins_round * (1 - last.wins_match))
    who, n = np.tile([0, 1], (4000, 1)), 4000
    own = streams(3, "player", 2 * n).reshape(n, 2)
    honest = [player("honest", game)] * 2
    scores = play_series(game, honest, who, streams(3, "table", n), own)
    first = found[2, 2]
    assert 0 < first.error < 0.02
    assert (scores[:, 0] > 0).mean() == pytest.approx(first.wins_match, abs=0.03)


def test_a_game_of_one_round_has_no_match_to_value():
    assert study(load("kuhn"), "random", games=4, seed=1).rounds == ()
    with pytest.raises(GameError, match="kuhn has no matches of rounds"):
        round_values(load("kuhn"), player("random", load("kuhn")), 4, 1)
