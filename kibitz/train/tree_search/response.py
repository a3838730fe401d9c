"""Self-play against a network that never changes: what somebody who knows it would win."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...game import Game, GameError
from ...nets.evaluate import NetEvaluator
from ...players.networks import loaded_network
from ...search.mcts import Search, Settings
from ...search.rolling import ANSWERS, answer_all, find_answers_all
from .selfplay import SelfPlay


class ResponsePlay(SelfPlay):
    """Tables at which the learner has one seat, in turns, and a network has all others.

    The network plays what it prefers. Its decisions teach values, and no moves.
    """

    def __init__(self, game: Game, size: int, device: str, seed: int, file: Path) -> None:
        net, kind, viewed = loaded_network(str(file), game)
        if not kind.guides_search or viewed.viewed != game.viewed:
            raise GameError(
                f"{file} cannot be trained against: it reads another view, or no search"
            )
        # One simulation makes the root, which has what the network prefers.
        once, evaluator = Settings(simulations=1), NetEvaluator(net, device)
        self.opponent = Search(game, size, once, evaluator=evaluator, device=device)
        super().__init__(game, size, device, seed)

    def _roll_on(self) -> None:
        """Take every table to a decision of its learner."""
        super()._roll_on()
        while self._opponent_decides():
            self.opponent.think(self.tables.states, self.tables.trees)
            arrays = self.tables, self.notes, self.opponent.roots()
            self.device.run(answer_all, self.size, *arrays, self.clock)
            super()._roll_on()

    def _opponent_decides(self) -> bool:
        self.device.run(find_answers_all, self.size, self.tables)
        return bool((np.asarray(self.device.get(self.tables.status)) == ANSWERS).any())
