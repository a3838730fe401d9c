"""At least how much a perfect opponent wins from a player, where a game is too large to solve.

In a game of rising bids a *responder* that knows the player's policy plays against it. By Bayes'
rule it knows how likely the player holds each hand after the bids it made, so it knows the value of
a call exactly. It asks how the player would answer the most promising bids with every hand: the
value where the player calls is exact again. After a raise it only considers calling that raise, or
a last bid that the player's hand makes look like a lie.

This is not a best response, but it is a strategy: a best response wins at least as much. The
player's hand is never dealt. Its raises are drawn from all hands that it could hold, and calls by
either side are scored by expectation. So the mean over games varies less, without bias.

Source: V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots",
2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..bidding.exact.bidding_game import BiddingGame, NotABiddingGame, bids_and_call
from ..chance import Stream, fresh_seed, pick, streams
from ..devices import Array
from ..game import Game, GameError
from ..players import Player, Sight, player
from ..search.sequences import table_of
from .exploitability import ROWS, Policy, policy_of
from .match import Z95

CONSIDERED = 4  # bids per move; 12 take longer and win less from honest: the look-ahead is short
GAMES_IN_A_CHUNK = 100  # in lockstep
CACHED = 4096  # answers: 250 MB with five dice each
LEAST_GAMES = 4  # two per seat: a standard error needs them

History = tuple[int, ...]  # bids by rung, the lowest is 0


def climbs(game: Game) -> bool:
    """Whether it is a game of rising bids."""
    try:
        bids_and_call(game)
    except NotABiddingGame:
        return False
    return True


# The player ---------------------------------------------------------------------------------------


class Answers:
    """What a player does after histories of bids, with every hand.

    An answer is the joint probability of hand and action, given the history: [hands, bids + 1], the
    call last.
    """

    def __init__(self, climb: BiddingGame, policy: Policy, seat: int) -> None:
        self.climb, self.policy, self.seat = climb, policy, seat
        self.deal = climb.deal[:, 0] if seat == 0 else climb.deal[0]  # a table for each hand
        self._cached: dict[History, Array] = {}

    def after(self, beliefs: dict[History, Array]) -> dict[History, Array]:
        """Answers after these histories and maybe others.

        beliefs: how likely the player holds each hand there [hands].
        """
        if len(self._cached) > CACHED:
            self._cached.clear()
        if new := {made: belief for made, belief in beliefs.items() if made not in self._cached}:
            self._ask(new)
        return self._cached

    def _ask(self, beliefs: dict[History, Array]) -> None:
        which, hands = np.nonzero(np.stack(list(beliefs.values())))
        policies = self._odds(list(beliefs), which, hands)
        cuts = np.flatnonzero(np.diff(which)) + 1
        parts = zip(beliefs.items(), np.split(hands, cuts), np.split(policies, cuts), strict=True)
        for (made, belief), held, odds in parts:
            answer = np.zeros((len(self.deal), len(self.climb.bids) + 1), np.float32)
            first = made[-1] + 1 if made else 0
            last = answer.shape[1] - (not made)  # there is nothing to call before the first bid
            answer[held, first:last] = odds[:, : last - first] * belief[held, None]
            self._cached[made] = answer

    def _odds(self, histories: list[History], which: Array, hands: Array) -> Array:
        """The policy after `which` of the histories with these hands. [n, max_legal]"""
        states = self.deal[hands]
        tables = table_of(self.climb.game, states)
        for k in range(max(map(len, histories))):
            bids = [self.climb.bids[made[k]] if k < len(made) else -1 for made in histories]
            tables.play(np.array(bids)[which], check=False)
        parts = []
        for first in range(0, len(states), ROWS):
            part = states[first : first + ROWS]
            rngs = streams(0, "player", len(part))
            sight = Sight(self.climb.game, part, np.full(len(part), self.seat), rngs)
            parts.append(self.policy(sight))
        return np.concatenate(parts)


# The responder ------------------------------------------------------------------------------------


@dataclass(eq=False)
class Deal:
    """One game from the responder's side."""

    own: int  # its hand
    belief: Array  # how likely the player holds each of its hands [hands]
    rng: Stream
    made: History = ()
    weight: float = 1.0  # how likely the player has not called before
    got: float = 0.0


