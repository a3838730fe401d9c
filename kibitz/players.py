"""Somebody who sits down: what a seat may know goes in, an action comes out.

A player is asked about many tables at once and never gets a state. It gets a `Sight`: the view, the
legal actions, and tables it may imagine. A sight is made from re-dealt copies, so the truth is not
in it, however hard one looks.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .batch import Batch, Cpu, as_array, illegal_choice
from .compiled import digest
from .game import Game, GameError, Planned
from .games import FOLDER
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
        self.rngs = np.array(as_array(rngs))
        self._tables = Batch.of(game, np.array(as_array(states)), self.rngs)
        self.seats = np.array(self._tables.seats(seats))
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
    """Anything with a name that answers a sight with an action a table.

    It may have an `identity`, too: a text that differs where the player plays differently. Results
    in a file are keyed by it.
    """

    name: str

    def choose(self, sight: Sight) -> Any:
        """Legal actions, one a table. integers [n]"""


def answers(who: Player, sight: Sight) -> Any:
    """What a player chooses at every table, once it is known to be legal. int64 [n]"""
    legal, counts = (array.copy() for array in sight.legal)  # the player may write to its own
    chosen = as_array(who.choose(sight))
    if chosen.shape != (len(sight),) or chosen.dtype.kind not in "iu":
        given = f"{chosen.dtype} {list(chosen.shape)}"
        raise PlayerError(
            f"{who.name} must answer with one whole number for each of {len(sight)} tables, "
            f"but it answered with {given}"
        )
    inside = np.arange(legal.shape[1]) < counts[:, None]
    wrong = ~((legal == chosen[:, None]) & inside).any(1)
    if wrong.any():
        i = int(wrong.argmax())
        raise illegal_choice(sight.game, sight._tables.states[i], who.name, chosen[i])
    return chosen.astype(np.int64)


def identity_of(who: Player) -> str:
    """What makes this player another player: its own word, or its class and its name."""
    kind = type(who)
    return getattr(who, "identity", "") or f"{kind.__module__}.{kind.__qualname__} {who.name}"


class Compiled:
    """A player that the game's own file brings along, or `random`.

    game: whose player it is; only its identity needs that.
    """

    def __init__(self, name: str, game: Game | None = None) -> None:
        self.name, self.game = name, game

    @property
    def identity(self) -> str:
        """The name and a hash of the sources; with a plan, of the plan, too."""
        if self.name == "random" or self.game is None:
            return self.name
        function: Any = self.game.players[self.name]
        plan = function.plan.tobytes() if isinstance(function, Planned) else b""
        follow = function.follow if isinstance(function, Planned) else function
        return f"{self.name} {digest(_sources(follow), plan, _bytecode(follow))}"

    def choose(self, sight: Sight) -> Any:
        return sight.ask(self.name)


def _sources(function: Any) -> list[Path]:
    """The files that a compiled player is written in: all of a game's folder, or its one file."""
    try:
        file = Path(inspect.getfile(getattr(function, "py_func", function)))
    except TypeError:
        return []
    if file.parent != FOLDER and (file.parent / "__init__.py").is_file():
        return sorted(file.parent.rglob("*.py"))
    return [file] if file.is_file() else []  # at a prompt there is none


def _bytecode(function: Any) -> bytes:
    """Python's code of a function that no file tells apart, such as one of two at a prompt."""
    return bytes(getattr(function, "py_func", function).__code__.co_code)


