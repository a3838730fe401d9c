"""The options of the race games, the presets that have names, and the sizes that follow."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...game import OptionError, Options

MOST_PLAYERS = 6
MOST_SECTORS = 8
LANE = 4  # cells of a goal lane, and pins of a player
STEP_VALUES = 13
DISTRIBUTIONS = 120  # of a seven over four pins
KINDS = 14
DRAWN = -1  # the starter, if chance draws it
PER_MILLE = 1000

SPECIAL = ("joker_enabled", "hot_7_enabled", "swap_enabled", "neg_4_enabled")
NOT_WITH_CARDS = (
    "enable_extra_move_on_6",
    "enable_start_on_1_and_6",
    "enable_rethrow",
    "enable_forced_start",
)


@dataclass(frozen=True)
class MadnOptions(Options):
    """The board, where steps come from, and the rules in which the games differ."""

    num_players: int = 4
    """Players, 2 to 6, in the order of their turns."""
    distance: int = 10
    """Ring cells from one start field to the next, 6 to 32."""
    sectors: int = 0
    """Start fields on the ring, up to 8; 0 for one per player. More leave some seats empty."""
    layout: tuple[int, ...] = ()
    """The start field of each player, ascending from 0; empty for the first ones."""
    enable_dice: bool = False
    """Steps come from a die (MADN). Without dice and cards every player has a stock of steps."""
    enable_cards: bool = False
    """Steps come from a hand of cards (DOG)."""
    enable_special_cards: bool = False
    """Whether the next four may be switched on."""
    joker_enabled: bool = False
    """Six jokers in the deck; a joker acts as any other card."""
    hot_7_enabled: bool = False
    """The 7 is split over pins and sends home what it passes."""
    swap_enabled: bool = False
    """Eight jacks in the deck, which exchange two pins."""
    neg_4_enabled: bool = False
    """The 4 may also go back."""
    enable_start_block: bool = False
    """A pin on its own start field is immune, and no pin gets past it."""
    enable_teams: bool = False
    """Players opposite each other are partners."""
    enable_jumping_in_goal: bool = False
    """Pins may jump over pins in the goal lane."""
    enable_initial_free_pin: bool = False
    """Pin 0 of every player begins on its start field."""
    enable_extra_move_on_6: bool = False
    """Die and stock: who plays a 6 goes on."""
    enable_start_on_1_and_6: bool = False
    """Die and stock: a 1 brings a pin out, too."""
    enable_rethrow: bool = False
    """Die: up to three throws while no pin can move but by coming out."""
    enable_forced_start: bool = False
    """Die and stock: pins must come out, and must leave the start field."""
    enable_forced_attack: bool = False
    """Who can send a foe home must do so."""
    enable_friendly_fire: bool = False
    """Own pins and the partner's can be sent home, too."""
    enable_circular_board: bool = False
    """A pin may run past its goal and go round again."""
    must_traverse_start: bool = False
    """The goal lane branches off behind the own start field, not before it."""
    max_plies: int = 3000
    """Plies after which the game is stopped without a winner."""
    starter: int = 0
    """The player who begins; -1 if chance draws one."""
    reveal: str = "own"
    """Cards: whose hands are seen. `own`, `all`, or the probability with which each hand is hidden,
    such as 0.5: drawn for every hand as the game begins."""

    def check(self) -> None:
        self._check_board()
        self._check_mode()
        if self.enable_teams and (self.num_players % 2 or self.num_players < 4):
            raise OptionError(
                f"enable_teams: partners need 4 or 6 players, not num_players={self.num_players}"
            )
        if not 1 <= self.max_plies <= 1_000_000:
            raise OptionError(f"max_plies={self.max_plies}: 1 to 1000000")
        if not DRAWN <= self.starter < self.num_players:
            raise OptionError(
                f"starter={self.starter}: a player from 0 to {self.num_players - 1}, or -1"
            )
        self.code("reveal")
        if self.reveal != "own" and not self.enable_cards:
            raise OptionError(f"reveal={self.reveal}: only enable_cards has hands to show")

    def _check_board(self) -> None:
        if not 2 <= self.num_players <= MOST_PLAYERS:
            raise OptionError(f"num_players={self.num_players}: two to six can play")
        if not 6 <= self.distance <= 32:
            raise OptionError(f"distance={self.distance}: 6 to 32 cells")
        if self.sectors and not self.num_players <= self.sectors <= MOST_SECTORS:
            raise OptionError(
                f"sectors={self.sectors}: from the number of players, {self.num_players}, to 8"
            )
        seats = self.seats
        if len(seats) != self.num_players:
            raise OptionError(f"layout={seats}: one start field for each of {self.num_players}")
        if list(seats) != sorted({*seats}) or not 0 <= seats[0] <= seats[-1] < self.all_sectors:
            raise OptionError(
                f"layout={seats}: different start fields from 0 to {self.all_sectors - 1}, "
                f"ascending"
            )

    def _check_mode(self) -> None:
        if self.enable_dice and self.enable_cards:
            raise OptionError("enable_dice and enable_cards: steps come from one of them")
        for name in SPECIAL:
            if getattr(self, name) and not self.enable_special_cards:
                raise OptionError(f"{name} needs enable_special_cards")
        if self.enable_special_cards and not self.enable_cards:
            raise OptionError("enable_special_cards needs enable_cards")
        for name in NOT_WITH_CARDS if self.enable_cards else ():
            if getattr(self, name):
                raise OptionError(f"{name} is not for games with cards")
        if self.enable_rethrow and not self.enable_dice:
            raise OptionError("enable_rethrow needs enable_dice")
        if self.enable_cards and self.ring < 14:
            raise OptionError(
                f"distance={self.distance}: with cards the ring needs 14 cells or more, so that no "
                f"step goes round it"
            )

    def code(self, name: str) -> int | tuple[int, ...]:
        """Of `reveal`: how many of 1,000 hands are hidden."""
        return _hidden_per_mille(self.reveal)

    def numbers(self) -> np.void:
        """All as whole numbers. `layout` always has six, so that all tables share one type."""
        values: dict[str, Any] = dataclasses.asdict(self)
        values["reveal"] = self.code("reveal")
        values["sectors"] = self.all_sectors
        values["layout"] = (*self.seats, *(0,) * (MOST_PLAYERS - self.num_players))
        fields = [
            (name, np.int64, MOST_PLAYERS) if name == "layout" else (name, np.int64)
            for name in values
        ]
        records = np.zeros(1, np.dtype((np.record, fields)))
        records[0] = tuple(values.values())
        numbers: np.void = records[0]
        return numbers

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Options:
        """The inverse of `to_json`; what is left out has its default."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise OptionError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
        if not isinstance(values, dict):
            raise OptionError("options are a JSON object of names and values")
        given = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
        return cls.read(given)

    # What follows from the options

    @property
    def all_sectors(self) -> int:
        return self.sectors or self.num_players

    @property
    def seats(self) -> tuple[int, ...]:
        """The start field of every player."""
        return self.layout or tuple(range(self.num_players))

    @property
    def ring(self) -> int:
        return self.distance * self.all_sectors

    @property
    def cells(self) -> int:
        """Of the ring and of all goal lanes."""
        return self.ring + LANE * self.num_players

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of every player; empty if everybody plays alone."""
        half = self.num_players // 2
        return tuple(i % half for i in range(self.num_players)) if self.enable_teams else ()

    @property
    def deck(self) -> tuple[int, ...]:
        """Cards of each kind in the full deck."""
        return 6 * self.joker_enabled, 8 * self.swap_enabled, *(8,) * (KINDS - 2)

    @property
    def plain_actions(self) -> int:
        """Of a pin with one card, or with a joker: steps forward, four back, swaps."""
        forward = STEP_VALUES - self.hot_7_enabled
        return forward + self.neg_4_enabled + self.swap_enabled * self.ring

    @property
    def pin_actions(self) -> int:
        """Of a pin: with a card, with a joker, and ways to come out."""
        return (1 + self.joker_enabled) * self.plain_actions + 2 + self.joker_enabled

    @property
    def seven_actions(self) -> int:
        return (1 + self.joker_enabled) * DISTRIBUTIONS * self.hot_7_enabled

    @property
    def play_actions(self) -> int:
        """All actions but exchanging a card and passing."""
        if not self.enable_cards:
            return LANE if self.enable_dice else 6 * LANE
        return LANE * self.pin_actions + self.seven_actions

    @property
    def num_actions(self) -> int:
        exchange = KINDS if self.enable_cards and self.enable_teams else 0
        return self.play_actions + exchange + 1


