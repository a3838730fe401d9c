"""The rules of the games with a die (MADN) and with stocks of steps (dMADN)."""

from __future__ import annotations

from ...chance import below
from ...game import CHANCE, OVER, rule
from .board import (
    DEAL,
    DIE,
    DRAW_STARTER,
    ENDED,
    HOME,
    PINS,
    PLAY,
    START,
    STOCK,
    STOCK_OF_EACH,
    THROW,
    controlled,
    set_board,
)
from .moves import NOWHERE, count_ply, foe_stands, forward, free_run, may_come_out, move_to
from .options import DRAWN

FACES = 6
ALL_OF_A_PIN = (1 << FACES) - 1  # a choice is a bit, 6 per pin: step values 1 to 6
PASS_WITH_DIE, PASS_WITH_STOCK = PINS, FACES * PINS

# Of 216 triples of throws, in how many a face comes in the end: up to three throws until a start
# number shows. Two failures leave 25 / 216 or, if 1 and 6 start, 16 / 216 for every other face.
TRIPLES = 216
OTHER_FACE, OTHER_FACE_OF_TWO = 25, 16
START_FACE, START_FACE_OF_TWO = 91, 76


# Chance ------------------------------------------------------------------------------------------


@rule
def start(s, options):
    set_board(s, options)
    s.die = 0
    for player in range(s.pins.shape[0]):
        refill(s, player)
    s.phase = DRAW_STARTER if options.starter == DRAWN else THROW if s.mode == DIE else PLAY


@rule
def refill(s, player):
    for value in range(FACES):
        s.stock[player, value] = STOCK_OF_EACH if s.mode == STOCK else 0


@rule
def turn(s):
    return CHANCE if s.phase <= DEAL else OVER if s.phase == ENDED else int(s.mover)


@rule
def locked(s, player):
    """Whether no pin can move but by coming out: those in play fill the innermost lane cells."""
    away, inner = 0, 0
    for pin in range(PINS):
        place = int(s.pins[player, pin])
        if place != HOME:
            away += 1
            inner |= 1 << place - int(s.ring) if place > s.ring else 1
    return inner == 32 - (32 >> away)


@rule
def starts(s, value):
    """Whether a step value brings pins out."""
    return value == 6 or (value == 1 and s.one_starts != 0)


@rule
def triples(s, value):
    """In how many of 216 triples of throws a locked player ends with a value."""
    if s.one_starts:
        return START_FACE_OF_TWO if starts(s, value) else OTHER_FACE_OF_TWO
    return START_FACE if starts(s, value) else OTHER_FACE


@rule
def odds(s, out):
    players = s.pins.shape[0]
    three_throws = s.phase == THROW and s.rethrow and locked(s, controlled(s, int(s.mover)))
    for outcome in range(FACES):
        if s.phase == DRAW_STARTER:
            out[outcome] = 1 / players if outcome < players else 0.0
        else:
            out[outcome] = triples(s, outcome + 1) / TRIPLES if three_throws else 1 / FACES


@rule
def roll(s, rng):
    if s.phase == DRAW_STARTER:
        outcome = below(rng, s.pins.shape[0])
    elif s.rethrow and locked(s, controlled(s, int(s.mover))):
        outcome, left = 0, below(rng, TRIPLES)
        while left >= triples(s, outcome + 1):
            left -= triples(s, outcome + 1)
            outcome += 1
    else:
        outcome = below(rng, FACES)
    settle(s, outcome)
    return outcome


@rule
def settle(s, outcome):
    """What chance decides: who begins, or a throw."""
    if s.phase == DRAW_STARTER:
        s.mover = outcome
        s.phase = THROW if s.mode == DIE else PLAY
    else:
        s.die = outcome + 1
        s.phase = PLAY


# Actions -----------------------------------------------------------------------------------------


