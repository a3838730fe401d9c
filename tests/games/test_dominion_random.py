"""Random play of Dominion on thousands of kingdoms: no card is lost, nothing gets stuck."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.games import load

MOST_PLIES = 20_000  # 200 turns a seat; a game that does not end would run on for ever


def cards_by_zone(states):
    """How many cards of each slot are where. Lists of [games, slots]."""
    games, slots = states["card"].shape
    rows = np.arange(games)
    zones = [states["supply"], states["trash"]]
    for seat in range(states["hand"].shape[1]):
        for zone in ("hand", "deck", "discards", "in_play", "aside"):
            zones.append(states[zone][:, seat])
        top = np.zeros((games, slots), np.int64)
        for i in range(states["top"].shape[2]):
            here = i < states["tops"][:, seat]
            np.add.at(top, (rows[here], states["top"][here, seat, i]), 1)
        zones.append(top)
    limbo = np.zeros((games, slots), np.int64)
    for i in range(states["limbo"].shape[1]):
        here = i < states["in_limbo"]
        np.add.at(limbo, (rows[here], states["limbo"][here, i]), 1)
    return [np.asarray(zone, np.int64) for zone in (*zones, limbo)]


def check(states, total):
    zones = cards_by_zone(states)
    assert (np.stack(zones) >= 0).all(), "a zone holds less than nothing"
    assert (sum(zones) == total).all(), "cards were lost or made"
    for zone in ("hand", "deck", "discards"):
        sizes = states[zone].sum(2, dtype=np.int64)
        assert (sizes == states[f"{zone}_size"]).all(), f"{zone}_size is not the size of {zone}"
    outside = states["supply"].astype(np.int64) + states["trash"]
    assert (states["owned"].sum(1, dtype=np.int64) + outside == total).all(), "owned is not owned"
    assert (states["shown"] <= states["hand"]).all(), "a card is shown that is not in the hand"


def play_to_the_end(games, seed, **options):
    """Random legal play on a random kingdom each, checked after every step."""
    batch, own = (
        Batch(load("dominion", **options), games, seed=seed),
        streams(seed, "player", games),
    )
    batch.start()
    batch.settle()
    total = sum(cards_by_zone(batch.states))
    kingdoms = {tuple(row) for row in batch.states["card"]}
    for _ in range(MOST_PLIES):
        check(batch.states, total)
        turns = batch.turns()
        if (turns < 0).all():
            return len(kingdoms)
        batch.play(batch.choose("random", turns, own), check=False)
        batch.settle()
    pytest.fail("a game does not end")


@pytest.mark.parametrize("players", [2, 3])
def test_cards_are_conserved_and_every_game_ends(players):
    assert play_to_the_end(60, seed=players, players=players, max_turns=40) > 50


@pytest.mark.slow
def test_ten_thousand_kingdoms_with_every_index_checked(tmp_path):
    """Compiled with bounds checks, in a process and a cache of its own."""
    here = str(Path(__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {here!r})\n"
        "from test_dominion_random import play_to_the_end\n"
        "print(play_to_the_end(10_000, seed=1), 'kingdoms')\n"
    )
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "KIBITZ_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 9_990, done.stdout
