"""The contract between a game and everything that plays it. Read this first.

A game is a name, a `Shape` (how large its record, its view and its lists of actions are) and a
dozen small functions over one flat record. The functions below named `turn`, `play`, `observe` ...
dispatch on the record: they run the rule of the game that a record belongs to, interpreted or
compiled. Search and batches use them and so know no game.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numba import from_dtype, types
from numba.extending import overload
from numpy.typing import DTypeLike, NDArray

from .chance import Stream, below, pick
from .compiled import Function, kernel, rule, stack_list
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
from .records import DEFAULT_VIEW, RecordType, Shape, layout, record, tag_of

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
    "Shape",
    "kernel",
    "layout",
    "record",
    "rule",
    "squeezed",
]

CHANCE = -1  # `turn`: nobody's move; a die is thrown or a card drawn
OVER = -2  # `turn`: the game has ended
ONLOOKER = -3  # a "seat" that sees what everybody sees: for `seen`, `news` and drawings

State: TypeAlias = Any
"""A record of a game. Its fields are the game's own, so no checker knows them."""
View: TypeAlias = Any
"""A record of a view."""
Kind: TypeAlias = np.dtype[Any] | types.Type
"""The type of a record, as NumPy or as numba knows it."""


# A game ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Planned:
    """A compiled player that follows numbers of its own: one function, many plans.

    All plans of a function have one dtype, so however many there are, it is compiled once.
    """

    follow: Function  # follow(s, seat, rng, plan)
    plan: State
    tuned: Mapping[str, range] = field(default_factory=dict)  # numbers of the plan that may change

    def __call__(self, s: State, seat: int, rng: Stream) -> int:
        return int(self.follow(s, seat, rng, self.plan))

    def under(self, name: str, text: str) -> Planned:
        """The same player with other numbers in its plan, from a text such as "depth=2"."""
        plans = np.array([self.plan])
        for part in text.split(","):
            key, _, value = part.partition("=")
            if key not in self.tuned:
                has = ", ".join(self.tuned) or "no options"
                raise GameError(f"{name} has no option {shown(key)}; it has: {has}")
            least, most = self.tuned[key][0], self.tuned[key][-1]
            if not value.isdecimal() or not least <= int(value[:9]) <= most:
                raise GameError(f"{name}: {key} is {least} to {most}, not {shown(value)}")
            plans[0][key] = int(value)
        return dataclasses.replace(self, plan=plans.view(self.plan.dtype)[0])


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
    label: Function = same_label
    margin: Function = None  # type: ignore[assignment]  # None: the score
    candidates: Function = None  # type: ignore[assignment]  # None: all legal actions
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
        if self.candidates is None:
            object.__setattr__(self, "candidates", self.actions)
        if self.text is None or getattr(self.text, "func", None) is fields_text:
            object.__setattr__(self, "text", functools.partial(fields_text, self.fresh))
        if self.seen is None or getattr(self.seen, "func", None) is view_text:
            object.__setattr__(self, "seen", functools.partial(view_text, self))
        if self.news is None or getattr(self.news, "func", None) is public_news:
            object.__setattr__(self, "news", functools.partial(public_news, self))
        _register(self)

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


# The names, overloaded by record type ----------------------------------------------------------

_GAMES: dict[Kind, Game] = {}  # by NumPy dtype, for the interpreter, and by numba type
_OBSERVERS: dict[tuple[Kind, Kind], Function] = {}  # likewise, by the types of a record and a view
_PLAYERS: dict[Kind, Function | Planned] = {}  # likewise, by the dtype of a player's token
_RULES: dict[str, dict[str, Function]] = {}  # by a record's name: the rules that it is played by
_OVERLOADED: list[str] = []  # the names of these rules


def _register(game: Game) -> None:
    """Make a game's rules those of its record. Kernels know a game by its record alone."""
    tag = tag_of(game.state).rsplit("_", 2)[0]  # without the sizes
    rules = {name: getattr(game, name) for name in _OVERLOADED}
    first = _RULES.setdefault(tag, rules)
    if different := [name for name in rules if rules[name] is not first[name]]:
        raise GameError(
            f"two games call their record {tag[4:]!r} and play it by different rules "
            f"({', '.join(different)}): give one of the records another name"
        )
    for name, choose_ in {"random": at_random, **game.players}.items():
        _register_player(game, name, choose_)
    for name, layout_ in game.views.items():
        observer = game.observers.get(name, game.observe)
        _OBSERVERS[game.state, layout_] = observer
        _OBSERVERS[from_dtype(game.state), from_dtype(layout_)] = observer
    _GAMES[game.state] = _GAMES[from_dtype(game.state)] = game


def _register_player(game: Game, name: str, choose_: Function | Planned) -> None:
    token_type = token(game, name).dtype
    first = _PLAYERS.setdefault(token_type, choose_)
    if getattr(first, "follow", first) is not getattr(choose_, "follow", choose_):
        raise GameError(f"{game.name} has two players {name!r}: give one of them another name")
    _PLAYERS[from_dtype(token_type)] = choose_


def game_of(s: State) -> Game:
    """The game that a record, or the numba type of one, belongs to."""
    return _GAMES[getattr(s, "dtype", s)]


def token(game: Game, player: str) -> State:
    """A record whose type says which compiled player is meant; its plan, where it has one."""
    who, tag = game.player(player), tag_of(game.state)
    fields = [(f"{player}_of_{tag}", np.int64)]
    if isinstance(who, Planned):
        plan = who.plan.dtype
        fields = [(f"{who.follow.__name__}_of_{tag}", np.int64)]
        fields += [(name, plan[name]) for name in plan.names or ()]
    tokens = np.zeros(1, np.dtype((np.record, fields)))
    if isinstance(who, Planned):
        tokens[0] = (0, *who.plan)
    return tokens[0]


