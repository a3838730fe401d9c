"""Somebody who sits down: what a seat may know goes in, an action comes out.

A player is asked about many tables at once and never gets a state. It gets a `Sight`: the view, the
legal actions, and tables it may imagine. A sight is made from re-dealt copies, so the truth is not
in it, however hard one looks.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .batch import Batch, Cpu, illegal_choice
from .game import Game, GameError
from .search.mcts import Found, Search, Settings
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


def answers(who: Player, sight: Sight) -> Any:
    """What a player chooses at every table, once it is known to be legal. int64 [n]"""
    chosen = np.asarray(who.choose(sight))
    if chosen.shape != (len(sight),) or chosen.dtype.kind not in "iu":
        given = f"{chosen.dtype} {list(chosen.shape)}"
        raise PlayerError(
            f"{who.name} must answer with one whole number for each of {len(sight)} tables, "
            f"but it answered with {given}"
        )
    legal, _ = sight.legal
    wrong = ~((legal == chosen[:, None]) & _inside(sight)).any(1)
    if wrong.any():
        i = int(wrong.argmax())
        raise illegal_choice(sight.game, sight._tables.states[i], who.name, chosen[i])
    return chosen.astype(np.int64)


class Compiled:
    """A player that the game's own file brings along, or `random`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def choose(self, sight: Sight) -> Any:
        return sight.ask(self.name)


class TreeSearch:
    """Tree search: PUCT or, where something is hidden, the same over information sets.

    Many tables are searched in lockstep, as many at a time as the device does well with.
    """

    def __init__(
        self,
        game: Game,
        settings: Settings,
        evaluator: Any,
        name: str,
        *,
        device: str = "cpu",
    ) -> None:
        self.game, self.settings, self.evaluator, self.name = game, settings, evaluator, name
        self.device, self.trees = device, 512 if device == "cpu" else 8192
        self._searches: dict[int, Search] = {}

    def choose(self, sight: Sight) -> Any:
        states, (legal, counts) = sight.imagine(), sight.legal
        chosen = legal[:, 0].astype(np.int64)
        open_ = np.flatnonzero(counts > 1)  # where there is a choice
        for first in range(0, len(open_), self.trees):
            part = open_[first : first + self.trees]
            # The streams are the player's: no search can foretell what the table will throw.
            rngs = sight.rngs[part]
            chosen[part] = self.think(states[part], rngs).best
            sight.rngs[part] = rngs
        return chosen

    def think(self, states: Any, rngs: Any) -> Found:
        """The whole search, for who wants to see more than the move; `rngs` move on."""
        size, given = self._room(len(states)), {"evaluator": self.evaluator, "device": self.device}
        if size not in self._searches:
            self._searches = {size: Search(self.game, size, self.settings, **given)}
        search, again = self._searches[size], np.arange(size) % len(states)
        found = search.run(states[again], rngs[again]).first(len(states))
        rngs[:] = search.device.get(search.forest.rngs)[: len(states)]
        return found

    def _room(self, tables: int) -> int:
        """How many trees to make for so many tables.

        A GPU gets a power of two, some tables twice: making trees costs it more than using them.
        """
        return tables if self.device == "cpu" else 1 << (tables - 1).bit_length()


