"""Players: a sight goes in, an action comes out."""

from . import alphabeta, champions, networks, searching
from .networks import Drawing, NetPlayer, seat_network
from .scripted import Scripted
from .searching import TreeSearch
from .sight import Player, PlayerError, Sight, answers, identity_of
from .texts import names, player, spelled
from .thought import Candidate, Inquiry, Thought, explain

__all__ = [
    "Candidate",
    "Drawing",
    "Inquiry",
    "NetPlayer",
    "Player",
    "PlayerError",
    "Scripted",
    "Sight",
    "Thought",
    "TreeSearch",
    "alphabeta",
    "answers",
    "champions",
    "explain",
    "identity_of",
    "names",
    "networks",
    "player",
    "searching",
    "seat_network",
    "spelled",
]
