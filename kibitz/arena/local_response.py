"""At least how much a perfect opponent wins from a player, where a game is too large to solve.

In a game of climbing bids a *responder* that knows the player's odds plays against it. By Bayes'
rule it knows how likely the player holds each of its hands after the bids it made, so what a call
is worth it knows exactly. Of the most promising bids it asks how the player would answer them with
every hand: what it gets where the player calls is exact again, and after a raise it counts on
nothing but calling that raise, or on a last bid that the player's hand makes look like a lie.

That is no best response, but it is a strategy: what it wins, a best response wins as well. The
player's hand is never dealt. Its raises are drawn from all the hands it could hold, and calls, by
either side, are scored by expectation; so the mean over games has less luck in it and no bias.

Source: V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots",
2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bidding.exact.bidding_game import BiddingGame, NotABiddingGame, bids_and_call
from ..chance import fresh_seed, pick, streams
from ..game import Game, GameError
from ..players import Player, Sight, player
from ..search.sequences import table_of
from .exploitability import ROWS, Policy, policy_of
from .match import Z95

LOOKED_AT = 4  # bids a move; 12 take longer and win less from honest, as the look is short
GAMES_IN_A_CHUNK = 100  # in lockstep
KEPT = 4096  # answers remembered: 250 MB with five dice each
LEAST_GAMES = 4  # two in each seat, or there is no spread to go by

Array = Any
History = tuple[int, ...]  # bids by rung, the lowest is 0


def climbs(game: Game) -> bool:
    """Whether it is a game of climbing bids."""
    try:
        bids_and_call(game)
    except NotABiddingGame:
        return False
    return True


# The player ---------------------------------------------------------------------------------------


class Answers:
    """What a player does after histories of bids, whatever it holds.

    An answer tells how likely the player, given the history, holds a hand and does something with
    it: [hands, bids + 1], the call last.
    """

    def __init__(self, climb: BiddingGame, policy: Policy, seat: int) -> None:
        self.climb, self.policy, self.seat = climb, policy, seat
        self.deal = climb.deal[:, 0] if seat == 0 else climb.deal[0]  # a table for each hand
        self._kept: dict[History, Array] = {}

    def after(self, beliefs: dict[History, Array]) -> dict[History, Array]:
        """Answers after these histories and maybe others.

        beliefs: how likely the player holds each hand there [hands].
        """
        if len(self._kept) > KEPT:
            self._kept.clear()
        if new := {made: belief for made, belief in beliefs.items() if made not in self._kept}:
            self._ask(new)
        return self._kept

    def _ask(self, beliefs: dict[History, Array]) -> None:
        which, hands = np.nonzero(np.stack(list(beliefs.values())))
        told = self._odds(list(beliefs), which, hands)
        cuts = np.flatnonzero(np.diff(which)) + 1
        parts = zip(beliefs.items(), np.split(hands, cuts), np.split(told, cuts), strict=True)
        for (made, belief), held, odds in parts:
            answer = np.zeros((len(self.deal), len(self.climb.bids) + 1), np.float32)
            first = made[-1] + 1 if made else 0
            last = answer.shape[1] - (not made)  # there is nothing to call before the first bid
            answer[held, first:last] = odds[:, : last - first] * belief[held, None]
            self._kept[made] = answer

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
    rng: Any
    made: History = ()
    weight: float = 1.0  # how likely the player has not called before
    got: float = 0.0


class Responder:
    """Sits at `seat` against a player whose odds it knows."""

    def __init__(self, climb: BiddingGame, policy: Policy, seat: int) -> None:
        self.seat, self.odds, self.others = seat, climb.odds[seat], climb.odds[1 - seat]
        self.answers = Answers(climb, policy, 1 - seat)
        gains = climb.gains if seat == 0 else climb.gains.transpose(0, 2, 1)
        # What the bidder gets when a bid is called, and the same where the bid looks like a lie to
        # the other hand: what a bid is worth at first sight. [bids, own hands, other hands]
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
        looked_at = [self._promising(deal) for deal in deals]
        beliefs = {
            (*deal.made, bid): deal.belief
            for deal, bids in zip(deals, looked_at, strict=True)
            for bid in bids
        }
        answers, going = self.answers.after(beliefs), []
        for deal, bids in zip(deals, looked_at, strict=True):
            call = -self.gains[deal.made[-1], deal.own] @ deal.belief if deal.made else -math.inf
            worth = [self.worth(bid, deal.own, answers[*deal.made, bid]) for bid in bids]
            if max(worth, default=-math.inf) > call:
                deal.made = (*deal.made, bids[int(np.argmax(worth))])
                going.append(deal)
            else:
                deal.got += deal.weight * float(call)
        return going

    def _promising(self, deal: Deal) -> list[int]:
        """The bids that are worth most at first sight, the lower of equals."""
        lowest = deal.made[-1] + 1 if deal.made else 0
        at_sight = self.at_sight[lowest:, deal.own] @ deal.belief
        best = np.argsort(-at_sight, kind="stable")[:LOOKED_AT]
        return [lowest + int(bid) for bid in best]

    def worth(self, bid: int, own: int, answer: Array) -> float:
        """What a bid is worth to a hand if the player answers it so and is answered briefly."""
        raises = answer[:, :-1]
        calls = -np.einsum("bh,hb->b", self.gains[:, own], raises)
        bids = np.where(self.higher, self.at_sight[:, own] @ raises, -np.inf).max(0)
        called = self.gains[bid, own] @ answer[:, -1]
        return float(called + np.maximum(calls, bids)[bid + 1 :].sum())

    def _answered(self, deals: list[Deal]) -> list[Deal]:
        """The player calls and, as likely as it does not, raises; the games where it can."""
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
    """What the responder won, in points a game. A best response wins as much or more."""

    player: str
    seed: int
    games: int  # in both seats together
    by_seat: tuple[float, float]  # of the responder
    errors: tuple[float, float]  # standard errors of these

    @property
    def lower_bound(self) -> float:
        """On exploitability: NashConv / 2, as `arena.exploitability` tells it."""
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

    def as_json(self) -> dict[str, Any]:
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
    progress: Callable[[float, str], object] = lambda done, told: None,
) -> LowerBound:
    """At least how much a perfect opponent wins from a player, with a 95 % interval.

    For games of climbing bids, however many; where the game is small `exploit` tells it exactly.
    Half of the games are played in each seat, an odd number is rounded up.

    seed: drawn from the system unless given; the result has it.
    progress: told which part is done, and of what.

    >>> from kibitz.games import load
    >>> local_response(load("liars_dice", dice=(1, 1)), "honest", games=100, seed=0).low > 0.2
    True
    """
    if games < LEAST_GAMES:
        raise GameError(f"a lower bound takes {LEAST_GAMES} games or more, not {games}")
    climb, seated = BiddingGame(game), player(who, game) if isinstance(who, str) else who
    climb.probe()
    seed = fresh_seed() if seed is None else seed
    policy, each = policy_of(seated), -(-games // 2)
    means, errors = [], []
    for seat in range(2):
        responder, parts = Responder(climb, policy, seat), []
        rngs = streams(seed, "table", 2 * each)[seat::2]
        for first in range(0, each, GAMES_IN_A_CHUNK):
            parts.append(responder.play(rngs[first : first + GAMES_IN_A_CHUNK]))
            done = seat * each + first + len(parts[-1])
            progress(done / (2 * each), f"against {seated.name} as seat {seat}")
        got = np.concatenate(parts)
        means.append(float(got.mean()))
        errors.append(float(got.std(ddof=1)) / math.sqrt(each))
    return LowerBound(seated.name, seed, 2 * each, (means[0], means[1]), (errors[0], errors[1]))
