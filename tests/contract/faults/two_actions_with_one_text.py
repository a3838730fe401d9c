"""To pass and to show have one word."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


def action_text(s, action):
    return sound.action_text(s, action).replace("show", "pass")


GAME = replace(
    sound.GAME,
    name="two_actions_with_one_text",
    shape=sound.shape(record("two_actions_with_one_text", *sound.FIELDS)),
    action_text=action_text,
)
