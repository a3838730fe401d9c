"""The die may have other sides, but `odds` knows three; under the defaults all is well."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kibitz.game import OptionError, Options, record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@dataclass(frozen=True)
class DieOptions(Options):
    sides: int = 3
    """Of the die, 2 to 5."""

    def check(self):
        if not 2 <= self.sides <= 5:
            raise OptionError(f"sides={self.sides}: a die has 2 to 5 sides")


STATE = record("wrong_with_other_options", *sound.FIELDS, ("sides", np.int8))


@rule
def start(s, options):
    sound.start(s, options)
    s.sides = options.sides


@rule
def odds(s, out):
    sound.odds(s, out)
    for side in range(5):
        if s.aside != sound.NO_CARD:
            out[side] = 1 / 3 if side < s.sides else 0.0


GAME = replace(
    sound.GAME,
    name="wrong_with_other_options",
    shape=sound.shape(STATE),
    options=DieOptions(),
    start=start,
    odds=odds,
    score_range=(-7.0, 7.0),
)
