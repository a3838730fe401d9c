"""Learns a policy from play, and a model of the game from what the network says of its positions.

Results of games are too noisy to teach a model what one move does. But the network can look at the
position after a move, and say how good it is and what to do there: a model that knows the move
alone should come to the same (as in "Muesli", Hessel et al., 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ...chance import streams
from ...devices import Array
from ...game import Game
from ...nets.latent import LatentNet
from ...search.stretch import Lessons, Stretch
from ...search.walks import (
    empty_copies,
    empty_walkers,
    empty_walks,
    go_on_all,
    look_all,
    set_out_all,
)
from ..muzero.losses import Unrolled, unrolled_losses
from ..policy_gradient.learner import Examples, PolicyLearner, PolicyLearning
from ..seeds import derived


@dataclass(frozen=True)
class Imagining:
    """How the model of a game is learnt."""

    walks: int = 2048
    """Walks per step of learning; each begins at a position of play."""
    unroll: int = 5
    """Moves of a walk."""
    any_share: float = 0.25
    """Share of moves on a walk that are any legal action, instead of one drawn from the policy."""
    shaping: float = 0.1
    """How much of the model's gradient reaches what views are read and judged with. These learn
    from play, whose gradients are small and would drown."""
    consistency: float = 0.0
    """Weight of how far imagined latents are from those of the views that came; 0 for none."""


class Lesson(NamedTuple):
    """What one step learns from."""

    decisions: Examples
    walks: Unrolled


class MuesliLearner(PolicyLearner):
    """Improves a network that imagines a game by its own play."""

    def __init__(
        self,
        game: Game,
        net: LatentNet,
        learning: PolicyLearning,
        imagining: Imagining,
        device: str,
        seed: int,
    ) -> None:
        super().__init__(game, net, learning, device, seed)
        self.imagining, self.config = imagining, net.config
        rows, moves = imagining.walks, imagining.unroll
        self.walkers = empty_walkers(self.lanes, game, rows)
        self.walks = empty_walks(self.lanes, game, rows, moves, net.config.codes)
        self.copies = tuple(empty_copies(self.lanes, game, rows) for _ in range(2))
        self.looks = [torch.zeros(rows, game.view_size, device=device) for _ in range(moves + 1)]
        captains = [net.config.side_of.index(k) for k in range(net.config.all_sides)]
        self.captains = torch.tensor(captains, device=device)

    def examples_of(self, stretch: Stretch, lessons: Lessons, which: Tensor) -> Lesson:
        decisions = super().examples_of(stretch, lessons, which)
        return Lesson(decisions, self.walked(stretch.words, which[: self.imagining.walks]))

    def find_gradients(self, examples: Lesson) -> dict[str, Tensor]:
        losses = super().find_gradients(examples.decisions)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            model = unrolled_losses(self.net, examples.walks, self.imagining.consistency)
        self._add_gradients(torch.stack(list(model.values())).sum())
        return losses | {f"model_{name}": loss.detach() for name, loss in model.items()}

    def _add_gradients(self, model: Tensor) -> None:
        """Add those of the model's loss; what play teaches as well gets a part of them only."""
        parameters = list(self.net.parameters())
        found = torch.autograd.grad(model, parameters, allow_unused=True)
        size = torch.stack([g.norm() for g in found if g is not None]).norm()
        clipped = (self.learning.gradient_clip / (size + 1e-6)).clamp(max=1.0)
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is None:
                continue
            if parameter.grad is None:
                parameter.grad = clipped * gradient
            else:
                parameter.grad.add_(self.imagining.shaping * clipped * gradient)

    @torch.no_grad()
    def walked(self, noted: Array, which: Tensor) -> Unrolled:
        """Walks from noted positions, and what the network says where they lead."""
        run, rows, imagining = self.lanes.run, self.imagining.walks, self.imagining
        seed = derived(self.seed, "walks", self.step)
        walkers = self.walkers._replace(rngs=self.lanes.put(streams(seed, "training", rows)))
        run(set_out_all, rows, self.lanes.put(which), noted, walkers)
        policies, shares = [], []
        for move, views in enumerate(self.looks):
            seen = self.lanes.put(views).view(self.game.view).reshape(rows)
            run(look_all, rows, walkers, self.walks, move, seen)
            logits, said = self.said(views)
            policies.append(self.policy(logits, move))
            shares.append(said)
            if move < imagining.unroll:
                where = walkers, *self.copies, self.walks, move, self.lanes.put(logits)
                run(go_on_all, rows, *where, float(imagining.any_share))
        return self.unrolled(torch.stack(policies, 1), torch.stack(shares, 1))

    def said(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """The network's logits, and the shares of the sides."""
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            outlook = self.net.judge(self.net.represent(views))
        sides = outlook.scores.float()
        shares = sides.softmax(1) if self.config.zero_sum else sides.sigmoid()
        return outlook.policy.float(), shares

    def policy(self, logits: Tensor, move: int) -> Tensor:
        """The probabilities of the listed actions; zeros where there are none."""
        listed = self.tensor(self.walks.actions)[:, move]
        chosen = logits.gather(1, listed.clamp(min=0)).masked_fill(listed < 0, -torch.inf)
        return chosen.softmax(1).nan_to_num()

    def unrolled(self, policy: Tensor, shares: Tensor) -> Unrolled:
        """Walks as the losses need them.

        Nothing is learnt at the first position: there policy and value have losses of their own.
        """
        walks = type(self.walks)(*map(self.tensor, self.walks))
        alive, seats = walks.alive > 0, walks.seats
        moved, goes_on = alive[:, :-1], alive[:, 1:]
        ended = moved & ~goes_on
        turns = torch.where(goes_on, (seats[:, 1:] - seats[:, :-1]) % self.game.seats, 0)
        value_weights = alive.float()
        value_weights[:, 1:] = moved.float()
        value_weights[:, 0] = 0
        policy_weights = alive.float()
        policy_weights[:, 0] = 0
        results = self.results(walks.scores, seats[:, :-1])
        shares[:, 1:] = torch.where(ended[:, :, None], results, shares[:, 1:])
        return Unrolled(
            views=torch.stack(self.looks if self.imagining.consistency else self.looks[:1], 1),
            played=walks.played,
            codes=walks.codes,
            odds=walks.odds,
            listed=walks.actions,
            policy=policy,
            policy_weights=policy_weights,
            shares=shares,
            value_weights=value_weights,
            turns=turns,
            goes_on=goes_on.float(),
            ends=ended.float(),
        )

    def results(self, scores: Tensor, movers: Tensor) -> Tensor:
        """Scores of games that have ended as shares of the sides, the mover's first.

        scores: [rows, seats]; movers: [rows, moves]; returns [rows, moves, sides]
        """
        at = (movers[:, :, None] + self.captains) % self.game.seats
        by_side = scores[:, None].expand(-1, movers.shape[1], -1).gather(2, at)
        parts = self.config.all_sides if self.config.zero_sum else 2
        return (1 + (by_side / self.config.largest_score).clamp(-1, 1)) / parts
