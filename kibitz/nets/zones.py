"""A network for card tables: zones of cards go in, logits and a value per seat come out.

    open cards      -> card encoder     -> the zone's own transformer -> mean over its cards
    face-down cards -> their encoder    -> likewise
    scalars         -> one layer
    all of it side by side -> fusion -> policy head, value head and, to learn from, margin head

A view is one flat row of numbers: the zones of open cards one after the other, each of `rows` cards
of `species + 5` numbers (present, owner, one-hot species, strength, points, place); the opponents'
cards of 3 numbers (present, place, 0); the scalars. A row whose first number is below one half is
empty: no card attends to it and no mean counts it, so the rest of such a row does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from .bounds import (
    ENTRIES,
    LAYERS,
    NUMBERS,
    WIDTH,
    ConfigError,
    check_flags,
    check_heads,
    check_names,
    check_share,
    check_whole,
    field_error,
)
from .net import CACHED, Heads, MarginNet

if TYPE_CHECKING:
    from .fused import FusedZones

AHEAD = 2  # numbers of an open card before its species: present, owner
BEHIND = 3  # and after it: strength, points, place
FACE_DOWN = 3  # numbers of a card whose face is hidden
MOST_ROWS = 256  # of a zone: each has its own position
MOST_SEATS = 64
MOST_LAYERS = 256  # over all zones: each is a dozen objects, built before any weight is read


@dataclass(frozen=True)
class ZoneConfig:
    """The shapes of a table and the size of its network."""

    zones: tuple[tuple[str, int], ...] = (("queue", 5), ("bar", 24), ("thats_it", 24), ("hand", 4))
    """Zones of open cards in the order of the view: name and rows."""
    opponents: int = 4
    """Rows for the cards that the other seats hold, all seats together."""
    scalars: int = 7
    """Numbers at the end of a view."""
    species: int = 12
    """Kinds of cards."""
    actions: int = 124
    """Logits that come out."""
    seats: int = 2
    """Values that come out. With two seats the second is minus the first."""
    ordered: tuple[str, ...] = ("queue",)
    """Zones where sinusoidal positions are added to the cards."""
    piles: tuple[str, ...] = ("bar", "thats_it")
    """Zones that `zone_positions` is about."""
    zone_positions: bool = True
    """Whether the network sees the order in which the cards of a pile came."""
    width: int = 128
    """Numbers that stand for a card, for a zone and for the table."""
    attention_heads: int = 4
    """Heads of a transformer layer, which share the width."""
    layers: int = 1
    """Transformer layers of each zone."""
    embedding: int = 32
    """Numbers that stand for a species, and as many for the rest of a card."""
    dropout: float = 0.1
    """Share of the activations that training drops."""
    deep_value: bool = False
    """Whether the value head has residual blocks."""
    margin_head: bool = False
    """Whether the final margin is predicted, too: used in training, not in play."""

    def __post_init__(self) -> None:
        self._check_zones()
        check_whole(self, NUMBERS, "scalars", "species", "actions")
        if type(self.seats) is not int or not 2 <= self.seats <= MOST_SEATS:
            raise field_error(self, "seats", f"two seats or more, up to {MOST_SEATS}")
        check_heads(self)
        if self.width % 2:
            raise ConfigError(f"width={self.width} is odd; sines and cosines come in pairs")
        check_whole(self, WIDTH, "embedding")
        check_whole(self, LAYERS, "layers")
        if self.layers * (len(self.zones) + 1) > MOST_LAYERS:
            raise field_error(self, "layers", f"at most {MOST_LAYERS} over all zones together")
        check_share(self, "dropout")
        check_flags(self, "zone_positions", "deep_value", "margin_head")

    def _check_zones(self) -> None:
        listed = isinstance(self.zones, tuple) and 1 <= len(self.zones) <= ENTRIES
        if not listed or not all(_is_zone(zone) for zone in self.zones):
            wanted = f"1 to {ENTRIES} zones, each a name and one row or more, up to {MOST_ROWS}"
            raise field_error(self, "zones", wanted)
        check_names(self, "ordered")
        check_names(self, "piles")
        names = [name for name, _ in self.zones]
        if len({*names, "opponents"}) <= len(names):
            raise ConfigError(f"zones={self.zones}: every zone needs a name of its own")
        if strangers := {*self.ordered, *self.piles} - {*names}:
            raise ConfigError(f"there is no zone {', '.join(sorted(strangers))} in {self.zones}")
        if type(self.opponents) is not int or not 1 <= self.opponents <= MOST_ROWS:
            raise field_error(self, "opponents", f"one row or more, up to {MOST_ROWS}")

    @property
    def sizes(self) -> list[int]:
        """Numbers of each part of a view: open zones, opponents, scalars."""
        card = AHEAD + self.species + BEHIND
        return [*(rows * card for _, rows in self.zones), self.opponents * FACE_DOWN, self.scalars]

    @property
    def view_size(self) -> int:
        """Numbers of a view."""
        return sum(self.sizes)


def zones_of(fields: Mapping[str, tuple[int, ...]]) -> dict[str, object]:
    """The fields of a `ZoneConfig` for a view with these parts, by their names and shapes.

    Empty if they are not rows of open cards, rows of face-down cards, and scalars.
    """
    *cards, last = fields.items()
    if len(last[1]) != 1 or len(cards) < 2 or any(len(shape) != 2 for _, shape in cards):
        return {}
    *zones, (_, (opponents, columns)) = cards
    species = {shape[1] - AHEAD - BEHIND for _, shape in zones}
    if len(species) > 1 or columns != FACE_DOWN:
        return {}
    return {
        "zones": tuple((name, shape[0]) for name, shape in zones),
        "opponents": opponents,
        "scalars": last[1][0],
        "species": species.pop(),
    }


def _is_zone(zone: object) -> bool:
    """Whether it is a pair of a name that torch accepts for a module and a number of rows."""
    if not isinstance(zone, tuple) or len(zone) != 2:
        return False
    name, rows = zone
    named = isinstance(name, str) and name.isidentifier()
    return named and type(rows) is int and 1 <= rows <= MOST_ROWS


LARGE = ZoneConfig(width=256, attention_heads=8, layers=4, embedding=64)


class ZoneNet(MarginNet):
    """Logits and values for views. The same seed gives the same weights.

    >>> net = ZoneNet(ZoneConfig()).eval()
    >>> logits, values = net(torch.zeros(3, 988))
    >>> logits.shape, values.shape
    (torch.Size([3, 124]), torch.Size([3, 2]))
    """

    config: ZoneConfig

    def __init__(self, config: ZoneConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        width, dropout = config.width, config.dropout
        self.card = CardEncoder(config)
        self.opponent_card = FaceDownEncoder(width)
        self.zones = nn.ModuleDict(
            {
                name: ZoneEncoder(config, rows if name in config.ordered else 0)
                for name, rows in (*config.zones, ("opponents", config.opponents))
            }
        )
        self.scalars = nn.Linear(config.scalars, width)
        self.fusion = nn.Sequential(
            Fusion((len(self.zones) + 1) * width, width, dropout),
            Fusion(width, width, dropout),
            Fusion(width, width, dropout),
        )
        values = 1 if config.seats == 2 else config.seats
        self.policy = Head(width, config.actions, dropout)
        self.value = DeepHead(width, values) if config.deep_value else Head(width, values, dropout)
        self.margin = Head(width, 1, dropout=0.0) if config.margin_head else None
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        return self.answer(self.table(views))

    def trimmed(self, views: Tensor, together: int = CACHED) -> tuple[Tensor, Tensor]:
        """The same as calling the network, in about half the time on a CPU.

        Works on a few views at a time, which stay in the cache, and skips rows that are empty in
        all of them. Shapes depend on the views: do not compile, export or capture it.
        """
        answers = [
            self.answer(self.table(part, trim=True)) for part in torch.split(views, together)
        ]
        logits, values = zip(*answers, strict=True)
        return torch.cat(logits), torch.cat(values)

    def fused(self) -> FusedZones | None:
        """The same in bfloat16 on a GPU with one kernel per zone: several times as fast.

        None for larger networks, whose cards do not fit on the chip.
        """
        if self.config.layers > 1 or self.config.width > 128:
            return None
        from .fused import FusedZones  # needs triton, which comes with torch for GPUs

        return FusedZones(self)

    def heads(self, views: Tensor) -> Heads:
        table = self.table(views)
        margin = None if self.margin is None else self.margin(table).float().tanh().squeeze(1)
        return Heads(*self.answer(table), margin)

    def table(self, views: Tensor, trim: bool = False) -> Tensor:
        """The vector that the heads read. [batch, width]"""
        views = views.to(self.scalars.weight.dtype)
        *zones, scalars = torch.split(views, self.config.sizes, 1)
        all_rows = [*(rows for _, rows in self.config.zones), self.config.opponents]
        cards = [
            torch.unflatten(zone, 1, (rows, -1)) for zone, rows in zip(zones, all_rows, strict=True)
        ]
        *faces, backs = without_empty_rows(cards) if trim else cards
        weight, bias = self.card.folded()
        parts = []
        for (name, _), face in zip(self.config.zones, faces, strict=True):
            blind = name in self.config.piles and not self.config.zone_positions
            shown = slice(-1 if blind else None)  # the last number of a card is its place
            x = self.card(face[..., shown], weight[:, shown], bias)
            parts.append(self._zone(name, x, face, trim))
        parts.append(self._zone("opponents", self.opponent_card(backs), backs, trim))
        parts.append(functional.gelu(self.scalars(scalars)))
        table: Tensor = self.fusion(torch.cat(parts, 1))
        return table

    def _zone(self, name: str, x: Tensor, cards: Tensor, trim: bool) -> Tensor:
        """The vector of a zone. [batch, width]"""
        zone = self.zones[name]
        assert isinstance(zone, ZoneEncoder)
        if trim and not cards.shape[1]:  # at a single table this saves a zone in five
            return zone.empty.expand(len(cards), -1)
        encoded: Tensor = zone(x, present(cards))
        return encoded

    def answer(self, table: Tensor) -> tuple[Tensor, Tensor]:
        values = self.value(table).float().tanh()
        if self.config.seats == 2:
            values = torch.cat((values, -values), 1)
        return self.policy(table).float(), values


def present(cards: Tensor) -> Tensor:
    """Which rows of a zone hold a card. [batch, rows]"""
    return cards[..., 0] >= 0.5


def without_empty_rows(zones: list[Tensor]) -> list[Tensor]:
    """Each zone up to the last row that holds a card in any view.

    The host waits for the GPU only once, for all zones together.
    """
    held = torch.cat([present(zone) for zone in zones], 1).any(0).cpu()
    parts = torch.split(held, [zone.shape[1] for zone in zones])
    used = [
        max([row + 1 for row, is_held in enumerate(part.tolist()) if is_held], default=0)
        for part in parts
    ]
    return [zone[:, :rows] for zone, rows in zip(zones, used, strict=True)]


class CardEncoder(nn.Module):
    """An open card: an embedding of its species and a layer over its numbers, mixed."""

    def __init__(self, config: ZoneConfig) -> None:
        super().__init__()
        # The last row stands for no card. Empty rows are masked, so it is never learned.
        self.species = nn.Embedding(config.species + 1, config.embedding, config.species)
        self.numbers = nn.Linear(AHEAD + BEHIND, config.embedding)
        self.mix = nn.Linear(2 * config.embedding, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def folded(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the one linear layer that embedding, `numbers` and `mix` make up.

        Looking up a species is a product with its one-hot, and there is no activation between the
        three. So a card costs 17 x width products and no gathering of rows.
        """
        of_species, of_numbers = self.mix.weight.chunk(2, 1)
        species = of_species @ self.species.weight[:-1].T
        ahead, behind = torch.split(of_numbers @ self.numbers.weight, [AHEAD, BEHIND], 1)
        bias = self.mix.bias + of_numbers @ self.numbers.bias
        return torch.cat((ahead, species, behind), 1), bias

    def forward(self, cards: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        x: Tensor = functional.gelu(functional.linear(cards, weight, bias))
        x = self.dropout(self.norm(x))
        return x


class FaceDownEncoder(nn.Module):
    """A card of another seat: only its place is known."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(FACE_DOWN, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, cards: Tensor) -> Tensor:
        x: Tensor = self.norm(functional.gelu(self.linear(cards)))
        return x


class ZoneEncoder(nn.Module):
    """A zone: its cards attend to each other, then their mean stands for all of them.

    rows: the number of sinusoidal positions to add, 0 for a zone without order.
    """

    def __init__(self, config: ZoneConfig, rows: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            ZoneLayer(config.width, config.attention_heads, config.dropout)
            for _ in range(config.layers)
        )
        self.empty = nn.Parameter(torch.zeros(config.width))
        self.places: Tensor | None
        self.register_buffer("places", positions(rows, config.width) if rows else None, False)

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        """One vector per zone [batch, width] from cards [batch, rows, width]."""
        if self.places is not None:
            x = x + self.places[: x.shape[1]]
        empty = ~present.any(1, keepdim=True)
        seen = present | empty  # all rows of an empty zone: attention must not divide 0 by 0
        shares = (seen.to(x.dtype) / seen.sum(1, keepdim=True, dtype=x.dtype)).unsqueeze(1)
        *layers, last = self.layers
        assert isinstance(last, ZoneLayer)
        for layer in layers:
            x = layer(x, seen)
        x = last.attend(x, seen)
        hidden = last.widen(x)
        if self.training and last.dropout.p > 0:
            mean = shares @ last.narrow(x, hidden)
        else:  # the mean of a linear layer is the layer of the mean: this saves a third of the work
            mean = last.narrow(shares @ x, shares @ hidden)
        return torch.where(empty, self.empty, mean.squeeze(1))


class ZoneLayer(nn.Module):
    """A pre-norm transformer layer, numerically the same as torch's `TransformerEncoderLayer`.

    It is split so that a zone can take the mean before the last matrix.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        """x: [batch, rows, width]; seen: which rows are attended to, at least one [batch, rows]."""
        x = self.attend(x, seen)
        return self.narrow(x, self.widen(x))

    def attend(self, x: Tensor, seen: Tensor) -> Tensor:
        """Add to each row what it attends to."""
        qkv = self.qkv(self.attention_norm(x)).unflatten(2, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind()  # [batch, heads, rows, width / heads]
        mixed = attention(q, k, v, seen[:, None, None, :], self.dropout.p if self.training else 0.0)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).flatten(2)))
        return x

    def widen(self, x: Tensor) -> Tensor:
        """The first half of the feed-forward part. [..., 4 width]"""
        hidden: Tensor = self.dropout(functional.gelu(self.up(self.feed_norm(x))))
        return hidden

    def narrow(self, x: Tensor, hidden: Tensor) -> Tensor:
        """The second half, added to the input."""
        x = x + self.dropout(self.down(hidden))
        return x


