"""Walks away from noted positions, move by move, with all that a model of the game should know.

Forced moves are steps like all others. Now and then a walk takes any action, so that the model also
hears of moves that nobody would play.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..chance import STREAM, below
from ..compiled import kernel, rule
from ..devices import Array, Device, as_words
from ..game import CHANCE, OVER, Game, candidates, observe, play, roll, score, turn
from .consequences import Copies, follow
from .stretch import drawn
from .tree import uniform


class Walkers(NamedTuple):
    """Positions under way."""

    states: Array  # [rows]
    words: Array  # the same memory as 64-bit words [rows, words]
    rngs: Array  # [rows]
    outcomes: Array  # room for the odds of chance. float64 [rows, num_outcomes]


class Walks(NamedTuple):
    """Where walks have led: one position more than moves."""

    alive: Array  # whether the game goes on there. int64 [rows, moves + 1]
    seats: Array  # whose turn it is. int64 [rows, moves + 1]
    actions: Array  # to choose from, padded with -1. int64 [rows, moves + 1, max_legal]
    played: Array  # int64 [rows, moves]
    codes: Array  # of chance after that. int64 [rows, moves]
    odds: Array  # of these codes; certain where the rules do not say. float32 [rows, moves, codes]
    scores: Array  # of games that have ended, by seat. float32 [rows, seats]


def empty_walkers(device: Device, game: Game, rows: int) -> Walkers:
    states = device.empty(rows, game.state)
    room = device.empty((rows, game.num_outcomes), np.float64)
    return Walkers(states, as_words(states), device.empty(rows, STREAM), room)


def empty_walks(device: Device, game: Game, rows: int, moves: int, codes: int) -> Walks:
    return Walks(
        alive=device.empty((rows, moves + 1), np.int64),
        seats=device.empty((rows, moves + 1), np.int64),
        actions=device.empty((rows, moves + 1, game.max_legal), np.int64),
        played=device.empty((rows, moves), np.int64),
        codes=device.empty((rows, moves), np.int64),
        odds=device.empty((rows, moves, codes), np.float32),
        scores=device.empty((rows, game.seats), np.float32),
    )


def empty_copies(device: Device, game: Game, rows: int) -> Copies:
    states = device.empty(rows, game.state)
    return Copies(states, as_words(states))


@rule
def code_of(outcome, codes):
    """The chance code of an outcome; with few codes some outcomes share one."""
    return 1 + outcome % (codes - 1) if codes > 1 else 0


@rule
def write_odds(walkers, walks, i, move, exact):
    """The odds of the codes, or certainty of the one that came."""
    found, codes, total = walks.odds[i, move], walks.odds.shape[2], 0.0
    for code in range(codes):
        found[code] = 0.0
    if not exact or codes == 1:
        found[walks.codes[i, move]] = 1.0
        return
    for outcome in range(walkers.outcomes.shape[1]):
        found[code_of(outcome, codes)] += walkers.outcomes[i, outcome]
        total += walkers.outcomes[i, outcome]
    found[0] = 1.0 - total


@kernel
def set_out_all(first, end, step, which, noted, walkers):
    """Begin at noted positions. noted: their words [tables, ticks, words]."""
    for i in range(first, end, step):
        table, tick = which[i] // noted.shape[1], which[i] % noted.shape[1]
        for word in range(noted.shape[2]):
            walkers.words[i, word] = noted[table, tick, word]


@kernel
def look_all(first, end, step, walkers, walks, move, views):
    """What the seats to move see and may do, where the games go on."""
    for i in range(first, end, step):
        s, listed = walkers.states[i], walks.actions[i, move]
        who = turn(s)
        walks.alive[i, move], count = 0, 0
        if who == OVER:
            score(s, walks.scores[i])
        else:
            walks.alive[i, move], walks.seats[i, move] = 1, who
            observe(s, who, views[i])
            count = candidates(s, listed)
        for j in range(count, listed.shape[0]):
            listed[j] = -1


@kernel
def go_on_all(first, end, step, walkers, after, then, walks, move, logits, any_share):
    """One move, by the policy or, for a share of the walks, any; then chance."""
    for i in range(first, end, step):
        walks.played[i, move] = walks.codes[i, move] = 0
        if not walks.alive[i, move]:
            write_odds(walkers, walks, i, move, False)
            continue
        s, rng, listed = walkers.states[i], walkers.rngs[i], walks.actions[i, move]
        count = 0
        while count < listed.shape[0] and listed[count] >= 0:
            count += 1
        place = drawn(logits[i], listed, count, rng)
        if uniform(rng) < any_share:
            place = below(rng, count)
        walks.played[i, move] = action = listed[place]
        exact = follow(walkers.words, i, action, after, then, walkers.outcomes)
        play(s, action)
        while turn(s) == CHANCE:
            walks.codes[i, move] = code_of(roll(s, rng), walks.odds.shape[2])
        write_odds(walkers, walks, i, move, exact)
