"""Networks from and to ONNX files, with the game they were made for.

Value networks of Liar's Dice go both ways; networks with a policy can only be handed out, which
needs the extra `onnx`.

>>> import tempfile
>>> from kibitz.nets import load_net
>>> from kibitz.bidding.bilinear import CompBilinConfig, NetCompBilin
>>> from kibitz.bidding.onnx_file import save_onnx
>>> with tempfile.TemporaryDirectory() as folder:
...     game, net = load("liars_dice", dice=(4, 5)), NetCompBilin(CompBilinConfig(pub=112))
...     save_onnx(f"{folder}/net.onnx", net, game.describe())
...     take_in(f"{folder}/net.onnx", f"{folder}/net.safetensors").options.dice
(4, 5)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..bidding.beliefs import BeliefNet
from ..bidding.bilinear import NetCompBilin, ValueNet
from ..bidding.onnx_file import load_onnx, save_onnx
from ..game import Game, OptionError
from ..games import load
from ..nets import NetError, load_net, save_net

NAME = "liars_dice"


def take_in(path: str | Path, out: str | Path, **options: Any) -> Game:
    """Read an ONNX file, write what it holds as a checkpoint, and say which game that plays.

    options: of the game, where the file does not tell them. Who of 4 and 5 dice opens cannot be
    seen in a network; everything else follows from its shapes, for dice of six sides.
    """
    net, told = load_onnx(path)
    if told.get("name", NAME) != NAME:
        raise NetError(f"{path} is a network of {told['name']}, not of {NAME}")
    given = {key: getattr(load(NAME, **options).options, key) for key in options if key != "preset"}
    for key in told["options"].keys() & given.keys():
        if told["options"][key] != given[key]:
            raise NetError(f"{path} is for {key} {told['options'][key]}, not for {given[key]}")
    game = _game(path, told["view"], {**told["options"], **options})
    save_net(out, net, {"game": game.describe(), "source": Path(path).name})
    return game


def _game(path: str | Path, view: list[Any], options: dict[str, Any]) -> Game:
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
        told = ", ".join(f"{key}={value}" for key, value in options.items()) or "any dice"
        sizes = " and ".join(f"{name} {size}" for name, (size,) in view)
        raise NetError(f"{path} has {sizes}, which {NAME} does not have with {told}")
    if len(fitting) > 1:
        ways = " or ".join(f"dice={','.join(map(str, g.options.dice))}" for g in fitting)  # type: ignore[attr-defined]
        raise NetError(f"{path} does not tell who opens: say --option {ways}")
    return fitting[0]


def hand_out(path: str | Path, out: str | Path, *, batched: bool = False) -> None:
    """Write the network of a checkpoint as an ONNX file.

    batched: whether a value network takes any number of rows; networks with a policy always do.
    """
    net, about = load_net(path)
    if isinstance(net, NetCompBilin):
        game: Any = about.get("game")
        named = isinstance(game, dict) and game.get("name") == NAME
        if not named or not isinstance(game.get("options"), dict):
            raise NetError(f"{path} does not tell for which {NAME} it was trained")
        save_onnx(out, net, game, batched=batched)
    elif isinstance(net, ValueNet):
        raise NetError(
            f"{path} holds a {type(net).__name__}; there is a form for NetCompBilin only"
        )
    elif isinstance(net, BeliefNet):
        raise NetError(f"{path} holds a network of beliefs, which takes no views; it stays here")
    else:
        from .onnx import export

        export(out, net, about)
