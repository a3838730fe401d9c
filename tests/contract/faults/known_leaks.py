"""`known` depends on the card that nobody sees."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from kibitz.chance import mix
from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def known(s, seat):
    return mix(sound.known(s, seat), int(s.aside) + 1) | np.uint64(1)


GAME = replace(
    sound.GAME,
    name="known_leaks",
    shape=sound.shape(record("known_leaks", *sound.FIELDS)),
    known=known,
)
