"""Lower bounds by local response: against exact figures, Bayes' rule and play with real hands."""

import itertools
import json

import numpy as np
import pytest
import torch
from commands import run
from typer.testing import CliRunner

from kibitz import cli, games
from kibitz.arena.all_hands import ThroughViews, policies_of
from kibitz.arena.exploitability import exploit, policy_of, table_of_policy, uniform
from kibitz.arena.local_response import climbs, local_response
from kibitz.arena.responder import Deal, Nodes, Places, Responder
from kibitz.bidding import every_history
from kibitz.bidding.bilinear import ChildValues, CompBilinConfig, NetCompBilin
from kibitz.bidding.exact.bidding_game import BiddingGame, NotABiddingGame
from kibitz.bidding.exact.ladder import BID, CALL, Ladder
from kibitz.bidding.kinds import ValueJudge, ValuesOfHands
from kibitz.chance import streams
from kibitz.game import GameError
from kibitz.games.liars_dice import position
from kibitz.players import Drawing, NetPlayer, PlayerError, Sight, player
from kibitz.search.best_response import respond
from kibitz.search.regret import solve

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = games.load("liars_dice", dice=(1, 1), sides=3)
BIDS, LIAR = SMALL.num_actions - 1, SMALL.num_actions - 1


def moody(sight):
    """Odds that differ from table to table and hand to hand, some of them zero."""
    numbers = np.arange(sight.views.shape[1]) + 1.0
    legal, counts = sight.legal
    phase = (sight.views @ np.sin(numbers * numbers))[:, None]
    odds = np.maximum(np.sin(phase * (legal + 1.0) + legal), 0.0) ** 2
    odds[:, 0] += 0.1
    odds *= np.arange(legal.shape[1]) < counts[:, None]
    return odds / odds.sum(1, keepdims=True)


# Everything again by recursion over real hands, one table at a time


def odds_of(policy, seat, hand, history):
    """The odds of a player with a real hand (a face) after a history, by action."""
    hands = [(hand,), (1,)] if seat == 0 else [(1,), (hand,)]
    states = np.array([position(SMALL, hands, history)])
    sight = Sight(SMALL, states, np.array([seat]), streams(0, "player", 1))
    return dict(zip(sight.actions[0], policy(sight)[0], strict=False))


def weights_of(policy, seat, history):
    """By Bayes' rule: how likely a seat holds each face and makes its bids in this history."""
    weights = []
    for face in (1, 2, 3):
        weight = 1 / 3
        for k in range(seat, len(history), 2):
            weight *= odds_of(policy, seat, face, history[:k])[history[k]]
        weights.append(weight)
    return np.array(weights)


def face_of(climb, seat, hand):
    """Which face a numbered hand of a seat is."""
    s = climb.deal[hand, 0] if seat == 0 else climb.deal[0, hand]
    return int(s.hand[seat].argmax()) + 1


def test_what_is_believed_of_hands_is_bayes_rule():
    climb = BiddingGame(SMALL)
    compared = 0
    for seat in range(2):  # of the player
        faces = [face_of(climb, seat, hand) - 1 for hand in range(3)]
        for length in range(seat, 5, 2):
            for history in itertools.combinations(range(BIDS), length):
                before = weights_of(moody, seat, history)[faces]
                if before.sum() == 0:
                    continue
                belief = torch.from_numpy(before / before.sum())
                (policy,) = ThroughViews(climb, moody)([history], belief[None])
                answer = (policy[0] * belief).T.numpy()
                for face, hand in zip(faces, range(3), strict=True):
                    odds = odds_of(moody, seat, face + 1, history)
                    wanted = [before[hand] * odds.get(a, 0) for a in range(LIAR + 1)]
                    assert answer[hand] * before.sum() == pytest.approx(wanted, abs=1e-6)
                compared += 1
    assert compared > 30


def decision(responder, climb, history, own, weights):
    """The responder's action at a history, its belief being worked out anew."""
    faces = [face_of(climb, 1 - responder.seat, hand) - 1 for hand in range(3)]
    belief = (weights / weights.sum())[faces].astype(np.float32)
    deal = Deal(own, torch.from_numpy(belief), history)
    return deal.made[-1] if responder._moved([deal]) else LIAR


