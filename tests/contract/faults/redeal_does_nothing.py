"""The re-deal leaves everything as it is."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def redeal(s, seat, rng):
    pass


GAME = replace(
    sound.GAME,
    name="redeal_does_nothing",
    shape=sound.shape(record("redeal_does_nothing", *sound.FIELDS)),
    redeal=redeal,
)
