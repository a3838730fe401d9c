"""The race games in words: positions as text and as JSON, actions, and the table as a seat sees it.

A position is a list of fields, `pins: 5,-,-,- / -,-,-,- | turn: 0 | die: 3`. The same fields are
those of a JSON object. Pins are cells that all players count alike, from the start field of
sector 0; the goal lanes follow the ring, four cells per player; "-" (in JSON -1) is home.
"""

from __future__ import annotations

import json
import re

from ...game import CHANCE, ONLOOKER, NotationError
from .actions import KIND_NAMES, decode
from .board import (
    CARDS,
    DEAL,
    DIE,
    DRAW_STARTER,
    ENDED,
    EXCHANGE,
    HOME,
    MOST_CARDS,
    NO_CARD,
    NOBODY,
    PINS,
    PLAY,
    SHOW_HANDS,
    STOCK,
    THROW,
    cell_of,
    controlled,
    partner,
    place_of,
    side,
)
from .cards import receiver
from .knowledge import delivered, knows_gift, sees_hand
from .moves import has_won
from .options import KINDS, LANE, PER_MILLE
from .rules import FACES, turn

PHASES = {
    DRAW_STARTER: "starter",
    SHOW_HANDS: "show",
    THROW: "throw",
    DEAL: "deal",
    EXCHANGE: "exchange",
    PLAY: "play",
    ENDED: "ended",
}
LETTERS = "abcdef"  # players in drawings


# Fields of a position ----------------------------------------------------------------------------


def fields(s):
    """A position as plain lists and numbers: what its JSON has."""
    players = range(len(s.pins))
    found = {
        "pins": [[int(cell_of(s, i, int(place))) for place in s.pins[i]] for i in players],
        "turn": int(s.mover),
        "plies": int(s.plies),
        "phase": PHASES[int(s.phase)],
    }
    if s.mode == DIE:
        found["die"] = int(s.die)
    elif s.mode == STOCK:
        found["stock"] = s.stock.tolist()
    else:
        found |= _card_fields(s)
    return found


def _card_fields(s):
    found = {
        "starter": int(s.round_starter),
        "deal": [int(s.dealt_size), int(s.to_deal)],
        "hands": s.hands.tolist(),
        "laid": [[int(kind) for kind in row if kind != NO_CARD] for row in s.laid],
        "thrown": s.thrown.tolist(),
        "played": s.played.tolist(),
        "last": int(s.last),
    }
    if s.teams:
        found["given"] = s.given.tolist()
    if 0 < s.hidden_per_mille < PER_MILLE:
        found["shown"] = s.shown[: s.shows_drawn].tolist()
    return found


def position_json(s):
    """A position as a JSON object; `parse` reads it."""
    return json.dumps(fields(s))


def text(s):
    return " | ".join(f"{name}: {_written(name, value)}" for name, value in fields(s).items())


def _written(name, value):
    if name in ("hands", "thrown", "laid"):
        return " / ".join(_cards_text(row, counts=name != "laid") for row in value)
    if name == "played":
        return _cards_text(value, counts=True)
    if name == "last":
        return "-" if value == NO_CARD else KIND_NAMES[value]
    if name == "given":
        return ",".join("-" if kind == NO_CARD else KIND_NAMES[kind] for kind in value)
    if name in ("pins", "stock"):
        rows = [",".join("-" if x == -1 else str(x) for x in row) for row in value]
        return " / ".join(rows)
    return ",".join(map(str, value)) or "-" if isinstance(value, list) else str(value)


def _cards_text(cards, counts):
    """ "ace,7*2": kinds with how many; or in order, for cards laid."""
    if not counts:
        return ",".join(KIND_NAMES[kind] for kind in cards) or "-"
    words = [f"{KIND_NAMES[k]}*{n}" if n > 1 else KIND_NAMES[k] for k, n in enumerate(cards) if n]
    return ",".join(words) or "-"


# Reading -----------------------------------------------------------------------------------------


