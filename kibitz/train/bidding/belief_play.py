"""Self-play over beliefs: every decision is solved one step ahead, and the network learns that.

For games of rising bids between two hidden hands. No hands are dealt: tables in lockstep carry how
likely every hand is. Each decision is solved with the network's values after it, and the network
learns the solution: the policy, and the values of all hands. So with every iteration exact values
spread one step further back from the ends of games. Tables of several sizes train one network.

Small tables are solved exactly, large ones as if seats forgot what is rarely met, and the network
learns what the solution does after the same bids. Beliefs follow the network there, not the
solution: those are the beliefs it will have at play. Some of these bids are made by somebody who
knows the network and responds to it (`responses`).
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
from ...bidding.lookahead import Lookahead, Public, Solved, joined
from ...game import Game
from ...games import load
from ...players import player
from ..folder import About, RunFolder
from ..method import Stage, Training
from ..recorded import Recorded
from ..seeds import derived
from ..weights import AveragingMethod, Holders
from .responses import Responses, decisions_along, responses
from .rows import columns_of, concatenated
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
    """A recipe for learning solved decisions with a belief network."""

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
    """Rounds of self-play and learning per iteration."""
    tables: tuple[int, int] = (1024, 1024)
    """Tables of self-play per round: of the game itself, and of each of the others."""
    exact_bids: int = 0
    """Other tables with at most so many bids are solved exactly."""
    exact_iterations: int = 400
    """Iterations of CFR+ that solve them."""
    contexts: tuple[ByContexts | None, ...] = ()
    """How large tables are solved: the game itself, then the others in their order."""
    weak: str = ""
    """A player that the other seat is at times in the solution of the game itself; what it does
    must depend on its hand and the standing bid alone."""
    beside_start: tuple[tuple[str, ...], ...] = ()
    """Players at the game itself, then at the others in their order: the network learns the mean of
    what they and the network at the start play there. Without players it stays the same."""
    solve_rounds: int = 16
    """Rounds per solved decision, see `Lookahead.solve`."""
    step_size: tuple[float, float] = (0.5, 0.1)
    """Step size of these rounds, at the start and at the end of the run."""
    magnet: tuple[float, float] = (0.1, 0.01)
    """Strength of the magnet in these rounds, at the start and at the end of the run."""
    explore: float = 0.25
    """Share of bids that are drawn uniformly, by seats that stray."""
    min_survival: float = 0.4
    """Lowest probability that a table continues after they have moved, however likely a call is."""
    response_share: float = 0.0
    """Share of the tables with a teacher at which the bids of a responder's game are made instead:
    it knows the network, and goes where errors cost something."""
    response_games: int = 1000
    """Games of responders per iteration, table and seat, from which these are drawn."""
    tilt: float = 0.7
    """How far initial beliefs can be from the true odds: a lookahead asks about any beliefs."""
    steps: int = 200
    """Steps of the network per round."""
    batch: int = 512
    """Decisions per step."""
    policy_weight: float = 0.1
    """Weight of the policy's loss beside that of the values."""
    learning_rate: float = 1e-3
    """Highest learning rate; it rises over the first steps and falls to 0 at the end of the run."""
    average_decay: float = 0.99
    """Share of the old weights in the moving average, per step."""

    def all_hands(self, game: Game, device: str) -> list[Hands]:
        """The hands of all tables to learn, those of the game first."""
        others = (load(game.name, **{**self.options, **options}) for options in self.others)
        return [Hands(table, device) for table in (game, *others)]

    def solves(self, hands: Hands) -> bool:
        """Whether a table is small enough to learn from its solution."""
        bids = len(hands.bids)
        return bids <= self.exact_bids and fits(bids, max(map(len, hands.odds)))

    def teachers(self, all_hands: list[Hands], seed: int, stage: Stage) -> dict[int, Teacher]:
        """The solutions of tables that the network learns from, by the number of the table."""
        large = {table: by for table, by in enumerate(self.contexts) if by is not None}
        found: dict[int, Teacher] = {}
        # Small tables come first: they are solved by kernels that cannot use memory that torch
        # has freed and not given back.
        for table, hands in enumerate(all_hands):
            if table and table not in large and self.solves(hands):
                progress = solving(hands, "", self.exact_iterations, stage)
                found[table] = ExactTeacher(hands, self.exact_iterations, progress)
        for table, by in large.items():
            hands, weak, solutions = all_hands[table], "" if table else self.weak, []
            for number in range(by.solutions):
                own = derived(seed, "contexts", number)
                solutions.append(self._with_contexts(hands, by, own, weak, stage))
                torch.cuda.empty_cache()  # the next solver may need all of it
            found[table] = MeanTeacher(solutions)
        return dict(sorted(found.items()))

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


