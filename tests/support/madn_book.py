"""Tables of the race games for tests, and a second, slow reading of the hot seven."""

import itertools

from kibitz import games
from kibitz.games.madn.board import PLAY, cell_of, place_of

GAME = games.load("madn")


def table(preset, pins, die=0, hand=(), stock=None, mover=0, **options):
    """A game and a position in play. pins: by player, cells; who is not named is at home."""
    game = games.load("madn", preset=preset, **options)
    s = game.fresh()
    s.mover, s.phase = mover, PLAY
    for player in range(game.seats):
        for pin in range(4):
            cells = pins.get(player, ())
            s.pins[player, pin] = place_of(s, player, cells[pin] if pin < len(cells) else -1)
    if game.options.enable_dice:
        s.die = die
    elif not game.options.enable_cards:
        s.stock[mover] = stock
    else:
        s.dealt_size, s.to_deal = 6, 0
        for kind in hand:
            s.hands[mover, kind] += 1
            s.deck[kind] -= 1
        s.held[mover], s.in_deck = len(hand), s.in_deck - len(hand)
    return game, s


def cells(s):
    """The pins of all players, as cells that all count alike."""
    return [
        [int(cell_of(s, player, int(place))) for place in row] for player, row in enumerate(s.pins)
    ]


# The hot seven by the book: all distributions, all orders, cells and sets -------------------------


class Book:
    """The pins of a position as lists of cells, and the rules of one part."""

    def __init__(self, s, player):
        self.s, self.player, self.ring = s, player, int(s.ring)
        self.players = len(s.pins)
        self.partner = (player + self.players // 2) % self.players if s.teams else player
        self.pins = cells(s)

    def friend(self, player):
        return player in (self.player, self.partner)

    def part(self, pin, steps):
        """Carry out one part; False if that is not possible."""
        s, ring, at = self.s, self.ring, self.pins[self.player][pin]
        lane = ring + 4 * self.player
        if at == -1:
            return False
        if at >= ring:
            if at + steps > lane + 3 or not self.lane_open(at + 1, at + steps):
                return False
            self.pins[self.player][pin] = at + steps
            return True
        q = (at - int(s.first[self.player])) % ring
        last = ring - 1 + int(s.gate) - ring
        entry, path = q + steps - last, None
        if 1 <= entry <= 4:
            way = self.path(q, last - q)
            if not self.walls(at) & set(way) and self.lane_open(lane, lane + entry - 1):
                path, to = way, lane + entry - 1
        if path is None:
            path = self.path(q, steps)
            if self.walls(at) & set(path) or (q + steps > ring - 1 and not s.circular):
                return False
            to = path[-1]
            if not s.friendly_fire and to in self.pins[self.player] + self.pins[self.partner]:
                return False
        self.pins[self.player][pin] = to
        for player in range(self.players):
            for k in range(4):
                mine = (player, k) == (self.player, pin)
                harmed = s.friendly_fire or not self.friend(player)
                if harmed and not mine and self.pins[player][k] in path:
                    self.pins[player][k] = -1
        return True

    def path(self, q, steps):
        first = int(self.s.first[self.player])
        return [(first + q + i) % self.ring for i in range(1, steps + 1)]

    def walls(self, own):
        if not self.s.start_block:
            return set()
        starts = {int(f) for i, f in enumerate(self.s.first) if int(f) in self.pins[i]}
        return starts - {own}

    def lane_open(self, begin, to):
        taken = self.pins[self.player]
        return to not in taken and (self.s.jumping or not any(begin <= c < to for c in taken))


def sevens_by_the_book(s, player):
    """The legal distributions by number, each with the pins after it."""
    found, whole = {}, [p for p in itertools.product(range(8), repeat=4) if sum(p) == 7]
    for number, parts in enumerate(whole):
        best = None
        for order in itertools.permutations([k for k in range(4) if parts[k]]):
            book = Book(s, player)
            if all(book.part(k, parts[k]) for k in order):
                before = cells(s)
                lost = sum(
                    before[i][k] != -1 and book.pins[i][k] == -1
                    for i in range(book.players)
                    if book.friend(i)
                    for k in range(4)
                )
                inside = sum(cell >= book.ring for cell in book.pins[player])
                rank = (lost, -inside, order)
                if best is None or rank < best[0]:
                    best = rank, book.pins
        if best:
            found[number] = best[1]
    return found
