"""What a network of beliefs does with all hands, after every history of bids or after many.

Sets of bids are numbered as in `exact.ladder`. They are walked by how many bids they have: the
beliefs after so many bids are known when the next bid is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from ..search.sequences import Progress, Strategy, silent
from .belief_tracker import History
from .exact.ladder import BID, CALL, Ladder
from .lookahead import Lookahead, Public, joined

ROWS = 1 << 13  # histories per question
TOGETHER = {"cpu": 1 << 20, "cuda": 1 << 27}  # probabilities per question

AllHands = Callable[[Sequence[History]], Iterator[Tensor]]
"""The policy with all hands after histories of one length, in portions. [n, actions, hands]"""


def policy_table(ladder: Ladder, look: Lookahead, progress: Progress = silent) -> Strategy:
    """The table of the network's own policy, as `Ladder.ask` makes it."""
    bids, wide = len(ladder.bids), max(ladder.deal.shape)
    table = torch.zeros(2, 1 << bids, wide)
    level, done = look.opening(), 0
    while len(level.standing):
        following = []
        for part in _parts(level):
            policy = look.prior(part, int(part.standing[0]) + 1)
            _write(table, part, policy)
            following.append(_after_every_bid(part, policy))
            done += len(part.standing)
            progress(done / (1 << bids))
        level = joined(following)
    weights: Strategy = ladder.device.put(table.numpy())
    return weights


def _parts(public: Public) -> Iterator[Public]:
    """Portions of the tables, each with one standing bid: then only legal bids are computed."""
    order = public.standing.argsort(stable=True)
    counts = torch.bincount(public.standing + 1).tolist()  # by standing bid
    for alike in torch.split(order, counts):
        for first in range(0, len(alike), ROWS):
            yield public.part(alike[first : first + ROWS])


def ladder_numbers(bid_set: Tensor, bids: int) -> Tensor:
    """Sets of bids as `Ladder` numbers them, with the lowest bid in the highest bit."""
    numbers = torch.zeros_like(bid_set)
    for rung in range(bids):
        numbers += (bid_set >> rung & 1) << bids - 1 - rung
    return numbers


def _write(table: Tensor, public: Public, policy: Tensor) -> None:
    bids, hands, standing = policy.shape[1] - 1, policy.shape[2], int(public.standing[0])
    policy, sets = policy.float().cpu(), ladder_numbers(public.bid_set, policy.shape[1] - 1).cpu()
    if standing >= 0:
        table[CALL, sets, :hands] = policy[:, -1]
    for rung in range(standing + 1, bids):
        table[BID, sets + (1 << bids - 1 - rung), :hands] = policy[:, rung]


def _after_every_bid(public: Public, policy: Tensor) -> Public:
    """The tables after each legal bid."""
    size, device = len(public.standing), policy.device
    rungs = torch.arange(int(public.standing[0]) + 1, policy.shape[1] - 1, device=device)
    rows = torch.arange(size, device=device).repeat(len(rungs))
    odds = policy[:, rungs].transpose(0, 1).flatten(0, 1)
    return public.part(rows).after(rungs.repeat_interleave(size), odds)


def policies_after(look: Lookahead, histories: Sequence[History]) -> Iterator[Tensor]:
    """The network's own policy after histories of one length, in portions. [n, actions, hands]

    Only legal bids cost something where histories with equal last bids follow one another.
    """
    yield from _policies(look, public_after(look, histories))


def _policies(look: Lookahead, public: Public) -> Iterator[Tensor]:
    size = (len(look.hands.bids) + 1) * public.beliefs[public.mover].shape[1]
    rows = torch.arange(len(public.standing), device=public.standing.device)
    for portion in torch.split(rows, max(TOGETHER[look.hands.device] // size, 1)):
        part = public.part(portion)
        yield look.prior(part, int(part.standing.min()) + 1)


def public_after(look: Lookahead, histories: Sequence[History]) -> Public:
    """What is public after histories of one length."""
    if not histories[0]:
        return look.opening(len(histories))
    before = sorted({history[:-1] for history in histories}, key=lambda history: history[-1:])
    numbers = {history: number for number, history in enumerate(before)}
    pairs = [(numbers[history[:-1]], history[-1]) for history in histories]
    return after_bids(look, public_after(look, before), pairs)


def after_bids(look: Lookahead, public: Public, pairs: Sequence[tuple[int, int]]) -> Public:
    """What is public after bids, each with the number of its table and its rung."""
    rows, rungs = torch.tensor(pairs, device=look.hands.device).T
    odds, first = torch.empty(len(pairs), public.roles[0].shape[1], device=rows.device), 0
    for policy in _policies(look, public):
        here = ((first <= rows) & (rows < first + len(policy))).nonzero()[:, 0]
        odds[here] = policy[rows[here] - first, rungs[here]]
        first += len(policy)
    return public.part(rows).after(rungs, odds)
