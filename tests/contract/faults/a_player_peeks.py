"""The player looks at the other card."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def bold(s, seat, rng):
    return sound.BET if s.card[seat] > s.card[1 - seat] else sound.PASS


GAME = replace(
    sound.GAME,
    name="a_player_peeks",
    shape=sound.shape(record("a_player_peeks", *sound.FIELDS)),
    players={"bold": bold},
)
