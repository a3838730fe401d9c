"""The other process of `machine`: `python -m kibitz.contract trace kuhn '{}' 1 20`."""

import json
import sys

from ..games import load
from .machine import answer
from .trial import Trial

if __name__ == "__main__":
    what, name, options, seed, games = sys.argv[1:]
    chosen = {n: tuple(v) if isinstance(v, list) else v for n, v in json.loads(options).items()}
    print(json.dumps(answer(what, Trial(name, load(name, **chosen), int(seed), int(games)))))
