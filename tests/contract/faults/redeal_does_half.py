"""The re-deal leaves the card aside."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def redeal(s, seat, rng):
    if s.aside != sound.NO_CARD and s.word[1 - seat] != sound.SHOW:
        s.card[1 - seat] = s.aside
        s.card[1 - seat] = sound.drawn(s, rng)


GAME = replace(
    sound.GAME,
    name="redeal_does_half",
    shape=sound.shape(record("redeal_does_half", *sound.FIELDS)),
    redeal=redeal,
)
