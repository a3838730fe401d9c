"""Liar's Dice (Dudo, Perudo) for two: hidden dice, rising bids, and somebody calls.

Each seat rolls its dice in secret. Seat 0 begins; in turn each seat bids "at least `count` dice on
the table show `face`", always higher than the standing bid (count first, then face), or calls the
standing bid a lie. The call ends the round: all dice are shown, and if at least `count` of them
match, the bidder wins, otherwise the caller.

Which dice match is the variant: in `joker` ones are wild (a bid on ones counts ones only), in
`high` the highest face is, in `normal` none; in `stairs` a hand of k dice showing exactly 1 to k
counts as k + 1 dice of every face, and nobody bids on ones.

A bid is the number (count - 1) * sides + (face - 1) and the call the number after the last bid, so
bids rise as numbers do and the set of bids made is the whole history: the k-th lowest was made by
seat k mod 2. Inside, faces are numbered from 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..chance import below, mix
from ..game import (
    CHANCE,
    ONLOOKER,
    OVER,
    Game,
    GameError,
    NotationError,
    OptionError,
    Options,
    Shape,
    layout,
    record,
    rule,
    squeezed,
)

NORMAL, JOKER, HIGH, STAIRS = range(4)  # in the order of `variant` below
NO_BID = -1
MOST_BIDS = 64  # the history is the bits of one 64-bit number
BIT = np.uint64(1)


@dataclass(frozen=True)
class LiarsDiceOptions(Options):
    """The options of a round, and of the match that rounds make."""

    dice: tuple[int, ...] = (5, 5)
    """Dice of seat 0, who opens, and of seat 1. 4,5 and 5,4 are different games."""
    sides: int = 6
    """Faces of a die."""
    variant: Literal["normal", "joker", "high", "stairs"] = "joker"
    """Which dice are wild."""
    ones_biddable: bool = True
    """Whether ones can be bid on; only joker can be played without."""
    opening_call: bool = False
    """Whether seat 0 may call before any bid, and lose, as the published networks may."""
    die_loss: Literal["none", "loser", "winner"] = "none"
    """Match play: who gives up a die after a round. `none` plays a single round."""

    def check(self) -> None:
        if len(self.dice) != 2 or min(self.dice) < 1:
            raise OptionError(f"dice={self.dice}: give each of the two seats one die or more")
        if self.sides < (least := 2 if self.variant in ("joker", "stairs") else 1):
            raise OptionError(f"sides={self.sides}: {self.variant} needs at least {least}")
        if not self.ones_biddable and self.variant != "joker":
            raise OptionError(f"ones_biddable=False is for joker, not for variant={self.variant}")
        if self.bids > MOST_BIDS:
            raise OptionError(
                f"dice={self.dice} sides={self.sides}: {self.bids} bids, at most {MOST_BIDS}"
            )

    @property
    def bids(self) -> int:
        """How many bids are numbered; a hand of stairs counts double, or nearly."""
        return sum(self.dice) * self.sides * (2 if self.variant == "stairs" else 1)


def shape(options: LiarsDiceOptions) -> Shape:
    sides, bids = options.sides, options.bids
    state = record(
        "liars_dice",
        ("bids", np.uint64),  # bit b: bid b has been made
        ("hand", np.int8, (2, sides)),  # by seat and face: how many dice show it
        ("dice", np.int8, 2),  # by seat: how many dice it has
        ("rolled", np.int8),  # dice rolled so far, seat 0's first
        ("liar", np.int8),  # the number of the call
        ("last", np.int8),  # the standing bid or NO_BID
        ("length", np.int8),  # actions so far, the call included
        ("called", np.int8),
        ("variant", np.int8),
        ("ones_biddable", np.int8),
        ("opening_call", np.int8),
    )
    view = layout(
        ("priv", max(options.dice) * sides + 2),  # own dice, unary by face; then whose hand it is
        ("pub", 2 * (bids + 2)),  # by seat: its bids, its call, whether it is to move
    )
    return Shape(
        seats=2,
        num_actions=bids + 1,
        num_outcomes=sides,
        state=state,
        view=view,
        max_legal=MOST_BIDS + 1,  # whatever the dice: then all hands share one compiled game
    )


# The rules of one round -----------------------------------------------------------------------


@rule
def start(s, options):
    s.bids = np.uint64(0)
    for seat in range(2):
        s.dice[seat] = options.dice[seat]
        for face in range(s.hand.shape[1]):
            s.hand[seat, face] = 0
    s.variant = options.variant
    s.ones_biddable = options.ones_biddable
    s.opening_call = options.opening_call
    s.liar = (
        (options.dice[0] + options.dice[1]) * s.hand.shape[1] * (2 if s.variant == STAIRS else 1)
    )
    s.last = NO_BID
    s.rolled = s.length = s.called = 0


@rule
def turn(s):
    if s.rolled < s.dice[0] + s.dice[1]:
        return CHANCE
    return OVER if s.called else s.length % 2


@rule
def odds(s, out):
    for face in range(s.hand.shape[1]):
        out[face] = 1.0 / s.hand.shape[1]


@rule
def roll(s, rng):
    face = below(rng, s.hand.shape[1])
    play(s, face)
    return face


@rule
def biddable(s, bid):
    """Whether this bid exists at all: some rules have none on ones."""
    ones_out = s.variant == STAIRS or not s.ones_biddable
    return not (ones_out and bid % s.hand.shape[1] == 0)


@rule
def actions(s, out):
    n = 0
    for bid in range(s.last + 1, s.liar):
        if biddable(s, bid):
            out[n] = bid
            n += 1
    if s.last != NO_BID or s.opening_call:
        out[n] = s.liar
        n += 1
    return n


@rule
def play(s, action):
    if s.rolled < s.dice[0] + s.dice[1]:
        s.hand[0 if s.rolled < s.dice[0] else 1, action] += 1
        s.rolled += 1
        return
    if action == s.liar:
        s.called = 1
    else:
        s.bids = s.bids | BIT << np.uint64(action)
        s.last = action
    s.length += 1


@rule
def shows_stairs(s, seat):
    """Whether a hand of k dice is exactly 1, 2, ..., k."""
    if s.dice[seat] > s.hand.shape[1]:
        return False
    for face in range(s.dice[seat]):
        if s.hand[seat, face] != 1:
            return False
    return True


@rule
def matches(s, seat, face):
    """How many dice of a seat count towards a bid on `face`."""
    if s.variant == STAIRS and shows_stairs(s, seat):
        return int(s.dice[seat]) + 1
    wild = 0 if s.variant == JOKER else s.hand.shape[1] - 1
    found = int(s.hand[seat, face])
    if face != wild and (s.variant == JOKER or s.variant == HIGH):
        found += int(s.hand[seat, wild])
    return found


@rule
def score(s, out):
    caller = (s.length - 1) % 2
    good = s.last == NO_BID  # who calls before any bid loses
    if not good:
        sides = s.hand.shape[1]
        face, count = s.last % sides, s.last // sides + 1
        good = matches(s, 0, face) + matches(s, 1, face) >= count
    out[caller] = -1 if good else 1
    out[1 - caller] = 1 if good else -1


# What a seat may see --------------------------------------------------------------------------


@rule
def observe(s, seat, view):
    sides, segment = s.hand.shape[1], view.pub.shape[0] // 2
    slots = (view.priv.shape[0] - 2) // sides
    for i in range(view.priv.shape[0]):
        view.priv[i] = 0
    for i in range(view.pub.shape[0]):
        view.pub[i] = 0
    for face in range(sides):
        for i in range(s.hand[seat, face]):
            view.priv[face * slots + i] = 1
    view.priv[slots * sides + seat] = 1
    bidder = 0
    for bid in range(s.last + 1):
        if s.bids >> np.uint64(bid) & BIT:
            view.pub[bidder * segment + bid] = 1
            bidder = 1 - bidder
    if s.called:
        view.pub[bidder * segment + s.liar] = 1
    view.pub[s.length % 2 * segment + s.liar + 1] = 1


@rule
def redeal(s, seat, rng):
    other = 1 - seat
    rolled = 0
    for face in range(s.hand.shape[1]):
        rolled += s.hand[other, face]
        s.hand[other, face] = 0
    for _ in range(rolled):
        s.hand[other, below(rng, s.hand.shape[1])] += 1


@rule
def known(s, seat):
    hand = 0  # as one number: fewer than 4^22, because there are at most 64 bids
    for face in range(s.hand.shape[1]):
        hand = hand * (int(s.dice[seat]) + 1) + int(s.hand[seat, face])
    return mix(mix(mix(1, 2 * hand + seat), s.bids), 2 * int(s.rolled) + int(s.called)) | BIT


# Players that need no learning ----------------------------------------------------------------


@rule
def support(s, seat, bid):
    """In how many of all sides^dice rolls of the other seat the bid would be good.

    Whole numbers, so that equal chances are equal: ties go to the lower bid on every machine.
    """
    sides, unread = s.hand.shape[1], int(s.dice[1 - seat])
    face = bid % sides
    needed = bid // sides + 1 - matches(s, seat, face)
    wild = 0 if s.variant == JOKER else sides - 1
    helps = 2 if face != wild and (s.variant == JOKER or s.variant == HIGH) else 1
    ways, choices = 0, 1  # choices: ways to choose which `found` of the unread dice match
    for found in range(unread + 1):
        if found >= needed:
            rolls = choices
            for i in range(unread):
                rolls *= helps if i < found else sides - helps
            ways += rolls
        choices = choices * (unread - found) // (found + 1)
    return ways


@rule
def all_rolls(s, seat):
    """How many rolls the other seat's dice have."""
    rolls = 1
    for _ in range(s.dice[1 - seat]):
        rolls *= s.hand.shape[1]
    return rolls


