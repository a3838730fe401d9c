"""At least how much a perfect opponent wins from a player, where a game is too large to solve.

In a game of rising bids a *responder* that knows the player's policy plays against it. By Bayes'
rule it knows how likely the player holds each hand after the bids it made, so it knows the value of
a call exactly. It asks how the player would answer the most promising bids with every hand: the
value where the player calls is exact again. After the likeliest raises it looks on in the same way,
to a *depth* of its own bids; beyond that it only considers calling the raise, or a last bid that
the player's hand makes look like a lie. What depth wins most is found in games of their own, which
do not count: the best of several figures from one set of games would be too high.

This is not a best response, but it is a strategy: a best response wins at least as much. The
player's hand is never dealt. Its raises are drawn from all hands that it could hold, and calls by
either side are scored by expectation. What is drawn, the responder's hand and the raises, is luck:
the responder's estimate after it, less the mean of its estimates over all that could be drawn. Luck
is 0 on average, however wrong the estimates are, and it is taken off. So the mean over games varies
less, without bias.

Sources: V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots",
2017; N. Burch, M. Schmid, M. Moravčík, D. Morrill, M. Bowling, "AIVAT: a new variance reduction
technique for agent evaluation in imperfect information games", 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..bidding.exact.bidding_game import BiddingGame, NotABiddingGame, bids_and_call
from ..chance import Stream, fresh_seed, pick, streams
from ..devices import Array
from ..game import Game, GameError
from ..players import Player, Sight, player
from ..search.sequences import table_of
from .exploitability import ROWS, Policy, policy_of
from .match import Z95

CONSIDERED = 4  # bids per move; 12 take longer and win less from honest: the look-ahead is short
RAISES = 4  # answers that it looks beyond, if they have at least this probability:
LIKELY = 0.02
DEPTHS = (1, 2)  # that are tried
TRIALS = 200  # games to choose between them
GAMES_IN_A_CHUNK = 100  # in lockstep
CACHED = 4096  # answers: 250 MB with five dice each
ROUNDING = 1e-7  # of scores, which come from float32: no standard error is smaller
LEAST_GAMES = 4  # two per seat: a standard error needs them

History = tuple[int, ...]  # bids by rung, the lowest is 0
Progress = Callable[[float, str], object]


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
class Worth:
    """What the responder expects from the player's answer to a bid, or from its opening."""

    called: float  # where the player calls
    raised: Array  # where it makes each bid, weighted by how likely that is [bids]

    @property
    def total(self) -> float:
        return self.called + float(self.raised.sum())


@dataclass(eq=False)
class Place:
    """Where the responder is to move, in a game or in its thoughts."""

    own: int  # its hand
    belief: Array  # how likely the player holds each of its hands [hands]
    made: History = ()


@dataclass(eq=False)
class Deal(Place):
    """One game from the responder's side."""

    rng: Stream | None = None
    weight: float = 1.0  # how likely the player has not called before
    got: float = 0.0
    expected: Worth | None = None  # from the player's next answer


