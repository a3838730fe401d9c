"""The twelve animals, and lines and sets of them as numbers.

A species is numbered by its strength. A card is 16 * owner + species. A line of cards (the queue, a
hand, the animals that leave in a turn) is one number with a byte per card: the first card lowest, 0
behind the last. A pile has no order, so it is a set of species: bit k for the species k.
"""

from __future__ import annotations

from ...chance import below
from ...game import rule

SKUNK, PARROT, KANGAROO, MONKEY, CHAMELEON, SEAL = range(1, 7)
ZEBRA, GIRAFFE, SNAKE, CROCODILE, HIPPO, LION = range(7, 13)
NAMES = "- skunk parrot kangaroo monkey chameleon seal zebra giraffe snake crocodile hippo lion"
SPECIES = NAMES.split()
POINTS = (0, 4, 4, 4, 3, 3, 2, 4, 3, 2, 3, 2, 2)
ALPHABETICAL = [0, *(sorted(SPECIES[1:]).index(name) for name in SPECIES[1:])]

# Tables for compiled code are numbers, four bits per entry.
POINTS_TABLE = sum(points << 4 * species for species, points in enumerate(POINTS))
ALPHABETICAL_TABLE = sum(place << 4 * species for species, place in enumerate(ALPHABETICAL))

DECK = (1 << LION + 1) - 2  # the set of all species
HAND = 4  # cards, while the pile lasts
FULL_QUEUE = 5
NOBODY = -1


@rule
def species(card):
    return card & 15


@rule
def owner(card):
    return card >> 4


@rule
def points(card):
    return POINTS_TABLE >> 4 * (card & 15) & 15


# Lines -------------------------------------------------------------------------------------------


@rule
def at(line, i):
    """The card at index i, 0 behind the last."""
    return line >> 8 * i & 255


@rule
def length(line):
    n = 0
    for i in range(FULL_QUEUE):
        n += 1 if line >> 8 * i else 0
    return n


@rule
def joined(line, more):
    """A line with a card, or another line, behind it."""
    return line | more << 8 * length(line)


@rule
def without(line, i):
    """A line after the card at index i has left and those behind have closed up."""
    ahead = (1 << 8 * i) - 1
    return line & ahead | line >> 8 & ~ahead


@rule
def moved(line, i, to):
    """A line after the card at index i has moved ahead to the index `to`."""
    rest, ahead = without(line, i), (1 << 8 * to) - 1
    return rest & ahead | at(line, i) << 8 * to | (rest & ~ahead) << 8


@rule
def place(line, card):
    """The index of a card, or NOBODY."""
    for i in range(FULL_QUEUE):
        if at(line, i) == card:
            return i
    return NOBODY


# Sets --------------------------------------------------------------------------------------------


@rule
def count(members):
    """How many members a set has. The compiler turns this loop into one instruction."""
    n = 0
    while members:
        members &= members - 1
        n += 1
    return n


@rule
def lowest(members):
    """The smallest number in a set that is not empty."""
    return count((members & -members) - 1)


@rule
def drawn(pile, rng):
    """A species from a pile, all equally likely."""
    for _ in range(below(rng, count(pile))):
        pile &= pile - 1
    return lowest(pile)
