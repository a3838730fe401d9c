"""Two passes take each other back, and nobody counts how often."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def play(s, action):
    sound.play(s, action)
    if s.word[0] == sound.PASS and s.word[1] == sound.PASS:
        s.word[0] = s.word[1] = sound.NO_WORD


GAME = replace(
    sound.GAME,
    name="play_goes_in_circles",
    shape=sound.shape(record("play_goes_in_circles", *sound.FIELDS)),
    play=play,
)
