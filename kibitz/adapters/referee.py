"""A client for referees of Escampe: one game over TCP, in words that the referee sends.

The client sends its name, and the referee answers `Blanc` or `Noir`. `JOUEUR Blanc` or `JOUEUR
Noir` says whose turn it is; who is named sends a move, and the other side hears `MOUVEMENT` and the
move. Black places first, with all six pieces in one word, then White places and moves. `FIN!` with
a colour or `Egalité` ends the game. Words are separated by blanks, line ends and NULs.

Whatever else a referee says or does ends the game with a `RefereeError`.
"""

from __future__ import annotations

import ipaddress
import json
import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from ..arena.table import Table
from ..game import Game, GameError
from ..games import load
from ..games.escampe.files import COLOURS, GameFile, game_text
from ..games.escampe.rules import ALL_PLACED, PIECES
from ..games.escampe.text import NAMES, SIDES, cells_in, parse_placement
from ..options import shown
from ..players import Player

SEATS = {"BLANC": 0, "NOIR": 1}
BLANKS = b" \t\r\n\f\v\0"
WORD = re.compile(rb"([^\s\0]+)[\s\0]")
LONGEST_WORD = 1000  # bytes
LONGEST_NAME = 100  # characters
MOST_PLIES = 10_000  # a referee ends a game long before
CONNECTING = 10.0  # seconds
GRACE = 60.0  # seconds that a referee may be silent for, beyond the clock of a side

Address = tuple[str, int]


class RefereeError(GameError):
    """A referee that cannot be reached, or does not keep to the protocol."""


class Connection:
    """The words of a referee. patience: seconds to wait for one of them."""

    def __init__(self, addresses: Sequence[Address], patience: float) -> None:
        self.patience = patience
        self._unread = b""
        self._socket = _connected(addresses)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, line: str) -> None:
        try:
            self._socket.settimeout(CONNECTING)
            self._socket.sendall(f"{line}\n".encode())
        except OSError:
            pass  # what the referee said before it left can still be read

    def word(self) -> str:
        """The next word. Bytes that are not UTF-8 do no harm: older referees write Latin-1."""
        deadline = time.monotonic() + self.patience
        while not (found := WORD.match(self._unread)):
            if len(self._unread) > LONGEST_WORD:
                raise RefereeError(
                    f"the referee sent more than {LONGEST_WORD} bytes without an end"
                )
            received = self._received(deadline)
            if not received and not self._unread:
                raise RefereeError("the referee has closed the connection before the game was over")
            self._unread = (self._unread + (received or b"\n")).lstrip(BLANKS)
        self._unread = self._unread[found.end() :].lstrip(BLANKS)
        return found[1].decode(errors="replace")

    def _received(self, deadline: float) -> bytes:
        """More bytes; none if the referee has closed the connection."""
        left = deadline - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            return self._socket.recv(4096)
        except TimeoutError:
            waited = f"{self.patience:g} seconds"
            raise RefereeError(f"the referee has said nothing for {waited}") from None
        except OSError as error:
            raise RefereeError(f"the connection to the referee broke: {_why(error)}") from None


