"""Whether a seat may show its card depends on the card aside, which the re-deal changes."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def actions(s, out):
    out[0], out[1], out[2] = sound.PASS, sound.BET, sound.SHOW
    return 3 if s.aside > 1 else 2


GAME = replace(
    sound.GAME,
    name="redeal_changes_the_actions",
    shape=sound.shape(record("redeal_changes_the_actions", *sound.FIELDS)),
    actions=actions,
)
