"""Players that are networks, with or without a search."""

from __future__ import annotations

import inspect
import json
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..devices import Cpu
from ..game import DEFAULT_VIEW, Game
from ..games import module
from ..options import shortened
from ..search.mcts import Settings
from ..search.tree import uniforms_all
from .determinised import Determinised
from .foreseeing import Foreseeing
from .imagining import LatentTreeSearch, imagining_settings
from .searching import TreeSearch
from .sight import Actions, Odds, Player, PlayerError, Sight
from .texts import REGISTRY, check_options, real, register, whole
from .thought import Candidate, Inquiry, Thought

if TYPE_CHECKING:
    from torch import nn

    from ..bidding.every_history import AllHands
    from ..nets.kinds import Judge, Judgement, Kind
    from ..search.best_response import Form
    from ..search.sequences import Progress, Strategy

MODELS = ("own", "rules")  # where a network searches that imagines the game
MODES = ("argmax", "sample", "softmax", "purify")
OF_ANY = ("code", "model", "deals", "lookahead")  # options of every network, taken one by one
OF_A_SEARCH = ("leaves", "explore")  # options that a network alone does not have
MOST_POSITIONS = 4096  # of a lookahead, for one action
EXPLORE = 1.0  # PUCT's constant: a network's priors need less exploration than equal ones


