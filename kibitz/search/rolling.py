"""Tables that roll: every one plays game after game, and notes its decisions on the device.

Nothing goes to the host but small numbers at every move, and the notes once they fill their room. A
decision with one legal action needs no search: it is noted and played at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..batch import NO_ACTION, listed
from ..chance import STREAM, below, philox
from ..compiled import kernel, rule
from ..devices import Array, Device, as_words
from ..game import (
    CHANCE,
    OVER,
    Game,
    actions,
    candidates,
    choose,
    margin,
    play,
    redeal,
    roll,
    score,
    start,
    turn,
)
from .tree import uniform

DECIDES, ENDED, FULL = 0, 1, 2  # a table waits for a decision, for a new game, or for room
ANSWERS = 3  # or for somebody who does not learn
NO_OUTCOME = -1

NOTE = np.dtype(
    (
        np.record,
        [
            ("game", np.int64),  # its number
            ("clock", np.int64),  # the move of all tables at which it was noted
            ("value", np.float32),  # of the search, for the seat; zero without a search
            ("move", np.int32),  # decisions of the game before this one
            ("outcome", np.int32),  # the last one of chance since then, or NO_OUTCOME
            ("played", np.int16),
            ("seat", np.int16),
        ],
    )
)


class Rolling(NamedTuple):
    """Tables, each with a game under way."""

    states: Array  # [tables]
    words: Array  # the same memory as 64-bit words [tables, words]
    rngs: Array  # the chance of the game [tables]
    trees: Array  # the chance of its searches [tables]
    numbers: Array  # of the games. int64 [tables]
    moves: Array  # decisions so far. int64 [tables]
    outcomes: Array  # the last one of chance since the last decision. int64 [tables]
    status: Array  # DECIDES, ENDED or FULL. int64 [tables]
    scores: Array  # of a game that has ended. float32 [tables, seats]
    margins: Array  # float32 [tables, seats]


class Notes(NamedTuple):
    """Decisions of every table, in the order of play."""

    used: Array  # how many. int64 [tables]
    facts: Array  # NOTE [tables, room]
    words: Array  # the positions, as 64-bit words [tables, room, words]
    actions: Array  # legal ones, padded with -1. int16 [tables, room, max_legal]
    policy: Array  # float32 [tables, room, max_legal]


class Scripts(NamedTuple):
    """Who of several compiled players sits where, and what they decide on."""

    seated: Array  # two numbers of players, who decide by turns. int64 [tables, seats, 2]
    copies: Array  # states, re-dealt: players never see the truth [tables]
    copied: Array  # the same memory as 64-bit words [tables, words]
    illegal: Array  # an action that the rules do not allow, or NO_ACTION. int64 [tables]


class Rows(NamedTuple):
    """Notes of all tables in one list."""

    words: Array  # [rows, words]
    actions: Array  # [rows, max_legal]
    policy: Array  # [rows, max_legal]


def empty_rolling(device: Device, game: Game, size: int) -> Rolling:
    states = device.empty(size, game.state)
    rngs, trees = (device.empty(size, STREAM) for _ in range(2))
    numbers, moves, outcomes, status = (device.empty(size, np.int64) for _ in range(4))
    scores, margins = (device.empty((size, game.seats), np.float32) for _ in range(2))
    return Rolling(
        states, as_words(states), rngs, trees, numbers, moves, outcomes, status, scores, margins
    )


def empty_notes(device: Device, game: Game, size: int, room: int) -> Notes:
    lists = size, room, game.max_legal
    return Notes(
        used=device.empty(size, np.int64),
        facts=device.scratch((size, room), NOTE),
        words=device.scratch((size, room, game.state.itemsize // 8), np.uint64),
        actions=device.scratch(lists, np.int16),
        policy=device.scratch(lists, np.float32),
    )


def empty_scripts(device: Device, game: Game, size: int) -> Scripts:
    copies = device.empty(size, game.state)
    return Scripts(
        seated=device.empty((size, game.seats, 2), np.int64),
        copies=copies,
        copied=as_words(copies),
        illegal=device.put(np.full(size, NO_ACTION)),
    )


def gathered(device: Device, notes: Notes, which: NDArray[np.int64]) -> Rows:
    """Notes in this order, in the host's memory. which: table times room, plus place."""
    kinds = notes.words, notes.actions, notes.policy
    rows = Rows(*(device.scratch((len(which), kind.shape[2]), kind.dtype) for kind in kinds))
    device.run(gather_all, len(which), device.put(which), notes, rows)
    return Rows(*map(device.get, rows))


@rule
def note(tables, notes, i, count, seat, played, value, clock):
    """Finish the note of the decision at hand, whose first `count` actions are listed already."""
    k = notes.used[i]
    for word in range(tables.words.shape[1]):
        notes.words[i, k, word] = tables.words[i, word]
    for j in range(count, notes.actions.shape[2]):
        notes.actions[i, k, j], notes.policy[i, k, j] = -1, 0.0
    fact = notes.facts[i, k]
    fact.game, fact.clock = tables.numbers[i], clock
    fact.move, fact.outcome = tables.moves[i], tables.outcomes[i]
    fact.seat, fact.played, fact.value = seat, played, value
    notes.used[i] = k + 1
    tables.moves[i] += 1
    tables.outcomes[i] = NO_OUTCOME


