"""Value networks for a hand and a history: the score that a seat expects, whoever is to move.

A view is one row of zeros and ones, `priv` and then `pub`. `priv` is a hand; its last two entries
say whose. `pub` has one half per seat: a bit for every action that the seat has taken, the call
last, and a bit for being to move. So an action sets one bit and passes the to-move bit on: the next
view differs in three entries.

Three networks answer alike, with one number between -1 and 1 per view:

    NetCompBilin   (priv -> interaction) * (pub -> interaction) -> hidden layers -> tanh
    NetBilinear    priv x pub -> hidden layers -> tanh
    NetConcat      priv, pub -> hidden layers -> tanh
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..game import GameError
from ..nets.bounds import NUMBERS, WIDTH, ConfigError, check_sizes, check_whole
from ..nets.net import Net, PolicyNet

ROWS = 512  # rows per call, always: an answer does not depend on the other rows
GPU_ROWS = 32768  # enough that a call takes the GPU longer than the CPU takes to launch it
HANDS = 1024  # that `OneTable` keeps; five dice of six sides have 252 per seat

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]
Follow = Callable[[Tensor, Tensor], Tensor]
"""From numbers of views and actions there, to the values after these actions. [rows]"""


@dataclass(frozen=True)
class ValueConfig:
    """The shapes of a view and the size of its network."""

    priv: int = 32
    """Numbers of a hand, the two that say whose it is included."""
    pub: int = 124
    """Numbers of a history: two halves, each with a bit per action and one for being to move."""
    hidden: tuple[int, ...] = (100, 100, 100, 100)
    """Widths of the layers before the last."""

    def __post_init__(self) -> None:
        check_whole(self, NUMBERS, "priv", least=3)
        check_whole(self, NUMBERS, "pub", least=4)
        if self.pub % 2:
            raise ConfigError(f"pub={self.pub}: a history has two halves of one size")
        check_sizes(self, "hidden")

    @property
    def view_size(self) -> int:
        """Numbers of a view."""
        return self.priv + self.pub

    @property
    def actions(self) -> int:
        """Actions that a history has bits for."""
        return self.pub // 2 - 1


@dataclass(frozen=True)
class CompBilinConfig(ValueConfig):
    """The same, with the size of the product of hand and history."""

    interaction: int = 500
    """Numbers that stand for a hand, and for a history, where they are multiplied."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, WIDTH, "interaction")


@dataclass(frozen=True)
class ConcatConfig(ValueConfig):
    """The same with other widths, for plain concatenation."""

    hidden: tuple[int, ...] = (500, 400, 300, 200, 100)


