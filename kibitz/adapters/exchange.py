"""Networks from and to files of other programs, with the game they were trained for.

Value networks of Liar's Dice can be imported and exported as ONNX files, and networks with two
perspectives (BandDPER) as all files of `banddper_files`. Networks with a policy are exported to
ONNX, which needs the extra `onnx`, and what kibitz has exported it imports again.

>>> import tempfile
>>> from kibitz.nets import load_net
>>> from kibitz.bidding.bilinear import CompBilinConfig, NetCompBilin
>>> from kibitz.bidding.onnx_file import save_onnx
>>> with tempfile.TemporaryDirectory() as folder:
...     game, net = load("liars_dice", dice=(4, 5)), NetCompBilin(CompBilinConfig(pub=112))
...     save_onnx(f"{folder}/net.onnx", net, game.describe())
...     import_net(f"{folder}/net.onnx", f"{folder}/net.safetensors").options.dice
(4, 5)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from ..bidding.beliefs import BeliefNet
from ..bidding.bilinear import NetCompBilin, ValueNet
from ..bidding.onnx_file import load_onnx, save_onnx
from ..game import DEFAULT_VIEW, Game, OptionError
from ..games import load, names
from ..nets import About, Net, NetError, load_net, save_net
from ..nets.dual_view import DualViewNet, view_of
from ..nets.exported import is_exported, load_exported
from ..players.alphabeta import can_be_searched
from .banddper_files import FILE_KINDS, file_kind, load_banddper

NAME = "liars_dice"
BANDDPER = "escampe"  # the game of networks with two perspectives

Fields = Sequence[tuple[str, Sequence[int]]]
"""A view as `Game.describe` has it: the names of its fields, with their shapes."""


def import_net(path: str | Path, out: str | Path, **options: object) -> Game | None:
    """Read a file, write its network as a checkpoint, and return the game that it plays.

    None if the rules of that game are outside the package.

    options: of the game, if the file does not name them. A network with 4 and 5 dice does not show
    which seat opens; everything else follows from its shapes, for dice of six sides.
    """
    if is_exported(path):
        return _import_exported(path, out, options)
    if is_banddper(path):
        return _import_banddper(path, out, options)
    net, facts = load_onnx(path)
    if facts.get("name", NAME) != NAME:
        raise NetError(f"{path} is a network of {facts['name']}, not of {NAME}")
    given = {key: getattr(load(NAME, **options).options, key) for key in options if key != "preset"}
    for key in facts["options"].keys() & given.keys():
        if facts["options"][key] != given[key]:
            raise NetError(f"{path} is for {key} {facts['options'][key]}, not for {given[key]}")
    game = _game(path, facts["view"], {**facts["options"], **options})
    save_net(out, net, {"game": game.describe(), "source": Path(path).name})
    return game


def is_banddper(path: str | Path) -> bool:
    """Whether a file is for `banddper_files`: in ONNX files, those networks have this tensor."""
    path = Path(path)
    if path.suffix.lower() != ".onnx":
        return path.suffix.lower() in FILE_KINDS
    return path.is_file() and b"enc_conv1_w" in path.read_bytes()


def changed_options(game: Game) -> list[tuple[str, object]]:
    """The options of a game that differ from the defaults."""
    defaults = type(game.options)()
    values = {field.name: getattr(game.options, field.name) for field in fields(defaults)}
    return [(name, value) for name, value in values.items() if value != getattr(defaults, name)]


def _import_exported(
    path: str | Path, out: str | Path, options: Mapping[str, object]
) -> Game | None:
    """A file of `onnx.export`, which says for which game and options it is."""
    if options:
        raise NetError(f"{path} says for which options it was trained; leave --option out")
    net, about = load_exported(path)
    described = about.get("game")
    outside = isinstance(described, dict) and described.get("name") not in names()
    game = None if outside else game_of(path, about)
    save_net(out, net, {**about, "source": Path(path).name})
    return game


def game_of(path: str | Path, about: About) -> Game:
    """The game of the package that a network plays."""
    theirs = about.get("game")
    if not isinstance(theirs, dict) or not isinstance(theirs.get("options"), dict):
        raise NetError(f"{path} does not say for which game it was trained")
    if theirs.get("name") not in names():
        raise NetError(f"{path} is a network of {theirs.get('name')!r}, a game of somebody's own")
    options = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in theirs["options"].items()
    }
    return load(theirs["name"], **options).through(theirs.get("viewed", DEFAULT_VIEW))


def player_text(net: Net, game: Game, file: str | Path) -> str:
    """How a network in a file plays: without a preferred action, it is the judge of a search."""
    judges = net.values_only and can_be_searched(game)
    return f"alphabeta:judge={file}" if judges else f"net:{file}"


def _import_banddper(path: str | Path, out: str | Path, options: Mapping[str, object]) -> Game:
    net = load_banddper(path)
    game = load(BANDDPER, **options).through(view_of(net.config.encoding))
    save_net(out, net, {"game": game.describe(), "source": Path(path).name})
    return game


def _game(path: str | Path, view: Fields, options: Mapping[str, object]) -> Game:
    """The one game under these options that has this view."""
    dice, sides = options.get("dice"), load(NAME, **options).options.sides  # type: ignore[attr-defined]
    most = (view[0][1][0] - 2) // sides
    pairs = {(most, k) for k in range(1, most + 1)} | {(k, most) for k in range(1, most + 1)}
    fitting = []
    for pair in sorted(pairs) if dice is None else [dice]:
        try:
            game = load(NAME, **{**options, "dice": pair})
        except OptionError:
            continue
        if game.describe()["view"] == view:
            fitting.append(game)
    if not fitting:
        chosen = ", ".join(f"{key}={value}" for key, value in options.items()) or "any dice"
        sizes = " and ".join(f"{name} {size}" for name, (size,) in view)
        raise NetError(f"{path} has {sizes}, which {NAME} does not have with {chosen}")
    if len(fitting) > 1:
        ways = " or ".join(f"dice={','.join(map(str, g.options.dice))}" for g in fitting)  # type: ignore[attr-defined]
        raise NetError(f"{path} does not say which seat opens: add --option {ways}")
    return fitting[0]


def export_net(path: str | Path, out: str | Path, *, batched: bool = False) -> None:
    """Write the network of a checkpoint as an ONNX file, or as another that its kind can have.

    batched: whether a value network takes any number of rows, as networks with a policy always do.
    """
    net, about = load_net(path)
    if isinstance(net, DualViewNet) and not net.config.policy:
        file_kind(out).save(out, net)
    elif isinstance(net, NetCompBilin):
        game = about.get("game")
        if (
            not isinstance(game, dict)
            or game.get("name") != NAME
            or not isinstance(game.get("options"), dict)
        ):
            raise NetError(f"{path} does not say for which options of {NAME} it was trained")
        save_onnx(out, net, game, batched=batched)
    elif isinstance(net, ValueNet):
        raise NetError(f"{path} holds a {type(net).__name__}; only NetCompBilin can be exported")
    elif isinstance(net, BeliefNet):
        raise NetError(f"{path} holds a network of beliefs, which cannot be exported")
    else:
        from .onnx import export

        export(out, net, about)