@dataclass(frozen=True)
class Drawing:
    """How an action is drawn from what a network thinks."""

    mode: str = "argmax"
    """`argmax` plays the preferred action, the first of equals; `sample` draws from the policy;
    `softmax` draws by preference (a value, for networks of values); `purify` draws from the policy
    without what is less likely than `threshold`, or plays the likeliest if all is.
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

    def odds(self, judgement: Judgement) -> Odds:
        """The probability of each legal action. [n, max_legal]"""
        from ..nets.kinds import softmax

        preferences, policy, *_ = judgement
        if self.mode == "argmax":
            return np.asarray(np.eye(preferences.shape[1])[preferences.argmax(1)])
        if self.mode == "softmax":
            return softmax(preferences / self.temperature)
        if self.mode == "purify":
            likeliest = policy == policy.max(1, keepdims=True)
            likeliest &= likeliest.cumsum(1) == 1
            enough = policy >= self.threshold
            kept = np.where(enough.any(1, keepdims=True), enough, likeliest) * policy
            return np.asarray(kept / kept.sum(1, keepdims=True))
        return policy


class NetPlayer:
    """A network without search: a judge says how good actions are, an action is drawn.

    weights: what makes it this network: hash, device and settings; empty if it came from no file.
    view: which view of a game it reads.
    """

    def __init__(
        self,
        judge: Judge,
        drawing: Drawing | None = None,
        name: str = "net",
        weights: str = "",
        view: str = DEFAULT_VIEW,
    ) -> None:
        self._judge, self.drawing, self.view = judge, drawing or Drawing(), view
        self.name, self.weights = name, weights

    def judge(self, sight: Sight) -> Judgement:
        """What the network thinks of every table."""
        return self._judge(sight.through(self.view))

    @property
    def identity(self) -> str:
        return self.weights

    def choose(self, sight: Sight) -> Actions:
        legal, _ = sight.legal
        judgement = self.judge(sight)
        preferences = judgement.preferences
        if self.drawing.mode != "argmax":
            odds = self.drawing.odds(judgement)
            uniform = np.zeros(odds.shape)
            Cpu().run(uniforms_all, len(sight), sight.rngs, uniform)
            with np.errstate(divide="ignore"):  # what has no probability is never the largest
                preferences = np.log(odds) - np.log(-np.log(uniform))  # with Gumbel noise: a draw
        return np.asarray(legal[np.arange(len(sight)), preferences.argmax(1)], np.int64)

    def odds(self, sight: Sight) -> Odds:
        """How likely it takes each legal action. [n, max_legal]"""
        return self.drawing.odds(self.judge(sight))

    def table(self, form: Form, progress: Progress) -> Strategy | None:
        """Its policy everywhere in a game, where it draws from a policy that can be had at once."""
        whole = getattr(self._judge, "table", None)
        return whole(form, progress) if whole and self.drawing.mode == "sample" else None

    def with_all_hands(self, game: Game) -> AllHands | None:
        """Its policy after histories of bids, where that can be had for all hands at once."""
        at_once = getattr(self._judge, "with_all_hands", None)
        return at_once(game) if at_once and self.drawing.mode == "sample" else None

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        from ..nets.kinds import Believer

        began, judgement = time.monotonic(), self.judge(sight)
        believer = self._judge if isinstance(self._judge, Believer) else None
        odds, values, value = self.drawing.odds(judgement)[0], judgement.values, judgement.value
        if believer is not None:
            values = believer.values(sight)[None]
            value = (odds * values).sum(1)
        best = np.lexsort((-judgement.preferences[0], -odds))  # by odds; equals by preference
        actions, order = sight.actions[0], [int(k) for k in best]
        candidates = tuple(
            Candidate(
                action=actions[k],
                text=sight.action_text(0, actions[k]),
                value=None if values is None else float(values[0, k]),
                prior=float(judgement.policy[0, k]),
            )
            for k in order
            if k < len(actions)
        )
        return Thought(
            player=self.name,
            seat=int(sight.seats[0]),
            candidates=candidates,
            value=None if value is None else float(value[0]),
            seconds=time.monotonic() - began,
            beliefs=() if believer is None else believer.beliefs(sight),
        )


def seat_network(
    game: Game, net: nn.Module, device: str = "cpu", mode: str = "argmax", name: str = "net"
) -> NetPlayer:
    """A network that is in no file, at a table."""
    from ..nets.kinds import kind_of

    kind = kind_of(net)
    assert kind is not None, f"{type(net).__name__} is of no kind that can be seated"
    return NetPlayer(kind.judge(game, net, device), Drawing(mode), name, view=game.viewed)


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

    PATH is a checkpoint or an `.onnx` file. `device=cuda` asks a GPU.
    own: options of the kind of network, such as how long it looks ahead; `code=FILE.py`, the file
    of a kind of your own; and of a search `leaves=4`, how many leaves of a tree it evaluates
    together, `explore=2`, PUCT's constant, and `model=rules`, which lets a network that imagines
    the game search true positions instead. `deals=8`: the network has learnt with open hands, and
    is asked about so many deals of what is hidden. `lookahead=64`: it plays what is best by its
    values after all throws that can follow, for every action at so many positions at most.
    """
    if deals := own.pop("deals", ""):
        who = network(game, name, path, mode, temperature, sims, threshold, device, **own)
        return _determinised(game, who, deals, mode)
    check_device(device)
    model = own.pop("model", "")
    if code := own.pop("code", ""):
        learn_kinds(Path(code))
    asked, positions = _of_a_search(own), whole("lookahead", own.pop("lookahead", "0"))
    if not path:
        raise PlayerError("net: say which file, as in net:runs/player.safetensors")
    net, kind, game = loaded_network(path, game)
    drawing = Drawing(mode, real("temperature", temperature), real("threshold", threshold))
    settings = _own_settings(kind, own)
    weights, count = f"{net.sha256} on {device}", whole("sims", sims)
    _check_thinking(kind, path, count, positions)
    if _imagines(kind, model, count):
        _refuse(asked, "a search of true positions; say model=rules, too")
        return _imagining(game, net, kind, count, name, device)
    if count:
        return _searching(game, net, count, name, device, asked)
    _refuse(asked, "a search; say sims=200, too")
    if "temperature" in inspect.signature(kind.judge).parameters:
        settings["temperature"] = drawing.temperature
    how_drawn = f"{mode} temperature={drawing.temperature} threshold={drawing.threshold}"
    more = "".join(f" {key}={value}" for key, value in settings.items() if key != "temperature")
    judge = kind.judge(game, net, device, **settings)
    if positions:
        judge, more = _foreseeing(game, judge, positions), f"{more} lookahead={positions}"
    return NetPlayer(judge, drawing, name, f"net {weights} {how_drawn}{more}", game.viewed)


def _check_thinking(kind: Kind, path: str, sims: int, positions: int) -> None:
    if sims and not kind.guides_search:
        raise PlayerError(f"sims={sims}: {path} cannot guide a tree search")
    if positions and sims:
        raise PlayerError(f"lookahead={positions}: a search looks ahead anyway")
    if positions and not kind.guides_search:
        raise PlayerError(f"lookahead={positions}: {path} has no values to look ahead with")
    if positions > MOST_POSITIONS:
        raise PlayerError(f"lookahead={positions}: {MOST_POSITIONS} positions at most")


def _foreseeing(game: Game, judge: Judge, positions: int) -> Foreseeing:
    from ..nets.kinds import PolicyJudge

    assert isinstance(judge, PolicyJudge)  # as all that guide a search
    return Foreseeing(game, judge, positions)


def _determinised(game: Game, who: Player, deals: str, mode: str) -> Determinised:
    assert isinstance(who, (NetPlayer, TreeSearch))
    if mode != "argmax":
        raise PlayerError(f"deals={deals}: it plays what it prefers, so there is no mode={mode}")
    return Determinised(game, who, whole("deals", deals, least=1), who.name)