class ValueNet(Net):
    """What the three networks have in common: hidden layers and one output."""

    config: ValueConfig

    def __init__(self, config: ValueConfig, widths: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(widths))
        self.value = nn.Linear(widths[-1], 1)

    def forward(self, views: Tensor) -> Tensor:
        """The value of views [batch, view_size] for the seat whose hand they hold. [batch]"""
        return self.head(self.meet(*self.halves(views)))

    def halves(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Hands [batch, priv] and histories [batch, pub]."""
        return views[:, : self.config.priv], views[:, self.config.priv :]

    def meet(self, priv: Tensor, pub: Tensor) -> Tensor:
        """A hand and a history as one row of numbers, before the first activation."""
        raise NotImplementedError

    def head(self, x: Tensor) -> Tensor:
        """The value from the output of `meet`. [batch]"""
        for layer in self.layers:
            x = layer(x.relu())
        value: Tensor = self.value(x.relu())
        return value.tanh().squeeze(1)

    def look(self, views: Tensor) -> tuple[Tensor, ...]:
        """Values of views [batch, view_size], and what `following` needs, with a row per view."""
        return self(views), views

    def following(self, *looked: Tensor) -> Follow:
        """A function for the values after actions, from what `look` gave besides the values.

        The values are those of the same hands, which must be the hands of the seats to move.
        """
        (views,), half = looked, self.config.pub // 2

        def after(tables: Tensor, actions: Tensor) -> Tensor:
            child = views[tables]
            mover = child[:, -1].long()
            own, other = (self.config.priv + half * seat for seat in (mover, 1 - mover))
            child.scatter_(1, torch.stack((own + actions, other + half - 1), 1), 1.0)
            child.scatter_(1, (own + half - 1)[:, None], 0.0)
            value: Tensor = self(child)
            return value

        return after


class NetCompBilin(ValueNet):
    """Hand and history are multiplied number by number. The same seed gives the same weights.

    >>> net = NetCompBilin(CompBilinConfig())
    >>> net(torch.zeros(3, 156)).shape, sum(p.numel() for p in net.parameters())
    (torch.Size([3]), 159501)
    """

    config: CompBilinConfig

    def __init__(self, config: CompBilinConfig, seed: int = 0) -> None:
        super().__init__(config, (config.interaction, *config.hidden))
        self.priv = nn.Linear(config.priv, config.interaction)
        self.pub = nn.Linear(config.pub, config.interaction)
        initialise(self, seed)

    def meet(self, priv: Tensor, pub: Tensor) -> Tensor:
        met: Tensor = self.priv(priv) * self.pub(pub)
        return met

    def look(self, views: Tensor) -> tuple[Tensor, ...]:
        priv, pub = self.halves(views)
        hands = self.priv(priv)
        met = hands * self.pub(pub)
        return self.head(met), met, hands, pub[:, -1].long() * self.config.actions

    def following(self, *looked: Tensor) -> Follow:
        """The same without the first layers: an action adds a step to the history's numbers, and
        so the product of the hand and that step to the product of hand and history.
        """
        met, hands, first = looked
        steps = self.steps().flatten(0, 1)  # seat 1 last: indexing by one row number is fastest

        def after(tables: Tensor, actions: Tensor) -> Tensor:
            step = steps[first[tables] + actions]
            return self.head(torch.addcmul(met[tables], hands[tables], step))

        return after

    def steps(self) -> Tensor:
        """What an action of a seat adds to a history's numbers. [2, actions, interaction]"""
        halves = self.pub.weight.T.contiguous().reshape(2, self.config.pub // 2, -1)
        to_move = halves[:, -1:]
        return halves[:, :-1] - to_move + to_move.flip(0)


class NetBilinear(ValueNet):
    """Every number of a hand is multiplied with every number of a history."""

    def __init__(self, config: ValueConfig, seed: int = 0) -> None:
        super().__init__(config, config.hidden)
        self.pairs = nn.Bilinear(config.priv, config.pub, config.hidden[0])
        initialise(self, seed)

    def meet(self, priv: Tensor, pub: Tensor) -> Tensor:
        met: Tensor = self.pairs(priv, pub)
        return met


class NetConcat(ValueNet):
    """A hand and a history side by side."""

    def __init__(self, config: ConcatConfig, seed: int = 0) -> None:
        super().__init__(config, config.hidden)
        self.both = nn.Linear(config.view_size, config.hidden[0])
        initialise(self, seed)

    def meet(self, priv: Tensor, pub: Tensor) -> Tensor:
        met: Tensor = self.both(torch.cat((priv, pub), 1))
        return met


def initialise(net: nn.Module, seed: int) -> None:
    """Weights and biases uniform within 1 / sqrt(number of inputs)."""
    generator = torch.Generator().manual_seed(seed)
    for part in net.modules():
        if isinstance(part, (nn.Linear, nn.Bilinear)):
            bound = part.weight[0].numel() ** -0.5
            nn.init.uniform_(part.weight, -bound, bound, generator=generator)
            nn.init.uniform_(part.bias, -bound, bound, generator=generator)


@dataclass(frozen=True)
class HandPolicyConfig(CompBilinConfig):
    """The sizes of a network with an output per action."""

    interaction: int = 256
    hidden: tuple[int, ...] = (128, 128)


class HandTrunk(nn.Module):
    """NetCompBilin with one raw output per action."""

    def __init__(self, config: HandPolicyConfig) -> None:
        super().__init__()
        self.priv = nn.Linear(config.priv, config.interaction)
        self.pub = nn.Linear(config.pub, config.interaction)
        widths = (config.interaction, *config.hidden, config.actions)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(widths))

    def forward(self, priv: Tensor, pub: Tensor) -> Tensor:
        """Hands [..., priv] and histories [..., pub], which may be broadcast, to [..., actions]."""
        x: Tensor = self.priv(priv) * self.pub(pub)
        for layer in self.layers:
            x = layer(x.relu())
        return x


class ActionNet(PolicyNet):
    """A network with outputs per action for a hand after a history."""

    config: HandPolicyConfig
    worth: HandTrunk  # the name in saved files

    def action_values(self, priv: Tensor, pub: Tensor) -> Tensor:
        """The value of each action to a hand after a history. [..., actions]"""
        values: Tensor = self.worth(priv, pub)
        return values

    def trimmed(self, views: Tensor, together: int = GPU_ROWS) -> tuple[Tensor, Tensor]:
        answers = [self(part) for part in torch.split(views, together)]
        logits, values = zip(*answers, strict=True)
        return torch.cat(logits), torch.cat(values)


class HandPolicyNet(ActionNet):
    """A policy for a hand after a history: a logit per action and, separately, its value.

    >>> net = HandPolicyNet(HandPolicyConfig())
    >>> logits, values = net(torch.zeros(3, 156))
    >>> logits.shape, values.shape
    (torch.Size([3, 61]), torch.Size([3, 2]))
    """

    def __init__(self, config: HandPolicyConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.policy, self.worth = HandTrunk(config), HandTrunk(config)
        initialise(self, seed)

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [batch, actions] and values [batch, 2], the seat to move first."""
        views = views.to(self.policy.priv.weight.dtype)
        priv, pub = views[:, : self.config.priv], views[:, self.config.priv :]
        logits = self.policy(priv, pub)
        odds = logits.masked_fill(~above(pub), -1e9).softmax(1)
        value = (odds * self.action_values(priv, pub)).sum(1).clamp(-1, 1)
        return logits, torch.stack((value, -value), 1)


class HandValueNet(ActionNet):
    """The value of each action to a hand after a history.

    >>> net = HandValueNet(HandPolicyConfig())
    >>> logits, values = net(torch.zeros(3, 156))
    >>> logits.shape, values.shape
    (torch.Size([3, 61]), torch.Size([3, 2]))
    """

    SHARPNESS = 50.0  # logits per point of value

    def __init__(self, config: HandPolicyConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.worth = HandTrunk(config)
        initialise(self, seed)

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [batch, actions] and values [batch, 2], the seat to move first."""
        views = views.to(self.worth.priv.weight.dtype)
        priv, pub = views[:, : self.config.priv], views[:, self.config.priv :]
        values = self.action_values(priv, pub)
        value = values.masked_fill(~above(pub), -1.0).amax(1).clamp(-1, 1)
        return self.SHARPNESS * values, torch.stack((value, -value), 1)


def last_taken(pub: Tensor) -> Tensor:
    """The highest action taken so far, -1 where there is none. [n]"""
    taken = torch.unflatten(pub, 1, (2, -1))[:, :, :-1].amax(1) > 0
    numbers = torch.arange(1, taken.shape[1] + 1, device=pub.device)
    return (taken * numbers).amax(1) - 1


def above(pub: Tensor) -> Tensor:
    """Which actions are above all taken so far; the call needs a bid before it. [n, actions]"""
    last, call = last_taken(pub)[:, None], pub.shape[1] // 2 - 2
    numbers = torch.arange(call + 1, device=pub.device)
    return (numbers > last) & ((numbers < call) | (last >= 0))


# For play -----------------------------------------------------------------------------------------


class ChildValues:
    """Answers views with their values and with the values after actions, on a CPU or a GPU.

    Always in float32. torch keeps TF32 off by default: TF32 changes values of the published
    networks by up to a thousandth, float32 on a GPU by less than a millionth.
    """

    def __init__(self, net: ValueNet, device: str = "cpu") -> None:
        self.device, self.config = torch.device(device), net.config
        self.net = net.to(self.device, torch.float32).eval()
        self.rows = ROWS if device == "cpu" else GPU_ROWS
        on_cpu = device == "cpu"
        self._one_table = OneTable(net) if on_cpu and isinstance(net, NetCompBilin) else None

    @torch.inference_mode()
    def values(self, views: Floats) -> Floats:
        """The value of every view [n, view_size] for the seat whose hand it holds. [n]"""
        check_views(self.config, views)
        values: Floats = self._in_parts(self.net.look, self._tensor(views))[0].cpu().numpy()
        return values

    def __call__(self, views: Floats, tables: Whole, actions: Whole) -> tuple[Floats, Floats]:
        """Values of `views` [n] and, for row r, after `actions[r]` at the view `tables[r]` [rows].

        views: float32 [n, view_size], with the hands of the seats to move.
        """
        check_views(self.config, views)
        check_turns(self.config, views)
        if self._one_table is not None and len(views) == 1:
            return self._one_table(views[0], actions)
        put = self._tensor
        before, after = self.answer(put(views), put(tables), put(actions))
        return before.cpu().numpy(), after.cpu().numpy()

    @torch.inference_mode()
    def answer(self, views: Tensor, tables: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The same for tensors on the device, without checks; the host does not wait."""
        before, *looked = self._in_parts(self.net.look, views)
        following = self.net.following(*looked)
        (after,) = self._in_parts(lambda *rows: (following(*rows),), tables, actions)
        return before, after

    def _in_parts(self, work: Callable[..., tuple[Tensor, ...]], *inputs: Tensor) -> list[Tensor]:
        """The result of `work`, in parts of `self.rows` rows; the last is padded with zeros."""
        size = len(inputs[0])
        full = [torch.split(_padded(tensor, self.rows), self.rows) for tensor in inputs]
        parts = [work(*part) for part in zip(*full, strict=True)]
        return [torch.cat(column)[:size] for column in zip(*parts, strict=True)]

    def _tensor(self, array: Floats | Whole) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def _padded(tensor: Tensor, rows: int) -> Tensor:
    """A tensor with zeros added, up to a multiple of `rows`."""
    lacking = -len(tensor) % rows
    return torch.cat((tensor, tensor.new_zeros(lacking, *tensor.shape[1:])))


class OneTable:
    """A NetCompBilin in NumPy for one view at a time, ten times as fast.

    >>> quick = OneTable(NetCompBilin(CompBilinConfig()))
    >>> before, after = quick(np.eye(156, dtype=np.float32)[93], np.arange(61))
    >>> before.shape, after.shape
    ((1,), (61,))
    """

    def __init__(self, net: NetCompBilin) -> None:
        self.config = net.config
        self.priv, self.pub = _arrays(net.priv), _arrays(net.pub)
        self.layers = [_arrays(layer) for layer in (*net.layers, net.value)]
        self.steps = net.steps().detach().numpy()
        self.hand = lru_cache(HANDS)(self._hand)

    def __call__(self, view: Floats, actions: Whole) -> tuple[Floats, Floats]:
        """The value of a view [1] and the values after ascending actions of its seat [n]."""
        hand = self.hand(view[: self.config.priv].tobytes())
        pub, (weight, bias) = view[self.config.priv :], self.pub
        first, last = actions[0], actions[-1]  # nearly always all actions between are legal
        x = np.empty((last - first + 2, self.config.interaction), np.float32)
        np.add(weight[pub.nonzero()[0]].sum(0), bias, out=x[0])
        np.add(self.steps[int(pub[-1]), first : last + 1], x[0], out=x[1:])
        x *= hand
        for weight, bias in self.layers:
            x = np.maximum(x, 0, out=x) @ weight
            x += bias
        values = np.tanh(x[:, 0])
        return values[:1], values[1:][actions - first]

    def _hand(self, priv: bytes) -> Floats:
        """A hand's numbers, by its bytes: they are the same for a whole round."""
        weight, bias = self.priv
        hand: Floats = weight[np.frombuffer(priv, np.float32).nonzero()[0]].sum(0) + bias
        return hand


def _arrays(layer: nn.Linear) -> tuple[Floats, Floats]:
    """Weight [in, out] and bias [out] of a layer."""
    weight, bias = layer.weight.detach().cpu(), layer.bias.detach().cpu()
    return weight.T.contiguous().numpy().copy(), bias.numpy().copy()


# Bad input ----------------------------------------------------------------------------------------


def check_views(config: ValueConfig, views: object) -> None:
    """Refuse anything but a batch of views for a network of this configuration."""
    if not isinstance(views, np.ndarray) or views.dtype != np.float32:
        dtype = getattr(views, "dtype", type(views).__name__)
        raise GameError(f"views are {dtype}, not float32")
    if views.ndim != 2 or views.shape[1] != config.view_size:
        found = " x ".join(map(str, views.shape))
        raise GameError(f"views are {found} numbers, not n x ({config.priv} + {config.pub})")
    if not np.isfinite(views).all():
        raise GameError(f"views have the entry {views[~np.isfinite(views)][0]}")


def check_turns(config: ValueConfig, views: Floats) -> None:
    """Refuse views in which the seat that holds the hand is not to move."""
    half = config.pub // 2
    whose = views[:, config.priv - 2 : config.priv]
    to_move = views[:, [config.priv + half - 1, -1]]
    ended = views[:, [config.priv + half - 2, -2]]
    if ended.any():
        raise GameError(f"view {int(ended.any(1).argmax())}: the game is over, no seat is to move")
    if (other := (whose != to_move).any(1)).any():
        i = int(other.argmax())
        raise GameError(
            f"view {i} has the hand of seat {int(whose[i].argmax())}, "
            f"but seat {int(to_move[i].argmax())} is to move"
        )
