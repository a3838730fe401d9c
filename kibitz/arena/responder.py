"""Somebody who knows a player's policy and plays against it, in a game of rising bids.

By Bayes' rule the responder knows how likely the player holds each hand after the bids it made, so
it knows the value of a call exactly. It asks how the player would answer the most promising bids
with every hand: the value where the player calls is exact again. After the likeliest raises it
looks on in the same way, to a *depth* of its own bids; beyond that it only considers calling the
raise, or a last bid that the player's hand makes look like a lie.

The player's hand is never dealt. Its raises are drawn from all hands that it could hold, and calls
by either side are scored by expectation. What is drawn, the responder's hand and the raises, is
luck: the responder's estimate after it, less the mean of its estimates over all that could be
drawn. Luck is 0 on average, however wrong the estimates are, and it is taken off. So the mean over
games varies less, without bias.

Sources: V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots",
2017; N. Burch, M. Schmid, M. Moravčík, D. Morrill, M. Bowling, "AIVAT: a new variance reduction
technique for agent evaluation in imperfect information games", 2018.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..bidding.exact.bidding_game import BiddingGame
from ..chance import Stream, pick
from ..devices import Array
from .all_hands import History, Policies

CONSIDERED = 4  # bids per move; 12 take longer and win less from honest: the look-ahead is short
RAISES = 4  # answers that it looks beyond, if they have at least this probability:
LIKELY = 0.02
ROUNDING = 1e-7  # of scores, which come from float32
CALL = -1  # instead of a rung


@dataclass(eq=False)
class Nodes:
    """Different histories of one length."""

    made: list[History]
    beliefs: Tensor  # how likely the player holds each of its hands [n, hands]

    @cached_property
    def standing(self) -> Tensor:
        """The last bids, -1 where there is none. [n]"""
        last = [made[-1] if made else -1 for made in self.made]
        return torch.tensor(last, dtype=torch.long, device=self.beliefs.device)

    def after(self, numbers: Tensor, bids: Tensor, beliefs: Tensor) -> Nodes:
        """The nodes after bids at the nodes with these numbers."""
        pairs = zip(numbers.tolist(), bids.tolist(), strict=True)
        return Nodes([(*self.made[n], bid) for n, bid in pairs], beliefs)


@dataclass(eq=False)
class Places:
    """Nodes with own hands of the responder, in games or in its thoughts."""

    nodes: Nodes
    at: Tensor  # the number of the node [n]
    own: Tensor  # [n]


@dataclass(eq=False)
class Worths:
    """What the responder expects from the player's answers, to its bids or as an opening."""

    called: Tensor  # where the player calls [n]
    raised: Tensor  # where it makes each bid, weighted by how likely that is [n, bids]

    @property
    def total(self) -> Tensor:
        return self.called + self.raised.sum(-1)

    def nth(self, numbers: Tensor) -> Worths:
        """One per row of several. [n]"""
        rows = torch.arange(len(numbers), device=numbers.device)
        return Worths(self.called[rows, numbers], self.raised[rows, numbers])

    def on_host(self) -> list[Worth]:
        rows = zip(self.called.tolist(), self.raised.cpu().numpy(), strict=True)
        return [Worth(*row) for row in rows]


class Worth(NamedTuple):
    """The same in one game."""

    called: float
    raised: Array


class Raises(NamedTuple):
    """The likeliest raises after each of some histories, the likeliest first."""

    bids: Tensor  # [n, RAISES]
    odds: Tensor  # [n, RAISES]
    beliefs: Tensor  # how likely the player then holds each hand [n, RAISES, hands]


@dataclass(eq=False)
class Deal:
    """One game from the responder's side."""

    own: int  # its hand
    belief: Tensor  # how likely the player holds each of its hands [hands]
    made: History = ()
    rng: Stream | None = None
    weight: float = 1.0  # how likely the player has not called before
    got: float = 0.0
    expected: Worth | None = None  # from the player's next answer


