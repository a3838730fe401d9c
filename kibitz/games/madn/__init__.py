"""Mensch ärgere dich nicht, dMADN and DOG: one race round a ring, with a die, a stock or cards.

Every player has four pins, which come out on the own start field, run round the ring and end in the
four cells of the own goal lane. Who lands on a foe sends it home. Whoever has all pins in the lane
wins or, with partners, helps the partner, until both have.

    madn   a die: 6 brings a pin out, and whoever plays a 6 goes on
    dmadn  no chance: everybody has a stock of the steps 1 to 6, four of each, and spends it
    dog    cards: hands of 6, 5, 4, 3 and 2; partners exchange one card before they play

The cards of DOG: 2 to 10 and queen (12) are steps; ace is 1 or 11, king 13, and both bring pins
out; 4 goes back, too; 7 is split over the pins and sends home whatever it passes; a jack exchanges
two pins; a joker is any of them. A pin on its own start field is immune, and a wall. Who cannot
play a card throws the hand away.

Actions: a pin (die); a pin and a value (stock); with cards the steps, swaps and ways out of every
pin, the distributions of a seven, and the cards of the exchange; always last, passing.

Source: Josef Friedrich Schmidt, "Mensch ärgere Dich nicht", 1910; the Swiss game "Dog".
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...game import Game, Options, Shape, nothing_hidden
from . import cards, rules
from .actions import decode, encode
from .board import state
from .expectimax import EXPECTIMAX
from .knowledge import known_cards, known_steps, lay_open, redeal
from .laws import FLAWS, card_flaw, step_flaw
from .moves import score
from .options import KINDS, PRESETS, TRIED, MadnOptions
from .players import CARD_PLAYERS, STEP_PLAYERS
from .rules import FACES, turn
from .text import action_text, news, parse, position_json, seen, text
from .view import (
    observe_card_planes,
    observe_cards,
    observe_step_planes,
    observe_steps,
    planes,
    view,
)

__all__ = ["GAME", "MadnOptions", "candidates", "decode", "encode", "position_json"]

SHORT_NAMES = {"dog": {"preset": "dog"}}


def shape(options: MadnOptions) -> Shape:
    targets = 4 * (options.num_players - 1)  # of a swap
    return Shape(
        seats=options.num_players,
        num_actions=options.num_actions,
        num_outcomes=KINDS if options.enable_cards else FACES,
        state=state(options),
        view=view(options),
        views={"planes": planes(options)},
        max_legal=8 * (13 + targets) + 252 if options.enable_cards else 24,
        teams=options.teams,
    )


SPIEL_TABLES = {  # start fields on a board for four: the parameters of OpenSpiel's `maedn`
    (0, 2): "players=2,twoPlayersOpposite=True",
    (0, 1): "players=2,twoPlayersOpposite=False",
    (0, 1, 2): "players=3",
    (0, 1, 2, 3): "players=4",
}


def open_spiel(options: MadnOptions) -> str | None:
    """OpenSpiel's race on the same board. It has the rules of `madn`, with jumping in the lane and
    without a second and third throw; whoever passes on a 6 throws again there."""
    board = (options.distance, options.all_sectors)
    if not options.enable_dice or options.enable_teams or board != (10, 4):
        return None
    table = SPIEL_TABLES.get(options.seats)
    return f"maedn({table})" if table else None


class RaceGame(Game):
    """A game that is played by one of two sets of rules: those with cards and those without."""

    def under(self, options: Options) -> Game:
        assert isinstance(options, MadnOptions)
        return dataclasses.replace(self, options=options, **rules_of(options))


def rules_of(options: MadnOptions) -> dict[str, Any]:
    """The functions that are others with cards than without."""
    played = cards if options.enable_cards else rules
    names = ("start", "odds", "roll", "actions", "candidates", "play")
    shared = {name: getattr(played, name) for name in names}
    if options.enable_cards:
        return shared | {
            "observe": observe_cards,
            "observers": {"planes": observe_card_planes},
            "known": known_cards,
            "redeal": redeal,
            "lay_open": lay_open,
            "deduces": False,
            "flaw": card_flaw,
            "players": CARD_PLAYERS,
        }
    return shared | {
        "observe": observe_steps,
        "observers": {"planes": observe_step_planes},
        "known": known_steps,
        "redeal": nothing_hidden,
        "lay_open": None,
        "deduces": True,
        "flaw": step_flaw,
        "players": {**STEP_PLAYERS, "expectimax": EXPECTIMAX},
    }


def candidates(game: Game, s: Any) -> list[int]:
    """The actions worth a search: of several pins at home only the first comes out."""
    out = np.zeros(game.max_legal, np.int16)
    return [int(a) for a in out[: game.candidates(s, out)]]


DEFAULT = MadnOptions.read(PRESETS["madn"])
assert isinstance(DEFAULT, MadnOptions)

GAME = RaceGame(
    name="madn",
    version=1,
    options=DEFAULT,
    presets=PRESETS,
    tried=TRIED,
    shape=shape,
    turn=turn,
    score=score,
    flaws=FLAWS,
    text=text,
    parse=parse,
    seen=seen,
    action_text=action_text,
    news=news,
    onlookers=True,
    open_spiel=open_spiel,
    **rules_of(DEFAULT),
)
