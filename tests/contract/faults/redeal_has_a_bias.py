"""The re-deal gives the other seat the lower of two cards."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def redeal(s, seat, rng):
    sound.redeal(s, seat, rng)
    other = s.card[1 - seat]
    if s.word[1 - seat] != sound.SHOW and other > s.aside != sound.NO_CARD:
        s.card[1 - seat], s.aside = s.aside, other


GAME = replace(
    sound.GAME,
    name="redeal_has_a_bias",
    shape=sound.shape(record("redeal_has_a_bias", *sound.FIELDS)),
    redeal=redeal,
)