class NetPlayer:
    """A network's policy without search.

    mode: `argmax` plays the action that is worth most, the first of equals; `sample` draws from the
    policy; `softmax` draws by worth, flattened or sharpened by `temperature`; `purify` draws from
    the policy without what is less likely than `threshold`, or plays the likeliest if all is.
    """

    MODES = ("argmax", "sample", "softmax", "purify")

    def __init__(
        self,
        evaluator: Any,
        mode: str = "argmax",
        temperature: float = 1.0,
        threshold: float = 0.1,
        name: str = "net",
    ) -> None:
        if mode not in self.MODES:
            raise PlayerError(f"mode={mode}: there are {', '.join(self.MODES)}")
        if not 0 < temperature < np.inf:
            raise PlayerError(f"temperature={temperature}: it is a number above 0")
        if not 0 <= threshold <= 1:
            raise PlayerError(f"threshold={threshold}: it is a probability")
        self.evaluator, self.mode, self.name = evaluator, mode, name
        self.temperature, self.threshold = temperature, threshold

    def choose(self, sight: Sight) -> Any:
        legal, _ = sight.legal
        worth, policy = self.judge(sight)
        if self.mode != "argmax":
            odds = self.odds(worth, policy)
            uniform = np.zeros(odds.shape)
            Cpu().run(uniforms_all, len(sight), sight.rngs, uniform)
            with np.errstate(divide="ignore"):  # what has no probability is never the largest
                worth = np.log(odds) - np.log(-np.log(uniform))  # with Gumbel noise that is a draw
        return legal[np.arange(len(sight)), worth.argmax(1)].astype(np.int64)

    def odds(self, worth: Any, policy: Any) -> Any:
        """The probability of each legal action, by `mode`. [n, max_legal]"""
        if self.mode == "softmax":
            return softmax(worth / self.temperature)
        if self.mode == "purify":
            likeliest = policy == policy.max(1, keepdims=True)
            likeliest &= likeliest.cumsum(1) == 1
            enough = policy >= self.threshold
            kept = np.where(enough.any(1, keepdims=True), enough, likeliest) * policy
            return kept / kept.sum(1, keepdims=True)
        return policy

    def judge(self, sight: Sight) -> tuple[Any, Any]:
        """What each legal action is worth and how likely it should be. [n, max_legal] each"""
        logits, rows = self.evaluator.ask(sight.views), np.arange(len(sight))[:, None]
        worth = np.where(_inside(sight), logits[rows, sight.legal[0]], -np.inf)
        return worth, softmax(worth / self.temperature)


class ValuePlayer(NetPlayer):
    """A network of values without search: an action is worth what it leads to.

    The policy is regret matching: actions are as likely as they are better than the table now is.
    """

    def judge(self, sight: Sight) -> tuple[Any, Any]:
        inside = _inside(sight)
        tables, _ = inside.nonzero()
        actions = sight.legal[0][inside].astype(np.int64)
        before, after = self.evaluator(sight.views, tables, actions)
        worth = np.full(inside.shape, -np.inf)
        worth[inside] = after
        return worth, regret_policy(before, worth, inside)


class BeliefPlayer(NetPlayer):
    """A network of beliefs: it follows what everybody must think of every hand, and plays by that.

    It changes tables when a match does, from one round's dice to the next one's. rounds, seconds:
    how long it looks ahead at each decision, see `Believer`.
    """

    def __init__(
        self,
        game: Game,
        net: Any,
        device: str = "cpu",
        *how: Any,
        rounds: int = 0,
        seconds: float | None = None,
        **and_how: Any,
    ) -> None:
        super().__init__(None, *how, **and_how)
        self.given = net, device, rounds, seconds
        self._believers: dict[str, Any] = {}
        self._at(game)

    def _at(self, game: Game) -> Any:
        from .solving.believer import Believer

        if game.fingerprint not in self._believers:
            self._believers[game.fingerprint] = Believer(game, *self.given)
        return self._believers[game.fingerprint]

    def judge(self, sight: Sight) -> tuple[Any, Any]:
        odds = self._at(sight.game).odds(sight.views, sight.seats, sight.legal[0])
        policy = odds * _inside(sight)
        with np.errstate(divide="ignore"):  # what is never played is worth minus infinity
            return np.log(policy), policy / policy.sum(1, keepdims=True)


def regret_policy(before: Any, after: Any, legal: Any, explore: float = 0.0) -> Any:
    """Probabilities in proportion to what each action gains; uniform where none gains anything.

    before: values [n]; after: values of what actions lead to [n, actions]; legal: which count
    [n, actions]; explore: what is added to every gain. NumPy arrays or torch tensors.
    """
    regrets = ((after - before[:, None]).clip(0) + explore) * legal
    regrets = regrets + (regrets.sum(1) == 0)[:, None] * legal
    return regrets / regrets.sum(1)[:, None]