def attention(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, dropout: float) -> Tensor:
    """Scaled dot-product attention over a few rows. [batch, heads, rows, width / heads]"""
    if not q.is_cuda:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout)
    # torch's GPU kernels are made for long sequences: plain products are faster for 24 rows.
    likeness = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, float("-inf"))
    return functional.dropout(likeness.softmax(3), dropout) @ v


class Fusion(nn.Module):
    """Two layers with a residual connection around them."""

    def __init__(self, inputs: int, width: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.first_norm = nn.LayerNorm(width)
        self.second = nn.Linear(width, width)
        self.second_norm = nn.LayerNorm(width)
        self.carry = nn.Identity() if inputs == width else nn.Linear(inputs, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout(functional.gelu(self.first_norm(self.first(x))))
        y = self.dropout(functional.gelu(self.second_norm(self.second(y))))
        y = y + self.carry(x)
        return y


class Head(nn.Module):
    """Raw outputs of the network from the vector of the table."""

    def __init__(self, width: int, answers: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width // 2)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width // 2, answers)

    def forward(self, x: Tensor) -> Tensor:
        x = self.out(self.dropout(functional.gelu(self.hidden(x))))
        return x


class DeepHead(nn.Module):
    """The same with two residual blocks."""

    def __init__(self, width: int, answers: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.blocks = nn.Sequential(Residual(width), Residual(width))
        self.out = nn.Linear(width, answers)

    def forward(self, x: Tensor) -> Tensor:
        x = self.out(self.blocks(functional.gelu(self.hidden(x))))
        return x


class Residual(nn.Module):
    """A pre-norm residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.second(functional.gelu(self.first(self.norm(x))))
        return x


def positions(rows: int, width: int) -> Tensor:
    """Sines at the even entries, cosines at the odd ones, of falling frequency. [rows, width]"""
    speeds = 10_000.0 ** -(torch.arange(0, width, 2) / width)
    angles = torch.arange(rows)[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), 2).flatten(1)


def initialise(net: nn.Module, generator: torch.Generator) -> None:
    """Xavier-uniform matrices, zero biases, small embeddings; norms and `empty` stay as built."""
    for part in net.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight, generator=generator)
            nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=0.02, generator=generator)
            with torch.no_grad():
                part.weight[-1] = 0.0
