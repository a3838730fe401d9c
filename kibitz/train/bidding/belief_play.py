"""Self-play over beliefs: every decision is solved one step ahead, and the network learns the rest.

For games of climbing bids between two hidden hands. No hands are dealt: tables in lockstep carry
how likely every hand is, each decision is solved with the network at what follows, and the network
learns the solution: the policy, and what the table was worth to all hands. In the next iteration it
stands one step further back from the ends of games, where everything is exact. Tables of several
sizes teach one network.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...bidding.beliefs import BeliefConfig, BeliefNet
from ...bidding.hands import Hands
from ...bidding.lookahead import SELDOM, Lookahead, Public, joined
from ...game import Game
from ...games import load
from ...players import Player, seat_network
from ..folder import RunFolder
from ..run import Stage, Training
from ..seeds import derived
from ..weights import Pupil
from .rows import changed, together

TOGETHER = 1 << 24  # numbers of a policy that are solved at a time
ENDED = 0.05  # self-play stops when fewer of its tables than this part go on


@dataclass(frozen=True, kw_only=True)
class BeliefPlay(Training):
    """Solved decisions, taught to a network of beliefs."""

    method: ClassVar[str] = "belief play"
    mode: ClassVar[str] = "sample"

    net: str = "beliefs"
    others: tuple[dict[str, Any], ...] = ()
    """Options of further tables that the network learns, beside those of the game."""
    others_a_turn: int = 6
    """How many of these each turn plays, drawn anew."""
    turns: int = 4
    """How often an iteration plays and learns."""
    tables: tuple[int, int] = (1024, 1024)
    """Tables of self-play a turn: of the game itself, and of each of the others."""
    share: float = 0.3
    """How much of what is learnt is about the game itself, where there are others."""
    rounds: int = 16
    """Rounds in which a decision is solved."""
    step: tuple[float, float] = (0.5, 0.1)
    """How far a round goes, at the start and at the end of the run."""
    calm: tuple[float, float] = (0.1, 0.01)
    """What an action may be worth less and still be almost as likely, at the start and the end."""
    explore: float = 0.25
    """Share of bids that are drawn blindly."""
    survive: float = 0.4
    """Least chance that a table goes on though a call is likely."""
    tilt: float = 0.7
    """How far the beliefs at the start can be from the truth: networks are asked about any."""
    lessons: int = 200
    """Steps of the network a turn."""
    batch: int = 512
    """Decisions a step."""
    policy_share: float = 0.1
    """How much the error of the policy counts beside that of the worth."""
    rate: float = 1e-3
    """Highest learning rate; it falls to nothing at the end of the run."""
    average: float = 0.99
    """Share of the old weights in the moving average, a step."""

    def sizes(self, game: Game, device: str) -> list[Hands]:
        """The tables that are learnt, those of the game first."""
        others = (load(game.name, **{**self.options, **each}) for each in self.others)
        return [Hands(each, device) for each in (game, *others)]

    def network(self, game: Game, seed: int) -> nn.Module:
        return self.fitting(self.sizes(game, "cpu"), seed)

    def fitting(self, sizes: list[Hands], seed: int) -> nn.Module:
        """The network with room for all hands and actions of these tables."""
        sets = sorted({len(odds) for hands in sizes for odds in hands.odds})
        actions = max(hands.call for hands in sizes) + 1
        made: nn.Module = BeliefNet(BeliefConfig(tuple(sets), actions, **self.config), seed)
        return made

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> BeliefMethod:
        return BeliefMethod(self, game, device, seed)


@dataclass
class Lessons:
    """Solved decisions at tables of one size with the same seat to move: n of them."""

    odds: tuple[Tensor, Tensor]  # of hands before the first bid: the mover's, the other's
    mine: Tensor  # beliefs about the mover's hand, [n, hands], and the other's
    theirs: Tensor
    bids: Tensor  # that stand, as the network counts them. [n]
    legal: Tensor  # bool [n, actions of the network]
    policy: Tensor  # [n, actions of the network, hands]
    worth: Tensor  # to the mover's hands, [n, hands], and to the other's
    other_worth: Tensor

    def __len__(self) -> int:
        return len(self.bids)


class BeliefMethod(Pupil):
    """Self-play and learning in turns."""

    def __init__(self, recipe: BeliefPlay, game: Game, device: str, seed: int) -> None:
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.sizes = recipe.sizes(game, device)
        super().__init__(recipe.fitting(self.sizes, seed), device, recipe.turns * recipe.lessons)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe = self.recipe
        luck = derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(luck)
        done = (iteration - 1) / max(recipe.iterations - 1, 1)
        self.pace = tuple(a ** (1 - done) * b**done for a, b in (recipe.step, recipe.calm))
        losses = torch.zeros(2, device=self.device)
        decisions, seconds = 0, [0.0, 0.0]
        for turn in range(recipe.turns):
            stage("self-play, turn", turn + 1, recipe.turns)
            began = time.monotonic()
            lessons = [
                self.play(self.sizes[number], recipe.tables[number > 0])
                for number in (0, *self._others())
            ]
            seconds[0] += time.monotonic() - began
            stage("learning, turn", turn + 1, recipe.turns)
            for _ in range(recipe.lessons):
                losses += self.learn(self._drawn(lessons)) / (recipe.lessons * recipe.turns)
            decisions += sum(len(part) for size in lessons for part in size)
            seconds[1] += time.monotonic() - began
        policy, worth = losses.tolist()
        return {
            "positions": float(decisions),
            "positions_per_s": decisions / seconds[0],
            "steps_per_s": recipe.lessons * recipe.turns / (seconds[1] - seconds[0]),
            "loss_policy": policy,
            "loss_value": worth,
        }

    # self-play

    def play(self, hands: Hands, size: int) -> list[Lessons]:
        """All decisions at so many tables, those of either seat together."""
        look = self.lookahead(hands)
        public = self.tilted(look.opening(size), hands)
        found: list[list[Lessons]] = [[], []]
        while len(public.standing) > ENDED * size:
            going_on = []
            for some in self._portions(public, hands):
                lesson, after = self.decide(look, some)
                found[public.mover].append(lesson)
                going_on.append(after)
            public = joined(going_on)
        return [together(each) for each in found if each]

    def _others(self) -> list[int]:
        """Which of the other tables this turn plays."""
        order = torch.randperm(len(self.sizes) - 1, generator=self.random, device=self.device)
        return (1 + order[: self.recipe.others_a_turn]).tolist()

    def lookahead(self, hands: Hands) -> Lookahead:
        kind = torch.float32 if self.device == "cpu" else torch.float16
        return Lookahead(hands, copy.deepcopy(self.average).to(kind))

    def tilted(self, public: Public, hands: Hands) -> Public:
        """Beliefs as if some dice had become likelier, at all tables but each eighth."""
        size = len(public.standing)
        strength = self.recipe.tilt * self._uniform(size, 1)
        strength[::8] = 0.0
        beliefs = []
        for belief, privs in zip(public.beliefs, hands.privs, strict=True):
            taste = torch.randn(size, privs.shape[1], generator=self.random, device=self.device)
            beliefs.append((belief.log() + strength * (taste @ privs.T)).softmax(1))
        return Public(public.mover, public.standing, beliefs)

    def _portions(self, public: Public, hands: Hands) -> Iterator[Public]:
        """Tables with like bids together, so that no time goes to bids that none can make."""
        order = public.standing.argsort(stable=True)
        one = (len(hands.bids) + 1) * public.beliefs[public.mover].shape[1]
        for rows in torch.split(order, max(TOGETHER // one, 1)):
            yield public.part(rows)

    def decide(self, look: Lookahead, public: Public) -> tuple[Lessons, Public]:
        """Solve, and play on: what is to be learnt, and the tables that go on."""
        solved = look.solve(public, self.recipe.rounds, *self.pace)
        mine, theirs = public.roles
        odds = look.hands.odds[public.mover], look.hands.odds[1 - public.mover]
        legal, policy = look.spread(look.legal(public), solved.policy.half())
        lesson = Lessons(odds, mine, theirs, look.bids(public), legal, policy, *solved.worth)
        return lesson, self._goes_on(look, public, solved.policy)

    def _goes_on(self, look: Lookahead, public: Public, policy: Tensor) -> Public:
        """The tables after a bid of this policy, or a blind one; without those that end here."""
        bids = look.legal(public)[:, :-1]
        odds = (policy * public.roles[0][:, None]).sum(2)
        blind = bids / bids.sum(1, keepdim=True).clamp(min=1)
        likely = odds[:, :-1] / odds[:, :-1].sum(1, keepdim=True).clamp(min=SELDOM)
        tried = torch.lerp(likely, blind, self.recipe.explore)
        goes_on = (1 - odds[:, -1]).clamp(min=self.recipe.survive) * bids.any(1)
        rows = (self._uniform(len(odds)) < goes_on).nonzero().squeeze(1)
        if not len(rows):
            return public.part(rows)
        rungs = torch.multinomial(tried[rows], 1, generator=self.random).squeeze(1)
        return public.part(rows).after(rungs, policy[rows, rungs])

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.random, device=self.device)

    # the network

    def _drawn(self, lessons: list[list[Lessons]]) -> Lessons:
        """Some decisions at tables of one size; those of the game itself come most often."""
        luck, others = float(self._uniform(1)), len(lessons) - 1
        share = self.recipe.share if others else 1.0
        size = 0 if luck < share else 1 + int((luck - share) / (1 - share) * others)
        parts = lessons[min(size, others)]
        luck = float(self._uniform(1)) * sum(map(len, parts))
        part = parts[0] if luck < len(parts[0]) else parts[-1]
        rows = (len(part) * self._uniform(self.recipe.batch)).long()
        return changed(part, itemgetter(rows))

    def learn(self, lesson: Lessons) -> Tensor:
        """One step; the errors of policy and worth before it."""
        logits, worth, other = self.net(lesson.mine, lesson.theirs, lesson.bids)
        # Hands that nobody believes in still need to know what they are worth and what to do.
        weight, other_weight = (
            (belief + odds) / 2
            for belief, odds in zip((lesson.mine, lesson.theirs), lesson.odds, strict=True)
        )
        logits = logits.masked_fill(~lesson.legal[:, :, None], -1e9)
        policy = -(weight * (lesson.policy * logits.log_softmax(1)).sum(1)).sum(1).mean()
        wrong = (weight * (worth - lesson.worth).square()).sum(1).mean()
        wrong = wrong + (other_weight * (other - lesson.other_worth).square()).sum(1).mean()
        rate = self.recipe.rate * self.falling(self.recipe.iterations)
        self.improve(self.recipe.policy_share * policy + wrong, rate, self.recipe.average)
        return torch.stack((policy, wrong)).detach()

    def player(self, net: nn.Module, name: str) -> Player:
        return seat_network(self.game, net, self.device, self.recipe.mode, name)
