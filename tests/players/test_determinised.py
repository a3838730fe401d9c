"""A network that has learnt with open hands plays with hidden ones: deals are laid open."""

from __future__ import annotations

import numpy as np
import pytest
from small_games import PEEK

from kibitz.chance import streams
from kibitz.games import load
from kibitz.nets import save_net
from kibitz.nets.kinds import Judgement, all_kinds
from kibitz.players import NetPlayer, PlayerError, Sight, explain, player
from kibitz.players.determinised import Determinised

TABLES = 40


def guessing(game, face, card):
    """Tables of peek at which seat 1 is to guess, as it sees them."""
    s = game.fresh()
    for move in (face, card, 1):
        game.play(s, move)
    return Sight(game, np.array([s] * TABLES), np.ones(TABLES, int), streams(3, "player", TABLES))


def believes_its_eyes(sight):
    """Guesses the card that it sees."""
    seen = sight.views.reshape(len(sight), -1)[:, 2:4]
    return Judgement(preferences=seen, policy=seen)


def saved(game, path, name="muzero"):
    kind = all_kinds()[name]
    net = kind.net(kind.config(**kind.fitted(game) | {"width": 16, "blocks": 1}), 1)
    save_net(path / "net.safetensors", net, {"game": game.describe()})
    return f"net:{path}/net.safetensors"


def test_what_is_hidden_is_dealt_anew_and_laid_open():
    game = load(PEEK)
    who = Determinised(game, NetPlayer(believes_its_eyes), 8, "net")
    hidden, open_ = (who.odds(guessing(game, face, 1))[:, 1] for face in (0, 1))
    assert (open_ == 1).all()  # a card that is seen is the same in every deal
    assert 0.3 < hidden.mean() < 0.7 and hidden.std() > 0.05
    assert set((8 * hidden).round(6).tolist()) <= set(range(9))  # eight deals, each one or other


def test_the_true_card_does_not_matter():
    game = load(PEEK)
    who = Determinised(game, NetPlayer(believes_its_eyes), 3, "net")
    one, other = (who.choose(guessing(game, 0, card)) for card in (0, 1))
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("more", ["", ",sims=6", ",sims=6,model=rules"])
def test_a_text_seats_it_with_and_without_a_search(tmp_path, more):
    game = load(PEEK)
    text = saved(game, tmp_path)
    who = player(f"{text}{more},deals=4", game)
    assert who.name == f"net:net.safetensors{more},deals=4"
    sight = guessing(game, 0, 1)
    odds = who.odds(sight)
    assert odds.sum(1) == pytest.approx(1)
    assert set(who.choose(sight).tolist()) <= {0, 1}
    alone = player(f"{text}{more}", game)
    assert who.identity == f"4 deals laid open to {alone.identity}"


def test_policies_are_summed_over_the_deals(tmp_path):
    """By hand: the network's policy for a red and for a black card, as often as they are dealt."""
    game = load(PEEK)
    text = saved(game, tmp_path)
    who, alone = player(f"{text},deals=5", game), player(text, game)
    by_card = np.array([alone.judge(guessing(game, 1, card)).policy[0] for card in (0, 1)])
    sight = guessing(game, 0, 1)
    dealt = [sight.imagine()["card"].astype(int) for _ in range(5)]
    expected = np.mean([by_card[cards] for cards in dealt], 0)
    assert who.odds(guessing(game, 0, 1)) == pytest.approx(expected, abs=1e-6)


def test_it_says_what_it_thinks(tmp_path):
    game = load(PEEK)
    who = player(f"{saved(game, tmp_path)},deals=4", game)
    s = guessing(game, 0, 1).imagine()[:1]
    thought = explain(who, Sight(game, s, [1], streams(1, "player", 1)))
    assert [c.prior for c in thought.candidates] == sorted(
        (c.prior for c in thought.candidates), reverse=True
    )
    assert sum(c.prior for c in thought.candidates) == pytest.approx(1)


def test_bad_texts_are_refused(tmp_path):
    text = saved(load(PEEK), tmp_path)
    with pytest.raises(PlayerError, match="deals is a whole number from 1"):
        player(f"{text},deals=0", load(PEEK))
    with pytest.raises(PlayerError, match="there is no mode=sample"):
        player(f"{text},deals=2,mode=sample", load(PEEK))
    kuhn = saved(load("kuhn"), tmp_path)
    with pytest.raises(PlayerError, match="deals=2: kuhn with these options has no hands to show"):
        player(f"{kuhn},deals=2", load("kuhn"))


@pytest.mark.slow
def test_hidden_hands_of_dog_are_seen_by_who_has_learnt_with_open_ones(tmp_path):
    """The network is asked about views with all hands; the own hand stays as it is."""
    game, seen = load("dog"), []
    s = game.fresh()
    rng = np.random.default_rng(1)
    while game.turn(s) < 0:
        game.play(s, int(rng.choice(game.num_outcomes, p=game.chances(s))))
    seat = game.turn(s)

    def looks(sight):
        seen.append(sight.views.copy())
        even = np.ones(sight.legal[0].shape)
        return Judgement(preferences=even, policy=even)

    who = Determinised(game, NetPlayer(looks), 2, "net")
    who.choose(Sight(game, np.array([s]), [seat], streams(1, "player", 1)))
    views = [view.reshape(-1).view(game.view)[0].numbers for view in seen]
    hands = [view[9 : 9 + 56].reshape(4, 14) for view in views]
    assert all((view[9 + 56 : 9 + 60] == 1).all() for view in views)  # all are shown
    assert (hands[0][0] == hands[1][0]).all() and (hands[0][1:] != hands[1][1:]).any()
    assert hands[0].sum(1) == pytest.approx([1.0] * 4)  # six cards each