@rule
def honest(s, seat, rng):
    """Bids what is most likely true; calls when the call is likelier."""
    best, most = NO_BID, -1
    for bid in range(s.last + 1, s.liar):
        if biddable(s, bid):
            ways = support(s, seat, bid)
            if ways > most:
                best, most = bid, ways
    if best == NO_BID:
        return int(s.liar)
    if s.last != NO_BID and all_rolls(s, seat) - support(s, seat, s.last) >= most:
        return int(s.liar)
    return best


@rule
def threshold(s, seat, rng):
    """Calls what is unlikely; otherwise makes the highest bid that is likely."""
    rolls = all_rolls(s, seat)
    if s.last != NO_BID and 2 * support(s, seat, s.last) < rolls:
        return int(s.liar)
    lowest = NO_BID
    for bid in range(s.liar - 1, s.last, -1):
        if biddable(s, bid):
            if 2 * support(s, seat, bid) >= rolls:
                return bid
            lowest = bid
    return lowest if s.last == NO_BID else honest(s, seat, rng)


# Which positions there are --------------------------------------------------------------------

FLAWS = (
    "dice, variant and the rules of bidding are those of the options",
    "seat 0 rolls all its dice, then seat 1, and each shows one of the faces",
    "bids come after the dice, each higher than the one before, and a call ends the round",
)


