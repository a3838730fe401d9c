"""The loser keeps a chip."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def score(s, out):
    sound.score(s, out)
    for seat in range(2):
        out[seat] += 1 if out[seat] < 0 else 0


GAME = replace(
    sound.GAME,
    name="score_is_not_zero_sum",
    shape=sound.shape(record("score_is_not_zero_sum", *sound.FIELDS)),
    score=score,
)
