"""Trees that a search grew once: it must grow them again, edge by edge.

`python tests/search/test_golden_search.py` writes golden/search.json anew; do it with a reason.
What is exact on every machine (counts, sums of whole numbers, random numbers) is kept as a hash.
Logarithms and exponentials may differ in the last bit, so what they touch is kept in plain.
"""

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from kibitz import games
from kibitz.batch import Batch
from kibitz.chance import streams
from kibitz.search.mcts import Search, Settings

GOLDEN = Path(__file__).parent.parent / "golden" / "search.json"
TREES = 4
GAMES = {
    "kuhn": ("kuhn", {}, 0),
    "liars_dice": ("liars_dice", {"dice": (2, 2)}, 2),
    "beasty_bar": ("beasty_bar", {}, 5),
    "beasty_bar of three": ("beasty_bar", {"players": 3}, 7),
    "dominion": ("dominion", {"kingdom": "first_game", "max_turns": 20}, 40),
}
RULES = {
    "puct": Settings(simulations=40),
    "gumbel": Settings(simulations=40, root="gumbel", considered=6),
    "noise": Settings(simulations=40, noise=0.25, explore=1.5),
    "crowded": Settings(simulations=40, edges_per_simulation=1),
}


class WholeNumbers:
    """A network of one layer that computes in integers, so every machine gets the same answers."""

    def __init__(self, game):
        draw = np.random.default_rng(1).integers
        self.to_logits = draw(-8, 9, (game.view_size, game.num_actions))
        self.to_values = draw(-8, 9, (game.view_size, game.seats))

    def room(self, size, view_size):
        return np.zeros((size, view_size), np.float32)

    def __call__(self, views):
        inputs = np.rint(views * 16).astype(np.int64)
        logits, values = inputs @ self.to_logits, inputs @ self.to_values
        return (logits / 256).astype(np.float32), np.clip(values / 1024, -1, 1).astype(np.float32)


CASES = [
    *itertools.product(GAMES, RULES, ("rollout", "uniform")),
    *itertools.product(("beasty_bar", "beasty_bar of three"), RULES, ("network",)),
]


def positions(game, plies):
    """Positions of random play with a seat to move."""
    batch = Batch(game, 8 * TREES, seed=5)
    batch.wander(plies)
    batch.settle()
    return batch.states[batch.turns() >= 0][:TREES].copy()


def grown(name, rule, evaluator):
    """What one search found and left behind."""
    game_name, options, plies = GAMES[name]
    game = games.load(game_name, **options)
    evaluator = WholeNumbers(game) if evaluator == "network" else evaluator
    search = Search(game, TREES, RULES[rule], evaluator=evaluator, threads=1)
    rngs = streams(1, "search", TREES)
    found = search.run(positions(game, plies), rngs)
    return search, found, rngs


def description(search, found, rngs):
    """A search as JSON: see the top of this file for what is kept in which way."""
    trees = search.forest.trees
    sha = hashlib.sha256()
    for exact in (found.actions, found.counts, found.visits, found.values, found.best):
        sha.update(exact.tobytes())
    for counter in ("edges", "nodes", "simulations", "unstored"):
        sha.update(trees[counter].tobytes())
    for edges, used in zip(search.forest.edges, trees["edges"], strict=True):
        for field in ("label", "visits", "available", "value"):
            sha.update(edges[field][:used].tobytes())
    sha.update(rngs.tobytes())
    lists = {"visits": found.visits, "priors": found.priors, "policy": found.policy}
    plain = {
        field: [rounded(row[:n]) for row, n in zip(rows, found.counts, strict=True)]
        for field, rows in lists.items()
    }
    return {"sha256": sha.hexdigest(), **plain, "value": rounded(found.value)}


def rounded(numbers):
    return np.round(numbers, 7).tolist()


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_a_search_grows_the_trees_that_it_grew_before(golden, case):
    before, now = golden[", ".join(case)], description(*grown(*case))
    assert now["visits"] == before["visits"]
    assert now["sha256"] == before["sha256"]
    for field in ("priors", "policy"):
        for ours, theirs in zip(now[field], before[field], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-6), field
    assert now["value"] == pytest.approx(before["value"], abs=1e-6)


if __name__ == "__main__":
    written = {", ".join(case): description(*grown(*case)) for case in CASES}
    lines = [f"{json.dumps(name)}: {json.dumps(trees)}" for name, trees in written.items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
