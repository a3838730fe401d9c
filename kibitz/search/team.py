"""Threads that work together for milliseconds, again and again.

To wake a sleeping thread takes up to a millisecond, a tenth of a search of Escampe to depth 10. So
a helper without work watches a number for a moment before it goes to sleep, and so does whoever
waits for it.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable

import numpy as np

from ..compiled import Function, kernel
from ..devices import Array

NUMBER, LOOKS = 0, 16  # places in an array, in cache lines of their own
PLACES = 32
AWAKE = 4_000_000  # looks at a number before a thread goes to sleep: about 20 milliseconds


@kernel
def watch_all(first, end, step, numbers, seen, looks):
    """Wait until the number is not the one that was seen, or until so many looks at it."""
    for i in range(first, end, step):
        left = looks
        while numbers[i] == seen and left > 0:
            left -= 1
            numbers[LOOKS] = left  # written, so that the number is read again


class Mailbox:
    """A number that one thread raises, and that another waits for."""

    def __init__(self) -> None:
        self.numbers = np.zeros(PLACES, np.int64)
        self._raised = threading.Event()

    @property
    def number(self) -> int:
        return int(self.numbers[NUMBER])

    def post(self) -> None:
        self.numbers[NUMBER] += 1
        self._raised.set()

    def wait(self, wanted: int) -> None:
        """Return when the number has come to the one that is wanted."""
        while (now := self.number) < wanted:
            watch_all(NUMBER, NUMBER + 1, 1, self.numbers, now, AWAKE)
            if self.number == now:
                self._raised.wait()
                self._raised.clear()  # it may have been set for an earlier number: look again


class Helper:
    """A thread that does what it is asked, one task after another."""

    def __init__(self) -> None:
        self.asked, self.done = Mailbox(), Mailbox()
        self._work: Callable[[], object] = lambda: None
        self._error: BaseException | None = None
        threading.Thread(target=self._serve, name="helper", daemon=True).start()

    def ask(self, work: Callable[[], object]) -> None:
        self._work = work
        self.asked.post()

    def join(self) -> None:
        """Wait for what was asked last; raise what it raised."""
        self.done.wait(self.asked.number)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _serve(self) -> None:
        for number in itertools.count(1):
            self.asked.wait(number)
            try:
                self._work()
            except BaseException as error:  # for whoever has asked
                self._error = error
            self.done.post()


class Team:
    """The calling thread and its helpers. One task at a time."""

    def __init__(self, size: int) -> None:
        self.helpers = [Helper() for _ in range(size - 1)]
        self._lock = threading.Lock()

    def run(self, function: Function, *arrays: Array) -> None:
        """Run a kernel, one of its parts per thread; the caller has the first."""
        with self._lock:
            for part, helper in enumerate(self.helpers, 1):
                helper.ask(functools.partial(function, part, part + 1, 1, *arrays))
            try:
                function(0, 1, 1, *arrays)
            finally:
                for helper in self.helpers:
                    helper.join()


@functools.cache
def team(size: int) -> Team:
    return Team(size)
