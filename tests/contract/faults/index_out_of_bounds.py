"""The word of a third seat is written."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def play(s, action):
    if s.aside != sound.NO_CARD and s.word[0] != sound.NO_WORD and s.word[1] != sound.NO_WORD:
        s.word[2] = action
    sound.play(s, action)


GAME = replace(
    sound.GAME,
    name="index_out_of_bounds",
    shape=sound.shape(record("index_out_of_bounds", *sound.FIELDS)),
    play=play,
)
