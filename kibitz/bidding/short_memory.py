"""Large games of rising bids, solved as if seats remembered only the last bids.

With B bids there are 2^B histories, but far fewer *memories*: sets of at most `bids` last bids, and
who is to move. Seats play the same after all histories with one memory. What follows depends only
on memories and on both hands, so every iteration walks the memories twice: upwards with how likely
each pair of hands is, downwards with what each pair of hands will get. A memory's regrets weigh the
forgotten pasts by how likely they are, given the own hand. Such a solution is no equilibrium. How
far off it is, a local response tells.

A memory is written as its bids' rungs + 1, the oldest first and zeros before them. Before these it
has a 1 if seats have forgotten something and *know* that, otherwise a 0: then the beginning of the
game is not mixed up with what comes later. Memories that lead to the same ones are a *group*, and a
group is a matrix product per hand.

Memory is what limits tables. How likely pairs of hands are is not needed any more when it is known
what they will get, so both share one room; and nothing is kept about bids that are not legal.

Source: M. Lanctot, R. Gibson, N. Burch, M. Zinkevich, M. Bowling, "No-regret learning in
extensive-form games with imperfect recall", 2012.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..search.matching import Step, step_of, variant_named
from .hands import Hands

TOGETHER = 1 << 26  # pairs of hands that are computed at a time
MISTAKE = 0.02  # share of bids that are drawn uniformly: pasts that nobody plays have odds, too
NEGLIGIBLE = 1e-30  # so that nothing is divided by 0
VARIANT = variant_named("discounted")


def remembered(last: Any, *, know: bool) -> tuple[Any, ...]:
    """The numbers of memories, column by column, from the last bids and the one before them.

    last: rungs + 1, the oldest first and zeros before them [n, bids + 1]; know: whether seats know
    that they have forgotten something. NumPy arrays or torch tensors.
    """
    return (1 * (last[:, 0] > 0) * know, *last[:, 1:].T)


class Memories:
    """All memories of up to `bids` bids, numbered.

    know: whether seats know that they have forgotten something.
    """

    def __init__(self, rungs: int, bids: int, *, know: bool = False) -> None:
        assert bids >= 2, "groups with different standing bids must not lead to the same memories"
        self.rungs, self.bids, self.know = rungs, bids, know
        histories = [
            (0,) * (bids + 1 - size) + made
            for size in range(bids + 1 + know)
            for made in itertools.combinations(range(1, rungs + 1), size)
        ]
        found = np.unique(np.stack(remembered(np.array(histories), know=know), 1), axis=0)
        # By the standing bid, then by group.
        kept = self._kept(found)
        self.all = found[np.lexsort((*found.T, *kept.T, found[:, -1]))]  # [memories, 1 + bids]
        self.numbers = np.full((1 + know, *(rungs + 1,) * bids), -1, np.int32)
        self.numbers[tuple(self.all.T)] = np.arange(len(found))

    def __len__(self) -> int:
        return len(self.all)

    def after(self, memories: NDArray[np.int64], rung: int) -> NDArray[np.int64]:
        """The numbers of the memories after a bid. memories: [n, 1 + bids] -> [n]"""
        last = np.column_stack((memories[:, 1:], np.full(len(memories), rung + 1)))
        numbers: NDArray[np.int64] = self.numbers[remembered(last, know=self.know)].astype(np.int64)
        return numbers

    def _kept(self, memories: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is still remembered after a bid, whichever it is. [n, 1 + bids] -> [n, bids]"""
        last = np.column_stack((memories[:, 1:], np.zeros(len(memories), np.int64)))
        return np.stack(remembered(last, know=self.know)[:-1], 1)

    def groups(self) -> Iterator[tuple[int, list[NDArray[np.int64]]]]:
        """For each standing rung, from -1 for none, the memories of each group."""
        starts = np.flatnonzero((np.diff(self._kept(self.all), axis=0) != 0).any(1)) + 1
        parts = np.split(np.arange(len(self)), starts)
        for last, group in itertools.groupby(parts, lambda part: int(self.all[part[0], -1])):
            yield last - 1, [*group]


class Portion(NamedTuple):
    """Groups of memories with one standing bid, as many as are computed at a time."""

    standing: int  # the rung, -1 where there is none
    memories: Tensor  # their numbers; where a group has fewer, that of a spare row [groups, rows]
    places: Tensor  # the same, counted among those with this standing bid [groups, rows]
    following: Tensor  # the numbers after each higher bid [groups, bids]


