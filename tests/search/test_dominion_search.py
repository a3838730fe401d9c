"""A network over views of Dominion, and tree search with it: section 12 of specs/dominion.md."""

import numpy as np
import pytest
import torch
from dominion_table import Table

from kibitz import games, players
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.nets import save_net
from kibitz.nets.card_set import CardSetConfig, CardSetNet
from kibitz.nets.evaluate import NetEvaluator
from kibitz.search.mcts import Search, Settings

pytestmark = pytest.mark.usefixtures("one_thread")

GAME = games.load("dominion")
SMALL = CardSetConfig(width=32, attention_heads=4, layers=2)
ABSENT = -1e9


def net(seed=0, config=SMALL):
    """A network that has learnt nothing."""
    return CardSetNet(config, seed).eval()


def search(states, *, simulations=32, seed=1, net_seed=0, root="puct"):
    settings = Settings(simulations=simulations, explore=1.5, root=root)
    thinking = Search(GAME, len(states), settings, evaluator=NetEvaluator(net(net_seed)), threads=1)
    return thinking.run(states, streams(seed, "search", len(states)))


def array(*states):
    array = np.zeros(len(states), GAME.state)
    for i, s in enumerate(states):
        array[i] = s
    return array


def wandered(size, plies):
    """Decisions of random play on random kingdoms."""
    batch = Batch(GAME, 2 * size, seed=9)
    batch.wander(plies)
    batch.settle()
    return batch.states[batch.turns() >= 0][:size].copy()


# The network -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played():
    """Positions and what a network of full size says of the views of the seats to move."""
    states = wandered(32, plies=50)
    batch = Batch.of(GAME, states, streams(1, "table", len(states)))
    with torch.inference_mode():
        views = torch.from_numpy(batch.observe(batch.turns()))
        return states, *net(config=CardSetConfig())(views)


def test_the_network_gives_a_logit_to_every_card_in_the_game_and_to_no_other(played):
    states, logits, _ = played
    for s, row in zip(states, logits[:, : 7 * 512].unflatten(1, (7, 512)), strict=True):
        present = np.zeros(512, bool)
        present[s.card] = True
        assert (row[:, ~present] == ABSENT).all()
        assert (row[:, present].abs() < 100).all()


def test_every_legal_action_has_a_logit(played):
    states, logits, _ = played
    for s, row in zip(states, logits, strict=True):
        assert (row[GAME.legal(s)] > -100).all()


def test_values_are_those_of_a_game_of_two(played):
    _, _, values = played
    assert values.shape == (32, 2) and (values.abs() <= 1).all()
    assert (values[:, 0] == -values[:, 1]).all()


# Search ------------------------------------------------------------------------------------------


def test_a_single_legal_action_is_the_answer():
    table = Table("Copper", others=({"deck": "9 Copper"},))
    assert table.legal() == ["end actions"]
    found = search(array(table.s))
    assert GAME.action_text(table.s, int(found.best[0])) == "end actions"
    assert found.counts[0] == 1 and found.policy[0, 0] == 1 and not found.policy[0, 1:].any()


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("net_seed", range(3))
def test_the_last_province_is_bought_by_an_untrained_network(net_seed, root):
    """$8 and one Province left: whoever buys it is ahead, and nothing else wins at once."""
    other = {"hand": "2 Estate, 3 Copper", "deck": "3 Gold, 3 Copper, 2 Silver"}
    table = Table("2 Gold, 2 Copper, Estate", "5 Copper, 2 Silver", others=(other,))
    table.set_supply(Province=1).play("end actions")
    assert table.s.coins == 8 and len(table.legal()) > 10
    found = search(array(table.s), net_seed=net_seed, root=root)
    assert GAME.action_text(table.s, int(found.best[0])) == "buy Province"


