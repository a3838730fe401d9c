"""Race games on a ring."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...game import Game, Options, Shape
from . import cards, rules
from .board import state
from .moves import score
from .options import KINDS, PRESETS, MadnOptions
from .rules import turn
from .view import known, observe, observe_planes, planes, view


def shape(options: MadnOptions) -> Shape:
    others = 4 * (options.num_players - 1)
    return Shape(
        seats=options.num_players,
        num_actions=options.num_actions,
        num_outcomes=KINDS if options.enable_cards else 6,
        state=state(options),
        view=view(options),
        views={"planes": planes(options)},
        max_legal=8 * (13 + others) + 252 if options.enable_cards else 24,
        teams=options.teams,
    )


class RaceGame(Game):
    """A game whose rules are those of the die and the stock, or those of the cards."""

    def under(self, options: Options) -> Game:
        assert isinstance(options, MadnOptions)
        return dataclasses.replace(self, options=options, **rules_of(options))


def rules_of(options: MadnOptions) -> dict[str, Any]:
    """The functions that differ between the games without cards and those with cards."""
    played = cards if options.enable_cards else rules
    return {
        name: getattr(played, name) for name in ("start", "odds", "roll", "actions", "play")
    }


DEFAULT = MadnOptions(**PRESETS["madn"])

GAME = RaceGame(
    name="madn",
    version=1,
    options=DEFAULT,
    presets=PRESETS,
    shape=shape,
    turn=turn,
    score=score,
    observe=observe,
    observers={"planes": observe_planes},
    known=known,
    **rules_of(DEFAULT),
)