class Piece:
    """A part of a text that knows where it stands."""

    def __init__(self, whole, begin, end):
        part = whole[begin:end]
        self.whole, self.text = whole, part.strip().lower()
        self.begin = begin + len(part) - len(part.lstrip())

    def split(self, separator):
        """The parts between separators."""
        parts, begin = [], self.begin
        for part in self.whole[self.begin : self.begin + len(self.text)].split(separator):
            parts.append(Piece(self.whole, begin, begin + len(part)))
            begin += len(part) + len(separator)
        return parts

    def error(self, what):
        line = self.whole.count("\n", 0, self.begin) + 1
        column = self.begin - self.whole.rfind("\n", 0, self.begin)
        return NotationError(f"line {line}, column {column}: {what}")

    def number(self):
        if not re.fullmatch(r"-?\d{1,9}", self.text):
            raise self.error(f"{self.text[:20]!r} is not a whole number")
        return int(self.text)

    def kind(self):
        if self.text not in KIND_NAMES:
            raise self.error(f"{self.text[:20]!r} is not a card such as ace, 7 or joker")
        return KIND_NAMES.index(self.text)

    def kind_or_none(self):
        return NO_CARD if self.text == "-" else self.kind()

    def items(self):
        """The words between commas; none for "-"."""
        return [] if self.text == "-" else self.split(",")


def parse(s, notation):
    """Write the position that a text, or a JSON object, tells into a fresh record."""
    found = (_read_json if notation.lstrip().startswith("{") else _read_text)(notation)
    names = list(fields(s))
    for name, (piece, _) in found.items():
        if name not in names:
            raise piece.error(f"there is no field {name!r}; there are {', '.join(names)}")
    for name in ("pins", "turn"):
        if name not in found:
            raise Piece(notation, 0, len(notation)).error(f"the field {name!r} is missing")
    for name in names:
        if name in found:
            piece, value = found[name]
            _set(s, name, value, piece)
    _complete(s)


def _read_text(notation):
    found = {}
    for piece in Piece(notation, 0, len(notation)).split("|"):
        name, colon, _ = piece.text.partition(":")
        if not colon:
            raise piece.error(f"a field such as 'turn: 0' is expected, not {piece.text[:20]!r}")
        value = Piece(notation, piece.begin + len(name) + 1, piece.begin + len(piece.text))
        if name.strip() in found:
            raise piece.error(f"the field {name.strip()!r} is there twice")
        reader = READERS.get(name.strip())
        found[name.strip()] = piece, reader(value) if reader else None
    return found


def _numbers_of(piece):
    return [-1 if item.text == "-" else item.number() for item in piece.split(",")]


def _counts_of(piece):
    counts = [0] * KINDS
    for item in piece.items():
        kind, *count = item.split("*")
        if len(count) > 1:
            raise item.error(f"{item.text[:20]!r} is not like 7*2")
        counts[kind.kind()] += count[0].number() if count else 1
    return counts


def _rows_of(reader):
    return lambda piece: [reader(row) for row in piece.split("/")]


READERS = {
    "pins": _rows_of(_numbers_of),
    "turn": Piece.number,
    "plies": Piece.number,
    "phase": lambda piece: piece.text,
    "die": Piece.number,
    "stock": _rows_of(_numbers_of),
    "starter": Piece.number,
    "deal": _numbers_of,
    "hands": _rows_of(_counts_of),
    "laid": _rows_of(lambda piece: [item.kind() for item in piece.items()]),
    "thrown": _rows_of(_counts_of),
    "played": _counts_of,
    "last": Piece.kind_or_none,
    "given": lambda piece: [item.kind_or_none() for item in piece.split(",")],
    "shown": lambda piece: [item.number() for item in piece.items()],
}


def _read_json(notation):
    try:
        given = json.loads(notation.lower())
    except (json.JSONDecodeError, RecursionError) as error:
        if isinstance(error, RecursionError):
            raise NotationError("line 1, column 1: the brackets are nested too deeply") from None
        where = f"line {error.lineno}, column {error.colno}"
        raise NotationError(f"{where}: this is not JSON: {error.msg}") from None
    found = {}
    for name, value in given.items():
        at = re.search(re.escape(json.dumps(name)) + r"\s*:", notation.lower())
        found[name] = Piece(notation, at.start() if at else 0, len(notation)), value
    return found


# Writing what was read into a record -------------------------------------------------------------


