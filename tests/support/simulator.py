"""A test file run once more by numba's CUDA simulator, in a process of its own.

The simulator is chosen when numba is imported. A simulated thread is a real one and takes its time
to start, so blocks are small there.
"""

import os
import subprocess
import sys
from pathlib import Path


def simulated(file):
    """What a file says when it is run so, by words. It asserts what it has to."""
    run = subprocess.run(
        [sys.executable, file],
        env={
            **os.environ,
            "NUMBA_ENABLE_CUDASIM": "1",
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout.split()