@rule
def flaw(s, fresh):
    for seat in range(2):
        if s.dice[seat] != fresh.dice[seat]:
            return 1
    if s.variant != fresh.variant or s.liar != fresh.liar:
        return 1
    if s.ones_biddable != fresh.ones_biddable or s.opening_call != fresh.opening_call:
        return 1
    if not 0 <= s.rolled <= s.dice[0] + s.dice[1]:
        return 2
    for seat in range(2):
        shown = 0
        for face in range(s.hand.shape[1]):
            if not 0 <= s.hand[seat, face] <= s.dice[seat]:
                return 2
            shown += int(s.hand[seat, face])
        due = min(int(s.rolled), int(s.dice[0])) if seat == 0 else int(s.rolled) - int(s.dice[0])
        if shown != max(due, 0):
            return 2
    return 3 if bids_are_flawed(s) else 0


@rule
def bids_are_flawed(s):
    bids, last = 0, NO_BID
    for bid in range(MOST_BIDS):
        if s.bids >> np.uint64(bid) & BIT:
            if bid >= s.liar or not biddable(s, bid):
                return True
            bids, last = bids + 1, bid
    if last != s.last or not 0 <= s.called <= 1 or s.length != bids + s.called:
        return True
    if s.called and last == NO_BID and not s.opening_call:
        return True
    return s.length > 0 and s.rolled < s.dice[0] + s.dice[1]