def overloaded(stub: Function) -> Function:
    """Make `stub` mean, for a record, the rule of the same name of that record's game."""
    name = stub.__name__
    _OVERLOADED.append(name)

    @functools.wraps(stub)
    def interpreted(s: State, *rest: Any) -> Any:
        return getattr(game_of(s), name)(s, *rest)

    def typed(s, *rest):
        if s not in _GAMES:
            return None
        function = getattr(_GAMES[s], name)

        def implementation(s, *rest):
            return function(s, *rest)

        # The linker knows a function by this name and its types. Kernels from the disk cache are
        # linked together, so two names that share types must not share this one.
        implementation.__qualname__ = implementation.__name__ = f"{name}_of_a_record"
        return implementation

    overload(interpreted)(typed)
    return interpreted


@overloaded
def start(s: State, options: State) -> None:
    """Set the table before anything happened. Draws nothing: deals are chance moves."""


@overloaded
def turn(s: State) -> int:
    """The seat to move, CHANCE or OVER."""


@overloaded
def odds(s: State, out: NDArray[np.float64]) -> None:
    """At CHANCE: the probability of every outcome. out: float64 [num_outcomes]"""


@overloaded
def roll(s: State, rng: Stream) -> int:
    """At CHANCE: draw one outcome, play it and return it."""


@overloaded
def actions(s: State, out: NDArray[np.int16]) -> int:
    """Write the legal actions in ascending order and return how many. out: int16 [max_legal]"""


@overloaded
def candidates(s: State, out: NDArray[np.int16]) -> int:
    """Write the legal actions that are worth a search, as `actions` does: at least one of them."""


@overloaded
def play(s: State, action: int) -> None:
    """An action of the seat to move or, at CHANCE, an outcome. Checks nothing."""


@overloaded
def score(s: State, out: NDArray[np.float32]) -> None:
    """At OVER: what each seat got. out: float32 [seats]"""


@overloaded
def margin(s: State, out: NDArray[np.float32]) -> None:
    """At OVER: by how much each seat won, in card points or the like. out: float32 [seats]"""


def observe(s: State, seat: int, view: View) -> None:
    """Write what the seat sees: every position of the view that can ever be non-zero.

    A game with several views has a rule for the type of each.
    """
    _OBSERVERS[s.dtype, view.dtype](s, seat, view)


_OVERLOADED.append("observe")


@overload(observe)
def _observe(s, seat, view):
    if (s, view) not in _OBSERVERS:
        return None
    function = _OBSERVERS[s, view]

    def observe_of_a_record(s, seat, view):
        return function(s, seat, view)

    return observe_of_a_record


@overloaded
def redeal(s: State, seat: int, rng: Stream) -> None:
    """Replace what the seat cannot know by something equally possible."""


@overloaded
def known(s: State, seat: int) -> int:
    """A 64-bit hash of what the seat knows, never 0: the name of its information set."""


@overloaded
def flaw(s: State, fresh: State) -> int:
    """0 if the position can be played, or the number of what is wrong with it in `flaws`.

    fresh: the table before anything happened, which has what the options set. It must be safe with
    any bytes in `s`.
    """


@overloaded
def label(s: State, action: int) -> int:
    """What everybody sees of an action: its name independent of the hidden deal."""


def secret_moves(s: State) -> bool:
    """Whether seats decide before they see what others have decided, as with secret bids."""
    return game_of(s).secret_moves


_OVERLOADED.append("secret_moves")


@overload(secret_moves)
def _secret_moves(s):
    if s not in _GAMES:
        return None
    answer = _GAMES[s].secret_moves
    return lambda s: answer


def choose(who: State, s: State, seat: int, rng: Stream) -> int:
    """The action of the compiled player that the token `who` stands for."""
    function = _PLAYERS[who.dtype]
    if isinstance(function, Planned):
        return int(function.follow(s, seat, rng, who))
    return int(function(s, seat, rng))


@overload(choose)
def _choose(who, s, seat, rng):
    if who not in _PLAYERS:
        return None
    function = _PLAYERS[who]
    if isinstance(function, Planned):
        follow = function.follow
        return lambda who, s, seat, rng: follow(s, seat, rng, who)
    return lambda who, s, seat, rng: function(s, seat, rng)


def is_random(who: State) -> bool:
    """Whether a token stands for `random`, who looks at nothing but the list of actions."""
    return _PLAYERS[who.dtype] is at_random


@overload(is_random)
def _is_random(who):
    if who not in _PLAYERS:
        return None
    answer = _PLAYERS[who] is at_random
    return lambda who: answer


# Players and chance that every game has ---------------------------------------------------------


def room(kind: DTypeLike, size_of: Callable[[Game], int]) -> Function:
    """A function of a record that gives an empty list, as long as the record's game needs."""
    return stack_list(kind, lambda s: size_of(game_of(s)))


room_for_actions = room(np.int16, lambda game: game.max_legal)
room_for_odds = room(np.float64, lambda game: game.num_outcomes)


@rule
def at_random(s, seat, rng):
    """The player that every game has: any legal action."""
    legal = room_for_actions(s)
    return legal[below(rng, actions(s, legal))]


@rule
def roll_by_odds(s, rng):
    """Draw by `odds`: the `roll` of games that do not write their own."""
    chances = room_for_odds(s)
    odds(s, chances)
    outcome = pick(rng, chances)
    play(s, outcome)
    return outcome
