"""What a network that imagines a game is taught along moves that were played."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ...nets.latent import LatentNet

KEPT_GRADIENT = 0.5  # of a latent's gradient goes on to the step before


class Unrolled(NamedTuple):
    """Sequences as the losses need them. The end of a game is one more position without policy."""

    views: Tensor  # the first, and for consistency all of them. [batch, unroll + 1, view_size]
    played: Tensor  # int64 [batch, unroll]
    codes: Tensor  # of chance after that. int64 [batch, unroll]
    odds: Tensor  # of these codes, as far as the rules say. [batch, unroll, codes]
    listed: Tensor  # actions to choose from, padded with -1. int64 [batch, unroll + 1, max_legal]
    policy: Tensor  # [batch, unroll + 1, max_legal]
    policy_weights: Tensor  # [batch, unroll + 1]
    shares: Tensor  # of the sides, see `LatentNet.values`. [batch, unroll + 1, sides]
    value_weights: Tensor  # 0 behind the end. [batch, unroll + 1]
    turns: Tensor  # whose turn is next, counted from who moved. int64 [batch, unroll]
    goes_on: Tensor  # 1 where there was a next turn. [batch, unroll]
    ends: Tensor  # 1 where the move ended the game. [batch, unroll]


def unrolled_losses(
    net: LatentNet, examples: Unrolled, consistency: float = 0.0
) -> dict[str, Tensor]:
    """The losses of policy, values, chance, turns and ends.

    Those of the first position count once, those of all steps together as much.

    consistency: weight of how far imagined latents are from those of the views that came.
    """
    steps = examples.played.shape[1]
    latents = net.represent(examples.views[:, 0])
    outlook = net.judge(latents)
    policy = [policy_loss(examples, outlook.policy, 0)]
    value = [value_loss(net, examples, outlook.scores, 0)]
    chance, turn, ends, apart = [], [], [], []
    for k in range(steps):
        afterstates = net.act(latents, examples.played[:, k])
        moved = examples.value_weights[:, k + 1]
        chance.append(_wrong(net.odds(afterstates), examples.odds[:, k]) @ moved)
        latents = net.settle(latents, afterstates, examples.codes[:, k])
        outlook = net.judge(latents)
        policy.append(policy_loss(examples, outlook.policy, k + 1) / steps)
        value.append(value_loss(net, examples, outlook.scores, k + 1) / steps)
        turn.append(_wrong(outlook.turns, examples.turns[:, k]) @ examples.goes_on[:, k])
        ends.append(outlook.ends)
        if consistency:
            apart.append(distance(net, latents, examples.views[:, k + 1]) @ examples.goes_on[:, k])
        latents = KEPT_GRADIENT * latents + (1 - KEPT_GRADIENT) * latents.detach()
    each = steps * len(examples.views)
    losses = {
        "policy": torch.stack(policy).sum(),
        "value": torch.stack(value).sum(),
        "turn": torch.stack(turn).sum() / each,
        "end": balanced(torch.stack(ends, 1), examples.ends, examples.value_weights[:, 1:]),
    }
    if consistency:
        losses["latent"] = consistency * torch.stack(apart).sum() / each
    if net.config.codes > 1:
        losses["chance"] = torch.stack(chance).sum() / each
    return losses


def distance(net: LatentNet, latents: Tensor, views: Tensor) -> Tensor:
    """How far latents are from those of the views that came: 0 for the same, 2 at most. [batch]

    Results are noisy and say little about one move. Views say what it did.
    """
    with torch.no_grad():
        seen = net.represent(views).flatten(1).float()
    imagined = latents.flatten(1).float()
    seen, imagined = (x - x.mean(1, keepdim=True) for x in (seen, imagined))
    return 1 - functional.cosine_similarity(imagined, seen)


def policy_loss(examples: Unrolled, logits: Tensor, k: int) -> Tensor:
    """Over all actions: inside a tree nobody masks illegal ones."""
    listed = examples.listed[:, k]
    chosen = functional.log_softmax(logits.float(), 1).gather(1, listed.clamp(min=0))
    wrong = -(examples.policy[:, k] * chosen * (listed >= 0)).sum(1)
    return (wrong * examples.policy_weights[:, k]).mean()


def value_loss(net: LatentNet, examples: Unrolled, sides: Tensor, k: int) -> Tensor:
    target, logits = examples.shares[:, k], sides.float()
    if net.config.zero_sum:
        wrong = -(target * functional.log_softmax(logits, 1)).sum(1)
    else:
        wrong = functional.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(1)
    return (wrong * examples.value_weights[:, k]).mean()


def balanced(logits: Tensor, happened: Tensor, weights: Tensor) -> Tensor:
    """The loss of something rare: what happened counts as much as all that did not."""
    wrong = functional.binary_cross_entropy_with_logits(logits.float(), happened, reduction="none")
    parts = weights * happened, weights * (1 - happened)
    means = [(wrong * part).sum() / part.sum().clamp(min=1) for part in parts]
    return 0.5 * (means[0] + means[1])


def _wrong(logits: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy by row. [batch]"""
    return functional.cross_entropy(logits.float(), target, reduction="none")
