"""Networks for Dominion: a set of cards goes in, logits and a value for each seat come out.

    a card's slot    -> features of the card, its numbers at this table -> its token
    all other places -> the global token
    tokens -> transformer -> each card's token: its logits in seven families of actions
                             the global token:  the logits of the control actions
                             both:              the value

A view is 300 channels of 128 places. In the channels of `SLOTS` a place is a card's slot; of the
other channels only the places in `SCALARS` are used. Tokens carry no position, so the order of the
slots does not matter. Slots without a card are masked and get no logits.

`CardSetNet` is the network to play with. `DesignV2Net` is an older one to compare it with: it knows
slots by their numbers and sees only supply, prices and the features of cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .bounds import LAYERS, check_flags, check_heads, check_share, check_whole
from .net import CACHED, Attended, Heads, MarginNet
from .zones import Head, ZoneLayer, initialise

if TYPE_CHECKING:
    from .fused_cards import FusedCards

CHANNELS, PLACES = 300, 128
FAMILIES, IDS = 7, 512  # a card's actions are family * IDS + id; control actions come after them
BUY = 1  # the family that stands for a card where one action must
ACTIONS = (FAMILIES + 1) * IDS
ABSENT = -1e9  # the logit of a card that is not in the game

FEATURES = (*range(176, 224),)  # what the card at a slot is
AT_TABLE = (16, *range(18, 24), 32, 44, 45, 56, 72, 88, 100, *range(104, 108), 112, 130)
ACTIVE, ID = 224, 225  # whether a slot holds a card; its (id + 1) / IDS
SLOTS = (*FEATURES, *AT_TABLE, ACTIVE, ID)

SCALARS = (  # first channel, last channel, places used in each
    *((0, 0, 7), (1, 1, 8), (2, 2, 20)),  # turn, resources, supply
    *((34, 34, 5), (36, 43, 1), (58, 58, 6), (60, 63, 1)),  # hand, deck
    *((74, 74, 4), (76, 76, 4), (90, 90, 4)),  # discard, cycle, play
    *((96, 96, 8), (98, 98, 6), (114, 114, 6), (118, 118, 5)),  # pending frame, what I own
    *((128, 128, 5), (132, 132, 5), (136, 136, 4), (140, 140, 3)),  # the opponent
    *((240, 241, 16), (248, 251, 2), (252, 252, 3)),  # effects
    *((272, 279, 6), (280, 283, 4), (284, 287, 5), (288, 291, 6)),  # histories
)
SCALAR_PLACES = [
    channel * PLACES + place
    for first, last, places in SCALARS
    for channel in range(first, last + 1)
    for place in range(places)
]
FUSED_WIDTHS = (64, 128)  # tokens of other widths do not fit the tiles of the fused kernel
FUSED_HEADS = (16, 32)  # widths of a head, likewise
FUSED_SLOTS = 63  # with the global token they fill a tile
STATE = 32 * PLACES  # numbers that the older design reads as the state of the game


@dataclass(frozen=True)
class SlotConfig:
    """The configuration that all networks over slots share."""

    slots: int = 24
    """Slots that the network reads, from the first; it does not see cards in later slots. A base
    game fills 17, no view more than 128. The weights are the same for any number."""
    dropout: float = 0.1
    """Share of the activations that training drops."""
    margin_head: bool = False
    """Whether the final margin is predicted, too: used in training, not in play."""

    def __post_init__(self) -> None:
        check_whole(self, PLACES, "slots")
        check_share(self, "dropout")
        check_flags(self, "margin_head")

    @property
    def view_size(self) -> int:
        """Numbers of a view."""
        return CHANNELS * PLACES

    @property
    def seats(self) -> int:
        """A view shows one opponent, and a network's values are those of a game of two."""
        return 2