class Responder:
    """Sits at `seat` against a player whose odds it knows."""

    def __init__(self, climb: BiddingGame, policy: Policy, seat: int, depth: int = 1) -> None:
        self.depth = depth
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
        deals = [Deal(pick(rng, self.odds), self.others, rng=rng) for rng in rngs]
        for deal in deals:
            deal.got -= self.luck[deal.own]
            deal.expected = self.openings[deal.own]
        going = deals if self.seat == 0 else self._answered(deals)
        while going:
            going = self._answered(self._moved(going))
        return np.array([deal.got for deal in deals])

    @cached_property
    def openings(self) -> list[Worth]:
        """What it expects of each own hand before anybody has bid."""
        if self.seat == 1:
            opening = self.answers.after({(): self.others})[()]
            return [self.value(-1, own, opening) for own in range(len(self.odds))]
        found = self.bid_values([Place(own, self.others) for own in range(len(self.odds))], 1)
        return [max(worths.values(), key=lambda worth: worth.total) for worths in found]

    @cached_property
    def luck(self) -> NDArray[np.float64]:
        """How much better than the mean each own hand seems to be. [own hands]"""
        seems = np.array([worth.total for worth in self.openings])
        luck: NDArray[np.float64] = seems - self.odds @ seems
        return luck

    def _moved(self, deals: list[Deal]) -> list[Deal]:
        """The responder calls or bids; the games where it bids."""
        going = []
        for deal, worths in zip(deals, self.bid_values(deals, self.depth), strict=True):
            call, values = self._call(deal), {bid: worth.total for bid, worth in worths.items()}
            if max(values.values(), default=-math.inf) > call:
                bid = max(values, key=lambda bid: values[bid])
                deal.made, deal.expected = (*deal.made, bid), worths[bid]
                going.append(deal)
            else:
                deal.got += deal.weight * call
        return going

    def _call(self, place: Place) -> float:
        """The value of a call."""
        if not place.made:
            return -math.inf
        return float(-self.gains[place.made[-1], place.own] @ place.belief)

    def _promising(self, place: Place) -> list[int]:
        """The bids of the highest first estimates, the lower of equals."""
        lowest = place.made[-1] + 1 if place.made else 0
        at_sight = self.at_sight[lowest:, place.own] @ place.belief
        best = np.argsort(-at_sight, kind="stable")[:CONSIDERED]
        return [lowest + int(bid) for bid in best]

    def bid_values(self, places: Sequence[Place], depth: int) -> list[dict[int, Worth]]:
        """What promising bids are worth at each place."""
        considered = [(n, bid) for n, at in enumerate(places) for bid in self._promising(at)]
        after = [(*places[n].made, bid) for n, bid in considered]
        beliefs = {made: places[n].belief for made, (n, _) in zip(after, considered, strict=True)}
        answers = self.answers.after(beliefs)
        parts = [
            self.value(bid, places[n].own, answers[made])
            for made, (n, bid) in zip(after, considered, strict=True)
        ]
        if depth > 1:
            asked = [answers[made] for made in after]
            self._look_on([places[n] for n, _ in considered], after, asked, parts, depth - 1)
        found: list[dict[int, Worth]] = [{} for _ in places]
        for (n, bid), worth in zip(considered, parts, strict=True):
            found[n][bid] = worth
        return found

    def _look_on(
        self,
        places: list[Place],
        after: list[History],
        answers: list[Array],
        parts: list[Worth],
        depth: int,
    ) -> None:
        """Replace the values of the likeliest raises by what comes of looking further."""
        beyond, where = [], []
        for n, (place, made, answer) in enumerate(zip(places, after, answers, strict=True)):
            odds = answer[:, :-1].sum(0)
            for raised in np.argsort(-odds, kind="stable")[:RAISES].tolist():
                if odds[raised] >= LIKELY:
                    belief = answer[:, raised] / odds[raised]
                    beyond.append(Place(place.own, belief, (*made, raised)))
                    where.append((n, raised, float(odds[raised])))
        values = self.bid_values(beyond, depth) if beyond else []
        for (n, raised, odds), place, bids in zip(where, beyond, values, strict=True):
            best = max((worth.total for worth in bids.values()), default=-math.inf)
            parts[n].raised[raised] = odds * max(best, self._call(place))

    def value(self, bid: int, own: int, answer: Array) -> Worth:
        """What a bid, or -1 for none, is worth with a hand, given the player's answer.

        As if the responder answered a raise by a call, or by a last bid.
        """
        raises = answer[:, :-1]
        calls = -np.einsum("bh,hb->b", self.gains[:, own], raises)
        bids = np.where(self.higher, self.at_sight[:, own] @ raises, -np.inf).max(0)
        best = np.maximum(calls, bids)
        best[: bid + 1] = 0
        return Worth(float(self.gains[bid, own] @ answer[:, -1]), best)

    def _answered(self, deals: list[Deal]) -> list[Deal]:
        """The player calls or raises, each weighted by its probability; the games that go on."""
        answers, going = self.answers.after({deal.made: deal.belief for deal in deals}), []
        for deal in deals:
            answer, expected = answers[deal.made], deal.expected
            assert expected is not None
            deal.got += deal.weight * expected.called
            raises = answer[:, :-1].sum(0, dtype=np.float64)
            if (likely := raises.sum()) > 0:
                raised = pick(deal.rng, raises / likely)
                mean, drawn = expected.raised.sum(), expected.raised[raised] / raises[raised]
                luck = likely * drawn - mean
                deal.got -= deal.weight * float(luck)
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
    depths: tuple[int, int]  # to which the responder looked ahead

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
            "depths": list(self.depths),
        }


class Series:
    """Games of responders of both seats and several depths with one player."""

    def __init__(self, climb: BiddingGame, who: Player, seed: int, per_seat: int) -> None:
        self.climb, self.who, self.policy, self.seed = climb, who, policy_of(who), seed
        self.per_seat, self.trials = per_seat, min(TRIALS // 2, per_seat)
        self.games_done = 0

    def chosen(self, seat: int, progress: Progress) -> int:
        """The depth that wins most, in games that do not count."""
        won = {d: self.play(seat, d, "training", self.trials, progress).mean() for d in DEPTHS}
        return max(won, key=lambda depth: won[depth])

    def play(
        self, seat: int, depth: int, purpose: str, count: int, progress: Progress
    ) -> NDArray[np.float64]:
        """What the responder gets in so many games. purpose: of the streams."""
        responder, parts = Responder(self.climb, self.policy, seat, depth), []
        rngs = streams(self.seed, purpose, 2 * count)[seat::2]
        total = 2 * (self.per_seat + self.trials * len(DEPTHS))
        for first in range(0, count, GAMES_IN_A_CHUNK):
            parts.append(responder.play(rngs[first : first + GAMES_IN_A_CHUNK]))
            self.games_done += len(parts[-1])
            stage = f"against {self.who.name} as seat {seat}, depth {depth}"
            progress(self.games_done / total, stage)
        return np.concatenate(parts)


def local_response(
    game: Game,
    who: str | Player,
    games: int = 1000,
    seed: int | None = None,
    progress: Progress = lambda done, stage: None,
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
    seed, per_seat = fresh_seed() if seed is None else seed, -(-games // 2)
    series = Series(climb, seated, seed, per_seat)
    depths = series.chosen(0, progress), series.chosen(1, progress)
    first, second = (
        series.play(seat, depths[seat], "table", per_seat, progress) for seat in range(2)
    )
    return LowerBound(
        seated.name,
        seed,
        2 * per_seat,
        (float(first.mean()), float(second.mean())),
        (standard_error(first), standard_error(second)),
        depths,
    )


def standard_error(scores: NDArray[np.float64]) -> float:
    return max(float(scores.std(ddof=1)) / math.sqrt(len(scores)), ROUNDING)
