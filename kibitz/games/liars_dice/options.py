"""The options of Liar's Dice, and how large a game is under them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...game import OptionError, Options, Shape, layout, record

NORMAL, JOKER, HIGH, STAIRS = range(4)  # in the order of `variant` below
NO_BID = -1
MOST_BIDS = 64  # the history is the bits of one 64-bit number
BIT = np.uint64(1)


@dataclass(frozen=True)
class LiarsDiceOptions(Options):
    """Options of a round, and of a match of several rounds."""

    dice: tuple[int, ...] = (5, 5)
    """Dice of seat 0, which opens, and of seat 1. 4,5 and 5,4 are different games."""
    sides: int = 6
    """Faces of a die."""
    variant: Literal["normal", "joker", "high", "stairs"] = "joker"
    """Which dice are wild."""
    ones_biddable: bool = True
    """Whether ones can be bid on; `false` is for the variant joker only."""
    opening_call: bool = False
    """Whether seat 0 may call before any bid, and lose, as the published networks can."""
    die_loss: Literal["none", "loser", "winner"] = "none"
    """Match play: the seat that gives up a die after a round. `none` plays a single round."""

    def check(self) -> None:
        if len(self.dice) != 2 or min(self.dice) < 1:
            raise OptionError(f"dice={self.dice}: give each of the two seats one die or more")
        if self.sides < (least := 2 if self.variant in ("joker", "stairs") else 1):
            raise OptionError(f"sides={self.sides}: {self.variant} needs at least {least}")
        if not self.ones_biddable and self.variant != "joker":
            raise OptionError(f"ones_biddable=False is for joker, not for variant={self.variant}")
        if self.bids > MOST_BIDS:
            raise OptionError(
                f"dice={self.dice} sides={self.sides}: {self.bids} bids, at most {MOST_BIDS}"
            )

    @property
    def bids(self) -> int:
        """How many bids have a number. Stairs need twice as many: a hand of k counts as k + 1."""
        return sum(self.dice) * self.sides * (2 if self.variant == "stairs" else 1)


def shape(options: LiarsDiceOptions) -> Shape:
    sides, bids = options.sides, options.bids
    state = record(
        "liars_dice",
        ("bids", np.uint64),  # bit b: bid b has been made
        ("hand", np.int8, (2, sides)),  # by seat and face: dice that show it
        ("dice", np.int8, 2),  # by seat: dice it has
        ("rolled", np.int8),  # dice rolled so far, seat 0's first
        ("liar", np.int8),  # the number of the call
        ("last", np.int8),  # the standing bid or NO_BID
        ("length", np.int8),  # actions so far, the call included
        ("called", np.int8),
        ("variant", np.int8),
        ("ones_biddable", np.int8),
        ("opening_call", np.int8),
    )
    view = layout(
        ("priv", max(options.dice) * sides + 2),  # own dice, unary by face; then whose hand it is
        ("pub", 2 * (bids + 2)),  # by seat: its bids, its call, whether it is to move
    )
    return Shape(
        seats=2,
        num_actions=bids + 1,
        num_outcomes=sides,
        state=state,
        view=view,
        max_legal=MOST_BIDS + 1,  # equal for all dice, so that they share one compiled game
    )
