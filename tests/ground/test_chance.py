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


def philox_by_the_paper(key, counter, rounds=7):
    """Philox4x32 in whole numbers of any size: Salmon et al. 2011, section 3.3."""
    k, j = key
    a, b, c, d = counter
    for _ in range(rounds):
        one, two = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (two >> 32) ^ b ^ k, two % 2**32, (one >> 32) ^ d ^ j, one % 2**32
        k, j = (k + 0x9E3779B9) % 2**32, (j + 0xBB67AE85) % 2**32
    return a, b, c, d


def philox(key, block, function=chance.philox):
    """Two words, from keys and blocks of two words each."""
    drawn = int(function(np.uint64(key[1] << 32 | key[0]), np.uint64(block[1] << 32 | block[0])))
    return drawn % 2**32, drawn >> 32


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
    ("rounds", "counter", "key", "answer"),
    [
        (7, "00000000 " * 4, "00000000 " * 2, "5f6fb709 0d893f64 4f121f81 4f730a48"),
        (10, "00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (10, "ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            10,
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
    ids=["7-zeros", "10-zeros", "10-ones", "10-pi"],
)
def test_philox_gives_the_known_answers_of_random123(rounds, counter, key, answer):
    """Lines `philox4x32` of the file kat_vectors of Random123: counter, key, answer."""
    counter, key, answer = (tuple(int(w, 16) for w in x.split()) for x in (counter, key, answer))
    assert philox_by_the_paper(key, counter, rounds) == answer
    if rounds == chance.ROUNDS and counter[2:] == (0, 0):  # our blocks have 64 bits
        assert philox(key, counter[:2]) == answer[:2]


def test_philox_equals_plain_whole_numbers_compiled_and_interpreted():
    numbers = random.Random(0)
    with np.errstate(over="raise"):
        for _ in range(300):
            key, block = ((numbers.getrandbits(32), numbers.getrandbits(32)) for _ in range(2))
            expected = philox_by_the_paper(key, (*block, 0, 0))[:2]
            assert philox(key, block) == expected
            interpreted = getattr(chance.philox, "py_func", chance.philox)
            assert philox(key, block, interpreted) == expected


def test_both_halves_of_a_key_count():
    assert len({philox(key, (1, 2)) for key in ((7, 0), (8, 0), (7, 1), (7, 1 << 31))}) == 4


def test_a_draw_is_the_first_word_of_the_next_block():
    rng = chance.stream(7, "search", 5)
    key = int(rng.key) % 2**32, int(rng.key) >> 32
    for n in range(1, 100):
        assert int(chance.bits(rng)) == philox_by_the_paper(key, (n, 0, 0, 0))[0]
        assert int(rng.count) == n


def test_below_scales_the_bits():
    for n in (1, 2, 6, 52, 1000, 2**31):
        rng, twin = chance.stream(1, "table"), chance.stream(1, "table")
        for _ in range(50):
            assert chance.below(rng, n) == int(chance.bits(twin)) * n >> 32


ALL_KINDS = """
import json, numpy as np
from kibitz import chance
drawn = []
with np.errstate(over="raise"):
    for purpose in chance.PURPOSES:
        rng = chance.stream(2**70 + 11, purpose, 3)
        drawn.append([int(rng.key), int(rng.count)])
        drawn.append([int(chance.bits(rng)) for _ in range(50)])
        drawn.append([int(chance.below(rng, n)) for n in range(1, 60)])
        odds = np.array([0.1, 0.0, 0.6, 0.3])
        drawn.append([int(chance.pick(rng, odds)) for _ in range(50)])
        drawn.append([int(chance.mix(np.uint64(k), 3 * k)) for k in range(50)])
print(json.dumps(drawn))
"""


def test_compiled_and_interpreted_draws_are_equal():
    drawn = [
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
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 5 * len(chance.PURPOSES)


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


def test_no_two_streams_share_a_key():
    """Keys have 64 bits: among 30,000 two meet with a probability of one in forty billion."""
    seeds = [*range(1000), *(2**k + d for k in range(12, 212) for d in range(5))]
    keys = [int(chance.stream(s, p).key) for s in seeds for p in chance.PURPOSES]
    keys += [int(key) for p in chance.PURPOSES for key in chance.streams(9, p, 6000)["key"][1:]]
    assert len(set(keys)) == len(keys) > 30_000


def test_a_key_uses_all_of_its_64_bits():
    keys = chance.streams(1, "table", 4096)["key"]
    for bit in range(64):
        ones = int(((keys >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - 2048) < 5 * 32, bit


def relations(keys):
    """What an attacker would try on a key of 64 bits: parts of it, its neighbours, its inverse."""
    flips = [keys ^ np.uint64(1 << bit) for bit in range(64)]
    near = [keys + np.uint64(step) for step in range(1, 9)]
    masked = [
        keys & ~np.uint64((1 << low) - 1) | np.uint64(p) for low in (2, 8, 32) for p in range(4)
    ]
    return np.concatenate([keys, ~keys, *flips, *near, *masked])


def test_no_stream_of_a_player_leads_to_a_stream_of_the_table():
    """Neither equal, nor by a flipped bit, a neighbour, or a part cleared, at any index."""
    tables = set(chance.streams(5, "table", 2000)["key"].tolist())
    for purpose in ("player", "search", "training"):
        tried = relations(chance.streams(5, purpose, 2000)["key"])
        assert not tables & set(tried.tolist())


def test_a_fresh_seed_cannot_be_guessed():
    drawn = {chance.fresh_seed() for _ in range(200)}
    assert len(drawn) == 200 and max(drawn) > 2**60 and max(drawn) < 2**63


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


@pytest.mark.parametrize("index", [-1, 2**63])
def test_an_index_that_no_stream_has_is_refused(index):
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
    flips = np.zeros(128, np.int64)
    blocks = 200
    for _ in range(blocks):
        words = [numbers.getrandbits(32) for _ in range(4)]
        before = philox_word(*words)
        for bit in range(128):
            other = list(words)
            other[bit // 32] ^= 1 << bit % 32
            flips[bit] += (before ^ philox_word(*other)).bit_count()
    assert (abs(flips - 32 * blocks) < 5 * np.sqrt(16 * blocks)).all()


def philox_word(k, j, low, high):
    x, y = philox((k, j), (low, high))
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
