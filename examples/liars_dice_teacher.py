"""How good a solution of a large table is, before a network learns from it.

    python examples/liars_dice_teacher.py 3,3 --contexts 200000 --iterations 100 --weak honest

`--recipe large` solves tables so (`kibitz/bidding/contexts.py`). A responder that knows the
solution plays against it, looking one and two bids ahead; what it wins, a network that has learnt
the solution perfectly would lose, too. Several solutions lose less together (`--solutions 4`). With
`--weak honest` the other seat is that player in a few games; what each solution wins from it is
printed, too. Five dice each with two million contexts need a GPU with 80 GB.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import torch

from kibitz.arena.local_response import standard_error
from kibitz.arena.responder import Responder
from kibitz.bidding.exact.bidding_game import BiddingGame
from kibitz.bidding.hands import Hands
from kibitz.bidding.lookahead import Public
from kibitz.bidding.weakness import won_from
from kibitz.chance import streams
from kibitz.games import load
from kibitz.train.bidding.teachers import ContextTeacher, MeanTeacher, weak_player

TOGETHER = 512  # histories that the solution is asked about
CHUNK = 1000  # games in lockstep


def policies(teacher, device):
    """What the solution does after histories of one length, as a responder asks."""

    def ask(histories, beliefs):
        mover = len(histories[0]) % 2
        sets = torch.tensor([sum(1 << rung for rung in made) for made in histories], device=device)
        last = torch.tensor([made[-1] if made else -1 for made in histories], device=device)
        for first in range(0, len(histories), TOGETHER):
            part = slice(first, first + TOGETHER)
            yield teacher.policy(Public(mover, last[part], [], sets[part]))

    return ask


def bound(climb, ask, depth, games, device):
    """What the responder wins, and the half of its 95 % interval."""
    won = []
    for seat in range(2):
        responder = Responder(climb, ask, seat, depth, device)
        rngs = streams(5, "table", games)[seat::2]
        parts = [
            responder.play(rngs[first : first + CHUNK]) for first in range(0, len(rngs), CHUNK)
        ]
        won.append(np.concatenate(parts))
    error = math.hypot(*map(standard_error, won)) / 2
    return sum(scores.mean() for scores in won) / 2, 1.96 * error


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("dice", help="of both seats, as in 3,3")
    words.add_argument("--contexts", type=int, default=100_000)
    words.add_argument("--iterations", type=int, default=80)
    words.add_argument("--solutions", type=int, default=1, help="whose mean is measured")
    words.add_argument("--weak", default="", help="a player expected at times")
    words.add_argument("--games", type=int, default=4000)
    words.add_argument("--device", default="cpu")
    words.add_argument("--seed", type=int, default=1)
    asked = words.parse_args()
    game = load("liars_dice", dice=tuple(int(dice) for dice in asked.dice.split(",")))
    hands, began = Hands(game, asked.device), time.monotonic()

    def progress(done):
        if done % max(asked.iterations // 10, 1) == 0:
            print(f"{time.monotonic() - began:.0f} s: iteration {done}", flush=True)

    solutions = [
        ContextTeacher(hands, asked.contexts, asked.iterations, seed, asked.weak, progress)
        for seed in range(asked.seed, asked.seed + asked.solutions)
    ]
    if asked.weak:
        weak = weak_player(hands, asked.weak)
        scores = [f"{won_from(hands, each.solution, weak):.4f}" for each in solutions]
        print(f"solutions win {', '.join(scores)} points per game from {asked.weak}", flush=True)
    teacher = MeanTeacher(solutions)
    climb, ask = BiddingGame(game), policies(teacher, asked.device)
    for depth in (1, 2):
        won, error = bound(climb, ask, depth, asked.games, asked.device)
        print(
            f"looking {depth} ahead: {won:.4f} ({won - error:.4f} to {won + error:.4f}) points per "
            f"game, {asked.games} games; {time.monotonic() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
