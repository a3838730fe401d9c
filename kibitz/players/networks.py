"""Players that are networks, with or without a search."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..batch import Cpu
from ..game import Game
from ..search.mcts import Settings
from ..search.tree import uniforms_all
from .searching import TreeSearch
from .sight import Player, PlayerError, Sight
from .texts import REGISTRY, check_options, real, register, whole

if TYPE_CHECKING:
    from torch import nn

    from ..nets.kinds import Judge, Kind

MODES = ("argmax", "sample", "softmax", "purify")


@dataclass(frozen=True)
class Drawing:
    """How an action is drawn from values and a policy."""

    mode: str = "argmax"
    """`argmax` plays the action of the highest value, the first of equals; `sample` draws from the
    policy; `softmax` draws by value; `purify` draws from the policy without what is less likely
    than `threshold`, or plays the likeliest if all is.
    """
    temperature: float = 1.0
    """Above 1 flattens what is drawn from, below 1 sharpens it."""
    threshold: float = 0.1

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PlayerError(f"mode={self.mode}: there are {', '.join(MODES)}")
        if not 0 < self.temperature < np.inf:
            raise PlayerError(f"temperature={self.temperature}: it is a number above 0")
        if not 0 <= self.threshold <= 1:
            raise PlayerError(f"threshold={self.threshold}: it is a probability")

    def odds(self, values: Any, policy: Any) -> Any:
        """The probability of each legal action. [n, max_legal]"""
        from ..nets.kinds import softmax

        if self.mode == "argmax":
            return np.eye(values.shape[1])[values.argmax(1)]
        if self.mode == "softmax":
            return softmax(values / self.temperature)
        if self.mode == "purify":
            likeliest = policy == policy.max(1, keepdims=True)
            likeliest &= likeliest.cumsum(1) == 1
            enough = policy >= self.threshold
            kept = np.where(enough.any(1, keepdims=True), enough, likeliest) * policy
            return kept / kept.sum(1, keepdims=True)
        return policy


class NetPlayer:
    """A network without search: a judge says what actions are worth, an action is drawn.

    weights: what makes it this network: hash, device and settings; empty if it came from no file.
    """

    def __init__(
        self, judge: Judge, drawing: Drawing | None = None, name: str = "net", weights: str = ""
    ) -> None:
        self.judge, self.drawing, self.name, self.weights = (
            judge,
            drawing or Drawing(),
            name,
            weights,
        )

    @property
    def identity(self) -> str:
        return self.weights

    def choose(self, sight: Sight) -> Any:
        legal, _ = sight.legal
        values, policy = self.judge(sight)
        if self.drawing.mode != "argmax":
            odds = self.drawing.odds(values, policy)
            uniform = np.zeros(odds.shape)
            Cpu().run(uniforms_all, len(sight), sight.rngs, uniform)
            with np.errstate(divide="ignore"):  # what has no probability is never the largest
                values = np.log(odds) - np.log(-np.log(uniform))  # with Gumbel noise: a draw
        return legal[np.arange(len(sight)), values.argmax(1)].astype(np.int64)

    def odds(self, sight: Sight) -> Any:
        """How likely it takes each legal action. [n, max_legal]"""
        return self.drawing.odds(*self.judge(sight))


def seat_network(
    game: Game, net: nn.Module, device: str = "cpu", mode: str = "argmax", name: str = "net"
) -> NetPlayer:
    """A network that is in no file, at a table."""
    from ..nets.kinds import kind_of

    kind = kind_of(net)
    assert kind is not None, f"{type(net).__name__} is of no kind that can be seated"
    return NetPlayer(kind.judge(game, net, device), Drawing(mode), name)


@register("net")
def network(
    game: Game,
    name: str,
    path: str = "",
    mode: str = "argmax",
    temperature: str = "1",
    sims: str = "0",
    threshold: str = "0.1",
    device: str = "cpu",
    **own: str,
) -> Player:
    """`net:PATH,mode=sample`: a network without search; with `sims=200` it searches.

    PATH is a checkpoint or, for networks of values, an `.onnx` file. `device=cuda` asks a GPU.
    own: options of the kind of network, such as how long it looks ahead.
    """
    _check_device(device)
    if not path:
        raise PlayerError("net: say which file, as in net:runs/player.safetensors")
    net, kind = _loaded(path, game)
    drawing = Drawing(mode, real("temperature", temperature), real("threshold", threshold))
    settings = _own_settings(kind, own)
    weights, count = f"{net.sha256} on {device}", whole("sims", sims)
    if count and not kind.guides_search:
        raise PlayerError(f"sims={count}: {path} cannot guide a tree search")
    if count:
        return _searching(game, net, count, name, device)
    if "temperature" in inspect.signature(kind.judge).parameters:
        settings["temperature"] = drawing.temperature
    how_drawn = f"{mode} temperature={drawing.temperature} threshold={drawing.threshold}"
    more = "".join(f" {key}={value}" for key, value in settings.items() if key != "temperature")
    judge = kind.judge(game, net, device, **settings)
    return NetPlayer(judge, drawing, name, f"net {weights} {how_drawn}{more}")


def _searching(game: Game, net: Any, count: int, name: str, device: str) -> TreeSearch:
    from ..nets.evaluate import NetEvaluator

    evaluator, weights = NetEvaluator(net, device), f"{net.sha256} on {device}"
    settings = Settings(simulations=count)
    return TreeSearch(game, settings, evaluator, name, device=device, weights=weights)


def _own_settings(kind: Kind, own: dict[str, str]) -> dict[str, Any]:
    """The options of a kind of network, from texts or by default."""
    parameters = inspect.signature(kind.judge).parameters.values()
    has = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "temperature"}
    check_options("net", own, [*REGISTRY["net"].defaults, *has])
    settings: dict[str, Any] = {key: p.default for key, p in has.items()}
    for key, text in own.items():
        number = has[key].annotation == "int"
        settings[key] = whole(key, text) if number else real(key, text, positive=True)
    return settings


def _check_device(device: str) -> None:
    from torch import cuda

    if device not in ("cpu", "cuda"):
        raise PlayerError(f"device={device}: there are cpu and cuda")
    if device == "cuda" and not cuda.is_available():
        raise PlayerError("device=cuda: torch finds no GPU here")


def _loaded(path: str, game: Game) -> tuple[Any, Kind]:
    """The network in a file and its kind, once it is known to be for this game."""
    from ..nets.kinds import kind_of

    net, theirs = _read(path, game)
    kind = kind_of(net)
    assert kind is not None  # what is read from a file is of a kind
    _check_game(path, kind, theirs, game)
    if not kind.any_shape:
        _check_sizes(path, kind, net.config, game)
    return net, kind


def _read(path: str, game: Game) -> tuple[Any, dict[str, Any]]:
    """A network and the game it is for; an ONNX file need not say everything about that."""
    from ..bidding.onnx_file import load_onnx
    from ..nets import load_net

    if Path(path).suffix.lower() != ".onnx":
        net, about = load_net(path)
        theirs = about.get("game")
        if not isinstance(theirs, dict) or not isinstance(theirs.get("options"), dict):
            raise PlayerError(f"{path} does not say for which game it was trained")
        return net, theirs
    net, theirs = load_onnx(path)
    ours = game.describe()
    return net, {**ours, **theirs, "options": {**ours["options"], **theirs["options"]}}


def _check_game(path: str, kind: Kind, theirs: dict[str, Any], game: Game) -> None:
    """Refuse a network for another game, or for other options where they make another game."""
    ours = game.describe()
    for key in ("name", "version") if kind.any_shape else ("name", "version", "view", "actions"):
        if json.dumps(theirs.get(key)) != json.dumps(ours[key]):
            raise PlayerError(f"{path} was trained for {key} {theirs.get(key)}, not {ours[key]}")
    for key in kind.trained_for:
        has, wants = theirs["options"].get(key), ours["options"].get(key)
        if json.dumps(has) != json.dumps(wants):
            raise PlayerError(f"{path} was trained for {key} {has}, not {wants}")


def _check_sizes(path: str, kind: Kind, config: Any, game: Game) -> None:
    """Refuse a network of other sizes than the game's, whatever its file says of its game."""
    for name, size in kind.sizes(game).items():
        if getattr(config, name, size) != size:
            has = f"{name} {getattr(config, name)}, but {game.name} with these options has {size}"
            raise PlayerError(f"{path} holds a network with {has}")
