"""Tables that play without a search: a stretch of decisions at every table, then the next one.

Everything stays on the device, the games and what was decided in them. At some of the tables
compiled players have all seats but those of one team; what they decide is played and not noted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..batch import NO_ACTION, listed
from ..chance import STREAM, below
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
    observe,
    play,
    redeal,
    roll,
    room_for_actions,
    score,
    start,
    turn,
)
from .tree import softmax, uniform

LEARNER = -1  # who sits at a seat, if not a compiled player with a number
DECIDES, ANSWERS = 0, 1  # a table waits for the learner, or for a compiled player
UNKNOWN = math.nan  # how a game ends that goes on after the stretch


class Tables(NamedTuple):
    """Tables, each with a game under way."""

    states: Array  # [tables]
    words: Array  # the same memory as 64-bit words [tables, words]
    rngs: Array  # the chance of the games [tables]
    players: Array  # the chance of their players [tables]
    seated: Array  # LEARNER or the number of a compiled player. int64 [tables, seats]
    scripted: Array  # whether compiled players sit down for every game. int64 [tables]
    status: Array  # int64 [tables]
    copies: Array  # states, re-dealt: compiled players never see the truth [tables]
    copied: Array  # the same memory as 64-bit words [tables, words]
    illegal: Array  # an action that the rules do not allow, or NO_ACTION. int64 [tables]


class Seating(NamedTuple):
    """Who sits at the tables when a game begins."""

    players: int  # how many compiled players there are to draw from
    teams: Array  # by seat. int64 [seats]
    options: Array  # of the game [1]
    stray_share: float  # of the learner's decisions, at which it plays anything
    valued: int  # whether values are learnt at tables with compiled players, too


class Stretch(NamedTuple):
    """What the learner decided, by table and tick, and what came of it."""

    words: Array  # the positions, as 64-bit words [tables, ticks, words]
    seats: Array  # int64 [tables, ticks]
    played: Array  # int64 [tables, ticks]
    chances: Array  # logarithms of how likely that was. float32 [tables, ticks]
    values: Array  # what the network expected for the seat. float32 [tables, ticks]
    strayed: Array  # whether any action was played instead of a drawn one. int64 [tables, ticks]
    valued: Array  # whether what came of it says what positions are worth. int64 [tables, ticks]
    ended: Array  # whether the game ended before the next decision. int64 [tables, ticks]
    scores: Array  # of a game that ended, by seat. float32 [tables, ticks, seats]
    margins: Array  # float32 [tables, ticks, seats]
    opponents: Array  # whom the learner met in it: a number or LEARNER. int64 [tables, ticks]
    places: Array  # a seat that the learner had in it. int64 [tables, ticks]


class Lessons(NamedTuple):
    """What is to be learnt from a stretch."""

    gains: Array  # how much better it went than expected. float32 [tables, ticks]
    weights: Array  # 0 where nobody knows yet. float32 [tables, ticks]
    values: Array  # by seat from the one that decided, or UNKNOWN. float32 [tables, ticks, seats]
    margins: Array  # of the seat that decided, or UNKNOWN. float32 [tables, ticks]


class Later(NamedTuple):
    """What a table knows of its future, by seat, when its stretch is read backwards."""

    known: Array  # whether there is a later decision or an end. int64 [tables, seats]
    values: Array  # float32 [tables, seats]
    gains: Array  # float32 [tables, seats]
    scores: Array  # how the game ends, or UNKNOWN. float32 [tables, seats]
    margins: Array  # float32 [tables, seats]


class Examples(NamedTuple):
    """Positions out of a stretch, as a learner reads them."""

    states: Array  # [rows]
    words: Array  # the same memory as 64-bit words [rows, words]
    views: Array  # [rows]
    actions: Array  # to choose from, padded with -1. int64 [rows, max_legal]
    places: Array  # of what was played, among these. int64 [rows]


def empty_tables(device: Device, game: Game, size: int) -> Tables:
    states, copies = (device.empty(size, game.state) for _ in range(2))
    rngs, players = (device.empty(size, STREAM) for _ in range(2))
    return Tables(
        states=states,
        words=as_words(states),
        rngs=rngs,
        players=players,
        seated=device.put(np.full((size, game.seats), LEARNER, np.int64)),
        scripted=device.empty(size, np.int64),
        status=device.empty(size, np.int64),
        copies=copies,
        copied=as_words(copies),
        illegal=device.put(np.full(size, NO_ACTION)),
    )


def empty_stretch(device: Device, game: Game, size: int, ticks: int) -> Stretch:
    shape, by_seat = (size, ticks), (size, ticks, game.seats)
    return Stretch(
        words=device.scratch((size, ticks, game.state.itemsize // 8), np.uint64),
        seats=device.empty(shape, np.int64),
        played=device.empty(shape, np.int64),
        chances=device.empty(shape, np.float32),
        values=device.empty(shape, np.float32),
        strayed=device.empty(shape, np.int64),
        valued=device.empty(shape, np.int64),
        ended=device.empty(shape, np.int64),
        scores=device.empty(by_seat, np.float32),
        margins=device.empty(by_seat, np.float32),
        opponents=device.empty(shape, np.int64),
        places=device.empty(shape, np.int64),
    )


def empty_lessons(device: Device, game: Game, size: int, ticks: int) -> Lessons:
    shape = size, ticks
    gains, weights, margins = (device.empty(shape, np.float32) for _ in range(3))
    return Lessons(gains, weights, device.empty((*shape, game.seats), np.float32), margins)


def empty_later(device: Device, game: Game, size: int) -> Later:
    shape = size, game.seats
    values, gains, scores, margins = (device.empty(shape, np.float32) for _ in range(4))
    return Later(device.empty(shape, np.int64), values, gains, scores, margins)


def empty_examples(device: Device, game: Game, rows: int, views: Array) -> Examples:
    """views: zeros, which a network reads. float32 [rows, view_size]"""
    states = device.empty(rows, game.state)
    return Examples(
        states=states,
        words=as_words(states),
        views=device.put(views).view(game.view).reshape(rows),
        actions=device.empty((rows, game.max_legal), np.int64),
        places=device.empty(rows, np.int64),
    )


# Playing ---------------------------------------------------------------------------------------


@rule
def begin(tables, i, seating):
    """A new game; at a scripted table one compiled player gets all seats but those of a team."""
    s, rng = tables.states[i], tables.players[i]
    for word in range(tables.words.shape[1]):
        tables.words[i, word] = np.uint64(0)
    start(s, seating.options[0])
    if tables.scripted[i]:
        seats = tables.seated.shape[1]
        team = seating.teams[below(rng, seats)]
        player = below(rng, seating.players)
        for seat in range(seats):
            tables.seated[i, seat] = LEARNER if seating.teams[seat] == team else player


@rule
def note_end(tables, stretch, i, tick):
    s = tables.states[i]
    stretch.ended[i, tick] = 1
    score(s, stretch.scores[i, tick])
    margin(s, stretch.margins[i, tick])
    stretch.opponents[i, tick] = LEARNER
    for seat in range(tables.seated.shape[1]):
        if tables.seated[i, seat] != LEARNER:
            stretch.opponents[i, tick] = tables.seated[i, seat]
        else:
            stretch.places[i, tick] = seat


@rule
def play_on(tables, stretch, i, tick, seating):
    """Play on to a decision between several actions, through the ends of games; the new status.

    An end is noted at the tick of the last decision before it, if there was one.
    """
    s = tables.states[i]
    legal = room_for_actions(s)
    while True:
        who = turn(s)
        if who == CHANCE:
            roll(s, tables.rngs[i])
            continue
        if who == OVER:
            if tick >= 0 and stretch.ended[i, tick] == 0:
                note_end(tables, stretch, i, tick)
            begin(tables, i, seating)
            continue
        if candidates(s, legal) > 1:
            return DECIDES if tables.seated[i, who] == LEARNER else ANSWERS
        play(s, legal[0])


@rule
def answer(tables, i, player):
    """Play what a compiled player chooses on a re-dealt copy of the table."""
    s, rng = tables.states[i], tables.players[i]
    seat = turn(s)
    for word in range(tables.words.shape[1]):
        tables.copied[i, word] = tables.words[i, word]
    redeal(tables.copies[i], seat, rng)
    action = np.int64(choose(player, tables.copies[i], seat, rng))
    legal = room_for_actions(s)
    if listed(action, legal, actions(s, legal)):
        play(s, action)
    else:
        tables.illegal[i] = action


@kernel
def begin_games_all(first, end, step, tables, stretch, seating):
    for i in range(first, end, step):
        begin(tables, i, seating)
        tables.status[i] = play_on(tables, stretch, i, -1, seating)


@kernel
def look_all(first, end, step, tables, views):
    """What the seats to move see."""
    for i in range(first, end, step):
        observe(tables.states[i], turn(tables.states[i]), views[i])


@rule
def drawn(logits, legal, count, rng):
    """The place of an action drawn from a policy."""
    top, total = softmax(logits, legal, count)
    left, chosen = uniform(rng) * total, 0
    for j in range(count):
        chosen = j
        left -= math.exp(np.float64(logits[legal[j]]) - top)
        if left < 0.0:
            break
    return chosen


@rule
def chance_of(logits, legal, count, chosen):
    """The logarithm of the probability that a policy gives to the action at a place."""
    top, total = softmax(logits, legal, count)
    return np.float64(logits[legal[chosen]]) - top - math.log(total)


@kernel
def decide_all(first, end, step, tables, stretch, tick, seating, logits, values):
    """Draw an action at every table from the network's policy, note it, and play on."""
    for i in range(first, end, step):
        s, rng = tables.states[i], tables.players[i]
        legal = room_for_actions(s)
        count = candidates(s, legal)
        chosen = drawn(logits[i], legal, count, rng)
        strays = seating.stray_share > 0.0 and uniform(rng) < seating.stray_share
        if strays:
            chosen = below(rng, count)
        for word in range(tables.words.shape[1]):
            stretch.words[i, tick, word] = tables.words[i, word]
        action = np.int64(legal[chosen])
        stretch.seats[i, tick], stretch.played[i, tick] = turn(s), action
        stretch.chances[i, tick] = chance_of(logits[i], legal, count, chosen)
        stretch.values[i, tick] = values[i, 0]
        stretch.strayed[i, tick] = 1 if strays else 0
        stretch.valued[i, tick] = 1 if seating.valued or not tables.scripted[i] else 0
        stretch.ended[i, tick] = 0
        play(s, action)
        tables.status[i] = play_on(tables, stretch, i, tick, seating)


