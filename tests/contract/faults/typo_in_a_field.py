"""A field is spelt wrong."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def score(s, out):
    winner = 0 if s.crad[0] > s.card[1] else 1
    out[winner] = 1
    out[1 - winner] = -1


GAME = replace(
    sound.GAME,
    name="typo_in_a_field",
    shape=sound.shape(record("typo_in_a_field", *sound.FIELDS)),
    score=score,
)
