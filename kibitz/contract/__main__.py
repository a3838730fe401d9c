"""The process that asks the rules, for `watch`: `python -m kibitz.contract '{"question": ...}'`."""

import json
import sys

from ..game import GameError
from . import try_promises
from .machine import answer
from .trial import trial_of
from .watch import Reporter

if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    with Reporter() as report:
        try:
            if request["question"] == "promises":
                for message in try_promises(request):
                    report(message)
            else:
                report(answer(request["question"], trial_of(request)))
        except GameError as error:
            report({"refused": str(error)})
