"""The contract between a game and everything that plays it. Read this first.

A game is a name, a `Shape` (how large its record, its view and its lists of actions are) and a
dozen small functions over one flat record. `turn`, `play`, `observe` and the other names that are
handed on here from `dispatch` run the rule of the game that a record belongs to, interpreted or
compiled. Search and batches use them and so know no game.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import Function, kernel, rule
from .dispatch import (
    Planned,
    State,
    actions,
    all_legal,
    are_tokens,
    at_random,
    candidates,
    choose,
    flaw,
    game_of,
    is_random,
    known,
    label,
    margin,
    observe,
    odds,
    play,
    redeal,
    register,
    roll,
    roll_by_odds,
    room,
    room_for_actions,
    room_for_odds,
    score,
    secret_moves,
    start,
    token,
    turn,
)
from .notation import (
    NotationError,
    PositionColumns,
    checked_text,
    fields_text,
    parse_fields,
    public_news,
    squeezed,
    view_text,
)
from .open_rules import OpenRules
from .options import GameError, OptionError, Options, shown
from .records import DEFAULT_VIEW, RecordType, Shape, layout, record

__all__ = [
    "CHANCE",
    "DEFAULT_VIEW",
    "ONLOOKER",
    "OVER",
    "Game",
    "GameError",
    "NotationError",
    "OptionError",
    "Options",
    "Planned",
    "Shape",
    "State",
    "actions",
    "are_tokens",
    "candidates",
    "choose",
    "flaw",
    "game_of",
    "is_random",
    "kernel",
    "known",
    "label",
    "layout",
    "margin",
    "observe",
    "odds",
    "play",
    "record",
    "redeal",
    "roll",
    "roll_by_odds",
    "room",
    "room_for_actions",
    "room_for_odds",
    "rule",
    "score",
    "secret_moves",
    "squeezed",
    "start",
    "token",
    "turn",
]

CHANCE = -1  # `turn`: nobody's move; a die is thrown or a card drawn
OVER = -2  # `turn`: the game has ended
ONLOOKER = -3  # a "seat" that sees what everybody sees: for `seen`, `news` and drawings


# A game ----------------------------------------------------------------------------------------


@rule
def same_label(s, action):
    """The label of an action whose number everybody may know."""
    return action


@rule
def nothing_hidden(s, seat, rng):
    """The re-deal of a game without secrets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Game:
    """A game with its options chosen. A game's file ends with one, called GAME, under the defaults.

    `bind(dice=(4, 5))` is the same game under other options. Attributes named like the functions of
    this module are the game's own rules; call them with plain ints.
    """

    name: str
    version: int  # of the rules and the view: a network remembers it
    shape: Shape | Callable[..., Shape]  # of the options
    start: Function
    turn: Function
    actions: Function
    play: Function
    score: Function
    observe: Function
    observers: Mapping[str, Function] = field(default_factory=dict)  # of further views, by name
    known: Function
    odds: Function
    roll: Function = field(default_factory=lambda: roll_by_odds)
    redeal: Function = nothing_hidden
    lay_open: Function | None = None  # lay_open(states), in place: all seats see all from now on
    label: Function = same_label
    margin: Function = None  # type: ignore[assignment]  # None: the score
    candidates: Function = field(default_factory=lambda: all_legal)  # that are worth a search
    flaw: Function | None = None  # flaw(s, fresh): 0, or which of `flaws` a position has
    flaws: tuple[str, ...] = ()  # what each number of `flaw` means, the first being 1
    text: Function = None  # type: ignore[assignment]  # None: what is not as at the start
    parse: Function = field(default_factory=lambda: parse_fields)
    seen: Function = None  # type: ignore[assignment]  # None: the view in words
    about: Function = lambda s: ""  # what a person reads of this table's cards, beside the rules
    action_text: Function = lambda s, action: str(action)
    news: Function = None  # type: ignore[assignment]  # news(s, seat, move); None: see `public_news`
    parse_action: Function | None = None  # None: whatever `action_text` says of a legal action
    # a whole game in a JSON format of its own: game_text(game, moves) and parse_game(game, text)
    game_text: Function | None = None
    parse_game: Function | None = None
    case_matters: bool = False  # whether upper and lower case differ in `text`, as in chess
    onlookers: bool = False  # whether `seen` and `news` know ONLOOKER; if not, it sees nothing
    options: Options = field(default_factory=Options)
    presets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    # option sets that the contract tries beside the defaults and the presets; None: for each option
    # its least and its largest value, and all its words
    tried: Sequence[Mapping[str, object]] | None = None
    columns: PositionColumns | None = None  # positions in data files; None: there are none
    open_rules: OpenRules = field(default_factory=OpenRules)  # for searches, if nothing is hidden
    # choose(s, seat, rng) by name, the strongest first: a person plays against that one
    players: Mapping[str, Function | Planned] = field(default_factory=dict)
    next_round: Function | None = None  # match play in rounds, see arena.match
    open_spiel: Function | None = None  # options -> the text that loads the same game there
    score_range: tuple[float, float] = (-1.0, 1.0)
    zero_sum: bool = True
    perfect_recall: bool = False  # whether the view shows all that the seat ever saw
    secret_moves: bool = False  # whether seats decide before they see what others have decided
    deduces: bool = True  # whether `redeal` heeds what follows from the moves others could make
    viewed: str = DEFAULT_VIEW  # which of its views the game is seen through

    sizes: Shape = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = self.shape if isinstance(self.shape, Shape) else self.shape(self.options)
        object.__setattr__(self, "sizes", sizes)
        self._check_views()
        if self.margin is None:
            object.__setattr__(self, "margin", self.score)
        if self.text is None or getattr(self.text, "func", None) is fields_text:
            object.__setattr__(self, "text", functools.partial(fields_text, self.fresh))
        if self.seen is None or getattr(self.seen, "func", None) is view_text:
            object.__setattr__(self, "seen", functools.partial(view_text, self))
        if self.news is None or getattr(self.news, "func", None) is public_news:
            object.__setattr__(self, "news", functools.partial(public_news, self))
        register(self)

    def _check_views(self) -> None:
        named, observed = set(self.views), {DEFAULT_VIEW, *self.observers}
        if named != observed:
            odd = ", ".join(sorted(named ^ observed))
            raise GameError(f"{self.name}: a view has a layout and an observer, but {odd} has one")
        if self.viewed not in named:
            has = ", ".join(self.views)
            raise GameError(f"{self.name} has no view {shown(self.viewed)}; it has: {has}")

    def through(self, view: str) -> Game:
        """This game as networks see it that read another of its views."""
        return self if view == self.viewed else dataclasses.replace(self, viewed=view)

    def bind(self, **options: object) -> Game:
        """This game under other options; texts such as "4,5" are read."""
        if (preset := options.pop("preset", None)) is not None:
            if not isinstance(preset, str) or preset not in self.presets:
                has = ", ".join(self.presets) or "none"
                raise OptionError(f"{self.name} has no preset {shown(preset)}; it has: {has}")
            options = {**self.presets[preset], **options}
        now = {f.name: getattr(self.options, f.name) for f in dataclasses.fields(self.options)}
        return self.under(type(self.options).read({**now, **options}))

    def under(self, options: Options) -> Game:
        """This game under exactly these options."""
        return dataclasses.replace(self, options=options)

    # what the game is

    @property
    def seats(self) -> int:
        return self.sizes.seats

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of every seat; without partners every seat is a team of its own."""
        return self.sizes.teams

    @property
    def captains(self) -> list[int]:
        """The first seat of every team: what it scores, its partners score."""
        return [self.teams.index(team) for team in range(max(self.teams) + 1)]

    @property
    def num_actions(self) -> int:
        return self.sizes.num_actions

    @property
    def num_outcomes(self) -> int:
        return self.sizes.num_outcomes

    @property
    def max_legal(self) -> int:
        return self.sizes.max_legal

    @property
    def state(self) -> RecordType:
        return self.sizes.state

    @property
    def views(self) -> Mapping[str, RecordType]:
        """The layouts of all views, by name."""
        return self.sizes.views

    @property
    def view(self) -> RecordType:
        return self.views[self.viewed]

    @property
    def view_size(self) -> int:
        return self.view.itemsize // 4

    def player(self, text: str) -> Function | Planned:
        """The compiled player of this name, which may be followed by options of its plan."""
        name, colon, options = text.partition(":")
        who = at_random if name == "random" else self.players.get(name)
        if who is None:
            has = ", ".join(["random", *self.players])
            raise GameError(f"{self.name} has no compiled player {shown(text)}; there are: {has}")
        if not colon:
            return who
        if not isinstance(who, Planned):
            raise GameError(f"{shown(text)}: {name} has no options")
        return who.under(name, options)

    def describe(self) -> dict[str, Any]:
        """All that must agree between a saved network or record and this game."""
        description = {
            "name": self.name,
            "version": self.version,
            "options": dataclasses.asdict(self.options),
            "view": [[n, list(self.view[n].shape)] for n in self.view.names or ()],
            "actions": self.num_actions,
        }
        if self.viewed != DEFAULT_VIEW:
            description["viewed"] = self.viewed
        if len(self.captains) < self.seats:  # without partners nothing changes for older files
            description["teams"] = list(self.teams)
        return description

    @functools.cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of `describe`."""
        description = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(description.encode()).hexdigest()[:16]

    # one state at a time, for tables and tests; `batch` is for many

    def fresh(self) -> State:
        """The table before anything happened."""
        s = np.zeros(1, self.state)[0]
        self.start(s, self.options.numbers())
        return s

    def copy(self, s: State) -> State:
        """A state that no longer shares anything with `s`."""
        twin = np.zeros(1, self.state)
        twin[0] = s
        return twin[0]

    def legal(self, s: State) -> list[int]:
        """The legal actions of the seat to move."""
        out = np.zeros(self.max_legal, np.int16)
        return [int(a) for a in out[: self.actions(s, out)]]

    def moves(self, s: State) -> list[int]:
        """What can happen next: legal actions, possible outcomes, or nothing at the end."""
        who = self.turn(s)
        if who == OVER:
            return []
        return (
            [o for o, p in enumerate(self.chances(s)) if p > 0] if who == CHANCE else self.legal(s)
        )

    def chances(self, s: State) -> list[float]:
        """The probability of every outcome at a chance move."""
        out = np.zeros(self.num_outcomes, np.float64)
        self.odds(s, out)
        return [float(p) for p in out]

    def scores(self, s: State) -> list[float]:
        """What each seat got, once the game is over."""
        if self.turn(s) != OVER:
            raise GameError(
                f"{self.name}: the game is not over, nobody has won yet: {self.text(s)}"
            )
        out = np.zeros(self.seats, np.float32)
        self.score(s, out)
        return [float(x) for x in out]

    def look(self, s: State, seat: int) -> NDArray[np.float32]:
        """What one seat sees, as the numbers a network would get. [view_size]"""
        view = np.zeros(1, self.view)
        self.observers.get(self.viewed, self.observe)(s, self.seat(seat), view[0])
        return view.view(np.float32).reshape(-1)

    def sight_text(self, s: State, seat: int) -> str:
        """The table in words as a seat, or an onlooker, sees it."""
        if seat == ONLOOKER:
            return str(self.seen(s, ONLOOKER)) if self.onlookers else ""
        return str(self.seen(s, self.seat(seat)))

    def news_text(self, s: State, seat: int, move: int) -> str:
        """What a seat, or an onlooker, learns in words when `move` happens; empty for nothing."""
        return str(self.news(s, seat, move)) if seat != ONLOOKER or self.onlookers else ""

    def seat(self, seat: int) -> int:
        """`seat` itself, once it is known to be one."""
        if not isinstance(seat, (int, np.integer)) or not 0 <= seat < self.seats:
            raise GameError(f"{self.name} has the seats 0 to {self.seats - 1}, not {shown(seat)}")
        return int(seat)

    def read(self, text: str) -> State:
        """The position in this notation: the inverse of `text`."""
        s = self.fresh()
        self.parse(s, checked_text(text))
        if wrong := self.wrong_with(s):
            raise NotationError(f"{text!r} is no position of {self.name}: {wrong}")
        return s

    def wrong_with(self, s: State) -> str:
        """What is wrong with a position, empty if nothing: compiled rules check nothing.

        By the game's own `flaw` or, without one, by bounds: each field is as in random play.
        """
        if self.flaw is not None:
            number = int(self.flaw(s, self.fresh()))
            return self.flaws[number - 1] if number else ""
        from .batch import out_of_bounds

        return out_of_bounds(self, np.array([s]))

    def read_action(self, s: State, text: str) -> int:
        """The legal action that `text` names, in any case and with any blanks."""
        if self.parse_action is not None:
            return int(self.parse_action(s, checked_text(text)))
        typed = squeezed(checked_text(text))
        for action in self.moves(s):
            if squeezed(self.action_text(s, action)) == typed:
                return action
        raise NotationError(f"{text!r} is not an action here; there are: {self.choices(s)}")

    def choices(self, s: State) -> str:
        """The legal actions (or possible outcomes) as one line of text."""
        return ", ".join(self.action_text(s, a) for a in self.moves(s))
