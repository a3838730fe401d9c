"""The contract between a game and everything that plays it. Read this first.

A game is a name, a `Shape` (how large its record, its view and its lists of actions are) and a
dozen small functions over one flat record. The functions below named `turn`, `play`, `observe` ...
are the same names seen from upstairs: given a record they run the rule of whichever game the record
belongs to, interpreted or compiled. Search and batches use them and so know no game.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numba import from_dtype
from numba import types as nbtypes
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .chance import below, pick
from .compiled import Function, caller_module, edition, kernel, rule
from .options import GameError, OptionError, Options, shown

__all__ = [
    "CHANCE",
    "OVER",
    "Game",
    "GameError",
    "OptionError",
    "Options",
    "Shape",
    "kernel",
    "layout",
    "record",
    "rule",
]

CHANCE = -1  # `turn`: nobody's move; a die is thrown or a card drawn
OVER = -2  # `turn`: the game has ended

State = Any  # an np.record of the game's dtype
View = Any  # an np.record of the game's view dtype


class NotationError(GameError):
    """A text that is no position or no action."""


# Records ---------------------------------------------------------------------------------------


def record(name: str, *fields: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype of a game's state: `record("kuhn", ("card", np.int8, 2), ("length", np.int8))`.

    Fields are sorted widest first and a named tail fills up to 8 bytes, so there are no gaps and
    equal states are equal bytes. A tag field keeps any two games from sharing a type.
    """
    tag = f"tag_{name}" + (f"_{own}" if (own := edition(caller_module())) else "")
    every = [*fields, (tag, np.uint8)]
    for told in every:
        _check_field(name, told)
    every.sort(key=lambda told: -np.dtype(told[1]).itemsize)
    used = np.dtype(every).itemsize
    if used % 8:
        every.append(("tail", np.uint8, (-used % 8,)))
    flat = np.dtype(every, align=True)
    assert flat.itemsize == sum(flat[n].itemsize for n in flat.names or ()), "a record with gaps"
    return np.dtype((np.record, flat))


def _tag(state: np.dtype[Any]) -> str:
    """The field that tells a game's record from all others."""
    return next(name for name in state.names or () if name.startswith("tag_"))


def layout(*fields: tuple[str, Any]) -> np.dtype[Any]:
    """The dtype of a view: float32 numbers in the order written, `layout(("card", 3))`."""
    told = [(name, np.float32, shape) for name, shape in fields]
    for each in told:
        _check_field("a view", each)
    return np.dtype((np.record, told))


def _check_field(owner: str, told: tuple[Any, ...]) -> None:
    name, kind = told[0], np.dtype(told[1])
    if hasattr(np.ndarray, name) or hasattr(np.record, name) or not name.isidentifier():
        raise GameError(f"{owner}: a field cannot be called {name!r}, NumPy uses that name")
    if kind.kind not in "iuf":
        raise GameError(f"{owner}: field {name!r} is {kind}; use integers (0 and 1 for no and yes)")


# A game ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large a game is, under given options."""

    seats: int
    num_actions: int  # actions are the integers below this
    num_outcomes: int  # chance outcomes likewise
    state: np.dtype[Any]
    view: np.dtype[Any]
    max_legal: int = 0  # room for the legal actions; num_actions unless told

    def __post_init__(self) -> None:
        """Write into the record's tag the sizes that compiled code takes from its type."""
        legal = self.max_legal or self.num_actions
        tag = f"{_tag(self.state)}_{legal}_{self.num_outcomes}"
        fields = [
            (tag if n == _tag(self.state) else n, self.state[n]) for n in self.state.names or ()
        ]
        object.__setattr__(self, "state", np.dtype((np.record, fields)))
        object.__setattr__(self, "max_legal", legal)


