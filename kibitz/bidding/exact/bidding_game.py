"""Games of rising bids between two hidden hands, read off their rules.

Each seat has a hand that says nothing about the other's. In turn they bid, always higher than
before, or call the standing bid. The call ends the game; the hands and the standing bid decide what
the bidder gets.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...game import CHANCE, OVER, Game, GameError
from ...search.sequences import deals, table_of

PROBES = 64  # random histories on which the game is compared with its rules

States = NDArray[np.void]
"""Records of a game's state."""


class NotABiddingGame(GameError):
    """A game that is more, or other, than rising bids and a call."""


def bids_and_call(game: Game) -> tuple[list[int], int]:
    """The bids from low to high, and the call."""
    s = game.fresh()
    while game.turn(s) == CHANCE:
        game.play(s, game.moves(s)[0])
    if game.seats == 2 and game.zero_sum and game.turn(s) == 0:
        bids = game.legal(s)
        game.play(s, bids[-1])
        if game.turn(s) == OVER:
            raise NotABiddingGame(
                f"{game.name} can end before the first bid here; choose options that forbid it"
            )
        if game.turn(s) == 1 and len(calls := game.legal(s)) == 1 and calls[0] > bids[-1]:
            return bids, calls[0]
    raise NotABiddingGame(f"{game.name} is not a game of rising bids")


class BiddingGame:
    """The bids and the hands of such a game, how likely hands are, and what a call brings.

    Hands are sorted by what a network sees of them, so equal hands of different seats, or at tables
    of different sizes, have the same number.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.bids, self.call = bids_and_call(game)
        states, likely = deals(game)
        seen = [_views(game, states, seat) for seat in range(2)]
        self.views, hands = zip(*map(_numbered, seen), strict=True)  # by seat, of its hands
        self.odds = [np.bincount(hand, likely).astype(np.float64) for hand in hands]
        joint = np.zeros([len(odds) for odds in self.odds])
        np.add.at(joint, hands, likely)
        if not np.allclose(joint, np.outer(*self.odds), atol=1e-12):
            raise NotABiddingGame(f"{game.name}: one seat's hand tells about the other's")
        self.deal: States = np.zeros(joint.shape, game.state)  # a table for each pair of hands
        self.deal[hands] = states

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """What the bidder gets when a bid is called. [bids, hands, hands]"""
        gains = np.zeros((len(self.bids), *self.deal.shape))
        for b, bid in enumerate(self.bids):
            for bidder in range(2 if b else 1):
                path = [bid, self.call] if bidder == 0 else [self.bids[0], bid, self.call]
                scores = self._played_out(path)[..., bidder]
                if bidder and not (scores == gains[b]).all():
                    raise NotABiddingGame(f"{self.game.name}: a bid pays one seat more")
                gains[b] = scores
        return gains

    def _played_out(self, path: list[int]) -> NDArray[np.float32]:
        """The scores after these actions, for each pair of hands."""
        tables = table_of(self.game, self.deal.reshape(-1).copy())
        for action in path:
            tables.play(np.full(tables.size, action), check=False)
        if not (tables.turns() == OVER).all():
            raise NotABiddingGame(f"{self.game.name} does not end with a call")
        scores: NDArray[np.float32] = tables.scores()
        return scores.reshape(*self.deal.shape, 2)

    def probe(self) -> None:
        """Compare random longer histories with the rules: there are too many to try all."""
        rng = np.random.default_rng(1)
        for _ in range(PROBES):
            rungs = np.flatnonzero(rng.random(len(self.bids)) < rng.random())
            pair = tuple(int(rng.integers(size)) for size in self.deal.shape)
            s = self.game.copy(self.deal[pair])
            for rung in rungs:
                self.game.play(s, self.bids[rung])
            above = [*self.bids[rungs[-1] + 1 :], self.call] if len(rungs) else self.bids
            if self.game.turn(s) != len(rungs) % 2 or self.game.legal(s) != above:
                raise NotABiddingGame(
                    f"{self.game.name} has other actions than rising bids: {self.game.text(s)}"
                )
            if len(rungs):
                self.game.play(s, self.call)
                if self.game.scores(s)[1 - len(rungs) % 2] != self.gains[rungs[-1]][pair]:
                    raise NotABiddingGame(f"{self.game.name}: more than the last bid counts")


def _views(game: Game, states: States, seat: int) -> NDArray[np.float32]:
    """What a network sees of tables from a seat. [n, view]"""
    return np.ascontiguousarray(table_of(game, states).observe(np.full(len(states), seat)))


def _numbered(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The distinct rows in order, and the number of each row among them."""
    whole = rows.view(np.dtype((np.void, rows[0].nbytes))).reshape(-1)  # a row as one item: fast
    _, first, numbers = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], numbers.reshape(-1)
