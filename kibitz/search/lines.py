"""The lines that a search expects to be played, for people to read.

A tree keeps no states, so a line is played once more, at tables that the searching seat may
imagine: copies of the root with all that it cannot know dealt anew. The true cards are never looked
at. A line ends where the tree ends, or where what the seat learns next depends on chance or on
hidden cards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..chance import streams
from ..game import CHANCE, OVER, Game, State
from .tree import NO_EDGE, slot_of
from .walk import node_name

Records = NDArray[np.void]
Stream = np.record

IMAGINED = 16  # tables per line: an action may be possible at a few of them only


@dataclass(frozen=True)
class Step:
    """One action of a line."""

    seat: int
    action: int  # at an imagined table: the hand of another seat may be in another order
    text: str  # as the searching seat hears of it
    visits: int
    value: float  # mean, for the searching seat


Line = list[Step]
Table = tuple[State, Stream]  # an imagined position, and the stream that settles its chance


@dataclass(frozen=True)
class GrownTree:
    """One tree in the host's memory, with the position that it grew from."""

    game: Game
    position: State
    seat: int  # who thinks
    root: np.uint64  # its name
    nodes: Records
    edges: Records

    def lines(self, count: int, depth: int) -> list[Line]:
        """Those of the `count` root actions with the most visits, the most visited first."""
        visited = sorted(self._visited_edges(self.root), key=lambda edge: -int(edge.visits))
        return [self._line(edge, depth) for edge in visited[:count]]

    def _visited_edges(self, name: np.uint64) -> Iterator[np.record]:
        slot = slot_of(self.nodes, name)
        i = int(self.nodes["edge"][slot]) if self.nodes["name"][slot] == name else NO_EDGE
        while i != NO_EDGE:
            if self.edges[i].visits > 0:
                yield self.edges[i]
            i = int(self.edges[i].next)

    def _line(self, edge: np.record | None, depth: int) -> Line:
        tables, line = imagined(self.game, self.position, self.seat), Line()
        while edge is not None and len(line) < depth:
            able = [(table, a) for table in tables if (a := self._action(table, edge)) is not None]
            if not able:
                break
            line.append(self._step(edge, able[0][0], able[0][1]))
            for (s, _), action in able:
                self.game.play(s, action)
            tables = [table for table, _ in able]
            edge = self._continuation(tables)
        return line

    def _action(self, table: Table, edge: np.record) -> int | None:
        """The action of this label, if the table allows it."""
        s, _ = table
        return next((a for a in self.game.legal(s) if self.game.label(s, a) == edge.label), None)

    def _step(self, edge: np.record, table: Table, action: int) -> Step:
        s, _ = table
        return Step(
            seat=int(self.game.turn(s)),
            action=action,
            text=self.game.news(s, self.seat, action),
            visits=int(edge.visits),
            value=float(edge.value[self.seat]) / int(edge.visits),
        )

    def _continuation(self, tables: list[Table]) -> np.record | None:
        """The most visited edge of the node that all tables have come to, if it is one node."""
        names = {self._next_name(*table) for table in tables}
        name = names.pop()
        if names or name is None:
            return None
        return max(self._visited_edges(name), key=lambda edge: int(edge.visits), default=None)

    def _next_name(self, s: State, rng: Stream) -> np.uint64 | None:
        """The name of the next decision; None if there is none or the seat sees a throw."""
        while (who := self.game.turn(s)) == CHANCE:
            if sees_chance(self.game, s, self.seat):
                return None
            self.game.roll(s, rng)
        return None if who == OVER else np.uint64(node_name(s, self.seat, who))


def imagined(game: Game, position: State, seat: int) -> list[Table]:
    """Copies of a position with other hidden cards, the same for all positions that look alike."""
    tables = [(game.copy(position), rng) for rng in streams(0, "search", IMAGINED)]
    for s, rng in tables:
        game.redeal(s, seat, rng)
    return tables


def sees_chance(game: Game, s: State, seat: int) -> bool:
    """Whether what the seat knows depends on the outcome of the chance move at hand."""
    known = set()
    for outcome in game.moves(s):
        after = game.copy(s)
        game.play(after, outcome)
        known.add(int(game.known(after, seat)))
    return len(known) > 1
