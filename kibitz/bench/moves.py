"""How long a person at one table waits for a player's move."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ..arena.table import Table
from ..devices import lanes
from ..games import load
from ..players import Player, player
from .timing import seconds


@dataclass(frozen=True)
class MoveBench:
    """A player at one table, in games against itself; moves without a choice are not counted."""

    game: str
    player: str
    moves: int
    median_ms: float
    """Half of the moves take less."""
    slow_ms: float
    """One move in ten takes longer."""
    first_ms: float
    """The first move, compilation included; it is not among the others."""
    threads: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def bench_move(
    name: str, options: Mapping[str, object], text: str, moves: int, seed: int = 0
) -> MoveBench:
    """Milliseconds per move of the player that `text` names, over so many moves."""
    game = load(name, **options)
    who = player(text, game)
    tables = (Table(game, seed=seed, index=index) for index in itertools.count())
    waits = itertools.chain.from_iterable(waited(table, who) for table in tables)
    first, *others = itertools.islice(waits, 1 + moves)
    return MoveBench(
        game=game.name,
        player=who.name,
        moves=moves,
        median_ms=1000 * float(np.median(others)),
        slow_ms=1000 * float(np.quantile(others, 0.9)),
        first_ms=1000 * first,
        threads=lanes(),
    )


def waited(table: Table, who: Player) -> Iterator[float]:
    """Seconds for every move with a choice of a game that the player plays against itself."""
    while not table.over:
        if len(table.actions) == 1:
            table.play(table.actions[0])
            continue
        chosen: list[int] = []
        yield seconds(lambda: chosen.append(table.ask(who)))  # noqa: B023
        table.play(chosen[0])
