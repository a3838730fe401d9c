"""The networks for games of rising bids, and how they sit at a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..game import Game
from ..nets.kinds import Belief, Judgement, Kind, PolicyJudge, SightLike, is_action, sizes
from ..search.best_response import Form
from ..search.sequences import Progress, Strategy
from .belief_policy import BeliefPolicy
from .belief_tracker import History
from .beliefs import BeliefConfig, BeliefNet
from .bilinear import (
    ChildValues,
    CompBilinConfig,
    ConcatConfig,
    HandPolicyConfig,
    HandPolicyNet,
    HandValueNet,
    NetBilinear,
    NetCompBilin,
    NetConcat,
    ValueConfig,
    ValueNet,
)
from .every_history import AllHands
from .exact.bidding_game import BiddingGame
from .exact.ladder import Ladder

TOGETHER = 1 << 21  # values of a network of values that are computed at a time
MOST_ROUNDS = 10_000  # further rounds improve nothing visible

Array = TypeVar("Array", NDArray[Any], Tensor)


class ValueJudge:
    """Plays by the values after each action. The policy is regret matching over them."""

    def __init__(self, game: Game, net: ValueNet, device: str) -> None:
        self.values = ChildValues(net, device)

    def __call__(self, sight: SightLike) -> Judgement:
        legal = is_action(sight)
        tables, _ = legal.nonzero()
        before, after = self.values(sight.views, tables, sight.legal[0][legal].astype(np.int64))
        values = np.full(legal.shape, -np.inf)
        values[legal] = after
        return Judgement(values, regret_policy(before, values, legal), values, before)

    def with_all_hands(self, game: Game) -> AllHands | None:
        """The policy with all hands after histories of bids, on a GPU.

        On a CPU it is faster to ask only about hands that the player can hold.
        """
        return None if self.values.device.type == "cpu" else ValuesOfHands(game, self.values)


class ValuesOfHands:
    """The policy of a network of values with all hands, after histories of one length."""

    def __init__(self, game: Game, values: ChildValues) -> None:
        self.values, climb = values, BiddingGame(game)
        self.actions = torch.tensor([*climb.bids, climb.call], device=values.device)
        # By seat, the views of its hands before the first bid.
        self.openings = [torch.from_numpy(views).to(values.device) for views in climb.views]

    def __call__(self, histories: Sequence[History]) -> Iterator[Tensor]:
        hands = len(self.openings[len(histories[0]) % 2])
        together = max(TOGETHER // (hands * len(self.actions)), 1)
        for first in range(0, len(histories), together):
            yield self._policies(histories[first : first + together])

    def _policies(self, histories: Sequence[History]) -> Tensor:
        """[n, actions, hands]"""
        views = self._views(histories)
        n, hands, _ = views.shape
        standing = torch.tensor([made[-1] if made else -1 for made in histories])
        rungs = torch.arange(len(self.actions))
        legal = rungs > standing[:, None]
        legal[:, -1] = standing >= 0
        legal = legal.to(views.device).repeat_interleave(hands, 0)
        tables, taken = legal.nonzero(as_tuple=True)
        before, after = self.values.answer(views.flatten(0, 1), tables, self.actions[taken])
        values = torch.full(legal.shape, -torch.inf, device=views.device)
        values[legal] = after
        return regret_policy(before, values, legal).view(n, hands, -1).transpose(1, 2)

    def _views(self, histories: Sequence[History]) -> Tensor:
        """What the mover sees with each of its hands. [n, hands, view_size]"""
        config, mover = self.values.config, len(histories[0]) % 2
        half = config.pub // 2
        pub = torch.zeros(len(histories), 2, half, device=self.actions.device)
        pub[:, mover, -1] = 1
        rows = torch.arange(len(histories), device=pub.device)
        for number, made in enumerate(zip(*histories, strict=True)):
            pub[rows, number % 2, self.actions[list(made)]] = 1
        privs = self.openings[mover][:, : config.priv]
        shape = len(histories), len(privs), -1
        return torch.cat((privs.expand(*shape), pub.flatten(1)[:, None].expand(*shape)), 2)


class ActionValueJudge(PolicyJudge):
    """Plays by a network whose logits are the values of actions."""

    def __call__(self, sight: SightLike) -> Judgement:
        preferences, policy, *_ = super().__call__(sight)
        return Judgement(preferences, policy, preferences, preferences.max(1))


def regret_policy(before: Array, after: Array, legal: Array, explore: float = 0.0) -> Array:
    """Probabilities in proportion to what each action gains; uniform where none gains anything.

    before: values [n]; after: values after each action [n, actions]; legal: which actions count
    [n, actions]; explore: what is added to every gain. NumPy arrays or torch tensors.
    """
    regrets: Array = ((after - before[:, None]).clip(0) + explore) * legal
    regrets = regrets + (regrets.sum(1) == 0)[:, None] * legal
    policy: Array = regrets / regrets.sum(1)[:, None]
    return policy


class BeliefJudge:
    """Plays by the beliefs about every hand, at tables of any size.

    rounds: how often it improves the policy at each decision; with `seconds`, until time is up.
    """

    def __init__(
        self,
        game: Game,
        net: BeliefNet,
        device: str,
        *,
        rounds: int = 0,
        seconds: float | None = None,
    ) -> None:
        self.net, self.device, self.seconds = net, device, seconds
        self.rounds = rounds if seconds is None else MOST_ROUNDS
        self._policies: dict[str, BeliefPolicy] = {}
        self._policy(game)

    def _policy(self, game: Game) -> BeliefPolicy:
        if game.fingerprint not in self._policies:
            policy = BeliefPolicy(game, self.net, self.device, self.rounds, self.seconds)
            self._policies[game.fingerprint] = policy
        return self._policies[game.fingerprint]

    def beliefs(self, sight: SightLike) -> tuple[Belief, ...]:
        """About both hands, at the first table."""
        return self._policy(sight.game).beliefs(sight.views[:1])

    def values(self, sight: SightLike) -> NDArray[np.float64]:
        """What the seat to move expects after each action, at the first table. [max_legal]"""
        policy, seat, legal = self._policy(sight.game), int(sight.seats[0]), sight.legal[0][0]
        return policy.values(sight.views[:1], seat, legal)

    def table(self, form: Form, progress: Progress) -> Strategy | None:
        """The policy after every history of a game of bids, if that can be said at once."""
        return self._policy(form.game).table(form, progress) if isinstance(form, Ladder) else None

    def with_all_hands(self, game: Game) -> AllHands | None:
        """The policy with all hands after histories of bids, unless decisions are improved."""
        return None if self.rounds else self._policy(game).with_all_hands

    def __call__(self, sight: SightLike) -> Judgement:
        odds = self._policy(sight.game).odds(sight.views, sight.seats, sight.legal[0])
        policy = odds * is_action(sight)
        with np.errstate(divide="ignore"):  # an action that is never played gets -inf
            return Judgement(np.log(policy), policy / policy.sum(1, keepdims=True))


def _parts(game: Game) -> dict[str, int | str]:
    """Sizes of a game, with those of hand and history, the two parts of a view; 0 if missing."""
    names = game.view.names or ()
    parts = {part: game.view[part].shape[0] if part in names else 0 for part in ("priv", "pub")}
    return sizes(game) | parts


TABLE = ("dice", "sides", "variant")

KINDS = (
    *(
        Kind(name, config, net, TABLE, sizes=_parts, judge=ValueJudge, guides_search=False)
        for name, config, net in (
            ("comp_bilin", CompBilinConfig, NetCompBilin),
            ("bilinear", ValueConfig, NetBilinear),
            ("concat", ConcatConfig, NetConcat),
        )
    ),
    Kind("hand_policy", HandPolicyConfig, HandPolicyNet, TABLE, sizes=_parts),
    Kind(
        "hand_worth",
        HandPolicyConfig,
        HandValueNet,
        (*TABLE, "ones_biddable", "opening_call"),
        sizes=_parts,
        judge=ActionValueJudge,
    ),
    Kind(
        "beliefs",
        BeliefConfig,
        BeliefNet,
        ("sides", "variant", "ones_biddable"),
        any_shape=True,
        judge=BeliefJudge,
        guides_search=False,
    ),
)
