"""Random numbers that live in a record: the n-th number of a stream is a function of (key, n).

Philox2x32 with 7 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), on
32-bit halves of 64-bit words so that nothing overflows and the interpreter agrees with the machine
code. There is no hidden state: a stream is saved by saving its record, and a stream for a table can
never be met by a stream for a search, because the purpose is part of the key.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .compiled import rule

PURPOSES = ("table", "search", "player", "training")

# A plain record, not one of `game.record`: streams begin trees and other records too.
STREAM = np.dtype((np.record, [("key", np.uint64), ("count", np.uint64)]))

LOW, HALF, ONE = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(1)
MULTIPLIER, WEYL = np.uint64(0xD256D193), np.uint64(0x9E3779B9)
MIX_KEY = np.uint64(0x6B696274)
ROUNDS = 7  # of Philox: fewer fail tests of randomness
FEW_ROUNDS = 4  # enough that every bit of a name depends on every bit of what is named
UNIT = 2.0**-32


@rule
def philox(key, block, rounds):
    """64 bits to 64 bits, a different permutation for every key of 32 bits."""
    k = np.uint64(key) & LOW
    x, y = np.uint64(block) & LOW, np.uint64(block) >> HALF
    for _ in range(rounds):
        product = MULTIPLIER * x
        x = (product >> HALF) ^ k ^ y
        y = product & LOW
        k = (k + WEYL) & LOW
    return (y << HALF) | x


@rule
def mix(hashed, number):
    """Add a number (not negative) to a 64-bit hash. Start with any constant."""
    return philox(MIX_KEY, np.uint64(hashed) ^ np.uint64(number), FEW_ROUNDS)


@rule
def bits(rng):
    """The next 32 random bits, as an unsigned number."""
    rng.count = np.uint64(rng.count) + ONE
    return philox(rng.key, rng.count, ROUNDS) & LOW


@rule
def below(rng, n):
    """An integer from 0 to n - 1."""
    return np.int64((bits(rng) * np.uint64(n)) >> HALF)


@rule
def pick(rng, odds):
    """An index, drawn with the probabilities `odds`."""
    left = np.float64(np.int64(bits(rng))) * UNIT
    last = 0
    for i in range(odds.shape[0]):
        if odds[i] > 0.0:
            last = i
            if left < odds[i]:
                return last
            left -= odds[i]
    return last  # rounding: the odds summed to a little under 1


def streams(seed: int, purpose: str, count: int, first: int = 0) -> Any:
    """Streams number `first` ... `first + count - 1` of a seed and a purpose, as an array.

    Each has room for 2^32 numbers. Two purposes never share a key under one seed.
    """
    seed = operator.index(seed)
    if seed < 0:
        raise ValueError(f"a seed is not negative, but this one is {seed}")
    if purpose not in PURPOSES:
        raise ValueError(f"streams are for {', '.join(PURPOSES)}, not for {purpose!r}")
    if not 0 <= first <= first + count <= 2**32:
        raise ValueError(f"streams are numbered from 0 to 2^32 - 1, not {first} + {count}")
    folded = np.uint64(0)
    for shift in range(0, max(seed.bit_length(), 1), 32):
        part = np.uint64((seed >> shift) & 0xFFFFFFFF)
        folded = np.uint64(philox(MIX_KEY, folded ^ part, ROUNDS))
    made = np.zeros(count, STREAM)
    made["key"] = (folded & (LOW >> np.uint64(2))) << np.uint64(2) | np.uint64(
        PURPOSES.index(purpose)
    )
    made["count"] = np.arange(first, first + count, dtype=np.uint64) << HALF
    return made


def stream(seed: int, purpose: str, index: int = 0) -> Any:
    """One stream: `below(stream(7, "table"), 6)` is the first die of table 0."""
    return streams(seed, purpose, 1, index)[0]
