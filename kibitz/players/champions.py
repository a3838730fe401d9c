"""Players that come with the package: weights, each with a card.

A card says which game its network plays, at which tables (`only_for`: options and their values) and
which players it stands for (`players`: a text by name, such as "champion": "net:{file}"). Where
several networks of one name fit a table, the one with the most conditions plays.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike

from ..game import Game
from .sight import Player, PlayerError, Sight, identity_of
from .texts import REGISTRY, options_in, register, seated, spelled
from .thought import Inquiry, Thought, explain

CHAMPIONS = Path(__file__).parent.parent / "champions"


@dataclass(frozen=True)
class Card:
    """What is known about a network that comes with the package."""

    file: Path
    """Its weights."""
    game: str
    players: dict[str, str]
    only_for: dict[str, object]

    def fits(self, game: Game) -> bool:
        """Whether it plays this table."""
        return self.game == game.name and not self.lacking(game)

    def lacking(self, game: Game) -> dict[str, object]:
        """The options of a table of its game that would have to be others."""
        ours = json.loads(json.dumps(game.describe()["options"]))
        return {key: value for key, value in self.only_for.items() if ours.get(key) != value}

    def seated(self, game: Game, who: str, options: dict[str, str]) -> Player:
        """The player `who` of this card, with these options instead of its own."""
        text = self.players[who]
        own = {key: value.format(file=self.file) for key, value in options_in(text).items()}
        if "sims" in options:
            own.pop("lookahead", None)  # who asks for a search gets that instead
        kind = spelled(text).partition(":")[0]
        usual = {**REGISTRY[kind].defaults, **own}
        unusual = {key: value for key, value in options.items() if usual.get(key) != value}
        return seated(kind, game, {**own, **options}, REGISTRY[who].name(who, unusual))


@functools.cache
def cards() -> tuple[Card, ...]:
    """The cards of all networks that come with the package."""
    return tuple(map(_card, sorted(CHAMPIONS.glob("*.json"))))


def _card(path: Path) -> Card:
    facts = json.loads(path.read_text(encoding="utf-8"))
    return Card(
        path.with_suffix(".safetensors"), facts["game"], facts["players"], facts.get("only_for", {})
    )


def card_of(game: Game, who: str) -> Card:
    """The card of the network that plays this table as `who`."""
    fitting = [card for card in cards() if who in card.players and card.fits(game)]
    if not fitting:
        raise PlayerError(_why_none(game, who))
    most = max(len(card.only_for) for card in fitting)
    first, *others = [card for card in fitting if len(card.only_for) == most]
    if others:
        both = f"{first.file.name} and {others[0].file.name}"
        raise PlayerError(f"{both} are both {who} of {game.name} here; one must be more special")
    return first


def _why_none(game: Game, who: str) -> str:
    """Why nobody plays this table as `who`, and where somebody would."""
    known = [card for card in cards() if who in card.players]
    if lacking := [card.lacking(game) for card in known if card.game == game.name]:
        options = min(lacking, key=len).items()
        nearest = ", ".join(f"{key}={json.dumps(value)}" for key, value in options)
        return f"{game.name} has no {who} for this table; there is one with {nearest}"
    has = ", ".join(sorted({card.game for card in known}))
    return f"{game.name} has no {who}; there are {who}s of: {has or 'none yet'}"


class Champion:
    """At each table of a match the player that comes with the package for it."""

    def __init__(self, game: Game, who: str, options: dict[str, str]) -> None:
        self.game, self.who, self.options = game, who, options
        self._players: dict[str, Player] = {}
        self.name = self.at(game).name

    def at(self, game: Game) -> Player:
        """Who plays this table."""
        if game.fingerprint not in self._players:
            card = card_of(game, self.who)
            self._players[game.fingerprint] = card.seated(game, self.who, self.options)
        return self._players[game.fingerprint]

    @property
    def identity(self) -> str:
        """That of the network at the first table, and all that may follow it."""
        from ..nets import read_header

        files = [card.file for card in cards() if card.game == self.game.name]
        hashes = sorted(read_header(file)[0]["sha256"] for file in files)
        return f"{identity_of(self.at(self.game))}, in later rounds of {' '.join(hashes)}"

    def choose(self, sight: Sight) -> ArrayLike:
        return self.at(sight.game).choose(sight)

    def explain(self, sight: Sight, inquiry: Inquiry) -> Thought:
        return explain(self.at(sight.game), sight, inquiry)


def has_rounds(game: Game) -> bool:
    """Whether another round follows the first one, whoever wins it."""
    if game.next_round is None:
        return False
    low, high = game.score_range
    results = [
        [high if seat == k else low for seat in range(game.seats)] for k in range(game.seats)
    ]
    return any(game.next_round(game.options, scores) is not None for scores in results)


def _register(who: str) -> None:
    def champion(game: Game, name: str, **options: str) -> Player:
        if has_rounds(game):
            return Champion(game, who, options)
        return card_of(game, who).seated(game, who, options)

    champion.__doc__ = f"`{who}`: a player that comes with the package."
    register(who, sits_at=lambda game: any(who in c.players and c.fits(game) for c in cards()))(
        champion
    )


for _name in sorted({name for card in cards() for name in card.players}):
    _register(_name)