# Positions and encodings from outside ---------------------------------------------------------


def position(game, hands, history=()):
    """The state with these hands (faces from 1, in any order) after these actions.

    >>> from kibitz.games import load, liars_dice
    >>> s = liars_dice.position(load("liars_dice"), [(2, 2, 3, 5, 6), (1, 3, 4, 4, 6)], [17, 22])
    >>> liars_dice.text(s)
    '2,2,3,5,6 / 1,3,4,4,6 : 3x6, 4x5'
    """
    s = game.fresh()
    if len(hands) != 2:
        raise GameError(f"liars_dice has two hands, not {len(hands)}")
    for seat, hand in enumerate(hands):
        _check_hand(s, seat, hand)
        if len(hand) != s.dice[seat]:
            raise GameError(
                f"seat {seat} has {s.dice[seat]} dice, not the {len(hand)} of {tuple(hand)}"
            )
    for face in (*hands[0], *hands[1]):
        play(s, int(face) - 1)
    for action in history:
        check_action(s, action)
        play(s, int(action))
    return s


def _check_hand(s, seat, hand):
    for face in hand:
        if not isinstance(face, (int, np.integer)) or not 1 <= face <= s.hand.shape[1]:
            raise GameError(f"seat {seat}: a die of {s.hand.shape[1]} sides cannot show {face!r}")


def check_action(s, action):
    """Refuse, and say why, an action that is not legal."""
    if not isinstance(action, (int, np.integer)) or not 0 <= action <= s.liar:
        raise GameError(f"action {action!r}: actions are the numbers 0 to {s.liar}")
    if s.called:
        raise GameError(f"action {action}: the call has been made, the round is over")
    if action == s.liar and s.last == NO_BID and not s.opening_call:
        raise GameError(f"action {action}: there is no bid to call yet")
    if action != s.liar and action <= s.last:
        raise GameError(
            f"action {action} ({_bid_text(s, action)}) is not above {_bid_text(s, s.last)}"
        )
    if action != s.liar and not biddable(s, int(action)):
        raise GameError(f"action {action} ({_bid_text(s, action)}): ones cannot be bid on here")


def decode_private(game, priv):
    """(hand, seat) from a private vector: the inverse of `observe`."""
    sides, slots = game.options.sides, max(game.options.dice)
    ones = _zeros_and_ones("priv", priv, game.view["priv"].shape[0])
    unary, whose = ones[:-2].reshape(sides, slots), ones[-2:]
    if whose.sum() != 1:
        raise GameError(f"priv names {int(whose.sum())} seats in its last two entries, not one")
    seat = int(whose.argmax())
    if (np.diff(unary, axis=1) > 0).any():
        raise GameError("priv has a gap in the unary count of a face")
    if unary.sum() != game.options.dice[seat]:
        raise GameError(
            f"priv holds {int(unary.sum())} dice, seat {seat} has {game.options.dice[seat]}"
        )
    return tuple(face + 1 for face in range(sides) for _ in range(int(unary[face].sum()))), seat