def _hidden_per_mille(reveal: str) -> int:
    if reveal in ("own", "all"):
        return PER_MILLE if reveal == "own" else 0
    try:
        hidden = float(reveal)
    except ValueError:
        hidden = -1.0
    if not 0 <= hidden <= 1:
        raise OptionError(f"reveal={reveal!r}: own, all, or a probability of hiding such as 0.5")
    return round(PER_MILLE * hidden)


# Presets -----------------------------------------------------------------------------------------

ANYTHING = {f.name: f.default for f in dataclasses.fields(MadnOptions)}


def _preset(*switched_on: str, **options: object) -> dict[str, object]:
    """All options, so that a preset means the same whatever was chosen before it."""
    return {**ANYTHING, **dict.fromkeys(switched_on, True), **options}


_GOOD_START = ("enable_jumping_in_goal", "enable_initial_free_pin", "enable_start_on_1_and_6")
_TEAM_RACE = (*_GOOD_START, "enable_extra_move_on_6", "enable_teams")
_DOG = (
    *("enable_cards", "enable_special_cards", "hot_7_enabled", "swap_enabled", "neg_4_enabled"),
    *("enable_start_block", "enable_friendly_fire", "enable_circular_board"),
    "must_traverse_start",
)
_MADN = ("enable_dice", "enable_extra_move_on_6", "enable_rethrow", "enable_forced_start")

PRESETS: dict[str, dict[str, object]] = {
    "madn": _preset(*_MADN),
    "madn2": _preset(*_MADN, num_players=2, sectors=4, layout=(0, 2)),
    "madn_teams": _preset("enable_dice", "enable_rethrow", *_TEAM_RACE),
    "dmadn": _preset(*_GOOD_START, "enable_extra_move_on_6"),
    "dmadn_teams": _preset(*_TEAM_RACE),
    "cards_plain": _preset("enable_cards"),
    "dog_nojoker": _preset(*_DOG, distance=16),
    "dog_solo": _preset(*_DOG, "joker_enabled", distance=16),
    "dog": _preset(*_DOG, "joker_enabled", "enable_teams", distance=16),
}


def _unlike_madn(preset: str, **options: object) -> dict[str, object]:
    """A preset as the options that it changes, with some more."""
    chosen = {**PRESETS[preset], **options}
    return {name: value for name, value in chosen.items() if value != PRESETS["madn"][name]}


# Short games with all that a die does not have, for the contract.
TRIED = (
    _unlike_madn("dmadn_teams", starter=DRAWN, max_plies=150),
    _unlike_madn("dog", distance=10, reveal="0.5", max_plies=150),
)
