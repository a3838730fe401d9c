"""A rule makes a list."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def actions(s, out):
    words = [sound.PASS, sound.BET, sound.SHOW]
    for i in range(3):
        out[i] = words[i]
    return 3


GAME = replace(
    sound.GAME,
    name="list_in_a_rule",
    shape=sound.shape(record("list_in_a_rule", *sound.FIELDS)),
    actions=actions,
)
