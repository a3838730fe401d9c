"""Random numbers: equal to the published generator, equal everywhere, and random enough.

The statistics are of fixed seeds, so they pass or fail once and for all. A chi-square over n cells
has mean n - 1 and standard deviation sqrt(2 (n - 1)); we allow five of those.
"""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from kibitz import chance
from kibitz.game import rule

MANY = 1 << 20


def philox_by_the_paper(key, low, high):
    """Philox2x32-7 in whole numbers of any size: Salmon et al. 2011, section 3.3."""
    for _ in range(7):
        product = 0xD256D193 * low
        low, high = (product >> 32) ^ key ^ high, product % 2**32
        key = (key + 0x9E3779B9) % 2**32
    return low, high


def philox(key, low, high, function=chance.philox):
    made = int(function(np.uint64(key), np.uint64(high << 32 | low), chance.ROUNDS))
    return made % 2**32, made >> 32


@rule
def fill_bits(rngs, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = chance.bits(rngs[i])


@rule
def fill_below(rngs, n, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = chance.below(rngs[i], n)


@rule
def fill_pick(rngs, odds, out):
    for i in range(out.shape[0]):
        out[i] = chance.pick(rngs[0], odds)


def bits_of(rngs, draws):
    out = np.zeros((len(rngs), draws), np.uint32)
    fill_bits(rngs, out)
    return out


def below_of(rngs, draws, n):
    out = np.zeros((len(rngs), draws), np.int64)
    fill_below(rngs, n, out)
    return out


def check_uniform(values, cells):
    counts = np.bincount(values.reshape(-1), minlength=cells)
    assert counts.size == cells
    expected = values.size / cells
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - (cells - 1)) < 5 * np.sqrt(2 * (cells - 1)) + 5


def check_unrelated(a, b):
    """Two lists of 32-bit numbers: they agree in half of their bits, and their sizes do not move
    together. Five standard deviations each."""
    ones = np.bitwise_count(a ^ b).sum(dtype=np.int64)
    assert abs(ones - 16 * a.size) < 5 * np.sqrt(8 * a.size)
    correlation = np.corrcoef(a.reshape(-1).astype(float), b.reshape(-1).astype(float))[0, 1]
    assert abs(correlation) < 5 / np.sqrt(a.size)


# The generator ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "key", "answer"),
    [
        ((0x00000000, 0x00000000), 0x00000000, (0x257A3673, 0xCD26BE2A)),
        ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0xAB302C4D, 0x3DC9D239)),
        ((0x243F6A88, 0x85A308D3), 0x13198A2E, (0xBEDBBE6B, 0xE4C770B3)),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_philox_gives_the_known_answers_of_random123(block, key, answer):
    """The lines `philox2x32 7` of the file kat_vectors of Random123: counter, key, answer."""
    assert philox_by_the_paper(key, *block) == answer
    assert philox(key, *block) == answer


def test_philox_equals_plain_whole_numbers_compiled_and_interpreted():
    numbers = random.Random(0)
    with np.errstate(over="raise"):
        for _ in range(300):
            key, low, high = (numbers.getrandbits(32) for _ in range(3))
            expected = philox_by_the_paper(key, low, high)
            assert philox(key, low, high) == expected
            interpreted = getattr(chance.philox, "py_func", chance.philox)
            assert philox(key, low, high, interpreted) == expected


def test_only_the_low_half_of_a_key_counts():
    assert philox(0x1_0000_0007, 1, 2) == philox(7, 1, 2) != philox(8, 1, 2)


def test_a_draw_is_the_low_half_of_the_next_block():
    rng = chance.stream(7, "search", 5)
    key = int(rng.key)
    for n in range(1, 100):
        assert int(chance.bits(rng)) == philox_by_the_paper(key, n, 5)[0]
        assert int(rng.count) == (5 << 32) + n


def test_below_scales_the_bits():
    for n in (1, 2, 6, 52, 1000, 2**31):
        rng, twin = chance.stream(1, "table"), chance.stream(1, "table")
        for _ in range(50):
            assert chance.below(rng, n) == int(chance.bits(twin)) * n >> 32