class ShortMemory:
    """Solves a table, as if seats remembered only the last `bids` bids.

    know: whether they know that they have forgotten something.
    """

    def __init__(self, hands: Hands, bids: int, *, know: bool = False) -> None:
        self.hands, self.memories = hands, Memories(len(hands.bids), bids, know=know)
        self.sizes = [len(odds) for odds in hands.odds]
        self.gains = hands.gains, hands.gains.transpose(1, 2)  # of the bidder, by mover
        # By standing bid. The memories of each have numbers without a gap.
        self.counts = np.bincount(self.memories.all[:, -1], minlength=len(hands.bids) + 1)
        # By mover and standing bid: legal actions of all hands, and a spare row.
        self.regrets, self.average = ([*map(self._nothing, self.sizes)] for _ in range(2))
        rows, pairs = len(self.memories) + 1, (self.sizes, self.sizes[::-1])
        # By mover: how likely its hand and the other's are, and in the same place later what the
        # other, who has bid, gets with its hand and the mover's.
        self.reach = [torch.zeros(rows, *both, device=hands.device) for both in pairs]
        self.worth = [
            reach.view(rows, *reversed(both)) for reach, both in zip(self.reach, pairs, strict=True)
        ]
        self.portions = [*self._portions()]
        self.iterations = 0

    def _nothing(self, size: int) -> list[Tensor]:
        """Zeros for all hands of a seat, by standing bid. [memories + 1, legal actions, hands]"""
        legal = [self.memories.rungs - last + (last > 0) for last in range(len(self.counts))]
        return [
            torch.zeros(count + 1, actions, size, device=self.hands.device)
            for count, actions in zip(self.counts.tolist(), legal, strict=True)
        ]

    def _portions(self) -> Iterator[Portion]:
        pairs = self.sizes[0] * self.sizes[1]
        for standing, groups in self.memories.groups():
            higher = range(standing + 1, self.memories.rungs)
            most = max(max(map(len, groups)), len(higher))
            together = max(TOGETHER // (most * pairs), 1)
            for first in range(0, len(groups), together):
                yield self._portion(standing, groups[first : first + together])

    def _portion(self, standing: int, groups: list[NDArray[np.int64]]) -> Portion:
        rows = np.full((len(groups), max(map(len, groups))), len(self.memories))
        for row, group in zip(rows, groups, strict=True):
            row[: len(group)] = group
        places = np.where(
            rows < len(self.memories),
            rows - self.counts[: standing + 1].sum(),
            self.counts[standing + 1],
        )
        firsts = self.memories.all[rows[:, 0]]
        higher = range(standing + 1, self.memories.rungs)
        following = [self.memories.after(firsts, rung) for rung in higher]
        after = np.stack(following, 1) if following else np.zeros((len(groups), 0), np.int64)
        device = self.hands.device
        parts = (torch.from_numpy(part).to(device) for part in (rows, places, after))
        return Portion(standing, *parts)

    def solve(self, iterations: int, progress: Callable[[int], object] = lambda done: None) -> None:
        """So many iterations more, in each of which both seats learn once."""
        for done in range(1, iterations + 1):
            self.iterations += 1
            step = step_of(VARIANT, self.iterations)
            for seat in range(2):
                self._spread()
                self._learn(seat, step)
            progress(done)

    def policies(self, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        """What the movers of both seats do on average. [memories, actions, hands]

        Zeros where a seat is never to move.
        """
        rows, actions, device = len(self.memories), self.memories.rungs + 1, self.hands.device
        found = [torch.zeros(rows, actions, n, dtype=dtype, device=device) for n in self.sizes]
        for policy, average in zip(found, self.average, strict=True):
            parts = torch.split(policy, self.counts.tolist())
            for standing, (part, weights) in enumerate(zip(parts, average, strict=True), -1):
                total = weights[:-1].sum(1, keepdim=True).clamp(min=NEGLIGIBLE)
                part[:, self._legal(standing)] = (weights[:-1] / total).to(dtype)
        return found

    def _legal(self, standing: int) -> slice:
        """The higher bids, and the call if there is something to call."""
        return slice(standing + 1, self.memories.rungs + (standing >= 0))

    def _policy(self, mover: int, at: Portion) -> Tensor:
        """By regret matching. [groups, rows, legal actions, hands]"""
        weights = self.regrets[mover][at.standing + 1][at.places].clamp(min=0)
        total = weights.sum(2, keepdim=True)
        return torch.where(total > 0, weights / total.clamp(min=NEGLIGIBLE), 1 / weights.shape[2])

    def _spread(self) -> None:
        """How likely both hands are at each memory, if both seats make a few mistakes."""
        self.reach[0][0] = self.hands.odds[0][:, None] * self.hands.odds[1]
        self.reach[1][0] = 0  # seat 0 opens
        for reach in self.reach:
            reach[-1] = 0
        for at in self.portions:
            bids = at.following.shape[1]
            for mover in range(2 if bids else 0):
                policy = self._policy(mover, at)
                policy = torch.lerp(policy, torch.full_like(policy, 1 / policy.shape[2]), MISTAKE)
                before = self.reach[mover][at.memories]
                after = torch.einsum("grbh,grho->gboh", policy[:, :, :bids], before)
                self.reach[1 - mover][at.following] = after

    def _learn(self, seat: int, step: Step) -> None:
        """One step of a seat, and what all hands get by the policies before it."""
        for at in reversed(self.portions):
            for mover in range(2):
                policy = self._policy(mover, at)
                after = self.worth[1 - mover][at.following]  # [groups, bids, hands, other hands]
                bids = after.shape[1]
                worth = torch.einsum("grbh,gbho->groh", policy[:, :, :bids], after)
                if at.standing >= 0:
                    called = self.gains[mover][at.standing]
                    worth -= policy[:, :, -1, None] * called.T
                if mover == seat:
                    self._improve(mover, at, policy, after, step)
                self.worth[mover][at.memories] = -worth  # in place of how likely it is

    def _improve(self, mover: int, at: Portion, policy: Tensor, after: Tensor, step: Step) -> None:
        """Update the mover's regrets and its average policy."""
        reach = self.reach[mover][at.memories]
        odds = reach.sum(3, keepdim=True)
        beliefs = reach / odds.clamp(min=NEGLIGIBLE)
        values = torch.empty_like(policy)
        values[:, :, : after.shape[1]] = torch.einsum("grho,gbho->grbh", beliefs, after)
        if at.standing >= 0:
            values[:, :, -1] = -(beliefs * self.gains[mover][at.standing]).sum(3)
        values -= (values * policy).sum(2, keepdim=True)
        numbers = step[0]
        regrets, average = (part[mover][at.standing + 1] for part in (self.regrets, self.average))
        values += regrets[at.places]
        kept = torch.where(values > 0, float(numbers["above"]), float(numbers["below"]))
        regrets[at.places] = values * kept
        average[at.places] += float(numbers["average"]) * odds.transpose(2, 3) * policy
