"""A game on trial: many positions from random play, and the handful of questions promises ask."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..chance import below, stream
from ..game import CHANCE, OVER, Game, nothing_hidden
from ..games import load
from ..notation import fields_text, own_fields

State = Any  # a record of the game
Rng = Any  # a stream of `chance`
Item = TypeVar("Item")

LONGEST = 20_000  # moves after which a game counts as endless
MOST_MOVES = 30_000  # of all playouts together: long games get fewer
MOST_POSITIONS = 400  # of each kind: chance, decision, end
REHEARSED = 10  # a rehearsal does one part in so many
SPARE = 64  # entries behind a list of actions that must stay as they are
UNWRITTEN = -7


class Broken(AssertionError):
    """A promise that the game does not keep; the message says where."""


class NotTried(Exception):
    """A promise that cannot be put to the test here."""


# What a rule was asked last ----------------------------------------------------------------------

ASKED = (
    *("start", "turn", "odds", "roll", "actions", "play", "score", "margin", "observe", "redeal"),
    *(
        "candidates",
        "known",
        "label",
        "flaw",
        "text",
        "parse",
        "seen",
        "about",
        "action_text",
        "news",
    ),
)
LOADING = "loading the game's file"
LAST_ARGUMENT = {
    **{rule: ["out"] for rule in ("odds", "actions", "candidates", "score", "margin")},
    **{rule: ["rng"] for rule in ("roll", "redeal")},
    **{"observe": ["view"], "start": ["options"], "flaw": ["fresh"], "parse": ["text"]},
}


class Note:
    """The question that was last put to a rule: what to name when the rule fails or never ends."""

    def __init__(self) -> None:
        self.count = 0
        self.elsewhere = ""  # what another process does for this one
        self.rule = ""
        self.given: tuple[Any, ...] = ()
        self._bytes, self._kind = b"", np.dtype(np.uint8)

    def ask(self, rule: str, function: Any, s: State, *given: Any) -> Any:
        """Ask a rule; the note stays if it raises."""
        self.count += 1
        self.rule, self.given = rule, given
        self._bytes, self._kind = s.tobytes(), s.dtype
        answer = function(s, *given)
        self.answered()
        return answer

    def answered(self) -> None:
        """Forget the question."""
        self.rule = ""

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Note that a game's file is being loaded, which may never end, too."""
        self.count, self.rule, self._bytes = self.count + 1, LOADING, b""
        yield
        self.answered()

    def call(self) -> str:
        """The question as it stands in a program, such as `play(s, 3)`; empty if it was answered.

        Another thread may ask while rules are running.
        """
        rule, given = self.rule, self.given
        if rule == LOADING:
            return rule
        numbers = [str(g) for g in given if isinstance(g, (int, np.integer))]
        return (
            f"`{rule}({', '.join(['s', *numbers, *LAST_ARGUMENT.get(rule, [])])})`" if rule else ""
        )

    def before(self) -> State | None:
        """The state as it was when the question was asked."""
        if not self._bytes:
            return None
        return np.frombuffer(bytearray(self._bytes), self._kind)[0]


NOTE = Note()


def noting(game: Game) -> Game:
    """The same game, whose rules leave a note of what they are asked."""
    twin = copy.copy(game)  # made without `__init__`: a record still stands for the game itself
    for name in ASKED:
        if (asked := getattr(game, name)) is not None:
            vars(twin)[name] = functools.partial(NOTE.ask, name, asked)
    return twin


def plain_text(s: State | None) -> str:
    """The fields that are not zero: a position in words without asking any rule."""
    if s is None:
        return ""
    shown = [f"{n}={_flat(s[n])}" for n in own_fields(s) if np.any(s[n])]
    return " ".join(shown) or "all fields 0"


