"""Games of climbing bids between two hidden hands, read off their rules.

Each seat has a hand that tells nothing about the other's. In turn they bid, always higher than
before, or call the standing bid; the call ends the game, and the hands and the standing bid say
what the bidder gets.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...game import CHANCE, OVER, Game, GameError
from ...search.sequences import deals, table_of

PROBES = 64  # histories on which such a game is compared with its rules


class NoClimb(GameError):
    """A game with other than climbing bids and a call."""


def rungs(game: Game) -> tuple[list[int], int]:
    """The bids from low to high, and the call."""
    s = game.fresh()
    while game.turn(s) == CHANCE:
        game.play(s, game.moves(s)[0])
    if game.seats == 2 and game.zero_sum and game.turn(s) == 0:
        bids = game.legal(s)
        game.play(s, bids[-1])
        if game.turn(s) == OVER:
            raise NoClimb(
                f"{game.name} can end before the first bid here; choose options that forbid it"
            )
        if game.turn(s) == 1 and len(calls := game.legal(s)) == 1 and calls[0] > bids[-1]:
            return bids, calls[0]
    raise NoClimb(f"{game.name} is not a game of climbing bids")


class Climb:
    """The bids and the hands of such a game, how likely hands are, and what a call brings.

    Hands are in the order of what a network sees of them, so equal hands of different seats, or at
    tables of different sizes, have the same number.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.bids, self.call = rungs(game)
        states, likely = deals(game)
        seen = [_views(game, states, seat) for seat in range(2)]
        self.views, hands = zip(*map(_numbered, seen), strict=True)  # by seat, of its hands
        self.odds = [np.bincount(hand, likely) for hand in hands]
        together = np.zeros([len(each) for each in self.odds])
        np.add.at(together, hands, likely)
        if not np.allclose(together, np.outer(*self.odds), atol=1e-12):
            raise NoClimb(f"{game.name}: what one seat holds tells about the other's hand")
        self.deal = np.zeros(together.shape, game.state)  # a table for each pair of hands
        self.deal[hands] = states

    @cached_property
    def gains(self) -> Any:
        """What the bidder gets when a bid is called. [bids, hands, hands]"""
        found = np.zeros((len(self.bids), *self.deal.shape))
        for b, bid in enumerate(self.bids):
            for bidder in range(2 if b else 1):
                path = [bid, self.call] if bidder == 0 else [self.bids[0], bid, self.call]
                got = self._played_out(path)[..., bidder]
                if bidder and not (got == found[b]).all():
                    raise NoClimb(f"{self.game.name}: a bid is worth more to one of the seats")
                found[b] = got
        return found

    def _played_out(self, path: list[int]) -> Any:
        """The scores after these actions, for each pair of hands."""
        tables = table_of(self.game, self.deal.reshape(-1).copy())
        for action in path:
            tables.play(np.full(tables.size, action), check=False)
        if not (tables.turns() == OVER).all():
            raise NoClimb(f"{self.game.name} does not end with a call")
        return tables.scores().reshape(*self.deal.shape, 2)

    def probe(self) -> None:
        """Compare longer histories, of which there are too many to try all, with the rules."""
        rng = np.random.default_rng(1)
        for _ in range(PROBES):
            made = np.flatnonzero(rng.random(len(self.bids)) < rng.random())
            pair = tuple(int(rng.integers(size)) for size in self.deal.shape)
            s = self.game.copy(self.deal[pair])
            for bid in made:
                self.game.play(s, self.bids[bid])
            above = [*self.bids[made[-1] + 1 :], self.call] if len(made) else self.bids
            if self.game.turn(s) != len(made) % 2 or self.game.legal(s) != above:
                raise NoClimb(f"{self.game.name} is more than climbing bids: {self.game.text(s)}")
            if len(made):
                self.game.play(s, self.call)
                if self.game.scores(s)[1 - len(made) % 2] != self.gains[made[-1]][pair]:
                    raise NoClimb(f"{self.game.name}: more than the last bid counts")


def _views(game: Game, states: Any, seat: int) -> Any:
    """What a network sees of tables from a seat. [n, view]"""
    return np.ascontiguousarray(table_of(game, states).observe(np.full(len(states), seat)))


def _numbered(rows: Any) -> tuple[Any, Any]:
    """The different rows in order, and of each row the number of its like."""
    whole = rows.view(np.dtype((np.void, rows[0].nbytes))).reshape(-1)  # rows in a row: fast
    _, first, numbers = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], numbers.reshape(-1)