def softmax(worth: Any) -> Any:
    """Probabilities [n, actions] by worth; nothing for what is worth minus infinity."""
    powers = np.exp(worth - worth.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _inside(sight: Sight) -> Any:
    """Which places of the lists of legal actions are taken. [n, max_legal]"""
    legal, counts = sight.legal
    return np.arange(legal.shape[1]) < counts[:, None]


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
    device: str = "cpu",
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
    return TreeSearch(game, settings, evaluator, f"mcts:sims={sims}", device=device)


CHAMPIONS = Path(__file__).parent / "champions"


VALUE_NETS = ("comp_bilin", "bilinear", "concat")
"""Kinds of networks that judge what an action leads to. All others say which action to take."""
MADE_FOR = {
    **dict.fromkeys((*VALUE_NETS, "hand_policy"), ("dice", "sides", "variant")),
    "hand_worth": ("dice", "sides", "variant", "ones_biddable", "opening_call"),
    "beliefs": ("sides", "variant", "ones_biddable"),
}
"""The options of the game that a kind of network is for. For others the shapes are enough."""
ANY_SHAPE = ("beliefs",)
"""Kinds of networks that play tables of several sizes."""


@register("net")
def net(
    game: Game,
    path: str = "",
    mode: str = "argmax",
    temperature: str = "1",
    sims: str = "0",
    name: str = "",
    threshold: str = "0.1",
    device: str = "cpu",
) -> Player:
    """`net:PATH,mode=sample`: a network without search; with `sims=200` it searches.

    PATH is a checkpoint or, for networks of values, an `.onnx` file. `device=cuda` asks a GPU.
    """
    from .nets import NETS
    from .nets.bilinear import ChildValues
    from .nets.evaluate import NetEvaluator

    _check_device(device)
    weights, theirs = _loaded(path, game)
    kind = next(kind for kind, (_, made) in NETS.items() if type(weights) is made)
    _check_game(path, kind, theirs, game)
    count, told = whole("sims", sims), {"mode": mode, "temperature": temperature, "sims": sims}
    name = _named(name or f"net:{Path(path).name}", {**told, "threshold": threshold})
    if kind in (*VALUE_NETS, "beliefs") and count:
        raise PlayerError(f"sims={count}: {path} is no network that trees are searched with")
    if count:
        evaluator = NetEvaluator(weights, device)
        return TreeSearch(game, Settings(simulations=count), evaluator, name, device=device)
    settings = (mode, real("temperature", temperature), real("threshold", threshold), name)
    if kind == "beliefs":
        return BeliefPlayer(game, weights, device, *settings)
    if kind in VALUE_NETS:
        return ValuePlayer(ChildValues(weights, device), *settings)
    return NetPlayer(NetEvaluator(weights, device), *settings)


def _check_device(device: str) -> None:
    from torch import cuda

    if device not in ("cpu", "cuda"):
        raise PlayerError(f"device={device}: there are cpu and cuda")
    if device == "cuda" and not cuda.is_available():
        raise PlayerError("device=cuda: torch finds no GPU here")


def _named(name: str, told: dict[str, str]) -> str:
    """A player's name with what was told about it, less the defaults: results are kept by name."""
    defaults = inspect.signature(net).parameters
    for key in (key for key, value in told.items() if value != defaults[key].default):
        name += f"{',' if ':' in name else ':'}{key}={told[key]}"
    return name


def _loaded(path: str, game: Game) -> tuple[Any, dict[str, Any]]:
    """A network and the game it is for; an ONNX file need not tell everything about that."""
    from .nets import load_net
    from .nets.onnx_file import load_onnx

    if Path(path).suffix.lower() != ".onnx":
        weights, about = load_net(path)
        return weights, about.get("game", {})
    weights, told = load_onnx(path)
    ours = game.describe()
    return weights, {**ours, **told, "options": {**ours["options"], **told["options"]}}


def _check_game(path: str, kind: str, theirs: dict[str, Any], game: Game) -> None:
    """Refuse a network for another game, or for other options where they make another game."""
    ours = game.describe()
    for key in ("name", "version") if kind in ANY_SHAPE else ("name", "version", "view", "actions"):
        if json.dumps(theirs.get(key)) != json.dumps(ours[key]):
            raise PlayerError(f"{path} was trained for {key} {theirs.get(key)}, not {ours[key]}")
    for key in MADE_FOR.get(kind, ()):
        has, wants = theirs.get("options", {}).get(key), ours["options"].get(key)
        if json.dumps(has) != json.dumps(wants):
            raise PlayerError(f"{path} was trained for {key} {has}, not {wants}")


@register("champion")
def champion(
    game: Game,
    sims: str = "0",
    mode: str = "argmax",
    temperature: str = "1",
    threshold: str = "0.1",
    device: str = "cpu",
) -> Player:
    """`champion`, `champion:sims=200`: the network that comes with the package."""

    def seated(at: Game, path: Path) -> Player:
        return net(at, str(path), mode, temperature, sims, "champion", threshold, device)

    path = _champion_of(game)
    first = seated(game, path)
    return Champion(first, path, seated) if isinstance(first, NetPlayer) else first


class Champion(NetPlayer):
    """At each table of a match the network that comes with the package for it."""

    def __init__(
        self, first: NetPlayer, path: Path, seated: Callable[[Game, Path], Player]
    ) -> None:
        super().__init__(None, first.mode, first.temperature, first.threshold, first.name)
        self._seated, self._players = seated, {path: first}

    def judge(self, sight: Sight) -> tuple[Any, Any]:
        path = _champion_of(sight.game)
        if path not in self._players:
            self._players[path] = self._seated(sight.game, path)  # type: ignore[assignment]
        return self._players[path].judge(sight)


def _champion_of(game: Game, *, special: bool = True) -> Path:
    """The network for this table that comes with the package; the most special one, if that."""
    ours = json.loads(json.dumps(game.describe()["options"]))
    fitting: dict[int, Path] = {}
    for path, card in _cards().items():
        theirs = card.get("only_for", {})
        if card["game"] == game.name and all(ours.get(key) == theirs[key] for key in theirs):
            fitting[len(theirs)] = path.with_suffix(".safetensors")
    if not fitting:
        has = ", ".join(sorted({card["game"] for card in _cards().values()})) or "none yet"
        raise PlayerError(f"{game.name} has no champion; there are champions of: {has}")
    return fitting[max(fitting) if special else min(fitting)]


@cache
def _cards() -> dict[Path, dict[str, Any]]:
    """What is told about the networks that come with the package."""
    return {path: json.loads(path.read_text()) for path in sorted(CHAMPIONS.glob("*.json"))}


@register("think")
def think(
    game: Game,
    seconds: str = "",
    rounds: str = "",
    path: str = "",
    mode: str = "sample",
    threshold: str = "0.1",
    device: str = "cpu",
) -> Player:
    """`think:seconds=1`, `think:rounds=64`: looks ahead at what is believed, with a network of
    beliefs: the one that comes with the package, or that of `path`. With `rounds=0` it does not.
    """
    from .nets.beliefs import BeliefNet

    _check_device(device)
    path = path or str(_champion_of(game, special=False))
    weights, theirs = _loaded(path, game)
    if not isinstance(weights, BeliefNet):
        raise PlayerError(f"think: {path} is no network of beliefs")
    _check_game(path, "beliefs", theirs, game)
    limit = real("seconds", seconds) if seconds else None
    count = whole("rounds", rounds) if rounds else 10_000 if seconds else 64
    if limit is not None and not limit > 0:
        raise PlayerError("think: seconds is above 0")
    name = f"think:{f'seconds={seconds}' if seconds else f'rounds={count}'}"
    how = {"mode": mode, "threshold": real("threshold", threshold), "name": name}
    return BeliefPlayer(game, weights, device, rounds=count, seconds=limit, **how)


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
