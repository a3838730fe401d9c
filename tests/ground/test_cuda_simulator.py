"""The CUDA path without a GPU: numba's simulator runs the launches, in plain Python.

It shows that the plumbing is right; that the machine code is, is for test_gpu.py. The simulator is
chosen when numba is imported, so this file runs itself in a second process.
"""

import importlib.metadata
from pathlib import Path

from simulator import simulated
from small_games import COIN

from kibitz import batch as batches
from kibitz import devices, games

SIZE, PLIES = 5, 4


def test_the_simulated_gpu_plays_and_searches_like_the_cpu():
    said = [*games.names(), "coin", "searched", "refused"]
    assert simulated(__file__) == said


def compare(game):
    """The same seed on both devices; everything a batch can do, byte for byte."""
    import numpy as np

    from kibitz.batch import Batch
    from kibitz.chance import streams

    cpu, gpu = (Batch(game, SIZE, device=device, seed=2) for device in ("cpu", "cuda"))
    seats = np.arange(SIZE) % game.seats

    def same(what, ask):
        a, b = (batch.device.get(ask(batch)) for batch in (cpu, gpu))
        assert a.dtype == b.dtype and a.shape == b.shape, (game.name, what)
        assert a.tobytes() == b.tobytes(), (game.name, what)
        return a

    def same_tables(what):
        same(what, lambda batch: batch.states)
        same(what, lambda batch: batch.rngs)

    def both(what, do):
        for batch in (cpu, gpu):
            do(batch)
        same_tables(what)

    same_tables("start")
    for _ in range(2):
        both("wander", lambda batch: batch.wander(PLIES))
        both("settle", lambda batch: batch.settle())
        turns = same("turns", lambda batch: batch.turns())
        legal = same("actions", lambda batch: batch.actions()[0])
        same("counts", lambda batch: batch.actions()[1])
        views = same("observe", lambda batch: batch.observe(seats))
        assert views.any(), game.name
        assert same("known", lambda batch: batch.known(seats)).all(), game.name
        same("scores", lambda batch: batch.scores())
        for player in ("random", *game.players):
            same(player, lambda b, p=player, t=turns: b.choose(p, t, streams(1, "player", SIZE)))
        chosen = np.where(turns >= 0, legal[:, 0].astype(np.int64), -1)
        both("play", lambda batch, c=chosen: batch.play(c, check=True))
        both("redeal", lambda batch: batch.redeal(seats, streams(1, "search", SIZE)))


def search(game, evaluator, root):
    """Trees that grow twice from the same streams, so that nothing is left of the first time."""
    from kibitz.chance import streams
    from kibitz.search.mcts import Search, Settings

    tables = batches.Batch(game, SIZE, seed=2)
    tables.settle()
    settings = Settings(simulations=12, root=root)
    runs = []
    for device in ("cpu", "cuda"):
        trees = Search(game, SIZE, settings, evaluator=evaluator, device=device)
        for _ in range(2):
            found = trees.run(tables.states.copy(), streams(1, "search", SIZE))
            lines = trees.lines(SIZE - 1)
            runs.append((found.visits.tolist(), found.values.tolist(), found.best.tolist(), lines))
    assert runs[0][0][0] and runs.count(runs[0]) == len(runs), (game.name, evaluator, root)


def refuse(game):
    """An illegal action on the simulated GPU is refused with the position."""
    import numpy as np

    from kibitz.batch import Batch, IllegalAction

    batch = Batch(game, SIZE, device="cuda", seed=2)
    batch.settle()
    before = batch.host().tobytes()
    try:
        batch.play(np.full(SIZE, 30000))
    except IllegalAction as error:
        assert "action 30000 is not legal" in str(error), error
        assert batch.host().tobytes() == before
        return
    raise AssertionError("an illegal action was played")


if __name__ == "__main__":
    assert importlib.metadata.version("numba-cuda"), "the dev extra installs numba-cuda"
    devices.WARP = 8
    for name in (*games.names(), COIN):
        compare(games.load(name))
        print(Path(name).stem, flush=True)
    for evaluator, root in (("rollout", "puct"), ("uniform", "puct"), ("uniform", "gumbel")):
        search(games.load("kuhn"), evaluator, root)
        search(games.load("liars_dice", dice=(1, 1), sides=3), evaluator, root)
    print("searched")
    refuse(games.load("kuhn"))
    print("refused")
