"""Training in a separate process, which can be killed at any moment and started again.

A recipe is named as `module.NAME`, where the module is a test file of the room `train`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from kibitz.train.folder import RunFolder
from kibitz.train.method import Training
from kibitz.train.parts import read_parts
from kibitz.train.run import Run

SEED = 3
WORK = """
import os, sys
import torch
torch.set_num_threads(1)
sys.path[:0] = sys.argv[3].split(os.pathsep)
from importlib import import_module
from pathlib import Path
from kibitz.train.run import Run
module, name = sys.argv[1].split(".")
folder, seed = Path(sys.argv[2]), int(sys.argv[4])
recipe = getattr(import_module(module), name)
Run(recipe, folder, seed=seed, resume=(folder / "run.json").exists()).train()
"""


def started(name: str, path: Path) -> subprocess.Popen[bytes]:
    """A process that trains, or continues where an earlier one was killed."""
    support = Path(__file__).parent
    folders = os.pathsep.join(map(str, (support, support.parent / "train")))
    arguments = [name, str(path), folders, str(SEED)]
    with log(path).open("wb") as file:
        return subprocess.Popen([sys.executable, "-c", WORK, *arguments], stderr=file)


def log(path: Path) -> Path:
    return path.parent / f"{path.name}.log"


def finished(name: str, path: Path) -> Path:
    """Train to the end, undisturbed from here on."""
    assert started(name, path).wait() == 0, log(path).read_text()
    return path


def killed_at(name: str, path: Path, moments: list[tuple[int, float]]) -> int:
    """Train to the end, killed on the way; return how often it died.

    A moment is an iteration and the seconds after its checkpoint was written; with iteration 0,
    the seconds after the start of the process.
    """
    died = sum(_killed(started(name, path), path, *moment) for moment in moments)
    finished(name, path)
    return died


def _killed(process: subprocess.Popen[bytes], path: Path, iteration: int, seconds: float) -> bool:
    while process.poll() is None and iteration > reached(path):
        time.sleep(0.005)
    try:
        process.wait(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def reached(path: Path) -> int:
    """The iteration of the newest checkpoint."""
    found = RunFolder(path).checkpoints()
    return int(found[-1].stem) if found else 0


def iteration_seconds(path: Path) -> float:
    """The duration of an iteration: the shortest after the first, which may have compiled."""
    ends = [row["seconds"] for row in RunFolder(path).metrics()]
    return float(min(later - earlier for earlier, later in pairwise(ends)))


def weights(path: Path) -> dict[str, bytes]:
    """The bytes of all arrays in the newest checkpoint, and its iteration."""
    arrays, about = read_parts(RunFolder(path).checkpoints()[-1])
    contents = {name: array.tobytes() for name, array in arrays.items()}
    return contents | {"iteration": bytes([about["standing"]["iteration"]])}


class Moments:
    """A clock that passes a deadline at the n-th look at it."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> float:
        self.left -= 1
        return -1e-6 * self.left if self.left > 0 else 1e9 - self.left


def ends_alike_in_pieces(recipe: Training, folder: Path) -> bool:
    """Whether a run that is stopped again and again, also in iterations, has the usual weights.

    Pieces end after so many looks at the clock, so a fast machine has no fewer of them. They grow:
    pieces too short for one move at all tables would lead nowhere.
    """
    whole = Run(recipe, folder / "whole", seed=SEED)
    whole.train()
    whole.close()
    pieces, reached, looks = 0, 0, 6.0
    while reached < recipe.iterations:
        run = Run(recipe, folder / "parts", seed=SEED, resume=pieces > 0)
        with patch("time.monotonic", Moments(int(looks))):
            run.train(seconds=60)
        run.close()
        pieces, reached, looks = pieces + 1, run.standing.iteration, looks * 1.2
    assert pieces > 2, "it was hardly ever stopped"
    return weights(folder / "parts") == weights(folder / "whole")