def test_the_order_of_the_own_deck_does_not_move_the_search():
    """The same cards lie on the deck in an order that nobody knows: good first, or bad first."""
    tables = []
    for deck in ("3 Gold, 2 Silver, 3 Curse, 2 Estate", "2 Estate, 3 Curse, 2 Silver, 3 Gold"):
        table = Table("Smithy, Cellar, Moneylender, 2 Copper", deck, others=({"deck": "9 Copper"},))
        table.s.top_seen[0] = 0
        tables.append(table)
    assert tables[0].s.tobytes() != tables[1].s.tobytes()
    good, bad = (search(array(table.s), simulations=100) for table in tables)
    assert good.visits.tobytes() == bad.visits.tobytes()
    assert good.values.tobytes() == bad.values.tobytes()
    assert good.counts[0] >= 3


def test_a_deck_whose_order_is_known_moves_the_search():
    """So the test above could have failed."""
    decks = ("3 Gold, 2 Silver, 3 Curse, 2 Estate", "2 Estate, 3 Curse, 2 Silver, 3 Gold")
    good, bad = (
        search(
            array(Table("Smithy, Cellar, 2 Copper", deck, others=({"deck": "9 Copper"},)).s),
            simulations=100,
        )
        for deck in decks
    )
    assert good.values.tobytes() != bad.values.tobytes()


def test_a_line_discards_cards_that_the_other_seat_may_hold():
    """The other hand of five is hidden in ten cards: truly the worst five, or the best."""
    lines = []
    for hand, deck in (
        ("3 Copper, 2 Estate", "3 Gold, 2 Silver"),
        ("3 Gold, 2 Silver", "3 Copper, 2 Estate"),
    ):
        table = Table("Militia, 4 Copper", others=({"hand": hand, "deck": deck},))
        settings = Settings(simulations=300)
        trees = Search(GAME, 1, settings, evaluator=NetEvaluator(net()), threads=1)
        trees.run(array(table.s), streams(1, "search", 1))
        lines.append(trees.lines())
    assert lines[0] == lines[1]
    militia = next(line for line in lines[0] if "Militia" in line[0].text)
    assert [step.seat for step in militia[:2]] == [0, 1]


def test_what_the_other_seat_holds_and_draws_does_not_move_the_search():
    """Its hand and its deck change places in secret: a Witch and Gold in hand, or Curses."""
    good, bad = "Witch, Moat, 3 Gold", "3 Curse, 2 Estate"
    for mine in ("Militia, Witch, 3 Copper", "Bandit, Village, 3 Silver"):
        decided = []
        for hand, deck in ((good, bad), (bad, good)):
            table = Table(mine, "2 Copper, 3 Estate", others=({"hand": hand, "deck": deck},))
            table.s.top_seen[:] = 0
            decided.append((table.s, search(array(table.s), simulations=128)))
        (one, ours), (other, theirs) = decided
        assert one.tobytes() != other.tobytes() and ours.counts[0] >= 3
        for name in ("best", "visits", "values", "policy"):
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes(), name


def test_a_network_for_two_seats_is_not_seated_at_three(tmp_path):
    save_net(tmp_path / "net.safetensors", net(), {"game": GAME.describe()})
    text = f"net:{tmp_path / 'net.safetensors'}"
    assert players.player(text, games.load("dominion", players=2))
    for options in (text, f"{text},sims=8"):
        with pytest.raises(players.PlayerError, match="seats 2, but dominion"):
            players.player(options, games.load("dominion", players=3))


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_what_is_hidden_does_not_move_the_search(root):
    """Root decisions with 128 simulations, for the same seed."""
    states = wandered(16, plies=60)
    others = Batch.of(GAME, states.copy(), streams(4, "table", len(states)))
    others.redeal(others.turns(), streams(4, "player", len(states)))
    assert (others.states != states).sum() > 8  # something was hidden
    ours, theirs = (
        search(tables, simulations=128, root=root) for tables in (states, others.states)
    )
    assert ours.visits.tobytes() == theirs.visits.tobytes()
    assert ours.best.tobytes() == theirs.best.tobytes()
