"""Who bets is heard to bet on a card."""

from dataclasses import replace
from pathlib import Path

from kibitz.game import record
from kibitz.games import module

sound = module(Path(__file__).with_name("sound.py"))


def news(s, seat, move):
    if sound.turn(s) >= 0 and move == sound.BET:
        return f"bet on card {s.card[sound.turn(s)]}"
    return sound.news(s, seat, move)


GAME = replace(
    sound.GAME,
    name="news_leaks",
    shape=sound.shape(record("news_leaks", *sound.FIELDS)),
    news=news,
)
