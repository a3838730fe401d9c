"""Random numbers that live in a record: the n-th number of a stream is a function of (key, n).

Draws are Philox4x32 with 7 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
2011), on 32-bit halves of 64-bit words so that nothing overflows and the interpreter agrees with
the machine code. There is no hidden state: a stream is saved by saving its record.

Keys are derived one way, by a cryptographic hash of the seed, the purpose and the index. Whoever
holds one stream can compute neither the seed nor any other stream: a player that gets a stream of
its own cannot foretell the dice of the table. A seed that can be guessed is another matter: who
tries all small seeds finds it. So seeds are drawn from the system unless somebody names one.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .compiled import rule
from .options import GameError, shown, whole_number

PURPOSES = ("table", "search", "player", "training")

# A plain record, not one of `game.record`: streams begin trees and other records too.
STREAM = np.dtype((np.record, [("key", np.uint64), ("count", np.uint64)]))

Stream: TypeAlias = np.void
"""A stream of random numbers: a record of the type STREAM."""
Streams: TypeAlias = NDArray[np.void]

LOW, HALF, ONE = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(1)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)  # of Philox4x32
WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
ROUNDS = 7  # fewer fail tests of randomness
HASH_MULTIPLIER, HASH_KEY = np.uint64(0xD256D193), np.uint64(0x6B696274)
HASH_ROUNDS = 4  # enough that every bit of a hash depends on every bit of what is hashed
UNIT = 2.0**-32
KEYS_PER_HASH = 64  # keys that one call of the hash gives: few calls for many streams


# Draws -----------------------------------------------------------------------------------------


@rule
def philox(key, block):
    """The first two words of Philox4x32: 64 bits, by a key of 64 bits and the block's number.

    The number of rounds is a constant: the compiler then writes them out, and a draw takes half the
    time.
    """
    k, j = np.uint64(key) & LOW, np.uint64(key) >> HALF
    a, b = np.uint64(block) & LOW, np.uint64(block) >> HALF
    c, d = np.uint64(0), np.uint64(0)
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b = (second >> HALF) ^ b ^ k, second & LOW
        c, d = (first >> HALF) ^ d ^ j, first & LOW
        k, j = (k + WEYL[0]) & LOW, (j + WEYL[1]) & LOW
    return (b << HALF) | a


@rule
def bits(rng):
    """The next 32 random bits, as an unsigned number."""
    rng.count = np.uint64(rng.count) + ONE
    return philox(rng.key, rng.count) & LOW


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


# Hashes ----------------------------------------------------------------------------------------


@rule
def mix(hashed, number):
    """Add a number (not negative) to a 64-bit hash. Start with any constant.

    Philox2x32 with a fixed key: a permutation of 64 bits, so different numbers never collide in one
    step. It names things and keeps no secrets.
    """
    block = np.uint64(hashed) ^ np.uint64(number)
    x, y, key = block & LOW, block >> HALF, HASH_KEY
    for _ in range(HASH_ROUNDS):
        product = HASH_MULTIPLIER * x
        x, y = (product >> HALF) ^ key ^ y, product & LOW
        key = (key + WEYL[0]) & LOW
    return (y << HALF) | x


# Streams ---------------------------------------------------------------------------------------


def fresh_seed() -> int:
    """A seed that nobody can guess: 63 bits from the system."""
    return secrets.randbits(63)


def streams(seed: int, purpose: str, count: int, first: int = 0) -> Streams:
    """Streams number `first` ... `first + count - 1` of a seed and a purpose, as an array.

    Each has room for 2^64 numbers, and no two share a key, but for a chance of 2^-64 a pair.
    """
    seed = whole_number("a seed", seed)
    if purpose not in PURPOSES:
        raise GameError(f"streams are for {', '.join(PURPOSES)}, not for {shown(purpose)}")
    first = whole_number("the number of the first stream", first, most=2**63 - 1)
    count = whole_number("the number of streams", count, most=2**63 - first)
    blocks = range(first // KEYS_PER_HASH, -(-(first + count) // KEYS_PER_HASH))
    keys = np.frombuffer(b"".join(_keys(seed, purpose, block) for block in blocks), "<u8")
    begin = first % KEYS_PER_HASH
    drawn = np.zeros(count, STREAM)
    drawn["key"] = keys[begin : begin + count]
    return drawn


def _keys(seed: int, purpose: str, block: int) -> bytes:
    hashed = hashlib.shake_128(f"kibitz stream {seed} {purpose} {block}".encode())
    return hashed.digest(8 * KEYS_PER_HASH)


def stream(seed: int, purpose: str, index: int = 0) -> Stream:
    """One stream: `below(stream(7, "table"), 6)` is the first die of table 0."""
    first: Stream = streams(seed, purpose, 1, index)[0]
    return first
