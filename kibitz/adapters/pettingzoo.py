"""Every kibitz game as a PettingZoo environment in which the seats act in turn.

>>> table = env("kuhn")
>>> table.reset(seed=1)
>>> seen, reward, *_ = table.last()
>>> table.agent_selection, seen["action_mask"].tolist(), reward
('seat_0', [1, 1], 0)

Chance is part of the environment: dice and cards come from a stream of the seed, and are settled
before a seat is asked.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import chance, games
from ..game import CHANCE, OVER, GameError

try:
    from gymnasium import logger, spaces
    from gymnasium.utils import EzPickle
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ImportError as error:
    raise ImportError('PettingZoo is missing: pip install "kibitz[adapters]"') from error


def env(name: str | Path, render_mode: str | None = None, **options: object) -> AECEnv:
    """A game by name or path; an illegal action ends it with the lowest score for its seat."""
    table: AECEnv = raw_env(name, render_mode, **options)
    lowest = table.game.score_range[0]
    table = wrappers.TerminateIllegalWrapper(table, illegal_reward=lowest)
    table = wrappers.AssertOutOfBoundsWrapper(table)
    return wrappers.OrderEnforcingWrapper(table)


class raw_env(AECEnv, EzPickle):  # type: ignore[misc]  # noqa: N801 - PettingZoo's name for it
    """The environment itself; an illegal action is an error here.

    A copy or pickle of it is a new environment of the same game, as with PettingZoo's own games.
    """

    def __init__(self, name: str | Path, render_mode: str | None = None, **options: object) -> None:
        EzPickle.__init__(self, name, render_mode, **options)
        super().__init__()
        if render_mode not in (None, "ansi"):
            raise GameError(f"render_mode={render_mode!r}: use 'ansi' or None")
        self.game, self.render_mode = games.load(name, **options), render_mode
        self.metadata = {
            "name": f"kibitz_{self.game.name}",
            "render_modes": ["ansi"],
            "is_parallelizable": False,
        }
        self.possible_agents = [f"seat_{seat}" for seat in range(self.game.seats)]
        self.observation_spaces = {agent: self._views() for agent in self.possible_agents}
        self.action_spaces = {
            agent: spaces.Discrete(self.game.num_actions) for agent in self.possible_agents
        }
        self.seed: int | None = None
        self.games_begun = 0

    def _views(self) -> spaces.Dict:
        view, mask = (self.game.view_size,), (self.game.num_actions,)
        return spaces.Dict(
            observation=spaces.Box(-np.inf, np.inf, view, np.float32),
            action_mask=spaces.Box(0, 1, mask, np.int8),
        )

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:
        """Begin a game: the first of `seed` or, without one, the next of the last seed."""
        if seed is not None or self.seed is None:
            self.seed = secrets.randbits(32) if seed is None else int(seed)
            self.games_begun = 0
        self.rng = chance.stream(self.seed, "table", self.games_begun)
        self.games_begun += 1
        self.s = self.game.fresh()
        self.agents = self.possible_agents[:]
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, object]] = {agent: {} for agent in self.agents}
        self._settle()

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action not in self.game.legal(self.s):
            choices = self.game.choices(self.s)
            raise GameError(
                f"{self.game.name}, {agent}: {action!r} is not legal; there are: {choices}"
            )
        self.game.play(self.s, int(action))
        self._settle()
        self._accumulate_rewards()

    def _settle(self) -> None:
        """Roll dice and draw cards until a seat is to move, or give the scores."""
        while (who := self.game.turn(self.s)) == CHANCE:
            self.game.roll(self.s, self.rng)
        if who == OVER:
            self.rewards = dict(zip(self.agents, self.game.scores(self.s), strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[0 if who == OVER else who]

    def observe(self, agent: str) -> dict[str, NDArray[np.float32] | NDArray[np.int8]]:
        """The view of a seat, and the mask of its legal actions: all 0 if it is not to move."""
        seat = self.possible_agents.index(agent)
        mask = np.zeros(self.game.num_actions, np.int8)
        if self.game.turn(self.s) == seat:
            mask[self.game.legal(self.s)] = 1
        return {"observation": self.game.look(self.s, seat), "action_mask": mask}

    def render(self) -> str | None:
        """The table in words, as the selected seat sees it."""
        if self.render_mode is None:
            logger.warn('There is nothing to render without render_mode="ansi".')
            return None
        seat = self.possible_agents.index(self.agent_selection)
        return str(self.game.seen(self.s, seat))

    def close(self) -> None:
        """There is nothing to close."""