def trial_of(request: Mapping[str, Any]) -> Trial:
    """The trial that another process asked for."""
    given = {n: tuple(v) if isinstance(v, list) else v for n, v in request["options"].items()}
    wanted = {n: request[n] for n in ("seed", "games", "device", "rehearsal")}
    with NOTE.loading():
        game = load(request["name"], **given)
    return Trial(request["name"], game, **wanted)


# Random play -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Playout:
    """One game of random play."""

    moves: list[int]  # actions and chance outcomes
    states: list[State]  # one more than moves
    ended: bool


@dataclass(frozen=True)
class Trial:
    """A game with a seed, and random play with it; promises look at its positions."""

    name: str | Path
    """How `games.load` finds the game, in this process and in another."""
    game: Game
    seed: int = 1
    games: int = 100
    """How many games are played; everything a promise does grows with it."""
    device: str = "cpu"
    rehearsal: bool = False
    """Whether little is tried, in the interpreter, before anything is compiled."""

    @functools.cached_property
    def rules(self) -> Game:
        """The game, whose rules leave a note of every question."""
        return noting(self.game)

    @functools.cached_property
    def faces(self) -> dict[str, Game]:
        """The same through each of its views, by the name of the view."""
        others = (name for name in self.game.views if name != self.game.viewed)
        return {self.game.viewed: self.rules} | {n: noting(self.game.through(n)) for n in others}

    def request(self) -> dict[str, Any]:
        """What another process must know to make the same trial."""
        options = dataclasses.asdict(self.game.options)
        return {
            "name": str(self.name),
            "options": options,
            "seed": self.seed,
            "games": self.games,
            "device": self.device,
            "rehearsal": self.rehearsal,
        }

    @property
    def hides(self) -> bool:
        """Whether the game has a re-deal of its own."""
        return self.game.redeal is not nothing_hidden

    def most(self, number: int) -> int:
        """How many to try where a whole trial tries `number`."""
        return max(1, number // REHEARSED) if self.rehearsal else number

    def thinned(self, positions: list[State], most: int) -> list[State]:
        """At most so many of them, fewer in a rehearsal, from all over the list."""
        return thinned(positions, self.most(most))

    def rng(self, index: int = 0) -> Rng:
        """A stream for re-deals and trials, apart from those that made the positions."""
        return stream(self.seed, "search", index)

    @functools.cached_property
    def playouts(self) -> list[Playout]:
        played: list[Playout] = []
        left = self.most(MOST_MOVES)
        while len(played) < self.games and left > 0:
            played.append(self._playout(len(played)))
            left -= len(played[-1].moves)
        return played

    def _playout(self, index: int) -> Playout:
        rng, s = stream(self.seed, "table", index), self.rules.fresh()
        moves: list[int] = []
        states = [self.game.copy(s)]
        while len(moves) < LONGEST:
            who = self.turn(s)
            if who == CHANCE:
                moves.append(int(self.rules.roll(s, rng)))
            else:
                legal = self.legal(s) if who >= 0 else []
                if not legal:
                    break
                moves.append(legal[int(below(rng, len(legal)))])
                self.rules.play(s, moves[-1])
            states.append(self.game.copy(s))
        return Playout(moves, states, ended=self.turn(s) == OVER)

    # Positions, no two the same

    @functools.cached_property
    def _positions(self) -> dict[bool | int, list[State]]:
        met = {s.tobytes(): s for playout in self.playouts for s in playout.states}
        kinds: dict[bool | int, list[State]] = {CHANCE: [], OVER: [], 0: []}
        for s in met.values():
            kinds[min(self.turn(s), 0)].append(s)
        thin, most = np.random.default_rng(self.seed), self.most(MOST_POSITIONS)
        for kind, found in kinds.items():
            if len(found) > most:
                kept = np.sort(thin.choice(len(found), most, replace=False))
                kinds[kind] = [found[i] for i in kept]
        return kinds

    @property
    def chances(self) -> list[State]:
        """Positions at a chance move."""
        return self._positions[CHANCE]

    @property
    def decisions(self) -> list[State]:
        """Positions where a seat is to move."""
        return self._positions[0]

    @property
    def ends(self) -> list[State]:
        """Positions where the game is over."""
        return self._positions[OVER]

    # Questions, asked with plain ints

    def turn(self, s: State) -> int:
        who = self.rules.turn(s)
        if who is None or not OVER <= int(who) < self.game.seats:
            raise Broken(f"{self.at(s)}: `turn` says {who}, and there is no such seat")
        return int(who)

    def written(self, s: State) -> tuple[Any, int]:
        """What `actions` wrote, into more room than it may use, and the number it returned."""
        out = np.full(max(self.game.num_actions, self.game.max_legal) + SPARE, UNWRITTEN, np.int16)
        return out, int(self.rules.actions(s, out))

    def legal(self, s: State) -> list[int]:
        """The legal actions; what is no action is left out, and `actions_ascend` tells of it."""
        out, n = self.written(s)
        return [int(a) for a in out[: max(n, 0)] if 0 <= a < self.game.num_actions]

    def odds(self, s: State) -> Any:
        """The odds at a chance move; what the rule did not write is not a number."""
        out = np.full(self.game.num_outcomes, np.nan, np.float64)
        self.rules.odds(s, out)
        return out

    def moves(self, s: State) -> list[int]:
        """Possible outcomes or legal actions."""
        if self.turn(s) == CHANCE:
            return [int(o) for o in np.flatnonzero(self.odds(s) > 0)]
        return self.legal(s)

    def known(self, s: State, seat: int) -> int:
        return int(self.rules.known(s, seat))

    def choice(self, player: str, s: State, seat: int, rng: Rng) -> int:
        """What one of the game's own players would do."""
        return int(NOTE.ask(f"player {player}", self.game.players[player], s, seat, rng))

    def read(self, text: str) -> State:
        """The position that `text` tells."""
        if not self.rehearsal:
            return self.rules.read(text)
        s = self.rules.fresh()  # without bounds by field, which many games are played for
        self.rules.parse(s, text)
        return s

    def after(self, s: State, move: int) -> State:
        """A copy on which the move was made."""
        t = self.game.copy(s)
        self.rules.play(t, move)
        return t

    def redealt(self, s: State, seat: int, rng: Rng) -> State:
        """A copy in which what the seat cannot know is dealt anew."""
        t = self.game.copy(s)
        self.rules.redeal(t, seat, rng)
        return t

    def play_on(self, s: State, rng: Rng) -> None:
        """Random play on `s` itself to the end, which must come."""
        for _ in range(LONGEST):
            who = self.turn(s)
            if who == OVER:
                return
            if who == CHANCE:
                self.rules.roll(s, rng)
            else:
                legal = self.legal(s)
                if not legal:
                    raise Broken(f"{self.at(s)}: seat {who} is to move and has no legal action")
                self.rules.play(s, legal[int(below(rng, len(legal)))])
        raise Broken(f"{self.at(s)}: no end after {LONGEST} more moves")

    # In words

    def at(self, s: State) -> str:
        """Where we are: the game and the position in its notation."""
        try:
            shown = self.game.text(s)
        except Exception:  # a text that fails is the business of `texts_parse_back`
            shown = fields_text(self.game.fresh, s)
        return f"{self.game.name} at {shown!r}"

    def differences(self, s: State, t: State) -> str:
        """The fields in which two states differ."""
        names = [n for n in s.dtype.names or () if s[n].tobytes() != t[n].tobytes()]
        return ", ".join(f"{n} {_flat(s[n])} / {_flat(t[n])}" for n in names) or "nothing"


def thinned(items: list[Item], most: int) -> list[Item]:
    """At most so many of them, from all over the list."""
    return items[:: max(1, -(-len(items) // most))]


def _flat(values: Any) -> str:
    return ",".join(str(v) for v in np.asarray(values).reshape(-1))
