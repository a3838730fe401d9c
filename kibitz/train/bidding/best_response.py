"""Learning to beat given players that do not learn themselves.

For games of rising bids between two hidden hands. A network learns the value of each action to a
hand after a history, from games against a league of fixed players. It plays the action with the
highest value, and sometimes explores. An opponent's actions never depend on the hand that it cannot
see, so each bid of a game gives a target for many hands: the exact score of the call that ended the
game, or else the network's value of the next decision. Every decision also gives a target for the
call, whether it was made or not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...batch import Batch
from ...bidding.bilinear import HandValueNet, last_taken
from ...bidding.hands import Hands
from ...chance import streams
from ...game import Game, GameError
from ...players import Player, Sight, player
from ...search.sequences import table_of
from ..folder import RunFolder
from ..method import Stage, Training
from ..seeds import derived
from ..weights import AveragingMethod
from .networks import hand_network
from .rows import changed, concatenated

ILLEGAL = -9.0  # the value of an action that is not legal


@dataclass(frozen=True, kw_only=True)
class BestResponseTraining(Training):
    """A recipe for learning to beat a league of fixed players."""

    method: ClassVar[str] = "response"

    net: str = "hand_worth"
    against: tuple[str, ...] = ("honest",)
    """The players of the league. One that is named twice is met twice as often."""
    rounds: int = 64
    """Rounds of games and learning per iteration."""
    tables: int = 4096
    """Games per round, half of them in each seat."""
    extra_hands: int = 7
    """Hands that learn from a game besides the one that was held."""
    explore: float = 0.15
    """Share of decisions that explore."""
    uniform_share: float = 0.2
    """Share of these that draw uniformly; the others draw by value, with `temperature`."""
    temperature: float = 0.1
    """Temperature of the softmax over values."""
    result_share: float = 0.5
    """Share of the game's result in the target of the hand that was held; the rest is the network's
    value of the next decision.
    """
    steps: int = 4
    """Steps of the network per round."""
    learning_rate: float = 2e-3
    """Highest learning rate; it falls to 0 at the end of the run."""
    average_decay: float = 0.995
    """Share of the old weights in the moving average, per step."""

    def with_opponents(self, players: Sequence[str]) -> BestResponseTraining:
        return replace(self, against=(*self.against, *players))

    def network(self, game: Game, seed: int) -> HandValueNet:
        return hand_network(self, HandValueNet, game, seed)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> BestResponseMethod:
        return BestResponseMethod(self, game, device, seed)


@dataclass
class Decisions:
    """n decisions of the network, all in one seat."""

    tables: Tensor  # [n]
    pub: Tensor  # their histories. bool [n, pub]
    last: Tensor  # the standing bid, -1 where there is none. [n]
    action: Tensor  # [n]
    best: Tensor  # whether that action had the highest value. bool [n]


@dataclass
class Targets:
    """What to learn from n decisions, for k hands."""

    priv: Tensor  # [n, k, priv]
    pub: Tensor  # bool [n, pub]
    action: Tensor  # [n]
    value: Tensor  # of that action. [n, k]
    stands: Tensor  # whether there was a bid to call. bool [n]
    call: Tensor  # the value of the call. [n, k]


class BestResponseMethod(AveragingMethod[HandValueNet]):
    """Rounds of games against the league and of learning from them."""

    def __init__(self, recipe: BestResponseTraining, game: Game, device: str, seed: int) -> None:
        self.steps = recipe.rounds * recipe.steps
        super().__init__(recipe.network(game, seed), device, self.steps)
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.hands, self.size = Hands(game, device), recipe.tables // 2
        if self.size < len(recipe.against):
            raise GameError(f"{self.size} tables per seat are too few for all opponents")
        texts = [*dict.fromkeys(recipe.against)]
        self.opponents = [texts.index(text) for text in recipe.against]  # repeated over the tables
        self.league: list[Player] = [player(text, game) for text in texts]
        self._begin(1)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe = self.recipe
        self._begin(iteration)
        loss, seconds = 0.0, [0.0, 0.0]
        for number in range(1, recipe.rounds + 1):
            stage("games and learning, round", number, recipe.rounds)
            began = time.monotonic()
            targets = concatenated([self.play(seat) for seat in range(2)])
            played = time.monotonic()
            for rows in self._shuffled(len(targets.action)).chunk(recipe.steps):
                loss += self.learn(changed(targets, itemgetter(rows))) / self.steps
            seconds[0] += played - began
            seconds[1] += time.monotonic() - played
        return {
            "games_per_s": recipe.rounds * recipe.tables / seconds[0],
            "steps_per_s": self.steps / seconds[1],
            "loss_value": loss,
            "against_all": float(self.won.mean()) / recipe.rounds,  # while it explores
        }

    def _begin(self, iteration: int) -> None:
        """Set the random numbers and counters of an iteration."""
        seed = derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.games = (iteration - 1) * self.recipe.rounds * 2 * self.size
        self.won = np.zeros(len(self.league))

    # games

    @torch.no_grad()
    def play(self, seat: int) -> Targets:
        """Play games in one seat; return what to learn from them."""
        size = self.size
        dealt = [torch.multinomial(o, size, True, generator=self.random) for o in self.hands.odds]
        pairs = tuple(hands.cpu().numpy() for hands in dealt)
        batch = table_of(self.game, self.hands.bidding.deal[pairs])
        own = streams(self.seed, "player", size, self.games)
        meets = np.resize(self.opponents, size)
        decisions = []
        while ((turns := batch.turns()) >= 0).any():
            chosen = np.full(size, -1)
            if len(asked := np.flatnonzero(turns == seat)):
                decisions.append(self.decide(batch, asked, seat))
                chosen[asked] = decisions[-1].action.cpu().numpy()
            for k, opponent in enumerate(self.league):
                if len(asked := np.flatnonzero((turns == 1 - seat) & (meets == k))):
                    sight = Sight(self.game, batch.states[asked], turns[asked], own[asked])
                    chosen[asked] = opponent.choose(sight)
                    own[asked] = sight.rngs
            batch.play(chosen)
        self.games += size
        won = batch.scores()[:, seat] > 0
        self.won += np.bincount(meets, won) / np.bincount(meets) / 2
        return self.targets(decisions, seat, dealt[seat], dealt[1 - seat])

    def decide(self, batch: Batch, asked: NDArray[np.integer], seat: int) -> Decisions:
        """Take the actions with the highest values, or explore."""
        recipe, hand_size = self.recipe, self.net.config.priv
        views = torch.from_numpy(batch.observe(np.full(batch.size, seat))[asked]).to(self.device)
        priv, pub = views[:, :hand_size], views[:, hand_size:]
        last = last_taken(pub)
        legal = self.hands.legal(last)
        values = self._values(priv, pub, legal)
        best = values.argmax(1)
        by_value = (values / recipe.temperature).softmax(1)
        uniform = legal / legal.sum(1, keepdim=True)
        mixed = torch.lerp(by_value, uniform, recipe.uniform_share)
        tried = torch.multinomial(mixed, 1, generator=self.random).squeeze(1)
        draws = torch.rand(len(best), generator=self.random, device=self.device)
        action = torch.where(draws < recipe.explore, tried, best)
        tables = torch.from_numpy(asked).to(self.device)
        return Decisions(tables, pub > 0, last, action, action == best)

    def targets(
        self, decisions: list[Decisions], seat: int, held: Tensor, theirs: Tensor
    ) -> Targets:
        """What to learn from decisions, for the hands held and for others.

        decisions: by ply; held, theirs: the hands of this seat and of the other, by table.
        """
        hands, size = self.hands, len(held)
        drawn = torch.multinomial(
            hands.odds[seat], size * self.recipe.extra_hands, True, generator=self.random
        )
        mine = torch.cat((held[:, None], drawn.reshape(size, -1)), 1)
        later = torch.full_like(mine, torch.nan, dtype=torch.float32)  # value of the next decision
        found = []
        for ply in reversed(decisions):
            at = ply.tables
            priv, stands = hands.privs[seat][mine[at]], ply.last >= 0
            call = -self._called(ply.last, seat, mine[at], theirs[at]) * stands[:, None]
            bid = self._called(ply.action, seat, mine[at], theirs[at])
            value = torch.where(later[at].isnan(), bid, later[at])
            value = torch.where((ply.action == hands.call)[:, None], call, value)
            found.append(Targets(priv, ply.pub, ply.action, value, stands, call))
            legal = hands.legal(ply.last)[:, None]
            later[at] = self._values(priv, ply.pub[:, None].float(), legal).amax(2)
            # The result of the hand held counts only if it took the best action.
            share = self.recipe.result_share * ply.best
            later[at, 0] = torch.lerp(later[at, 0], value[:, 0], share)
        return concatenated(found)

    def _called(self, bids: Tensor, seat: int, mine: Tensor, theirs: Tensor) -> Tensor:
        """What the bidder gets when its bid is called, for many hands of a seat. [n, k]"""
        pair = (mine, theirs[:, None]) if seat == 0 else (theirs[:, None], mine)
        called: Tensor = self.hands.gains[self.hands.rung[bids.clamp(min=0)][:, None], *pair]
        return called

    def _values(self, priv: Tensor, pub: Tensor, legal: Tensor) -> Tensor:
        return self.average.action_values(priv, pub).masked_fill(~legal, ILLEGAL)

    def _shuffled(self, count: int) -> Tensor:
        return torch.randperm(count, generator=self.random, device=self.device)

    # the network

    def learn(self, batch: Targets) -> float:
        """One step; return the loss before it."""
        recipe = self.recipe
        values = self.net.action_values(batch.priv, batch.pub[:, None].float())
        action = batch.action[:, None, None].expand(-1, values.shape[1], 1)
        loss = (values.gather(2, action).squeeze(2) - batch.value).square().mean()
        call = (values[:, :, self.hands.call] - batch.call).square() * batch.stands[:, None]
        learning_rate = recipe.learning_rate * self.cosine(recipe.iterations)
        self.improve(loss + 0.5 * call.mean(), learning_rate, recipe.average_decay)
        return float(loss.detach())