def network_of(who: Player) -> nn.Module | None:
    """The network that a player asks, if it asks one."""
    judge = getattr(who, "_judge", who)  # of a network without a search
    found: nn.Module | None = getattr(getattr(judge, "evaluator", None), "net", None)
    return found


def learn_kinds(file: Path) -> ModuleType:
    """Run a Python file, so that the kinds of networks in its KINDS can be built."""
    from ..nets.kinds import adopt

    if not file.is_file():
        raise PlayerError(f"there is no file {str(file)!r}")
    found = module(file)
    adopt(getattr(found, "KINDS", ()), file)
    return found


def _of_a_search(own: dict[str, str]) -> dict[str, Any]:
    """Take what a text says about a search out of its options."""
    asked: dict[str, Any] = {}
    if "leaves" in own:
        asked["leaves"] = whole("leaves", own.pop("leaves"), least=1)
    if "explore" in own:
        asked["explore"] = real("explore", own.pop("explore"))
    return asked


def _refuse(asked: dict[str, Any], needs: str) -> None:
    for key, value in asked.items():
        raise PlayerError(f"{key}={value}: that is for {needs}")


def _searching(
    game: Game, net: Any, sims: int, name: str, device: str, asked: dict[str, Any]
) -> TreeSearch:
    from ..nets.evaluate import NetEvaluator

    settings = Settings(simulations=sims, explore=asked.get("explore", EXPLORE))
    evaluator, weights = NetEvaluator(net, device), f"{net.sha256} on {device}"
    return TreeSearch(
        game, settings, evaluator, name, device=device, weights=weights, leaves=asked.get("leaves")
    )


def _imagines(kind: Kind, model: str, sims: int) -> bool:
    """Whether to search in the network's own model of the game."""
    if model not in ("", *MODELS):
        raise PlayerError(f"model={shortened(model)}: there are {', '.join(MODELS)}")
    if model and not sims:
        raise PlayerError(f"model={model}: only a search has a model; say sims=50, too")
    if model == "own" and kind.model is None:
        raise PlayerError("model=own: this network imagines nothing; only model=rules is there")
    return bool(sims) and kind.model is not None and model != "rules"


def _imagining(game: Game, net: Any, kind: Kind, sims: int, name: str, device: str) -> TreeSearch:
    assert kind.model is not None
    weights = f"{net.sha256} on {device}"
    settings = imagining_settings(net.config.codes > 1, sims)
    return LatentTreeSearch(game, settings, kind.model(net, device), name, device, weights)


def _own_settings(kind: Kind, own: dict[str, str]) -> dict[str, Any]:
    """The options of a kind of network, from texts or by default."""
    parameters = inspect.signature(kind.judge).parameters.values()
    has = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "temperature"}
    check_options("net", own, [*REGISTRY["net"].defaults, *OF_ANY, *OF_A_SEARCH, *has])
    settings: dict[str, Any] = {key: p.default for key, p in has.items()}
    for key, text in own.items():
        number = has[key].annotation == "int"
        settings[key] = whole(key, text) if number else real(key, text, positive=True)
    return settings


def check_device(device: str) -> None:
    """Refuse a device that torch does not have here."""
    from torch import cuda

    if device not in ("cpu", "cuda"):
        raise PlayerError(f"device={device}: there are cpu and cuda")
    if device == "cuda" and not cuda.is_available():
        raise PlayerError("device=cuda: torch finds no GPU here")


def loaded_network(path: str, game: Game) -> tuple[Any, Kind, Game]:
    """The network in a file, its kind, and the game through its view, once they fit together."""
    from ..nets.kinds import kind_of

    net, theirs = _read(path, game)
    kind, view = kind_of(net), theirs.get("viewed", DEFAULT_VIEW)
    assert kind is not None  # what is read from a file is of a kind
    if view in game.views:
        game = game.through(view)
    _check_game(path, kind, theirs, game)
    if not kind.any_shape:
        _check_sizes(path, kind, net.config, game)
    return net, kind, game


def _read(path: str, game: Game) -> tuple[Any, dict[str, Any]]:
    """A network and the game it is for; an ONNX file need not say everything about that."""
    from ..bidding.onnx_file import load_onnx
    from ..nets import load_net
    from ..nets.exported import is_exported, load_exported

    exported = Path(path).suffix.lower() == ".onnx"
    if not exported or is_exported(path):
        net, about = load_exported(path) if exported else load_net(path)
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