@kernel
def answer_all(first, end, step, tables, stretch, tick, seating, players, number):
    """Compiled players decide wherever it is their turn.

    players: tokens of one kind, whose numbers at the tables begin with `number`.
    """
    for i in range(first, end, step):
        while tables.status[i] == ANSWERS and tables.illegal[i] == NO_ACTION:
            k = tables.seated[i, turn(tables.states[i])] - number
            if k < 0 or k >= players.shape[0]:
                break
            answer(tables, i, players[k])
            if tables.illegal[i] == NO_ACTION:
                tables.status[i] = play_on(tables, stretch, i, tick, seating)


# Learning --------------------------------------------------------------------------------------


class Worth(NamedTuple):
    """What the end of a game is worth to a seat."""

    margin_share: float  # of the result: by how much it won
    margin_scale: float  # the margin that counts 1
    first_places: int  # whether only the first place counts, instead of the score


@rule
def result(scores, margins, seat, worth):
    """What a seat got out of a game that has ended."""
    value, seats = np.float64(scores[seat]), scores.shape[0]
    if worth.first_places:
        best, shared = value, 1
        for other in range(seats):
            if other != seat and scores[other] > best:
                shared = 0
            elif other != seat and scores[other] == best:
                shared += 1 if shared else 0
        value = ((seats / shared if shared else 0.0) - 1.0) / (seats - 1)
    far = min(1.0, max(-1.0, margins[seat] / worth.margin_scale))
    return value + worth.margin_share * (far - value)


