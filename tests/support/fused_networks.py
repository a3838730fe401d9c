"""Networks for tests of their GPU kernels."""

from __future__ import annotations

import copy

import torch

from kibitz.nets.evaluate import NetEvaluator


def shaken(net):
    """The network with all its numbers changed a little, those that are born zero or one too."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(0.03 * torch.randn(weights.shape, generator=generator))
    return net.eval()


def answers_after_loading(net, other, views):
    """Logits by the weights of `other`: of an evaluator that had those of `net`, and of its own."""
    answers = []
    for evaluator in (NetEvaluator(net, "cuda"), NetEvaluator(copy.deepcopy(other), "cuda")):
        room = evaluator.room(len(views), views.shape[1])
        room[:] = views
        torch.cuda.synchronize()
        evaluator(room)
        evaluator.load(other.to("cuda", torch.bfloat16).state_dict())
        logits, _ = evaluator(room)
        torch.cuda.synchronize()
        answers.append(logits.clone())
    return answers
