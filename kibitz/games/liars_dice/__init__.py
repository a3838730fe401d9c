"""Liar's Dice (Dudo, Perudo) for two: hidden dice, rising bids, and somebody calls.

Each seat rolls its dice in secret. Seat 0 begins; in turn each seat bids "at least `count` dice on
the table show `face`", always higher than the standing bid (count first, then face), or calls the
standing bid a lie. The call ends the round: all dice are shown, and if at least `count` of them
match, the bidder wins, otherwise the caller.

Which dice match is the variant: in `joker` ones are wild (a bid on ones counts ones only), in
`high` the highest face is, in `normal` none; in `stairs` a hand of k dice showing exactly 1 to k
counts as k + 1 dice of every face, and nobody bids on ones.

A bid is the number (count - 1) * sides + (face - 1) and the call the number after the last bid, so
bids rise as numbers do and the set of bids made is the whole history: the k-th lowest was made by
seat k mod 2. Inside, faces are numbered from 0.
"""

from __future__ import annotations

from ...game import Game
from .laws import FLAWS, flaw
from .options import LiarsDiceOptions, shape
from .players import honest, threshold
from .rules import actions, next_round, odds, play, roll, score, start, turn
from .text import (
    action_text,
    decode_private,
    decode_public,
    history,
    news,
    parse,
    parse_action,
    position,
    seen,
    text,
)
from .view import known, observe, redeal

__all__ = ["FLAWS", "GAME", "decode_private", "decode_public", "history", "position", "text"]


def open_spiel(options):
    """OpenSpiel's game of the same size. Its rules are those of `high`; it has no uneven dice."""
    dice, other = options.dice
    return f"liars_dice(numdice={dice},dice_sides={options.sides})" if dice == other else None


GAME = Game(
    name="liars_dice",
    version=1,
    options=LiarsDiceOptions(),
    presets={
        "dudo": {"variant": "joker", "die_loss": "winner", "opening_call": True},
        "perudo": {"variant": "joker", "die_loss": "loser"},
        "openspiel": {"variant": "high"},
    },
    tried=(
        {"dice": (1, 2)},
        {"dice": (2, 2), "variant": "high"},
        {"dice": (2, 1), "variant": "normal", "sides": 4},
        {"dice": (2, 2), "variant": "stairs"},
        {"dice": (2, 2), "ones_biddable": False},
        {"dice": (1, 1), "opening_call": True},
    ),
    shape=shape,
    start=start,
    turn=turn,
    odds=odds,
    roll=roll,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    redeal=redeal,
    known=known,
    flaw=flaw,
    flaws=FLAWS,
    text=text,
    parse=parse,
    seen=seen,
    action_text=action_text,
    news=news,
    onlookers=True,
    parse_action=parse_action,
    players={"honest": honest, "threshold": threshold},
    next_round=next_round,
    open_spiel=open_spiel,
    perfect_recall=True,
)
