"""`start` forgets the die."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def start(s, options):
    for seat in range(2):
        s.card[seat] = sound.NO_CARD
        s.word[seat] = sound.NO_WORD
    s.aside = sound.NO_CARD


GAME = replace(
    sound.GAME,
    name="start_leaves_a_field",
    shape=sound.shape(record("start_leaves_a_field", *sound.FIELDS)),
    start=start,
)
