"""A belief network at a table: from views to the probability of each action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, float16, float32

from ..game import Game, GameError
from ..nets.kinds import Belief
from ..search.sequences import Progress, Strategy, silent
from .belief_tracker import BeliefTracker, History
from .beliefs import BeliefNet
from .every_history import policies_after, policy_table
from .exact.ladder import Ladder
from .hands import Hands
from .lookahead import Lookahead, Public
from .solved_table import MOST_BIDS, SolvedTable

LIKELIEST = 3  # hands that a belief names
STEP_SIZE, MAGNET = 0.1, 0.01  # see `Lookahead.solve`


class BeliefPolicy:
    """Plays tables of one size.

    rounds: look ahead by so many rounds, or by as many as fit into `seconds` per decision. Small
    tables are solved to the end of the game; at others each decision is improved by itself. With 0
    rounds the network's policy is played unchanged.
    """

    def __init__(
        self, game: Game, net: BeliefNet, device: str, rounds: int, seconds: float | None
    ) -> None:
        self.hands = hands = Hands(game, device)
        sizes = [len(odds) for odds in hands.odds]
        if not net.knows(sizes, hands.call):
            raise GameError(f"this network was not made for {sizes[0]} against {sizes[1]} hands")
        self.look = look = Lookahead(
            hands, net.to(device, float32 if device == "cpu" else float16).eval()
        )

        def improved(public: Public) -> Tensor:
            return look.solve(public, rounds, STEP_SIZE, MAGNET, seconds).policy

        small = len(hands.bids) <= MOST_BIDS
        self.solved = SolvedTable(game, rounds, seconds) if rounds and small else None
        self.improves = improves = rounds > 0 and not small
        together = (1 if improves else 16) if device == "cpu" else (64 if improves else 512)
        self.tracker = BeliefTracker(look, improved if improves else look.prior, together)
        self.hand_size = game.view["priv"].shape[0]
        self.numbers = {
            (seat, priv.tobytes()): number
            for seat in range(2)
            for number, priv in enumerate(hands.privs[seat].cpu().numpy())
        }
        self.places = np.zeros(game.num_actions, np.int64)
        self.places[[*hands.bids, hands.call]] = np.arange(len(hands.bids) + 1)

    def odds(
        self,
        views: NDArray[np.float32],
        seats: NDArray[np.integer],
        actions: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """How likely actions are [n, actions], with the hands in these views [n, view_size]."""
        histories = self._histories(views)
        held = zip(seats.tolist(), views[:, : self.hand_size], strict=True)
        mine = np.array([self.numbers[seat, priv.tobytes()] for seat, priv in held])
        odds = self.tracker.odds(histories, mine)
        if self.solved is not None:
            odds = self.solved.odds(histories, mine, odds)
        return np.take_along_axis(odds, self.places[actions], 1)

    def _histories(self, views: NDArray[np.float32]) -> list[History]:
        pub = views[:, self.hand_size :]
        bid = pub.reshape(len(pub), 2, -1).sum(1)[:, self.hands.bids]
        return [tuple(np.flatnonzero(row).tolist()) for row in bid]

    def beliefs(self, views: NDArray[np.float32]) -> tuple[Belief, ...]:
        """About both hands, at one table; by the network's own policy. [1, view_size]"""
        public = self.tracker.after(self._histories(views)[0])
        return tuple(self._belief(seat, public.beliefs[seat][0]) for seat in range(2))

    def values(
        self, views: NDArray[np.float32], seat: int, actions: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """What the network expects after each action, at one table. [1, view_size], [actions]"""
        public = self.tracker.after(self._histories(views)[0])
        after = self.look.solve(public, rounds=0, step_size=0.0, magnet=0.0).after[0]
        mine = self.numbers[seat, views[0, : self.hand_size].tobytes()]
        worth = after[:, mine].double().cpu().numpy()
        return np.asarray(worth[self.places[actions]], np.float64)

    def _belief(self, seat: int, odds: Tensor) -> Belief:
        deal = self.hands.bidding.deal
        dice = (deal[:, 0] if seat == 0 else deal[0])["hand"][:, seat]  # [hands, sides]
        likely = odds.float().cpu().numpy()
        best = np.argsort(-likely, kind="stable")[:LIKELIEST]
        texts = [
            " ".join(str(f + 1) for f, n in enumerate(dice[k]) for _ in range(n)) for k in best
        ]
        named = zip(texts, likely[best].tolist(), strict=True)
        return Belief(seat, tuple((likely @ dice).tolist()), tuple(named))

    def table(self, ladder: Ladder, progress: Progress = silent) -> Strategy | None:
        """What it does after every history, if that can be said at once."""
        if self.solved is not None:
            return self.solved.solve() if self.solved.seconds is None else None
        return None if self.improves else policy_table(ladder, self.look, progress)

    def with_all_hands(self, histories: Sequence[History]) -> Iterator[Tensor]:
        """The network's own policy after histories of one length. [n, actions, hands]"""
        return policies_after(self.look, histories)