@dataclass
class SolvedDecisions:
    """n solved decisions at tables of one size with the same seat to move."""

    actions: tuple[Tensor]  # of the table, as the network numbers them
    mine: Tensor  # beliefs about the mover's hand. [n, hands]
    theirs: Tensor  # beliefs about the other's hand. [n, hands]
    bids: Tensor  # the standing bids, as the network numbers them. [n]
    legal: Tensor  # bool [n, actions]
    policy: Tensor  # in half precision. [n, actions, hands]
    entropy: Tensor  # of the policy of the mover's hands. [n, hands]
    values: Tensor  # of the mover's hands. [n, hands]
    other_values: Tensor  # of the other's hands. [n, hands]
    weight: Tensor  # how much the mover's hands count. [n, hands]
    other_weight: Tensor  # how much the other's hands count. [n, hands]

    def __len__(self) -> int:
        return len(self.bids)


class Lesson(NamedTuple):
    """A batch of solved decisions, as `SolvedDecisions` has them."""

    actions: Tensor
    mine: Tensor
    theirs: Tensor
    bids: Tensor
    legal: Tensor
    policy: Tensor
    entropy: Tensor
    values: Tensor
    other_values: Tensor
    weight: Tensor
    other_weight: Tensor


def taught(look: Lookahead, public: Public, teacher: Teacher) -> SolvedDecisions:
    """The decisions as a teacher makes them."""
    solved = look.solve(public, 0, 0.0, 0.0, start=teacher.policy(public))
    return noted(look, public, solved, public.roles)  # it means nothing where it never gets to


def noted(
    look: Lookahead, public: Public, solved: Solved, weights: tuple[Tensor, Tensor]
) -> SolvedDecisions:
    """Solved decisions to learn. weights: of the hands of both roles [n, hands]"""
    policy = solved.policy.half()
    return SolvedDecisions(
        actions=(look.actions,),
        mine=public.roles[0],
        theirs=public.roles[1],
        bids=look.bids(public),
        legal=look.legal(public),
        policy=policy,
        entropy=torch.special.entr(policy.float()).sum(1),
        values=solved.values[0],
        other_values=solved.values[1],
        weight=weights[0],
        other_weight=weights[1],
    )


