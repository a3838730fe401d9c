"""Seeds of a run: drawn once, stored with it, and mixed with a purpose and a step."""

from __future__ import annotations

import hashlib

import numpy as np

from ..game import GameError

LARGEST = 2**64 - 1


def checked_seed(seed: int) -> int:
    """The seed, if it is valid."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= LARGEST:
        raise GameError(f"a seed is a whole number from 0 to {LARGEST}, not {seed!r}")
    return int(seed)


def derived(seed: int, purpose: str, step: int) -> int:
    """63 bits that depend on all of these: torch and NumPy take no larger seed.

    Arithmetic such as `seed * 1_000_003 + step` overflows for large seeds, and two runs could share
    the seeds of their steps.
    """
    hashed = hashlib.blake2b(f"{seed} {purpose} {step}".encode(), digest_size=8)
    return int.from_bytes(hashed.digest(), "little") >> 1
