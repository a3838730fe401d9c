"""Cases that end as none should: the tests hold the watcher of the fuzz tests to its word."""

from __future__ import annotations

import os
import random
import signal
import time

from fuzzing import ACCEPTED, GROWTH, Wrong


def prepare() -> None:
    """There is nothing to compile."""


def begin() -> None:
    """Nothing to do once all is prepared."""


def fine(rng: random.Random) -> str:
    return ACCEPTED


def traceback(rng: random.Random) -> str:
    return [ACCEPTED][rng.randrange(1, 9)]


def wrong(rng: random.Random) -> str:
    raise Wrong("status 3")


def killed(rng: random.Random) -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return ACCEPTED


def ended(rng: random.Random) -> str:
    os._exit(0)


def endless(rng: random.Random) -> str:
    while True:
        time.sleep(1)


def greedy(rng: random.Random) -> str:
    _ = b"1" * (GROWTH + (1 << 24))
    return ACCEPTED


CASES = {case.__name__: case for case in (fine, traceback, wrong, killed, ended, endless, greedy)}