class Responder:
    """Sits at `seat` against a player whose odds it knows."""

    def __init__(self, climb: BiddingGame, policy: Policy, seat: int) -> None:
        self.seat, self.odds, self.others = seat, climb.odds[seat], climb.odds[1 - seat]
        self.answers = Answers(climb, policy, 1 - seat)
        gains = climb.gains if seat == 0 else climb.gains.transpose(0, 2, 1)
        # What the bidder gets when a bid is called, and the same only where the bid looks like a
        # lie to the other hand: a first estimate of its value. [bids, own hands, other hands]
        self.gains = np.ascontiguousarray(gains, np.float32)
        doubted = np.einsum("o,boh->bh", self.odds, self.gains) < 0
        self.at_sight = self.gains * doubted[:, None]
        rungs = np.arange(len(climb.bids))
        self.higher = rungs[:, None] > rungs

    def play(self, rngs: Array) -> Array:
        """What the responder gets in games with these streams. [games]"""
        deals = [Deal(pick(rng, self.odds), self.others, rng) for rng in rngs]
        going = deals if self.seat == 0 else self._answered(deals)
        while going:
            going = self._answered(self._moved(going))
        return np.array([deal.got for deal in deals])

    def _moved(self, deals: list[Deal]) -> list[Deal]:
        """The responder calls or bids; the games where it bids."""
        considered = [self._promising(deal) for deal in deals]
        beliefs = {
            (*deal.made, bid): deal.belief
            for deal, bids in zip(deals, considered, strict=True)
            for bid in bids
        }
        answers, going = self.answers.after(beliefs), []
        for deal, bids in zip(deals, considered, strict=True):
            call = -self.gains[deal.made[-1], deal.own] @ deal.belief if deal.made else -math.inf
            values = [self.value(bid, deal.own, answers[*deal.made, bid]) for bid in bids]
            if max(values, default=-math.inf) > call:
                deal.made = (*deal.made, bids[int(np.argmax(values))])
                going.append(deal)
            else:
                deal.got += deal.weight * float(call)
        return going

    def _promising(self, deal: Deal) -> list[int]:
        """The bids of the highest first estimates, the lower of equals."""
        lowest = deal.made[-1] + 1 if deal.made else 0
        at_sight = self.at_sight[lowest:, deal.own] @ deal.belief
        best = np.argsort(-at_sight, kind="stable")[:CONSIDERED]
        return [lowest + int(bid) for bid in best]

    def value(self, bid: int, own: int, answer: Array) -> float:
        """The value of a bid with a hand, if the responder answers a raise as the module says."""
        raises = answer[:, :-1]
        calls = -np.einsum("bh,hb->b", self.gains[:, own], raises)
        bids = np.where(self.higher, self.at_sight[:, own] @ raises, -np.inf).max(0)
        called = self.gains[bid, own] @ answer[:, -1]
        return float(called + np.maximum(calls, bids)[bid + 1 :].sum())

    def _answered(self, deals: list[Deal]) -> list[Deal]:
        """The player calls or raises, each weighted by its probability; the games that go on."""
        answers, going = self.answers.after({deal.made: deal.belief for deal in deals}), []
        for deal in deals:
            answer = answers[deal.made]
            if deal.made:
                called = self.gains[deal.made[-1], deal.own] @ answer[:, -1]
                deal.got += deal.weight * float(called)
            raises = answer[:, :-1].sum(0, dtype=np.float64)
            if (likely := raises.sum()) > 0:
                raised = pick(deal.rng, raises / likely)
                deal.weight *= likely
                deal.belief = answer[:, raised] / answer[:, raised].sum()
                deal.made = (*deal.made, raised)
                going.append(deal)
        return going


# The bound ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LowerBound:
    """What the responder won, in points per game. A best response wins at least as much."""

    player: str
    seed: int
    games: int  # in both seats together
    by_seat: tuple[float, float]  # of the responder
    errors: tuple[float, float]  # standard errors of these

    @property
    def lower_bound(self) -> float:
        """On exploitability: NashConv / 2, as in `arena.exploitability`."""
        return sum(self.by_seat) / 2

    @property
    def standard_error(self) -> float:
        return math.hypot(*self.errors) / 2

    @property
    def low(self) -> float:
        return self.lower_bound - Z95 * self.standard_error

    @property
    def high(self) -> float:
        return self.lower_bound + Z95 * self.standard_error

    def as_json(self) -> dict[str, object]:
        return {
            "player": self.player,
            "seed": self.seed,
            "games": self.games,
            "lower_bound": self.lower_bound,
            "low": self.low,
            "high": self.high,
            "by_seat": list(self.by_seat),
        }


def local_response(
    game: Game,
    who: str | Player,
    games: int = 1000,
    seed: int | None = None,
    progress: Callable[[float, str], object] = lambda done, stage: None,
) -> LowerBound:
    """At least how much a perfect opponent wins from a player, with a 95 % interval.

    For games of rising bids of any size; `exploit` is exact where a game is small enough. Half of
    the games are played in each seat; an odd number is rounded up.

    seed: drawn from the system unless given; the result has it.
    progress: called with the fraction that is done, and of what.

    >>> from kibitz.games import load
    >>> local_response(load("liars_dice", dice=(1, 1)), "honest", games=100, seed=0).low > 0.2
    True
    """
    if games < LEAST_GAMES:
        raise GameError(f"a lower bound takes {LEAST_GAMES} games or more, not {games}")
    climb, seated = BiddingGame(game), player(who, game) if isinstance(who, str) else who
    climb.probe()
    seed = fresh_seed() if seed is None else seed
    policy, per_seat = policy_of(seated), -(-games // 2)
    means, errors = [], []
    for seat in range(2):
        responder, parts = Responder(climb, policy, seat), []
        rngs = streams(seed, "table", 2 * per_seat)[seat::2]
        for first in range(0, per_seat, GAMES_IN_A_CHUNK):
            parts.append(responder.play(rngs[first : first + GAMES_IN_A_CHUNK]))
            done = seat * per_seat + first + len(parts[-1])
            progress(done / (2 * per_seat), f"against {seated.name} as seat {seat}")
        got = np.concatenate(parts)
        means.append(float(got.mean()))
        errors.append(float(got.std(ddof=1)) / math.sqrt(per_seat))
    return LowerBound(seated.name, seed, 2 * per_seat, (means[0], means[1]), (errors[0], errors[1]))
