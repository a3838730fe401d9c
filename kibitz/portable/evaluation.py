"""What the runtimes of BandDPER share: positions in, values out, a cache, and the self-test."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from .escampe import PortableError, Position, Writable, read_position, write_view
from .weights import Facts, is_close

TOLERANCE = 1e-4
CACHED = 1 << 16  # positions


class Evaluation(NamedTuple):
    """What a network says about a position, for the side to move."""

    raw: float
    """Before tanh."""
    value: float
    """From -1, a certain loss, to 1, a certain win."""


class Evaluator:
    """A network that answers positions. A runtime adds `raw`, the network itself.

    view: where a position is written before `raw` is asked; it is used again and again.
    """

    def __init__(self, facts: Facts, view: Writable) -> None:
        self.facts, self._view = facts, view
        self._known: dict[Position, Evaluation] = {}

    def raw(self) -> float:
        """The raw value of the position in the view."""
        raise NotImplementedError

    def evaluate(self, position: Position | str) -> Evaluation:
        """What the network says about a position or a line that describes one."""
        if isinstance(position, str):
            position = read_position(position)
        if position not in self._known:
            if len(self._known) == CACHED:
                del self._known[next(iter(self._known))]  # the oldest
            write_view(position, self.facts.encoding, self._view)
            raw = self.raw()
            self._known[position] = Evaluation(raw, math.tanh(raw))
        return self._known[position]

    def check(self, path: str | Path) -> None:
        """Refuse a file whose network does not say what the file expects."""
        for number, test in enumerate(self.facts.selftest, 1):
            try:
                found = self.evaluate(test.position)
            except PortableError as error:
                raise PortableError(f"{path}: number {number} of 'selftest': {error}") from None
            for name, expected in (("raw", test.raw), ("value", test.value)):
                if not is_close(getattr(found, name), expected, TOLERANCE):
                    answer = f"{getattr(found, name):.6f}, not {expected:.6f}"
                    raise PortableError(
                        f"{path} fails its self-test: {name!r} of {test.position} is {answer}"
                    )