def real_value(policy, seat, depth):
    """What a responder gets on average, every pair of hands dealt and every answer tried."""
    climb = BiddingGame(SMALL)
    responder = Responder(climb, ThroughViews(climb, policy), seat, depth)

    def value(own, mine, theirs, history):
        faces = (mine, theirs) if seat == 0 else (theirs, mine)
        s = position(SMALL, [(face,) for face in faces], history)
        if history and history[-1] == LIAR:
            return SMALL.scores(s)[seat]
        if SMALL.turn(s) == seat:
            weights = weights_of(policy, 1 - seat, history)
            action = decision(responder, climb, history, own, weights)
            return value(own, mine, theirs, (*history, action))
        answers = odds_of(policy, 1 - seat, theirs, history)
        return sum(p * value(own, mine, theirs, (*history, a)) for a, p in answers.items() if p)

    return np.mean(
        [value(own, face_of(climb, seat, own), f, ()) for own in range(3) for f in (1, 2, 3)]
    )


@pytest.mark.parametrize(("policy", "depth"), [(moody, 1), (moody, 2), (uniform, 1)])
def test_the_bound_is_what_the_responder_wins_with_real_hands(monkeypatch, policy, depth):
    monkeypatch.setattr("kibitz.arena.all_hands.policy_of", lambda who: policy)
    monkeypatch.setattr("kibitz.arena.local_response.DEPTHS", (depth,))
    bound = local_response(SMALL, "random", games=2000, seed=3)
    for seat in range(2):
        error = bound.errors[seat]
        assert 0 < error < 0.03
        assert bound.by_seat[seat] == pytest.approx(
            real_value(policy, seat, depth), abs=3.3 * error
        )


def test_looking_to_the_end_and_at_every_bid_is_a_best_response(monkeypatch):
    for name, everything in {"CONSIDERED": 99, "RAISES": 99, "LIKELY": 1e-9}.items():
        monkeypatch.setattr(f"kibitz.arena.responder.{name}", everything)
    ladder = Ladder(SMALL)
    exact = respond(ladder, table_of_policy(ladder, moody))
    for seat in range(2):
        assert real_value(moody, seat, depth=3) == pytest.approx(exact.best[seat], abs=1e-5)


@pytest.mark.parametrize("together", [1 << 20, 2000])
def test_a_network_of_beliefs_says_of_all_hands_what_it_does_with_each(monkeypatch, together):
    monkeypatch.setitem(every_history.TOGETHER, "cpu", together)
    game = games.load("liars_dice", dice=(2, 2))
    climb, champion = BiddingGame(game), player("champion", game)
    histories = [(), *[(3, 5, rung) for rung in (9, 7, 23)], *[(3, rung, 12) for rung in (5, 6)]]
    for alike in (histories[:1], histories[1:]):
        likely = torch.ones(len(alike), 21)
        at_once = torch.cat([*policies_of(climb, champion)(alike, likely)])
        views = torch.cat([*ThroughViews(climb, champion.odds)(alike, likely)])
        assert torch.allclose(at_once, views, atol=1e-6) and at_once.std() > 0.01
    assert isinstance(policies_of(climb, player("champion:rounds=1", game)), ThroughViews)
    assert isinstance(policies_of(climb, player("champion:mode=argmax", game)), ThroughViews)


def test_a_network_of_values_says_the_same_of_all_hands_at_once():
    game = games.load("liars_dice", dice=(2, 1))
    climb = BiddingGame(game)
    sizes = {name: game.view[name].shape[0] for name in ("priv", "pub")}
    net = NetCompBilin(CompBilinConfig(**sizes, interaction=12, hidden=(6,)), seed=4)
    who = NetPlayer(ValueJudge(game, net, "cpu"), Drawing(mode="sample"))
    assert who.with_all_hands(game) is None, "a CPU asks about possible hands only"
    at_once = ValuesOfHands(game, ChildValues(net))
    for histories in [()], [(0,), (9,), (17,)], [(2, 5), (0, 17)], [(1, 3, 8), (1, 4, 8)]:
        likely = torch.ones(len(histories), climb.deal.shape[len(histories[0]) % 2])
        views = torch.cat([*ThroughViews(climb, who.odds)(histories, likely)])
        assert torch.allclose(torch.cat([*at_once(histories)]), views, atol=1e-5)


def test_sums_over_all_hands_are_sums_over_few_numbers():
    """What a bid is worth if no raise is looked at, with the gains as they are."""
    climb = BiddingGame(games.load("liars_dice", dice=(2, 3)))
    for seat in range(2):
        responder = Responder(climb, ThroughViews(climb, uniform), seat)
        hands, sums = responder.basis.shape
        gains = climb.gains if seat == 0 else climb.gains.transpose(0, 2, 1)
        assert sums < hands / 1.5
        belief = torch.rand(1, hands)
        places = Places(Nodes([(4, 11)], belief), torch.tensor([0, 0]), torch.tensor([5, 2]))
        wanted = -gains[11, [5, 2]] @ belief[0].numpy()
        assert responder._calls(places).tolist() == pytest.approx(wanted, abs=1e-5)


