"""Placeholder: the pieces alone."""

from ...game import layout, rule
from .board import CELLS

VIEW = layout(("pieces", (4, CELLS)))


@rule
def observe(s, seat, view):
    for kind in range(4):
        for cell in range(CELLS):
            view.pieces[kind, cell] = 0
    for side in range(2):
        for cell in range(CELLS):
            view.pieces[side ^ seat, cell] = s.paladins[side] >> cell & 1
        if s.unicorn[side] >= 0:
            view.pieces[2 + (side ^ seat), s.unicorn[side]] = 1
