"""The view shows the other card."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record, rule
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


@rule
def observe(s, seat, view):
    sound.observe(s, seat, view)
    for card in range(5):
        view.shown[card] = 1 if s.card[1 - seat] == card else 0


GAME = replace(
    sound.GAME,
    name="view_leaks",
    shape=sound.shape(record("view_leaks", *sound.FIELDS)),
    observe=observe,
)
