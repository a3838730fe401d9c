"""Players that need no learning. They look one action ahead, and at no hand but their own.

How far a pin has come is its place; behind the own start field, where pins must pass it, one more.
"""

from __future__ import annotations

import numpy as np

from ...chance import UNIT, below, bits
from ...game import actions, play, room, room_for_actions, rule
from .board import EXCHANGE, HOME, PINS, controlled, partner, side
