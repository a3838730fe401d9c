"""Games between a network that does not search and compiled players, on one device throughout.

Every table has one compiled player beside the network; between them they have all seats. A tick is
one decision of the network at every table of a list. Between two ticks tables play on, through
chance, forced moves and whatever their compiled players decide, to the next decision of the network
or to the end.

Streams move as they do where the network is asked as a search with one simulation: a table has the
same game here as there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..batch import NO_ACTION
from ..compiled import kernel, rule
from ..devices import Array, Device, as_words
from ..game import (
    CHANCE,
    OVER,
    actions,
    candidates,
    observe,
    play,
    redeal,
    roll,
    room_for_actions,
    turn,
)
from .stretch import ANSWERS, DECIDES, LEARNER, answer
from .tree import prior_of, softmax

NETWORK = LEARNER  # who sits at a seat, if not a compiled player with a number
ENDED = 2  # a table waits for nobody; else it DECIDES or ANSWERS


class Duels(NamedTuple):
    """Tables, each with a game under way."""

    states: Array  # [tables]
    words: Array  # the same memory as 64-bit words [tables, words]
    rngs: Array  # the chance of the games [tables]
    players: Array  # the chance of the compiled players [tables]
    networks: Array  # the chance of the network [tables]
    seated: Array  # NETWORK or the number of a compiled player. int64 [tables, seats]
    status: Array  # int64 [tables]
    copies: Array  # states, re-dealt: nobody who decides sees the truth [tables]
    copied: Array  # the same memory as 64-bit words [tables, words]
    illegal: Array  # an action that the rules do not allow, or NO_ACTION. int64 [tables]


def duels_at(
    device: Device, states: Array, rngs: Array, players: Array, networks: Array, seated: Array
) -> Duels:
    """Tables with these positions, streams and players; see `Duels`."""
    put, size = device.put, len(states)
    truth, copies = put(states), device.empty(size, states.dtype)
    return Duels(
        states=truth,
        words=as_words(truth),
        rngs=put(rngs),
        players=put(players),
        networks=put(networks),
        seated=put(seated),
        status=device.empty(size, np.int64),
        copies=copies,
        copied=as_words(copies),
        illegal=put(np.full(size, NO_ACTION)),
    )


@rule
def imagine(duels, i, seat, legal):
    """List what the network chooses from, on a re-dealt copy of the table; how many actions.

    A sight, what a player imagines of it, and a simulation re-deal once each. Who has one legal
    action makes no simulation.
    """
    copy, rng = duels.copies[i], duels.networks[i]
    for word in range(duels.words.shape[1]):
        duels.copied[i, word] = duels.words[i, word]
    for _ in range(2):
        redeal(copy, seat, rng)
    if actions(copy, legal) == 1:
        return 1
    redeal(copy, seat, rng)
    return candidates(copy, legal)


@rule
def play_on(duels, i):
    """Play on to a decision of a compiled player or of the network; the new status.

    The network is asked only where it has something to choose from. The table's copy is then as it
    imagines the table.
    """
    s = duels.states[i]
    legal = room_for_actions(s)
    while True:
        who = turn(s)
        if who == CHANCE:
            roll(s, duels.rngs[i])
            continue
        if who == OVER:
            return ENDED
        if duels.seated[i, who] != NETWORK:
            return ANSWERS
        if imagine(duels, i, who, legal) > 1:
            return DECIDES
        play(s, legal[0])


@rule
def preferred(logits, legal, count):
    """The likeliest action of a list, the first of equals: of what is equal in a tree's 32 bits."""
    top, total = softmax(logits, legal, count)
    best, highest = 0, prior_of(logits[legal[0]], top, total)
    for j in range(1, count):
        share = prior_of(logits[legal[j]], top, total)
        if share > highest:
            best, highest = j, share
    return legal[best]


# Kernels over lists of tables. which: their numbers. int64 [rows] ---------------------------------


@kernel
def play_on_all(first, end, step, which, duels):
    for row in range(first, end, step):
        duels.status[which[row]] = play_on(duels, which[row])


@kernel
def answer_all(first, end, step, which, duels, players, number):
    """Compiled players of one kind decide until it is the network's turn or the game is over.

    players: their tokens; their numbers at the tables begin with `number`. A game in which one of
    them chose an illegal action ends there.
    """
    for row in range(first, end, step):
        i = which[row]
        while duels.status[i] == ANSWERS:
            k = duels.seated[i, turn(duels.states[i])] - number
            if k < 0 or k >= players.shape[0]:
                break
            answer(duels, i, players[k])
            duels.status[i] = play_on(duels, i) if duels.illegal[i] == NO_ACTION else ENDED


@kernel
def look_all(first, end, step, which, duels, views):
    """What the network sees wherever it decides. views: [rows]"""
    for row in range(first, end, step):
        i = which[row]
        if duels.status[i] == DECIDES:
            observe(duels.copies[i], turn(duels.copies[i]), views[row])


@kernel
def decide_all(first, end, step, which, duels, logits):
    """The network plays what it prefers, wherever it decides. logits: [rows, num_actions]"""
    for row in range(first, end, step):
        i = which[row]
        if duels.status[i] == DECIDES:
            legal = room_for_actions(duels.states[i])
            count = candidates(duels.copies[i], legal)
            play(duels.states[i], preferred(logits[row], legal, count))
            duels.status[i] = play_on(duels, i)
