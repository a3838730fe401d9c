"""How something valid is changed a little: texts, bytes, JSON, words of a command."""

from __future__ import annotations

import random
import re
from typing import Any

NUMBERS = (
    *("0", "-1", "1", "2", "7", "127", "128", "255", "256", "32768", "65536", "2147483648"),
    *("4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616"),
    *("9" * 30, "9" * 5000, "-" + "9" * 30, "1e309", "1e-400", "nan", "NaN", "inf", "-inf"),
    *(
        "0.5",
        "1.",
        ".",
        "-0",
        "+1",
        "1_000",
        "0x10",
        "1e3",
        "٣",
        "²",
        "½",
        "\U0001d7db",
        "1 2",
        "0b1",
    ),
)
TEXTS = (
    *("", " ", "\t", "\n", "\r", "[/red]", "[bold]", "[", "]", "\\", "\x1b[31m", "\x07", "\x7f"),
    *("\x01", "=", ":", ",", "-", "--", "=,=", ":::", "%s", "{}", "{0}", "'", '"', "`", "#", "?"),
    *("ß", "İ", "ﬁ", "\u202e", "\u2028", "\x85", "\ufeff", "é" * 999, "a" * 5000, "\udcff", "😀"),
    *("None", "null", "true", "self", "game", "preset", "random", "__class__", "..", "."),
)
JSONS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 255, 10**6, 2**31, 2**63, 2**64, 10**30, -(10**30)),
    *(0.5, -0.5, 1e308, float("nan"), float("inf"), float("-inf"), "", "x", "1", [], {}),
    *([[]], [1], [None], {"a": 1}, "a" * 5000, [0] * 1000, "\udcff", "[/red]", "\x1b[31m"),
)


def odd(rng: random.Random) -> str:
    return rng.choice(rng.choice((NUMBERS, TEXTS)))


def cut(rng: random.Random, length: int, most: int = 8) -> tuple[int, int]:
    """A short range within so many."""
    first = rng.randrange(length + 1)
    return first, min(length, first + rng.randint(1, most))


def text(rng: random.Random, old: str) -> str:
    """A text with one change."""
    a, b = cut(rng, len(old))
    match rng.randrange(8):
        case 0:
            return old[:a] + old[b:]
        case 1:
            return old[:b] + old[a:b] * rng.choice((1, 1, 2, 50)) + old[b:]
        case 2:
            return old[:a] + odd(rng) + old[a:]
        case 3:
            return old[:a] + odd(rng) + old[b:]
        case 4:
            c, d = sorted((rng.randrange(len(old) + 1), b))
            return old[:c] + old[d:] + old[c:d]
        case 5:
            return changed_number(rng, old)
        case 6:
            return "".join(rng.choice((c, c, c.upper(), c.lower())) for c in old)
        case _:
            return rng.choice((odd(rng), old[:a], old[a:], old * 2))


def changed_number(rng: random.Random, old: str) -> str:
    """A text in which one number is another."""
    found = list(re.finditer(r"-?\d+", old))
    if not found:
        return old + rng.choice(NUMBERS)
    one = rng.choice(found)
    near = str(int(one[0][:18]) + rng.choice((-2, -1, 1, 2, 100)))
    return old[: one.start()] + rng.choice((near, near, rng.choice(NUMBERS))) + old[one.end() :]


def content(rng: random.Random, old: bytes) -> bytes:
    """Bytes with one change."""
    a, b = cut(rng, len(old), rng.choice((1, 4, 64)))
    match rng.randrange(6):
        case 0:
            return old[:a] + old[b:]
        case 1:
            return old[:a] + rng.randbytes(b - a) + old[b:]
        case 2:
            return old[:a] + bytes(c ^ (1 << rng.randrange(8)) for c in old[a:b]) + old[b:]
        case 3:
            return old[:b] + old[a:b] + old[b:]
        case 4:
            return old[:a]
        case _:
            return old[:a] + rng.choice((b"\0" * 8, b"\xff" * 8, b"\x7f", b"")) + old[b:]


def as_json(rng: random.Random, value: Any) -> Any:
    """A JSON value with one change, at any depth."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.75:
        return _inside(rng, value)
    if isinstance(value, bool) or value is None:
        return rng.choice(JSONS)
    if isinstance(value, int) and rng.random() < 0.6:
        return value + rng.choice((-1, 1, 2, -value, 1000, -2 * value, 2**40))
    if isinstance(value, str) and rng.random() < 0.6:
        return text(rng, value)
    return rng.choice(JSONS)


def _inside(rng: random.Random, value: Any) -> Any:
    changed = dict(value) if isinstance(value, dict) else list(value)
    key = rng.choice(list(changed)) if isinstance(value, dict) else rng.randrange(len(changed))
    match rng.randrange(8):
        case 0:
            del changed[key]
        case 1 if isinstance(changed, dict):
            changed[odd(rng)] = rng.choice(JSONS)
        case 1:
            changed.insert(key, rng.choice((changed[key], rng.choice(JSONS))))
        case 2:
            other = rng.choice(list(changed.values()) if isinstance(changed, dict) else changed)
            changed[key] = other
        case _:
            changed[key] = as_json(rng, changed[key])
    return changed


def several(rng: random.Random, change: Any, value: Any, most: int = 3) -> Any:
    """One change or more; sometimes none."""
    for _ in range(rng.choice((0, *range(1, most + 1), 1, 1))):
        value = change(rng, value)
    return value
