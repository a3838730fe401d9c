"""How searches place their pieces: Black by the book, White by trying many replies."""

from __future__ import annotations

from ...chance import below
from .board import BLACK, CELLS, LOW_EDGE, PLACE, SIDE
from .book import BLACK_BOOK
from .placements import EDGE_PLACEMENTS, WHITE_PLACEMENTS, placement
from .rules import PIECES, edge


def book(s, rng):
    """Black's next piece, as in any placement of the book that begins like this one."""
    if s.placed >= PIECES:
        return -1
    pieces = [PLACE + cell for cell in (int(s.unicorn[BLACK]), *cells(int(s.paladins[BLACK])))]
    begun = pieces[: int(s.placed)] if s.placed else []
    known = [placement_actions(n % EDGE_PLACEMENTS, low=n < EDGE_PLACEMENTS) for n in BLACK_BOOK]
    fitting = [actions for actions in known if actions[: len(begun)] == begun]
    return fitting[below(rng, len(fitting))][len(begun)] if fitting else -1


def plans(s, rng, count):
    """Whole placements for White."""
    if s.placed != PIECES:
        return []
    numbers = {int(below(rng, WHITE_PLACEMENTS)) for _ in range(count)}
    low = int(edge(s)) == LOW_EDGE
    return [placement_actions(number, low=low) for number in sorted(numbers)]


def placement_actions(number, *, low):
    """The unicorn first, then the paladins in ascending order."""
    unicorn, paladins = placement(int(number), 0 if low else 4 * SIDE)
    return [PLACE + int(unicorn), *(PLACE + cell for cell in cells(int(paladins)))]


def cells(of_set):
    return [cell for cell in range(CELLS) if of_set >> cell & 1]
