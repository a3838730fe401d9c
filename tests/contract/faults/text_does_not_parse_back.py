"""The text of a position leaves out the die."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


def text(s):
    return sound.GAME.text(s).partition(" die=")[0]


GAME = replace(
    sound.GAME,
    name="text_does_not_parse_back",
    shape=sound.shape(record("text_does_not_parse_back", *sound.FIELDS)),
    text=text,
)
