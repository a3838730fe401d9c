"""The command line. Every command is one call into the library; imports wait until needed.

Exit status: 0 all is well, 1 a check failed, 2 bad input (one sentence says how to mend it).
"""

from . import analysis, contract, learning, speed, strength, table
from .app import app, err, main, out

__all__ = [
    "analysis",
    "app",
    "contract",
    "err",
    "learning",
    "main",
    "out",
    "speed",
    "strength",
    "table",
]
