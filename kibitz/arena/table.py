"""One table: it owns the truth, checks every action, throws the dice, and keeps the record."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..batch import IllegalAction
from ..chance import fresh_seed, stream
from ..game import CHANCE, ONLOOKER, OVER, Game, GameError, NotationError, State
from ..games import load, names
from ..options import shortened, shown
from ..players import Player, Sight, answers

HEADER = "kibitz record 1"
FACTS = ("game", "options", "fingerprint", "seed")  # of a record, above its moves
INDEX = "index"  # of the table among those of its seed: a fact, too, unless it is 0
LONGEST_ACTION = 1000  # characters
LONGEST_RECORD = 1 << 24  # bytes: a thousand times a long game


@dataclass(frozen=True)
class Event:
    """Something that happened: who did it (a seat or CHANCE), what, and in which words."""

    seat: int
    action: int
    text: str
    news: tuple[str, ...]
    """What each seat heard of it; empty for nothing."""
    public: str
    """What onlookers heard of it."""

    def heard_by(self, seat: int) -> str:
        """What a seat, or an onlooker, heard of it; empty for nothing."""
        return self.public if seat == ONLOOKER else self.news[seat]


class Table:
    """A game being played.

    seed: drawn from the system unless given.

    >>> from kibitz.games import load
    >>> table = Table(load("liars_dice"), seed=1)
    >>> table.play("3x6")
    >>> table.turn
    1
    """

    def __init__(self, game: Game, *, seed: int | None = None, index: int = 0) -> None:
        seed = fresh_seed() if seed is None else seed
        self.game, self.seed, self.index = game, seed, index
        self.events: list[Event] = []
        self._truth = game.fresh()
        self._rng = stream(seed, "table", index)
        self._player_rngs = np.array([stream(seed, "player", index)])
        self._settle()

    @property
    def turn(self) -> int:
        """The seat to move, or OVER; CHANCE where a record ends within a deal."""
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
        return [] if self.turn < 0 else self.game.legal(self._truth)

    @property
    def choices(self) -> list[str]:
        """The legal actions in words."""
        return [self.game.action_text(self._truth, a) for a in self.actions]

    def seen(self, seat: int) -> str:
        """The table in words, as one seat, or an onlooker, sees it."""
        return self.game.sight_text(self._truth, seat)

    def about(self) -> str:
        """What the cards on the table do, in words, where the rules leave that to them."""
        return str(self.game.about(self._truth))

    def text(self) -> str:
        """The whole truth in one line, for records and error messages."""
        return str(self.game.text(self._truth))

    def sight(self, *, seconds_left: float | None = None) -> Sight:
        """What the seat to move may know, and what is left on its clock if one runs."""
        if self.turn < 0:
            why = "the game is over" if self.over else "the record ends within a deal"
            raise GameError(f"{self.game.name}: {why}, nobody is to move")
        asked = [self._truth], [self.turn], self._player_rngs
        return Sight(self.game, *asked, seconds_left=seconds_left, alone=True)

    def ask(self, player: Player, *, seconds_left: float | None = None) -> int:
        """What a player would do for the seat to move."""
        sight = self.sight(seconds_left=seconds_left)
        action = int(answers(player, sight)[0])
        self._player_rngs = sight.rngs
        return action

    def play(self, action: int | str) -> None:
        """Play an action of the seat to move, by number or in words; then chance is settled."""
        number = self._read(action)
        self._happen(self.turn, number)
        self._settle()

    def _read(self, action: int | str) -> int:
        if self.turn < 0:
            raise self._illegal(action, "")
        try:
            number = (
                read_typed(self.game, self._truth, action) if isinstance(action, str) else action
            )
        except GameError as error:
            raise self._illegal(action, f" {error}") from None
        if not isinstance(number, (int, np.integer)) or number not in self.actions:
            raise self._illegal(action, "")
        return int(number)

    def _illegal(self, action: int | str, why: str) -> IllegalAction:
        given = shown(action)
        if self.over:
            return IllegalAction(f"{self.game.name}: the game is over, {given} comes too late.")
        if self.turn == CHANCE:
            return IllegalAction(f"{self.game.name}: {given} is not possible within a deal.")
        where = f"{self.game.name}, seat {self.turn}, ply {self.ply}"
        return IllegalAction(
            f"{where}: {given} is not legal.{why}\nThere are: {', '.join(self.choices)}."
        )

    def _happen(self, seat: int, move: int) -> None:
        """Write down a move, and what everybody hears of it; then play it."""
        s = self._truth
        seats = (*range(self.game.seats), ONLOOKER)
        *news, public = (self.game.news_text(s, hearer, move) for hearer in seats)
        text = str(self.game.action_text(s, move))
        self.events.append(Event(seat, move, text, tuple(news), public))
        self.game.play(s, move)

    def _settle(self) -> None:
        while self.game.turn(self._truth) == CHANCE:
            self._happen(CHANCE, self._draw())

    def _draw(self) -> int:
        """What chance draws next; nothing happens yet, but the stream has moved on."""
        return int(self.game.roll(self.game.copy(self._truth), self._rng))

    # records

    def record(self) -> str:
        """The game so far as text: what it was, then every event."""
        head = [
            f"# {HEADER}",
            f"game: {self.game.name}",
            f"options: {json.dumps(asdict(self.game.options))}",
            f"fingerprint: {self.game.fingerprint}",
            f"seed: {self.seed}",
            *([f"{INDEX}: {self.index}"] if self.index else []),
        ]
        moves = [f"{'chance' if e.seat == CHANCE else e.seat}: {e.text}" for e in self.events]
        return "\n".join([*head, *moves]) + "\n"

    def save(self, path: Path | str) -> None:
        """Write the record to a file; a .json file has the game's own format, if there is one."""
        content = self.record()
        if Path(path).suffix.lower() == ".json" and self.game.game_text is not None:
            content = str(self.game.game_text(self.game, [event.action for event in self.events]))
        Path(path).write_text(content, encoding="utf-8")


