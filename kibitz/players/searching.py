"""Players that search a tree at every decision."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Literal, TypeAlias

import numpy as np

from ..chance import Streams
from ..game import Game
from ..options import shortened
from ..search.deciding import decide
from ..search.latent import LatentSearch
from ..search.lines import Line
from ..search.mcts import Evaluator, Search, Settings
from ..search.settings import Found, Integers, without_later
from .scripted import Scripted
from .sight import Actions, Player, PlayerError, Sight, States
from .texts import REGISTRY, check_options, limit, real, register, whole
from .thought import Candidate, Inquiry, Thought

LEAVES = 8  # of a tree that are evaluated together at a table alone, see docs/why.md
FIRST_PART = 16  # simulations before an analysis is shown for the first time
LARGEST_PART = 100_000
SECONDS_PER_PART = 0.2
ROOM = 200_000  # simulations that a tree grows by where a clock ends an analysis
COMPARED = 16  # likeliest moves that an analysis compares, whatever a network thinks of them ...
TRIES = 8  # ... and simulations of each of them in every round of halving


AnySearch: TypeAlias = Search | LatentSearch


class TreeSearch:
    """Tree search: PUCT or, where something is hidden, the same over information sets.

    Many tables are searched in lockstep, as many at a time as the device does well with. weights:
    hash and device of the network that the evaluator asks, where it asks one. leaves: how many of a
    tree such a network evaluates together; by default one, but several at a table alone.
    """

    def __init__(
        self,
        game: Game,
        settings: Settings,
        evaluator: Literal["rollout", "uniform"] | Evaluator,
        name: str,
        *,
        device: str = "cpu",
        weights: str = "",
        leaves: int | None = None,
    ) -> None:
        self.game, self.settings, self.evaluator, self.name = game, settings, evaluator, name
        trees, nodes = (512, 1 << 24) if device == "cpu" else (16384, 1 << 26)
        # With very many simulations fewer trees, or they would need more memory than there is.
        self.device, self.trees = device, min(trees, 1 + nodes // max(settings.simulations, 1))
        self.weights, self.leaves = weights, leaves
        self._searches: dict[tuple[int, int], AnySearch] = {}

    @property
    def identity(self) -> str:
        settings = without_later(asdict(self.settings))
        who, prior_share = settings.pop("rollout"), settings.pop("prior_share")
        if isinstance(self.evaluator, str):
            evaluator: str = self.evaluator  # answers to the bit the same on every device
            if evaluator == "rollout" and who != "random":
                evaluator = (
                    f"rollout by {Scripted(who, self.game).identity} prior_share={prior_share}"
                )
        elif self.weights:
            evaluator = f"net {self.weights}" + (f" leaves={self.leaves}" if self.leaves else "")
        else:
            return ""
        return f"tree search {json.dumps(settings, sort_keys=True)} {evaluator}"

    def choose(self, sight: Sight) -> Actions:
        chosen, states = sight.legal[0][:, 0].astype(np.int64), sight.imagine()
        for part in self._parts(sight):
            chosen[part] = self._decide(states[part], sight, part)
        return chosen

    def _decide(self, states: States, sight: Sight, part: Integers) -> Integers:
        """What to play at tables of these numbers; their streams advance."""
        size, leaves = self._room(len(part)), self._leaves(sight)
        again = np.arange(size) % len(part)
        decided = decide(self._ready(size, leaves), states[again], sight.rngs[part][again])
        sight.rngs[part] = decided.rngs[: len(part)]
        return decided.actions[: len(part)]

    def searched(self, sight: Sight, states: States) -> Iterator[tuple[Integers, Found]]:
        """What the search finds wherever there is a choice: numbers of tables, and what of them.

        states: as the player imagines the tables.
        """
        for part in self._parts(sight):
            # The streams are the player's: no search can foretell what the table will throw.
            rngs = sight.rngs[part]
            found = self.think(states[part], rngs, self._leaves(sight))
            sight.rngs[part] = rngs
            yield part, found

    def _parts(self, sight: Sight) -> Iterator[Integers]:
        """The numbers of tables where there is a choice, as many as are searched together."""
        open_ = np.flatnonzero(sight.legal[1] > 1)
        for first in range(0, len(open_), self.trees):
            yield open_[first : first + self.trees]

    def think(self, states: States, rngs: Streams, leaves: int = 1) -> Found:
        """Everything that the search finds; `rngs` advance."""
        size = self._room(len(states))
        search, again = self._ready(size, leaves), np.arange(size) % len(states)
        found = search.run(states[again], rngs[again]).first(len(states))
        rngs[:] = search.device.get(search.forest.rngs)[: len(states)]
        return found

    def _ready(self, size: int, leaves: int) -> AnySearch:
        """The search for so many tables, which is kept for the next decision."""
        if (size, leaves) not in self._searches:
            self._searches = {(size, leaves): self._search(size, self.settings, leaves)}
        return self._searches[size, leaves]

    def _search(self, size: int, settings: Settings, leaves: int) -> AnySearch:
        return Search(
            self.game, size, settings, evaluator=self.evaluator, device=self.device, leaves=leaves
        )

    def _leaves(self, sight: Sight) -> int:
        return self.leaves or (LEAVES if sight.alone else 1)

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        """Searches in parts, so that somebody can watch; Ctrl-C ends it with what there is."""
        search, part = self._analysis(inquiry.seconds, self._leaves(sight))
        assert isinstance(search, Search)
        most = search.settings.simulations
        began, done = time.monotonic(), min(1 + part, most)  # the first makes the root
        found = search.run(sight.imagine(), sight.rngs.copy(), simulations=done)
        thought = self._thought(search, found, sight, inquiry, time.monotonic() - began)
        try:
            while done < most if inquiry.seconds is None else thought.seconds < inquiry.seconds:
                inquiry.watch(thought)
                began_part = time.monotonic()
                count = part if inquiry.seconds is not None else min(part, most - done)
                found, done = search.more(count), done + count
                if time.monotonic() - began_part < SECONDS_PER_PART and part < LARGEST_PART:
                    part *= 2
                thought = self._thought(search, found, sight, inquiry, time.monotonic() - began)
            return self._compared(thought, sight)
        except KeyboardInterrupt:
            return thought

    def _compared(self, thought: Thought, sight: Sight) -> Thought:
        """The thought with values for moves that no simulation went through, too.

        A network that is sure of its move leaves none to the others. What they are worth comes from
        a search that tries all of them; it changes nothing else.
        """
        moves = thought.candidates
        if isinstance(self.evaluator, str) or all(move.visits for move in moves):
            return thought
        width = min(len(moves), COMPARED)
        settings = replace(
            self.settings,
            simulations=1 + TRIES * width * math.ceil(math.log2(width)),
            root="gumbel",
            considered=width,
            gumbel_scale=0.0,
            noise=0.0,
            seconds=None,
        )
        found = self._search(1, settings, 1).run(sight.imagine(), sight.rngs.copy())
        tried = [int(k) for k in np.flatnonzero(found.visits[0])]
        values = {int(found.actions[0, k]): float(found.values[0, k]) for k in tried}
        chosen, *others = (
            move if move.visits else replace(move, value=values.get(move.action)) for move in moves
        )
        others.sort(key=_visits_then_value, reverse=True)
        return replace(thought, candidates=(chosen, *others))

    def _analysis(self, seconds: float | None, leaves: int) -> tuple[AnySearch, int]:
        """A search of one table, and how many simulations come before it is first shown.

        Parts are whole batches of leaves: watching must not change what is found.
        """
        settings = replace(self.settings, seconds=None)
        if seconds is not None:  # the clock ends it; Gumbel search would need a number
            settings = replace(settings, simulations=ROOM, root="puct")
        first = -(-FIRST_PART // leaves) * leaves
        part = settings.simulations if settings.root == "gumbel" else first
        return self._search(1, settings, leaves), part

    def _thought(
        self, search: AnySearch, found: Found, sight: Sight, inquiry: Inquiry, seconds: float
    ) -> Thought:
        lines = self._lines(search, inquiry)
        actions, best = found.actions[0, : found.counts[0]].tolist(), int(found.best[0])
        candidates = [
            Candidate(
                action=action,
                text=sight.action_text(0, action),
                value=float(found.values[0, k]) if found.visits[0, k] else None,
                prior=float(found.priors[0, k]),
                visits=int(found.visits[0, k]),
                line=tuple(step.text for step in lines.get(action, ())[1:]),
            )
            for k, action in enumerate(actions)
        ]
        candidates.sort(key=lambda c: (c.action != best, -(c.visits or 0), -(c.prior or 0)))
        return Thought(
            player=self.name,
            seat=int(sight.seats[0]),
            candidates=tuple(candidates),
            value=float(found.value[0]),
            simulations=int(found.simulations[0]),
            nodes=int(search.device.get(search.forest.trees)["nodes"][0]),
            depth=max((len(line) for line in lines.values()), default=0),
            seconds=seconds,
        )

    def _lines(self, search: AnySearch, inquiry: Inquiry) -> dict[int, Line]:
        """What the most visited actions lead to, by action."""
        assert isinstance(search, Search)
        return {line[0].action: line for line in search.lines(0, inquiry.lines) if line}

    def _room(self, tables: int) -> int:
        """How many trees to make for so many tables.

        A GPU gets a power of two, some tables twice: making trees costs it more than using them.
        """
        return tables if self.device == "cpu" else 1 << (tables - 1).bit_length()


def _visits_then_value(move: Candidate) -> tuple[int, float]:
    if move.visits:
        return move.visits, 0.0
    return 0, -math.inf if move.value is None else move.value


@register("mcts", always=("sims",))
def mcts(
    game: Game,
    name: str,
    sims: str = "200",
    explore: str = "2",
    root: str = "puct",
    evaluator: str = "rollout",
    seconds: str = "",
    device: str = "cpu",
    **own: str,
) -> Player:
    """`mcts:sims=200`: tree search with rollouts; `evaluator=uniform` looks at the ends only.

    own: `rollout=NAME`, a compiled player of the game who plays the rollouts; else `random` does.
    """
    check_options("mcts", own, [*REGISTRY["mcts"].defaults, "rollout"])
    rollout = own.get("rollout", "random").lower()
    if root not in ("puct", "gumbel") or evaluator not in ("rollout", "uniform"):
        raise PlayerError("mcts: root is puct or gumbel, evaluator is rollout or uniform")
    if rollout != "random" and evaluator == "uniform":
        raise PlayerError(f"mcts: evaluator=uniform has no rollouts for {rollout} to play")
    if rollout not in ("random", *game.players):
        has = ", ".join(["random", *game.players])
        raise PlayerError(f"mcts: rollout={shortened(rollout)}: {game.name} has {has}")
    settings = Settings(
        simulations=whole("sims", sims, least=1),
        explore=real("explore", explore),
        root=root,  # type: ignore[arg-type]
        seconds=limit(seconds),
        rollout=rollout,
    )
    return TreeSearch(game, settings, evaluator, name, device=device)  # type: ignore[arg-type]
