"""The networks of hand and history that methods in this folder train."""

from __future__ import annotations

from typing import TypeVar

from ...game import Game
from ...nets import Net, all_kinds
from ..method import Training

HandNet = TypeVar("HandNet", bound=Net)


def hand_network(recipe: Training, wanted: type[HandNet], game: Game, seed: int) -> HandNet:
    """The recipe's network with inputs as wide as the game's views of a hand and a history."""
    kind = all_kinds()[recipe.net]
    priv, pub = (game.view[name].shape[0] for name in ("priv", "pub"))
    net = kind.net(kind.config(priv=priv, pub=pub, **recipe.config), seed)
    assert isinstance(net, wanted), f"{recipe.method} cannot train a {type(net).__name__}"
    return net