@dataclass(frozen=True, eq=False)
class Planned:
    """A compiled player that follows numbers of its own: one function, many plans.

    All plans of a function have one dtype, so however many there are, it is compiled once.
    """

    follow: Function  # follow(s, seat, rng, plan)
    plan: State

    def __call__(self, s: State, seat: int, rng: Any) -> int:
        return int(self.follow(s, seat, rng, self.plan))


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
    shape: Shape | Callable[[Any], Shape]
    start: Function
    turn: Function
    actions: Function
    play: Function
    score: Function
    observe: Function
    known: Function
    odds: Function
    roll: Function = field(default_factory=lambda: roll_by_odds)
    redeal: Function = nothing_hidden
    label: Function = same_label
    margin: Function = None  # type: ignore[assignment]  # None: the score
    flaw: Function | None = None  # flaw(s, fresh): 0, or which of `flaws` a position has
    flaws: tuple[str, ...] = ()  # how positions are, for those that are not; the first is number 1
    text: Function = None  # type: ignore[assignment]  # None: what is not as at the start
    parse: Function = field(default_factory=lambda: parse_fields)
    seen: Function = None  # type: ignore[assignment]  # None: the view in words
    about: Function = lambda s: ""  # what a person reads of this table's cards, beside the rules
    action_text: Function = lambda s, action: str(action)
    news: Function = None  # type: ignore[assignment]  # news(s, seat, move); None: see `public_news`
    parse_action: Function | None = None  # None: whatever `action_text` says of a legal action
    options: Options = field(default_factory=Options)
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # option sets that the contract tries beside the defaults and the presets; None: for each option
    # its least and its largest value, and all its words
    tried: Sequence[Mapping[str, Any]] | None = None
    # choose(s, seat, rng) by name, the strongest first: a person plays against that one
    players: Mapping[str, Function | Planned] = field(default_factory=dict)
    next_round: Function | None = None  # match play in rounds, see arena.match
    open_spiel: Function | None = None  # options -> the text that loads the same game there
    score_range: tuple[float, float] = (-1.0, 1.0)
    zero_sum: bool = True
    perfect_recall: bool = False  # whether the view tells all that the seat ever saw
    deduces: bool = True  # whether `redeal` heeds what follows from the moves others could make

    sizes: Shape = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = self.shape if isinstance(self.shape, Shape) else self.shape(self.options)
        object.__setattr__(self, "sizes", sizes)
        if self.margin is None:
            object.__setattr__(self, "margin", self.score)
        if self.text is None or getattr(self.text, "func", None) is fields_text:
            object.__setattr__(self, "text", functools.partial(fields_text, self.fresh))
        if self.seen is None or getattr(self.seen, "func", None) is view_text:
            object.__setattr__(self, "seen", functools.partial(view_text, sizes.view))
        if self.news is None or getattr(self.news, "func", None) is public_news:
            object.__setattr__(self, "news", functools.partial(public_news, self))
        _register(self)

    def bind(self, **options: Any) -> Game:
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
    def num_actions(self) -> int:
        return self.sizes.num_actions

    @property
    def num_outcomes(self) -> int:
        return self.sizes.num_outcomes

    @property
    def max_legal(self) -> int:
        return self.sizes.max_legal

    @property
    def state(self) -> np.dtype[Any]:
        return self.sizes.state

    @property
    def view(self) -> np.dtype[Any]:
        return self.sizes.view

    @property
    def view_size(self) -> int:
        return self.view.itemsize // 4

    def describe(self) -> dict[str, Any]:
        """All that must agree between a saved network or record and this game."""
        return {
            "name": self.name,
            "version": self.version,
            "options": dataclasses.asdict(self.options),
            "view": [[n, list(self.view[n].shape)] for n in self.view.names or ()],
            "actions": self.num_actions,
        }

    @functools.cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of `describe`."""
        told = json.dumps(self.describe(), sort_keys=True).encode()
        return hashlib.sha256(told).hexdigest()[:16]

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

    def look(self, s: State, seat: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """What one seat sees, as the numbers a network would get. [view_size]"""
        view = np.zeros(1, self.view)
        self.observe(s, self.seat(seat), view[0])
        return view.view(np.float32).reshape(-1)

    def seat(self, seat: int) -> int:
        """`seat` itself, once it is known to be one."""
        if not isinstance(seat, (int, np.integer)) or not 0 <= seat < self.seats:
            raise GameError(f"{self.name} has the seats 0 to {self.seats - 1}, not {shown(seat)}")
        return int(seat)

    def read(self, text: str) -> State:
        """The position that `text` tells: the inverse of `text`."""
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
        told = squeezed(checked_text(text))
        for action in self.moves(s):
            if squeezed(self.action_text(s, action)) == told:
                return action
        raise NotationError(f"{text!r} is not an action here; there are: {self.choices(s)}")

    def choices(self, s: State) -> str:
        """The legal actions (or possible outcomes) as one line of text."""
        return ", ".join(self.action_text(s, a) for a in self.moves(s))


def checked_text(text: str) -> str:
    """`text` itself, once it is known to be one."""
    if not isinstance(text, str):
        raise NotationError(f"a position or an action is told by a text, not by {shown(text)}")
    return text


def squeezed(text: str) -> str:
    """Lower case, no blanks: how input of people is compared."""
    return "".join(text.lower().split())


# The names, overloaded by record type ----------------------------------------------------------

_GAMES: dict[Any, Game] = {}  # by NumPy dtype, for the interpreter, and by numba type
_PLAYERS: dict[Any, Function | Planned] = {}  # likewise, by the dtype of a player's token
_TAGS: dict[str, Function] = {}  # the `play` of the game that uses a record's name


def _register(game: Game) -> None:
    tag = _tag(game.state).rsplit("_", 2)[0]  # without the sizes
    if _TAGS.setdefault(tag, game.play) is not game.play:
        raise GameError(f"two games call their record {tag[4:]!r}: give one of them another name")
    _GAMES[game.state] = _GAMES[from_dtype(game.state)] = game
    for name, choose_ in {"random": at_random, **game.players}.items():
        token_type = token(game, name).dtype
        _PLAYERS[token_type] = _PLAYERS[from_dtype(token_type)] = choose_


def game_of(s: Any) -> Game:
    """The game that a record, or the numba type of one, belongs to."""
    return _GAMES[getattr(s, "dtype", s)]


def token(game: Game, player: str) -> State:
    """A record whose type says which compiled player is meant; its plan, where it has one."""
    who, tag = game.players.get(player), _tag(game.state)
    fields = [(f"{player}_of_{tag}", np.int64)]
    if isinstance(who, Planned):
        plan = who.plan.dtype
        fields = [(f"{who.follow.__name__}_of_{tag}", np.int64)]
        fields += [(name, plan[name]) for name in plan.names or ()]
    made = np.zeros(1, np.dtype((np.record, fields)))
    if isinstance(who, Planned):
        made[0] = (0, *who.plan)
    return made[0]


def overloaded(stub: Function) -> Function:
    """Make `stub` mean, for a record, the rule of the same name of that record's game."""
    name = stub.__name__

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
def odds(s: State, out: Any) -> None:
    """At CHANCE: the probability of every outcome. out: float64 [num_outcomes]"""