def _set(s, name, value, piece):
    players = len(s.pins)
    shapes = {
        "pins": (players, PINS),
        "stock": (players, FACES),
        "hands": (players, KINDS),
        "thrown": (players, KINDS),
        "played": (KINDS,),
        "given": (players,),
        "deal": (2,),
    }
    if name in shapes:
        _check_shape(name, value, shapes[name], piece)
    if name == "pins":
        _set_pins(s, value, piece)
    elif name == "phase":
        if value not in PHASES.values():
            raise piece.error(f"phase is one of {', '.join(PHASES.values())}")
        s.phase = next(number for number, word in PHASES.items() if word == value)
    elif name == "deal":
        s.dealt_size, s.to_deal = (_small(piece, "deal", number) for number in value)
    elif name in ("laid", "shown"):
        _set_lists(s, name, value, piece)
    elif name in shapes:
        s[name] = value
    else:
        most = 2**31 - 1 if name == "plies" else 127
        field = {"turn": "mover", "starter": "round_starter"}.get(name, name)
        s[field] = _small(piece, name, value, most)


def _small(piece, name, number, most=127):
    if type(number) is not int or not -1 <= number <= most:
        raise piece.error(f"{name} is a number from -1 to {most}")
    return number


def _check_shape(name, value, shape, piece):
    """Refuse what is not a list of as many lists of small numbers as the table needs."""
    rows = value if len(shape) == 2 else [value]
    wanted = f"{shape[0]} rows of {shape[1]} numbers" if len(shape) == 2 else f"{shape[0]} numbers"
    if not isinstance(rows, list) or (len(shape) == 2 and len(rows) != shape[0]):
        raise piece.error(f"{name} has {wanted}")
    for row in rows:
        if not isinstance(row, list) or len(row) != shape[-1]:
            raise piece.error(f"{name} has {wanted}")
        for number in row:
            if name != "pins":
                _small(piece, name, number)
            elif type(number) is not int:
                raise piece.error(f"{name} has {wanted}")


def _set_pins(s, rows, piece):
    taken = {}
    for player, row in enumerate(rows):
        for pin, cell in enumerate(row):
            place = place_of(s, player, cell)
            if place is None:
                raise piece.error(f"no pin of seat {player} can be on cell {cell}")
            if place != HOME and taken.setdefault(cell, (player, pin)) != (player, pin):
                raise piece.error(f"two pins are on cell {cell}")
            s.pins[player, pin] = place


def _set_lists(s, name, value, piece):
    """Lists that may be shorter than the record's."""
    players = len(s.pins)
    rows = value if name == "laid" else [value]
    most, high = (MOST_CARDS, KINDS) if name == "laid" else (players, 2)
    right = isinstance(rows, list) and len(rows) == (players if name == "laid" else 1)
    for row in rows if right else ():
        right = right and isinstance(row, list) and len(row) <= most
        right = right and all(type(n) is int and 0 <= n < high for n in row)
    if not right:
        raise piece.error(f"{name}: at most {most} entries from 0 to {high - 1} in each list")
    if name == "shown":
        s.shown[: len(value)] = value
        s.shows_drawn = len(value)
        return
    for player, row in enumerate(rows):
        s.laid[player] = row + [NO_CARD] * (MOST_CARDS - len(row))


def _complete(s):
    """What follows from the fields: who has won, the deck, and how many cards there are."""
    s.winner = NOBODY
    for player in range(len(s.pins)):
        if has_won(s, player):
            s.winner = side(s, player)
    if s.mode != CARDS:
        return
    used = s.hands.astype(int).sum(0) + s.thrown.astype(int).sum(0) + s.played.astype(int)
    if not delivered(s):
        for kind in s.given:
            if 0 <= kind < KINDS:
                used[kind] += 1
    left = s.deck.astype(int) - used  # a fresh deck is full
    s.deck[:] = [min(max(n, -1), 127) for n in left]
    s.in_deck = min(max(int(s.deck.astype(int).sum()), -1), 127)
    s.held[:] = [min(int(n), 127) for n in s.hands.astype(int).sum(1)]


# What people read and type -----------------------------------------------------------------------


def action_text(s, action):
    """ "pin 2", "pin 1 forward 5 by joker", "seven 2,5,0,0", "throws 4", "seat 2 gets ace"."""
    if turn(s) != CHANCE:
        return str(decode(s, int(action)))
    if s.phase == DRAW_STARTER:
        return f"seat {action} begins"
    if s.phase == SHOW_HANDS:
        return f"the hand of seat {s.shows_drawn} is {('hidden', 'shown')[action]}"
    if s.phase == THROW:
        return f"throws {action + 1}"
    return f"seat {receiver(s)} gets {KIND_NAMES[action]}"