def decode_public(game, pub):
    """(history, seat to move) from a public vector: the inverse of `observe`."""
    segments = _zeros_and_ones("pub", pub, game.view["pub"].shape[0]).reshape(2, -1)
    bids, calls, to_move = segments[:, :-2], segments[:, -2], segments[:, -1]
    if to_move.sum() != 1:
        raise GameError(f"pub has {int(to_move.sum())} to-move bits, not one")
    if (both := np.flatnonzero(bids[0] * bids[1])).size:
        raise GameError(f"pub has bid {both[0]} in both segments")
    history = [int(b) for b in np.flatnonzero(bids[0] + bids[1])]
    for k, bid in enumerate(history):
        if bids[k % 2, bid] != 1:
            raise GameError(f"pub: bid {bid} belongs to the wrong seat, bids do not alternate")
    if calls.sum() > 1 or (calls.sum() == 1 and calls[len(history) % 2] != 1):
        raise GameError("pub: the call belongs to the wrong seat")
    history += [bids.shape[1]] * int(calls.sum())
    if to_move[len(history) % 2] != 1:
        raise GameError(f"pub: the to-move bit contradicts {len(history)} actions")
    s = position(game, [(1,) * n for n in game.options.dice])
    for action in history:
        check_action(s, action)
        play(s, action)
    return history, len(history) % 2


def _zeros_and_ones(name, values, length):
    if not isinstance(values, np.ndarray) or values.dtype != np.float32:
        raise GameError(f"{name} is {getattr(values, 'dtype', type(values).__name__)}, not float32")
    if values.shape != (length,):
        raise GameError(f"{name} has shape {list(values.shape)}, not [{length}]")
    if not np.isfinite(values).all():
        raise GameError(f"{name} has the entry {values[~np.isfinite(values)][0]}, not 0 or 1")
    if not np.isin(values, (0, 1)).all():
        raise GameError(f"{name} has the entry {values[~np.isin(values, (0, 1))][0]}, not 0 or 1")
    return values


# How it is told -------------------------------------------------------------------------------


def _dice_text(s, seat, join=","):
    return join.join(str(f + 1) for f, n in enumerate(s.hand[seat]) for _ in range(n)) or "-"


def _bid_text(s, bid):
    sides = s.hand.shape[1]
    return "liar" if bid == s.liar else f"{int(bid) // sides + 1}x{int(bid) % sides + 1}"


def history(s):
    """The actions made, in order."""
    bids = [b for b in range(int(s.liar)) if int(s.bids) >> b & 1]
    return bids + [int(s.liar)] * int(s.called)


def text(s):
    hands = f"{_dice_text(s, 0)} / {_dice_text(s, 1)}"
    said = ", ".join(_bid_text(s, a) for a in history(s))
    return f"{hands} : {said}" if said else hands


def parse(s, told):
    dice, _, said = squeezed(told).partition(":")
    if not re.fullmatch(r"(-|\d+(,\d+)*)/(-|\d+(,\d+)*)", dice):
        raise NotationError(f"{told!r} is not like '2,3 / 1,4 : 1x3, 2x4, liar'")
    hands = [[int(f) for f in part.split(",") if f != "-"] for part in dice.split("/")]
    for seat, hand in enumerate(hands):
        _check_hand(s, seat, hand)
        if len(hand) > s.dice[seat]:
            raise NotationError(f"{told!r}: seat {seat} has only {s.dice[seat]} dice")
    unfinished = len(hands[0]) + len(hands[1]) < s.dice[0] + s.dice[1]
    if unfinished and (said or (hands[1] and len(hands[0]) < s.dice[0])):
        raise NotationError(f"{told!r}: seat 0 rolls first, then seat 1, then there are bids")
    for face in (*hands[0], *hands[1]):
        play(s, face - 1)
    for word in said.split(",") if said else ():
        play(s, parse_action(s, word))


