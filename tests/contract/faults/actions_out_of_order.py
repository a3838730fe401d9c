"""`actions` lists the last word first."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def actions(s, out):
    out[0], out[1], out[2] = sound.SHOW, sound.PASS, sound.BET
    return 3


GAME = replace(
    sound.GAME,
    name="actions_out_of_order",
    shape=sound.shape(record("actions_out_of_order", *sound.FIELDS)),
    actions=actions,
)
