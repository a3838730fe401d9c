"""The frame of learning, and one folder per method. `kibitz.train(...)` is a call of this room."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CallableRoom(ModuleType):
    """A room that has the name of the function at the front door, `kibitz.train`."""

    def __call__(self, *given: Any, **settings: Any) -> str:
        from ..training import train

        return train(*given, **settings)


sys.modules[__name__].__class__ = CallableRoom
