"""Games of somebody who knows a network and responds to it: where its errors cost something.

A responder hardly ever goes where seats stray that bid anything, and a network that agrees with its
teacher there may still err where the responder goes. So the responder's games show what to learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

import torch

from ...arena.all_hands import History
from ...arena.local_response import DEPTHS
from ...arena.responder import Responder
from ...bidding.every_history import after_bids, policies_after
from ...bidding.lookahead import Lookahead, Public
from ...chance import streams


@dataclass(frozen=True)
class Responses:
    """Games of responders with a network at one table."""

    histories: tuple[list[History], list[History]]  # all bids, by the network's seat
    won: float  # by the responders, in points per game


def responses(look: Lookahead, games: int, seed: int) -> Responses:
    """So many games per seat, shared by responders that look ahead to different depths."""
    histories: tuple[list[History], list[History]] = [], []
    won = 0.0
    for seat, made in enumerate(histories):
        responder = Responder(
            look.hands.bidding,
            lambda asked, beliefs: policies_after(look, asked),
            1 - seat,
            device=look.hands.device,
        )
        for number, depth in enumerate(DEPTHS):
            responder.depth = depth
            first = games * (number + len(DEPTHS) * seat)
            count = len(range(number, games, len(DEPTHS)))
            played = responder.games(streams(seed, "training", count, first))
            made += [game.made for game in played]
            won += sum(game.got for game in played)
    return Responses(histories, won / (2 * games))


def decisions_along(look: Lookahead, histories: Sequence[History], seat: int) -> Iterator[Public]:
    """All decisions of a seat in these games, with the beliefs that the network's policy causes.

    The games are walked once, from bid to bid: to begin anew for every decision would ask the
    network three times as often in games of a dozen bids.
    """
    public, games = look.opening(), [(made, 0) for made in histories]  # with their tables
    for length in range(max(map(len, histories)) + 1):
        if length % 2 == seat:
            yield public.part(torch.tensor([at for _, at in games], device=look.hands.device))
        games = [(made, at) for made, at in games if len(made) > length]
        # In the order of the standing bids: then networks compute only legal ones.
        bids = sorted({(at, made[length]) for made, at in games}, key=itemgetter(1))
        numbers = {bid: number for number, bid in enumerate(bids)}
        games = [(made, numbers[at, made[length]]) for made, at in games]
        if games:
            public = after_bids(look, public, bids)
