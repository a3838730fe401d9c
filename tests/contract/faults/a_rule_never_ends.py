"""`score` waits for a die that is never thrown."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def score(s, out):
    throws = 0
    while throws != s.die + 1:
        throws = (throws + 1) % s.die
    out[0], out[1] = 1, -1


GAME = replace(
    sound.GAME,
    name="a_rule_never_ends",
    shape=sound.shape(record("a_rule_never_ends", *sound.FIELDS)),
    score=score,
)
