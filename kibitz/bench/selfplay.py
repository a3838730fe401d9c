"""The speed of self-play beside that of its search, and where the time of an iteration goes."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..chance import streams
from ..devices import lanes
from ..game import Game, GameError
from ..games import load
from ..search.mcts import Search, Settings
from .timing import REPEATS, all_turns, seconds

if TYPE_CHECKING:
    from ..train.tree_search.loop import SearchMethod, SearchTraining

ROUND_SECONDS, ROUND_MOVES = 5.0, 20  # a round of self-play lasts so long, but has no more moves
LEARNING_ROUNDS = 3
CPU_TABLES = 64  # enough for the network, where a recipe for a GPU has thousands
STEPS = {"cpu": 1, "cuda": 20}  # of learning, in a round
GAMES_BEFORE = 2  # per table, so that tables are at different stages of their games
QUICK = Settings(simulations=4, root="gumbel")  # plays these games, as an untrained network would


@dataclass(frozen=True)
class SelfPlayBench:
    """Self-play with the untrained network of a recipe, its search alone, and the learner."""

    game: str
    device: str
    tables: int
    simulations: int
    """Per decision, as the recipe has it."""
    simulations_per_s: float
    """Of self-play. All of them are for decisions between several actions of a game under way."""
    search_simulations_per_s: float
    """Of the same search alone, on the same positions."""
    ratio: float
    batch: int
    steps_per_s: float
    """Of learning, with batches from the replay."""
    decisions_per_game: float
    searched_per_game: float
    shares: dict[str, float]
    """Of the time of an iteration without a gate: search, tables, replay and learning."""
    threads: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def bench_selfplay(
    name: str,
    options: Mapping[str, object],
    device: str,
    tables: int | None = None,
    which: str = "default",
) -> SelfPlayBench:
    """Measure one recipe. tables: games at the same time, by default what suits the device."""
    recipe = _recipe(name, which)
    recipe = replace(recipe, options={**recipe.options, **options})
    game = load(recipe.game, **recipe.options).through(recipe.view)
    with tempfile.TemporaryDirectory() as folder:
        usual = recipe.games if device == "cuda" else min(recipe.games, CPU_TABLES)
        method = _method(recipe, game, Path(folder), device, tables or usual)
        games = _games_of(method)
        played, thought = _speeds(method)
        learnt = _learning_seconds(method)
    return SelfPlayBench(
        game=game.name,
        device=device,
        tables=method.selfplay.size,
        simulations=recipe.search.simulations,
        simulations_per_s=played,
        search_simulations_per_s=thought,
        ratio=played / thought,
        batch=recipe.learning.batch,
        steps_per_s=1 / learnt,
        decisions_per_game=games.decisions,
        searched_per_game=games.searched,
        shares=_shares(recipe, games, played, thought, learnt),
        threads=lanes(),
    )


@dataclass(frozen=True)
class Games:
    """What a game amounts to, on average."""

    decisions: float
    searched: float
    """Decisions between several actions."""
    seconds: float
    """To put them on disk and into the replay."""


def _recipe(name: str, which: str) -> SearchTraining:
    from ..recipes import recipe
    from ..train.tree_search.loop import SearchTraining

    found = recipe(name, which)
    if not isinstance(found, SearchTraining):
        raise GameError(f"the recipe {which!r} of {name} does not learn from self-play by search")
    return found


def _method(
    recipe: SearchTraining, game: Game, path: Path, device: str, tables: int
) -> SearchMethod:
    from ..train.folder import RunFolder
    from ..train.tree_search.loop import SearchMethod

    folder = RunFolder(path)
    folder.shard(1).parent.mkdir()
    recipe = replace(recipe, games=tables, steps=STEPS[device])
    return SearchMethod(recipe, game, folder, device, seed=1)


def _games_of(method: SearchMethod) -> Games:
    """Play some games quickly: positions as self-play meets them, and a replay to learn from."""
    selfplay = method.selfplay
    search = Search(
        method.game, selfplay.size, QUICK, evaluator="uniform", device=selfplay.device.name
    )
    began = selfplay.clock
    while selfplay.ended < GAMES_BEFORE * selfplay.size:
        selfplay.move(search)
    stored = seconds(lambda: method.store(selfplay.taken()))
    decisions = sum(listed.rows for listed in method.replay.listed)
    searched = (selfplay.clock - began) * selfplay.size
    return Games(*(amount / selfplay.ended for amount in (decisions, searched, stored)))


def _speeds(method: SearchMethod) -> tuple[float, float]:
    """Simulations per second of self-play, and of its search alone."""
    selfplay, search = method.selfplay, method.searching(warm=False)
    took = max(seconds(lambda: selfplay.move(search)) for _ in range(2))  # the first one compiles
    moves = max(1, min(ROUND_MOVES, round(ROUND_SECONDS / took)))
    rngs = selfplay.device.put(streams(1, "search", selfplay.size))

    def play() -> None:
        for _ in range(moves):
            selfplay.move(search)
        selfplay.taken()

    def think() -> None:
        for _ in range(moves):
            search.think(selfplay.tables.states, rngs)
            search.roots()

    simulations = moves * selfplay.size * method.recipe.search.simulations
    played, thought = map(statistics.median, all_turns([play, think], selfplay.device, REPEATS))
    return simulations / played, simulations / thought


def _learning_seconds(method: SearchMethod) -> float:
    """Seconds of a step of learning, with its batch from the replay."""
    from ..train.tree_search.loop import Progress

    def learn() -> None:
        method.progress = Progress()
        method.learn(lambda activity, done, total: None)

    (took,) = all_turns([learn], method.selfplay.device, LEARNING_ROUNDS)
    return statistics.median(took) / method.recipe.steps


def _shares(
    recipe: SearchTraining, games: Games, played: float, thought: float, learnt: float
) -> dict[str, float]:
    """Where the time of an iteration goes. played, thought: simulations per second."""
    simulations = recipe.games * games.searched * recipe.search.simulations
    parts = {
        "search": simulations / thought,
        "tables": max(0.0, simulations / played - simulations / thought),
        "replay": recipe.games * games.seconds,
        "learning": recipe.steps * learnt,
    }
    return {part: took / sum(parts.values()) for part, took in parts.items()}
