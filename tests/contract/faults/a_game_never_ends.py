"""Whatever the seats say, it is taken back."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def play(s, action):
    sound.play(s, action)
    if s.word[1] != sound.NO_WORD:
        s.word[0] = s.word[1] = sound.NO_WORD


GAME = replace(
    sound.GAME,
    name="a_game_never_ends",
    shape=sound.shape(record("a_game_never_ends", *sound.FIELDS)),
    play=play,
)
