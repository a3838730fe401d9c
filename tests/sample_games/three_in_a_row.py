"""Three in a row on nine cells: an open game that says a little more to searches than it must."""

import numpy as np

from kibitz.chance import mix
from kibitz.game import OVER, Game, Shape, layout, record, rule
from kibitz.open_rules import Judge, OpenRules

CELLS = 9
ROWS = (0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100)
FULL = (1 << CELLS) - 1

STATE = record("three_in_a_row", ("marks", np.int16, 2), ("mover", np.int8))
VIEW = layout(("marks", (2, CELLS)))


@rule
def start(s, options):
    s.marks[0] = s.marks[1] = 0
    s.mover = 0


@rule
def has_row(marks):
    for row in ROWS:
        if marks & row == row:
            return True
    return False


@rule
def turn(s):
    full = s.marks[0] | s.marks[1] == FULL
    return OVER if full or has_row(int(s.marks[1 - s.mover])) else int(s.mover)


@rule
def odds(s, out):
    out[0] = 1.0


@rule
def actions(s, out):
    n = 0
    for cell in range(CELLS):
        if not (s.marks[0] | s.marks[1]) >> cell & 1:
            out[n] = cell
            n += 1
    return n


@rule
def play(s, action):
    s.marks[s.mover] |= 1 << action
    s.mover = 1 - s.mover


@rule
def score(s, out):
    out[0] = out[1] = 0
    if has_row(int(s.marks[1 - s.mover])):
        out[1 - s.mover] = 1
        out[s.mover] = -1


@rule
def observe(s, seat, view):
    for cell in range(CELLS):
        view.marks[0, cell] = s.marks[seat] >> cell & 1
        view.marks[1, cell] = s.marks[1 - seat] >> cell & 1


@rule
def key(s):
    return mix(1, int(s.marks[0]) << 10 | int(s.marks[1]) << 1 | int(s.mover))


@rule
def known(s, seat):
    return key(s) | np.uint64(1)


@rule
def decisive(s):
    for cell in range(CELLS):
        bit = 1 << cell
        free = (s.marks[0] | s.marks[1]) & bit == 0
        if free and has_row(int(s.marks[s.mover]) | bit):
            return cell
    return -1


@rule
def open_rows(s, plan, note):
    """Rows without a mark of the other side, mine minus theirs."""
    difference = 0
    for row in ROWS:
        if s.marks[1 - s.mover] & row == 0:
            difference += 1
        if s.marks[s.mover] & row == 0:
            difference -= 1
    return 100 * difference


GAME = Game(
    name="three_in_a_row",
    version=1,
    shape=Shape(seats=2, num_actions=CELLS, num_outcomes=1, state=STATE, view=VIEW),
    start=start,
    turn=turn,
    odds=odds,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    known=known,
    open_rules=OpenRules(key=key, decisive=decisive, judges={"open_rows": Judge(open_rows)}),
)
