"""A referee of Escampe, written from the text of its protocol; the rules are those of the book."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from escampe_book import MINE, moves_of, name, rings

COLOURS = ("Blanc", "Noir")
LINE = None  # in a script: wait for a line
WHITE, BLACK = 0, 1
MOST_PLIES = 200
EMPTY = {(r, c): "-" for r in range(6) for c in range(6)}
CELLS = {name(cell): cell for cell in EMPTY}


class Board:
    """Where the pieces are, and whether a move is allowed."""

    def __init__(self) -> None:
        self.cells, self.band, self.black_is_high = dict(EMPTY), 0, False

    def place(self, side: int, text: str) -> bool:
        cells = [CELLS.get(word) for word in text.upper().split("/")]
        rows = {cell[0] for cell in cells if cell}
        if len(set(cells)) != 6 or None in cells or not (rows <= {0, 1} or rows <= {4, 5}):
            return False
        high = rows <= {4, 5}
        if side == WHITE and high == self.black_is_high:
            return False
        self.black_is_high = high if side == BLACK else self.black_is_high
        paladin, unicorn = MINE[side]
        self.cells |= dict.fromkeys(cells[1:], paladin) | {cells[0]: unicorn}
        return True

    def legal(self, side: int) -> list[str]:
        moves = moves_of(self.cells, side, self.band)
        return sorted(f"{name(start)}-{name(end)}" for start, end in moves) or ["E"]

    def move(self, side: int, text: str) -> bool:
        """Whether a move was allowed; then it is made."""
        if text not in self.legal(side):
            return False
        self.band = 0
        if text != "E":
            start, end = (CELLS[cell] for cell in text.split("-"))
            self.cells[end], self.cells[start] = self.cells[start], "-"
            self.band = rings(end)
        return True

    def lost(self, side: int) -> bool:
        return MINE[side][1] not in self.cells.values()


class RandomSide:
    """A side that the referee plays itself: any placement, then any move."""

    def __init__(self, seed: int) -> None:
        self.rng, self.used = random.Random(seed), 0.0

    def ask(self, board: Board, side: int, placing: bool) -> str:
        if not placing:
            return self.rng.choice(board.legal(side))
        high = not board.black_is_high if side == WHITE else self.rng.random() < 0.5
        rows = (4, 5) if high else (0, 1)
        cells = self.rng.sample([name(cell) for cell in EMPTY if cell[0] in rows], 6)
        return "/".join(cells).lower()


class Guest:
    """A side that is connected: its name is its first line, then every line is a move."""

    def __init__(self, connection: socket.socket, ending: bytes) -> None:
        self.connection, self.ending, self.used = connection, ending, 0.0
        self.lines = connection.makefile("rb")
        self.name = self.lines.readline().decode().strip()

    def tell(self, line: str) -> None:
        with suppress(OSError):  # it may have left
            self.connection.sendall(line.encode() + self.ending)

    def ask(self, board: Board, side: int, placing: bool) -> str:
        began, move = time.monotonic(), ""
        with suppress(OSError):
            move = self.lines.readline().decode().strip()
        self.used += time.monotonic() - began
        return move


class Referee(threading.Thread):
    """One game on a port of this machine.

    guests: by colour, whether that side connects; the referee plays the other at random.
    """

    def __init__(
        self,
        guests: tuple[bool, bool] = (True, False),
        *,
        clock: float = 600.0,
        ending: bytes = b"\n",
        seed: int = 0,
    ) -> None:
        super().__init__(daemon=True)
        self.clock, self.ending, self.seed, self.guests = clock, ending, seed, guests
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.sides: list[Guest | RandomSide] = []
        self.moves: list[str] = []
        self.verdict = self.why = ""

    def run(self) -> None:
        with self.server:
            for side, connects in enumerate(self.guests):
                if connects:  # the first connection is White
                    guest = Guest(self.server.accept()[0], self.ending)
                    guest.tell(COLOURS[side])
                    self.sides.append(guest)
                else:
                    self.sides.append(RandomSide(self.seed))
            self.verdict = self.play()
            self.tell(f"FIN! {self.verdict}")
            for side in self.sides:
                if isinstance(side, Guest):
                    side.lines.close()
                    side.connection.close()

    def tell(self, line: str, but: int = -1) -> None:
        for side, listener in enumerate(self.sides):
            if isinstance(listener, Guest) and side != but:
                listener.tell(line)

    def play(self) -> str:
        """The game: the colour that wins, or a draw."""
        board = Board()
        for turn in range(MOST_PLIES):
            side = BLACK if turn == 0 else WHITE if turn == 1 else turn % 2
            self.tell(f"JOUEUR {COLOURS[side]}")
            move = self.sides[side].ask(board, side, turn < 2)
            allowed = board.place(side, move) if turn < 2 else board.move(side, move)
            if not allowed or self.sides[side].used > self.clock:
                self.why = f"illegal {move!r}" if not allowed else "time"
                return COLOURS[1 - side]
            self.moves.append(move)
            self.tell(f"MOUVEMENT {move}", but=side)
            if turn > 1 and board.lost(1 - side):
                self.why = "unicorn"
                return COLOURS[side]
        self.why = "length"
        return "Egalité"


class Script(threading.Thread):
    """A referee that says what a test wants: bytes to send, `LINE` to wait for a line, or seconds.

    At the end it says that no more will come, and closes the connection once its client has left;
    with `stays` it keeps it and is silent. (Closed at once, with words unread, a connection may
    break before the client has read what was said.)
    """

    def __init__(self, steps: Iterable[bytes | float | None], *, stays: bool = False) -> None:
        super().__init__(daemon=True)
        self.steps, self.stays, self.heard = list(steps), stays, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.done = threading.Event()

    def run(self) -> None:
        with self.server, self.server.accept()[0] as connection, connection.makefile("rb") as lines:
            with suppress(OSError):  # who has had enough leaves
                self.follow(connection, lines)
                if not self.stays:
                    connection.shutdown(socket.SHUT_WR)
                    lines.read()
            if self.stays:
                self.done.wait(60)

    def follow(self, connection: socket.socket, lines: BinaryIO) -> None:
        for step in self.steps:
            if step is LINE:
                self.heard.append(lines.readline().decode().strip())
            elif isinstance(step, bytes):
                connection.sendall(step)
            else:
                time.sleep(step)