class BeliefMethod(AveragingMethod[BeliefNet]):
    """Rounds of self-play and learning."""

    def __init__(self, recipe: BeliefPlay, game: Game, device: str, seed: int) -> None:
        self.recipe, self.game, self.device, self.seed = recipe, game, device, seed
        self.all_hands = recipe.all_hands(game, device)
        self.steps = recipe.rounds * recipe.steps
        self.teachers: dict[int, Teacher] = {}  # solved in the first iteration: it takes minutes
        self.responses: dict[int, Responses] = {}  # of this iteration, to the network before it
        super().__init__(recipe.network_for(self.all_hands, seed), device, self.steps)
        self.gradients = self.find_gradients if device == "cpu" else Recorded(self.find_gradients)
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
            stage("self-play, round", number, recipe.rounds)
            began = time.monotonic()
            solved = {table: self.play(table, recipe.tables[table > 0]) for table in self._drawn()}
            seconds[0] += time.monotonic() - began
            stage("learning, round", number, recipe.rounds)
            for table, part in self._lots(solved):
                losses[table] += self.learn(self._lesson(part))
            decisions += sum(len(part) for parts in solved.values() for part in parts)
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
        for table, teacher in self.teachers.items():
            hands = self.all_hands[table]
            name = "_".join(str(len(odds)) for odds in hands.odds)
            if table in self.responses:
                figures[f"response_{name}"] = self.responses[table].won
            if losses[table, 2]:  # a round may draw it in no step
                figures[f"loss_policy_{name}"] = float(losses[table, 0] / losses[table, 2])
            if exploited and isinstance(teacher, ExactTeacher) and len(hands.bids) <= QUICK_BIDS:
                figures[f"exploitability_{name}"] = teacher.exploitability(self.average)
        return figures

    def _all_teachers(self, stage: Stage) -> dict[int, Teacher]:
        """Solutions, and means of players, by the number of the table."""
        found = self.recipe.teachers(self.all_hands, self.seed, stage)
        for table, players in enumerate(self.recipe.beside_start):
            found[table] = self._mean_with_start(self.all_hands[table], players)
        return dict(sorted(found.items()))

    def _mean_with_start(self, hands: Hands, players: Sequence[str]) -> Teacher:
        """What the network at the start and these players do, on average."""
        climb, start = hands.bidding, Lookahead(hands, self.start)
        asked: list[Policies] = [policies_of(climb, player(who, climb.game)) for who in players]
        asked.append(lambda histories, beliefs: policies_after(start, histories))
        return MeanTeacher([PlayerTeacher(hands, policies) for policies in asked])

    def _begin(self, iteration: int) -> None:
        """Set the random numbers and the settings of lookaheads for an iteration."""
        recipe, seed = self.recipe, derived(self.seed, self.recipe.method, iteration)
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.lots = torch.Generator().manual_seed(seed)  # the CPU's: it must not wait for a GPU
        done = (iteration - 1) / max(recipe.iterations - 1, 1)
        self.step_size, self.magnet = (
            start ** (1 - done) * end**done for start, end in (recipe.step_size, recipe.magnet)
        )

    # self-play

    def _respond(self, iteration: int, stage: Stage) -> None:
        """Play the responders' games against the network as it is now."""
        if not self.recipe.response_share:
            return
        for number, table in enumerate(self.teachers, 1):
            stage("games of responders, table", number, len(self.teachers))
            seed = derived(self.seed, f"responses {table}", iteration)
            look = self.lookahead(self.all_hands[table])
            self.responses[table] = responses(look, self.recipe.response_games, seed)

    def play(self, table: int, size: int) -> list[SolvedDecisions]:
        """The decisions to learn at `size` tables, grouped by seat."""
        hands, teacher = self.all_hands[table], self.teachers.get(table)
        look = self.lookahead(hands)
        found: list[list[SolvedDecisions]] = [[], []]
        if teacher is not None and table in self.responses:
            responded = round(size * self.recipe.response_share / 2)
            found = [
                self._along(look, teacher, histories, seat, responded)
                for seat, histories in enumerate(self.responses[table].histories)
            ]
            size -= 2 * responded
        for public, strays in self._openings(look, size, taught=teacher is not None):
            while len(public.standing) > ENDED * size:
                continuing = []
                for part in self._portions(public, hands):
                    decisions, after = self.decide(look, part, teacher, part.mover in strays)
                    found[part.mover] += [] if decisions is None else [decisions]
                    continuing.append(after)
                public = joined(continuing)
        return [concatenated(parts) for parts in found if parts]

    def _along(
        self, look: Lookahead, teacher: Teacher, histories: list[History], seat: int, count: int
    ) -> list[SolvedDecisions]:
        """A seat's decisions in `count` of these games, as the teacher makes them."""
        drawn = torch.randint(len(histories), (count,), generator=self.lots).tolist()
        return [
            taught(look, part, teacher)
            for public in decisions_along(look, [histories[n] for n in drawn], seat)
            for part in self._portions(public, look.hands)
        ]

    def _openings(
        self, look: Lookahead, size: int, *, taught: bool
    ) -> list[tuple[Public, tuple[int, ...]]]:
        """Tables before the first bid, and which seats stray there.

        A solution is for the true odds, and it says something about a seat that plays by it itself,
        whatever the other one does. So with a teacher one seat strays, and only the other learns.
        """
        if taught:
            return [(look.opening(size // 2), (seat,)) for seat in range(2)]
        return [(self.tilted(look.opening(size), look.hands), (0, 1))]

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

    def tilted(self, public: Public, hands: Hands) -> Public:
        """Beliefs in which random faces are likelier, except at every eighth table."""
        size = len(public.standing)
        strength = self.recipe.tilt * self._uniform(size, 1)
        strength[::8] = 0.0
        beliefs = []
        for belief, privs in zip(public.beliefs, hands.privs, strict=True):
            bias = torch.randn(size, privs.shape[1], generator=self.random, device=self.device)
            beliefs.append((belief.log() + strength * (bias @ privs.T)).softmax(1))
        return replace(public, beliefs=beliefs)

    def _portions(self, public: Public, hands: Hands) -> Iterator[Public]:
        """Parts of the tables by standing bid: bids illegal in a whole part cost nothing."""
        order = public.standing.argsort(stable=True)
        table_size = (len(hands.bids) + 1) * public.beliefs[public.mover].shape[1]
        for rows in torch.split(order, max(TOGETHER[hands.device] // table_size, 1)):
            yield public.part(rows)

    def decide(
        self, look: Lookahead, public: Public, teacher: Teacher | None = None, strays: bool = True
    ) -> tuple[SolvedDecisions | None, Public]:
        """Solve the decisions and play: return what to learn, and the tables that continue."""
        if teacher is not None:
            played = look.prior(public)
            decisions = None if strays else taught(look, public, teacher)
            return decisions, self._continuing(look, public, played, strays)
        solved = look.solve(public, self.recipe.solve_rounds, self.step_size, self.magnet)
        odds = look.hands.odds[public.mover], look.hands.odds[1 - public.mover]
        # Hands that are believed impossible need values and a policy, too.
        mine, theirs = ((role + dealt) / 2 for role, dealt in zip(public.roles, odds, strict=True))
        decisions = noted(look, public, solved, (mine, theirs))
        return decisions, self._continuing(look, public, solved.policy, strays)

    def _continuing(self, look: Lookahead, public: Public, policy: Tensor, strays: bool) -> Public:
        """The tables after a bid by this policy, without those that end here.

        strays: whether bids may also be uniform, and tables continue more often.
        """
        bids = look.legal(public)[:, :-1]
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

    def _lots(
        self, solved: dict[int, list[SolvedDecisions]]
    ) -> Iterator[tuple[int, SolvedDecisions]]:
        """What the steps of a round learn: the decisions of one seat at one of the tables."""
        tables, steps = [*solved], self.recipe.steps
        shares = torch.tensor(self._shares(tables))
        drawn = torch.multinomial(shares, steps, replacement=True, generator=self.lots)
        lots = torch.rand(steps, generator=self.lots)
        for table, lot in zip(drawn.tolist(), lots.tolist(), strict=True):
            parts = solved[tables[table]]
            first = lot * sum(map(len, parts)) < len(parts[0])
            yield tables[table], parts[0] if first else parts[-1]

    def _lesson(self, part: SolvedDecisions) -> Lesson:
        """A batch of these decisions."""
        rows = (len(part) * self._uniform(self.recipe.batch)).long()
        columns = {name: column[rows] for name, column in columns_of(part).items()}
        return Lesson(*part.actions, **columns)

    def _shares(self, tables: list[int]) -> list[float]:
        """The shares of these tables in the steps of a round."""
        shares = self.recipe.shares
        others = sum(table >= len(shares) for table in tables)
        equal = (1 - sum(shares)) / max(others, 1)
        return [shares[table] if table < len(shares) else equal for table in tables]

    def learn(self, lesson: Lesson) -> Tensor:
        """One step; return the losses of policy and values before it, and 1 for the step."""
        found = self.gradients(lesson)
        policy, value = found["policy"], found["value"]
        recipe, risen = self.recipe, min(1.0, (self.step + 1) / WARM_UP)
        learning_rate = recipe.learning_rate * risen * self.cosine(recipe.iterations)
        self.take_step(learning_rate, recipe.average_decay)
        return torch.stack((policy, value, torch.ones_like(value)))

    def find_gradients(self, lesson: Lesson) -> dict[str, Tensor]:
        """Leave the clipped gradients in the network; return the losses of policy and values.

        The loss of the policy is its divergence from the policy to learn, 0 where both agree.
        """
        with on_tensor_cores():
            logits, values, other_values = self.net(
                lesson.mine, lesson.theirs, lesson.bids, lesson.actions
            )
            logits = logits.masked_fill(~lesson.legal[:, :, None], -1e9)
            off = -(lesson.policy * logits.log_softmax(1)).sum(1) - lesson.entropy
            policy = (lesson.weight * off).sum(1).mean()
            value = (lesson.weight * (values - lesson.values).square()).sum(1).mean()
            other_off = (other_values - lesson.other_values).square()
            value = value + (lesson.other_weight * other_off).sum(1).mean()
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
