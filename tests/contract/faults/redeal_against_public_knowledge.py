"""Only a high card may bet; the re-deal gives any card to a seat that has bet."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def actions(s, out):
    out[0], out[1], out[2] = sound.PASS, sound.BET, sound.SHOW
    if s.card[sound.turn(s)] < 3:
        out[1] = sound.SHOW
        return 2
    return 3


@rule
def bold(s, seat, rng):
    return sound.PASS


GAME = replace(
    sound.GAME,
    name="redeal_against_public_knowledge",
    shape=sound.shape(record("redeal_against_public_knowledge", *sound.FIELDS)),
    actions=actions,
    players={"bold": bold},
)
