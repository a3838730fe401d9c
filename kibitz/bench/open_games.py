"""The speed of searches of open games: perft, alpha-beta, its features and its threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch
from ..game import Game
from ..games import load
from ..search.deepening import FEATURES, AlphaBeta, Limits, check_open, stripped
from ..search.perft import perft
from ..search.transpositions import PROVEN

States = NDArray[np.void]

PERFT_NODES = 30_000_000  # the depth of perft is the least with so many
SHALLOW = 5  # positions that are decided within so many plies are left out
BATCHES = 4  # of random play, until there are enough positions
DEEP_SLOTS = 1 << 20
ROUNDS = 9  # of searches with one thread and with two


@dataclass(frozen=True)
class FeatureBench:
    """What a search needs without something."""

    without: str
    nodes: int
    seconds: float


@dataclass(frozen=True)
class OpenBench:
    """Searches on one core, and on several."""

    positions: int
    perft_depth: int
    perft_bulk_per_s: float
    """Sequences per second, the last moves counted but not played."""
    perft_played_per_s: float
    depth: int
    nodes_per_s: float
    """Of alpha-beta with the game's own judge, on one core."""
    features: list[FeatureBench]
    """To the same depth without each feature in turn, and without all."""
    share_of_plain: float
    """Nodes with all features, per nodes of plain alpha-beta."""
    deep: int
    threads_ratio: float
    """Seconds to the depth `deep` with two threads, per those with one."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def bench_open(
    name: str, options: Mapping[str, object], *, positions: int, depth: int, deep: int
) -> OpenBench:
    """Measure searches from positions of random play that are not decided soon."""
    game = load(name, **options)
    check_open(game)
    bare = stripped(game)
    tables = open_positions(bare, positions)
    levels, speeds = perft_speeds(bare, tables[0])
    searched = {
        "nothing": to_depth(bare, tables, depth),
        **{f: to_depth(bare, tables, depth, without=[f]) for f in FEATURES},
        "all": to_depth(bare, tables, depth, without=[*FEATURES]),
        "nothing, with null moves": to_depth(bare, tables, depth, null_move=True),
    }
    nodes, seconds = searched["nothing"]
    return OpenBench(
        positions=len(tables),
        perft_depth=levels,
        perft_bulk_per_s=speeds[0],
        perft_played_per_s=speeds[1],
        depth=depth,
        nodes_per_s=nodes / seconds,
        features=[FeatureBench(off, *found) for off, found in searched.items()],
        share_of_plain=nodes / searched["all"][0],
        deep=deep,
        threads_ratio=threads_ratio(bare, tables, deep),
    )


def open_positions(game: Game, count: int) -> States:
    """Positions of random play that are not decided within a few plies."""
    thinker, found = AlphaBeta(game), list[np.void]()
    for seed in range(BATCHES):
        batch = Batch(game, 4 * count, seed=seed)
        batch.settle()
        batch.wander(8)
        batch.settle()
        for s in batch.host()[np.asarray(batch.turns()) >= 0]:
            if abs(thinker.search(s, Limits(depth=SHALLOW)).best.score) < PROVEN:
                found.append(s.copy())
            if len(found) == count:
                return np.array(found, game.state)
    return np.array(found, game.state)


def perft_speeds(game: Game, s: np.void) -> tuple[int, tuple[float, float]]:
    """The depth, and sequences per second in bulk and played; the better of two."""
    depth = 1
    while perft(game, s, depth, bulk=True).nodes < PERFT_NODES:
        depth += 1
    bulk, played = (
        max(perft(game, s, depth, bulk=way).nodes_per_s for _ in range(2)) for way in (True, False)
    )
    return depth, (bulk, played)


def to_depth(
    game: Game,
    tables: States,
    depth: int,
    *,
    without: Sequence[str] = (),
    null_move: bool = False,
) -> tuple[int, float]:
    """Nodes and seconds of all searches."""
    thinker = AlphaBeta(game, without=without, null_move=null_move)
    found = [thinker.search(s, Limits(depth=depth)) for s in tables]
    return sum(f.nodes for f in found), sum(f.seconds for f in found)


def threads_ratio(game: Game, tables: States, depth: int) -> float:
    """Seconds to a depth with two threads, per those with one: the median of several rounds.

    Positions take turns. The first round touches the tables' memory for the first time.
    """
    thinkers = [AlphaBeta(game, threads=n, slots=DEEP_SLOTS) for n in (1, 2)]
    took = np.zeros((1 + ROUNDS, 2))
    for taken in took:
        for s in tables:
            taken += [thinker.search(s, Limits(depth=depth)).seconds for thinker in thinkers]
    alone, together = np.median(took[1:], axis=0)
    return float(together / alone)