def test_luck_is_nothing_on_average_and_most_of_what_varies():
    game = games.load("liars_dice", dice=(1, 1))
    for seat in range(2):
        climb = BiddingGame(game)
        responder = Responder(climb, policies_of(climb, player("honest", game)), seat)
        assert responder.odds @ responder.luck == pytest.approx(0, abs=1e-6)
        assert np.ptp(responder.luck) > 0.1
    bound = local_response(game, "honest", games=1000, seed=0)
    assert max(bound.errors) < 0.01  # 0.03 and more with luck


def test_the_depth_is_chosen_in_games_that_do_not_count(monkeypatch):
    """A responder that only wins at depth 2 in trials is taken, whatever it then wins."""
    seen = {"trial": set(), "counted": set()}

    def play(responder, rngs):
        trial = len(rngs) < 50
        seen["trial" if trial else "counted"].update(rngs["key"].tolist())
        return np.full(len(rngs), 1.0 if trial and responder.depth == 2 else 0.0)

    monkeypatch.setattr("kibitz.arena.local_response.TRIALS", 80)
    monkeypatch.setattr(Responder, "play", play)
    bound = local_response(SMALL, "honest", games=200, seed=5)
    assert bound.depths == (2, 2) and bound.lower_bound == 0
    assert len(seen["trial"]) == 80 and len(seen["counted"]) == 200
    assert not seen["trial"] & seen["counted"]


# Against exact figures


def check_part(game, who, games, part):
    """The bound is no more than what is exact and at least `part` of it."""
    exact = exploit(game, who).response
    bound = local_response(game, who, games=games, seed=0)
    assert bound.games == games and bound.low < bound.lower_bound < bound.high
    assert bound.low <= exact.exploitability
    assert bound.lower_bound >= part * exact.exploitability > 0
    for got, error, best in zip(bound.by_seat, bound.errors, exact.best, strict=True):
        assert got - 3.3 * error <= best


@pytest.mark.parametrize("who", ["random", "honest", "threshold"])
def test_the_bound_is_most_of_what_can_be_won_with_one_die_each(who):
    check_part(games.load("liars_dice", dice=(1, 1)), who, games=1000, part=0.8)


@pytest.mark.parametrize("who", ["random", "honest"])
def test_the_bound_is_most_of_what_can_be_won_with_three_dice(who):
    game = games.load("liars_dice", dice=(1, 2), sides=4)
    check_part(game, who, games=1000, part=0.75)


@pytest.mark.parametrize("mode", ["sample", "argmax"])
def test_the_bound_is_most_of_what_a_published_network_loses(models, mode):
    path = models / "liars_dice" / "model_11_joker.onnx"
    game = games.load("liars_dice", dice=(1, 1))
    check_part(game, f"net:{path},mode={mode}", games=4000, part=0.75)


def policy_of_table(ladder, table):
    """A table of weights as a policy that is asked with sights."""
    views = [
        {ladder.game.look(s, seat)[: ladder.game.view["priv"].shape[0]].tobytes(): hand
         for hand, s in enumerate(ladder.deal[:, 0] if seat == 0 else ladder.deal[0])}
        for seat in range(2)
    ]  # fmt: skip
    bids = len(ladder.bids)

    def policy(sight):
        odds = np.zeros(sight.legal[0].shape)
        for i, (view, seat) in enumerate(zip(sight.views, sight.seats, strict=True)):
            priv, pub = np.split(view, ladder.game.view["priv"].shape)
            hand = views[seat][priv.tobytes()]
            made = pub.reshape(2, -1)[:, :bids].sum(0)
            number = int(made @ 2.0 ** np.arange(bids)[::-1])
            legal = sight.actions[i]
            weights = [
                table[CALL, number, hand] if a == ladder.call
                else table[BID, number + (1 << bids - 1 - a), hand]
                for a in legal
            ]  # fmt: skip
            weights = np.maximum(weights, 0) if max(weights) > 0 else np.ones(len(legal))
            odds[i, : len(legal)] = weights / weights.sum()
        return odds

    return policy


