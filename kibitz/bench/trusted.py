"""Whole games between players that see the true states: a match without its safety checks.

Only the bench may run this. Everywhere else players see re-dealt copies.
"""

from __future__ import annotations

from ..compiled import kernel
from ..game import CHANCE, OVER, choose, play, roll, turn


@kernel
def trusted_contest_all(first, end, step, one, other, sides, states, rngs, own):
    """Whole games between players that are trusted not to use what they cannot know."""
    for i in range(first, end, step):
        s = states[i]
        who = turn(s)
        while who != OVER:
            if who == CHANCE:
                roll(s, rngs[i])
            elif sides[i, who] == 0:
                play(s, choose(one[0], s, who, own[i, 0]))
            else:
                play(s, choose(other[0], s, who, own[i, 1]))
            who = turn(s)
