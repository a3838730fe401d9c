"""`roll` throws the die with an eye on low numbers."""

from dataclasses import replace
from pathlib import Path

from kibitz.chance import below
from kibitz.game import record, roll_by_odds, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def roll(s, rng):
    if s.aside == sound.NO_CARD:
        return roll_by_odds(s, rng)
    side = below(rng, 7) % 3
    sound.play(s, side)
    return side


GAME = replace(
    sound.GAME,
    name="roll_against_odds",
    shape=sound.shape(record("roll_against_odds", *sound.FIELDS)),
    roll=roll,
)