ALL_KINDS = """
import json, numpy as np
from kibitz import chance
told = []
with np.errstate(over="raise"):
    for purpose in chance.PURPOSES:
        rng = chance.stream(2**70 + 11, purpose, 3)
        told.append([int(rng.key), int(rng.count)])
        told.append([int(chance.bits(rng)) for _ in range(50)])
        told.append([int(chance.below(rng, n)) for n in range(1, 60)])
        odds = np.array([0.1, 0.0, 0.6, 0.3])
        told.append([int(chance.pick(rng, odds)) for _ in range(50)])
        told.append([int(chance.mix(np.uint64(k), 3 * k)) for k in range(50)])
print(json.dumps(told))
"""


def test_compiled_and_interpreted_draws_are_equal():
    told = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", ALL_KINDS],
                env={**os.environ, "NUMBA_DISABLE_JIT": off},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )
        for off in ("0", "1")
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 5 * len(chance.PURPOSES)


def test_a_saved_stream_goes_on_where_it_was():
    rngs = chance.streams(3, "table", 4)
    bits_of(rngs, 10)
    saved = np.frombuffer(rngs.tobytes(), chance.STREAM).copy()
    assert np.array_equal(bits_of(rngs, 10), bits_of(saved, 10))


# Streams ------------------------------------------------------------------------------------------


def test_a_stream_is_one_of_its_streams():
    together = chance.streams(9, "player", 5, first=10)
    assert [together[i].tobytes() for i in range(5)] == [
        chance.stream(9, "player", 10 + i).tobytes() for i in range(5)
    ]


def test_purposes_never_share_a_key_under_one_seed():
    for seed in (*range(3000), *(random.Random(1).getrandbits(80) for _ in range(1000))):
        keys = {int(chance.stream(seed, purpose).key) for purpose in chance.PURPOSES}
        assert len(keys) == len(chance.PURPOSES)


def test_keys_of_one_purpose_differ_between_seeds():
    """Keys have 30 bits for the seed: of 2,000 seeds two meet with a probability of 0.2 %."""
    seeds = [*range(1000), *(2**k + d for k in range(12, 212) for d in range(5))]
    keys = {int(chance.stream(seed, "table").key) for seed in seeds}
    assert len(keys) == len(seeds)


def test_large_seeds_are_told_apart():
    seeds = [2**64, 2**64 + 1, 2**65, 2**128, 2**128 + 2**64, 2**1000, 10**50, 10**50 + 1]
    firsts = {bits_of(chance.streams(seed, "table", 1), 2).tobytes() for seed in (0, 1, *seeds)}
    assert len(firsts) == 2 + len(seeds)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="-3"):
        chance.stream(-3, "table")


def test_a_purpose_that_is_none_is_refused_by_name():
    with pytest.raises(ValueError, match="tabel"):
        chance.stream(3, "tabel")


def test_a_seed_of_numpy_is_a_seed():
    assert chance.stream(np.int64(3), "table") == chance.stream(3, "table")


@pytest.mark.parametrize("index", [-1, 2**32])
def test_an_index_that_would_be_another_stream_is_refused(index):
    """The index is the upper half of the counter."""
    with pytest.raises(ValueError, match=str(index)):
        chance.stream(3, "table", index)


# How random they are ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 6, 7, 52, 1000])
def test_one_stream_is_uniform(n):
    check_uniform(below_of(chance.streams(1, "table", 1), MANY, n), n)


@pytest.mark.parametrize("n", [2, 3, 6, 7, 52, 1000])
def test_the_first_number_of_many_tables_is_uniform(n):
    check_uniform(below_of(chance.streams(1, "table", MANY), 1, n), n)


@pytest.mark.parametrize("purpose", chance.PURPOSES)
def test_the_first_die_of_neighbouring_seeds_is_uniform(purpose):
    rngs = np.concatenate([chance.streams(seed, purpose, 1) for seed in range(6000)])
    dice = below_of(rngs, 2, 6)
    check_uniform(dice[:, 0], 6)
    check_uniform(dice[:-1, 0] * 6 + dice[1:, 0], 36)  # this seed and the next
    check_uniform(dice[:, 0] * 6 + dice[:, 1], 36)


@pytest.mark.parametrize("lag", [1, 2, 3, 16])
def test_a_number_tells_nothing_about_later_ones(lag):
    dice = below_of(chance.streams(2, "table", 1), MANY, 6)[0]
    check_uniform(dice[:-lag] * 6 + dice[lag:], 36)
    words = bits_of(chance.streams(2, "table", 1), MANY)[0]
    check_unrelated(words[:-lag], words[lag:])


