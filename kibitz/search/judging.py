"""What searches of open games ask a game: names overloaded by the types of records and judges."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import from_dtype
from numba.extending import overload

from ..compiled import Function, rule
from ..game import Game, State, actions, game_of, known, room, room_for_actions
from ..open_rules import Judge
from ..records import tag_of

# Rules of open games -----------------------------------------------------------------------------


@rule
def known_by_all(s):
    """The key of a game without one: in an open game all seats know the same."""
    return known(s, 0)


@rule
def equal_urges(s, legal, count, out):
    """Actions are tried in their order."""
    for i in range(count):
        out[i] = 0


@rule
def count_listed(s):
    return actions(s, room_for_actions(s))


@rule
def nothing_decisive(s):
    return -1


@rule
def cannot_skip(s):
    """The move cannot be handed over: searches of such games do not ask for it."""


def dispatching(found: Callable[[Game, str], Function]) -> Callable[[Function], Function]:
    """Make a stub mean, for a record, the function of that name that is found in its game."""

    def dispatch(stub: Function) -> Function:
        name = stub.__name__

        @functools.wraps(stub)
        def interpreted(s: State, *rest: Any) -> Any:
            return found(game_of(s), name)(s, *rest)

        def typed(s, *rest):
            function = found(game_of(s), name)

            def implementation(s, *rest):
                return function(s, *rest)

            implementation.__qualname__ = implementation.__name__ = f"{name}_of_a_record"
            return implementation

        overload(interpreted)(typed)
        return interpreted

    return dispatch


def open_rule(default: Function) -> Callable[[Function], Function]:
    """The game's open rule of a name, or else the default."""
    return dispatching(lambda game, name: getattr(game.open_rules, name) or default)


@open_rule(known_by_all)
def key(s: State) -> int:
    """The name of a position as far as its future goes."""


@open_rule(equal_urges)
def urges(s: State, legal: Any, count: int, out: Any) -> None:
    """Which actions to try first: the highest numbers, from 0 to 255."""


@open_rule(count_listed)
def count(s: State) -> int:
    """How many legal actions there are."""


@open_rule(nothing_decisive)
def decisive(s: State) -> int:
    """An action that wins at once, or -1."""


feature_rule = dispatching(lambda game, name: getattr(game.open_rules.features, name))


@feature_rule
def present(s: State, seat: int, out: Any) -> int:
    """The features of a position as a seat sees it."""


@feature_rule
def changes(s: State, action: int, seat: int, out: Any) -> int:
    """The features that an action adds (feature + 1) and takes away (-(feature + 1))."""


def _most_features(game: Game) -> int:
    features = game.open_rules.features
    return 0 if features is None else features.most


room_for_features = room(np.int16, _most_features)


@open_rule(cannot_skip)
def skip(s: State) -> None:
    """Hand the move over."""


# Judges ------------------------------------------------------------------------------------------

EVEN = 10_000  # a judge's value is above -EVEN and below EVEN, which would be certain
_JUDGES: dict[Any, Judge] = {}  # by the type of a token, as NumPy and as numba know it


@rule
def undecided(s, plan, note):
    """The judge of games without one: who does not see the end sees nothing."""
    return 0


@rule
def no_note(s, plan, note):
    """Begin a note that says nothing."""


@rule
def same_note(s, action, plan, before, after):
    """Follow a move with a note that says nothing."""


NOBODY = Judge(undecided)


def judge_token(game: Game, judge: Judge) -> State:
    """A record whose type says which judge is meant, with its plan."""
    names = [(n, judge.plan.dtype[n]) for n in judge.plan.dtype.names or ()]
    kind = np.dtype(
        (np.record, [(f"{judge.value.__name__}_of_{tag_of(game.state)}", np.int64), *names])
    )
    token = np.zeros(1, kind)
    token[0] = (0, *(judge.plan[n] for n in judge.plan.dtype.names or ()))
    _JUDGES[kind] = _JUDGES[from_dtype(kind)] = judge
    return token[0]


def judged(who: State, s: State, note: State) -> int:
    """The value of a position to the seat to move, by the judge of the token `who`."""
    return int(_JUDGES[who.dtype].value(s, who, note))


@overload(judged)
def _judged(who, s, note):
    value = _JUDGES[who].value
    return lambda who, s, note: value(s, who, note)


def begin(who: State, s: State, note: State) -> None:
    """Write the judge's note for a position."""
    (_JUDGES[who.dtype].begin or no_note)(s, who, note)


@overload(begin)
def _begin(who, s, note):
    function = _JUDGES[who].begin or no_note
    return lambda who, s, note: function(s, who, note)


def follow(who: State, s: State, action: int, before: State, after: State) -> None:
    """Write the judge's note after an action at `s`, from the note there."""
    (_JUDGES[who.dtype].follow or same_note)(s, action, who, before, after)


@overload(follow)
def _follow(who, s, action, before, after):
    function = _JUDGES[who].follow or same_note
    return lambda who, s, action, before, after: function(s, action, who, before, after)


__all__ = ["NOBODY", "begin", "decisive", "follow", "judge_token", "judged", "key", "urges"]