def seen(s, seat):
    lines = [] if seat == ONLOOKER else [f"Your dice: {_dice_text(s, seat, ' ')}"]
    others = {"seat 0": 0, "seat 1": 1} if seat == ONLOOKER else {"other seat": 1 - seat}
    for name, other in others.items():
        owner = name.capitalize() if seat == ONLOOKER else f"The {name}"
        if turn(s) == OVER:
            lines.append(f"{owner.removesuffix(' seat')} dice: {_dice_text(s, other, ' ')}")
        else:
            lines.append(f"{owner} has {s.dice[other]} dice")
    speakers = {0: ("you", "they"), 1: ("they", "you")}.get(seat, ("seat 0", "seat 1"))
    said = [f"{speakers[k % 2]} {_bid_text(s, a)}" for k, a in enumerate(history(s))]
    lines.append(f"Said so far: {', '.join(said) or 'nothing'}")
    return "\n".join(lines)


def action_text(s, action):
    return f"rolls {action + 1}" if turn(s) == CHANCE else _bid_text(s, action)


def news(s, seat, move):
    """Bids are for everybody; a die is for the seat that rolls it."""
    if turn(s) == CHANCE and seat != (0 if s.rolled < s.dice[0] else 1):
        return ""
    return action_text(s, move)


def parse_action(s, told):
    clean = told.strip().lower()
    if turn(s) == CHANCE:
        if die := re.fullmatch(r"(?:rolls)?\s*(\d+)", clean):
            _check_hand(s, 0 if s.rolled < s.dice[0] else 1, [int(die[1])])
            return int(die[1]) - 1
        raise NotationError(f"{told!r} is not a die such as 'rolls 4'")
    if squeezed(clean) in ("liar", "lie", "call"):
        action = int(s.liar)
    elif bid := re.fullmatch(r"(\d+)\s*[x\s]\s*(\d+)", clean):
        count, face, sides = int(bid[1]), int(bid[2]), s.hand.shape[1]
        if not (1 <= face <= sides and 1 <= count <= s.liar // sides):
            raise NotationError(f"{told!r}: bid 1 to {s.liar // sides} dice of face 1 to {sides}")
        action = (count - 1) * sides + face - 1
    else:
        raise NotationError(f"{told!r} is no bid such as 3x6 or '3 6', and not 'liar'")
    check_action(s, action)
    return action


def next_round(options, scores):
    """After a round of a match: the next round's options and who sits where in it, or None.

    The round's loser opens the next one, as seat 0. Whoever runs out of dice has lost the match, or
    won it where winners give up dice; either way the match ends as its last round did.
    """
    if options.die_loss == "none":
        return None
    loser = 0 if scores[0] < scores[1] else 1
    dice = list(options.dice)
    dice[loser if options.die_loss == "loser" else 1 - loser] -= 1
    if min(dice) == 0:
        return None
    return replace(options, dice=(dice[loser], dice[1 - loser])), (loser, 1 - loser)


def open_spiel(options):
    """OpenSpiel's game of the same size. Its rules are those of `high`; it has no uneven dice."""
    dice, other = options.dice
    return f"liars_dice(numdice={dice},dice_sides={options.sides})" if dice == other else None


GAME = Game(
    name="liars_dice",
    version=1,
    options=LiarsDiceOptions(),
    presets={
        "dudo": {"variant": "joker", "die_loss": "winner", "opening_call": True},
        "perudo": {"variant": "joker", "die_loss": "loser"},
        "openspiel": {"variant": "high"},
    },
    tried=(
        {"dice": (1, 2)},
        {"dice": (2, 2), "variant": "high"},
        {"dice": (2, 1), "variant": "normal", "sides": 4},
        {"dice": (2, 2), "variant": "stairs"},
        {"dice": (2, 2), "ones_biddable": False},
        {"dice": (1, 1), "opening_call": True},
    ),
    shape=shape,
    start=start,
    turn=turn,
    odds=odds,
    roll=roll,
    actions=actions,
    play=play,
    score=score,
    observe=observe,
    redeal=redeal,
    known=known,
    flaw=flaw,
    flaws=FLAWS,
    text=text,
    parse=parse,
    seen=seen,
    action_text=action_text,
    news=news,
    onlookers=True,
    parse_action=parse_action,
    players={"honest": honest, "threshold": threshold},
    next_round=next_round,
    open_spiel=open_spiel,
    perfect_recall=True,
)
