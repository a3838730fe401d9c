"""A game on trial: many positions from random play, and the handful of questions promises ask."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..chance import below, stream
from ..game import CHANCE, OVER, Game
from ..notation import fields_text

State = Any  # a record of the game
Rng = Any  # a stream of `chance`

LONGEST = 20_000  # moves after which a game counts as endless
MOST_MOVES = 30_000  # of all playouts together: long games get fewer
MOST_POSITIONS = 400  # of each kind: chance, decision, end
SPARE = 64  # entries behind a list of actions that must stay as they are
UNWRITTEN = -7


class Broken(AssertionError):
    """A promise that the game does not keep; the message says where."""


class NotTried(Exception):
    """A promise that cannot be put to the test here."""


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

    def rng(self, index: int = 0) -> Rng:
        """A stream for re-deals and trials, apart from those that made the positions."""
        return stream(self.seed, "search", index)

    @functools.cached_property
    def playouts(self) -> list[Playout]:
        made: list[Playout] = []
        left = MOST_MOVES
        while len(made) < self.games and left > 0:
            made.append(self._playout(len(made)))
            left -= len(made[-1].moves)
        return made

    def _playout(self, index: int) -> Playout:
        rng, s = stream(self.seed, "table", index), self.game.fresh()
        moves: list[int] = []
        states = [self.game.copy(s)]
        while len(moves) < LONGEST:
            who = self.turn(s)
            if who == CHANCE:
                moves.append(int(self.game.roll(s, rng)))
            else:
                legal = self.legal(s) if who >= 0 else []
                if not legal:
                    break
                moves.append(legal[int(below(rng, len(legal)))])
                self.game.play(s, moves[-1])
            states.append(self.game.copy(s))
        return Playout(moves, states, ended=self.turn(s) == OVER)

    # Positions, no two the same

    @functools.cached_property
    def _positions(self) -> dict[bool | int, list[State]]:
        met = {s.tobytes(): s for playout in self.playouts for s in playout.states}
        kinds: dict[bool | int, list[State]] = {CHANCE: [], OVER: [], 0: []}
        for s in met.values():
            kinds[min(self.turn(s), 0)].append(s)
        thin = np.random.default_rng(self.seed)
        for kind, found in kinds.items():
            if len(found) > MOST_POSITIONS:
                kept = np.sort(thin.choice(len(found), MOST_POSITIONS, replace=False))
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
        who = int(self.game.turn(s))
        if not OVER <= who < self.game.seats:
            raise Broken(f"{self.at(s)}: it is the turn of {who}, and there is no such seat")
        return who

    def written(self, s: State) -> tuple[Any, int]:
        """What `actions` wrote, into more room than it may use, and the number it returned."""
        out = np.full(max(self.game.num_actions, self.game.max_legal) + SPARE, UNWRITTEN, np.int16)
        return out, int(self.game.actions(s, out))

    def legal(self, s: State) -> list[int]:
        """The legal actions; what is no action is left out, and `actions_ascend` tells of it."""
        out, n = self.written(s)
        return [int(a) for a in out[: max(n, 0)] if 0 <= a < self.game.num_actions]

    def odds(self, s: State) -> Any:
        """The odds at a chance move; what the rule did not write is not a number."""
        out = np.full(self.game.num_outcomes, np.nan, np.float64)
        self.game.odds(s, out)
        return out

    def moves(self, s: State) -> list[int]:
        """Possible outcomes or legal actions."""
        if self.turn(s) == CHANCE:
            return [int(o) for o in np.flatnonzero(self.odds(s) > 0)]
        return self.legal(s)

    def known(self, s: State, seat: int) -> int:
        return int(self.game.known(s, seat))

    def after(self, s: State, move: int) -> State:
        """A copy on which the move was made."""
        t = self.game.copy(s)
        self.game.play(t, move)
        return t

    def redealt(self, s: State, seat: int, rng: Rng) -> State:
        """A copy in which what the seat cannot know is dealt anew."""
        t = self.game.copy(s)
        self.game.redeal(t, seat, rng)
        return t

    def play_on(self, s: State, rng: Rng) -> None:
        """Random play on `s` itself to the end, which must come."""
        for _ in range(LONGEST):
            who = self.turn(s)
            if who == OVER:
                return
            if who == CHANCE:
                self.game.roll(s, rng)
            else:
                legal = self.legal(s)
                if not legal:
                    raise Broken(f"{self.at(s)}: seat {who} is to move and has no legal action")
                self.game.play(s, legal[int(below(rng, len(legal)))])
        raise Broken(f"{self.at(s)}: no end after {LONGEST} more moves")

    # How it is told

    def at(self, s: State) -> str:
        """Where we are: the game and the position in its notation."""
        try:
            told = self.game.text(s)
        except Exception:  # a text that fails is the business of `texts_parse_back`
            told = fields_text(self.game.fresh, s)
        return f"{self.game.name} at {told!r}"

    def differences(self, s: State, t: State) -> str:
        """The fields in which two states differ."""
        names = [n for n in s.dtype.names or () if s[n].tobytes() != t[n].tobytes()]
        return ", ".join(f"{n} {_flat(s[n])} / {_flat(t[n])}" for n in names) or "nothing"


def some(positions: list[State], most: int) -> list[State]:
    """At most so many of them, from all over the list."""
    return positions[:: max(1, -(-len(positions) // most))]


def _flat(values: Any) -> str:
    return ",".join(str(v) for v in np.asarray(values).reshape(-1))