class SlotNet(MarginNet):
    """The interface of networks over slots; `_heads` answers for the first `slots` slots."""

    config: SlotConfig

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [batch, 4096] and values [batch, 2] of views [batch, 38400], float32.

        Views may also be [batch, 300, 128]. The first value is that of the seat that looks, the
        second is minus the first. Illegal actions are for the caller to mask.
        """
        heads = self.heads(views)
        return heads.policy, heads.value

    def trimmed(self, views: Tensor, together: int = CACHED) -> tuple[Tensor, Tensor]:
        """The same as calling the network, faster on a CPU.

        Works on a few views at a time and skips the slots after the last one in use. Shapes depend
        on the views: do not compile, export or capture it.
        """
        parts = [
            self._heads(part, used_slots(part, self.config.slots))
            for part in torch.split(views.flatten(1), together)
        ]
        return torch.cat([part.policy for part in parts]), torch.cat([part.value for part in parts])

    def heads(self, views: Tensor) -> Heads:
        return self._heads(views.flatten(1), self.config.slots)

    def _heads(self, views: Tensor, slots: int) -> Heads:
        raise NotImplementedError


def used_slots(views: Tensor, most: int) -> int:
    """Slots up to the last one with a card in any of the views, at least one."""
    active = views[:, ACTIVE * PLACES : (ACTIVE + 1) * PLACES] >= 0.5
    last = max((slot + 1 for slot, used in enumerate(active.any(0).tolist()) if used), default=1)
    if last > most:
        raise ValueError(
            f"a view uses {last} slots, but the network reads {most}: set slots={last}"
        )
    return last


# The network to play with ------------------------------------------------------------------------


@dataclass(frozen=True)
class CardSetConfig(SlotConfig):
    """The size of a network over a set of cards."""

    width: int = 128
    """Numbers that stand for a card and for the table."""
    attention_heads: int = 8
    """Heads of a transformer layer, which share the width."""
    layers: int = 4
    """Transformer layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self)
        check_whole(self, LAYERS, "layers")


