"""Play over beliefs: a network learns what solutions do after the same bids.

For games of rising bids between two hidden hands. Small tables are solved exactly, large ones as if
seats forgot what is rarely met. No hands are dealt: tables in lockstep carry how likely every hand
is. Beliefs follow the network there, not the solution: those are the beliefs it will have at play.
The network learns what the solution does, and what that is worth to all hands by its own values
after it: with every round exact values spread one step further back from the ends of games.

At every table one seat bids anything at times, or responds to the network, whose policy it knows
(`responses`), and the other seat's decisions are learnt. Tables of several sizes train one network.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ...arena.all_hands import History, Policies, policies_of
from ...bidding.beliefs import BeliefConfig, BeliefNet
from ...bidding.every_history import policies_after
from ...bidding.exact.ladder import fits
from ...bidding.hands import Hands
from ...bidding.lookahead import Lookahead, Public, joined
from ...game import Game, GameError
from ...games import load
from ...players import player
from ..folder import About, RunFolder
from ..method import Stage, Training
from ..recorded import Recorded
from ..seeds import derived
from ..weights import AveragingMethod, Holders
from .responses import Responses, decisions_along, responses
from .teachers import ContextTeacher, ExactTeacher, MeanTeacher, PlayerTeacher, Teacher

TOGETHER = {"cpu": 1 << 24, "cuda": 1 << 26}  # probabilities that are solved at a time
NEGLIGIBLE = 1e-6  # so that nothing is divided by 0
QUICK_BIDS = 18  # at tables with at most so many, exploitability takes a second
ENDED = 0.05  # self-play stops when a smaller share of its tables continues
WARM_UP = 100  # steps until the learning rate has risen: the first ones could undo what a file had


@dataclass(frozen=True)
class ByContexts:
    """A large table is solved as if seats remembered only so many contexts."""

    contexts: int
    iterations: int
    solutions: int = 1
    """With contexts from different games. Their mean is learnt: what one gets wrong, others get
    right."""


@dataclass(frozen=True, kw_only=True)
class BeliefPlay(Training):
    """A recipe for a belief network that learns solutions."""

    method: ClassVar[str] = "belief play"
    mode: ClassVar[str] = "sample"
    half_precision: ClassVar[bool] = True
    searches: ClassVar[bool] = False

    net: str = "beliefs"
    others: tuple[About, ...] = ()
    """Options of further tables that the network learns, besides those of the game."""
    shares: tuple[float, ...] = (0.3,)
    """Shares of the steps that learn the game itself and the first of the other tables, in their
    order. Every round plays these; all further tables share the other steps equally."""
    others_per_round: int = 6
    """Number of the further tables that each round plays, drawn at random."""
    rounds: int = 4
    """Rounds of play and learning per iteration."""
    tables: tuple[int, int] = (1024, 1024)
    """Tables that are played per round: of the game itself, and of each of the others."""
    contexts: tuple[ByContexts | None, ...] = ()
    """How large tables are solved: the game itself, then the others in their order. The small ones,
    which have None or nothing here, are solved exactly."""
    exact_iterations: int = 200
    """Iterations of CFR+ that solve them."""
    weak: str = ""
    """A player that the other seat is at times in the solution of the game itself; what it does
    must depend on its hand and the standing bid alone."""
    beside_start: tuple[tuple[str, ...], ...] = ()
    """Instead of solutions: players at the game itself, then at each of the others. The network
    learns the mean of what they and the network at the start play there; without players it stays
    the same."""
    explore: float = 0.6
    """Share of bids that are drawn uniformly, by seats that stray."""
    min_survival: float = 0.7
    """Lowest probability that a table continues after they have moved, however likely a call is."""
    response_share: float = 0.0
    """Share of the tables at which the bids of a responder's game are made instead: it knows the
    network, and goes where errors cost something."""
    response_games: int = 1000
    """Games of responders per iteration, table and seat, from which these are drawn."""
    steps: int = 200
    """Steps of the network per round."""
    batch: int = 512
    """Decisions per step."""
    policy_weight: float = 1.0
    """Weight of the policy's loss beside that of the values."""
    learning_rate: float = 1e-3
    """Highest learning rate; it rises over the first steps and falls to 0 at the end of the run."""
    average_decay: float = 0.998
    """Share of the old weights in the moving average, per step."""

    def all_hands(self, game: Game, device: str) -> list[Hands]:
        """The hands of all tables to learn, those of the game first."""
        others = (load(game.name, **{**self.options, **options}) for options in self.others)
        return [Hands(table, device) for table in (game, *others)]

    def teachers(self, all_hands: list[Hands], seed: int, stage: Stage) -> list[Teacher]:
        """The solutions of all tables."""
        tables, ways = range(len(all_hands)), dict(enumerate(self.contexts))
        # Small tables come first: they are solved by kernels that cannot use memory that torch
        # has freed and not given back.
        small = [table for table in tables if ways.get(table) is None]
        found = {table: self._exactly(all_hands[table], stage) for table in small}
        for table in tables:
            if by := ways.get(table):
                weak = "" if table else self.weak
                found[table] = self._several(all_hands[table], by, seed, weak, stage)
        return [found[table] for table in tables]

    def _exactly(self, hands: Hands, stage: Stage) -> Teacher:
        """The solution of a small table."""
        mine, theirs = map(len, hands.odds)
        if not fits(len(hands.bids), max(mine, theirs)):
            raise GameError(
                f"{len(hands.bids)} bids, {mine} and {theirs} hands are too many to be solved "
                "exactly: give this table contexts"
            )
        progress = solving(hands, "", self.exact_iterations, stage)
        return ExactTeacher(hands, self.exact_iterations, progress)

    def _several(self, hands: Hands, by: ByContexts, seed: int, weak: str, stage: Stage) -> Teacher:
        """The mean of a large table's solutions."""
        solutions = []
        for number in range(by.solutions):
            own = derived(seed, "contexts", number)
            solutions.append(self._with_contexts(hands, by, own, weak, stage))
            torch.cuda.empty_cache()  # the next solver may need all of it
        return MeanTeacher(solutions)

    def _with_contexts(
        self, hands: Hands, by: ByContexts, seed: int, weak: str, stage: Stage
    ) -> Teacher:
        """A table's solution with so many contexts or, if a GPU has no room for them, with half."""
        progress = solving(hands, f" with {by.contexts} contexts", by.iterations, stage)
        try:
            return ContextTeacher(hands, by.contexts, by.iterations, seed, weak, progress)
        except torch.OutOfMemoryError:
            if by.contexts == 1:
                raise
        torch.cuda.empty_cache()
        half = replace(by, contexts=by.contexts // 2)
        return self._with_contexts(hands, half, seed, weak, stage)

    def network(self, game: Game, seed: int) -> BeliefNet:
        return self.network_for(self.all_hands(game, "cpu"), seed)

    def network_for(self, all_hands: list[Hands], seed: int) -> BeliefNet:
        """The network with room for all hands and actions of these tables."""
        sets = sorted({len(odds) for hands in all_hands for odds in hands.odds})
        actions = max(hands.call for hands in all_hands) + 1
        return BeliefNet(BeliefConfig(tuple(sets), actions, **self.config), seed)

    def begin(self, game: Game, folder: RunFolder, device: str, seed: int) -> BeliefMethod:
        return BeliefMethod(self, game, device, seed)


def solving(hands: Hands, way: str, iterations: int, stage: Stage) -> Callable[[int], None]:
    """Says which table is being solved, and how far that is; a solver calls it."""
    mine, theirs = map(len, hands.odds)
    activity = f"solving {mine} against {theirs} hands{way}, iteration"
    stage(activity, 0, iterations)
    return lambda done: stage(activity, done, iterations)


class Decisions(NamedTuple):
    """n solved decisions at tables of one size with the same seat to move."""

    actions: Tensor  # of the table, as the network numbers them
    mine: Tensor  # beliefs about the mover's hand. [n, hands]
    theirs: Tensor  # beliefs about the other's hand. [n, hands]
    bids: Tensor  # the standing bids, as the network numbers them. [n]
    legal: Tensor  # bool [n, actions]
    policy: Tensor  # in half precision. [n, actions, hands]
    entropy: Tensor  # of the policy of the mover's hands. [n, hands]
    values: Tensor  # of the mover's hands. [n, hands]
    other_values: Tensor  # of the other's hands. [n, hands]

    def part(self, rows: Tensor) -> Decisions:
        """The decisions with these numbers."""
        return Decisions(self.actions, *(column[rows] for column in self[1:]))


def all_of(parts: list[Decisions]) -> Decisions:
    """The decisions of several parts as one."""
    columns = zip(*(part[1:] for part in parts), strict=True)
    return Decisions(parts[0].actions, *map(torch.cat, columns))


def taught(look: Lookahead, public: Public, teacher: Teacher) -> Decisions:
    """The decisions as a teacher makes them."""
    solved = look.solve(public, 0, 0.0, 0.0, start=teacher.policy(public))
    policy = solved.policy.half()
    mine, theirs = public.roles
    return Decisions(
        actions=look.actions,
        mine=mine,
        theirs=theirs,
        bids=look.bids(public),
        legal=look.legal(public),
        policy=policy,
        entropy=torch.special.entr(policy.float()).sum(1),
        values=solved.values[0],
        other_values=solved.values[1],
    )


class BeliefMethod(AveragingMethod[BeliefNet]):
    """Rounds of play and learning."""

    def __init__(self, recipe: BeliefPlay, game: Game, device: str, seed: int) -> None:
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.all_hands = recipe.all_hands(game, device)
        self.steps = recipe.rounds * recipe.steps
        self.teachers: list[Teacher] = []  # solved in the first iteration: it takes minutes
        self.responses: list[Responses] = []  # of this iteration, to the network before it
        super().__init__(recipe.network_for(self.all_hands, seed), device, self.steps)
        self.gradients: Callable[[Decisions], dict[str, Tensor]] = self.find_gradients
        if device != "cpu":
            self.gradients = Recorded(on_tensor_cores()(self.find_gradients))
        self.start = copy.deepcopy(self.average)

    def iterate(self, iteration: int, stage: Stage) -> dict[str, float]:
        recipe = self.recipe
        if self.step == 0:  # a run may have begun with the weights of a file
            self.start.load_state_dict(self.average.state_dict())
        self.teachers = self.teachers or self._all_teachers(stage)
        self._begin(iteration)
        self._respond(iteration, stage)
        losses = torch.zeros(len(self.all_hands), 3, device=self.device)
        decisions, seconds = 0, [0.0, 0.0]
        for number in range(1, recipe.rounds + 1):
            stage("play, round", number, recipe.rounds)
            began = time.monotonic()
            solved = {table: self.play(table, recipe.tables[table > 0]) for table in self._drawn()}
            seconds[0] += time.monotonic() - began
            stage("learning, round", number, recipe.rounds)
            for table, part in self._lots(solved):
                losses[table] += self.learn(self._batch(part))
            decisions += sum(len(part.bids) for parts in solved.values() for part in parts)
            seconds[1] += time.monotonic() - began
        return {
            "positions": float(decisions),
            "positions_per_s": decisions / seconds[0],
            "steps_per_s": self.steps / (seconds[1] - seconds[0]),
            **self._figures(losses, exploited=iteration % recipe.gate_every == 0),
        }

    def _figures(self, losses: Tensor, *, exploited: bool) -> dict[str, float]:
        """Mean losses of all steps, how far policies are from their teachers', what responders won
        before, and with `exploited` the exploitability of tables where that takes a moment. They
        are named by their hands.

        losses: of policy and values, and the number of steps, by table.
        """
        policy, value, steps = losses.sum(0).tolist()
        figures = {"loss_policy": policy / steps, "loss_value": value / steps}
        for table, (hands, teacher) in enumerate(zip(self.all_hands, self.teachers, strict=True)):
            name = "_".join(str(len(odds)) for odds in hands.odds)
            if self.responses:
                figures[f"response_{name}"] = self.responses[table].won
            if losses[table, 2]:  # a round may draw it in no step
                figures[f"loss_policy_{name}"] = float(losses[table, 0] / losses[table, 2])
            if exploited and isinstance(teacher, ExactTeacher) and len(hands.bids) <= QUICK_BIDS:
                figures[f"exploitability_{name}"] = teacher.exploitability(self.average)
        return figures

    def _all_teachers(self, stage: Stage) -> list[Teacher]:
        """Means of players or, if there are none, solutions, by the number of the table."""
        if not self.recipe.beside_start:
            return self.recipe.teachers(self.all_hands, self.seed, stage)
        pairs = zip(self.all_hands, self.recipe.beside_start, strict=True)
        return [self._mean_with_start(hands, players) for hands, players in pairs]

    def _mean_with_start(self, hands: Hands, players: Sequence[str]) -> Teacher:
        """What the network at the start and these players do, on average."""
        climb, start = hands.bidding, Lookahead(hands, self.start)
        asked: list[Policies] = [policies_of(climb, player(who, climb.game)) for who in players]
        asked.append(lambda histories, beliefs: policies_after(start, histories))
        return MeanTeacher([PlayerTeacher(hands, policies) for policies in asked])

    def _begin(self, iteration: int) -> None:
        """Set the random numbers of an iteration."""
        seed = derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.lots = torch.Generator().manual_seed(seed)  # the CPU's: it must not wait for a GPU

    # play

    def _respond(self, iteration: int, stage: Stage) -> None:
        """Play the responders' games against the network as it is now."""
        if not self.recipe.response_share:
            return
        self.responses = []
        for table, hands in enumerate(self.all_hands):
            stage("games of responders, table", table + 1, len(self.all_hands))
            seed = derived(self.seed, f"responses {table}", iteration)
            look = self.lookahead(hands)
            self.responses.append(responses(look, self.recipe.response_games, seed))

    def play(self, table: int, size: int) -> list[Decisions]:
        """The decisions to learn at `size` tables, grouped by seat."""
        hands, teacher = self.all_hands[table], self.teachers[table]
        look = self.lookahead(hands)
        found: list[list[Decisions]] = [[], []]
        if self.responses:
            responded = round(size * self.recipe.response_share / 2)
            found = [
                self._along(look, teacher, histories, seat, responded)
                for seat, histories in enumerate(self.responses[table].histories)
            ]
            size -= 2 * responded
        for stray in range(2):
            public = look.opening(size // 2)
            while len(public.standing) > ENDED * size:
                continuing = []
                for part in self._portions(public, hands):
                    if part.mover != stray:
                        found[part.mover].append(taught(look, part, teacher))
                    continuing.append(self._continuing(look, part, strays=part.mover == stray))
                public = joined(continuing)
        return [all_of(parts) for parts in found if parts]

    def _along(
        self, look: Lookahead, teacher: Teacher, histories: list[History], seat: int, count: int
    ) -> list[Decisions]:
        """A seat's decisions in `count` of these games, as the teacher makes them."""
        drawn = torch.randint(len(histories), (count,), generator=self.lots).tolist()
        return [
            taught(look, part, teacher)
            for public in decisions_along(look, [histories[n] for n in drawn], seat)
            for part in self._portions(public, look.hands)
        ]

    def _drawn(self) -> list[int]:
        """The numbers of the tables that this round plays."""
        always = min(len(self.recipe.shares), len(self.all_hands))
        order = torch.randperm(
            len(self.all_hands) - always, generator=self.random, device=self.device
        )
        drawn = always + order[: self.recipe.others_per_round]
        return [*range(always), *drawn.tolist()]

    def lookahead(self, hands: Hands) -> Lookahead:
        dtype = torch.float32 if self.device == "cpu" else torch.float16
        return Lookahead(hands, copy.deepcopy(self.average).to(dtype))

    def _portions(self, public: Public, hands: Hands) -> Iterator[Public]:
        """Parts of the tables by standing bid: bids illegal in a whole part cost nothing."""
        order = public.standing.argsort(stable=True)
        table_size = (len(hands.bids) + 1) * public.beliefs[public.mover].shape[1]
        for rows in torch.split(order, max(TOGETHER[hands.device] // table_size, 1)):
            yield public.part(rows)

    def _continuing(self, look: Lookahead, public: Public, *, strays: bool) -> Public:
        """The tables after a bid by the network's policy, without those that end here.

        strays: whether bids may also be uniform, and tables continue more often.
        """
        policy, bids = look.prior(public), look.legal(public)[:, :-1]
        odds = (policy * public.roles[0][:, None]).sum(2)
        uniform = bids / bids.sum(1, keepdim=True).clamp(min=1)
        likely = odds[:, :-1] / odds[:, :-1].sum(1, keepdim=True).clamp(min=NEGLIGIBLE)
        tried = torch.lerp(likely, uniform, self.recipe.explore) if strays else likely
        least = self.recipe.min_survival if strays else 0.0
        survival = (1 - odds[:, -1]).clamp(min=least) * bids.any(1)
        rows = (self._uniform(len(odds)) < survival).nonzero().squeeze(1)
        if not len(rows):
            return public.part(rows)
        rungs = torch.multinomial(tried[rows], 1, generator=self.random).squeeze(1)
        return public.part(rows).after(rungs, policy[rows, rungs])

    def _holders(self) -> Holders:
        own = {"start": self.start} if self.recipe.beside_start else {}
        return {**super()._holders(), **own}

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.random, device=self.device)

    # the network

    def _lots(self, solved: dict[int, list[Decisions]]) -> Iterator[tuple[int, Decisions]]:
        """What the steps of a round learn: the decisions of one seat at one of the tables."""
        tables, steps = [*solved], self.recipe.steps
        shares = torch.tensor(self._shares(tables))
        drawn = torch.multinomial(shares, steps, replacement=True, generator=self.lots)
        lots = torch.rand(steps, generator=self.lots)
        for table, lot in zip(drawn.tolist(), lots.tolist(), strict=True):
            parts = solved[tables[table]]
            first = lot * sum(len(part.bids) for part in parts) < len(parts[0].bids)
            yield tables[table], parts[0] if first else parts[-1]

    def _batch(self, part: Decisions) -> Decisions:
        """Some of these decisions, as many as a step takes."""
        return part.part((len(part.bids) * self._uniform(self.recipe.batch)).long())

    def _shares(self, tables: list[int]) -> list[float]:
        """The shares of these tables in the steps of a round."""
        shares = self.recipe.shares
        others = sum(table >= len(shares) for table in tables)
        equal = (1 - sum(shares)) / max(others, 1)
        return [shares[table] if table < len(shares) else equal for table in tables]

    def learn(self, batch: Decisions) -> Tensor:
        """One step; return the losses of policy and values before it, and 1 for the step."""
        found = self.gradients(batch)
        policy, value = found["policy"], found["value"]
        recipe, risen = self.recipe, min(1.0, (self.step + 1) / WARM_UP)
        learning_rate = recipe.learning_rate * risen * self.cosine(recipe.iterations)
        self.take_step(learning_rate, recipe.average_decay)
        return torch.stack((policy, value, torch.ones_like(value)))

    def find_gradients(self, batch: Decisions) -> dict[str, Tensor]:
        """Leave the clipped gradients in the network; return the losses of policy and values.

        The loss of the policy is its divergence from the policy to learn, 0 where both agree.
        """
        logits, values, other_values = self.net(batch.mine, batch.theirs, batch.bids, batch.actions)
        logits = logits.masked_fill(~batch.legal[:, :, None], -1e9)
        off = -(batch.policy * logits.log_softmax(1)).sum(1) - batch.entropy
        policy = (batch.mine * off).sum(1).mean()
        value = (batch.mine * (values - batch.values).square()).sum(1).mean()
        other_off = (other_values - batch.other_values).square()
        value = value + (batch.theirs * other_off).sum(1).mean()
        self.leave_gradients(self.recipe.policy_weight * policy + value)
        return {"policy": policy.detach(), "value": value.detach()}


@contextmanager
def on_tensor_cores() -> Iterator[None]:
    """Matrix products of a GPU with ten bits of a number's fraction: several times as fast."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