class TreeSearch:
    """Tree search: PUCT or, where something is hidden, the same over information sets.

    Many tables are searched in lockstep, as many at a time as the device does well with. weights:
    hash and device of the network that the evaluator asks, where it asks one.
    """

    def __init__(
        self,
        game: Game,
        settings: Settings,
        evaluator: Any,
        name: str,
        *,
        device: str = "cpu",
        weights: str = "",
    ) -> None:
        self.game, self.settings, self.evaluator, self.name = game, settings, evaluator, name
        trees, nodes = (512, 1 << 24) if device == "cpu" else (8192, 1 << 26)
        # With very many simulations fewer trees, or they would need more memory than there is.
        self.device, self.trees = device, min(trees, 1 + nodes // max(settings.simulations, 1))
        self.weights = weights
        self._searches: dict[int, Search] = {}

    @property
    def identity(self) -> str:
        if isinstance(self.evaluator, str):
            evaluator = self.evaluator  # answers to the bit the same on every device
        elif self.weights:
            evaluator = f"net {self.weights}"
        else:
            return ""
        settings = json.dumps(asdict(self.settings), sort_keys=True)
        return f"tree search {settings} {evaluator}"

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

    weights: hash of the network, and its device, which decides on the precision.
    """

    MODES = ("argmax", "sample", "softmax", "purify")

    def __init__(
        self,
        evaluator: Any,
        mode: str = "argmax",
        temperature: float = 1.0,
        threshold: float = 0.1,
        name: str = "net",
        weights: str = "",
    ) -> None:
        if mode not in self.MODES:
            raise PlayerError(f"mode={mode}: there are {', '.join(self.MODES)}")
        if not 0 < temperature < np.inf:
            raise PlayerError(f"temperature={temperature}: it is a number above 0")
        if not 0 <= threshold <= 1:
            raise PlayerError(f"threshold={threshold}: it is a probability")
        self.evaluator, self.mode, self.name = evaluator, mode, name
        self.temperature, self.threshold, self.weights = temperature, threshold, weights

    @property
    def identity(self) -> str:
        if not self.weights:
            return ""  # a network that came from no file
        how_drawn = f"{self.mode} temperature={self.temperature} threshold={self.threshold}"
        return f"net {self.weights} {how_drawn}"

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
        *settings: Any,
        rounds: int = 0,
        seconds: float | None = None,
        **named_settings: Any,
    ) -> None:
        super().__init__(None, *settings, **named_settings)
        self.given = net, device, rounds, seconds
        self._believers: dict[str, Any] = {}
        self._at(game)

    @property
    def identity(self) -> str:
        _, _, rounds, seconds = self.given
        own = super().identity
        return own and f"{own} rounds={rounds} seconds={seconds}"

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
        simulations=whole("sims", sims, least=1),
        explore=real("explore", explore),
        root=root,  # type: ignore[arg-type]
        seconds=_limit(seconds),
    )
    return TreeSearch(game, settings, evaluator, f"mcts:sims={sims}", device=device)


MOST_SIMULATIONS = 1_000_000

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
    if not path:
        raise PlayerError("net: say which file, as in net:runs/player.safetensors")
    weights, theirs = _loaded(path, game)
    kind = next(kind for kind, (_, net_type) in NETS.items() if type(weights) is net_type)
    _check_game(path, kind, theirs, game)
    if kind not in ANY_SHAPE:
        _check_sizes(path, weights.config, game)
    count, given = whole("sims", sims), {"mode": mode, "temperature": temperature, "sims": sims}
    name = _named(name or f"net:{Path(path).name}", {**given, "threshold": threshold})
    numbers = real("temperature", temperature), real("threshold", threshold)
    settings = (mode, *numbers, name, f"{weights.sha256} on {device}")
    if kind in (*VALUE_NETS, "beliefs") and count:
        raise PlayerError(f"sims={count}: {path} is no network that trees are searched with")
    if count:
        search, evaluator = Settings(simulations=count), NetEvaluator(weights, device)
        return TreeSearch(game, search, evaluator, name, device=device, weights=settings[-1])
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


def _named(name: str, given: dict[str, str]) -> str:
    """A player's name with the options that were given, less the defaults."""
    defaults = inspect.signature(net).parameters
    for key in (key for key, value in given.items() if value != defaults[key].default):
        name += f"{',' if ':' in name else ':'}{key}={given[key]}"
    return name


def _loaded(path: str, game: Game) -> tuple[Any, dict[str, Any]]:
    """A network and the game it is for; an ONNX file need not tell everything about that."""
    from .nets import load_net
    from .nets.onnx_file import load_onnx

    if Path(path).suffix.lower() != ".onnx":
        weights, about = load_net(path)
        theirs = about.get("game")
        if not isinstance(theirs, dict) or not isinstance(theirs.get("options"), dict):
            raise PlayerError(f"{path} does not say for which game it was trained")
        return weights, theirs
    weights, theirs = load_onnx(path)
    ours = game.describe()
    return weights, {**ours, **theirs, "options": {**ours["options"], **theirs["options"]}}


def _check_game(path: str, kind: str, theirs: dict[str, Any], game: Game) -> None:
    """Refuse a network for another game, or for other options where they make another game."""
    ours = game.describe()
    for key in ("name", "version") if kind in ANY_SHAPE else ("name", "version", "view", "actions"):
        if json.dumps(theirs.get(key)) != json.dumps(ours[key]):
            raise PlayerError(f"{path} was trained for {key} {theirs.get(key)}, not {ours[key]}")
    for key in MADE_FOR.get(kind, ()):
        has, wants = theirs["options"].get(key), ours["options"].get(key)
        if json.dumps(has) != json.dumps(wants):
            raise PlayerError(f"{path} was trained for {key} {has}, not {wants}")


def _check_sizes(path: str, config: Any, game: Game) -> None:
    """Refuse a network of other sizes than the game's, whatever its file says of its game."""
    sizes = {"view_size": game.view_size, "actions": game.num_actions, "seats": game.seats}
    for part in ("priv", "pub"):
        sizes[part] = game.view[part].shape[0] if part in (game.view.names or ()) else 0
    for name, size in sizes.items():
        if getattr(config, name, size) != size:
            has = f"{name} {getattr(config, name)}, but {game.name} with these options has {size}"
            raise PlayerError(f"{path} holds a network with {has}")


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
    return Champion(game, first, path, seated) if isinstance(first, NetPlayer) else first


class Champion(NetPlayer):
    """At each table of a match the network that comes with the package for it."""

    def __init__(
        self, game: Game, first: NetPlayer, path: Path, seated: Callable[[Game, Path], Player]
    ) -> None:
        super().__init__(None, first.mode, first.temperature, first.threshold, first.name)
        self.game, self._first = game, first
        self._seated, self._players = seated, {path: first}

    @property
    def identity(self) -> str:
        """That of the network at the first table; in a match of rounds of all that may follow."""
        if not _has_rounds(self.game):
            return self._first.identity
        from .nets import read_header

        files = {_weights_of(path) for path, card in _cards().items() if _fits(card, self.game)}
        hashes = sorted(read_header(path)[0]["sha256"] for path in files)
        return f"{self._first.identity}, in later rounds of {' '.join(hashes)}"

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
        if _fits(card, game) and all(ours.get(key) == theirs[key] for key in theirs):
            fitting[len(theirs)] = _weights_of(path)
    if not fitting:
        has = ", ".join(sorted({card["game"] for card in _cards().values()})) or "none yet"
        raise PlayerError(f"{game.name} has no champion; there are champions of: {has}")
    return fitting[max(fitting) if special else min(fitting)]


def _fits(card: dict[str, Any], game: Game) -> bool:
    """Whether a card is of this game, whatever its options."""
    return bool(card["game"] == game.name)


def _weights_of(card: Path) -> Path:
    """The file of weights that lies beside a card."""
    return card.with_suffix(".safetensors")


def _has_rounds(game: Game) -> bool:
    """Whether another round follows the first one, whoever wins it."""
    if game.next_round is None:
        return False
    low, high = game.score_range
    results = [
        [high if seat == k else low for seat in range(game.seats)] for k in range(game.seats)
    ]
    return any(game.next_round(game.options, scores) is not None for scores in results)


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
    limit = _limit(seconds)
    count = whole("rounds", rounds) if rounds else 10_000 if seconds else 64
    name = f"think:{f'seconds={seconds}' if seconds else f'rounds={count}'}"
    settings = {"mode": mode, "threshold": real("threshold", threshold), "name": name}
    settings["weights"] = f"{weights.sha256} on {device}"
    return BeliefPlayer(game, weights, device, rounds=count, seconds=limit, **settings)


def whole(name: str, text: str, least: int = 0) -> int:
    """A whole number in a player's text, up to a million."""
    digits = re.fullmatch("[0-9]{1,7}", text)
    if digits is None or not least <= int(text) <= MOST_SIMULATIONS:
        wanted = f"a whole number from {least} to {MOST_SIMULATIONS:,}"
        raise PlayerError(f"{name}={shortened(text)}: {name} is {wanted}")
    return int(text)


def real(name: str, text: str, *, positive: bool = False) -> float:
    """A number in a player's text: finite, and above 0 where it has to be `positive`."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf or (positive and number == 0):
        wanted = "finite and above 0" if positive else "finite and 0 or more"
        raise PlayerError(f"{name}={shortened(text)}: {name} is a number, {wanted}")
    return number


def _limit(seconds: str) -> float | None:
    """The time limit in a player's text; None where there is none."""
    return real("seconds", seconds, positive=True) if seconds else None


def shortened(text: str, most: int = 60) -> str:
    """A text that somebody has typed, short enough to be shown in a message."""
    return text if len(text) <= most else f"{text[:most]}..."


def names(game: Game) -> list[str]:
    """Who can sit down at this game."""
    return ["random", *game.players, *REGISTRY]


def player(text: str, game: Game) -> Player:
    """The player that a short text names: "honest", "mcts:sims=200".

    >>> from kibitz.games import load
    >>> player("Honest", load("liars_dice")).name
    'honest'
    """
    name, _, rest = spelled(text).partition(":")
    if name == "random" or name in game.players:
        if rest:
            raise PlayerError(f"{shortened(text)!r}: {name} has no options")
        return Compiled(name, game)
    if name not in REGISTRY:
        has = ", ".join(names(game))
        raise PlayerError(f"{game.name} has no player {shortened(name)!r}; there are: {has}")
    factory = REGISTRY[name]
    return factory(game, **_options(shortened(text), name, rest, factory))


def spelled(text: str) -> str:
    """A player's text with its kind in lower case. Paths and other values stay as they are."""
    name, colon, rest = text.strip().partition(":")
    return f"{name.strip().lower()}{colon}{rest}"


def _options(text: str, name: str, rest: str, factory: Factory) -> dict[str, str]:
    """The options in a player's text, all of which its factory has."""
    has = list(inspect.signature(factory).parameters)[1:]  # the first is the game
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals and not options and "path" in has:  # `net:PATH`: the first may go unnamed
            key, equals, value = "path", "=", part
        if not equals:
            raise PlayerError(f"{text!r}: {shortened(part)!r} should be like {has[0]}=...")
        key = key.strip().lower()
        if key not in has:
            raise PlayerError(f"{text!r}: {name} has no option {key!r}; it has: {', '.join(has)}")
        options[key] = value.strip()
    return options
