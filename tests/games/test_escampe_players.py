"""The player of Escampe that needs no learning."""

import random

import numpy as np
from escampe_book import GAME, MID, RULES

from kibitz.arena.match import match
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.game import CHANCE, OVER
from kibitz.games import load
from kibitz.games.escampe.board import BAND, BLACK, PASS
from kibitz.games.escampe.rules import ALL_PLACED


def choices(game, s, times=60):
    rngs = streams(1, "player", times)
    return {game.action_text(s, int(game.players["greedy"](s, game.turn(s), r))) for r in rngs}


def test_greedy_takes_the_unicorn_if_it_can():
    s = RULES.read(f"{MID} F6-E5 A1-A2")
    assert choices(RULES, s) == {"C2-C1"}


def test_greedy_leaves_its_unicorn_to_nobody_if_it_can_help_it():
    for seed in range(30):
        game = load("escampe", placing="drawn", adjudication=False)
        dice, s = random.Random(seed), game.fresh()
        while game.turn(s) == CHANCE or (game.turn(s) != OVER and dice.random() < 0.9):
            game.play(s, dice.choice(game.moves(s)))
        if game.turn(s) == OVER:
            continue
        scores = {}
        for action in game.legal(s):
            t = game.copy(s)
            game.play(t, action)
            replies = [] if game.turn(t) == OVER else game.legal(t)
            lost = any(r != PASS and takes(game, t, r) for r in replies)
            scores[game.action_text(s, action)] = 2 if game.turn(t) == OVER else int(not lost)
        best = {move for move, value in scores.items() if value == max(scores.values())}
        assert choices(game, s) <= best
        assert len(choices(game, s, 200)) >= min(2, len(best)) or max(scores.values()) == 2


def takes(game, s, action):
    t = game.copy(s)
    game.play(t, action)
    return game.turn(t) == OVER


def test_greedy_places_on_all_bands_and_hides_its_unicorn():
    batch, rngs = Batch(GAME, 500, seed=1), streams(3, "player", 500)
    for _ in range(ALL_PLACED):
        batch.play(batch.choose("greedy", batch.turns(), rngs))
    for s in batch.host():
        letters = GAME.text(s).split()[0].replace("/", "")
        for own in ("bB", "nN"):
            assert {int(BAND[c]) for c in range(36) if letters[c] in own} == {1, 2, 3}
        assert not any(takes(GAME, s, action) for action in GAME.legal(s))
    # all cells of both edges but the five that a first move can reach
    assert len(np.unique(batch.host()["unicorn"][:, BLACK])) == 24 - 5


def test_greedy_wins_most_games_against_random():
    assert match(GAME, "greedy", "random", games=400, seed=0).low > 0.9
