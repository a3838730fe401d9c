"""The table: where every card is, who knows of it, and how cards move. Nothing here decides.

A game is played with seventeen kinds of cards, the seven of every game and ten of the kingdom.
They are numbered by slot, in the order of their ids; a zone is a count per slot. A deck is such a
set, too, because nobody knows its order; a list holds the cards on top of it that somebody has put
or seen there. So a shuffle moves counts, and drawing an unknown card is a chance move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import Function
from ...game import record, rule
from ...records import RecordType

SLOTS = 17
TOPS = 32  # room for known cards on a deck
LIMBO = 4  # room for cards being looked at
# Up to ten nested Throne Rooms have a play pending each; then come an Attack and its victims.
DEPTH = 24
NONE = -1  # no card, no slot

# The game draws a kingdom and a first seat, deals, and then seats take turns. At CLEAN_UP the cards
# of the turn are put away; TURN_ENDS when five new ones have been drawn.
DRAW_KINGDOM, DRAW_FIRST, DEAL, ACTION_PHASE, BUY_PHASE, CLEAN_UP, TURN_ENDS = range(7)

CARDS, ACTIONS, BUYS, COINS = range(4)  # what a play gives
TO_DISCARDS, TO_HAND, TO_DECK = range(3)  # where a gained card goes

# Counts of a turn. They stay until the seat's next turn begins.
PLAYED_ACTIONS, PLAYED_TREASURES, DRAWN, GAINED, BOUGHT, MADE, SPENT, POINTS_BEFORE = range(8)

# Entries of a history.
PLAYS, BUYS_ONE, GAINS, DISCARDS, TRASHES = range(1, 6)
PUTS_ON_DECK, REVEALS, SAYS, DECLINES, ENDS_PHASE = range(6, 11)


def state(players: int) -> RecordType:
    return record(
        "dominion",
        # The piles, by slot
        ("card", np.int16, SLOTS),  # ids ascending; NONE while the kingdom is being drawn
        ("types", np.int16, SLOTS),  # bits, as printed
        ("cost", np.int8, SLOTS),
        ("gives", np.int8, (SLOTS, 4)),  # +Cards, +Actions, +Buys, coins
        # points, where they are fixed; before that ids + 1 of cards that stay out of the kingdom
        ("vp", np.int8, SLOTS),
        ("initial", np.int8, SLOTS),  # size of the pile at the start
        ("supply", np.int8, SLOTS),
        ("trash", np.int8, SLOTS),
        # Cards by seat and slot
        ("hand", np.int8, (players, SLOTS)),
        ("deck", np.int8, (players, SLOTS)),  # its unordered cards
        ("discards", np.int8, (players, SLOTS)),
        ("in_play", np.int8, (players, SLOTS)),
        ("aside", np.int8, (players, SLOTS)),
        ("owned", np.int8, (players, SLOTS)),  # in all zones together; everybody can know it
        ("shown", np.int8, (players, SLOTS)),  # cards of the hand that everybody knows to be there
        ("hand_size", np.int16, players),
        ("deck_size", np.int16, players),  # of the unordered part
        ("discards_size", np.int16, players),
        # Known cards on a deck, by seat: slots, the last on top, and who knows them, a bit per seat
        ("top", np.int8, (players, TOPS)),
        ("top_seen", np.int8, (players, TOPS)),
        ("tops", np.int8, players),  # how many
        # Cards being looked at
        ("limbo", np.int8, LIMBO),  # slots, in the order they came
        ("in_limbo", np.int8),  # how many
        ("limbo_of", np.int8),  # from whose deck
        ("limbo_open", np.int8),  # 1 if everybody sees them
        # The stack of effects: see `effects`. The last of `depth` frames is on top.
        ("depth", np.int8),
        ("job", np.int8, DEPTH),  # what is to be done
        ("who", np.int8, DEPTH),  # the seat that does it
        ("source", np.int8, DEPTH),  # the slot of the card that says so
        ("done", np.int8, DEPTH),  # cards chosen so far; how far a play has come; 1 for a yes
        ("least", np.int8, DEPTH),  # cards that must be chosen
        ("most", np.int8, DEPTH),  # cards that may be chosen, 0 for any number; or still to draw
        ("low", np.int8, DEPTH),  # the slot chosen last: lower ones cannot be chosen after it;
        #                           or the card that a yes or no is about
        ("wanted", np.int16, DEPTH),  # types that can be chosen, ANY for all
        ("limit", np.int8, DEPTH),  # the highest cost to gain; the hand size to discard down to
        ("paid", np.int8, DEPTH),  # the cost of the card trashed for a gain
        ("to", np.int8, DEPTH),  # where a gained card goes
        ("open", np.int8, DEPTH),  # 1 if everybody sees the cards
        ("safe", np.int8, DEPTH),  # seats that an Attack does not affect, a bit per seat
        ("selected", np.int8, SLOTS),  # what the top frame has chosen so far
        # Legal actions of the seat to move, by family: a bit per slot; the last are the controls
        ("can", np.int32, 8),
        # The turn
        ("seat", np.int8),  # who decides, or CHANCE, or OVER
        ("player", np.int8),  # whose turn it is
        ("phase", np.int8),
        ("kingdom_size", np.int8),  # kingdom cards drawn so far
        ("actions", np.int16),
        ("buys", np.int16),
        ("coins", np.int16),
        ("has_bought", np.int8),  # 1 after the first buy of the turn: no more Treasures
        ("silvers", np.int16),  # played this turn
        ("silver_bonus", np.int16),  # extra coins of the first Silver of the turn
        ("turns", np.int16, players),  # begun so far
        ("plies", np.int32),  # decisions so far
        ("truncated", np.int8),  # 1 if the game was stopped by `max_turns`
        # Statistics and histories, by seat. Histories are rings: entry n of all is at n % length.
        ("stat", np.int16, (players, 8)),  # PLAYED_ACTIONS ... POINTS_BEFORE of the latest turn
        ("last_coins", np.int16, players),  # MADE in the latest turn that is complete
        # kind, slot + 1, slot + 1 of the source, cost paid, turn
        ("acted", np.int16, (players, 8, 5)),  # every action of the seat
        ("acted_count", np.int32, players),
        ("events", np.int16, (players, 4, 5)),  # what everybody saw of the seat and its cards
        ("events_count", np.int32, players),
        ("gained", np.int16, (players, 4, 4)),  # slot + 1, cost, bought, turn
        ("gained_count", np.int32, players),
        # Actions played, cards drawn, cards bought, coins spent, change of points
        ("past", np.int16, (players, 4, 5)),  # complete turns
        ("past_count", np.int32, players),
        # Options
        ("first", np.int8),  # the seat that begins, NONE for any
        ("auto_single", np.int8),
        ("auto_single_phase", np.int8),
        ("auto_treasures", np.int8),
        ("copper_supply", np.int16),
        ("max_turns", np.int16),
    )


def _clearing() -> Function:
    """Generate the rule `clear`, so that no field is forgotten: one loop per shape of fields."""
    fields, lines = state(2), ["def clear(s):"]
    kept = [n for n in fields.names or () if n != "tail" and not n.startswith("tag_")]
    for shape in dict.fromkeys(fields[name].shape for name in kept):
        names = [name for name in kept if fields[name].shape == shape]
        for d in range(len(shape)):
            lines.append(f"{'    ' * (d + 1)}for i{d} in range(s.{names[0]}.shape[{d}]):")
        index = f"[{', '.join(f'i{d}' for d in range(len(shape)))}]" if shape else ""
        lines += [f"{'    ' * (len(shape) + 1)}s.{name}{index} = 0" for name in names]
    scope: dict[str, Any] = {"__name__": __name__}
    # Under this file's name the compiled code is kept on disk like that of any other rule.
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    return rule(scope["clear"])


clear = _clearing()


# Histories ---------------------------------------------------------------------------------------


@rule
def note(s, seat, kind, slot, source, paid):
    """Write what a seat has just done into its own history."""
    entry = s.acted[seat, int(s.acted_count[seat]) & 7]
    entry[0] = kind
    entry[1] = slot + 1
    entry[2] = source + 1
    entry[3] = paid
    entry[4] = s.turns[seat]
    s.acted_count[seat] += 1


@rule
def announce(s, seat, kind, slot, paid):
    """Write what everybody has just seen of a seat into its public history; NONE hides the card."""
    entry = s.events[seat, int(s.events_count[seat]) & 3]
    entry[0] = kind
    entry[1] = slot + 1
    entry[2] = 0
    entry[3] = paid
    entry[4] = s.turns[seat]
    s.events_count[seat] += 1


# Hands -------------------------------------------------------------------------------------------


@rule
def to_hand(s, seat, slot):
    s.hand[seat, slot] += 1
    s.hand_size[seat] += 1


@rule
def leave_hand(s, seat, slot):
    """A card leaves a hand, and everybody sees it."""
    s.hand[seat, slot] -= 1
    s.hand_size[seat] -= 1
    if s.shown[seat, slot] > 0:
        s.shown[seat, slot] -= 1


@rule
def forget_hand(s, seat):
    """From now on nobody else knows what a hand holds.

    Also when one card has left it unseen: keeping or dropping single entries would say which.
    """
    for slot in range(SLOTS):
        s.shown[seat, slot] = 0


@rule
def show_hand(s, seat):
    for slot in range(SLOTS):
        s.shown[seat, slot] = s.hand[seat, slot]


# Decks and discard piles -------------------------------------------------------------------------


@rule
def to_discards(s, seat, slot):
    s.discards[seat, slot] += 1
    s.discards_size[seat] += 1


@rule
def leave_discards(s, seat, slot):
    s.discards[seat, slot] -= 1
    s.discards_size[seat] -= 1


@rule
def everybody(s):
    """The set of all seats, a bit per seat."""
    return (1 << s.hand.shape[0]) - 1


@rule
def put_on_deck(s, seat, slot, seen):
    if s.tops[seat] == TOPS:
        forget_lowest(s, seat)
    n = int(s.tops[seat])
    s.top[seat, n] = slot
    s.top_seen[seat, n] = seen
    s.tops[seat] = n + 1


@rule
def forget_lowest(s, seat):
    """There is room for no more known cards: the lowest joins the unordered ones."""
    s.deck[seat, s.top[seat, 0]] += 1
    s.deck_size[seat] += 1
    for i in range(TOPS - 1):
        s.top[seat, i] = s.top[seat, i + 1]
        s.top_seen[seat, i] = s.top_seen[seat, i + 1]
    s.tops[seat] = TOPS - 1


@rule
def take_top(s, seat):
    """Take the known card from the top of a deck. Returns its slot + 64 * who has seen it."""
    n = int(s.tops[seat]) - 1
    slot, seen = int(s.top[seat, n]), int(s.top_seen[seat, n])
    s.top[seat, n] = 0
    s.top_seen[seat, n] = 0
    s.tops[seat] = n
    return slot + 64 * seen


@rule
def shuffle(s, seat):
    """Make the discard pile the deck, which is empty."""
    for slot in range(SLOTS):
        s.deck[seat, slot] = s.discards[seat, slot]
        s.discards[seat, slot] = 0
    s.deck_size[seat] = s.discards_size[seat]
    s.discards_size[seat] = 0


# Limbo -------------------------------------------------------------------------------------------


@rule
def leave_limbo(s, slot):
    """Take one card of this slot from those being looked at."""
    last = int(s.in_limbo) - 1
    i = 0
    while s.limbo[i] != slot:
        i += 1
    while i < last:
        s.limbo[i] = s.limbo[i + 1]
        i += 1
    s.limbo[last] = 0
    s.in_limbo = last


# From zone to zone, as cards say -----------------------------------------------------------------


@rule
def gain(s, seat, slot, to, bought):
    """Take a card from the supply; nothing happens if its pile is empty."""
    if s.supply[slot] == 0:
        return
    s.supply[slot] -= 1
    s.owned[seat, slot] += 1
    if to == TO_DISCARDS:
        to_discards(s, seat, slot)
    elif to == TO_HAND:
        to_hand(s, seat, slot)
        s.shown[seat, slot] += 1
    else:
        put_on_deck(s, seat, slot, everybody(s))
    s.stat[seat, GAINED] += 1
    entry = s.gained[seat, int(s.gained_count[seat]) & 3]
    entry[0] = slot + 1
    entry[1] = s.cost[slot]
    entry[2] = bought
    entry[3] = s.turns[seat]
    s.gained_count[seat] += 1
    if bought:
        announce(s, seat, BUYS_ONE, slot, int(s.cost[slot]))
    else:
        announce(s, seat, GAINS, slot, 0)


@rule
def trash(s, seat, slot):
    """A card that has left its zone goes to the trash."""
    s.trash[slot] += 1
    s.owned[seat, slot] -= 1
    announce(s, seat, TRASHES, slot, 0)


@rule
def discard(s, seat, slot):
    """A card that has left its zone goes to the discard pile, and everybody sees it."""
    to_discards(s, seat, slot)
    announce(s, seat, DISCARDS, slot, 0)


@rule
def into_play(s, seat, slot):
    leave_hand(s, seat, slot)
    s.in_play[seat, slot] += 1


@rule
def make_coins(s, seat, coins):
    s.coins += coins
    s.stat[seat, MADE] += coins


# Counting ----------------------------------------------------------------------------------------


@rule
def empty_piles(s):
    n = 0
    for slot in range(SLOTS):
        n += 1 if s.supply[slot] == 0 else 0
    return n


@rule
def cards_owned(s, seat):
    n = 0
    for slot in range(SLOTS):
        n += int(s.owned[seat, slot])
    return n


@rule
def slot_of(s, card):
    """The slot of a card id that is in the game."""
    slot = 0
    while s.card[slot] != card:
        slot += 1
    return slot
