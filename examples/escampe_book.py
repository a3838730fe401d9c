"""What choosing one's placement is worth in Escampe: the champion against itself with drawn ones.

Run it from the repository: `.venv/bin/python examples/escampe_book.py [GAMES] [SECONDS]`. Both
players search alike; one places Black by the book and White by trying many replies, the other draws
every placement, each as likely as any other.
"""

import math
import sys

import numpy as np

import kibitz
from kibitz.chance import below
from kibitz.games.escampe.rules import PIECES


class DrawnPlacements:
    """A player whose placements are drawn, and who then plays like another."""

    name = "the champion with drawn placements"

    def __init__(self, player):
        self.player = player

    def choose(self, sight):
        if sight.imagine()[0].placed >= 2 * PIECES:  # all tables of a match place at the same time
            return self.player.choose(sight)
        placed = [int(s.placed) % PIECES for s in sight.imagine()]
        tables = zip(sight.actions, placed, sight.rngs, strict=True)
        return np.array([drawn(legal, count, rng) for legal, count, rng in tables])


def drawn(legal, count, rng):
    """The next piece of a placement: the unicorn, or a paladin beyond those that are placed.

    A cell is as likely as there are ways to place the other paladins beyond it.
    """
    if count == 0:
        return legal[below(rng, len(legal))]
    others = PIECES - 1 - count
    free = len(legal) + others  # cells, of which the last are too few for a beginning
    ways = [math.comb(free - 1 - i, others) for i in range(len(legal))]
    number = below(rng, sum(ways))
    return legal[int(np.searchsorted(np.cumsum(ways), number, side="right"))]


def main(games=300, seconds=0.2):
    game = kibitz.load("escampe", placing="chosen")
    champion = kibitz.player(f"champion:seconds={seconds}", game)
    result = kibitz.match(game, champion, DrawnPlacements(champion), games=games, seed=7)
    print(
        f"{result.players[0]} against {result.players[1]}: wins {result.win_rate:.1%} "
        f"(95 % interval {result.low:.1%} to {result.high:.1%}, {result.games} games); "
        f"as White {result.by_seat[0]:.1%}, as Black {result.by_seat[1]:.1%}"
    )


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