def test_five_dice_in_a_row_are_uniform():
    dice = below_of(chance.streams(4, "table", MANY // 4), 5, 6)
    check_uniform(dice @ 6 ** np.arange(5), 6**5)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((5, "table", 0), (5, "table", 1)),
        ((5, "table", 0), (5, "table", 2**31)),
        ((5, "table", 0), (6, "table", 0)),
        ((5, "table", 0), (5, "search", 0)),
        ((5, "search", 0), (5, "player", 0)),
        ((5, "player", 3), (5, "training", 3)),
        ((0, "table", 0), (2**32, "table", 0)),
        ((0, "table", 0), (2**64, "table", 0)),
    ],
    ids=str,
)
def test_neighbouring_streams_are_unrelated(a, b):
    check_unrelated(*(bits_of(chance.streams(s, p, 1, first), MANY // 4) for s, p, first in (a, b)))


def test_tables_beside_each_other_are_unrelated():
    words = bits_of(chance.streams(8, "table", 4096), 128)
    check_unrelated(words[:-1], words[1:])
    check_unrelated(words[:-1, 1:], words[1:, :-1])  # the next table, one draw later


@pytest.mark.parametrize("streams", [1, 1024])
def test_every_bit_is_one_half_of_the_time(streams):
    words = bits_of(chance.streams(3, "search", streams), MANY // streams).reshape(-1)
    for bit in range(32):
        ones = int(((words >> np.uint32(bit)) & 1).sum())
        assert abs(ones - MANY / 2) < 5 * np.sqrt(MANY) / 2, bit


def test_one_flipped_bit_flips_half_of_the_answer():
    """Every bit of the block and of the key, over many blocks."""
    numbers = random.Random(2)
    flips = np.zeros(96, np.int64)
    blocks = 200
    for _ in range(blocks):
        told = [numbers.getrandbits(32) for _ in range(3)]
        before = philox_word(*told)
        for bit in range(96):
            other = list(told)
            other[bit // 32] ^= 1 << bit % 32
            flips[bit] += (before ^ philox_word(*other)).bit_count()
    assert (abs(flips - 32 * blocks) < 5 * np.sqrt(16 * blocks)).all()


def philox_word(key, low, high):
    x, y = philox(key, low, high)
    return y << 32 | x


# Picking and mixing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "odds",
    [[1.0], [0.5, 0.5], [0.0, 0.5, 0.25, 0.0, 0.125, 0.125, 0.0], [1 / 6] * 6, [0.999, 0.001]],
    ids=str,
)
def test_pick_follows_its_odds(odds):
    out = np.zeros(MANY // 4, np.int64)
    fill_pick(chance.streams(6, "table", 1), np.array(odds), out)
    counts = np.bincount(out, minlength=len(odds))
    expected = np.array(odds) * out.size
    assert (counts[expected == 0] == 0).all()
    deviations = np.sqrt(expected * (1 - np.array(odds)))
    assert (abs(counts - expected) <= 5 * deviations).all()


def test_pick_gives_something_possible_when_odds_fall_short_of_one():
    out = np.zeros(MANY // 4, np.int64)
    fill_pick(chance.streams(6, "table", 1), np.array([0.25, 0.25, 0.0]), out)
    assert set(out.tolist()) == {0, 1}


def test_every_bit_of_a_number_changes_half_of_the_bits_of_a_hash():
    numbers, blocks, flips = random.Random(2), 2000, np.zeros(64)
    for _ in range(blocks):
        hashed, number = numbers.getrandbits(64), numbers.getrandbits(63)
        before = int(chance.mix(np.uint64(hashed), np.uint64(number)))
        for bit in range(64):
            other = int(chance.mix(np.uint64(hashed), np.uint64(number ^ 1 << bit)))
            flips[bit] += (before ^ other).bit_count()
    assert (abs(flips - 32 * blocks) < 5 * np.sqrt(16 * blocks)).all()


def test_mixing_tells_numbers_and_their_order_apart():
    hashes = set()
    for a in range(100):
        once = np.uint64(chance.mix(1, a))
        hashes.update(int(chance.mix(once, b)) for b in range(100))
    assert len(hashes) == 100 * 100