@rule
def roll_on(tables, notes, i, clock):
    """Play on to a decision between several actions or to the end; return the table's status."""
    s = tables.states[i]
    while True:
        who = turn(s)
        if who == CHANCE:
            tables.outcomes[i] = roll(s, tables.rngs[i])
            continue
        if who == OVER:
            score(s, tables.scores[i])
            margin(s, tables.margins[i])
            return ENDED
        k = notes.used[i]
        if k == notes.facts.shape[1]:
            return FULL
        legal = notes.actions[i, k]
        count = candidates(s, legal)
        if count > 1:
            return DECIDES
        notes.policy[i, k, 0] = 1.0
        note(tables, notes, i, count, who, legal[0], 0.0, clock)
        play(s, legal[0])


@rule
def drawn_player(tables, scripts, i, seat):
    """Who decides now: one of the seat's two players, by a bit that its game and move give."""
    bit = philox(tables.trees[i].key, np.uint64(tables.moves[i]) << np.uint64(32)) & np.uint64(1)
    return scripts.seated[i, seat, np.int64(bit)]


@rule
def decide_by_script(tables, notes, scripts, i, seat, player, random_share, clock):
    """Note what a compiled player chooses, and play that or, at times, anything."""
    s, rng, k = tables.states[i], tables.trees[i], notes.used[i]
    for word in range(tables.words.shape[1]):
        scripts.copied[i, word] = tables.words[i, word]
    redeal(scripts.copies[i], seat, rng)
    action = np.int64(choose(player, scripts.copies[i], seat, rng))
    legal = notes.actions[i, k]
    count = actions(s, legal)
    if not listed(action, legal, count):
        scripts.illegal[i] = action
        return
    for j in range(count):
        notes.policy[i, k, j] = 1.0 if legal[j] == action else 0.0
    if uniform(rng) < random_share:
        action = np.int64(legal[below(rng, count)])
    note(tables, notes, i, count, seat, action, 0.0, clock)
    play(s, action)
    tables.status[i] = roll_on(tables, notes, i, clock)


# Kernels ---------------------------------------------------------------------------------------


@kernel
def begin_all(first, end, step, which, tables, rngs, trees, number, options):
    """New games at the tables in `which`, numbered from `number` on, with these streams."""
    for k in range(first, end, step):
        i = which[k]
        for word in range(tables.words.shape[1]):
            tables.words[i, word] = np.uint64(0)
        tables.rngs[i].key, tables.rngs[i].count = rngs[k].key, rngs[k].count
        tables.trees[i].key, tables.trees[i].count = trees[k].key, trees[k].count
        tables.numbers[i], tables.moves[i] = number + k, 0
        tables.outcomes[i] = NO_OUTCOME
        start(tables.states[i], options[0])


@kernel
def roll_on_all(first, end, step, tables, notes, clock):
    for i in range(first, end, step):
        tables.status[i] = roll_on(tables, notes, i, clock)


@kernel
def decide_all(first, end, step, tables, notes, found, opening, clock):
    """Note what a search has found at every table, and play it.

    found: the roots of a search. The first `opening` moves of a game are drawn from the policy.
    """
    for i in range(first, end, step):
        s, k, count = tables.states[i], notes.used[i], found.counts[i]
        for j in range(count):
            notes.actions[i, k, j] = found.acts[i, j]
            notes.policy[i, k, j] = found.policy[i, j]
        action = found.best[i]
        if tables.moves[i] < opening:
            action = np.int64(drawn(found.acts[i], found.policy[i], count, tables.trees[i]))
        note(tables, notes, i, count, turn(s), action, found.value[i], clock)
        play(s, action)


@kernel
def find_answers_all(first, end, step, tables):
    """Mark the tables at which somebody else than the game's learner decides.

    The learner of a game has the seat that its number says.
    """
    for i in range(first, end, step):
        s = tables.states[i]
        learner = tables.numbers[i] % tables.scores.shape[1]
        tables.status[i] = DECIDES if turn(s) == learner else ANSWERS


@kernel
def answer_all(first, end, step, tables, notes, found, clock):
    """Play what a search has found where somebody else decides. There is no move to learn from."""
    for i in range(first, end, step):
        if tables.status[i] == ANSWERS:
            s, k, count = tables.states[i], notes.used[i], found.counts[i]
            for j in range(count):
                notes.actions[i, k, j], notes.policy[i, k, j] = found.acts[i, j], 0.0
            note(tables, notes, i, count, turn(s), found.best[i], 0.0, clock)
            play(s, found.best[i])


@kernel
def follow_scripts_all(
    first, end, step, tables, notes, scripts, players, number, random_share, clock
):
    """Compiled players decide wherever it is their turn, until tables end or have no room.

    players: tokens of one kind, whose numbers in `scripts.seated` begin with `number`.
    """
    for i in range(first, end, step):
        while tables.status[i] == DECIDES and scripts.illegal[i] == NO_ACTION:
            seat = turn(tables.states[i])
            k = drawn_player(tables, scripts, i, seat) - number
            if k < 0 or k >= players.shape[0]:
                break
            decide_by_script(tables, notes, scripts, i, seat, players[k], random_share, clock)


@kernel
def gather_all(first, end, step, which, notes, rows):
    """Copy notes into a list. which: table times room, plus place, by row."""
    for r in range(first, end, step):
        i, k = which[r] // notes.facts.shape[1], which[r] % notes.facts.shape[1]
        for word in range(rows.words.shape[1]):
            rows.words[r, word] = notes.words[i, k, word]
        for j in range(rows.actions.shape[1]):
            rows.actions[r, j] = notes.actions[i, k, j]
            rows.policy[r, j] = notes.policy[i, k, j]


@rule
def drawn(acts, policy, count, rng):
    """An action, drawn with the probabilities of the policy."""
    left, last = uniform(rng), 0
    for j in range(count):
        if policy[j] > 0.0:
            last = j
            left -= policy[j]
            if left < 0.0:
                break
    return acts[last]
