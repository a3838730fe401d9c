"""The networks for games of rising bids, and how they sit at a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..game import Game
from ..nets.kinds import Judgement, Kind, PolicyJudge, Question, inside, sizes
from .beliefs import BeliefConfig, BeliefNet
from .believer import Believer
from .bilinear import (
    ChildValues,
    CompBilinConfig,
    ConcatConfig,
    HandPolicyConfig,
    HandPolicyNet,
    HandWorthNet,
    NetBilinear,
    NetCompBilin,
    NetConcat,
    ValueConfig,
    ValueNet,
)

MOST_ROUNDS = 10_000  # more improve nothing that could be seen


class ValueJudge:
    """Values of what actions lead to. The policy is regret matching over them."""

    def __init__(self, game: Game, net: ValueNet, device: str) -> None:
        self.values = ChildValues(net, device)

    def __call__(self, sight: Question) -> Judgement:
        legal = inside(sight)
        tables, _ = legal.nonzero()
        before, after = self.values(sight.views, tables, sight.legal[0][legal].astype(np.int64))
        values = np.full(legal.shape, -np.inf)
        values[legal] = after
        return Judgement(values, regret_policy(before, values, legal), values, before)


class WorthJudge(PolicyJudge):
    """A network whose logits are the scores that actions lead to."""

    def __call__(self, sight: Question) -> Judgement:
        preferences, policy, *_ = super().__call__(sight)
        return Judgement(preferences, policy, preferences, preferences.max(1))


def regret_policy(before: Any, after: Any, legal: Any, explore: float = 0.0) -> Any:
    """Probabilities in proportion to what each action gains; uniform where none gains anything.

    before: values [n]; after: values of what actions lead to [n, actions]; legal: which count
    [n, actions]; explore: what is added to every gain. NumPy arrays or torch tensors.
    """
    regrets = ((after - before[:, None]).clip(0) + explore) * legal
    regrets = regrets + (regrets.sum(1) == 0)[:, None] * legal
    return regrets / regrets.sum(1)[:, None]


class BeliefJudge:
    """Follows what everybody must believe of every hand. Tables of all sizes are welcome.

    rounds: how often it improves the policy at each decision; with `seconds`, until these are over.
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
        self._believers: dict[str, Believer] = {}
        self._at(game)

    def _at(self, game: Game) -> Believer:
        if game.fingerprint not in self._believers:
            believer = Believer(game, self.net, self.device, self.rounds, self.seconds)
            self._believers[game.fingerprint] = believer
        return self._believers[game.fingerprint]

    def __call__(self, sight: Question) -> Judgement:
        odds = self._at(sight.game).odds(sight.views, sight.seats, sight.legal[0])
        policy = odds * inside(sight)
        with np.errstate(divide="ignore"):  # what is never played is preferred least
            return Judgement(np.log(policy), policy / policy.sum(1, keepdims=True))


def _parts(game: Game) -> dict[str, int]:
    """A hand and a history are the two parts of a view; 0 where a game has no such part."""
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
        HandWorthNet,
        (*TABLE, "ones_biddable", "opening_call"),
        sizes=_parts,
        judge=WorthJudge,
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
