"""Players that have learnt with open hands, at tables where hands are hidden."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..game import Game
from .searching import TreeSearch
from .sight import Actions, Odds, PlayerError, Sight, States
from .thought import Candidate, Inquiry, Thought

if TYPE_CHECKING:
    from .networks import NetPlayer


class Determinised:
    """Deals what is hidden again and again, lays every deal open, and sums the policies there.

    who: a network or its search. Every deal is as likely as `redeal` makes it, so nothing is
    concluded from how others have played; and in every deal others seem to know all hands.
    """

    def __init__(self, game: Game, who: NetPlayer | TreeSearch, deals: int, name: str) -> None:
        if game.lay_open is None:
            raise PlayerError(f"deals={deals}: {game.name} with these options has no hands to show")
        self.game, self.who, self.deals, self.name = game, who, deals, name
        self._lay_open = game.lay_open

    @property
    def identity(self) -> str:
        theirs = self.who.identity
        return f"{self.deals} deals laid open to {theirs}" if theirs else ""

    def choose(self, sight: Sight) -> Actions:
        best = self.odds(sight).argmax(1)  # of equals the first
        return np.asarray(sight.legal[0][np.arange(len(sight)), best], np.int64)

    def odds(self, sight: Sight) -> Odds:
        """The mean of the policies for all deals, by legal action. [n, max_legal]"""
        legal, counts = sight.legal
        total = np.zeros((len(sight), self.game.num_actions))
        for _ in range(self.deals):
            states = sight.imagine()
            self._lay_open(states)
            total += self._policy(sight, states)
        inside = np.arange(legal.shape[1]) < counts[:, None]
        return np.asarray(np.where(inside, np.take_along_axis(total, legal, 1), 0.0) / self.deals)

    def _policy(self, sight: Sight, states: States) -> NDArray[np.float64]:
        """What is thought of all actions in open positions. [n, num_actions]"""
        policy = np.zeros((len(sight), self.game.num_actions))
        if isinstance(self.who, TreeSearch):
            for part, found in self.who.searched(sight, states):
                policy[part] = by_action(found.actions, found.counts, found.policy, policy.shape[1])
            return policy
        opened = Sight(self.game, states, sight.seats, sight.rngs)
        judged = self.who.judge(opened).policy
        return by_action(*sight.legal, judged, policy.shape[1])

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        began, odds = time.monotonic(), self.odds(sight)[0]
        actions = sight.actions[0]
        order = sorted(range(len(actions)), key=lambda k: -odds[k])
        return Thought(
            player=self.name,
            seat=int(sight.seats[0]),
            candidates=tuple(
                Candidate(actions[k], sight.action_text(0, actions[k]), prior=float(odds[k]))
                for k in order
            ),
            seconds=time.monotonic() - began,
        )


def by_action(
    actions: NDArray[np.integer], counts: NDArray[np.integer], policy: Odds, size: int
) -> NDArray[np.float64]:
    """Policies over lists of actions as policies over all. [n, size]"""
    tables, places = (np.arange(actions.shape[1]) < counts[:, None]).nonzero()
    found = np.zeros((len(actions), size))
    found[tables, actions[tables, places]] = policy[tables, places]
    return found
