"""Find the pairs of placements that `placing=fair` draws from, and write them as a module.

    python tests/support/fair_pairs.py > kibitz/games/escampe/fair_pairs.py

Pairs are drawn at random, all of the 61,471,872 openings being equally likely, and kept if neither
side can force a win within nine plies. It takes about ten minutes on one core.
"""

from __future__ import annotations

import base64
import sys
import textwrap

import numpy as np

from kibitz.chance import below, stream
from kibitz.games import load
from kibitz.games.escampe.placements import BLACK_PLACEMENTS, WHITE_PLACEMENTS
from kibitz.games.escampe.rules import place_numbered
from kibitz.search.deepening import AlphaBeta, Limits
from kibitz.search.judging import NOBODY

PAIRS, PLIES, SEED = 4096, 9, 2026
EXACT = ("reductions", "extensions", "aspiration")  # switched off: they save nothing here, or guess

HEAD = '''"""Pairs of placements in which neither side can force a win within nine plies.

Found by tests/support/fair_pairs.py. A pair is Black's placement times 5,544 plus White's, see
placements.py; as 4,096 little-endian numbers of 32 bits.
"""

import base64

import numpy as np

'''


def is_fair(thinker: AlphaBeta, opening: np.void) -> bool:
    """Whether nobody can force a win. The last ply needs no search: see `decisive`."""
    return thinker.search(opening, Limits(depth=PLIES - 1)).mate_in is None


def fair_pairs(count: int) -> list[int]:
    game, rng = load("escampe", preset="rules"), stream(SEED, "table")
    thinker = AlphaBeta(game, NOBODY, slots=1 << 20, without=EXACT)
    found: list[int] = []
    while len(found) < count:
        pair = int(below(rng, BLACK_PLACEMENTS)) * WHITE_PLACEMENTS
        pair += int(below(rng, WHITE_PLACEMENTS))
        opening = game.fresh()
        place_numbered(opening, pair)
        if pair not in found and is_fair(thinker, opening):
            found.append(pair)
            if len(found) % 64 == 0:
                print(f"{len(found)} of {count}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    packed = np.array(fair_pairs(PAIRS), "<u4").tobytes()
    lines = textwrap.wrap(base64.b64encode(packed).decode(), 92)
    quoted = "\n".join(f'    "{line}"' for line in lines)
    code = 'FAIR_PAIRS = np.frombuffer(base64.b64decode(_PACKED), "<u4").astype(np.uint32)'
    print(f"{HEAD}_PACKED = (\n{quoted}\n)\n{code}")


if __name__ == "__main__":
    main()