class CardSetNet(SlotNet):
    """Logits and values for views. The same seed gives the same weights.

    >>> net = CardSetNet(CardSetConfig()).eval()
    >>> logits, values = net(torch.zeros(3, 300, 128))
    >>> logits.shape, values.shape
    (torch.Size([3, 4096]), torch.Size([3, 2]))
    """

    config: CardSetConfig

    def __init__(self, config: CardSetConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.card = card_embedding(width, dropout=0.0)
        self.at_table = nn.Linear(len(AT_TABLE), width)
        self.scalars = nn.Sequential(
            *block(len(SCALAR_PLACES), 2 * width), nn.Linear(2 * width, width), nn.LayerNorm(width)
        )
        self.layers = nn.ModuleList(
            TokenLayer(width, config.attention_heads, config.dropout) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.families = nn.Linear(width, FAMILIES)
        self.control = nn.Linear(width, IDS)
        self.value = nn.Sequential(*block(2 * width, 2 * width), nn.Linear(2 * width, 1))
        self.margin = Head(2 * width, 1, dropout=0.0) if config.margin_head else None
        self.places: Tensor
        self.register_buffer("places", used_places(config.slots), False)
        initialise(self, torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def attention(self, views: Tensor) -> Tensor:
        """Attention weights [batch, layers, heads, tokens, tokens]; the last axis sums to 1.

        Token 0 is the global one, token 1 + k the card of slot k.
        """
        x, seen, _ = self._tokens(views.flatten(1), self.config.slots)
        weights = []
        for layer in self.layers:
            assert isinstance(layer, TokenLayer)
            weights.append(layer.attention_weights(x, seen))
            x = layer(x, seen)
        return torch.stack(weights, 1)

    @torch.no_grad()
    def attended(self, views: Tensor) -> Attended:
        _, seen, ids = self._tokens(views.flatten(1), self.config.slots)
        weights = self.attention(views)[:, :, :, 0].float().mean((1, 2))
        actions = torch.where(seen[:, 1:], BUY * IDS + ids - 1, -1)
        return Attended(actions, weights[:, 1:])

    def fused(self) -> FusedCards | None:
        """The same in bfloat16 with all layers in one kernel.

        None without a GPU or triton, and for sizes whose tokens do not fit on the chip.
        """
        width, slots = self.config.width, self.config.slots
        fits = width in FUSED_WIDTHS and width // self.config.attention_heads in FUSED_HEADS
        if not fits or slots > FUSED_SLOTS or not self.places.is_cuda or not find_spec("triton"):
            return None
        from .fused_cards import FusedCards

        return FusedCards(self)

    def _tokens(self, views: Tensor, slots: int) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens [batch, 1 + slots, width], which of them are present, and the cards' ids + 1."""
        # One gather takes the few numbers in use out of a view of 154 kB.
        used = views[:, self.places[: len(SCALAR_PLACES) + slots * len(SLOTS)]]
        scalars, cards = torch.split(used, [len(SCALAR_PLACES), slots * len(SLOTS)], 1)
        cards = torch.unflatten(cards, 1, (slots, len(SLOTS)))
        features, at_table, active, ids = torch.split(
            cards, [len(FEATURES), len(AT_TABLE), 1, 1], 2
        )
        dtype = self.at_table.weight.dtype
        tokens = self.card(features.to(dtype)) + self.at_table(at_table.to(dtype))
        x = torch.cat((self.scalars(scalars.to(dtype)).unsqueeze(1), tokens), 1)
        present = active.squeeze(2) >= 0.5
        always = present[:, :1] | ~present[:, :1]  # computed from data, see `spread`
        seen = torch.cat((always, present), 1)
        return x, seen, (ids.squeeze(2).float() * IDS).round().long()

    def _heads(self, views: Tensor, slots: int) -> Heads:
        x, seen, ids = self._tokens(views, slots)
        for layer in self.layers:
            x = layer(x, seen)
        table, cards = torch.split(self.norm(x), [1, slots], 1)
        active = seen[:, 1:]
        both = torch.cat((table, mean(cards, active)), 2).squeeze(1)
        value = self.value(both).float().tanh()
        margin = None if self.margin is None else self.margin(both).float().tanh().squeeze(1)
        control = self.control(table.squeeze(1)).float()
        policy = spread(self.families(cards).float(), active, ids, control)
        return Heads(policy, torch.cat((value, -value), 1), margin)


def used_places(slots: int) -> Tensor:
    """Indices into a view: of the scalars, then of the numbers of slot 0, slot 1 and so on."""
    first = torch.tensor(SLOTS) * PLACES
    by_slot = first + torch.arange(slots).unsqueeze(1)
    return torch.cat((torch.tensor(SCALAR_PLACES), by_slot.flatten()))


def mean(x: Tensor, active: Tensor) -> Tensor:
    """The mean over active slots [batch, 1, width], zeros if there are none."""
    counted = active.unsqueeze(1).to(x.dtype)
    return (counted @ x) / counted.sum(2, keepdim=True).clamp(min=1)


def spread(logits: Tensor, active: Tensor, ids: Tensor, control: Tensor) -> Tensor:
    """Logits by action [batch, 4096] from those by slot and family [batch, slots, 7]."""
    cards = FAMILIES * IDS
    first = torch.arange(FAMILIES, device=ids.device) * IDS - 1  # a view holds id + 1
    # Empty slots write to one extra column, which is cut off. The target is computed from data: the
    # ONNX tracer makes a constant of anything computed from a shape, with its batch size.
    actions = torch.where(active.unsqueeze(2), ids.unsqueeze(2) + first, cards)
    nothing = torch.where(active[:, :1], ABSENT, ABSENT).expand(-1, cards + 1)
    by_card = nothing.scatter(1, actions.flatten(1), logits.flatten(1))
    return torch.cat((by_card[:, :cards], control), 1)


def block(inputs: int, outputs: int, dropout: float = 0.0) -> list[nn.Module]:
    """A linear layer with norm and activation."""
    layer = [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.GELU()]
    return [*layer, nn.Dropout(dropout)] if dropout else layer


def card_embedding(width: int, dropout: float) -> nn.Sequential:
    """The embedding of a card from its features."""
    return nn.Sequential(
        *block(len(FEATURES), 96, dropout),
        *block(96, 96, dropout),
        nn.Linear(96, width),
        nn.LayerNorm(width),
    )


class TokenLayer(ZoneLayer):
    """A pre-norm transformer layer that shows its attention weights."""

    def attention_weights(self, x: Tensor, seen: Tensor) -> Tensor:
        """How much each token attends to the others. [batch, heads, tokens, tokens]"""
        qkv = self.qkv(self.attention_norm(x)).unflatten(2, (3, self.heads, -1))
        q, k, _ = qkv.permute(2, 0, 3, 1, 4).unbind()
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        weights: Tensor = scores.masked_fill(~seen[:, None, None, :], -torch.inf).softmax(3)
        return weights


# The older design --------------------------------------------------------------------------------


@dataclass(frozen=True)
class DesignV2Config(SlotConfig):
    """The older network: its sizes are fixed."""

    slots: int = PLACES


class DesignV2Net(SlotNet):
    """Logits and values for views. The same seed gives the same weights."""

    def __init__(self, config: DesignV2Config, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width, state = 128, 64
        self.card = card_embedding(width, config.dropout)
        self.slot = nn.Embedding(PLACES, width)
        self.layers = nn.ModuleList(PostNormLayer(width, 8, config.dropout) for _ in range(4))
        self.norm = nn.LayerNorm(width)
        self.state = nn.Sequential(*block(STATE, 256), nn.Linear(256, state), nn.LayerNorm(state))
        self.policy = PoolingHead(width, state, ACTIONS)
        self.value = PoolingHead(width, state, 1)
        self.margin = PoolingHead(width, state, 1) if config.margin_head else None
        initialise(self, torch.Generator().manual_seed(seed))

    def _heads(self, views: Tensor, slots: int) -> Heads:
        dtype = self.slot.weight.dtype
        by_slot = torch.unflatten(views, 1, (CHANNELS, PLACES))[..., :slots]
        active = by_slot[:, ACTIVE] >= 0.5
        empty = ~active.any(1, keepdim=True)
        seen = torch.cat((active[:, :1] | empty, active[:, 1:]), 1)  # never none: 0 / 0
        features = by_slot[:, FEATURES[0] : FEATURES[-1] + 1].transpose(1, 2).to(dtype)
        x = self.card(features) + self.slot.weight[:slots]
        for layer in self.layers:
            x = layer(x, seen)
        x = self.norm(x)
        state = self.state(views[:, :STATE].to(dtype))
        value = self.value(x, seen, state).float().tanh()
        policy = self.policy(x, seen, state).float()
        margin = None
        if self.margin is not None:
            margin = self.margin(x, seen, state).float().tanh().squeeze(1)
        return Heads(policy, torch.cat((value, -value), 1), margin)


class PostNormLayer(ZoneLayer):
    """A transformer layer with its norms after attention and feed-forward, not before."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__(width, heads, dropout)
        self.after_attention, self.after_feed = self.attention_norm, self.feed_norm
        self.attention_norm = self.feed_norm = nn.Identity()  # type: ignore[assignment]

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        x = self.after_attention(self.attend(x, seen))
        x = self.after_feed(self.narrow(x, self.widen(x)))
        return x


class PoolingHead(nn.Module):
    """An output from an attention-weighted mean of the slots, and the state of the game."""

    def __init__(self, width: int, state: int, answers: int) -> None:
        super().__init__()
        self.pool = nn.Linear(width, 1)
        self.answer = nn.Sequential(
            *block(width + state, 256), *block(256, 256), nn.Linear(256, answers)
        )

    def forward(self, x: Tensor, seen: Tensor, state: Tensor) -> Tensor:
        scores = self.pool(x).masked_fill(~seen.unsqueeze(2), -torch.inf)
        pooled = (scores.softmax(1).transpose(1, 2) @ x).squeeze(1)
        answer: Tensor = self.answer(torch.cat((pooled, state), 1))
        return answer
