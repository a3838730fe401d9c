"""The rules' names, overloaded by record: they run the rule of the game that a record belongs to.

`turn`, `play`, `observe` and the others are what search and batches call, interpreted or compiled,
and so they know no game. `game` registers every game here and hands the names on.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numba import from_dtype, types
from numba.extending import overload
from numpy.typing import DTypeLike, NDArray

from .chance import Stream, below, pick
from .compiled import Function, rule, stack_list
from .options import GameError, shown
from .records import tag_of

if TYPE_CHECKING:
    from .game import Game

State: TypeAlias = Any
"""A record of a game. Its fields are the game's own, so no checker knows them."""
View: TypeAlias = Any
"""A record of a view."""
Kind: TypeAlias = np.dtype[Any] | types.Type
"""The type of a record, as NumPy or as numba knows it."""


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


# The names --------------------------------------------------------------------------------------

_GAMES: dict[Kind, Game] = {}  # by NumPy dtype, for the interpreter, and by numba type
_OBSERVERS: dict[tuple[Kind, Kind], Function] = {}  # likewise, by the types of a record and a view
_PLAYERS: dict[Kind, Function | Planned] = {}  # likewise, by the dtype of a player's token
_RULES: dict[str, dict[str, Function]] = {}  # by a record's name: the rules that it is played by
_OVERLOADED: list[str] = []  # the names of these rules


def register(game: Game) -> None:
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


def are_tokens(game: Game, given: object) -> bool:
    """Whether these are tokens of compiled players of a game, at least one."""
    if not isinstance(given, np.ndarray) or given.ndim != 1 or not given.size:
        return False
    kind = given.dtype
    return kind in _PLAYERS and kind.names[0].endswith(f"_of_{tag_of(game.state)}")


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
def all_legal(s, out):
    """The candidates of games that do not say which of several alike actions are enough."""
    return actions(s, out)


@rule
def roll_by_odds(s, rng):
    """Draw by `odds`: the `roll` of games that do not write their own."""
    chances = room_for_odds(s)
    odds(s, chances)
    outcome = pick(rng, chances)
    play(s, outcome)
    return outcome
