"""Any game of any length under any options: texts read back, nothing leaks, replay is exact."""

from __future__ import annotations

import functools
from typing import Any

import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kibitz import games
from kibitz.chance import stream
from kibitz.game import OVER, Game

load = functools.cache(games.load)

# Faces and views are shapes, and every shape is compiled: so few of them, and all the rules.
ROUNDS_OF_DICE = st.builds(
    functools.partial(load, "liars_dice"),
    dice=st.sampled_from([(1, 1), (1, 2), (2, 1), (3, 2)]),
    variant=st.sampled_from(["normal", "joker", "high", "stairs"]),
    opening_call=st.booleans(),
)
WITHOUT_ONES = st.builds(
    functools.partial(load, "liars_dice", ones_biddable=False),
    dice=st.sampled_from([(1, 2), (3, 2)]),
    opening_call=st.booleans(),
)
ANY_GAME = ROUNDS_OF_DICE | WITHOUT_ONES | st.sampled_from(games.names()).map(load)
CHOICES = st.lists(st.integers(0, 1 << 16), max_size=40)

forty = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def played(game: Game, choices: list[int]) -> tuple[Any, list[int]]:
    """The state after these choices, each modulo the moves that are possible, and the moves."""
    s, moves = game.fresh(), []
    for choice in choices:
        possible = game.moves(s)
        if not possible:
            break
        moves.append(possible[choice % len(possible)])
        game.play(s, moves[-1])
    return s, moves


@forty
@given(ANY_GAME, CHOICES)
def test_every_text_reads_back(game: Game, choices: list[int]) -> None:
    s, _ = played(game, choices)
    text = game.text(s) if game.case_matters else game.text(s).upper()
    assert game.read(text).tobytes() == s.tobytes()
    for move in game.moves(s):
        assert game.read_action(s, f" {game.action_text(s, move).upper()} ") == move


@forty
@given(ANY_GAME, CHOICES, st.integers(0, 1 << 40))
def test_nothing_leaks(game: Game, choices: list[int], seed: int) -> None:
    s, _ = played(game, choices)
    who = game.turn(s)
    if who == OVER:
        return
    for seat in range(game.seats):
        t = game.copy(s)
        game.redeal(t, seat, stream(seed, "search"))
        assert game.turn(t) == who
        assert game.look(t, seat).tobytes() == game.look(s, seat).tobytes()
        assert int(game.known(t, seat)) == int(game.known(s, seat))
        assert game.seen(t, seat) == game.seen(s, seat)
        if seat == who:
            assert game.legal(t) == game.legal(s)


@forty
@given(ANY_GAME, CHOICES)
def test_the_same_moves_give_the_same_bytes(game: Game, choices: list[int]) -> None:
    s, moves = played(game, choices)
    t = game.copy(s)  # a used table: `start` must forget it
    game.start(t, game.options.numbers())
    for move in moves:
        game.play(t, move)
    assert t.tobytes() == s.tobytes()


@forty
@given(ANY_GAME, CHOICES)
def test_a_copy_goes_its_own_way(game: Game, choices: list[int]) -> None:
    s, _ = played(game, choices)
    before = s.tobytes()
    t = game.copy(s)
    while possible := game.moves(t):
        game.play(t, possible[len(choices) % len(possible)])
    assert s.tobytes() == before
