"""Learning to beat given players: what to do against those who do not learn in turn.

For games of climbing bids between two hidden hands. A network says what each action is worth to a
hand after a history, and learns it from games against a league of players that stay as they are. It
plays what is worth most and now and then tries something else. What an opponent does never depends
on the hand that it cannot see, so each bid of a game teaches many hands what would have come of it:
the call that ended it, exactly, or else what the network thinks of the next decision. And whoever
called or not, every decision teaches what a call would have been worth.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ...batch import Batch
from ...bidding.bilinear import last_made
from ...bidding.hands import Hands
from ...chance import streams
from ...game import Game, GameError
from ...players import Player, Sight, player, seat_network
from ...search.sequences import table_of
from ..folder import RunFolder
from ..run import Stage, Training
from ..seeds import derived
from ..weights import Pupil
from .regret_play import hand_and_history
from .rows import changed, together

IMPOSSIBLE = -9.0  # what an action is worth that is not legal


@dataclass(frozen=True, kw_only=True)
class Response(Training):
    """The worth of actions, learnt against a league that stays as it is."""

    method: ClassVar[str] = "response"

    net: str = "hand_worth"
    against: tuple[str, ...] = ("honest",)
    """The players of the league. One that is named twice is met twice as often."""
    turns: int = 64
    """How often an iteration plays and learns."""
    tables: int = 4096
    """Games a turn, half of them in either seat."""
    others: int = 7
    """Hands that a game teaches besides the one that was held."""
    explore: float = 0.15
    """Share of decisions at which something is tried."""
    blind: float = 0.2
    """Share of these at which anything is; at the others, what seems almost as good."""
    warmth: float = 0.1
    """How much worse is almost as good."""
    trust: float = 0.5
    """Share of what came of a game in what is learnt from it; the rest is what the network thought
    of the next decision.
    """
    lessons: int = 4
    """Steps of the network a turn."""
    rate: float = 2e-3
    """Highest learning rate; it falls to nothing at the end of the run."""
    average: float = 0.995
    """Share of the old weights in the moving average, a step."""

    def meeting(self, players: Sequence[str]) -> Response:
        return replace(self, against=(*self.against, *players))

    def network(self, game: Game, seed: int) -> nn.Module:
        return hand_and_history(self, game, seed)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> ResponseMethod:
        return ResponseMethod(self, game, device, seed)


@dataclass
class Decision:
    """What the network did at some of the tables, all in one seat."""

    tables: Tensor  # which they are. [n]
    pub: Tensor  # their histories. bool [n, pub]
    last: Tensor  # the standing bid, -1 where there is none. [n]
    action: Tensor  # [n]
    best: Tensor  # whether that was thought best. bool [n]


@dataclass
class Lessons:
    """What came of n decisions to k hands each."""

    priv: Tensor  # [n, k, priv]
    pub: Tensor  # bool [n, pub]
    action: Tensor  # [n]
    worth: Tensor  # of that action. [n, k]
    stands: Tensor  # whether there was something to call. bool [n]
    call: Tensor  # what that was worth. [n, k]


class ResponseMethod(Pupil):
    """Games against the league and learning from them, in turns."""

    def __init__(self, recipe: Response, game: Game, device: str, seed: int) -> None:
        super().__init__(recipe.network(game, seed), device, recipe.turns * recipe.lessons)
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.hands, self.size = Hands(game, device), recipe.tables // 2
        if self.size < len(recipe.against):
            raise GameError(f"{self.size} tables in each seat are too few to meet everybody")
        texts = [*dict.fromkeys(recipe.against)]
        self.turn_of = [texts.index(text) for text in recipe.against]  # whose it is, by table
        self.league: list[Player] = [player(text, game) for text in texts]
        self._begin(1)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe = self.recipe
        self._begin(iteration)
        error, seconds = 0.0, [0.0, 0.0]
        for turn in range(recipe.turns):
            stage("games and lessons, turn", turn + 1, recipe.turns)
            began = time.monotonic()
            lessons = together([self.play(seat) for seat in range(2)])
            played = time.monotonic()
            for rows in self._shuffled(len(lessons.action)).chunk(recipe.lessons):
                some = changed(lessons, itemgetter(rows))
                error += self.learn(some) / (recipe.turns * recipe.lessons)
            seconds[0] += played - began
            seconds[1] += time.monotonic() - played
        return {
            "games_per_s": recipe.turns * recipe.tables / seconds[0],
            "steps_per_s": recipe.turns * recipe.lessons / seconds[1],
            "loss_value": error,
            "against_all": float(self.won.mean()) / recipe.turns,  # while it tries things
        }

    def _begin(self, iteration: int) -> None:
        """Luck and figures of an iteration, whatever was before."""
        luck = derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(luck)
        self.games = (iteration - 1) * self.recipe.turns * 2 * self.size
        self.won = np.zeros(len(self.league))

    # games

    @torch.no_grad()
    def play(self, seat: int) -> Lessons:
        """Games in one seat, and what they teach."""
        size = self.size
        dealt = [torch.multinomial(o, size, True, generator=self.random) for o in self.hands.odds]
        hands = tuple(each.cpu().numpy() for each in dealt)
        batch = table_of(self.game, self.hands.climb.deal[hands])
        own = streams(self.seed, "player", size, self.games)
        meets = np.resize(self.turn_of, size)
        decisions = []
        while ((turns := batch.turns()) >= 0).any():
            chosen = np.full(size, -1)
            if len(asked := np.flatnonzero(turns == seat)):
                decisions.append(self.decide(batch, asked, seat))
                chosen[asked] = decisions[-1].action.cpu().numpy()
            for k, rival in enumerate(self.league):
                if len(asked := np.flatnonzero((turns == 1 - seat) & (meets == k))):
                    sight = Sight(self.game, batch.states[asked], turns[asked], own[asked])
                    chosen[asked] = rival.choose(sight)
                    own[asked] = sight.rngs
            batch.play(chosen)
        self.games += size
        won = batch.scores()[:, seat] > 0
        self.won += np.bincount(meets, won) / np.bincount(meets) / 2
        return self.taught(decisions, seat, dealt[seat], dealt[1 - seat])

    def decide(self, batch: Batch, asked: Any, seat: int) -> Decision:
        """What is worth most or, now and then, something else."""
        views = batch.observe(np.full(batch.size, seat))[asked]
        told = torch.from_numpy(views).to(self.device)
        pub = told[:, self.net.config.priv :]
        last = last_made(pub)
        legal = self.hands.legal(last)
        worth = self._worth(told[:, : self.net.config.priv], pub, legal)
        best = worth.argmax(1)
        near = (worth / self.recipe.warmth).softmax(1)
        any_ = legal / legal.sum(1, keepdim=True)
        tried = torch.multinomial(
            torch.lerp(near, any_, self.recipe.blind), 1, generator=self.random
        ).squeeze(1)
        luck = torch.rand(len(best), generator=self.random, device=self.device)
        action = torch.where(luck < self.recipe.explore, tried, best)
        tables = torch.from_numpy(asked).to(self.device)
        return Decision(tables, pub > 0, last, action, action == best)

    def taught(self, decisions: list[Decision], seat: int, held: Tensor, theirs: Tensor) -> Lessons:
        """From the last decision to the first: what came of it, to hands held and to others.

        held, theirs: the hands of this seat and of the other, by table.
        """
        hands, size = self.hands, len(held)
        drawn = torch.multinomial(
            hands.odds[seat], size * self.recipe.others, True, generator=self.random
        )
        mine = torch.cat((held[:, None], drawn.reshape(size, -1)), 1)
        later = torch.full_like(mine, torch.nan, dtype=torch.float32)  # worth of the next decision
        found = []
        for made in reversed(decisions):
            at = made.tables
            priv, stands = hands.privs[seat][mine[at]], made.last >= 0
            call = -self._called(made.last, seat, mine[at], theirs[at]) * stands[:, None]
            bid = self._called(made.action, seat, mine[at], theirs[at])
            worth = torch.where(later[at].isnan(), bid, later[at])
            worth = torch.where((made.action == hands.call)[:, None], call, worth)
            found.append(Lessons(priv, made.pub, made.action, worth, stands, call))
            told = self._worth(priv, made.pub[:, None].float(), hands.legal(made.last)[:, None])
            later[at] = told.amax(2)
            # What came of the hand that was held counts only where it went on as it would.
            trust = self.recipe.trust * made.best
            later[at, 0] = torch.lerp(later[at, 0], worth[:, 0], trust)
        return together(found)

    def _called(self, bids: Tensor, seat: int, mine: Tensor, theirs: Tensor) -> Tensor:
        """What the bidder gets when its bid is called, to many hands of a seat. [n, k]"""
        pair = (mine, theirs[:, None]) if seat == 0 else (theirs[:, None], mine)
        got: Tensor = self.hands.gains[self.hands.rung[bids.clamp(min=0)][:, None], *pair]
        return got

    def _worth(self, priv: Tensor, pub: Tensor, legal: Tensor) -> Tensor:
        worth: Tensor = self.average.worth(priv, pub)
        return worth.masked_fill(~legal, IMPOSSIBLE)

    def _shuffled(self, count: int) -> Tensor:
        return torch.randperm(count, generator=self.random, device=self.device)

    # the network

    def learn(self, lesson: Lessons) -> float:
        """One step; the error before it."""
        worth = self.net.worth(lesson.priv, lesson.pub[:, None].float())
        action = lesson.action[:, None, None].expand(-1, worth.shape[1], 1)
        wrong = (worth.gather(2, action).squeeze(2) - lesson.worth).square().mean()
        call = (worth[:, :, self.hands.call] - lesson.call).square() * lesson.stands[:, None]
        rate = self.recipe.rate * self.falling(self.recipe.iterations)
        self.improve(wrong + 0.5 * call.mean(), rate, self.recipe.average)
        return float(wrong.detach())

    def player(self, net: nn.Module, name: str) -> Player:
        return seat_network(self.game, net, self.device, self.recipe.mode, name)
