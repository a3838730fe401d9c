"""What a person reads tells the card aside."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


def seen(s, seat):
    return f"You hold {s.card[seat]}. Aside lies {s.aside}."


GAME = replace(
    sound.GAME,
    name="seen_leaks",
    shape=sound.shape(record("seen_leaks", *sound.FIELDS)),
    seen=seen,
)
