"""Somebody who sits down: a sight goes in, an action comes out."""

from . import champions, networks, searching
from .networks import Drawing, NetPlayer, seat_network
from .scripted import Scripted
from .searching import TreeSearch
from .sight import Player, PlayerError, Sight, answers, identity_of
from .texts import names, player, spelled

__all__ = [
    "Drawing",
    "NetPlayer",
    "Player",
    "PlayerError",
    "Scripted",
    "Sight",
    "TreeSearch",
    "answers",
    "champions",
    "identity_of",
    "names",
    "networks",
    "player",
    "searching",
    "seat_network",
    "spelled",
]