@overloaded
def roll(s: State, rng: Any) -> int:
    """At CHANCE: draw one outcome, play it and return it."""


@overloaded
def actions(s: State, out: Any) -> int:
    """Write the legal actions in ascending order and return how many. out: int16 [max_legal]"""


@overloaded
def play(s: State, action: int) -> None:
    """An action of the seat to move or, at CHANCE, an outcome. Checks nothing."""


@overloaded
def score(s: State, out: Any) -> None:
    """At OVER: what each seat got. out: float32 [seats]"""


@overloaded
def margin(s: State, out: Any) -> None:
    """At OVER: by how much each seat won, in card points or the like. out: float32 [seats]"""


@overloaded
def observe(s: State, seat: int, view: View) -> None:
    """Write what the seat sees: every position of the view that can ever be non-zero."""


@overloaded
def redeal(s: State, seat: int, rng: Any) -> None:
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


def choose(who: State, s: State, seat: int, rng: Any) -> int:
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


# Room for lists inside compiled code ------------------------------------------------------------


def room(kind: Any, size_of: Callable[[Game], int]) -> Any:
    """A function of a record that gives an empty list on the stack, as long as its game needs.

    The length is part of the record's type, so a GPU thread can have the list in its own memory. It
    is an intrinsic because numba lets no function return an array of its own on a GPU.
    """
    if numba.config.DISABLE_JIT:
        return lambda s: np.empty(size_of(game_of(s)), kind)
    listed = nbtypes.Array(from_dtype(np.dtype(kind)), 1, "C")

    @intrinsic
    def on_the_stack(typing_context, s):
        size = size_of(game_of(s))

        def generate(context, builder, signature, args):
            item = context.get_value_type(listed.dtype)
            data = cgutils.alloca_once(builder, item, size=context.get_constant(nbtypes.intp, size))
            array = context.make_array(listed)(context, builder)
            width = context.get_abi_sizeof(item)
            context.populate_array(
                array,
                data=data,
                shape=[context.get_constant(nbtypes.intp, size)],
                strides=[context.get_constant(nbtypes.intp, width)],
                itemsize=context.get_constant(nbtypes.intp, width),
                meminfo=None,
            )
            return array._getvalue()

        return listed(s), generate

    return on_the_stack


