"""Perft: counting all sequences of moves to a depth, the classical proof of a move generator.

A sequence is as long as the depth, or shorter where it ends the game at exactly that depth. Chance
outcomes count like moves. The counts of independent engines are in the tests of each game.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..compiled import kernel, rule
from ..game import CHANCE, OVER, Game, GameError, State, actions, odds, play, turn
from .judging import count

DEEPEST = 64


@dataclass(frozen=True)
class Perft:
    """What was counted."""

    nodes: int
    """Sequences of moves of exactly this depth."""
    ended: int | None
    """How many of them end the game; None where leaves were counted in bulk."""
    seconds: float

    @property
    def nodes_per_s(self) -> float:
        return self.nodes / max(self.seconds, 1e-9)


def perft(game: Game, s: State, depth: int, *, bulk: bool = False) -> Perft:
    """Count the sequences of `depth` moves from a position, on one core.

    bulk: do not play the last move of a sequence, but add up how many there are.
    """
    if not 0 <= depth <= DEEPEST:
        raise GameError(f"perft counts to a depth of 0 to {DEEPEST}, not {depth}")
    width = max(game.max_legal, game.num_outcomes)
    stack = np.zeros(depth + 1, game.state)
    stack[0] = s
    lists, chances = np.zeros((depth + 1, width), np.int16), np.zeros(game.num_outcomes)
    left, counted = np.zeros(depth + 1, np.int64), np.zeros(2, np.int64)
    count_all(
        0, 0, 1, stack, lists, left, chances, 0, bulk, counted
    )  # compiled before the clock runs
    began = time.perf_counter()
    count_all(0, 1, 1, stack, lists, left, chances, depth, bulk, counted)
    seconds = time.perf_counter() - began
    nodes, ended = counted.tolist()
    return Perft(nodes, None if bulk else ended, seconds)


def divided(game: Game, s: State, depth: int) -> dict[int, int]:
    """The sequences of `depth` moves from a position, by their first move."""
    if depth < 1:
        raise GameError("to divide by first moves, perft needs a depth of at least 1")
    counts = {}
    for move in game.moves(s):
        after = game.copy(s)
        game.play(after, move)
        counts[move] = perft(game, after, depth - 1, bulk=depth > 1).nodes
    return counts


@kernel
def count_all(first, end, step, stack, lists, left, chances, depth, bulk, counted):
    """counted: nodes, and how many of them are the end of a game. [2]"""
    for _ in range(first, end, step):
        nodes, ended, ply = 0, 0, 0
        mover = turn(stack[0])
        if depth == 0:
            nodes, ended, ply = 1, 1 if mover == OVER else 0, -1
        elif mover == OVER:
            ply = -1
        elif bulk and depth == 1:
            nodes, ply = possibilities(stack[0], mover, chances), -1
        else:
            left[0] = moves(stack[0], mover, lists[0], chances)
        while ply >= 0:
            if left[ply] == 0:
                ply -= 1
                continue
            left[ply] -= 1
            stack[ply + 1] = stack[ply]
            s = stack[ply + 1]
            play(s, lists[ply, left[ply]])
            mover = turn(s)
            if ply + 1 == depth:
                nodes += 1
                ended += 1 if mover == OVER else 0
            elif mover != OVER:
                if bulk and ply + 2 == depth:
                    nodes += possibilities(s, mover, chances)
                else:
                    ply += 1
                    left[ply] = moves(s, mover, lists[ply], chances)
        counted[0] = nodes
        counted[1] = ended


@rule
def possibilities(s, mover, chances):
    """How many things can happen next."""
    if mover != CHANCE:
        return count(s)
    odds(s, chances)
    n = 0
    for outcome in range(chances.shape[0]):
        n += 1 if chances[outcome] > 0.0 else 0
    return n


@rule
def moves(s, mover, out, chances):
    """Write down what can happen next and return how much that is."""
    if mover != CHANCE:
        return actions(s, out)
    odds(s, chances)
    n = 0
    for outcome in range(chances.shape[0]):
        if chances[outcome] > 0.0:
            out[n] = outcome
            n += 1
    return n