def read_typed(game: Game, s: State, text: str) -> int:
    """The action that a text names. Whatever a game's notation stumbles over is a `GameError`."""
    if len(text) > LONGEST_ACTION:
        raise NotationError(f"{shown(text)} is too long for an action")
    try:
        return game.read_action(s, text)
    except GameError:
        raise
    except (ValueError, ArithmeticError, LookupError):
        raise NotationError(f"{shown(text)} is not an action here") from None


def table(game: Game, *, seed: int | None = None) -> Table:
    """Sit down to a game: the dice are thrown and the first seat is to move.

    seed: drawn from the system unless given.
    """
    return Table(game, seed=seed)


# Records -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """A move in a record: the number of its line, who moved (a seat or CHANCE), and what."""

    line: int
    seat: int
    text: str


def read_record(path: Path | str) -> str:
    """The text of a record in a file."""
    with Path(path).open("rb") as file:
        content = file.read(LONGEST_RECORD + 1)
    if len(content) > LONGEST_RECORD:
        raise NotationError(f"{path} is no record: it has more than {LONGEST_RECORD:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise NotationError(f"{path} is no record: it is not UTF-8 text") from None


def recorded_options(text: str) -> dict[str, object]:
    """The options that a record was played with."""
    header, _ = _parsed(text)
    try:
        options = json.loads(header["options"])
    except (ValueError, RecursionError):
        options = None
    if not isinstance(options, dict):
        given = shown(header["options"])
        raise NotationError(f"the record's options are not a JSON object: {given}")
    return {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}


def open_record(path: Path | str, name: str | None = None, ply: int | None = None) -> Table:
    """The table of a record in a file, before decision `ply` or at the end.

    name: a game, or the file of one; by default the game that the record names.
    """
    text = read_record(path)
    if text.lstrip().startswith("{"):
        return _open_game_file(text, path, name, ply)
    game = load(name) if name else _game_named(_parsed(text)[0]["game"], path)
    return replay(game.under(type(game.options).read(recorded_options(text))), text, ply)


def _open_game_file(text: str, path: Path | str, name: str | None, ply: int | None) -> Table:
    """The table of a game in the game's own format, which is JSON. Chance has no part in it."""
    game = load(name) if name else _game_named(_name_in_json(text, path), path)
    if game.parse_game is None:
        raise NotationError(f"{path} is no record: {game.name} has no JSON format of its own")
    table, moves = Table(game, seed=0), game.parse_game(game, text)
    _check_ply(ply, len(moves))
    for move in moves[:ply]:
        table.play(move)
    return table


def _name_in_json(text: str, path: Path | str) -> object:
    """The game that a JSON object names."""
    try:
        return json.loads(text)["game"]
    except (ValueError, RecursionError):
        raise NotationError(
            f"{path} is no record: it is not the JSON that it begins like"
        ) from None
    except KeyError:
        raise NotationError(
            f"{path} does not say which game was played; say it: kibitz replay GAME {path}"
        ) from None


def _game_named(name: object, path: Path | str) -> Game:
    """The game of the package that a record names."""
    if name not in names():
        raise NotationError(
            f"{path} is a record of {shown(name)}, which is not a game of the package; say "
            f"where its file is: kibitz replay ./my_game.py {path}"
        )
    return load(str(name))


def replay(game: Game, text: str, ply: int | None = None) -> Table:
    """The table of a record, as it stood before decision `ply` or at the end.

    It draws again whatever it drew then, so that a game that goes on is dealt the same cards. A
    record may end within a deal; then it is the turn of CHANCE.
    """
    header, moves = _parsed(text)
    _check_game(game, header)
    decisions = sum(move.seat != CHANCE for move in moves)
    _check_ply(ply, decisions)
    table = Table.__new__(Table)
    table.game, table.seed, table.index = game, int(header["seed"]), int(header.get(INDEX, 0))
    table.events, table._truth = [], game.fresh()
    table._rng = stream(table.seed, "table", table.index)
    table._player_rngs = np.array([stream(table.seed, "player", table.index)])
    for move in moves:
        if move.seat != CHANCE and table.ply == ply:
            break
        _redo(table, move)
    return table


def _check_ply(ply: int | None, decisions: int) -> None:
    if ply is not None and not 0 <= ply <= decisions:
        raise NotationError(f"there is no ply {ply}; this record has the plies 0 to {decisions}")


def _check_game(game: Game, header: dict[str, str]) -> None:
    if header["game"] != game.name:
        played = shown(header["game"])
        raise NotationError(f"this is a record of {played}, not of {game.name!r}")
    if header["fingerprint"] != game.fingerprint:
        raise NotationError(
            f"{game.name} has changed since this record was written "
            f"(fingerprint {shortened(header['fingerprint'])}, now {game.fingerprint})"
        )


def _redo(table: Table, move: Move) -> None:
    s, line = table._truth, f"line {move.line}"
    if move.seat >= table.game.seats:
        raise NotationError(f"{line}: {table.game.name} has no seat {move.seat}")
    if table.game.turn(s) != move.seat:
        who = "chance" if move.seat == CHANCE else move.seat
        raise NotationError(f"{line}: it is not {who}'s move at {table.text()!r}")
    try:
        action = read_typed(table.game, s, move.text)
    except GameError as error:
        raise NotationError(f"{line}: {error}") from None
    if action not in table.game.moves(s):
        raise NotationError(f"{line}: {shown(move.text)} is not possible at {table.text()!r}")
    if move.seat == CHANCE:
        table._draw()  # who has edited the record decides what it was
    table._happen(move.seat, action)


def _parsed(text: str) -> tuple[dict[str, str], list[Move]]:
    """The facts at the head of a record, each of which stands once, and the moves below them."""
    first, *lines = text.splitlines() or [""]
    if HEADER not in first:
        raise NotationError(f"this is no record: it does not begin with '# {HEADER}'")
    header: dict[str, str] = {}
    moves: list[Move] = []
    for number, line in enumerate(lines, 2):
        key, _, value = (part.strip() for part in line.partition(":"))
        if not line.strip() or line.startswith("#"):
            continue
        if key in (*FACTS, INDEX):
            if key in header or moves:
                raise NotationError(f"line {number}: '{key}:' stands once, above all moves")
            header[key] = value
        else:
            moves.append(Move(number, _mover(number, key), value))
    if missing := [key for key in FACTS if key not in header]:
        raise NotationError(f"this record has no line '{missing[0]}:'")
    for key, digits in (("seed", 99), (INDEX, 18)):
        if not re.fullmatch(f"[0-9]{{1,{digits}}}", header.get(key, "0")):
            given = shown(header[key])
            raise NotationError(f"the record's {key} is a whole number, 0 or more, not {given}")
    return header, moves


def _mover(line: int, text: str) -> int:
    if text == "chance":
        return CHANCE
    if not re.fullmatch("[0-9]{1,4}", text):
        given = shown(text)
        raise NotationError(f"line {line}: a move begins with a seat or 'chance', not {given}")
    return int(text)
