"""A network of beliefs at a table: from views to how likely each action should be."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor, float16, float32

from ..game import Game, GameError
from .beliefs import BeliefNet
from .hands import Hands
from .lookahead import Lookahead, Public
from .story import Story

PACE = 0.1, 0.01  # step and calm, see `Lookahead.solve`


class Believer:
    """Plays tables of one size.

    rounds: make the network's policy better by so many rounds of looking ahead at each decision, or
    by as many as there is time for in `seconds`; without, it is played as it is.
    """

    def __init__(
        self, game: Game, net: BeliefNet, device: str, rounds: int, seconds: float | None
    ) -> None:
        self.hands = hands = Hands(game, device)
        sizes = [len(odds) for odds in hands.odds]
        if not net.knows(sizes, hands.call):
            raise GameError(f"this network was not made for {sizes[0]} against {sizes[1]} hands")
        look = Lookahead(hands, net.to(device, float32 if device == "cpu" else float16).eval())

        def solved(public: Public) -> Tensor:
            return look.solve(public, rounds, *PACE, seconds).policy

        together = (1 if rounds else 16) if device == "cpu" else (64 if rounds else 512)
        self.story = Story(look, solved if rounds else look.advice, together)
        self.hand_size = game.view["priv"].shape[0]
        self.numbers = {
            (seat, priv.tobytes()): number
            for seat in range(2)
            for number, priv in enumerate(hands.privs[seat].cpu().numpy())
        }
        self.places = np.zeros(game.num_actions, np.int64)
        self.places[[*hands.bids, hands.call]] = np.arange(len(hands.bids) + 1)

    def odds(self, views: Any, seats: Any, actions: Any) -> Any:
        """How likely actions are [n, actions], with the hands in these views [n, view_size]."""
        privs, pub = views[:, : self.hand_size], views[:, self.hand_size :]
        made = pub.reshape(len(pub), 2, -1).sum(1)[:, self.hands.bids]
        told = [tuple(np.flatnonzero(row).tolist()) for row in made]
        held = zip(seats.tolist(), privs, strict=True)
        mine = np.array([self.numbers[seat, priv.tobytes()] for seat, priv in held])
        return np.take_along_axis(self.story.odds(told, mine), self.places[actions], 1)
