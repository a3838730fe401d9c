"""Random play of Escampe: no piece is lost but the last, and nothing is read beyond its array."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kibitz.batch import Batch, check_positions
from kibitz.chance import streams
from kibitz.games import load
from kibitz.games.escampe.board import NOWHERE
from kibitz.games.escampe.rules import ALL_PLACED

WAYS = ("chosen", "drawn", "fair")  # to place the pieces
MOST_PLIES = 12 + 200  # placing, then moves until the draw
LAWS_EVERY = 20  # plies: going back through all moves of a game costs more than playing it


def check(states, over):
    """Twelve pieces on as many cells; only where the game is over a unicorn may be missing."""
    placed, unicorns = states["placed"] == ALL_PLACED, states["unicorn"].astype(np.int64)
    cells = np.where(unicorns == NOWHERE, 0, np.int64(1) << np.maximum(unicorns, 0))
    sets = [*states["paladins"].T, *cells.T]
    assert (np.bitwise_count(states["paladins"][placed]) == 5).all()
    assert (np.bitwise_count(np.bitwise_or.reduce(sets)) == sum(map(np.bitwise_count, sets))).all()
    assert (unicorns[placed & ~over] != NOWHERE).all()


def play_to_the_end(games, seed, **options):
    """Random legal play, checked after every ply; returns how many plies that were."""
    game = load("escampe", **options)
    batch, own = Batch(game, games, seed=seed), streams(seed, "player", games)
    batch.start()
    batch.settle()
    plies = 0
    for ply in range(MOST_PLIES + 1):
        turns = batch.turns()
        check(batch.states, turns < 0)
        if ply % LAWS_EVERY == 0 or (turns < 0).all():
            check_positions(game, batch.states, "random play")
        if (turns < 0).all():
            return plies
        plies += int((turns >= 0).sum())
        batch.play(batch.choose("random", turns, own), check=False)
        batch.settle()
    pytest.fail("a game does not end")


@pytest.mark.parametrize("placing", WAYS)
def test_pieces_are_conserved_and_every_game_ends(placing):
    assert play_to_the_end(100, seed=1, placing=placing) > 2000


@pytest.mark.slow
def test_ten_million_plies_with_every_index_checked(tmp_path):
    """Compiled with bounds checks, in a process and a cache of its own."""
    here = str(Path(__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {here!r})\n"
        "from test_escampe_random import WAYS, play_to_the_end\n"
        "plies = {way: play_to_the_end(70_000, 1, placing=way) for way in WAYS}\n"
        "print(sum(plies.values()), 'plies', plies)\n"
    )
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "KIBITZ_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert int(done.stdout.split()[0]) >= 10_000_000, done.stdout
