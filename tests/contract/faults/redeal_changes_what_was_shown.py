"""The re-deal gives the other seat a card that it did not show."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def redeal(s, seat, rng):
    word = s.word[1 - seat]
    s.word[1 - seat] = sound.NO_WORD
    sound.redeal(s, seat, rng)
    s.word[1 - seat] = word


GAME = replace(
    sound.GAME,
    name="redeal_changes_what_was_shown",
    shape=sound.shape(record("redeal_changes_what_was_shown", *sound.FIELDS)),
    redeal=redeal,
)