class Responder:
    """Sits at `seat` against a player whose policy it knows."""

    def __init__(
        self, climb: BiddingGame, policies: Policies, seat: int, depth: int = 1, device: str = "cpu"
    ) -> None:
        self.policies, self.seat, self.depth, self.device = policies, seat, depth, device
        self.odds = climb.odds[seat]
        self.others = self._tensor(climb.odds[1 - seat])
        # What the bidder gets when a bid is called, and the same only where the bid looks like a
        # lie to the other hand: a first estimate of its value. [own hands, bids, other hands]
        gains = climb.gains.transpose((1, 0, 2) if seat == 0 else (2, 0, 1)).astype(np.float32)
        doubted = np.einsum("o,obh->bh", self.odds, gains) < 0
        basis = spanned(gains, at_sight := gains * doubted)
        self.basis, self.gains, self.at_sight = map(
            self._tensor, (basis, gains @ basis, at_sight @ basis)
        )
        self.rungs = torch.arange(len(climb.bids), device=device)
        self.higher = self.rungs > self.rungs[:, None]

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self.device)

    # The games

    def play(self, rngs: Array) -> Array:
        """What the responder gets in games with these streams. [games]"""
        return np.array([deal.got for deal in self.games(rngs)])

    @torch.inference_mode()
    def games(self, rngs: Array) -> list[Deal]:
        """Games with these streams, played to their end."""
        deals = [Deal(pick(rng, self.odds), self.others, rng=rng) for rng in rngs]
        openings, luck = self.openings.on_host(), self.luck
        for deal in deals:
            deal.got -= luck[deal.own]
            deal.expected = openings[deal.own]
        going = deals if self.seat == 0 else self._answered(deals)
        while going and (bid := self._moved(going)):
            going = self._answered(bid)
        return deals

    def _moved(self, deals: list[Deal]) -> list[Deal]:
        """The responder calls or bids; the games where it bids."""
        (places, which), going = self._places(deals), []
        bids, worths = self.bid_values(places, self.depth)
        best = rounded(worths.total).argmax(1)
        found, values = worths.nth(best), self._calls(places)
        chosen = bids.gather(1, best[:, None])[:, 0]
        moves = torch.where(rounded(found.total) > rounded(values), chosen, CALL).tolist()
        calls, expected = values.tolist(), found.on_host()
        for deal, place in zip(deals, which, strict=True):
            if moves[place] == CALL:
                deal.got += deal.weight * calls[place]
            else:
                deal.made, deal.expected = (*deal.made, moves[place]), expected[place]
                going.append(deal)
        return going

    def _answered(self, deals: list[Deal]) -> list[Deal]:
        """The player calls or raises, each weighted by its probability; the games that go on."""
        nodes, here = self._nodes(deals), defaultdict(list)
        for deal in deals:
            here[deal.made].append(deal)
        made, going = iter(nodes.made), []
        for answers in self._answers(nodes):
            raises = answers[:, :-1].sum(2, dtype=torch.float64).cpu().numpy()
            for answer, odds in zip(answers, raises, strict=True):
                going += [deal for deal in here[next(made)] if self._raised(deal, answer, odds)]
        return going

    def _raised(self, deal: Deal, answer: Tensor, raises: Array) -> bool:
        """Whether a game goes on. raises: how likely each one is [bids]"""
        expected = deal.expected
        assert expected is not None
        deal.got += deal.weight * expected.called
        if (likely := raises.sum()) == 0:
            return False
        raised = pick(deal.rng, raises / likely)
        mean, drawn = expected.raised.sum(), expected.raised[raised] / raises[raised]
        luck = likely * drawn - mean
        deal.got -= deal.weight * float(luck)
        deal.weight *= likely
        deal.belief = answer[raised] / answer[raised].sum()
        deal.made = (*deal.made, raised)
        return True

    def _places(self, deals: list[Deal]) -> tuple[Places, list[int]]:
        """The different places of games, and the number of each game's place."""
        nodes = self._nodes(deals)
        numbers = {made: n for n, made in enumerate(nodes.made)}
        keys = [(numbers[deal.made], deal.own) for deal in deals]
        places = {key: n for n, key in enumerate(dict.fromkeys(keys))}
        at, own = torch.tensor([*places], device=self.device).T
        return Places(nodes, at, own), [places[key] for key in keys]

    def _nodes(self, deals: list[Deal]) -> Nodes:
        """Where games are. Sorted by the standing bid: then networks compute only legal ones."""
        deals = sorted(deals, key=lambda deal: deal.made[-1:])
        beliefs = {deal.made: deal.belief for deal in deals}
        return Nodes([*beliefs], torch.stack([*beliefs.values()]))

    # What it expects in them

    @cached_property
    def openings(self) -> Worths:
        """What it expects of each own hand before anybody has bid. [own hands]"""
        own = torch.arange(len(self.odds), device=self.device)
        places = Places(Nodes([()], self.others[None]), torch.zeros_like(own), own)
        if self.seat == 1:
            return self.answer_values(places, 1)
        _, worths = self.bid_values(places, 1)
        return worths.nth(rounded(worths.total).argmax(1))

    @cached_property
    def luck(self) -> NDArray[np.float64]:
        """How much better than the mean each own hand seems to be. [own hands]"""
        seems = self.openings.total.double().cpu().numpy()
        luck: NDArray[np.float64] = seems - self.odds @ seems
        return luck

    def bid_values(self, places: Places, depth: int) -> tuple[Tensor, Worths]:
        """Promising bids at each place [n, bids], and what they are worth [n, bids]."""
        nodes, (bids, legal) = places.nodes, self._promising(places)
        made, at = bids[legal], places.at[:, None].expand_as(bids)[legal]
        own = places.own[:, None].expand_as(bids)[legal]
        pairs, which = torch.unique(made * len(nodes.made) + at, return_inverse=True)
        before = pairs % len(nodes.made)
        after = nodes.after(before, pairs // len(nodes.made), nodes.beliefs[before])
        found = self.answer_values(Places(after, which, own), depth)
        worths = self._worths(-math.inf, *bids.shape)
        worths.called[legal], worths.raised[legal] = found.called, found.raised
        return bids, worths

    def _promising(self, places: Places) -> tuple[Tensor, Tensor]:
        """The bids of the highest first estimates, the lower of equals. [n, CONSIDERED]

        And whether they are legal: there may be fewer legal ones.
        """
        beliefs = (places.nodes.beliefs @ self.basis)[places.at]
        at_sight = (self.at_sight[places.own] @ beliefs[:, :, None])[:, :, 0]
        legal = self.rungs > places.nodes.standing[places.at, None]
        bids = ordered(at_sight.masked_fill(~legal, -math.inf))[:, :CONSIDERED]
        return bids, legal.gather(1, bids)

    def _calls(self, places: Places) -> Tensor:
        """The values of a call; there is nothing to call before the first bid. [n]"""
        standing = places.nodes.standing[places.at]
        gains = self.gains[places.own, standing.clamp(min=0)]
        values = -(gains * (places.nodes.beliefs @ self.basis)[places.at]).sum(1)
        return values.masked_fill(standing < 0, -math.inf)

    def answer_values(self, places: Places, depth: int) -> Worths:
        """What the responder expects where the player is to move. [n]"""
        at, first, likely = places.at, 0, []
        worths = self._worths(0.0, len(at))
        for answers in self._answers(places.nodes):
            here = ((first <= at) & (at < first + len(answers))).nonzero()[:, 0]
            value = self._value(answers, Places(places.nodes, at[here], places.own[here]), first)
            worths.called[here], worths.raised[here] = value.called, value.raised
            first += len(answers)
            if depth > 1:
                likely.append(self._likeliest(answers))
        if likely:
            self._look_on(places, likely, worths, depth - 1)
        return worths

    def _answers(self, nodes: Nodes) -> Iterator[Tensor]:
        """How likely the player holds each hand and takes each action. [n, bids + 1, hands]"""
        first = 0
        for policies in self.policies(nodes.made, nodes.beliefs) if nodes.made else ():
            beliefs = nodes.beliefs[first : first + len(policies), None]
            yield policies.to(self.device) * beliefs
            first += len(policies)

    def _value(self, answers: Tensor, places: Places, first: int) -> Worths:
        """As if the responder answered a raise by a call, or by a last bid. [n]"""
        sums, standing = (answers @ self.basis)[places.at - first], places.nodes.standing[places.at]
        raises, gains = sums[:, :-1], self.gains[places.own]
        calls = -(raises * gains).sum(2)
        bids = raises @ self.at_sight[places.own].transpose(1, 2)
        best = torch.maximum(calls, bids.masked_fill_(~self.higher, -math.inf).amax(2))
        called = gains.take_along_dim(standing.clamp(min=0)[:, None, None], 1)[:, 0] * sums[:, -1]
        return Worths(called.sum(1), best * (self.rungs > standing[:, None]))

    def _likeliest(self, answers: Tensor) -> Raises:
        """The likeliest raises."""
        every = answers[:, :-1].sum(2)
        bids = ordered(every)[:, :RAISES]
        odds = every.gather(1, bids)
        joint = answers.take_along_dim(bids[:, :, None], 1)
        return Raises(bids, odds, joint / odds[:, :, None])

    def _look_on(self, places: Places, parts: list[Raises], worths: Worths, depth: int) -> None:
        """Replace the values of the likeliest raises by what comes of looking further."""
        raises = Raises(*map(torch.cat, zip(*parts, strict=True)))
        likely = raises.odds >= LIKELY
        before = likely.nonzero()[:, 0]
        nodes = places.nodes.after(before, raises.bids[likely], raises.beliefs[likely])
        numbers = likely.flatten().cumsum(0).reshape(likely.shape) - 1
        row, nth = likely[places.at].nonzero(as_tuple=True)
        at = places.at[row]
        beyond = Places(nodes, numbers[at, nth], places.own[row])
        bids = self.bid_values(beyond, depth)[1].total.amax(1)
        best = torch.maximum(bids, self._calls(beyond))
        worths.raised[row, raises.bids[at, nth]] = raises.odds[at, nth] * best

    def _worths(self, value: float, *shape: int) -> Worths:
        """Room for worths; none has more than this value yet."""
        raised = torch.zeros(*shape, len(self.rungs), device=self.device)
        return Worths(torch.full(shape, value, device=self.device), raised)


def rounded(values: Tensor) -> Tensor:
    """Values that are equal where only the order of summation made them differ."""
    return values.round(decimals=5)


def ordered(values: Tensor) -> Tensor:
    """The numbers of columns by their values, the highest first, and the first of equals."""
    return rounded(values).argsort(dim=1, descending=True, stable=True)


def spanned(*tables: Array) -> Array:
    """Orthonormal vectors that span the last axis of tables. [size, vectors]

    With five dice each, a called bid depends on 30 numbers about the 252 hands that it is up
    against: sums over these 30 replace sums over all hands.
    """
    rows = [table.reshape(-1, table.shape[-1]) for table in tables]
    products = sum((part.T @ part).astype(np.float64) for part in rows)
    squares, vectors = np.linalg.eigh(products)
    return vectors[:, squares > ROUNDING**2 * squares[-1]]
