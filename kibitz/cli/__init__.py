"""The command line. Every command is one call into the library, imported when it is needed.

Exit status: 0 success, 1 a check failed, 2 bad input (one sentence says how to correct it).
"""

from . import analysis, contract, data, learning, speed, strength, table
from .app import app, err, main, out

__all__ = [
    "analysis",
    "app",
    "contract",
    "data",
    "err",
    "learning",
    "main",
    "out",
    "speed",
    "strength",
    "table",
]