room_for_actions = room(np.int16, lambda game: game.max_legal)
room_for_odds = room(np.float64, lambda game: game.num_outcomes)


@rule
def at_random(s, seat, rng):
    """The player that every game has: any legal action."""
    legal = room_for_actions(s)
    return legal[below(rng, actions(s, legal))]


@rule
def roll_by_odds(s, rng):
    """Chance as `odds` tells it: what a game gets that does not write its own `roll`."""
    chances = room_for_odds(s)
    odds(s, chances)
    outcome = pick(rng, chances)
    play(s, outcome)
    return outcome


# Notation that every game has -------------------------------------------------------------------

LONG = 16  # numbers of a field


def fields_text(start: Callable[[], State], s: State) -> str:
    """A position as its fields that are not as at the start: "card=0,2 length=1"; or "start".

    Of a long field the zeros at its end are left out.
    """
    told, fresh = [], start()
    for name in told_fields(s):
        values = np.asarray(s[name]).reshape(-1)
        if not np.array_equal(values, np.asarray(fresh[name]).reshape(-1)):
            if len(values) > LONG:
                values = values[: 1 + max(np.flatnonzero(values), default=0)]
            told.append(f"{name}={','.join(str(v) for v in values)}")
    return " ".join(told) or "start"


def parse_fields(s: State, text: str) -> None:
    """The inverse of `fields_text`; a field left out stays as it was."""
    fields = {name.lower(): name for name in told_fields(s)}
    parts = text.lower().replace(" =", "=").replace("= ", "=").replace(", ", ",").split()
    for part in parts if parts != ["start"] else ():
        told, _, values = part.partition("=")
        if told not in fields:
            has = ", ".join(fields)
            raise NotationError(f"{part!r}: there is no field {told!r}; there are {has}")
        s[fields[told]] = _numbers(part, values, s.dtype[fields[told]])


def public_news(game: Game, s: State, seat: int, move: int) -> str:
    """What a seat hears when a move happens at `s`, unless the game says otherwise.

    Actions are public. Outcomes of chance are, too, where nothing is hidden; elsewhere nobody hears
    of them, for a card that is drawn is mostly a secret, and its owner sees it in hand.
    """
    if game.turn(s) == CHANCE and game.redeal is not nothing_hidden:
        return ""
    return str(game.action_text(s, move))


def _numbers(part: str, values: str, field: np.dtype[Any]) -> Any:
    size = int(np.prod(field.shape))
    try:
        given = np.array(values.split(","), field.base)
        if LONG < size > len(given):
            given = np.pad(given, (0, size - len(given)))
        return given.reshape(field.shape)
    except (ValueError, OverflowError):
        told = f"{field.base} {list(field.shape)}"
        raise NotationError(f"{part!r}: that is not {told}") from None


def told_fields(s: State) -> Sequence[str]:
    """The fields of a record that the game wrote, without the house's own."""
    return [n for n in s.dtype.names or () if n != "tail" and not n.startswith("tag_")]


def view_text(layout: np.dtype[Any], s: State, seat: int) -> str:
    """The table as one seat sees it, in words: the parts of its view that are not zero."""
    view = np.zeros(1, layout)
    observe(s, seat, view[0])
    lines = []
    for name in view.dtype.names or ():
        values = view[name][0]
        where = [",".join(map(str, at)) for at in np.argwhere(values)]
        told = [
            w if v == 1 else f"{w}:{v:g}" for w, v in zip(where, values[values != 0], strict=True)
        ]
        lines.append(f"{name}: {' '.join(told) or '-'}")
    return "\n".join(lines)