def test_nothing_is_won_from_an_equilibrium(monkeypatch):
    ladder = Ladder(games.load("liars_dice", dice=(1, 1)))
    solution = solve(ladder, 300)
    assert solution.response.exploitability < 1e-3
    policy = policy_of_table(ladder, solution.average)
    monkeypatch.setattr("kibitz.arena.all_hands.policy_of", lambda who: policy)
    monkeypatch.setattr("kibitz.arena.local_response.TRIALS", 40)
    bound = local_response(ladder.game, "random", games=1000, seed=0)
    assert bound.lower_bound - 3.3 * bound.standard_error <= solution.response.exploitability
    assert bound.lower_bound < 0.02


def test_five_dice_each(monkeypatch):
    """The published network wins 0.592 of its games against honest; so a best response does."""
    monkeypatch.setattr("kibitz.arena.local_response.TRIALS", 4)
    bound = local_response(games.load("liars_dice"), "honest", games=200, seed=0)
    assert bound.low > 2 * 0.592 - 1


# The same figure


def test_the_same_seed_gives_the_same_figure(monkeypatch):
    game = games.load("liars_dice", dice=(2, 2))
    first = local_response(game, "honest", games=60, seed=5)
    assert first != local_response(game, "honest", games=60, seed=6)
    assert first == local_response(game, "honest", games=60, seed=5)
    monkeypatch.setattr("kibitz.arena.local_response.GAMES_IN_A_CHUNK", 7)
    monkeypatch.setattr("kibitz.arena.all_hands.TOGETHER", 1)
    monkeypatch.setattr("kibitz.arena.all_hands.KEPT", 0)
    again = local_response(game, "honest", games=60, seed=5)
    assert again.by_seat == pytest.approx(first.by_seat, abs=1e-6)


def test_progress_is_told_to_the_end():
    stages = []
    local_response(
        SMALL, "honest", games=2500, seed=0, progress=lambda done, what: stages.append((done, what))
    )
    done = [each for each, _ in stages]
    assert len(stages) == 8 and done == sorted(done) and done[-1] == 1
    assert stages[0][1] == "against honest as seat 0, depth 1"


# At the border


def test_a_game_without_climbing_bids_is_refused():
    kuhn = games.load("kuhn")
    assert climbs(SMALL) and not climbs(kuhn)
    with pytest.raises(NotABiddingGame, match="kuhn is not a game of rising bids"):
        local_response(kuhn, "random")


def test_who_does_not_tell_its_odds_is_refused():
    with pytest.raises(PlayerError, match="cannot say how likely"):
        local_response(SMALL, player("mcts:sims=10", SMALL))
    assert policy_of(player("random", SMALL)) is uniform


def test_the_command_line_tells_the_bound():
    words = ["exploit", "liars_dice", "honest", "--local", "100", "-o", "dice=1,1", "--seed", "2"]
    as_json = json.loads(run(*words, "--json"))
    assert as_json["games"] == 100 and as_json["player"] == "honest"
    assert as_json["low"] < as_json["lower_bound"] < as_json["high"]
    assert sum(as_json["by_seat"]) / 2 == pytest.approx(as_json["lower_bound"])
    printed = run(*words)
    assert (
        f"honest: exploitability at least {as_json['lower_bound']:.4f} points per game" in printed
    )
    assert "100 games" in printed and f"seat 1 {as_json['by_seat'][1]:+.4f}" in printed


def refused(*words):
    """What is said to somebody who asks for what cannot be done."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, ["exploit", *words])
    assert done.exit_code and isinstance(done.exception, (GameError, SystemExit))
    return f"{done.exception} {done.output}"


def test_the_command_line_says_what_it_cannot_do():
    honest = ("liars_dice", "honest", "--local")
    assert "kuhn is not a game of rising bids" in refused("kuhn", "random", "--local", "10")
    assert "takes 4 games or more, not 3" in refused(*honest, "3")
    assert "--solve needs the whole game" in refused(*honest, "9", "--solve", "9")


def test_only_who_asks_for_a_large_game_of_bids_is_sent_here():
    large, way = "or measure strength by a match", "; --local 1000 finds a lower bound by playing"
    assert large + way in refused("liars_dice", "honest")
    refusal = refused("beasty_bar", "greedy")
    assert large in refusal and "--local" not in refusal


@pytest.mark.parametrize("dice", [(1, 3), (3, 1)])
def test_nobody_sees_through_the_champion_where_seats_have_different_dice(dice):
    """Most rounds of a match are such tables; without a teacher 0.12 and more is lost."""
    bound = local_response(games.load("liars_dice", dice=dice), "champion", games=1000, seed=3)
    assert bound.standard_error < 0.015
    assert bound.lower_bound < 0.06
