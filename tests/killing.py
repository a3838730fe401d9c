"""Training in a process of its own, which can be killed at any moment and begun again.

A recipe is told as `module.NAME`, and is found in a test file beside this one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from kibitz.train.folder import RunFolder, read_tensors

SEED = 3
WORK = """
import sys
import torch
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[3])
from importlib import import_module
from pathlib import Path
from kibitz.train.run import Run
module, name = sys.argv[1].split(".")
folder, seed = Path(sys.argv[2]), int(sys.argv[4])
recipe = getattr(import_module(module), name)
Run(recipe, folder, seed=seed, resume=(folder / "run.json").exists()).train()
"""


def begun(told: str, path: Path) -> subprocess.Popen[bytes]:
    """A process that trains, or goes on where an earlier one was killed."""
    given = [told, str(path), str(Path(__file__).parent), str(SEED)]
    with log(path).open("wb") as file:
        return subprocess.Popen([sys.executable, "-c", WORK, *given], stderr=file)


def log(path: Path) -> Path:
    return path.parent / f"{path.name}.log"


def finished(told: str, path: Path) -> Path:
    """Train to the end, undisturbed from here on."""
    assert begun(told, path).wait() == 0, log(path).read_text()
    return path


def killed_at(told: str, path: Path, moments: list[tuple[int, float]]) -> int:
    """Train to the end, killed on the way; how often it died.

    A moment is so many seconds after the checkpoint of an iteration is there; after the process was
    begun where that is 0.
    """
    died = sum(_killed(begun(told, path), path, *moment) for moment in moments)
    finished(told, path)
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
    """How long an iteration takes: the quickest after the first, which may have had to compile."""
    ends = [row["seconds"] for row in RunFolder(path).metrics()]
    return float(min(later - earlier for earlier, later in pairwise(ends)))


def weights(path: Path) -> dict[str, bytes]:
    """Everything in the newest checkpoint, byte by byte, and which one it is."""
    arrays, about = read_tensors(RunFolder(path).checkpoints()[-1])
    told = {name: array.tobytes() for name, array in arrays.items()}
    return told | {"iteration": bytes([about["standing"]["iteration"]])}