def news(s, seat, move):
    """Those who see cards hear of them; everybody hears of all else."""
    if s.mode != CARDS or s.phase not in (DEAL, EXCHANGE):
        return action_text(s, move)
    if s.phase == DEAL:
        who = int(receiver(s))
        seen = seat != ONLOOKER and sees_hand(s, seat, who)
        return action_text(s, move) if seen or s.shown[who] else f"seat {who} gets a card"
    return _exchange_news(s, seat, move)


def _exchange_news(s, seat, move):
    """The giver hears of a gift at once, its receiver when the last one has given."""
    mover, after = int(s.mover), s.copy()
    after.given[mover] = kind = decode(s, move).value
    eyes = int(seat)
    known = s.shown[mover] if eyes == ONLOOKER else sees_hand(s, eyes, mover)
    parts = [f"seat {mover} gives {KIND_NAMES[kind] if known else 'a card'}"]
    if delivered(after):
        for giver in range(len(s.pins)):
            to, gift = int(partner(s, giver)), KIND_NAMES[int(after.given[giver])]
            if eyes == ONLOOKER:
                knows = bool(s.shown[giver] or s.shown[to])
            else:
                knows = bool(knows_gift(after, eyes, giver))
            parts += [f"seat {to} gets {gift} from seat {giver}"] if knows else []
    return "; ".join(parts)


def seen(s, seat):
    """The ring by sectors, then every player's lane, home and cards."""
    lines = [*_ring_lines(s), *(_player_line(s, i, seat) for i in range(len(s.pins)))]
    if s.mode == DIE and s.phase == PLAY:
        lines.append(f"die: {s.die}")
    if s.mode == CARDS:
        lines += _card_lines(s, seat)
    if s.phase == ENDED:
        lines.append("nobody has won" if s.winner == NOBODY else f"winner: {_winners(s)}")
    else:
        lines.append(f"{PHASES[int(s.phase)]}: seat {s.mover}, ply {s.plies} of {s.max_plies}")
    return "\n".join(lines)


def _winners(s):
    return " and ".join(f"seat {i}" for i in range(len(s.pins)) if side(s, i) == s.winner)


def _ring_lines(s):
    """The ring in lines that begin with a start field."""
    ring, pins = int(s.ring), {}
    for player, row in enumerate(s.pins):
        for pin, place in enumerate(row):
            pins[int(cell_of(s, player, int(place)))] = f"{LETTERS[player]}{pin}"
    starts = sorted({0, *map(int, s.first)})
    gap = min(b - a for a, b in zip(starts, [*starts[1:], ring], strict=True))
    lines = []
    for begin in range(0, ring, gap):
        cells = " ".join(pins.get(cell, "..") for cell in range(begin, begin + gap))
        owner = [f"start of {LETTERS[i]}" for i, first in enumerate(s.first) if first == begin]
        lines.append(f"{begin:3}  {cells}  {''.join(owner)}".rstrip())
    return lines


def _player_line(s, player, seat):
    row = [int(place) for place in s.pins[player]]
    ring = int(s.ring)
    lane = " ".join(
        f"{LETTERS[player]}{row.index(ring + 1 + j)}" if ring + 1 + j in row else ".."
        for j in range(LANE)
    )
    home = " ".join(f"{LETTERS[player]}{k}" for k, place in enumerate(row) if place == HOME)
    line = f"seat {player} ({LETTERS[player]}{', you' if player == seat else ''})"
    if s.teams:
        line += f", partner of seat {partner(s, player)}"
    line += f": lane {lane}, home {home or '-'}"
    if s.mode == STOCK:
        line += f", stock {' '.join(map(str, s.stock[player]))}"
    if controlled(s, player) != player:
        line += ", moves its partner's pins"
    return line


def _card_lines(s, seat):
    lines = []
    for player in range(len(s.pins)):
        shown = bool(s.shown[player]) or player == seat
        hand = _cards_text(s.hands[player].tolist(), counts=True) if shown else "hidden"
        lines.append(f"hand of seat {player}: {s.held[player]} cards, {hand}")
        if seat != ONLOOKER and s.given[player] != NO_CARD and knows_gift(s, seat, player):
            lines.append(f"    has given {KIND_NAMES[int(s.given[player])]} to its partner")
    if seat != ONLOOKER and s.thrown[seat].any():
        lines.append(f"you have thrown away: {_cards_text(s.thrown[seat].tolist(), counts=True)}")
    lines.append(f"played: {_cards_text(s.played.tolist(), counts=True)}")
    lines.append(f"deck: {s.in_deck} cards, round of {s.dealt_size}, seat {s.round_starter} starts")
    return lines