def addresses_of(host: str, port: int, *, anywhere: bool = False) -> list[Address]:
    """Where a host can be reached. It must be this machine, unless `anywhere`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise RefereeError(f"there is no machine called {shown(host)}") from None
    addresses = [(str(address[0]), port) for *_, address in found]
    for address, _ in addresses:
        if not anywhere and not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
            raise RefereeError(f"{shown(host)} is another machine; to play there, add --anywhere")
    return addresses


def _connected(addresses: Sequence[Address]) -> socket.socket:
    why = ""
    for address in addresses:
        try:
            return socket.create_connection(address, CONNECTING)
        except OSError as error:
            why = f"no referee answers at {address[0]}, port {address[1]}: {_why(error)}"
    raise RefereeError(why)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@dataclass(frozen=True)
class Report:
    """A game that a referee has ended."""

    colour: str
    """Ours."""
    result: str
    """`white`, `black` or `draw`, as the referee said."""
    reason: str
    placements: dict[str, object]
    moves: list[str]
    seconds: float
    """Used on our clock."""
    longest_reply: float
    """In seconds."""

    @property
    def sentence(self) -> str:
        won = f"{self.result.capitalize()} wins" if self.result in COLOURS else "Drawn"
        return f"{won}: {self.reason}. We played {self.colour} and used {self.seconds:.1f} seconds."

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class Client:
    """One game of a player at a referee's table.

    clock: seconds for all our moves together. watch: called with every move, in words.
    """

    def __init__(
        self,
        game: Game,
        who: Player,
        clock: float = 600.0,
        *,
        seed: int | None = None,
        watch: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.who, self.clock, self.watch = who, clock, watch
        self.table = Table(game, seed=seed)
        self.seat, self.used, self.longest_reply = -1, 0.0, 0.0
        self._awaits_move = False  # the other side is to move and has been asked

    def play(self, connection: Connection, name: str) -> Report:
        """Play until the referee ends the game."""
        connection.send(name)
        self.seat = _seat(connection.word())
        self.watch(f"We play {SIDES[self.seat]}.")
        while (word := connection.word()).upper() != "FIN!":
            if word.upper() == "JOUEUR":
                self._hear_turn(_seat(connection.word()), connection)
            elif word.upper() == "MOUVEMENT":
                self._hear_move(connection.word())
            else:
                raise RefereeError(f"the referee says {shown(word)}, which means nothing here")
        return self._report(connection.word())

    def _hear_turn(self, seat: int, connection: Connection) -> None:
        table = self.table
        if seat != table.turn or self._awaits_move:
            at = "the game is over" if table.over else f"it is {SIDES[table.turn]}'s turn"
            why = f"{SIDES[seat]} has been asked already" if seat == table.turn else at
            raise RefereeError(f"the referee asks {SIDES[seat]} to play, but {why}")
        if table.ply > MOST_PLIES:
            raise RefereeError(f"the referee has not ended the game after {MOST_PLIES:,} plies")
        if seat == self.seat:
            connection.send(self._reply())
        self._awaits_move = seat != self.seat

    def _reply(self) -> str:
        """Our move, or all our pieces while they are placed."""
        began, used = time.monotonic(), self.used
        count = PIECES if self.table.ply < ALL_PLACED else 1
        for _ in range(count):
            left = self.clock - self.used
            self.table.play(self.table.ask(self.who, seconds_left=left))
            self.used = used + time.monotonic() - began
        self.longest_reply = max(self.longest_reply, self.used - used)
        words = [event.text.removeprefix("unicorn ") for event in self.table.events[-count:]]
        self.watch(f"{SIDES[self.seat]}: {'/'.join(words)} ({self.clock - self.used:.1f} s left)")
        return "/".join(words)

    def _hear_move(self, move: str) -> None:
        if not self._awaits_move:
            raise RefereeError(f"the referee announces {shown(move)}, but nobody was asked to move")
        self._awaits_move = False
        try:
            words = [move]
            if self.table.ply < ALL_PLACED:
                unicorn, paladins = parse_placement(move)
                words = [NAMES[cell] for cell in (unicorn, *cells_in(paladins))]
            for word in words:
                self.table.play(word)
        except GameError as error:
            why = str(error).partition("\n")[0]
            raise RefereeError(f"the referee announces {shown(move)}: {why}") from None
        self.watch(f"{SIDES[1 - self.seat]}: {move.upper()}")

    def _report(self, winner: str) -> Report:
        draw = "galit" in winner.lower()  # with or without accents
        record = GameFile(placements={}, moves=[], result=None, reason=None)
        if self.table.ply >= ALL_PLACED:
            actions = [event.action for event in self.table.events]
            record = json.loads(game_text(self.table.game, actions))
        return Report(
            colour=COLOURS[self.seat],
            result="draw" if draw else COLOURS[_seat(winner)],
            reason=record["reason"] or "the referee has ended the game",
            placements=record["placements"],
            moves=record["moves"],
            seconds=self.used,
            longest_reply=self.longest_reply,
        )


def _seat(word: str) -> int:
    if word.upper() not in SEATS:
        raise RefereeError(f"the referee says {shown(word)} instead of Blanc or Noir")
    return SEATS[word.upper()]


def referee_game() -> Game:
    """Escampe as referees know it: players place, and no game is drawn by the board."""
    return load("escampe", preset="rules", placing="chosen")


def rehearse(game: Game, who: Player) -> None:
    """Let a player place and move on its own, so that everything is compiled before a clock runs.

    It may remember what it found in a hurry: let another one play.
    """
    table = Table(game, seed=0)
    while table.ply <= ALL_PLACED:
        table.play(table.ask(who, seconds_left=0.0))


def checked_name(name: str) -> str:
    """A name that fits on one line."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise RefereeError(f"a name is one line of 1 to {LONGEST_NAME} characters: {shown(name)}")
    return name.strip()
