"""The numbers of actions, and what they mean: `decode` and `encode`, which need no position.

With a die an action is a pin; with a stock a pin and a value. With cards every pin has a block of
actions: with a card, the same with a joker, and ways to come out. Then come the distributions of a
seven, the same with a joker, the cards of the exchange and, always last, passing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...options import GameError, whole_number
from .board import CARDS, DIE, PINS, STOCK
from .options import DISTRIBUTIONS, KINDS, STEP_VALUES, MadnOptions
from .rules import FACES
from .seven import DISTRIBUTED, SEVEN

KIND_NAMES = (
    *("joker", "jack", "2", "3", "4", "5", "6", "7", "8", "9", "10", "ace", "queen", "king"),
)
STARTERS = (11, 13, 0)  # kinds that bring a pin out, in the order of their actions


class Action(NamedTuple):
    """What an action does."""

    what: str
    """pin, stock, move, back, swap, start, seven, give or pass."""
    pin: int = -1
    value: int = -1
    """Steps; of a swap the ring cell, counted from the own start field; else a kind of card."""
    joker: bool = False
    """Whether a joker stands in for the card."""
    parts: tuple[int, ...] = ()
    """Of a seven: the steps of each pin."""

    def __str__(self) -> str:
        by = " by joker" if self.joker else ""
        if self.what in ("start", "give"):
            card = KIND_NAMES[self.value]
            return f"give {card}" if self.what == "give" else f"pin {self.pin} out by {card}"
        return {
            "pin": f"pin {self.pin}",
            "stock": f"pin {self.pin} by {self.value}",
            "move": f"pin {self.pin} forward {self.value}{by}",
            "back": f"pin {self.pin} back 4{by}",
            "swap": f"pin {self.pin} swap +{self.value}{by}",
            "seven": f"seven {','.join(map(str, self.parts))}{by}",
            "pass": "pass",
        }[self.what]


class Numbering(NamedTuple):
    """What the numbers of actions depend on."""

    mode: int
    ring: int
    joker: int
    hot_seven: int
    swaps: int
    back_four: int
    teams: int

    @property
    def steps(self) -> list[int]:
        """The steps forward that have an action."""
        return [v for v in range(1, STEP_VALUES + 1) if v != SEVEN or not self.hot_seven]

    @property
    def plain(self) -> int:
        return len(self.steps) + self.back_four + self.swaps * self.ring

    @property
    def of_a_pin(self) -> int:
        return (1 + self.joker) * self.plain + 2 + self.joker

    @property
    def sevens(self) -> int:
        return PINS * self.of_a_pin

    @property
    def gifts(self) -> int:
        return self.sevens + (1 + self.joker) * DISTRIBUTIONS * self.hot_seven

    @property
    def passing(self) -> int:
        if self.mode != CARDS:
            return PINS if self.mode == DIE else FACES * PINS
        return self.gifts + KINDS * self.teams


def numbering(of: Any) -> Numbering:
    """The numbering under options, or of a position."""
    if not isinstance(of, MadnOptions):
        return Numbering(*(int(of[name]) for name in Numbering._fields))
    return Numbering(
        CARDS if of.enable_cards else DIE if of.enable_dice else STOCK,
        of.ring,
        int(of.joker_enabled),
        int(of.hot_7_enabled),
        int(of.swap_enabled),
        int(of.neg_4_enabled),
        int(of.enable_teams),
    )


def decode(of: Any, action: int) -> Action:
    """What an action means, under options or in a position: the inverse of `encode`."""
    n = numbering(of)
    action = whole_number("an action", action, most=n.passing)
    if action == n.passing:
        return Action("pass")
    if n.mode == DIE:
        return Action("pin", action)
    if n.mode == STOCK:
        return Action("stock", action // FACES, action % FACES + 1)
    if action >= n.gifts:
        return Action("give", value=action - n.gifts)
    if action >= n.sevens:
        joker, number = divmod(action - n.sevens, DISTRIBUTIONS)
        return Action("seven", joker=bool(joker), parts=DISTRIBUTED[number])
    return _decode_pin(n, *divmod(action, n.of_a_pin))


def _decode_pin(n: Numbering, pin: int, way: int) -> Action:
    if way >= (1 + n.joker) * n.plain:
        return Action("start", pin, STARTERS[way - (1 + n.joker) * n.plain])
    joker, way = divmod(way, n.plain)
    if way < len(n.steps):
        return Action("move", pin, n.steps[way], bool(joker))
    if n.back_four and way == len(n.steps):
        return Action("back", pin, joker=bool(joker))
    return Action("swap", pin, way - len(n.steps) - n.back_four, bool(joker))


def encode(of: Any, action: Action) -> int:
    """The number of an action, under options or in a position."""
    n, found = numbering(of), -1
    joker = n.plain * action.joker
    first = n.of_a_pin * action.pin + joker
    if action.what == "pass":
        found = n.passing
    elif action.what == "pin":
        found = action.pin
    elif action.what == "stock":
        found = FACES * action.pin + action.value - 1
    elif action.what == "give":
        found = n.gifts + action.value
    elif action.what == "seven" and action.parts in DISTRIBUTED:
        found = n.sevens + DISTRIBUTIONS * action.joker + DISTRIBUTED.index(action.parts)
    elif action.what == "start" and action.value in STARTERS:
        found = n.of_a_pin * action.pin + (1 + n.joker) * n.plain + STARTERS.index(action.value)
    elif action.what == "move" and action.value in n.steps:
        found = first + n.steps.index(action.value)
    elif action.what == "back":
        found = first + len(n.steps)
    elif action.what == "swap":
        found = first + len(n.steps) + n.back_four + action.value
    if not 0 <= found <= n.passing or decode(of, found) != action:
        raise GameError(f"{action} is not an action of this game")
    return found
