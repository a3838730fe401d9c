"""The die has three sides of odds 1/4."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def odds(s, out):
    sound.odds(s, out)
    for side in range(3):
        out[side] = 0.25 if s.aside != sound.NO_CARD else out[side]


GAME = replace(
    sound.GAME,
    name="odds_do_not_sum_to_one",
    shape=sound.shape(record("odds_do_not_sum_to_one", *sound.FIELDS)),
    odds=odds,
)
