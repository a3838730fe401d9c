"""Somebody who sits down: what a seat may know goes in, an action comes out.

A player is asked about many tables at once and never gets a state. It gets a `Sight`: the view, the
legal actions, and tables it may imagine. A sight is made from re-dealt copies, so the truth is not
in it, however hard one looks.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .batch import Batch, Cpu
from .game import Game, GameError
from .search.mcts import Evaluator, Found, Search, Settings
from .search.tree import uniforms_all


class PlayerError(GameError):
    """A player's name that means nobody, or an option it does not have."""


class Sight:
    """What the seats to move at some tables may know.

    seats: who is asked, by table [n]. rngs: a chance stream a table for the player's own use [n].
    """

    def __init__(self, game: Game, states: Any, seats: Any, rngs: Any) -> None:
        self.game = game
        self.seats = np.ascontiguousarray(seats, np.int64)
        self.rngs = np.array(rngs)
        self._tables = Batch.of(game, np.array(states), self.rngs)
        self._tables.redeal(self.seats, self.rngs)

    def __len__(self) -> int:
        return len(self.seats)

    @cached_property
    def views(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """What a network would get. float32 [n, view_size]"""
        return np.asarray(self._tables.observe(self.seats))

    @cached_property
    def legal(self) -> tuple[Any, Any]:
        """The legal actions, ascending, and how many. int16 [n, max_legal], int64 [n]"""
        return self._tables.actions()

    @property
    def actions(self) -> list[list[int]]:
        """The legal actions as lists, by table."""
        return [[int(a) for a in row[:n]] for row, n in zip(*self.legal, strict=True)]

    def imagine(self) -> Any:
        """A table each that could be the real one, drawn with the player's stream. records [n]"""
        copies = self._tables.states.copy()
        Batch.of(self.game, copies, self.rngs).redeal(self.seats, self.rngs)
        return copies

    def told(self, i: int) -> str:
        """Table i in words, as the seat sees it."""
        return str(self.game.seen(self._tables.states[i], int(self.seats[i])))

    def action_text(self, i: int, action: int) -> str:
        """An action at table i in words."""
        return str(self.game.action_text(self._tables.states[i], action))

    def read_action(self, i: int, text: str) -> int:
        """The action at table i that somebody has typed."""
        return self.game.read_action(self._tables.states[i], text)

    def ask(self, compiled: str) -> Any:
        """What a compiled player of the game would do at every table. int64 [n]"""
        return self._tables.choose(compiled, self.seats, self.rngs)


class Player(Protocol):
    """Anything with a name that answers a sight with an action a table."""

    name: str

    def choose(self, sight: Sight) -> Any:
        """Legal actions, one a table. integers [n]"""


class Compiled:
    """A player that the game's own file brings along, or `random`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def choose(self, sight: Sight) -> Any:
        return sight.ask(self.name)


class TreeSearch:
    """Tree search: PUCT or, where something is hidden, the same over information sets.

    Many tables are searched in lockstep, `trees` at a time.
    """

    def __init__(
        self,
        game: Game,
        settings: Settings,
        evaluator: Any,
        name: str,
        *,
        device: str = "cpu",
        trees: int = 512,
    ) -> None:
        self.game, self.settings, self.evaluator, self.name = game, settings, evaluator, name
        self.device, self.trees = device, trees
        self._searches: dict[int, Search] = {}

    def choose(self, sight: Sight) -> Any:
        states, chosen = sight.imagine(), np.zeros(len(sight), np.int64)
        for first in range(0, len(sight), self.trees):
            part = slice(first, min(first + self.trees, len(sight)))
            # The streams are the player's: no search can foretell what the table will throw.
            chosen[part] = self.think(states[part], sight.rngs[part]).best
        return chosen

    def think(self, states: Any, rngs: Any) -> Found:
        """The whole search, for who wants to see more than the move; `rngs` move on."""
        size, given = len(states), {"evaluator": self.evaluator, "device": self.device}
        if size not in self._searches:
            self._searches = {size: Search(self.game, size, self.settings, **given)}
        search = self._searches[size]
        found = search.run(states, rngs)
        rngs[:] = search.device.get(search.forest.rngs)
        return found


class NetPlayer:
    """A network's policy without search.

    mode: `argmax` plays the likeliest action; `sample` draws from the policy, flattened or
    sharpened by `temperature`.
    """

    ROWS = 512  # every call has this many rows, so that an answer does not depend on who else asks

    def __init__(
        self,
        evaluator: Evaluator,
        mode: str = "argmax",
        temperature: float = 1.0,
        name: str = "net",
    ) -> None:
        if mode not in ("argmax", "sample"):
            raise PlayerError(f"mode={mode}: there are argmax and sample")
        self.evaluator, self.mode, self.temperature, self.name = evaluator, mode, temperature, name

    def choose(self, sight: Sight) -> Any:
        legal, counts = sight.legal
        logits = self.logits(sight)
        rows = np.arange(len(sight))[:, None]
        worth = np.where(np.arange(legal.shape[1]) < counts[:, None], logits[rows, legal], -np.inf)
        if self.mode == "sample":  # the largest of logits plus Gumbel noise is a draw from them
            uniform = np.zeros(worth.shape)
            Cpu().run(uniforms_all, len(sight), sight.rngs, uniform)
            worth = worth / self.temperature - np.log(-np.log(uniform))
        return legal[rows[:, 0], worth.argmax(1)].astype(np.int64)

    def logits(self, sight: Sight) -> Any:
        """The network's logits. [n, num_actions]"""
        views, parts = sight.views, []
        room = self.evaluator.room(self.ROWS, views.shape[1])
        for first in range(0, len(views), self.ROWS):
            part = views[first : first + self.ROWS]
            room[: len(part)] = _like(room, part)
            parts.append(_host(self.evaluator(room)[0])[: len(part)])
        return np.concatenate(parts)


def _like(room: Any, part: Any) -> Any:
    """Numbers as whatever kind of array `room` is."""
    return room.new_tensor(part) if hasattr(room, "new_tensor") else part


def _host(array: Any) -> Any:
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


Factory = Callable[..., Player]
REGISTRY: dict[str, Factory] = {}  # by name: called with the game and the options in the text


def register(name: str) -> Callable[[Factory], Factory]:
    """Name a kind of player: the text `mcts:sims=200` calls its factory with sims="200"."""

    def keep(factory: Factory) -> Factory:
        REGISTRY[name] = factory
        return factory

    return keep


@register("mcts")
def mcts(
    game: Game,
    sims: str = "200",
    explore: str = "2",
    root: str = "puct",
    evaluator: str = "rollout",
    seconds: str = "",
) -> Player:
    """`mcts:sims=200`: tree search with rollouts; `evaluator=uniform` looks at the ends only."""
    if root not in ("puct", "gumbel") or evaluator not in ("rollout", "uniform"):
        raise PlayerError("mcts: root is puct or gumbel, evaluator is rollout or uniform")
    settings = Settings(
        simulations=whole("sims", sims),
        explore=real("explore", explore),
        root=root,  # type: ignore[arg-type]
        seconds=real("seconds", seconds) if seconds else None,
    )
    return TreeSearch(game, settings, evaluator, f"mcts:sims={sims}")


CHAMPIONS = Path(__file__).parent / "champions"


@register("net")
def net(
    game: Game,
    path: str = "",
    mode: str = "argmax",
    temperature: str = "1",
    sims: str = "0",
    name: str = "",
) -> Player:
    """`net:PATH,mode=sample`: a network's policy; with `sims=200` it searches."""
    from .nets import load_net
    from .nets.evaluate import NetEvaluator

    weights, about = load_net(path)
    ours, theirs = game.describe(), about.get("game", {})
    for key in ("name", "version", "view", "actions"):
        if json.dumps(theirs.get(key)) != json.dumps(ours[key]):
            raise PlayerError(f"{path} was trained for {key} {theirs.get(key)}, not {ours[key]}")
    evaluator, name = NetEvaluator(weights), name or f"net:{Path(path).name}"
    if count := whole("sims", sims):
        name += f"{',' if ':' in name else ':'}sims={count}"
        return TreeSearch(game, Settings(simulations=count), evaluator, name)
    return NetPlayer(evaluator, mode, real("temperature", temperature), name)


@register("champion")
def champion(game: Game, sims: str = "0", mode: str = "argmax", temperature: str = "1") -> Player:
    """`champion`, `champion:sims=200`: the network that comes with the package."""
    path = CHAMPIONS / f"{game.name}.safetensors"
    if not path.exists():
        has = ", ".join(sorted(f.stem for f in CHAMPIONS.glob("*.safetensors"))) or "none yet"
        raise PlayerError(f"{game.name} has no champion; there are champions of: {has}")
    return net(game, str(path), mode, temperature, sims, name="champion")


def whole(name: str, text: str) -> int:
    """A whole number in a player's text."""
    if not text.isdecimal():
        raise PlayerError(f"{name}={text}: {name} is a whole number")
    return int(text)


def real(name: str, text: str) -> float:
    """A number in a player's text."""
    try:
        return float(text)
    except ValueError:
        raise PlayerError(f"{name}={text}: {name} is a number") from None


def names(game: Game) -> list[str]:
    """Who can sit down at this game."""
    return ["random", *game.players, *REGISTRY]


def player(text: str, game: Game) -> Player:
    """The player that a short text names: "honest", "mcts:sims=200".

    >>> from kibitz.games import load
    >>> player("Honest", load("liars_dice")).name
    'honest'
    """
    name, _, told = text.strip().partition(":")
    name, options = name.lower(), _options(text, told)
    if name == "random" or name in game.players:
        if options:
            raise PlayerError(f"{text!r}: {name} has no options")
        return Compiled(name)
    if name not in REGISTRY:
        raise PlayerError(
            f"{game.name} has no player {name!r}; there are: {', '.join(names(game))}"
        )
    factory = REGISTRY[name]
    try:
        inspect.signature(factory).bind(game, **options)
    except TypeError as error:
        raise PlayerError(f"{text!r}: {name}: {error}") from None
    return factory(game, **options)


def _options(text: str, told: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, told.split(",")):
        key, equals, value = part.partition("=")
        if not equals and not options and len(part) > 3:  # `net:PATH`: the first may go unnamed
            key, equals, value = "path", "=", part
        if not equals:
            raise PlayerError(f"{text!r}: {part!r} should be like sims=200")
        options[key.strip()] = value.strip()
    return options
