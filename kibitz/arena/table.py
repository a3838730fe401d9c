"""One table: it owns the truth, checks every action, throws the dice, and keeps the record."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import IllegalAction
from ..chance import stream
from ..game import CHANCE, OVER, Game, GameError, NotationError
from ..players import Player, Sight, answers

HEADER = "kibitz record 1"


@dataclass(frozen=True)
class Event:
    """Something that happened: who (a seat or CHANCE), what, and how it is told."""

    seat: int
    action: int
    text: str
    news: tuple[str, ...]
    """What each seat heard of it; empty for nothing."""


class Table:
    """A game being played.

    >>> from kibitz.games import load
    >>> table = Table(load("liars_dice"), seed=1)
    >>> table.play("3x6")
    >>> table.turn
    1
    """

    def __init__(self, game: Game, *, seed: int = 0, index: int = 0) -> None:
        self.game, self.seed, self.index = game, seed, index
        self.events: list[Event] = []
        self._truth = game.fresh()
        self._rng = stream(seed, "table", index)
        self._player_rngs = np.array([stream(seed, "player", index)])
        self._settle()

    @property
    def turn(self) -> int:
        """The seat to move, or OVER."""
        return int(self.game.turn(self._truth))

    @property
    def over(self) -> bool:
        return self.turn == OVER

    @property
    def ply(self) -> int:
        """How many decisions have been made."""
        return sum(event.seat != CHANCE for event in self.events)

    @property
    def scores(self) -> list[float]:
        """What each seat got; the game must be over."""
        return self.game.scores(self._truth)

    @property
    def actions(self) -> list[int]:
        """The legal actions of the seat to move."""
        return [] if self.over else self.game.legal(self._truth)

    @property
    def choices(self) -> list[str]:
        """The legal actions in words."""
        return [self.game.action_text(self._truth, a) for a in self.actions]

    def seen(self, seat: int) -> str:
        """The table in words, as one seat sees it."""
        return str(self.game.seen(self._truth, self.game.seat(seat)))

    def about(self) -> str:
        """What the cards on the table do, in words, where the rules leave that to them."""
        return str(self.game.about(self._truth))

    def text(self) -> str:
        """The whole truth in one line, for records and error messages."""
        return str(self.game.text(self._truth))

    def sight(self) -> Sight:
        """What the seat to move may know."""
        if self.over:
            raise GameError(f"{self.game.name}: the game is over, nobody is to move")
        return Sight(self.game, [self._truth], [self.turn], self._player_rngs)

    def ask(self, player: Player) -> int:
        """What a player would do for the seat to move."""
        sight = self.sight()
        action = int(answers(player, sight)[0])
        self._player_rngs = sight.rngs
        return action

    def play(self, action: int | str) -> None:
        """Play an action of the seat to move, by number or in words; then chance is settled."""
        number = self._read(action)
        self._happen(self.turn, number)
        self._settle()

    def _read(self, action: int | str) -> int:
        try:
            number = (
                self.game.read_action(self._truth, action) if isinstance(action, str) else action
            )
        except GameError as error:
            raise self._illegal(action, f" {error}") from None
        if number not in self.actions:
            raise self._illegal(action, "")
        return int(number)

    def _illegal(self, action: int | str, why: str) -> IllegalAction:
        if self.over:
            return IllegalAction(f"{self.game.name}: the game is over, {action!r} comes too late.")
        where = f"{self.game.name}, seat {self.turn}, ply {self.ply}"
        return IllegalAction(
            f"{where}: {action!r} is not legal.{why}\nThere are: {', '.join(self.choices)}."
        )

    def _happen(self, seat: int, action: int) -> None:
        self._note(seat, action, self._truth)
        self.game.play(self._truth, action)

    def _note(self, seat: int, move: int, s: Any) -> None:
        """Write down what happens at `s`, and what everybody hears of it."""
        news = tuple(str(self.game.news(s, each, move)) for each in range(self.game.seats))
        self.events.append(Event(seat, move, str(self.game.action_text(s, move)), news))

    def _settle(self) -> None:
        while self.game.turn(self._truth) == CHANCE:
            before = self.game.copy(self._truth)
            outcome = int(self.game.roll(self._truth, self._rng))
            self._note(CHANCE, outcome, before)

    # records

    def record(self) -> str:
        """The game so far as text: what it was, then every event."""
        head = [
            f"# {HEADER}",
            f"game: {self.game.name}",
            f"options: {json.dumps(asdict(self.game.options))}",
            f"fingerprint: {self.game.fingerprint}",
            f"seed: {self.seed}",
        ]
        moves = [f"{'chance' if e.seat == CHANCE else e.seat}: {e.text}" for e in self.events]
        return "\n".join([*head, *moves]) + "\n"

    def save(self, path: Path | str) -> None:
        """Write the record to a file."""
        Path(path).write_text(self.record(), encoding="utf-8")


def table(game: Game, *, seed: int = 0) -> Table:
    """Sit down to a game: the dice are thrown and the first seat is to move."""
    return Table(game, seed=seed)


def recorded_options(text: str) -> dict[str, Any]:
    """The options that a record was played with."""
    told = _header(text).get("options", "{}")
    try:
        options = json.loads(told)
    except json.JSONDecodeError:
        raise NotationError(f"the record's options are not readable: {told!r}") from None
    return {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}


def replay(game: Game, text: str, ply: int | None = None) -> Table:
    """The table of a record, as it stood before decision `ply` or at the end."""
    told = _header(text)
    if told.get("game") != game.name:
        raise NotationError(f"this is a record of {told.get('game')!r}, not of {game.name!r}")
    if told.get("fingerprint") != game.fingerprint:
        raise NotationError(
            f"{game.name} has changed since this record was written "
            f"(fingerprint {told.get('fingerprint')}, now {game.fingerprint})"
        )
    table = Table.__new__(Table)
    table.game, table.seed, table.index = game, int(told.get("seed", 0)), 0
    table.events, table._truth = [], game.fresh()
    table._rng = stream(table.seed, "table")
    table._player_rngs = np.array([stream(table.seed, "player")])
    for number, line in enumerate(text.splitlines(), 1):
        who, _, what = line.partition(":")
        if who.strip() == "chance" or who.strip().isdigit():
            if ply is not None and who.strip() != "chance" and table.ply == ply:
                break
            _redo(table, number, who.strip(), what.strip())
    return table


def _redo(table: Table, number: int, who: str, what: str) -> None:
    seat = CHANCE if who == "chance" else int(who)
    s = table._truth
    if table.game.turn(s) != seat:
        raise NotationError(f"line {number}: it is not {who}'s move at {table.text()!r}")
    try:
        action = table.game.read_action(s, what)
    except GameError as error:
        raise NotationError(f"line {number}: {error}") from None
    if action not in table.game.moves(s):
        raise NotationError(f"line {number}: {what!r} is not possible at {table.text()!r}")
    table._happen(seat, action)


def _header(text: str) -> dict[str, str]:
    if HEADER not in text.partition("\n")[0]:
        raise NotationError(f"this is no record: it does not begin with '# {HEADER}'")
    pairs = [line.partition(":") for line in text.splitlines() if ":" in line]
    return {key.strip(): value.strip() for key, _, value in pairs}
