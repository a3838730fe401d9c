"""Which action to play, found without the simulations that cannot change it.

PUCT plays the most visited action of the root. Once that leads by more visits than simulations are
left, nothing can overtake it, and its tree may stop. Mostly a tree prefers one action from the
beginning: then it stops soon after half of its simulations. The others go on in a smaller search.

When a tree stops depends on itself alone. So its stream is left at the same place, whoever is
searched beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..chance import STREAM
from ..compiled import kernel
from ..devices import Array
from .latent import LatentSearch
from .mcts import Search
from .settings import Integers

CHECKS = 8  # from the middle of a search to its end, which trees can stop
FEWEST = {"cpu": 64, "cuda": 512}  # trees: fewer take a GPU no less time, and may change last bits


class Decided(NamedTuple):
    """What to play at every table, and the streams as the trees have left them."""

    actions: Integers  # [trees]
    rngs: Array  # [trees]


def decide(search: Search | LatentSearch, states: Array, rngs: Array) -> Decided:
    """The best actions, as `search.run` finds them. Streams are not moved but returned."""
    if not isinstance(search, Search) or not stops_early(search):
        found = search.run(states, rngs.copy())
        return Decided(found.best, search.device.get(search.forest.rngs))
    done = Decided(np.zeros(search.size, np.int64), rngs.copy())
    search.begin(states, rngs.copy())
    tables, left = np.arange(search.size), search.settings.simulations - 1
    open_ = np.ones(search.size, np.bool_)
    for count in parts(search.settings.simulations, search.leaves):
        search.grow(count)
        left -= count
        stop = open_ & leads(search, left)
        done.actions[tables[stop]] = search.device.get(search.roots().best)[stop]
        done.rngs[tables[stop]] = search.device.get(search.forest.rngs)[stop]
        open_ &= ~stop
        if not open_.any():
            break
        while smaller := smaller_search(search, trees := int(open_.sum())):
            # Where there are fewer trees than the smaller search has, some go on twice.
            rows = np.flatnonzero(open_)[np.arange(smaller.size) % trees]
            take_over(smaller, search, rows)
            search, tables, open_ = smaller, tables[rows], np.arange(smaller.size) < trees
    return done


def stops_early(search: Search) -> bool:
    """Whether trees may stop: visits decide, a network is asked, and nothing else ends it."""
    settings = search.settings
    by_visits = settings.root == "puct" and not settings.noise
    return by_visits and settings.seconds is None and not isinstance(search.evaluator, str)


def parts(simulations: int, leaves: int) -> Iterator[int]:
    """After how many simulations more trees are looked at; the first one made the root.

    Parts are whole batches of leaves, as in a search without a break.
    """
    left = simulations - 1
    count = -(-(simulations // 2) // leaves) * leaves
    while left > 0:
        yield (count := min(count, left))
        left -= count
        count = -(-simulations // (2 * CHECKS * leaves)) * leaves
    if simulations == 1:
        yield 0


def leads(search: Search, left: int) -> NDArray[np.bool_]:
    """Whether the most visited action of each tree stays that in `left` simulations more."""
    visits = np.sort(search.device.get(search.roots().visits), 1)
    behind = visits[:, -2] if visits.shape[1] > 1 else 0
    return np.asarray((visits[:, -1] - behind > left) | (left == 0))


def smaller_search(search: Search, trees: int) -> Search | None:
    """A search of half the size, if that has room for so many trees; it is used again."""
    half = search.size // 2
    if trees > half or half < FEWEST[search.device.name]:
        return None
    return search.half


def take_over(search: Search, other: Search, rows: Integers) -> None:
    """Go on with these trees of another search, one for each of its own."""
    run, device = search.device.run, search.device
    which = device.put(rows)
    search.forest = search.forest._replace(rngs=device.empty(search.size, STREAM))
    pairs = [*zip(other.forest, search.forest, strict=True)]
    pairs.append((other.tables.roots, search.tables.roots))
    for source, target in pairs:
        words = half_words(target)
        run(gather_all, search.size * words.shape[1], which, half_words(source), words)
    search.resume()


def half_words(array: Array) -> Array:
    """The memory of an array's rows as 32-bit words. [rows, words]"""
    return array.reshape(-1).view(np.uint32).reshape(len(array), -1)


@kernel
def gather_all(first, end, step, which, source, target):
    """Copy rows, a word at a time. which: a row of the source for each one of the target."""
    width = target.shape[1]
    for k in range(first, end, step):
        row = k // width
        target[row, k - row * width] = source[which[row], k - row * width]