@rule
def choices(s, player):
    """What can be done with the pins of a player, before anybody is forced: a bit per choice."""
    low, high = (int(s.die), int(s.die)) if s.mode == DIE else (1, FACES)
    found, come_out = 0, (low < high or starts(s, high)) and may_come_out(s, player)
    for pin in range(PINS):
        place = int(s.pins[player, pin])
        run = free_run(s, player, place) if HOME < place <= s.ring else 0
        for value in range(low, high + 1):
            if s.mode == STOCK and s.stock[s.mover, value - 1] == 0:
                continue
            if place == HOME:
                legal = come_out and starts(s, value)
            else:
                legal = forward(s, player, place, value, run) != NOWHERE
            found |= (1 if legal else 0) << FACES * pin + value - 1
    return found


@rule
def with_pins_at(s, player, place):
    """All choices of the pins at a place."""
    found = 0
    for pin in range(PINS):
        if s.pins[player, pin] == place:
            found |= ALL_OF_A_PIN << FACES * pin
    return found


@rule
def attacking(s, player, found):
    """Those of the choices that send a foe home."""
    attacks = 0
    for choice in range(FACES * PINS):
        if found >> choice & 1:
            to = landing(s, player, choice // FACES, choice % FACES + 1)
            attacks |= (1 if foe_stands(s, player, to) else 0) << choice
    return attacks


@rule
def landing(s, player, pin, value):
    """Where a legal step takes a pin."""
    place = int(s.pins[player, pin])
    if place == HOME:
        return START
    return forward(s, player, place, value, free_run(s, player, place))


@rule
def legal_choices(s):
    """The choices that are left when some are forced. A rule that would leave none is waived."""
    player = controlled(s, int(s.mover))
    found = choices(s, player)
    if s.forced_start:
        at_home = with_pins_at(s, player, HOME)
        if at_home and found & at_home:
            found &= at_home
        elif at_home and found & with_pins_at(s, player, START):
            found &= with_pins_at(s, player, START)
    if s.forced_attack:
        attacks = attacking(s, player, found)
        found = attacks if attacks else found
    return found


@rule
def write(s, found, out):
    """Choices as actions: a pin with a die, else a pin and a value. Passing if there are none."""
    n = 0
    if s.mode == DIE:
        for pin in range(PINS):
            if found >> FACES * pin & ALL_OF_A_PIN:
                out[n] = pin
                n += 1
    else:
        for choice in range(FACES * PINS):
            if found >> choice & 1:
                out[n] = choice
                n += 1
    if n == 0:
        out[0] = PASS_WITH_DIE if s.mode == DIE else PASS_WITH_STOCK
        n = 1
    return n


@rule
def actions(s, out):
    return write(s, legal_choices(s), out)


@rule
def candidates(s, out):
    """The actions worth a search: of several pins at home only the first comes out."""
    found, player = legal_choices(s), controlled(s, int(s.mover))
    met = False
    for pin in range(PINS):
        if s.pins[player, pin] == HOME:
            if met:
                found &= ~(ALL_OF_A_PIN << FACES * pin)
            met = True
    return write(s, found, out)


# A ply -------------------------------------------------------------------------------------------


@rule
def play(s, action):
    if s.phase <= DEAL:
        settle(s, action)
        return
    mover = int(s.mover)
    player = controlled(s, mover)
    passes = action == (PASS_WITH_DIE if s.mode == DIE else PASS_WITH_STOCK)
    pin, value = action, int(s.die)
    if s.mode == STOCK:
        pin, value = action // FACES, action % FACES + 1
    if passes:
        if s.mode == STOCK:
            refill(s, mover)
    else:
        move_to(s, player, pin, landing(s, player, pin, value))
        if s.mode == STOCK:
            spend(s, mover, value)
    s.die = 0
    if count_ply(s, player):
        return
    if passes or value != 6 or not s.again_on_six:
        s.mover = mover + 1 if mover + 1 < s.pins.shape[0] else 0
    if s.mode == DIE:
        s.phase = THROW


@rule
def spend(s, player, value):
    """Take a step from a stock; an empty one is filled again at once."""
    s.stock[player, value - 1] -= 1
    for k in range(FACES):
        if s.stock[player, k] > 0:
            return
    refill(s, player)