@kernel
def judge_all(first, end, step, stretch, later, lessons, trace, worth):
    """How much better every decision went than expected, by what the same seat expected later.

    trace: how much of a later surprise belongs to an earlier decision, per decision between them.
    What comes of straying is not learnt from, and says nothing about earlier decisions of anybody:
    whoever learnt from the mistakes of others and not from its own would be too sure of winning.
    Values are those of games between equals for the same reason: a view does not show who the
    others are, and if it was worth more because they may be compiled players, a search would not
    want to pass the move on.
    """
    ticks, seats = stretch.seats.shape[1], later.known.shape[1]
    for i in range(first, end, step):
        for seat in range(seats):
            later.known[i, seat] = 0
            later.scores[i, seat], later.margins[i, seat] = UNKNOWN, UNKNOWN
        for tick in range(ticks - 1, -1, -1):
            if stretch.ended[i, tick]:
                for seat in range(seats):
                    got = result(stretch.scores[i, tick], stretch.margins[i, tick], seat, worth)
                    later.known[i, seat], later.gains[i, seat] = 1, 0.0
                    later.values[i, seat] = later.scores[i, seat] = got
                    far = stretch.margins[i, tick, seat] / worth.margin_scale
                    later.margins[i, seat] = min(1.0, max(-1.0, far))
            seat, value, gain = stretch.seats[i, tick], stretch.values[i, tick], 0.0
            if later.known[i, seat]:
                gain = later.values[i, seat] - value + trace * later.gains[i, seat]
            if stretch.strayed[i, tick]:
                gain = 0.0
                for k in range(seats):
                    later.known[i, k] = 0
                    later.scores[i, k], later.margins[i, k] = UNKNOWN, UNKNOWN
            lessons.gains[i, tick] = gain
            lessons.weights[i, tick] = later.known[i, seat]
            for k in range(1, seats):
                lessons.values[i, tick, k] = later.scores[i, (seat + k) % seats]
            lessons.values[i, tick, 0] = value + gain if later.known[i, seat] else UNKNOWN
            lessons.margins[i, tick] = later.margins[i, seat]
            if not stretch.valued[i, tick]:
                lessons.margins[i, tick] = UNKNOWN
                for k in range(seats):
                    lessons.values[i, tick, k] = UNKNOWN
            later.known[i, seat], later.values[i, seat], later.gains[i, seat] = 1, value, gain


@kernel
def recall_all(first, end, step, which, stretch, examples):
    """Positions of a stretch as the seats saw them. which: table times ticks, plus tick."""
    for r in range(first, end, step):
        i, tick = which[r] // stretch.seats.shape[1], which[r] % stretch.seats.shape[1]
        for word in range(examples.words.shape[1]):
            examples.words[r, word] = stretch.words[i, tick, word]
        s = examples.states[r]
        observe(s, stretch.seats[i, tick], examples.views[r])
        legal = room_for_actions(s)
        count = candidates(s, legal)
        for j in range(examples.actions.shape[1]):
            examples.actions[r, j] = legal[j] if j < count else -1
            if j < count and legal[j] == stretch.played[i, tick]:
                examples.places[r] = j
